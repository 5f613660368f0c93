"""Queries that were drawn at random to be labelled by people: how they are drawn, and how the file remembers them.

Only labels of such queries correct the mean of a model: those that somebody has chosen say nothing about the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from karat.errors import KaratError, Parameter, Place, plural, shown
from karat.errors.arguments import as_count
from karat.grounding.verdict_file.records import read_count, read_id, text_digest

DrawnKey = tuple[str, str | None, str]
"""the query and the system of an answer that was drawn, and the recipe that it was drawn for"""


class DrawnQuery(NamedTuple):
    """A query of a system whose answer was drawn at random to be labelled by people, and what it was drawn from."""

    query: str
    system: str | None
    recipe: str
    """what was to be labelled"""
    number: int
    """in the order in which queries were drawn, from 1"""
    drawn: int
    """how many were drawn"""
    population: int
    """how many queries there were"""
    population_digest: str
    """the digest of their ids"""
    seed: int

    @property
    def key(self) -> DrawnKey:
        """By which it is told apart."""
        return self.query, self.system, self.recipe

    def record(self) -> dict[str, Any]:
        """The record of a verdict file."""
        return {"record": "sample", **{name: value for name, value in self._asdict().items() if value is not None}}


def read_drawn_query(record: Mapping[str, Any], place: Place) -> DrawnQuery:
    """The drawn query of a record; a wrong field is an error that names it."""
    texts = [read_id(record, name, place) for name in ("query", "recipe", "population_digest")]
    system = None if record.get("system") is None else read_id(record, "system", place)
    counts = [read_count(record, name, place) for name in ("number", "drawn", "population", "seed")]
    number, drawn, population, seed = (-1 if count is None else count for count in counts)
    if not (1 <= number <= drawn <= population and seed >= 0):
        what = "a drawn query needs its number, of how many drawn from how many, and the seed"
        hint = "`karat verdicts template --sample` writes such records: keep them as they are."
        raise KaratError(what, place=place, hint=hint)
    return DrawnQuery(texts[0], system, texts[1], number, drawn, population, texts[2], seed)


def add_drawn(known: dict[DrawnKey, DrawnQuery], query: DrawnQuery, place: Place) -> None:
    """Add a drawn query; it may also be in a larger sample that goes on, but not in two different ones."""
    earlier = known.setdefault(query.key, query)
    if earlier._replace(drawn=query.drawn) != query:
        what = f"query {shown(query.query)} was drawn in two ways, with the seeds {earlier.seed} and {query.seed}"
        raise KaratError(what, place=place, hint="Keep the labels of each sample in a file of its own.")
    known[query.key] = max(earlier, query, key=attrgetter("drawn"))


def draw(queries: Iterable[str], sample: object, seed: object) -> list[str]:
    """So many of the queries, in the order in which they are drawn; the same ones for each system, whatever its order.

    A larger sample with the same seed begins with the queries of a smaller one.

    >>> draw(["q1", "q2", "q3"], 2, 7)
    ['q1', 'q3']
    """
    of_all = {*queries}
    number, start = as_count(sample, 1), as_count(seed)
    if number is None:
        raise KaratError([Parameter("sample", sample), " is not a number of queries"])
    if start is None:
        raise KaratError([Parameter("seed", seed), " is not a whole number from 0"])
    if number > len(of_all):
        raise KaratError([Parameter("sample", number), f" is more than the {plural(len(of_all), 'query')} there are"])
    return sorted(
        of_all, key=lambda query: hashlib.sha256(f"{start}\t{query}".encode(errors="surrogatepass")).digest()
    )[:number]


def drawn_queries(
    drawn: Sequence[str], queries: Iterable[str], system: str | None, recipe: str, seed: int
) -> dict[str, DrawnQuery]:
    """What is remembered of each drawn query."""
    of_all = {*queries}
    digest = population_digest(of_all)
    return {
        query: DrawnQuery(query, system, recipe, number, len(drawn), len(of_all), digest, seed)
        for number, query in enumerate(drawn, 1)
    }


def population_digest(queries: Iterable[str]) -> str:
    """The digest of the ids of all queries that a sample was drawn from."""
    return text_digest("\n".join(sorted({*queries})))
