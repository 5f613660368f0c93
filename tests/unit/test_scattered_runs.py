"""Runs whose lines of a query are not next to each other."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.reading.pairs import grouping
from karat.reading.pairs.arrays import ColumnBuilder, text_column
from karat.reading.pairs.places import queries_in
from tests.block_size import block_size

MEASURES = ["nDCG", "AP", "RR", "P@3"]


@given(
    seed=st.integers(0, 10**6),
    ties=st.sampled_from(["trec", "best"]),
    rows=st.sampled_from([1, 7, 1 << 18]),
    peek=st.sampled_from([2, 1 << 10]),
)
def test_the_order_of_the_lines_of_a_run_changes_no_score(
    seed: int, ties: str, rows: int, peek: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    chance = Random(seed)
    queries, docs = [f"q{at}" for at in range(9)], [f"d{at}" for at in range(9)]
    truth = {query: {doc: chance.randint(0, 2) for doc in docs[::2]} for query in queries}
    run = {query: {doc: chance.randint(0, 4) / 2 for doc in chance.sample(docs, 6)} for query in queries}
    lines = [f"{query} Q0 {doc} 1 {score} t\n" for query in run for doc, score in run[query].items()]
    chance.shuffle(lines)
    path = tmp_path_factory.getbasetemp() / "scattered.run"
    path.write_text("".join(lines))
    with block_size(60), pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "_ROWS_PER_BATCH", rows)
        patch.setattr(grouping, "_PEEK", peek)
        scores = karat.evaluate(truth, path, MEASURES, ties=ties)  # type: ignore[arg-type]  # it is one of the names
    expected = karat.evaluate(truth, run, MEASURES, ties=ties)  # type: ignore[arg-type]
    assert {name: list(values) for name, values in scores.values.items()} == {
        name: list(values) for name, values in expected.values.items()
    }


def test_a_document_listed_twice_in_a_scattered_run_is_an_error_that_names_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "scattered.run"
    path.write_text("".join(f"q{at % 3} Q0 d{at % 10} 1 {at} t\n" for at in range(35)))
    with block_size(60), pytest.raises(karat.KaratError, match=r"scattered\.run:1 and 31: document d0 .* query q0"):
        karat.evaluate({"q0": ["d0"]}, path)


@pytest.mark.parametrize("queries", [3, 1 << 16, 70_000])
def test_rows_keep_their_order_within_a_query_however_many_queries_there_are(queries: int) -> None:
    numbers = np.tile(np.arange(queries, dtype=np.int32), 2)
    numbers[queries:] = numbers[queries:][::-1]
    docs = text_column([str(at) for at in range(len(numbers))])
    rows = grouping.NumberedRows(list(map(str, range(queries))), numbers, docs, np.arange(len(numbers), dtype=float))
    table = grouping.as_table(rows, partial(queries_in, "the run"))
    expected = [row for query in range(queries) for row in (query, 2 * queries - 1 - query)]
    assert table.scores.tolist() == expected
    assert table.docs.to_pylist() == list(map(str, expected))


@given(st.lists(st.lists(st.text(max_size=5).filter(lambda text: text.isprintable()))))
def test_columns_that_are_built_in_parts_have_the_texts_of_all_parts(parts: list[list[str]]) -> None:
    builder = ColumnBuilder()
    for part in parts:
        # A slice starts at an offset inside its buffers.
        builder.append(text_column(["before", *part, "after"]).slice(1, len(part)))
    assert builder.column().to_pylist() == [text for part in parts for text in part]
