"""trec_eval's output for ground truth and a run in TREC files: the same lines, from karat's measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from karat.compat.judgments import RankedJudgments, rank_run
from karat.compat.measures import Judgments, PrintedMeasure, Version, printed_measures
from karat.data.caching import cached_property
from karat.data.judged import Floats, Ints
from karat.errors import KaratError, first_few, plural, require
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.pairs.trec import last_tag
from karat.registry import Combine
from karat.registry.combining import before_mean, combined_value

_LARGEST_DIGIT = 9  # of relstring


class MissingQueryError(KaratError):
    """A query of the ground truth is missing from the run: trec_eval 10 then stops with this status."""

    exit_status = 4


@dataclass(frozen=True)
class TrecOptions:
    """What trec_eval's options say."""

    measures: tuple[str, ...] = ("official",)
    per_query: bool = False
    summary: bool = True
    complete: bool = False
    """whether queries that are missing from the run count as 0"""
    level: int = 1
    """the lowest relevant grade"""
    depth: int | None = None
    """how many documents of a query are evaluated"""
    judged_only: bool = False
    collection: int = 0
    """the number of documents in the collection"""
    version: Version = 10
    judgments: Judgments = "qrels"
    """the format of the ground truth"""


@dataclass(frozen=True)
class TrecOutput:
    """What trec_eval prints, and why it stopped, if it did."""

    text: str
    error: KaratError | None = None


def run_trec_eval(truth: str, run: str, options: TrecOptions, progress: Progress | None = None) -> TrecOutput:
    """What trec_eval prints for two TREC files, or for standard input (`-`).

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (qrels := folder / "q").write_text("q1 0 d1 1") and (run := folder / "r").write_text("q1 Q0 d1 1 0.5 bm25")
    19
    >>> print(run_trec_eval(str(qrels), str(run), TrecOptions(("map", "P.5"))).text.expandtabs(), end="")
    map                     all     1.0000
    P_5                     all     0.2000
    """
    columns = printed_measures(
        options.measures,
        level=options.level,
        version=options.version,
        collection=options.collection,
        judgments=options.judgments,
    )
    require(columns, "there is nothing to compute", "Name a measure: -m map.")
    file = InputFile(run)
    ranked, observations = rank_run(
        InputFile(truth),
        file,
        options.judgments,
        single_precision=options.version == 9,
        depth=options.depth,
        judged_only=options.judged_only,
        progress=progress,
    )
    if not ranked.judged.in_run.any() and (options.version == 9 or not options.complete):
        from karat.evaluation.findings import no_common_queries

        raise no_common_queries(ranked.judged.queries, observations.unknown_queries, file.name)
    tag = last_tag(file) if options.summary and any(column.stem == "runid" for column in columns) else ""
    return _Evaluation(columns, ranked, options, tag, file.name).output()


@dataclass(frozen=True)
class _Evaluation:
    """The values of all queries, as they are printed."""

    columns: list[PrintedMeasure]
    ranked: RankedJudgments
    options: TrecOptions
    tag: str
    run: str

    def output(self) -> TrecOutput:
        """All lines, or those of the queries above one that is missing."""
        queries, missing = self.queries, None
        if self.options.version == 10 and not self.options.complete:
            absent = (~self.ranked.judged.in_run[queries]).nonzero()[0]
            missing = self._missing(queries[absent]) if len(absent) else None
            queries = queries[: absent[0]] if missing else queries
        lines = self.lines_of_queries(queries) if self.options.per_query else iter(())
        summary = self.summary() if self.options.summary and missing is None else iter(())
        return TrecOutput("".join((*lines, *summary)), missing)

    @cached_property
    def queries(self) -> Ints:
        """The queries that are evaluated, sorted by id."""
        names, in_run = self.ranked.judged.queries, self.ranked.judged.in_run
        ordered = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        return ordered[in_run[ordered]] if self.options.version == 9 else ordered

    @cached_property
    def values(self) -> dict[PrintedMeasure, Floats]:
        """What is added up, for each query of the ground truth. Two recall points may be printed as the same name."""
        columns = [column for column in self.columns if column.measure and column.stem != "num_q"]
        values = {column: self.ranked.values(column) for column in columns}
        for column in values:
            if column.stem == "utility":  # as if nothing had been evaluated
                values[column][~self.ranked.judged.in_run] = 0
        return values

    def lines_of_queries(self, queries: Ints) -> Iterator[str]:
        """The lines of each query. What is combined in another way than by a mean has none, except for counts."""
        texts: list[tuple[str, list[str]]] = []
        for column in self.columns:
            if column.stem == "relstring":
                texts.append((column.name, self._relevance(queries, column.length)))
            elif column.combine in ("mean", "sum") and column.stem != "num_q":
                form = _form(column)
                texts.append((column.name, [form % value for value in self.values[column][queries].tolist()]))
        names = [self.ranked.judged.queries[query] for query in queries.tolist()]
        for at, query in enumerate(names):
            yield from (_line(name, query, of_queries[at]) for name, of_queries in texts)

    def summary(self) -> Iterator[str]:
        """The lines for all queries together."""
        n = len(self.ranked.judged.queries) if self.options.complete else len(self.queries)
        for column in self.columns:
            if column.stem == "runid":
                yield _line(column.name, "all", self.tag)
            elif column.combine is not None:
                yield _line(column.name, "all", _form(column) % self._combined(column, column.combine, n))

    def _combined(self, column: PrintedMeasure, combine: Combine, n: int) -> float:
        if self.options.complete and column.stem == "num_rel":
            return float((self.ranked.judged.gold_grade > 0).sum())  # whatever the level is
        if column.stem == "num_q":
            return n
        terms = self.values[column][self.queries]
        absent = (n - len(terms)) * float(before_mean(np.zeros(1), combine)[0])
        # One after the other, as trec_eval adds them up: the last digit that is printed may depend on it.
        total = float(np.add.accumulate(terms)[-1]) if len(terms) else 0.0
        return combined_value(total + absent, combine, n)

    def _relevance(self, queries: Ints, length: int) -> list[str]:
        """The grades of the first ranks of each query, as characters."""
        hits = self.ranked.judged.by_rank.top(length)
        shown = [["-"] * depth for depth in self.ranked.judged.depth(length).tolist()]
        for query, rank, grade in zip(hits.query.tolist(), hits.rank.tolist(), hits.grade.tolist(), strict=True):
            character = "." if grade < 0 else ">" if grade > _LARGEST_DIGIT else str(int(grade))
            shown[query][rank - 1] = character
        return [f"'{''.join(shown[query])}'" for query in queries.tolist()]

    def _missing(self, queries: Ints) -> KaratError:
        names = [self.ranked.judged.queries[query] for query in queries.tolist()]
        what = f"the run lacks {plural(len(names), 'query')} of the ground truth: {first_few(names)}"
        return MissingQueryError(what, place=self.run, hint="To score them 0, use -c.")


def _form(column: PrintedMeasure) -> str:
    return "%d" if column.combine == "sum" else "%6.4f"


def _line(name: str, query: str, value: str) -> str:
    return f"{name:<22}\t{query}\t{value}\n"
