"""Where pairs of a query and a document are listed in a source, for errors and findings about them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias

from karat.errors import Place
from karat.reading.bytes.blocks import Block

Pair: TypeAlias = tuple[str, str]
"""the ids of a query and of a document"""
PlacedPair: TypeAlias = tuple[Pair, Place]
Locate: TypeAlias = Callable[[Collection[Pair]], Iterator[PlacedPair]]
"""finds all places at which some pairs are listed, in the order of the source, which is read again"""

FEW_PAIRS = 8
"""so many are looked for in the bytes of a block before its lines are parsed"""


def places_of(locate: Locate, pairs: Collection[Pair], most: int = 2) -> dict[Pair, Place]:
    """Where pairs are listed: of each, the first places together, as `run.trec:3 and 7`, but not more than `most`."""
    found: dict[Pair, list[Place]] = {pair: [] for pair in pairs}
    left = most * len(found)
    for pair, place in locate(found) if found else ():
        places = found[pair]
        if len(places) < most:
            places.append(place)
            left -= 1
            if not left:
                break
    return {pair: together(places) for pair, places in found.items() if places}


def place_of(locate: Locate, pair: Pair) -> Place | None:
    """The first two places at which a pair is listed, for an error; None if it is not listed any more."""
    return places_of(locate, [pair]).get(pair)


def together(places: list[Place]) -> Place:
    """One or two places as one, for a message about both.

    >>> print(together([Place("run.jsonl", line=3), Place("run.jsonl", line=7)]))
    run.jsonl:3 and 7
    """
    if len(places) == 1:
        return places[0]
    first, second = places
    if first.source == second.source and isinstance(first.line, int) and isinstance(second.line, int):
        return first._replace(line=(first.line, second.line))
    if first.source == second.source and isinstance(first.row, int) and isinstance(second.row, int):
        return first._replace(row=(first.row, second.row))
    return first._replace(other=second)


def queries_in(source: str, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
    """The queries of pairs, for a source without lines or rows."""
    return ((pair, Place(source, query=pair[0])) for pair in pairs)


def placed_lines(
    blocks: Iterable[Block], lines_in: Callable[[Block], Iterable[tuple[int, Pair]]]
) -> Iterator[PlacedPair]:
    """The places of the lines that `lines_in` finds in the blocks of a file, counted from 0, unless they are wrong."""
    for block in blocks:
        rejected = block.source.rejected
        for line, pair in lines_in(block):
            place = block.place(line)
            if rejected is None or place not in rejected:
                yield pair, place
