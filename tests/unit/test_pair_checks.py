"""What a pair of query and document must be is the same for all sources, and so is the error."""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat import KaratError
from karat.errors import Place, shown
from karat.reading.pairs import pair_checks, tables
from karat.reading.pairs.any_source import read_run, read_truth
from karat.reading.pairs.columns import LARGEST_WHOLE
from karat.reading.pairs.containers import ScoredMappings, ScoredRows
from karat.reading.pairs.pair_checks import PairColumns, PairRules, checked_pairs, id_text, number_in, valid_pairs

Row = tuple[Any, Any, Any]
GRADE, SCORE, RANK = PairRules("grade", "the hint"), PairRules("score", "the hint"), PairRules("rank", "the hint")
IN_JSON = PairRules("score", finite=True)
DECODED = PairRules("score", encoded=True)


def checked(*rows: Row, rules: PairRules = SCORE) -> PairColumns:
    return checked_pairs(rows, rules, lambda row, _: Place("the run", row=row))


def error_of(row: Row, rules: PairRules = SCORE) -> KaratError:
    with pytest.raises(KaratError) as raised:
        checked(("q", "d", 1), row, rules=rules)
    assert raised.value.place == Place("the run", row=1)
    assert valid_pairs([*zip(("q", "d", 1), row, strict=True)], rules) is None
    return raised.value


# Ids


@pytest.mark.parametrize(
    ("value", "text"),
    [("007", "007"), (" q ", " q "), (7, "7"), (-7, "-7"), (2**70, str(2**70)), (np.int8(7), "7"), (7.0, "7"),
     (-0.0, "0"), (2.0**53, str(2**53)), (np.float64(7), "7"), (np.str_("a"), "a"), ("\U0001f600", "\U0001f600")],
)  # fmt: skip
def test_an_id_is_a_text_or_a_whole_number(value: Any, text: str) -> None:
    assert id_text(value) == text
    assert checked((value, "d", 1)).queries == checked(("q", value, 1)).docs == [text]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (None, "the id of the {} is missing"),
        (math.nan, "the id of the {} is missing"),
        ("", "the id of the {} is empty"),
        ("a\ud800", "the id of the {} is not valid Unicode: it contains a lone surrogate"),
        ("x" * 2**20 + "y", "the id of the {} is longer than 1 MB"),
        ("é" * 2**19 + "y", "the id of the {} is longer than 1 MB"),
        (1.5, "1.5 is not an id"),
        (math.inf, "inf is not an id"),
        (2.0**53 + 2, "9007199254740994.0 is not an id"),
        (True, "True is not an id"),
        (b"a", "b'a' is not an id"),
        (["a"], "['a'] is not an id"),
        (Decimal(7), "Decimal('7') is not an id"),
        (10**5000, "an id is a number with thousands of digits"),
    ],
    ids=shown,
)
def test_what_is_not_an_id_is_an_error(value: Any, what: str) -> None:
    assert error_of((value, "d", 1)).what == what.format("query")
    error = error_of(("q", value, 1))
    assert error.what == what.format("document")
    assert error.hint


def test_an_id_may_have_1_mb() -> None:
    rows = [("x" * 2**20, "é" * 2**19, 1)]
    assert checked(*rows).docs == [rows[0][1]]


def test_bytes_that_are_not_utf_8_are_shown() -> None:
    error = error_of(("q", "caf\udce9", 1), DECODED)
    assert str(error) == r"the run, row 1: b'caf\xe9' is not UTF-8. Save the file as UTF-8."


def test_ids_that_are_numbers_are_known() -> None:
    assert checked(("q", "d", 1), ("q", 7, 1)).numeric == {"document"}
    for queries in ([1], ["q", 1]):
        pairs = valid_pairs([queries, ["d", "e"][: len(queries)], [1, 2][: len(queries)]], SCORE)
        assert pairs is not None
        assert pairs.numeric == {"query"}


# Numbers


@pytest.mark.parametrize(
    ("value", "number"),
    [(1, 1.0), (0.5, 0.5), ("0.5", 0.5), (" -1e3 ", -1000.0), ("1e-400", 0.0), (Decimal("0.5"), 0.5),
     (Fraction(1, 2), 0.5), (np.float16(0.5), 0.5), (np.int64(3), 3.0),
     (2**64, 2.0**64)],
)  # fmt: skip
def test_a_grade_and_a_score_are_numbers_of_any_type_or_texts_that_contain_one(value: Any, number: float) -> None:
    for rules in (GRADE, SCORE, IN_JSON, DECODED):
        assert checked(("q", "d", value), rules=rules).numbers.tolist() == [number]


@pytest.mark.parametrize(("value", "grade"), [(True, 1.0), (np.False_, 0.0), ("true", 1.0), (" False", 0.0)])
def test_grades_may_be_true_or_false_but_scores_and_ranks_may_not(value: Any, grade: float) -> None:
    assert checked(("q", "d", value), rules=GRADE).numbers.tolist() == [grade]
    for rules in (SCORE, RANK, IN_JSON, DECODED):
        error = error_of(("q", "d", value), rules)
        assert error.what == f"{rules.number} {shown(value)} is not a number"
        assert error.hint == "Only grades can be true or false."


@pytest.mark.parametrize("value", [math.inf, -math.inf, np.float32("inf"), "inf", "-Infinity", Decimal("Infinity")])
def test_a_score_may_be_infinite_but_a_grade_and_a_score_in_json_may_not(value: Any) -> None:
    assert checked(("q", "d", value)).numbers.tolist() == [float(value)]
    for rules in (GRADE, IN_JSON):
        assert error_of(("q", "d", value), rules).what.endswith("is not a finite number")
    assert error_of(("q", "d", value), RANK).what.endswith("is not a whole number from 0")


@pytest.mark.parametrize(
    "value", ["1e400", "-1e400", 10**400, -(10**400), Fraction(10**400), Decimal("1e400")], ids=shown
)
def test_a_number_beyond_doubles_is_an_error_and_not_a_tie(value: Any) -> None:
    for rules in (GRADE, SCORE, RANK, IN_JSON):
        error = error_of(("q", "d", value), rules)
        assert error.what.endswith("is too large")
        assert error.hint == "The largest number that can be read is about 1.8e308."


@pytest.mark.parametrize(
    "value",
    ["abc", "nan", math.nan, np.float32("nan"), Decimal("sNaN"), "1_0", "١", "0x10", 1j, b"1", [1], object, "1 2"],
)
def test_what_is_not_a_number_is_an_error_with_the_hint_of_its_source(value: Any) -> None:
    for rules in (GRADE, SCORE, RANK):
        error = error_of(("q", "d", value), rules)
        assert error.what.startswith(f"{rules.number} ")
        assert error.what.endswith("is not a number")
        assert error.hint == ("the hint" if value != "1 2" else pair_checks._DECIMAL_POINT)


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_number_that_is_missing_is_an_error(value: Any) -> None:
    assert str(error_of(("q", "d", value), GRADE)) == "the run, row 1: the grade is missing. the hint"


@pytest.mark.parametrize("text", ["1,5", "1.234.567", "1 000", "1'000"])
def test_a_hint_says_how_numbers_are_written(text: str) -> None:
    assert "decimal point" in str(error_of(("q", "d", text)))


def test_a_mapping_in_the_place_of_a_number_has_a_hint_where_the_source_gives_one() -> None:
    runs = {"q1": {"d": 1}}
    assert error_of(("bm25", "q1", runs)).hint == "the hint"
    assert error_of(("bm25", "q1", runs), SCORE._replace(hint_on_mapping="several runs")).hint == "several runs"


@pytest.mark.parametrize(("rank", "score"), [(1, -1.0), ("3", -3.0), (0, 0.0), (2.0, -2.0), (Decimal(3), -3.0)])
def test_ranks_order_documents_as_scores_do(rank: Any, score: float) -> None:
    assert checked(("q", "d", rank), rules=RANK).numbers.tolist() == [score]


@pytest.mark.parametrize("rank", [-1, 1.5, "1.5", LARGEST_WHOLE * 2, -math.inf])
def test_a_rank_is_a_whole_number_from_0(rank: Any) -> None:
    error = error_of(("q", "d", rank), RANK)
    assert error.what.endswith("is not a whole number from 0")
    assert "run_columns={'score': 'NAME'}" in str(error.hint)


def test_only_decimal_digits_are_a_number_in_a_text() -> None:
    assert [number_in(text) for text in ("1.5", "1_0", "٣", "x", "inf")] == [1.5, None, None, None, math.inf]


# The fast way


VALUES: st.SearchStrategy[Any] = st.sampled_from(
    ["q", "d", "", "é", "\ud800", 7, 7.0, 7.5, None, True, math.inf, math.nan, 10**400, "0.5", "1_0", "inf", "1e400"]
)


@settings(max_examples=300)
@given(
    st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=4),
    st.sampled_from([GRADE, SCORE, RANK, IN_JSON, DECODED]),
)
def test_what_is_read_at_once_is_what_the_definition_reads(rows: list[Row], rules: PairRules) -> None:
    pairs = valid_pairs([*zip(*rows, strict=True)], rules)
    if pairs is not None:
        expected = checked(*rows, rules=rules)
        assert [*pairs.queries] == expected.queries
        assert [*pairs.docs] == expected.docs
        assert pairs.numbers.tolist() == expected.numbers.tolist()
        assert pairs.numeric == expected.numeric


def test_the_first_row_that_is_wrong_is_the_error_also_if_a_later_one_cannot_be_parsed() -> None:
    def rows(second: str) -> Iterator[Row]:
        yield "q", "d", 1
        yield "q", "d", second
        raise KaratError("the row has 2 columns", place=Place("the run", row=2))

    for second, what in (("x", "score 'x' is not a number"), ("1", "the row has 2 columns")):
        with pytest.raises(KaratError) as raised:
            pair_checks.read_pairs(partial(rows, second), SCORE, lambda row, _: Place("the run", row=row))
        assert raised.value.what == what


# The six sources


def as_text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def trec(rows: list[Row], number: str) -> bytes:
    form = "{} 0 {} {}\n" if number == "grade" else "{} Q0 {} 1 {} tag\n"
    return "".join(form.format(*map(as_text, row)) for row in rows).encode()


def delimited(rows: list[Row], number: str) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([("query", "doc", number), *([*map(as_text, row)] for row in rows)])
    return text.getvalue().encode()


def objects(rows: list[Row], number: str) -> list[dict[str, Any]]:
    return [dict(zip(("query", "doc", number), row, strict=True)) for row in rows]


def mapping(rows: list[Row]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for query, doc, number in rows:
        found.setdefault(query, {})[doc] = number
    return found


def parquet(rows: list[Row], number: str) -> bytes:
    columns = dict(zip(("query", "doc", number), map(list, zip(*rows, strict=True)), strict=True))
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, row_group_size=2)
    return sink.getvalue()


# What a source can contain: TREC has no empty values, and a column of Arrow has values of one type.
SOURCES: dict[str, Callable[[list[Row], str], Any]] = {
    "run.trec": trec,
    "run.csv": delimited,
    "run.json": lambda rows, _: json.dumps(mapping(rows)).encode(),
    "pairs.json": lambda rows, number: json.dumps(objects(rows, number)).encode(),
    "run.jsonl": lambda rows, number: "".join(json.dumps(each) + "\n" for each in objects(rows, number)).encode(),
    "run.parquet": parquet,
    "tuples": lambda rows, _: rows,
    "records": objects,
    "a mapping": lambda rows, _: mapping(rows),
    "a table": lambda rows, number: pa.table(
        dict(zip(("query", "doc", number), map(list, zip(*rows, strict=True)), strict=True))
    ),
}


def read(name: str, rows: list[Row], number: Literal["grade", "score"]) -> Any:
    """The pairs of a source, or what is wrong with it."""
    source = SOURCES[name](rows, number)
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(source, bytes):
            path = Path(folder, name)
            path.write_bytes(source)
            source = path
        try:
            if number == "grade":
                truth = read_truth(source)
                sizes = np.diff(truth.offsets).tolist()
                queries = [query for query, size in zip(truth.queries, sizes, strict=True) for _ in range(size)]
                return sorted(zip(queries, truth.docs, truth.grades.tolist(), strict=True))
            run = read_run(source, read_truth({"q": ["d"]}))
            found: list[Row] = []
            for make in run.batches():
                batch = make()
                assert isinstance(batch, ScoredMappings | ScoredRows)
                scores = iter(batch.scores.tolist())
                by_query = zip(batch.queries, batch.by_query(), strict=True)
                found += [(query, doc, next(scores)) for query, docs in by_query for doc in docs]
            return sorted(found)
        except KaratError as error:
            return error.what if error.place else "no place"


IDS = st.sampled_from(["q1", "q2", "d1", "007", "é"])
NUMBERS = st.sampled_from([1.0, 0.5, -2.0, 1e300])


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.tuples(IDS, IDS), NUMBERS, min_size=1, max_size=6),
    st.sampled_from(["grade", "score"]),
    st.booleans(),
)
def test_the_same_pairs_are_the_same_in_all_sources(
    pairs: dict[tuple[str, str], float], number: Literal["grade", "score"], large: bool
) -> None:
    rows = [(query, doc, value) for (query, doc), value in pairs.items()]
    with pytest.MonkeyPatch.context() as patch:
        if large:
            patch.setattr(tables, "SMALL_FILE", -1)
        assert {name: read(name, rows, number) for name in SOURCES} == dict.fromkeys(SOURCES, sorted(rows))


# A value in the place of a query, a document or a number, and the sources that cannot contain it.
TEXT = ("run.trec", "run.csv")
TEXT_OF_TRUE = dict.fromkeys(TEXT, "'true'")
FAULTS: list[tuple[int, Any, tuple[str, ...]]] = [
    (0, "", ("run.trec",)),
    (1, "", ("run.trec",)),
    (0, None, (*TEXT, "run.json")),  # in a CSV file, an empty cell is an empty text
    (1, None, (*TEXT, "run.json")),
    (1, "x" * (2**20 + 1), ("run.trec", "run.csv")),  # a line has the same limit
    (1, "\ud800", ("run.trec", "run.csv", "run.parquet", "a table")),
    (2, None, ("run.trec",)),
    (2, "high", ()),
    (2, "1,5", ()),
    (2, "1_0", ()),
    (2, "nan", ()),
    (2, "1e999", ()),
    (2, "", ("run.trec",)),
]


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("number", ["grade", "score"])
@pytest.mark.parametrize(("column", "value", "without"), FAULTS, ids=shown)
def test_what_is_wrong_is_the_same_error_in_all_sources(
    column: int,
    value: Any,
    without: tuple[str, ...],
    number: Literal["grade", "score"],
    large: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if large:
        monkeypatch.setattr(tables, "SMALL_FILE", -1)
    good: list[list[Any]] = [["q1", "d1", "1"], ["q1", "d2", "2"], ["q2", "d1", "1"], ["q2", "d2", "0"]]
    good[2][column] = value
    good[3][1] = ""  # a second fault, which comes later
    rows = [(query, doc, each) for query, doc, each in good]
    found = {name: read(name, rows, number) for name in SOURCES if name not in without}
    assert isinstance(next(iter(found.values())), str)
    assert len(set(found.values())) == 1, found


def test_true_and_false_are_grades_but_not_scores_in_all_sources() -> None:
    rows: list[Row] = [("q1", "d1", True), ("q1", "d2", False)]
    assert {str(read(name, rows, "grade")) for name in SOURCES} == {str([("q1", "d1", 1.0), ("q1", "d2", 0.0)])}
    scores = {name: read(name, rows, "score") for name in SOURCES}
    assert scores == {name: f"score {TEXT_OF_TRUE.get(name, True)} is not a number" for name in SOURCES}


@pytest.mark.parametrize("large", [False, True])
def test_an_error_names_the_field_or_the_column(large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(tables, "SMALL_FILE", -1)
    truth = read_truth({"q": ["d"]})
    places = {
        "pairs.json": ", object 2",
        "run.jsonl": ":2",
        "run.parquet": ", column {}, row 1",
        "a table": ", column {}, row 1",
    }
    for at, (field, value) in enumerate((("query", ""), ("doc", ""), ("score", "high"))):
        query, doc, score = (value if column == at else usual for column, usual in enumerate(("q2", "d2", "2")))
        for name, place in places.items():
            source = SOURCES[name]([("q1", "d1", "1"), (query, doc, score)], "score")
            if isinstance(source, bytes):
                (tmp_path / name).write_bytes(source)
                source = tmp_path / name
            with pytest.raises(KaratError) as raised:
                [make() for make in read_run(source, truth).batches()]
            named = place.format(field) if "{}" in place else f"{place}, {field}"
            assert str(raised.value.place) == f"{source if name != 'a table' else 'the run'}{named}"


@pytest.mark.parametrize("value", [10**30, 7.0])
def test_numbers_and_ids_of_other_types_are_the_same_in_all_sources_that_have_them(value: Any) -> None:
    rows = [("q1", "d1", value), ("q1", "d2", value)]
    without = ("run.parquet", "a table") if value == 10**30 else ()
    found = {name: read(name, rows, "score") for name in SOURCES if name not in without}
    assert set(map(str, found.values())) == {str([("q1", "d1", float(value)), ("q1", "d2", float(value))])}
    if value == 7.0:
        decimal: list[Row] = [(value, 8.0, 1.0), (value, 9.0, 2.0)]
        typed = {name: read(name, decimal, "score") for name in SOURCES if name not in (*TEXT, "run.json")}
        assert set(map(str, typed.values())) == {str([("7", "8", 1.0), ("7", "9", 2.0)])}
