"""evaluate(): from truth and run to scores, the whole path on one page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from karat.errors import KaratError, shown
from karat.findings import findings
from karat.measures import Measure, parse
from karat.names import split_names
from karat.ranking import Duplicates, Rules, judge
from karat.scores import Scores
from karat.sources import Truth, read_run, read_truth
from karat.sources.pieces import Progress
from karat.ties import Ties

Missing = Literal["zero", "skip"]
Measures = str | Measure | Iterable[str | Measure]

DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@100")


def evaluate(
    truth: Any,
    run: Any,
    measures: Measures = DEFAULT_MEASURES,
    *,
    ties: Ties = "trec",
    missing: Missing = "zero",
    duplicates: Duplicates = "error",
    ignore_identical_ids: bool = False,
    rel: float | None = None,
    match: str = "id",
    truth_columns: Mapping[str, str] | None = None,
    run_columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    name: str = "",
) -> Scores:
    """Measure how well a run answers a truth.

    `truth` and `run` are each a path (`-` is standard input), a mapping by query, one list per query, or a data
    frame. `measures` are names such as `nDCG@10`, in our spelling or a peer's.

    - `ties`: who comes first among equal scores: `trec` (document id descending), `input` (the order given),
      `best` and `worst` (relevant documents first, or last).
    - `missing`: a query of the truth that the run lacks scores `zero`, or is left out (`skip`).
    - `duplicates`: a document that comes twice in a query of a table is an `error`, or the `first` in rank stays.
    - `ignore_identical_ids`: leave out documents that have the id of their query.
    - `rel`: the grade from which a document is relevant, for measures that do not say it themselves.
    - `match`: what identifies documents given as objects: `id`, `content`, or a field such as `meta.source`.
    - `truth_columns`, `run_columns`: other names for the columns of data frames, as `{"doc": "docno"}`.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": {"b": 0.5, "x": 0.4, "a": 0.3}}, ["AP"])["AP"]
    0.8333333333333333
    """
    chosen = chosen_measures(measures, rel)
    judged_documents = read_truth(truth, columns=truth_columns, match=match)
    return _scores(
        judged_documents, run, chosen, Rules(ties, duplicates, ignore_identical_ids), missing, match, run_columns,
        progress, name,
    )  # fmt: skip


def evaluate_runs(
    truth: Any,
    runs: Mapping[str, Any],
    measures: Measures = DEFAULT_MEASURES,
    *,
    ties: Ties = "trec",
    missing: Missing = "zero",
    duplicates: Duplicates = "error",
    ignore_identical_ids: bool = False,
    rel: float | None = None,
    match: str = "id",
    truth_columns: Mapping[str, str] | None = None,
    run_columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Scores]:
    """Measure several runs against one truth, which is read once. The options are those of `evaluate`.

    >>> scores = evaluate_runs({"q": {"a": 1}}, {"good": {"q": ["a"]}, "bad": {"q": ["x", "a"]}}, "RR")
    >>> {name: of_run["RR"] for name, of_run in scores.items()}
    {'good': 1.0, 'bad': 0.5}
    """
    if not isinstance(runs, Mapping) or not runs:
        raise KaratError(f"{shown(runs)} are no runs", mend='Give them by name: {"bm25": run, "dense": run}.')
    chosen = chosen_measures(measures, rel)
    judged_documents = read_truth(truth, columns=truth_columns, match=match)
    rules = Rules(ties, duplicates, ignore_identical_ids)
    return {
        name: _scores(judged_documents, run, chosen, rules, missing, match, run_columns, progress, name)
        for name, run in runs.items()
    }


def chosen_measures(measures: Measures, rel: float | None = None) -> list[Measure]:
    """The measures meant by names, each once, with the threshold set where it is left open."""
    several = (
        [measures]
        if isinstance(measures, Measure)
        else split_names(measures)
        if isinstance(measures, str)
        else measures
    )
    chosen = [parse(str(measure)) for measure in several]
    if rel is not None:
        chosen = [_with_threshold(measure, rel) for measure in chosen]
    if not chosen:
        raise KaratError("no measure was asked for", mend="Ask for one, for example nDCG@10.")
    return list(dict.fromkeys(chosen))


def _with_threshold(measure: Measure, rel: float) -> Measure:
    """Graded measures have no threshold of relevance to set: where one takes `rel` at all, its default is not 1."""
    parameter = measure.definition.parameters.get("rel")
    takes = parameter is not None and parameter.default == 1 and "rel" not in dict(measure.settings)
    return measure(rel=rel) if takes else measure


def _scores(
    truth: Truth, run: Any, measures: list[Measure], rules: Rules, missing: str, match: str,
    columns: Mapping[str, str] | None, progress: Progress | None, name: str,
) -> Scores:  # fmt: skip
    _refuse_unknown("ties", rules.ties, get_args(Ties))
    _refuse_unknown("duplicates", rules.duplicates, get_args(Duplicates))
    _refuse_unknown("missing", missing, get_args(Missing))
    source = read_run(run, truth, columns=columns, match=match, progress=progress, name=name or "the run")
    judged, noticed = judge(truth, source, rules)
    noticed_here = findings(judged, noticed, measures, missing)
    if missing == "skip":
        if not judged.answered.any():
            raise KaratError(
                "no query of the truth is in the run",
                where=source.name,
                mend="Compare the query ids of both: are they written alike?",
            )
        judged = judged.select(judged.answered)
    values = {str(measure): measure.compute(judged) for measure in measures}
    return Scores(judged.queries, values, tuple(noticed_here), name)


def _refuse_unknown(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise KaratError(f"{option}={shown(value)} is not one of {', '.join(known)}")
