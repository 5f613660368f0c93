"""Hashes of rows: equal for equal rows and different for different rows, at any position in memory."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from karat.reading.pairs import hashing
from karat.reading.pairs.arrays import Texts, text_column
from karat.reading.pairs.containers import ScoredRows
from karat.reading.pairs.hashing import RowIndex, pair_hashes, query_hashes, repeated_rows, repeats_among, text_hashes
from karat.reading.pairs.places import queries_in

ids = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def table(rows: list[tuple[str, str]]) -> ScoredRows:
    """A table of queries and documents, with one segment per stretch of equal queries."""
    starts = [at for at, row in enumerate(rows) if at == 0 or row[0] != rows[at - 1][0]]
    offsets = np.array([*starts, len(rows)], np.int64)
    docs = text_column([doc for _, doc in rows])
    return ScoredRows(
        [rows[at][0] for at in starts], offsets, docs, np.zeros(len(rows)), partial(queries_in, "the run")
    )


@example(["", "\x01", "\x00", "\x03\x00"])
@given(st.lists(ids, max_size=20))
def test_texts_have_equal_hashes_only_if_they_are_equal(values: list[str]) -> None:
    hashes = text_hashes(text_column(values)).tolist()
    assert len(set(hashes)) == len(set(values))
    assert dict(zip(values, hashes, strict=True)) == {
        value: int(text_hashes(text_column([value]))[0]) for value in values
    }


@given(st.lists(ids, min_size=1, max_size=20), st.data())
def test_a_slice_of_a_column_has_the_same_hashes_as_its_texts(values: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(values) - 1))
    assert text_hashes(text_column(values)[start:]).tolist() == text_hashes(text_column(values)).tolist()[start:]


def test_long_texts_have_equal_hashes_only_if_they_are_equal() -> None:
    values = ["a" * size + end for size in (1000, 1023, 1024, 1025, 3000) for end in ("", "a", "b", "aaaaaaaab")]
    hashes = text_hashes(text_column(values)).tolist()
    assert len(set(hashes)) == len(set(values))
    assert hashes == [int(text_hashes(text_column([value]))[0]) for value in values]


def test_queries_and_documents_with_the_same_ids_do_not_collide() -> None:
    names = text_column([str(number) for number in range(400)])
    queries, docs = query_hashes(names), text_hashes(names)
    grid = pair_hashes(np.repeat(queries, 400), np.tile(docs, 400))
    assert len(np.unique(grid)) == 400 * 400


pairs_of_ids = st.tuples(st.sampled_from(["q", "r", "qq"]), st.sampled_from(["a", "b", "aa", "q", "x" * 40]))


@given(st.lists(pairs_of_ids, max_size=25).map(lambda rows: sorted(rows, key=lambda row: row[0])))
def test_repeated_rows_are_the_rows_with_the_same_query_and_document(rows: list[tuple[str, str]]) -> None:
    expected = [at for at, row in enumerate(rows) if rows.count(row) > 1]
    assert repeated_rows(table(rows), table(rows).hashes()).tolist() == expected


def test_rows_with_colliding_hashes_are_compared_as_text() -> None:
    rows = table([("q", "a"), ("q", "b"), ("q", "a")])
    assert repeated_rows(rows, np.zeros(3, np.uint64)).tolist() == [0, 2]


def test_texts_in_several_parts_have_the_same_hashes_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    values = ["a", "", "b" * 9, "c" * 30, "é", "a", "d" * 1024, "d" * 1025, "d" * 5000] * 3
    expected = text_hashes(text_column(values)).tolist()
    monkeypatch.setattr(hashing, "_ROWS_AT_ONCE", 4)
    assert text_hashes(text_column(values)).tolist() == expected


@given(st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**63, 2**64 - 1]), max_size=30))
def test_an_index_finds_the_rows_of_each_hash_one_after_the_other(values: list[int]) -> None:
    hashes = np.array(values, np.uint64)
    index = RowIndex.of(hashes)
    for value in values:
        wanted = np.array([value], np.uint64)
        place = index.first(wanted)
        rows = []
        while place[0] < len(values) and index.agrees(place, wanted)[0]:
            rows += index.rows(place).tolist()
            place += 1
        assert rows == sorted(rows)
        # Other rows may agree in the upper bits.
        assert {row for row, other in enumerate(values) if other == value} <= set(rows)


@given(st.lists(pairs_of_ids, max_size=25).map(lambda rows: sorted(rows, key=lambda row: row[0])))
def test_an_index_contains_all_repeated_rows_among_its_possible_repeats(rows: list[tuple[str, str]]) -> None:
    index = RowIndex.of(table(rows).hashes())
    expected = [at for at, row in enumerate(rows) if rows.count(row) > 1]
    assert repeats_among(table(rows), index.possible_repeats()).tolist() == expected


@given(st.lists(ids, max_size=9), st.data())
def test_the_texts_of_a_column_are_a_sequence_of_strings(values: list[str], data: st.DataObject) -> None:
    texts = Texts(text_column(values))
    assert list(texts) == values
    assert len(texts) == len(values)
    start, stop = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))
    assert texts[start:stop] == values[start:stop]
    assert [texts[at] for at in range(-len(values), len(values))] == values * 2
    assert text_column(texts) is texts.column
