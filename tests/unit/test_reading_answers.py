"""Gold answers and predicted answers are the same from every source and format, or one clear error."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat import KaratError, evaluate_answers
from karat.reading.bytes.input_file import InputFile
from karat.reading.records.answers import read_gold_answers, read_predicted_answers
from tests.block_size import block_size
from tests.standard_input import piped

Write = Callable[..., str]

ODD = 'ü, "3"\tx'
GOLD: dict[str, tuple[str, ...]] = {
    "q1": ("the Eiffel Tower",),
    "q2": ("9", "nine"),
    ODD: ("日本\n京都\t東,京", 'the "City"'),
    "7": ("",),
}
PREDICTED = {"q1": "Eiffel Tower in Paris", "q2": "Nine.", ODD: "京都", "7": ""}
MEASURES = ["EM(normalize=true)", "TokenF1"]
SCORED = {
    "q1": {"EM(normalize=true)": 0.0, "TokenF1": 2 / 3},
    "q2": {"EM(normalize=true)": 1.0, "TokenF1": 1.0},
    ODD: {"EM(normalize=true)": 0.0, "TokenF1": 0.5},
    "7": {"EM(normalize=true)": 1.0, "TokenF1": 1.0},
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes a file and returns its path."""

    def write(data: str | bytes, name: str = "answers") -> str:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return str(path)

    return write


def lines(records: Iterable[Any]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def table(rows: Iterable[Iterable[str]], delimiter: str = ",", newline: str = "\n") -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=newline).writerows(rows)
    return text.getvalue()


def gold_rows() -> list[tuple[str, str]]:
    return [(query, gold) for query, golds in GOLD.items() for gold in golds]


def in_a_table(golds: Mapping[str, Sequence[str] | None]) -> dict[str, tuple[str, ...] | None]:
    """Gold answers as they are read from CSV, where an empty text is the same as no answer."""
    return {query: tuple(text for text in texts or () if text) or None for query, texts in golds.items()}


def error_of(read: Callable[..., Any], *args: Any, **options: Any) -> KaratError:
    with pytest.raises(KaratError) as caught:
        read(*args, **options)
    return caught.value


def gold_answers(*arguments: Any, **options: Any) -> dict[str, tuple[str, ...] | None]:
    return read_gold_answers(*arguments, **options).by_query


def predicted_answers(*arguments: Any, **options: Any) -> dict[str, str | None]:
    return read_predicted_answers(*arguments, **options).by_query


def predicted(source: Any, fields: Mapping[str, str] | None = None) -> dict[str, str | None]:
    return predicted_answers(source, GOLD, fields)


# The same answers from every Python type.

GOLDS_IN_PYTHON: dict[str, Callable[[], Any]] = {
    "a mapping": lambda: GOLD,
    "a mapping to lists": lambda: {query: list(golds) for query, golds in GOLD.items()},
    "a mapping to texts": lambda: {query: golds[0] if len(golds) == 1 else golds for query, golds in GOLD.items()},
    "a mapping to lists of objects": lambda: {q: [{"text": gold} for gold in golds] for q, golds in GOLD.items()},
    "a mapping to objects of lists": lambda: {q: {"text": golds, "answer_start": [1]} for q, golds in GOLD.items()},
    "a mapping by numbers": lambda: {int(q) if q == "7" else q: golds for q, golds in GOLD.items()},
    "records": lambda: [{"query": query, "gold_answers": golds} for query, golds in GOLD.items()],
    "a tuple of records": lambda: tuple({"query": query, "gold_answers": golds} for query, golds in GOLD.items()),
    "records, one per gold answer": lambda: [{"qid": query, "answer": gold} for query, gold in gold_rows()],
    "Hugging Face's references": lambda: [
        {"id": query, "answers": {"text": list(golds), "answer_start": [0] * len(golds)}}
        for query, golds in GOLD.items()
    ],
    "pandas": lambda: pd.DataFrame(gold_rows(), columns=["query", "answer"]),
    "pandas, indexed by query": lambda: pd.DataFrame(gold_rows(), columns=["query", "answer"]).set_index("query"),
    "pandas with lists": lambda: pd.DataFrame({"id": list(GOLD), "answers": [list(golds) for golds in GOLD.values()]}),
    "pandas with categories": lambda: pd.DataFrame(gold_rows(), columns=["query", "answer"]).astype("category"),
    "polars": lambda: pl.DataFrame(gold_rows(), schema=["query", "answer"], orient="row"),
    "polars with lists": lambda: pl.DataFrame({"id": list(GOLD), "gold": [list(golds) for golds in GOLD.values()]}),
    "polars, collected": lambda: pl.LazyFrame({"id": list(GOLD), "gold": [list(g) for g in GOLD.values()]}).collect(),
    "Arrow": lambda: pa.table({"query": list(GOLD), "gold_answers": [list(golds) for golds in GOLD.values()]}),
    "Arrow in batches": lambda: pa.table(
        {"query": [q for q, _ in gold_rows()], "answer": [g for _, g in gold_rows()]}
    ).to_reader(max_chunksize=2),
    "Arrow with objects": lambda: pa.table(
        {"id": list(GOLD), "answers": [{"text": list(golds), "answer_start": [0]} for golds in GOLD.values()]}
    ),
}


@pytest.mark.parametrize("form", GOLDS_IN_PYTHON)
def test_gold_answers_are_the_same_from_every_python_type(form: str) -> None:
    golds = gold_answers(GOLDS_IN_PYTHON[form]())
    assert list(golds.items()) == list(GOLD.items())
    assert evaluate_answers(GOLDS_IN_PYTHON[form](), PREDICTED, MEASURES).per_query == SCORED


PREDICTIONS_IN_PYTHON: dict[str, Callable[[], Any]] = {
    "a mapping": lambda: PREDICTED,
    "a mapping by numbers": lambda: {int(q) if q == "7" else q: answer for q, answer in PREDICTED.items()},
    "a list": lambda: list(PREDICTED.values()),
    "a tuple": lambda: tuple(PREDICTED.values()),
    "records": lambda: [{"query": query, "answer": answer} for query, answer in PREDICTED.items()],
    "Hugging Face's predictions": lambda: [{"id": q, "prediction_text": answer} for q, answer in PREDICTED.items()],
    "pandas": lambda: pd.DataFrame({"query": list(PREDICTED), "answer": list(PREDICTED.values())}),
    "polars": lambda: pl.DataFrame({"query": list(PREDICTED), "prediction": list(PREDICTED.values())}),
    "Arrow": lambda: pa.table({"query_id": list(PREDICTED), "response": list(PREDICTED.values())}),
}


@pytest.mark.parametrize("form", PREDICTIONS_IN_PYTHON)
def test_predictions_are_the_same_from_every_python_type(form: str) -> None:
    assert predicted(PREDICTIONS_IN_PYTHON[form]()) == PREDICTED
    assert evaluate_answers(GOLD, PREDICTIONS_IN_PYTHON[form](), MEASURES).per_query == SCORED


def test_a_duckdb_relation_is_read_as_a_table() -> None:
    connection = duckdb.connect()
    connection.execute("create table answers (query text, answer text)")
    connection.executemany("insert into answers values (?, ?)", gold_rows())
    assert gold_answers(connection.sql("select * from answers")) == GOLD


def test_questions_of_lists_are_numbered_from_zero_and_matched_by_position() -> None:
    golds = [list(texts) for texts in GOLD.values()]
    assert gold_answers(golds) == dict(zip("0123", GOLD.values(), strict=True))
    scores = evaluate_answers(golds, list(PREDICTED.values()), MEASURES)
    assert scores.per_query == dict(zip("0123", SCORED.values(), strict=True))


def test_a_list_is_matched_with_the_questions_of_a_mapping_by_position() -> None:
    assert predicted_answers(["x", None, "y"], {"b": ("x",), "a": None, "c": ("y",)}) == {
        "b": "x",
        "a": None,
        "c": "y",
    }


def test_predictions_may_be_in_another_order_than_the_questions() -> None:
    turned = dict(reversed(PREDICTED.items()))
    scores = evaluate_answers(GOLD, turned, MEASURES)
    assert scores.queries == tuple(GOLD)
    assert scores.per_query == SCORED


@pytest.mark.parametrize("content", ["0", "null", '"text"'])
def test_json_that_is_neither_an_object_nor_a_list_is_an_error(content: str, write: Write) -> None:
    with pytest.raises(KaratError, match="this file contains"):
        predicted_answers(write(content, "answers.json"), {"q1": ("a",)})


def test_a_huge_number_in_a_set_of_gold_answers_is_an_error() -> None:
    with pytest.raises(KaratError, match=r"a number with thousands of digits is not text"):
        evaluate_answers({"q1": {"a", -(10**5000)}}, {"q1": "a"})


def test_the_gold_answers_of_a_set_are_sorted_and_those_of_a_list_stay_in_order() -> None:
    assert gold_answers({"set": {"b", "c", "a"}, "frozen": frozenset({"b", "a"}), "list": ["b", "c", "a"]}) == {
        "set": ("a", "b", "c"),
        "frozen": ("a", "b"),
        "list": ("b", "c", "a"),
    }


def test_a_gold_answer_that_is_listed_twice_counts_once() -> None:
    assert gold_answers({"q": ["b", "a", "b"]}) == {"q": ("b", "a")}


@pytest.mark.parametrize("nothing", [[], (), set(), {"text": []}, {"text": [], "answer_start": []}, "", [""]])
def test_an_empty_list_of_gold_answers_means_that_the_right_answer_is_empty(nothing: Any) -> None:
    assert gold_answers({"q": nothing}) == {"q": ("",)}


NULLS: dict[str, Any] = {
    "a mapping": {"q": "a", "r": None},
    "a list": ["a", None],
    "records": [{"query": "q", "answer": "a"}, {"query": "r", "answer": None}],
    "a record without the field": [{"query": "q", "answer": "a"}, {"query": "r"}],
    "null first": [{"query": "r", "answer": None}, {"query": "q", "answer": "a"}],
    "pandas": pd.DataFrame({"query": ["q", "r"], "answer": ["a", None]}),
    "pandas, NaN among objects": pd.DataFrame({"query": ["q", "r"], "answer": ["a", float("nan")]}, dtype=object),
    "polars": pl.DataFrame({"query": ["q", "r"], "answer": ["a", None]}),
    "Arrow": pa.table({"query": ["q", "r"], "answer": ["a", None]}),
}


@pytest.mark.parametrize("form", NULLS)
def test_null_means_that_no_gold_answer_is_known_or_no_answer_predicted(form: str) -> None:
    names = {"0": "q", "1": "r"} if form == "a list" else {}
    golds = {names.get(query, query): texts for query, texts in gold_answers(NULLS[form]).items()}
    assert golds == {"q": ("a",), "r": None}
    assert predicted_answers(NULLS[form], {"q": ("a",), "r": ("b",)}) == {"q": "a", "r": None}


def test_null_and_an_empty_list_in_a_column_of_lists_differ() -> None:
    frame = pl.DataFrame({"query": ["q", "r", "s"], "gold_answers": [["a", "b"], None, []]})
    assert gold_answers(frame) == {"q": ("a", "b"), "r": None, "s": ("",)}


def test_a_column_of_only_nulls_predicts_nothing() -> None:
    assert predicted(pl.DataFrame({"query": ["q1", "q2"], "answer": [None, None]})) == {"q1": None, "q2": None}


def test_a_frame_longer_than_a_batch_is_read_completely() -> None:
    queries = [f"q{at}" for at in range(25_000)]
    golds = gold_answers(pa.table({"query": queries, "answer": [f"a{at}" for at in range(25_000)]}))
    assert golds == {f"q{at}": (f"a{at}",) for at in range(25_000)}


@pytest.mark.parametrize("name", ["query", "id", "query_id", "question_id", "qid", "question", "_id"])
def test_the_question_may_have_several_field_names(name: str) -> None:
    assert gold_answers([{name: "q", "gold_answers": "a"}]) == {"q": ("a",)}


@pytest.mark.parametrize(
    "name",
    "gold_answers gold_answer answers ground_truth_answers ground_truth_answer ground_truth references reference answer"
    " gold".split(),
)
def test_gold_answers_may_have_several_field_names(name: str) -> None:
    assert gold_answers([{"query": "q", name: ["a", "b"]}]) == {"q": ("a", "b")}


@pytest.mark.parametrize(
    "name", "answer predicted_answer prediction prediction_text predicted_answers response output".split()
)
def test_predicted_answers_may_have_several_field_names(name: str) -> None:
    assert predicted([{"query": "q1", name: "a"}]) == {"q1": "a"}


def test_a_record_may_contain_both_gold_answers_and_a_predicted_answer() -> None:
    records = [{"query": "why?", "id": 3, "question": "x", "answers": ["a"], "answer": "b", "prediction": "c"}]
    assert gold_answers(records) == {"why?": ("a",)}
    assert predicted(records) == {"why?": "b"}


def test_given_names_of_fields_are_used() -> None:
    records = [{"query": "no", "answer": "no", "gold": "no", "key": {"id": "q1"}, "labels": ["a"], "said": "b"}]
    fields = {"query": "key.id", "gold_answers": "labels", "answer": "said"}
    for source in (records, pa.Table.from_pylist(records), pl.DataFrame(records)):
        assert gold_answers(source, fields) == {"q1": ("a",)}
        assert predicted(source, fields) == {"q1": "b"}
    assert evaluate_answers(records, records, "EM", fields=fields).per_query == {"q1": {"EM": 0.0}}


def test_names_of_fields_can_be_given_for_files(write: Write) -> None:
    fields = {"query": "key", "gold_answers": "labels"}
    record = {"key": "q", "labels": "a", "query": "no", "answer": "no"}
    for data in (lines([record]), lines([record, {**record, "key": "r"}]), json.dumps([record])):
        assert gold_answers(write(data), fields)["q"] == ("a",)
    assert gold_answers(write(table([record, record.values()], "\t")), fields) == {"q": ("a",)}


# Files.

TEXTS: dict[str, Callable[[], str]] = {
    "a JSON mapping": lambda: json.dumps(GOLD),
    "a JSON mapping over many lines": lambda: json.dumps(GOLD, indent=1, ensure_ascii=False),
    "a JSON list of records": lambda: json.dumps([{"query": query, "gold_answers": g} for query, g in GOLD.items()]),
    "Hugging Face's references": lambda: json.dumps(GOLDS_IN_PYTHON["Hugging Face's references"](), indent=2),
    "SQuAD's data set": lambda: json.dumps(squad(), indent=1),
    "JSON lines": lambda: lines({"query": query, "gold_answers": golds} for query, golds in GOLD.items()),
    "JSON lines, one per gold answer": lambda: lines({"id": query, "answer": gold} for query, gold in gold_rows()),
    "CSV": lambda: table([("query", "answer"), *gold_rows()]),
    "another CSV": lambda: table([("x", "answer", "query"), *(("", gold, q) for q, gold in gold_rows())]),
    "TSV": lambda: table([("query", "answer"), *gold_rows()], "\t"),
    "semicolons in CSV": lambda: table([("query", "answer"), *gold_rows()], ";"),
}
DELIMITERS = {"CSV": ",", "another CSV": ",", "TSV": "\t", "semicolons in CSV": ";"}
WRITTEN: dict[str, Callable[[str], str | bytes]] = {
    "as it is": lambda text: text,
    "no final newline": lambda text: text.removesuffix("\n"),
    "BOM": lambda text: "\ufeff" + text,
    "gzip": lambda text: gzip.compress(text.encode()),
    "gzip with a BOM": lambda text: gzip.compress(("\ufeff" + text).encode()),
    "gzip in two members": lambda text: gzip.compress(text[:30].encode()) + gzip.compress(text[30:].encode()),
}


def squad() -> dict[str, Any]:
    """The gold answers in SQuAD's format: in articles and paragraphs, with an empty list if there is no answer."""
    questions = [
        {
            "id": query,
            "question": "?",
            "answers": [{"text": gold, "answer_start": 3} for gold in golds if gold],
            "is_impossible": golds == ("",),
        }
        for query, golds in GOLD.items()
    ]
    paragraphs = [{"context": "…", "qas": questions[:1]}, {"context": "…", "qas": questions[1:3]}]
    articles = [{"title": "t", "paragraphs": paragraphs}, {"title": "u", "paragraphs": [{"qas": questions[3:]}]}]
    return {"version": "v2.0", "data": articles}


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("how", WRITTEN)
def test_gold_answers_are_the_same_from_every_file_format(form: str, how: str, write: Write) -> None:
    path = write(WRITTEN[how](TEXTS[form]()))
    is_table = form.endswith("SV")
    expected = in_a_table(GOLD) if is_table else GOLD
    assert list(gold_answers(path).items()) == list(expected.items())
    scored = {query: values for query, values in SCORED.items() if query != "7" or not is_table}
    assert evaluate_answers(path, PREDICTED, MEASURES).per_query == scored


@pytest.mark.parametrize("form", TEXTS)
def test_lines_may_have_windows_line_ends(form: str, write: Write) -> None:
    text = TEXTS[form]()
    if form.endswith("SV"):
        delimiter = DELIMITERS[form]
        text = table(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), delimiter, "\r\n")
    else:
        text = text.replace("\n", "\r\n").replace("}, ", "},\r\n")
    assert text.count("\r\n") > 2 or form == "a JSON mapping"
    assert gold_answers(write(text)) == (in_a_table(GOLD) if form.endswith("SV") else GOLD)


@pytest.mark.parametrize("form", TEXTS)
def test_gold_answers_can_be_read_from_standard_input(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXTS[form]().encode())))
    assert gold_answers("-") == (in_a_table(GOLD) if form.endswith("SV") else GOLD)


def test_predictions_can_be_read_from_a_pipe(write: Write) -> None:
    with piped(json.dumps(PREDICTED).encode()):
        scores = evaluate_answers(write(json.dumps(GOLD)), "-", "TokenF1")
    assert list(scores.column("TokenF1")) == [2 / 3, 1, 0.5, 1]


PREDICTION_TEXTS: dict[str, str] = {
    "SQuAD's predictions": json.dumps(PREDICTED),
    "a JSON list": json.dumps(list(PREDICTED.values())),
    "Hugging Face's predictions": json.dumps([{"id": q, "prediction_text": a} for q, a in PREDICTED.items()]),
    "JSON lines": lines({"question_id": query, "answer": answer} for query, answer in PREDICTED.items()),
    "CSV": table([("query", "answer"), *PREDICTED.items()]),
    "TSV": table([("query", "answer"), *PREDICTED.items()], "\t"),
    "semicolons in CSV": table([("query", "answer"), *PREDICTED.items()], ";"),
}


@pytest.mark.parametrize("form", PREDICTION_TEXTS)
@pytest.mark.parametrize("how", WRITTEN)
def test_predictions_are_the_same_from_every_file_format(form: str, how: str, write: Write) -> None:
    path = write(WRITTEN[how](PREDICTION_TEXTS[form]))
    is_table = form.endswith("SV")
    # In a table, an empty text is the same as no answer.
    assert predicted(path) == ({**PREDICTED, "7": None} if is_table else PREDICTED)
    scored = {**SCORED, "7": dict.fromkeys(MEASURES, 0.0)} if is_table else SCORED
    assert evaluate_answers(GOLD, path, MEASURES).per_query == scored


def test_paths_may_be_strings_path_objects_or_input_files(write: Write) -> None:
    path = write(json.dumps(GOLD))
    assert gold_answers(path) == gold_answers(Path(path)) == gold_answers(InputFile(path)) == GOLD


def test_a_json_list_is_matched_by_position_on_both_sides(write: Write) -> None:
    golds, answers = write('["a", ["b", "c"], null]', "gold.json"), write('["a", null, "x"]', "said.json")
    scores = evaluate_answers(golds, answers, "EM")
    assert scores.per_query == {"0": {"EM": 1.0}, "1": {"EM": 0.0}}


def test_a_single_record_with_a_null_answer_is_read_as_a_record(write: Write) -> None:
    assert gold_answers(write('{"query": "q", "gold_answers": null}')) == {"q": None}
    assert predicted(write('{"query": "q1", "answer": null}')) == {"q1": None}


def test_given_names_of_fields_are_used_for_a_single_record_in_a_file(write: Write) -> None:
    path = write('{"nr": "q", "labels": {"texts": ["a", "b"]}, "said": {"text": "b"}}')
    assert gold_answers(path, {"query": "nr", "gold_answers": "labels.texts"}) == {"q": ("a", "b")}
    assert predicted(path, {"query": "nr", "answer": "said.text"}) == {"q": "b"}


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"query": "nr", "answer": "sad.text"}, "no field 'sad.text'"),
        ({"query": "nr", "answer": "said.txt"}, "no field 'said.txt'"),
        ({"query": "nr", "answer": "sad"}, "no field 'sad'"),
        ({"query": "rn", "answer": "said.text"}, "no field 'rn'"),
    ],
)
def test_a_misspelt_field_name_for_a_single_record_in_a_file_is_an_error(
    fields: dict[str, str], what: str, write: Write
) -> None:
    path = write('{"nr": "q", "said": {"text": "b"}}')
    error = error_of(predicted, path, fields)
    assert (error.what, str(error.place)) == (f"{what}; the fields are 'nr', 'said'", path)


def test_a_single_object_with_a_query_and_an_answer_is_read_as_a_record(write: Write) -> None:
    assert gold_answers(write('{"query": "q", "answer": "a"}')) == {"q": ("a",)}
    assert predicted(write('{"id": "q1", "prediction_text": "a"}')) == {"q1": "a"}


def test_a_mapping_may_have_a_question_named_like_a_field(write: Write) -> None:
    assert gold_answers(write('{"query": "a", "q": "b"}')) == {"query": ("a",), "q": ("b",)}
    assert predicted(write('{"data": "a", "answer": "b"}')) == {"data": "a", "answer": "b"}


def test_blank_lines_are_skipped_but_counted_in_line_numbers(write: Write) -> None:
    text = '\n{"query": "q", "answer": "a"}\n \n\n{"query": "r", "answer": "b"}\n\n'
    assert gold_answers(write(text)) == {"q": ("a",), "r": ("b",)}
    assert str(error_of(gold_answers, write(text.replace('"b"', "1"))).place) == write(text.replace('"b"', "1")) + ":5"
    assert gold_answers(write("\n\nquery,answer\n\nq,a\n\n")) == {"q": ("a",)}


def test_a_text_with_quotation_marks_inside_need_not_be_quoted(write: Write) -> None:
    assert gold_answers(write('query\tanswer\nq\t5" or 6"\n')) == {"q": ('5" or 6"',)}


def test_commas_do_not_separate_columns_if_the_header_has_tabs(write: Write) -> None:
    assert gold_answers(write("query\tanswer\nq\ta, b\n")) == {"q": ("a, b",)}


def test_an_empty_cell_is_a_missing_answer_in_a_file_as_in_a_frame_read_from_it(write: Write) -> None:
    golds = write("query,answer\nq,Paris\nr,\n", "golds")
    predictions = write("query,answer\nq,\nr,Rome\n", "predictions")
    assert gold_answers(golds) == gold_answers(pd.read_csv(golds)) == {"q": ("Paris",), "r": None}
    assert predicted(predictions) == predicted(pd.read_csv(predictions)) == {"q": None, "r": "Rome"}


def test_gold_answers_from_several_records_of_a_question_are_combined() -> None:
    records: list[Any] = [
        {"query": "q", "answers": ["a"]}, {"query": "r", "answers": None}, {"query": "q", "answers": "b"},
        {"query": "q", "answers": None}, {"query": "q", "answers": ["a", "c"]},
    ]  # fmt: skip
    assert gold_answers(records) == {"q": ("a", "b", "c"), "r": None}


def test_two_predicted_answers_for_a_question_are_an_error_that_names_both_places(write: Write) -> None:
    path = write(lines([{"id": "q", "answer": "a"}, {"id": "r", "answer": "a"}, {"id": "q", "answer": "b"}]))
    error = error_of(predicted, path)
    assert (error.what, str(error.place)) == (f"question 'q' was already in {path}:1", f"{path}:3")


def test_an_answer_may_have_a_million_characters(write: Write) -> None:
    long = "é" * 1_000_000
    assert gold_answers({"q": long}) == {"q": (long,)}
    for text in (json.dumps({"q": long}), lines([{"query": "q", "answer": long}, {"query": "r", "answer": "a"}])):
        assert gold_answers(write(text))["q"] == (long,)
    assert evaluate_answers({"q": long}, {"q": long}, "EM")["EM"] == 1


def test_an_answer_in_a_table_may_be_as_long_as_pythons_csv_module_allows(write: Write) -> None:
    assert gold_answers(write(f"query,answer\nq,{'x' * 131_072}\n")) == {"q": ("x" * 131_072,)}


ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
# A mapping with questions of these names would look like a record.
FIELD = {"query", "id", "query_id", "question_id", "qid", "question", "_id", "data"}
QUESTION = ANY.filter(lambda text: text not in FIELD)
ANSWERS = st.one_of(st.none(), ANY, st.lists(ANY, unique=True))


def as_read(golds: Mapping[str, Any]) -> dict[str, tuple[str, ...] | None]:
    return {
        query: None if given is None else (given,) if isinstance(given, str) else tuple(given) or ("",)
        for query, given in golds.items()
    }


@given(st.dictionaries(QUESTION, ANSWERS, min_size=1), st.booleans(), st.booleans())
def test_gold_answers_survive_a_round_trip_through_json(
    tmp_path_factory: pytest.TempPathFactory, golds: dict[str, Any], ascii_only: bool, packed: bool
) -> None:
    records = [{"query": query, "gold_answers": given} for query, given in golds.items()]
    path = tmp_path_factory.getbasetemp() / "golds"
    for text in (
        json.dumps(golds, ensure_ascii=ascii_only),
        json.dumps(records, ensure_ascii=ascii_only, indent=1),
        "\n".join(json.dumps(record, ensure_ascii=ascii_only) for record in records),
    ):
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        assert list(gold_answers(path).items()) == list(as_read(golds).items())
    assert gold_answers(golds) == gold_answers(records) == as_read(golds)


@given(st.dictionaries(ANY.filter(bool), st.lists(ANY, unique=True, min_size=1), min_size=1), st.sampled_from(",\t;"))
def test_gold_answers_survive_a_round_trip_through_a_table(
    tmp_path_factory: pytest.TempPathFactory, golds: dict[str, list[str]], delimiter: str
) -> None:
    rows = [(query, gold) for query, texts in golds.items() for gold in texts]
    path = tmp_path_factory.getbasetemp() / "golds"
    path.write_bytes(table([("query", "answer"), *rows], delimiter, "\r\n").encode())
    assert gold_answers(path) == in_a_table(golds)
    assert gold_answers(pa.table({"query": [q for q, _ in rows], "answer": [g for _, g in rows]})) == as_read(golds)


@given(st.dictionaries(QUESTION, st.one_of(st.none(), ANY), min_size=1))
def test_predictions_survive_a_round_trip_through_a_file(
    tmp_path_factory: pytest.TempPathFactory, answers: dict[str, str | None]
) -> None:
    path = tmp_path_factory.getbasetemp() / "predictions"
    records = [{"query": query, "answer": answer} for query, answer in answers.items()]
    given_ = {query: answer for query, answer in answers.items() if answer is not None}
    for text, expected in (
        (json.dumps(answers), answers),
        (json.dumps(list(answers.values())), answers),
        (lines(records), answers),
        (
            table([("query", "answer"), *((q, a) for q, a in given_.items() if q)], ",", "\r\n"),
            {query: answer or None for query, answer in given_.items() if query},
        ),
    ):
        path.write_bytes(text.encode())
        if expected:
            assert predicted_answers(path, answers) == expected
        else:
            assert error_of(predicted_answers, path, answers).what == "no predicted answers found"


@given(st.binary(max_size=60))
def test_any_bytes_are_read_as_answers_or_raise_a_karat_error(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "junk"
    lead = (
        b"",
        b'{"query": "q", "answer": "a"}\n',
        b"query,answer\n",
        b"query\tanswer\nq\t",
        b'{"q": ',
        b"[",
        b"\x1f\x8b",
    )
    for start in lead:
        path.write_bytes(start + junk)
        for read in (gold_answers, predicted):
            with suppress(KaratError):
                read(path)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["query", "answer", "text", "data", "paragraphs", "qas", "id"]), inner),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers(), st.none(), st.booleans()), inner, max_size=4),
    ),
    max_leaves=12,
)


@given(JSON.filter(lambda value: not isinstance(value, str)))
def test_any_value_is_read_as_answers_or_raises_a_karat_error(value: Any) -> None:
    for read in (gold_answers, predicted):
        with suppress(KaratError):
            read(value)


# Invalid files: the error says what is wrong, where, and gives a hint.

INCOMPRESSIBLE = [hashlib.sha256(bytes([at % 256, at // 256])).hexdigest() for at in range(2000)]
GOOD = '{"query": "q0", "answer": "a"}\n'
DEEP = "[" * 100_000 + "]" * 100_000
INVALID_FILES: dict[str, tuple[str | bytes, str, str, str]] = {
    # content of the file; message, end of the place, hint
    "a JSON string": ('"Paris"', "neither JSON nor a table", ":1", "Gold answers are {query"),
    "plain text": ("It is Paris.\nOr so.\n", "neither JSON nor a table", ":1", "Gold answers are {query"),
    "latin-1 in JSON": ('{"q": "é"}'.encode("latin-1"), r"not UTF-8: b'\\xe9' at column 8", "", "Save the file"),
    "latin-1 in lines": (
        (GOOD + '{"query": "q", "answer": "é"}\n').encode("latin-1"),
        "not UTF-8: .* at column 27",
        ":2",
        "Save the file as UTF-8",
    ),
    "latin-1 in CSV": ("query,answer\nq,é\n".encode("latin-1"), "not UTF-8", "", "Save the file as UTF-8"),
    "UTF-16 JSON": (json.dumps(GOLD).encode("utf-16"), "text in UTF-16", "", "Save it as text in UTF-8"),
    "UTF-16 CSV": ("query,answer\nq,a\n".encode("utf-16"), "text in UTF-16", "", "Save it as text in UTF-8"),
    "UTF-16 JSON without a BOM": (json.dumps(GOLD).encode("utf-16-le"), "text in UTF-16", "", "text in UTF-8"),
    "UTF-16 CSV without a BOM": ("query,answer\nq,a\n".encode("utf-16-le"), "text in UTF-16", "", "text in UTF-8"),
    "NUL in JSON": ('{"q": "\0"}', "NUL byte", "", "binary data"),
    "NUL in lines": (GOOD + '{"query": "q", "answer": "\0"}\n', "NUL byte", ":2", "binary data"),
    "NUL in CSV": ("query,answer\nq,\0\n", "NUL byte", "", "binary data"),
    "broken JSON": ('{"q": "a",\n "r": b}\n', "not JSON: Expecting value at line 2, column 7", "", "Gold answers are"),
    "a JSON list without a comma": ('["a",\n"b"\n"c"]', "not JSON: .* at line 3, column 1", "", "Gold answers are"),
    "JSON cut short": ('{"q": "a",\n', "not JSON: .* at line 2, column 1", "", "Gold answers are"),
    "a broken line": (GOOD + '{"query": "q" "answer": "a"}\n', "not JSON: .* at column 15", ":2", "Gold answers are"),
    "a line cut short": (GOOD + '{"query": "q", "ans', "not JSON: Unterminated string", ":2", "Gold answers are"),
    "a list among lines": (GOOD + '["a"]\n', r"\['a'\] is not an object", ":2", "Gold answers are"),
    "lists in lines": ('["a"]\n["b"]\n', "one list, not one object per line", ":1", "each object on a line of its own"),
    "objects over lines": ('{\n"query": "q"}\n{\n"query": "r"}\n', "does not end on its line", ":1", "each object on"),
    "a key twice": ('{"q": "a", "q": "b"}', "the key 'q' appears twice", "", "Keep one of them"),
    "a key twice in a line": (GOOD + '{"answer": "a", "answer": "b"}', "'answer' appears twice", ":2", "Keep one"),
    "nested lists": (DEEP, "nested too deeply", "", "Gold answers are"),
    "a nested answer": (f'{{"q": {DEEP}}}', "nested too deeply", "", "Gold answers are"),
    "a nested line": (GOOD + f'{{"query": {DEEP}}}', "nested too deeply", ":2", "Gold answers are"),
    "NaN": ('{"q": NaN}', "NaN is not a JSON number", "", "Write null"),
    "NaN in a line": (GOOD + '{"query": "q", "answer": NaN}', "NaN is not a JSON number", ":2", "Write null"),
    "Infinity": ('["a", -Infinity]', "-Infinity is not a JSON number", "", "Write null"),
    "a number too long": (f'{{"q": {"9" * 5000}}}', "thousands of digits", "", "Write it as text"),
    "a number": ('{"q": 1889}', "1889 is not a gold answer", ", question q", "the value in quotes"),
    "true": ('{"q": true}', "True is not a gold answer", ", question q", "the value in quotes"),
    "an object": ('{"q": {"a": 1}}', r"\{'a': 1\} is not a gold answer", ", question q", "the value in quotes"),
    "a number in a list": ('{"q": ["a", 1889]}', "1889 is not text", ", question q[1]", "the value in quotes"),
    "null in a list": ('{"q": ["a", null]}', "None is not text", ", question q[1]", "the value in quotes"),
    "a list in a list": ('{"q": [["a"]]}', r"\['a'\] is not text", ", question q[0]", "the value in quotes"),
    "a number by position": ('["a", 1889]', "1889 is not a gold answer", "[1]", "the value in quotes"),
    "a number in a record": ('[{"id": 1, "answer": 2.5}]', "2.5 is not a gold answer", "[0]", "the value in quotes"),
    "a number in a line": (GOOD + '{"query": "q", "answer": 7}', "7 is not a gold answer", ":2", "the value in quotes"),
    "a record among answers": ('["a", {"id": "q", "answer": "a"}]', "is not a gold answer", "[1]", "in quotes"),
    "a record without a query": ('[{"answer": "a"}]', "no field 'query'; the fields are 'answer'", "[0]", "query"),
    "an empty record": ("[{}]", "no fields 'query' and 'gold_answers'; the fields are none", "[0]", "If they have"),
    "a record without an answer": ('[{"id": "q", "x": 1}]', "no field 'gold_answers'; ", "[0]", "If it"),
    "a line without a query": (GOOD + '{"answer": "a"}', "the field 'query' has no value", ":2", "Every answer"),
    "a query of null": ('{"query": null, "answer": "a"}\n' + GOOD, "'query' has no value", ":1", "Every answer"),
    "an empty query in CSV": ("query,answer\nq,a\n,b\n", "^the column 'query' has no value$", ":3", "Every answer"),
    "an empty query in TSV": ("query\tanswer\nq\ta\n\tb\n", "^the column 'query' has no value$", ":3", "Every answer"),
    "a query of 1.5": (GOOD + '{"query": 1.5, "answer": "a"}', "1.5 is not an id", ":2", "Ids are text"),
    "no data set": ('{"data": [1]}', "not in SQuAD's format", "", "The format is {\"data\""),
    "a data set without answers": ('{"data": [{"paragraphs": [{"qas": [{"id": "1"}]}]}]}', "SQuAD's", "", "format is"),
    "a data set with a question twice": (
        json.dumps({"data": [{"paragraphs": [{"qas": [{"id": "1", "answers": []}] * 2}]}]}),
        "question '1' was already in .*answers, question 1",
        ", question 1",
        r"^Keep one of them\. If a question has several gold answers, put them in a list\.",
    ),
    "a data set with a number": (
        '{"data": [{"paragraphs": [{"qas": [{"id": "1", "answers": [{"text": 3}]}]}]}]}',
        "3 is not text",
        ", question 1[0]",
        "the value in quotes",
    ),
    "TSV without a header": ("q1\ta\nq2\tb\n", "no columns .*; the columns are 'q1', 'a'", ":2", "If they have"),
    "CSV without a header": ("q1,a\nq2,b\n", "no columns .*; the columns are 'q1', 'a'", ":2", "If they have"),
    "too many columns": ("query,answer\nq,a,b\n", "3 columns, but the header line has 2", ":2", "Quote values"),
    "too few columns": ("query\tanswer\nq\ta\nr\n", "1 column, but the header line has 2", ":3", "Quote values"),
    "too few columns after a text of two lines": ('query,answer\nq,"a\nb"\nr\n', "1 column, but", ":4", "Quote values"),
    "an unclosed quote": ('query,answer\nq,"a\nr,b\n', "a quotation mark is not closed", ":2", 'write ""'),
    "a text after a quote": ('query,answer\nq,"a" b\n', "not followed by a comma", ":2", 'written ""'),
    "a cell too long": (f"query,answer\nq,{'x' * 131_073}\n", "a value is longer than 131,072", ":2", "as JSON lines"),
    "a header too long": (f"query,{'x' * 131_073}\nq,a\n", "a value is longer than 131,072", ":1", "as JSON lines"),
}  # fmt: skip


@pytest.mark.parametrize("name", INVALID_FILES)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_an_invalid_file_is_an_error_with_a_place_and_a_hint(
    name: str, pack: Callable[[bytes], bytes], write: Write
) -> None:
    data, what, place, hint = INVALID_FILES[name]
    path = write(pack(data.encode() if isinstance(data, str) else data))
    error = error_of(gold_answers, path)
    assert re.search(what, error.what)
    assert str(error.place) == path + place
    assert re.search(hint, error.hint or "")
    assert len(str(error)) < 1000


REPEATED = r"^Keep one of them\. If a question has several gold answers, put them in a list\."
INVALID_PREDICTIONS: dict[str, tuple[str, str, str, str]] = {
    "a list": ('{"q1": ["a"]}', r"\['a'\] is not text", ", question q1", "Pass one predicted answer per question"),
    "a list in a line": (GOOD + '{"query": "q", "answer": []}', r"\[\] is not text", ":2", "Pass one predicted answer"),
    "a number": ('{"q1": 7}', "7 is not text", ", question q1", "the value in quotes"),
    "false": ('{"q1": false}', "False is not text", ", question q1", "the value in quotes"),
    "an object": ('[{"id": "q1", "answer": {"text": "a"}}]', "is not text", "[0]", "the value in quotes"),
    "a question twice": (GOOD + GOOD, "question 'q0' was already in .*answers:1", ":2", REPEATED),
    "a question twice, as text and number": (
        '{"query": 1, "answer": "a"}\n{"query": "1", "answer": "a"}\n', "was already in .*:1", ":2", REPEATED,
    ),
    "a row twice": ("query,answer\nq1,a\nq1,b\n", "question 'q1' was already in .*answers:2", ":3", REPEATED),
    "a row twice, one without an answer": ("query;answer\nq1;\nq1;b\n", "was already in .*answers:2", ":3", REPEATED),
    "an empty query": ("query,answer\nq1,a\n,b\n", "^the column 'query' has no value$", ":3", "Every answer"),
    "a question twice, one without an answer": (
        '{"query": "q", "answer": null}\n{"query": "q", "answer": "a"}\n', "'q' was already in .*:1", ":2", REPEATED,
    ),
    "no field": ('[{"id": "q1", "text": "a"}]', "no field 'answer'; the fields are 'id', 'text'", "[0]", "'answer'"),
    "SQuAD's data set": (json.dumps({"data": [{}]}), "is not text", ", question data", "Pass one predicted answer"),
}  # fmt: skip


@pytest.mark.parametrize("name", INVALID_PREDICTIONS)
def test_invalid_predictions_are_an_error_with_a_place_and_a_hint(name: str, write: Write) -> None:
    data, what, place, hint = INVALID_PREDICTIONS[name]
    path = write(data)
    error = error_of(predicted, path)
    assert re.search(what, error.what)
    assert str(error.place) == path + place
    assert re.search(hint, error.hint or "")


@pytest.mark.parametrize("data", ["", "\n \r\n", "\ufeff", "{}", "[]", '{"data": []}', "query,answer\n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_file_without_gold_answers_is_an_error(data: str, pack: Callable[[bytes], bytes], write: Write) -> None:
    error = error_of(gold_answers, write(pack(data.encode())))
    assert error.what == "no gold answers found"
    assert str(error.place) == write(pack(data.encode()))
    assert "lines of" in (error.hint or "")


def test_a_missing_file_is_an_error_that_suggests_the_most_similar_name(write: Write) -> None:
    path = write("{}", "gold.json")
    for read in (gold_answers, predicted):
        error = error_of(read, path.replace("gold.json", "gold.jsn"))
        assert error.what == "no such file"
        assert str(error.place) == path.replace("gold.json", "gold.jsn")
        assert error.hint == "Did you mean gold.json?"


def test_a_text_instead_of_a_mapping_is_read_as_a_path_that_does_not_exist() -> None:
    error = error_of(evaluate_answers, "Paris is the capital", "Paris")
    assert (error.what, str(error.place)) == ("no such file", "Paris is the capital")


def test_a_folder_instead_of_a_file_is_an_error(tmp_path: Path) -> None:
    for read in (gold_answers, predicted):
        error = error_of(read, tmp_path)
        assert (error.what, str(error.place)) == ("this is a folder, not a file", str(tmp_path))
        assert error.hint == "Name a file in it."


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(dict.fromkeys(INCOMPRESSIBLE, "a")),
        json.dumps(INCOMPRESSIBLE),
        lines({"query": each, "answer": "a"} for each in INCOMPRESSIBLE),
        table([("query", "answer"), *((each, "a") for each in INCOMPRESSIBLE)]),
    ],
    ids=["mapping", "list", "lines", "table"],
)
@pytest.mark.parametrize("left", [2, 9, 1000, -9, -1])
def test_truncated_gzip_is_an_error_that_names_the_file(text: str, left: int, write: Write) -> None:
    path = write(gzip.compress(text.encode())[:left])
    error = error_of(gold_answers, path)
    assert "damaged or cut short" in error.what
    assert str(error.place) == path
    assert error.hint == "Compress or download it again."


def test_a_line_cut_by_damaged_gzip_is_reported_as_damaged_gzip(write: Write) -> None:
    data = bytearray(gzip.compress(lines({"query": each, "answer": "a"} for each in INCOMPRESSIBLE).encode()))
    data[len(data) // 2 : len(data) // 2 + 4] = b"\0\0\0\0"
    assert "damaged or cut short" in error_of(gold_answers, write(bytes(data))).what


def test_answers_come_from_iterators_and_data_sets_of_hugging_face() -> None:
    golds = [{"query": "q1", "gold_answers": ["a", "b"]}, {"query": "q2", "gold_answers": ["c"]}]
    expected = {"q1": ("a", "b"), "q2": ("c",)}
    data_set = datasets.Dataset.from_list(golds)
    for source in (iter(golds), (each for each in golds), data_set, data_set.to_iterable_dataset()):
        assert gold_answers(source) == expected
    assert predicted_answers((each for each in ("x", None)), expected) == {"q1": "x", "q2": None}
    with pytest.raises(KaratError, match=r"question 'q' was already in the ground truth\[0\]"):
        predicted_answers(iter([{"query": "q", "answer": "a"}] * 2), expected, name="the ground truth")


# Invalid Python objects.


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        (b"ab", "Gold answers are"),
        (None, "Gold answers are"),
        (7, "Gold answers are"),
        ({"a", "b"}, "A set has no order"),
        ({"q": "a"}.values(), "Gold answers are"),
        (np.array(["a", "b"]), r"Call \.tolist\(\) on it"),
        (pl.LazyFrame({"query": ["q"], "answer": ["a"]}), r"Call its collect\(\) first"),
    ],
    ids=["bytes", "None", "a number", "a set", "a view", "numpy", "a lazy frame"],
)
def test_a_source_without_answers_is_an_error_that_lists_the_accepted_forms(source: Any, hint: str) -> None:
    error = error_of(gold_answers, source)
    assert "answers cannot be read from" in error.what
    assert re.search(hint, error.hint or "")
    error = error_of(predicted, source)
    assert "answers cannot be read from" in error.what
    assert re.search(hint.replace("Gold", "Predicted"), error.hint or "")


@pytest.mark.parametrize("empty", [{}, [], (), pd.DataFrame(), pd.DataFrame({"query": [], "answer": []})])
def test_empty_gold_answers_are_an_error(empty: Any) -> None:
    error = error_of(gold_answers, empty)
    assert (error.what, str(error.place)) == ("no gold answers found", "the ground truth")
    assert "Gold answers are" in (error.hint or "")


@pytest.mark.parametrize(
    "value", [1889, 2.5, float("nan"), True, b"a", {"a": "b"}, {"text": None}, object(), np.array(["a"]), iter("ab")]
)
def test_a_value_that_is_not_text_is_rejected_as_gold_and_as_predicted_answer(value: Any) -> None:
    error = error_of(gold_answers, {"q": "a", "r": value})
    assert "is not a gold answer" in error.what
    assert str(error.place) == "the ground truth, question r"
    assert "Answers are text" in (error.hint or "")
    error = error_of(predicted, {"q": "a", "r": value})
    assert "is not text" in error.what
    assert str(error.place) == "the predictions, question r"
    assert "Answers are text" in (error.hint or "")


def test_an_array_of_gold_answers_is_an_error_that_shows_how_to_make_a_list() -> None:
    assert "Call .tolist() on it." in (error_of(gold_answers, {"q": np.array(["a"])}).hint or "")
    assert "Wrap it in list(...)." in (error_of(gold_answers, {"q": iter("ab")}).hint or "")


def test_a_cell_that_is_not_text_is_an_error_that_names_its_row() -> None:
    frame = pd.DataFrame({"id": [1, 2], "answer": [3, 4]})
    assert str(error_of(gold_answers, frame).place) == "the ground truth, row 0"
    assert str(error_of(predicted, frame).place) == "the predictions, row 0"
    lists = pl.DataFrame({"id": [1, 2], "answer": [["a"], ["b", None]]})
    assert str(error_of(gold_answers, lists).place) == "the ground truth, row 1[1]"


@pytest.mark.parametrize("answers", [["a"], ["a"] * 5, [], ("a", "b")])
def test_lists_of_different_length_are_an_error(answers: Any) -> None:
    error = error_of(evaluate_answers, GOLD, answers)
    assert error.what == f"gold answers are given for 4 questions, but the predictions has {len(answers)}"
    assert "matched by position" in (error.hint or "")


def test_a_file_of_another_length_is_an_error_that_names_it(write: Write) -> None:
    path = write('["a"]')
    assert path in error_of(predicted, path).what


def test_a_question_given_as_text_and_as_a_number_is_an_error() -> None:
    both = {"1": "a", 1: "b"}
    for read, place in ((gold_answers, "the ground truth"), (predicted, "the predictions")):
        error = error_of(read, both)
        assert error.what == "question 1 appears twice, once as text and once as a number"
        assert str(error.place) == place


@pytest.mark.parametrize("question", [True, 1.0, None, b"q", ("q",)])
def test_questions_are_text_or_whole_numbers(question: Any) -> None:
    for read, place in ((gold_answers, "the ground truth"), (predicted, "the predictions")):
        error = error_of(read, {question: "a"})
        assert error.what == f"{question!r} is not an id"
        assert str(error.place) == place
        assert "Ids are text or whole numbers" in (error.hint or "")


def test_numbers_and_their_digits_are_the_same_question() -> None:
    assert evaluate_answers({1: "a", np.int64(2): "b"}, {"1": "a", "2": "b"}, "EM")["EM"] == 1
    assert evaluate_answers({"1": "a", "01": "b"}, {1: "a"}, "EM").per_query == {"1": {"EM": 1.0}, "01": {"EM": 0.0}}


def test_an_id_with_a_lone_surrogate_is_an_error(write: Write) -> None:
    for golds in ({"\ud800": "a"}, dict.fromkeys(("\ud83d", "\ude00"), "a"), write('{"\\ud800": "a"}')):
        assert "an id is not valid Unicode" in error_of(gold_answers, golds).what
        error = error_of(predicted, golds)
        assert "an id is not valid Unicode" in error.what
        assert error.hint == "Fix the ids."


def test_an_answer_may_contain_a_lone_surrogate() -> None:
    scores = evaluate_answers({"q": "\ud800 x"}, {"q": "\ud800 x"})
    assert set(scores.means.values()) == {1.0}


def test_two_records_of_a_question_combine_gold_answers_but_are_an_error_for_predictions() -> None:
    records = [{"query": "q", "answer": "a"}, {"query": "r", "answer": "x"}, {"query": "q", "answer": "b"}]
    assert gold_answers(records) == {"q": ("a", "b"), "r": ("x",)}
    error = error_of(predicted, records)
    assert (error.what, str(error.place)) == ("question 'q' was already in the predictions[0]", "the predictions[2]")
    assert re.search(REPEATED, error.hint or "")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([{"query": "q", "answer": None}, {"query": "q", "answer": "a"}], ("a",)),
        ([{"query": "q", "answer": "a"}, {"query": "q", "answer": None}], ("a",)),
        ([{"query": "q", "answer": ["b"]}, {"query": "q", "answer": ["a", "b"]}], ("b", "a")),
        ([{"query": "q", "answer": "a"}, {"query": "q", "answer": "a"}], ("a",)),
        ([{"query": 1, "answer": "a"}, {"query": "1", "answer": {"text": ["b"]}}], ("a", "b")),
        ([{"query": "q", "answer": None}, {"query": "q", "answer": None}, {"query": "r", "answer": "x"}], None),
    ],
)
def test_gold_answers_of_a_repeated_question_are_combined_in_every_form(
    records: list[dict[str, Any]], expected: tuple[str, ...] | None, write: Write
) -> None:
    query = str(records[0]["query"])
    for source in (records, write(json.dumps(records), "list"), write(lines(records), "lines")):
        assert gold_answers(source)[query] == expected


def test_gold_answers_of_a_repeated_question_are_combined_in_tables(write: Write) -> None:
    rows = [("query", "answer"), ("q", "b"), ("r", ""), ("q", ""), ("q", "a"), ("q", "b")]
    for delimiter in ",\t;":
        assert gold_answers(write(table(rows, delimiter))) == {"q": ("b", "a"), "r": None}
    queries, answers = map(list, zip(*rows[1:], strict=True))
    nulls = [answer or None for answer in answers]
    for frame in (pd.DataFrame, pl.DataFrame, pa.table):
        assert gold_answers(frame({"query": queries, "answer": nulls})) == {"q": ("b", "a"), "r": None}
        # In a data frame, an empty text is an answer.
        assert gold_answers(frame({"query": queries, "answer": answers})) == {"q": ("b", "", "a"), "r": ("",)}


def test_an_invalid_gold_answer_names_its_own_record_if_answers_are_combined() -> None:
    error = error_of(gold_answers, [{"query": "q", "answer": "a"}, {"query": "q", "answer": 5}])
    assert (error.what, str(error.place)) == ("5 is not a gold answer", "the ground truth[1]")


def test_the_hint_for_an_answer_that_is_not_text_shows_how_to_convert_it() -> None:
    for read in (gold_answers, predicted):
        assert (
            error_of(read, {"q": 1889}).hint
            == "Answers are text: put the value in quotes, or convert it with str(...)."
        )


def test_semicolons_do_not_separate_columns_if_the_header_has_commas(write: Write) -> None:
    assert gold_answers(write("query,answer\nq,a; b\n")) == {"q": ("a; b",)}
    assert gold_answers(write('query;answer\nq;"a; b, c"\n')) == {"q": ("a; b, c",)}


def test_an_unknown_field_is_an_error_that_suggests_the_most_similar_one() -> None:
    records = [{"query": "q", "answer": "a"}]
    error = error_of(evaluate_answers, records, records, fields={"gold_answer": "answer"})
    assert error.what == "'gold_answer' is not a field of results"
    assert (error.hint or "").startswith("Did you mean gold_answers or answer?")


@pytest.mark.parametrize("name", ["", 3, None])
def test_the_name_of_a_field_must_be_text(name: Any) -> None:
    error = error_of(gold_answers, [{"query": "q", "answer": "a"}], {"query": name})
    assert error.what == f"{name!r} is not the name of a field"
    assert error.hint == "Pass the name of the field for query as a string."


def test_a_given_field_name_that_is_missing_is_an_error_even_if_a_default_name_is_present() -> None:
    error = error_of(gold_answers, [{"query": "q", "answer": "a"}], {"gold_answers": "labels"})
    assert (error.what, str(error.place)) == (
        "no field 'labels'; the fields are 'query', 'answer'",
        "the ground truth[0]",
    )


def test_errors_use_the_name_given_for_a_source() -> None:
    error = error_of(gold_answers, {"q": 1}, name="the gold")
    assert str(error.place) == "the gold, question q"
    error = error_of(evaluate_answers, GOLD, {"q1": 1}, name="gpt")
    assert str(error.place) == "gpt, question q1"


ANSWERS = (
    st.none() | st.text(max_size=2) | st.lists(st.text(max_size=2), max_size=3) | st.sampled_from([{"text": "a"}, 3])
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"gold_answers": ANSWERS, "query": st.sampled_from(["q1", "q2", "q3", 4, None])},
        optional={"id": st.just("x"), "answer": st.text(max_size=2) | st.none()},
    ),
    max_size=4,
)


@settings(max_examples=100)
@given(ROWS, st.sampled_from([4, 64, 1 << 20]))
def test_json_lines_have_the_answers_of_their_records(rows: list[dict[str, Any]], size: int) -> None:
    def outcome(read: Callable[..., Any], source: Any, *arguments: Any) -> object:
        try:
            return read(source, *arguments)
        except KaratError as error:
            return error.what

    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    for read, arguments in ((gold_answers, ()), (predicted_answers, ({"q1": ("a",)},))):
        if len(rows) > 1:
            with block_size(size):
                found = outcome(read, io.BytesIO(lines.encode()), *arguments)
            assert re.sub("was already in .*", "", str(found)) == re.sub(
                "was already in .*", "", str(outcome(read, rows, *arguments))
            )
