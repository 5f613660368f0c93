"""A comparison as a table for the terminal, for Markdown, for notebooks, and for a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase

from karat.comparison.method import Method
from karat.comparison.power import Power
from karat.comparison.result import Comparison
from karat.comparison.rows import ComparisonRow
from karat.comparison.sentences import CORRECTED, correction_text, p_text, without_rounding
from karat.errors import enumeration, plural, printable
from karat.options import alpha_text, level_text
from karat.output.tables import DIGITS, Cell, Mark, Table, latex_text, note_line
from karat.scores.summary import notes
from karat.scores.value_texts import cell_text, interval_text, nonzero_text
from karat.stats import MAX_EXACT

# With more sentences than this, a table shows those of the first measure only.
_MAX_SENTENCES = 12
# If the first measure has more than this, a table shows the number of significant differences instead.
_MAX_OF_FIRST = 40

_EQUIVALENCE_P = "p (equivalence)"
COLUMNS = "effect: mean / standard deviation of the differences; +/=/−: queries better, equal, worse"

TESTS = {
    "randomization": "the paired randomization test",
    "t": "the paired t-test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "bootstrap": "the paired bootstrap test",
    "tukey": "Tukey's randomized HSD",
}


def table(comparison: Comparison, digits: int = DIGITS) -> Table:
    """A table with a row per measure and system, or per measure and pair if each pair of systems was compared."""
    all_pairs = len({row.baseline for row in comparison.differences}) > 1
    two_ps = any(row.p_corrected != row.p for row in comparison.rows)
    labels = ("measure", "run", *(["baseline"] if all_pairs else []), "mean")
    header = (*labels, *difference_header(comparison, two_ps))
    rows: list[tuple[Cell, ...]] = []
    previous: tuple[str, str] | None = None
    for row in comparison.rows:
        current = (row.measure, row.system)
        texts = [
            "" if previous is not None and previous[0] == row.measure else row.measure,
            "" if current == previous else row.system,
            *([row.baseline or ""] if all_pairs else []),
            "" if current == previous else interval_text(row.mean, (row.low, row.high), row.measure, digits),
        ]
        rows.append((*map(Cell, texts), *difference_cells(comparison, row, two_ps, digits)))
        previous = current
    return Table(header, tuple(rows), _notes(comparison), 3 if all_pairs else 2, _sentences(comparison))


def difference_header(comparison: Comparison, two_ps: bool) -> list[str]:
    """The columns of a difference; `two_ps` if p has another value before the correction."""
    baselines = list(dict.fromkeys(row.baseline for row in comparison.differences))
    correction = CORRECTED.get(comparison.method.correction, "").removesuffix("-corrected")
    return [
        "difference" if len(baselines) > 1 else f"difference from {baselines[0]}",
        "p",
        *([f"p ({correction})"] if two_ps else []),
        *([] if comparison.method.equivalence is None else [_EQUIVALENCE_P]),
        "effect",
        "+/=/−",
    ]


def difference_cells(comparison: Comparison, row: ComparisonRow, two_ps: bool, digits: int) -> list[Cell]:
    """The cells of a difference; empty in the row of the baseline itself."""
    equivalence = _equivalence_cells(comparison, row)
    if row.baseline is None:
        return [Cell("")] * ((5 if two_ps else 4) + len(equivalence))
    ps = [row.p, row.p_corrected] if two_ps else [row.p_corrected]
    texts = ["–" if p is None else p_text(p, comparison.method.alpha) for p in ps]
    return [
        Cell(_difference(row, digits)),
        *map(Cell, texts[:-1]),
        Cell(texts[-1], _mark(comparison, row)),
        *equivalence,
        Cell("–" if row.effect is None else f"{round(row.effect, 2) + 0.0:+.2f}"),
        Cell(f"{row.wins}/{row.ties}/{row.losses}"),
    ]


def _difference(row: ComparisonRow, digits: int) -> str:
    """A difference and its interval, in which only 0 is shown as 0."""
    numbers = [row.difference, row.difference_low, row.difference_high]
    known = without_rounding([number for number in numbers if number is not None])
    texts = [nonzero_text(number, row.measure, "+" if at == 0 else "", digits) for at, number in enumerate(known)]
    return (texts or ["–"])[0] + (f" [{', '.join(texts[1:])}]" if texts[1:] else "")


def _mark(comparison: Comparison, row: ComparisonRow) -> Mark | None:
    """The mark of a significant difference: better or worse than the baseline."""
    if not comparison.significant(row):
        return None
    below = f"p below {alpha_text(comparison.method.alpha)}"
    if row.is_improvement:
        return Mark("*", f"significantly better, {below}", "bold green")
    return Mark("!", f"significantly worse, {below}", "bold red", weak=True)


def _equivalence_cells(comparison: Comparison, row: ComparisonRow) -> list[Cell]:
    if comparison.method.equivalence is None:
        return []
    p, alpha = row.p_equivalent_corrected, comparison.method.alpha
    meaning = f"equivalent, {_EQUIVALENCE_P} below {alpha_text(alpha)}"
    mark = Mark("≈", meaning, "bold", weak=True) if comparison.equivalent(row) else None
    return [Cell("–" if p is None else p_text(p, alpha), mark)]


def equivalence_note(comparisons: Sequence[Comparison]) -> list[str]:
    """What is called equivalent, and how that is tested."""
    method = comparisons[0].method
    margins = {row.measure: row.margin for each in comparisons for row in each.rows if row.margin is not None}
    if not margins:
        return []
    texts = [f"±{margin:g} on {measure}" for measure, margin in margins.items()]
    is_one_for_all = isinstance(method.equivalence, float)
    within = f"±{method.equivalence:g}" if is_one_for_all else enumeration(texts, "and")
    most = max(power.comparisons for each in comparisons for power in each.powers.values())
    correction = correction_text(method, most)
    corrected = f", {correction}" if correction else ""
    return [f"equivalence: a difference within {within}, by two one-sided tests{corrected}"]


def _notes(comparison: Comparison) -> tuple[str, ...]:
    """The number of queries, the test, what was left out, and the findings of the systems."""
    powers = list(comparison.powers.values())
    return (
        f"{_queries(comparison)}; p by {method_text(comparison.method, powers, len(comparison.measures))}",
        *intervals_text([comparison]),
        COLUMNS,
        *equivalence_note([comparison]),
        *map(note_line, comparison.notes),
        *notes(comparison.systems, with_intervals=True),
    )


def _sentences(comparison: Comparison) -> tuple[str, ...]:
    """The results as sentences; if there are many, only those of the first measure, or a count."""
    first = comparison.measures[0]
    of_first = sum(row.measure == first for row in comparison.differences)
    if of_first > _MAX_OF_FIRST:
        return (_significant_count(comparison, first),)
    return first_sentences(comparison.sentences, first, of_first)


def first_sentences(sentences: tuple[str, ...], first: str, of_first: int) -> tuple[str, ...]:
    """The sentences; if there are many, only those of the first measure."""
    if len(sentences) <= _MAX_SENTENCES or of_first == len(sentences):
        return sentences
    return f"summary for {first}, the first measure:", *sentences[:of_first]


def _significant_count(comparison: Comparison, measure: str) -> str:
    rows = [row for row in comparison.differences if row.measure == measure]
    significant = sum(map(comparison.significant, rows))
    verb = "is" if significant == 1 else "are"
    return f"{significant:,} of {plural(len(rows), 'difference')} on {measure} {verb} significant"


def _queries(comparison: Comparison) -> str:
    queries = plural(len(comparison.queries), "query")
    if len(comparison.queries) == 1:
        return queries
    return f"{queries}, with {level_text(comparison.method.level)} confidence intervals"


def method_text(method: Method, powers: Sequence[Power], measures: int) -> str:
    """The test, how it was computed, and the correction."""
    name = f"{TESTS[method.test]}{_random_draws(method, powers)}"
    sizes = sorted({power.comparisons for power in powers})
    correction = correction_text(method, sizes[-1])
    if method.test == "tukey" or not correction:
        return name
    per_measure = " per measure" if method.family == "measure" and measures > 1 else ""
    comparisons = enumeration([f"{size:,}" for size in sizes], "or")
    return f"{name}, {correction} over {comparisons} comparisons{per_measure}"


def intervals_text(comparisons: Sequence[Comparison]) -> list[str]:
    """A line on what the intervals of differences are, and whether they agree with p; none if there are none."""
    method = comparisons[0].method
    rows = [row for comparison in comparisons for row in comparison.rows if row.difference_interval is not None]
    inverted = [row for row in rows if row.difference_interval != "bca"]
    corrected = any(power.comparisons > 1 for comparison in comparisons for power in comparison.powers.values())
    uncorrected = ", not corrected" if corrected else ""
    parts = []
    if inverted:
        parts.append(_inverted_text(method, sorted({row.difference_level or 0.0 for row in inverted}), corrected))
    if resampled := list(dict.fromkeys(row.measure for row in rows if row.difference_interval == "bca")):
        of = f" of {enumeration(resampled, 'and')}" if method.test in ("randomization", "t", "tukey") else ""
        about = ", which compares logarithms" if of else ", which compares ranks" if method.test == "wilcoxon" else ""
        which = "those" if parts else "intervals of differences"
        parts.append(f"{which}{of} are by the BCa bootstrap{uncorrected}: they may disagree with p{about}")
    return ["; ".join(parts)] if parts else []


def _inverted_text(method: Method, levels: Sequence[float], corrected: bool) -> str:
    """What intervals are that come from the test itself."""
    level = " to ".join(dict.fromkeys(level_text(level, 4) for level in (levels[0], levels[-1])))
    what, p = "are from the test", "p"
    if method.test == "tukey":
        what = "hold for all pairs at once"
    elif corrected and method.correction == "bonferroni":
        what, p = f"are at {level}, corrected like p", "the corrected p"
    elif corrected:
        what, p = f"are at {level_text(method.level)}, not corrected", "p before the correction"
    return f"intervals of differences {what}: they exclude 0 exactly if {p} is below {alpha_text(method.alpha)}"


def _random_draws(method: Method, powers: Sequence[Power]) -> str:
    """The number of random draws of the test, if any."""
    if method.test == "bootstrap":
        return f" ({plural(method.resamples, 'resample')})"
    if method.test not in ("randomization", "tukey"):
        return ""
    permutations = plural(method.permutations, "permutation")
    sampled = [power.nonzero for power in powers if not power.exact]
    if method.test == "tukey" or len(sampled) == len(powers):
        return f" ({permutations})"
    # Fewer than 38 if there are very many comparisons.
    most = min([MAX_EXACT, *(nonzero - 1 for nonzero in sampled)])
    return f" ({permutations}; exact if at most {most} queries differ)" if sampled else " (exact)"


def latex(comparison: Comparison, digits: int = DIGITS) -> str:
    """A booktabs tabular with a row per system, in the style of papers.

    Each system has a letter. Superscripts name the systems that a system is significantly better than, subscripts
    those that it is significantly worse than. The best mean of a column is bold.
    """
    letters = {name: letter(at) for at, name in enumerate(comparison.systems)}
    beaten = beaten_systems(comparison)
    legend = "superscripts: significantly better than the systems with these letters; subscripts: significantly worse"
    body = []
    means: dict[str, dict[str, float | None]] = {}
    for row in comparison.rows:
        means.setdefault(row.measure, {})[row.system] = row.mean
    for name in comparison.systems:
        cells = [
            _latex_mean(comparison, name, measure, means[measure], beaten, letters, digits)
            for measure in comparison.measures
        ]
        body.append(" & ".join([letters[name], latex_text(name), *cells]) + r" \\")
    lines = [
        *(f"% {printable(note)}" for note in (legend, *_notes(comparison), *_sentences(comparison))),
        rf"\begin{{tabular}}{{ll{'r' * len(comparison.measures)}}}",
        r"\toprule",
        " & ".join(["", "run", *map(latex_text, comparison.measures)]) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _latex_mean(
    comparison: Comparison,
    name: str,
    measure: str,
    means: Mapping[str, float | None],
    beaten: Mapping[tuple[str, str], Sequence[str]],
    letters: Mapping[str, str],
    digits: int,
) -> str:
    """The mean of a system on a measure, with the letters of the systems that differ significantly."""
    known = [mean for mean in means.values() if mean is not None]
    best = (max if comparison.systems[name].higher_is_better(measure) else min)(known, default=None)
    text = latex_text(cell_text(means[name], measure, digits))
    text = rf"\textbf{{{text}}}" if len(set(known)) > 1 and means[name] == best else text
    better = [letters[other] for other in beaten.get((measure, name), ())]
    worse = [letters[other] for other in comparison.systems if name in beaten.get((measure, other), ())]
    marks = (f"^{{{','.join(sorted(better))}}}" if better else "") + (
        f"_{{{','.join(sorted(worse))}}}" if worse else ""
    )
    return f"{text}${marks}$" if marks else text


def beaten_systems(comparison: Comparison) -> dict[tuple[str, str], list[str]]:
    """For each measure and system, the systems that it is significantly better than."""
    beaten: dict[tuple[str, str], list[str]] = {}
    for row in filter(comparison.significant, comparison.rows):
        better, worse = (row.system, row.baseline) if row.is_improvement else (row.baseline, row.system)
        beaten.setdefault((row.measure, better or ""), []).append(worse or "")
    return beaten


def letter(at: int) -> str:
    """The letter of a system, in the order a, b, …, z, aa, ab, …, zz."""
    rest, last = divmod(at, len(ascii_lowercase))
    return (letter(rest - 1) if rest else "") + ascii_lowercase[last]
