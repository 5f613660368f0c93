"""A comparison as a table for the terminal, for Markdown, for notebooks, and for a paper."""

from __future__ import annotations

from string import ascii_lowercase

from karat.comparison.result import Comparison, ComparisonRow
from karat.comparison.sentences import CORRECTED, p_text
from karat.errors import printable
from karat.output.tables import Cell, Table, latex_text
from karat.scores.combining import higher_is_better
from karat.scores.summary import cell_text, notes
from karat.stats import MAX_EXACT

# More sentences than these are read by nobody: then those of the first measure are said, and of too many the number.
_SENTENCES = 12
_LINES = 40

_TESTS = {
    "randomization": "the paired randomization test",
    "t": "the paired t-test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "bootstrap": "the paired bootstrap test",
    "tukey": "Tukey's randomised HSD",
}


def table(comparison: Comparison) -> Table:
    """A row per system and measure; per pair of systems, where each was compared with each."""
    baselines = list(dict.fromkeys(row.baseline for row in comparison.rows if row.baseline is not None))
    each_with_each = len(baselines) > 1
    twice = any(row.p_corrected != row.p for row in comparison.rows)
    correction = CORRECTED.get(comparison.method.correction, "").removesuffix("-corrected")
    header = (
        "measure", "run", *(["against"] if each_with_each else []), "mean",
        "difference" if each_with_each else f"difference to {baselines[0]}",
        "p", *([f"p ({correction})"] if twice else []), "effect", "+/=/−",
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    last: tuple[str, str] | None = None
    for row in comparison.rows:
        known = (row.measure, row.system)
        texts = [
            "" if last is not None and last[0] == row.measure else row.measure,
            "" if known == last else row.system,
            *([row.baseline or ""] if each_with_each else []),
            "" if known == last else _with_interval(row.mean, row.low, row.high, row.measure),
        ]
        rows.append((*map(Cell, texts), *_against(comparison, row, twice)))
        last = known
    legend = f"p{f' ({correction})' if twice else ''} below {comparison.method.alpha:.2g}"
    labels = 3 if each_with_each else 2
    return Table(header, tuple(rows), _notes(comparison), labels, legend, said=_said(comparison))


def _against(comparison: Comparison, row: ComparisonRow, twice: bool) -> list[Cell]:
    """The cells of a difference; blank for the baseline itself."""
    if row.baseline is None:
        return [Cell("")] * (5 if twice else 4)
    ends = (row.difference, row.difference_low, row.difference_high)
    ps = [row.p, row.p_corrected] if twice else [row.p_corrected]
    texts = ["–" if p is None else p_text(p, comparison.method.alpha) for p in ps]
    return [
        Cell(_with_interval(*ends, row.measure, "+")),
        *map(Cell, texts[:-1]),
        Cell(texts[-1], comparison.significant(row)),
        Cell("–" if row.effect is None else f"{round(row.effect, 2) + 0.0:+.2f}"),
        Cell(f"{row.wins}/{row.ties}/{row.losses}"),
    ]


def _with_interval(value: float | None, low: float | None, high: float | None, measure: str, sign: str = "") -> str:
    plus = sign if value is not None and value > 0 else ""
    text = plus + cell_text(value, measure)
    return text if low is None or high is None else f"{text} [{cell_text(low, measure)}, {cell_text(high, measure)}]"


def _notes(comparison: Comparison) -> tuple[str, ...]:
    """How it was tested, and what was noticed and left out."""
    return (
        f"{_queries(comparison)}; p by {_test(comparison)}",
        "effect: mean / standard deviation of the differences; +/=/−: queries better, the same, worse",
        *(f"note: {note}" for note in comparison.notes),
        *notes(comparison.systems),
    )


def _said(comparison: Comparison) -> tuple[str, ...]:
    """What can be said, in as many sentences as are read."""
    sentences = comparison.sentences
    if len(sentences) > _SENTENCES:
        sentences = sentences[: len(sentences) // len(comparison.measures)]
        if len(comparison.measures) > 1:
            sentences = (f"in words, of {comparison.measures[0]}, the first measure:", *sentences)
    return sentences if len(sentences) <= _LINES + 1 else (_counted(comparison),)


def _queries(comparison: Comparison) -> str:
    queries = len(comparison.queries)
    if queries == 1:
        return "1 query"
    return f"{queries:,} queries, with {100 * comparison.method.level:g}% confidence intervals"


def _counted(comparison: Comparison) -> str:
    """Of very many comparisons, how many are significant."""
    first = [row for row in comparison.rows if row.measure == comparison.measures[0] and row.baseline is not None]
    significant = sum(map(comparison.significant, first))
    return f"{significant:,} of {len(first):,} differences on {comparison.measures[0]} are significant"


def _test(comparison: Comparison) -> str:
    method = comparison.method
    name = f"{_TESTS[method.test]}{_drawn(comparison)}"
    correction = CORRECTED.get(method.correction, "")
    if method.test == "tukey" or not correction:
        return name
    family = len(comparison.powers) // (len(comparison.measures) if method.family == "measure" else 1)
    return f"{name}, {correction}" + (f" over {family:,} comparisons" if family > 1 else "")


def _drawn(comparison: Comparison) -> str:
    """How much was drawn at random, if anything."""
    method = comparison.method
    if method.test == "bootstrap":
        return f" ({method.resamples:,} resamples)"
    if method.test not in ("randomization", "tukey"):
        return ""
    permutations = f"{method.permutations:,} permutations"
    exact = [power.differing <= MAX_EXACT for power in comparison.powers.values()]
    if method.test == "tukey" or not any(exact):
        return f" ({permutations})"
    return " (exact)" if all(exact) else f" ({permutations}; exact where at most {MAX_EXACT} queries differ)"


def latex(comparison: Comparison) -> str:
    """A booktabs tabular with a row per system, as papers have it.

    Systems have letters: a superscript names those that a system is significantly better than, a subscript those
    that it is significantly worse than. The best mean of a column is bold.
    """
    letters = {name: _letter(at) for at, name in enumerate(comparison.systems)}
    above = "superscripts: significantly better than the systems of these letters; subscripts: worse"
    body = []
    for name in comparison.systems:
        cells = [_mean(comparison, name, measure, letters) for measure in comparison.measures]
        body.append(" & ".join([letters[name], latex_text(name), *cells]) + r" \\")
    lines = [
        *(f"% {printable(note)}" for note in (above, *_notes(comparison), *_said(comparison))),
        rf"\begin{{tabular}}{{ll{'r' * len(comparison.measures)}}}",
        r"\toprule",
        " & ".join(["", "run", *map(latex_text, comparison.measures)]) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _mean(comparison: Comparison, name: str, measure: str, letters: dict[str, str]) -> str:
    means = {row.system: row.mean for row in comparison.rows if row.measure == measure}
    known = [mean for mean in means.values() if mean is not None]
    higher = higher_is_better(measure)
    best = (max if higher else min)(known, default=None)
    text = latex_text(cell_text(means[name], measure))
    text = rf"\textbf{{{text}}}" if len(set(known)) > 1 and means[name] == best else text
    better: list[str] = []
    worse: list[str] = []
    for row in comparison.rows:
        if row.measure == measure and comparison.significant(row) and name in (row.system, row.baseline):
            system_wins = ((row.difference or 0) > 0) == higher
            wins = system_wins == (row.system == name)
            other = row.baseline if row.system == name else row.system
            (better if wins else worse).append(letters[other or ""])
    marks = (f"^{{{','.join(sorted(better))}}}" if better else "") + (
        f"_{{{','.join(sorted(worse))}}}" if worse else ""
    )
    return f"{text}${marks}$" if marks else text


def _letter(at: int) -> str:
    """The letters a, b, …, z, aa, ab, … in turn."""
    rest, last = divmod(at, len(ascii_lowercase))
    return (_letter(rest - 1) if rest else "") + ascii_lowercase[last]
