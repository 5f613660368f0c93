"""The texts of queries and documents that are known by id only."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import Document
from karat.errors import KaratError
from karat.reading.bytes.input_file import InputFile
from karat.reading.pairs.files import DescribedFile
from karat.reading.texts.entries import Text
from karat.reading.texts.text_files import text_columns
from karat.reading.texts.texts import FoundTexts, read_texts

RECORDS = [
    {"_id": "d1", "title": "Gold", "text": "Gold is soft."},
    {"_id": "d2", "title": "Iron", "text": ""},
    {"_id": "d3", "title": "", "text": "Lead is heavy."},
    {"_id": "d4", "title": "", "text": ""},
    {"_id": "d5", "title": "Zinc", "text": "not wanted"},
]
WANTED = ["d1", "d2", "d3", "d4"]
FOUND = {"d1": Text("Gold is soft.", "Gold"), "d2": Text("Iron"), "d3": Text("Lead is heavy.")}
LINES = "".join(json.dumps(record) + "\n" for record in RECORDS)
FRAME = pa.table({name: [record[name] for record in RECORDS] for name in ("_id", "title", "text")})


def delimited(mark: str) -> str:
    return "".join(mark.join(row) + "\n" for row in (["_id", "title", "text"], *(r.values() for r in RECORDS)))


FILES: dict[str, Callable[[Path], object]] = {
    "corpus.jsonl": lambda path: path.write_text(LINES),
    "corpus.jsonl.gz": lambda path: path.write_bytes(gzip.compress(LINES.encode())),
    "corpus.json": lambda path: path.write_text(json.dumps(RECORDS)),
    "by-id.json": lambda path: path.write_text(json.dumps({record["_id"]: record for record in RECORDS})),
    "corpus.csv": lambda path: path.write_text(delimited(",")),
    "corpus.tsv": lambda path: path.write_text(delimited("\t")),
    "corpus.parquet": lambda path: parquet.write_table(FRAME.append_column("vector", [[[0.5]] * 5]), path),
    "corpus.feather": lambda path: feather.write_feather(FRAME, str(path)),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_every_format_have_the_same_texts(name: str, tmp_path: Path) -> None:
    FILES[name](tmp_path / name)
    texts = read_texts(tmp_path / name, WANTED)
    assert dict(texts) == FOUND
    assert texts.missing == ("d4",)
    assert texts.notes == (f"{tmp_path / name}: no text for 1 of 4 documents (d4)",)


SOURCES: dict[str, Callable[[], Any]] = {
    "records": lambda: RECORDS,
    "an iterator of records": lambda: iter(RECORDS),
    "documents": lambda: [Document(r["text"], id=r["_id"], meta={"title": r["title"]}) for r in RECORDS],
    "records by id": lambda: {r["_id"]: {"title": r["title"], "text": r["text"]} for r in RECORDS},
    "documents by id": lambda: {r["_id"]: Document(r["text"], meta={"title": r["title"]}) for r in RECORDS},
    "dictionaries of Haystack": lambda: [
        Document(r["text"], id=r["_id"], meta={"title": r["title"]}).to_dict() for r in RECORDS
    ],
    "a table of Arrow": lambda: FRAME,
    "a stream of Arrow": lambda: FRAME.to_reader(2),
    "pandas": lambda: pd.DataFrame(RECORDS),
    "polars": lambda: pl.DataFrame(RECORDS),
    "two data frames": lambda: [pd.DataFrame(RECORDS[:2]), pl.DataFrame(RECORDS[2:])],
}


@pytest.mark.parametrize("name", SOURCES)
def test_python_objects_have_the_same_texts(name: str) -> None:
    texts = read_texts(SOURCES[name](), WANTED)
    assert dict(texts) == FOUND
    assert texts.notes == ("the corpus: no text for 1 of 4 documents (d4)",)


@pytest.mark.parametrize(
    "source",
    [{"q1": "how soft"}, [("q1", "how soft")], pd.Series({"q1": "how soft"}),
     pd.DataFrame({"qid": ["q1"], "query": ["how soft"]})],
)  # fmt: skip
def test_queries_are_texts_by_id(source: Any) -> None:
    assert dict(read_texts(source, ["q1"], "queries")) == {"q1": Text("how soft")}


def test_tables_without_a_header_and_folders_of_data_sets_are_read(tmp_path: Path) -> None:
    (tmp_path / "collection.tsv").write_text('d1\t"Gold" is soft.\nd2\tIron\n')
    texts = read_texts(str(tmp_path / "collection.tsv"), ["d1"])
    assert dict(texts) == {"d1": Text('"Gold" is soft.')}
    assert "there is no header line" in texts.notes[0]
    (tmp_path / "corpus.jsonl").write_text(LINES)
    (tmp_path / "queries.jsonl.gz").write_bytes(gzip.compress(b'{"_id": "q1", "text": "how soft"}\n'))
    assert read_texts(tmp_path, ["d1"])["d1"] == FOUND["d1"]
    assert read_texts(tmp_path, ["q1"], "queries")["q1"] == Text("how soft")


def test_several_files_are_one_source(tmp_path: Path) -> None:
    for name, records in (("a.jsonl", RECORDS[:2]), ("b.jsonl", [*RECORDS[1:2], RECORDS[2]])):
        (tmp_path / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    assert dict(read_texts([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], WANTED)) == FOUND


def test_an_id_with_two_texts_is_an_error_that_names_both_places(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"_id": "x", "text": "1"}\n{"_id": "d1", "text": "one"}\n')
    (tmp_path / "b.csv").write_text("_id,text\nd1,two\n")
    with pytest.raises(KaratError, match=r"b\.csv:2: document 'd1' has another text here than in .*a\.jsonl:2"):
        read_texts([tmp_path / "a.jsonl", tmp_path / "b.csv"], ["d1"])
    assert read_texts([tmp_path / "a.jsonl", tmp_path / "b.csv"], ["x"])["x"] == Text("1")


@pytest.mark.parametrize(
    "source",
    [{7: "a"}, [{"id": 7, "text": "a"}], [{"id": 7.0, "text": "a"}], pd.DataFrame({"id": [7], "text": ["a"]}),
     pd.DataFrame({"id": [7.0], "text": ["a"]})],
)  # fmt: skip
def test_ids_that_are_numbers_are_joined_with_texts_and_a_note_says_so(source: Any) -> None:
    texts = read_texts(source, ["7"])
    assert (dict(texts), texts.notes) == ({"7": Text("a")}, ("the corpus: ids are numbers, read as texts",))


def test_the_columns_of_a_file_can_be_given(tmp_path: Path) -> None:
    path = tmp_path / "corpus.csv"
    path.write_text("nr,text,translation,heading\nd1,Gold ist weich.,Gold is soft.,Gold\n")
    file = DescribedFile(InputFile(str(path)), {"id": "nr", "text": "translation", "title": "heading"})
    texts = read_texts(file, ["d1"])
    assert (texts["d1"], texts.notes) == (FOUND["d1"], ())
    with pytest.raises(KaratError, match=r"no column 'translatoin'; the columns are .*\. Did you mean translation"):
        read_texts(DescribedFile(InputFile(str(path)), {"id": "nr", "text": "translatoin"}), ["d1"])


@pytest.mark.parametrize(
    ("names", "content", "expected"),
    [
        ("qid docno query text", "queries", ("qid", "query", None)),
        ("qid docno query text", "corpus", ("docno", "text", None)),
        ("qid pid query passage", "corpus", ("pid", "passage", None)),
        ("query text", "queries", ("query", "text", None)),
        ("chunk_id doc_id text", "corpus", ("chunk_id", "text", None)),
        ("id title", "corpus", ("id", "title", None)),
        ("docno url headline body", "corpus", ("docno", "body", "headline")),
    ],
)
def test_columns_are_known_by_their_usual_names(names: str, content: Any, expected: tuple[str | None, ...]) -> None:
    assert text_columns(names.split(), content, None, "x")[:3] == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "the corpus: None is not a source of texts"),
        (7, "the corpus: 7 is not a source of texts"),
        ({"x", "y"}, "is not a source of texts"),
        ([], "the corpus: there are no texts"),
        (iter([]), "the corpus: there are no texts"),
        ({}, r"no text found for any of the 2 documents\. Their ids are d1, d2$"),
        ({"e": "x"}, r"any of the 2 documents\. Their ids are d1, d2; the texts have the ids e\.$"),
        ({"d1": 5}, "the corpus, 'd1': 5 is not the text of a document"),
        ({"d1": "a", "d2": ["a"]}, r"the corpus, 'd2': \['a'\] is not the text"),
        ({"d1": {"heading": "a"}}, "the corpus, 'd1': no column 'text'; the columns are 'heading'"),
        ([["d1", "a"]], r"the corpus\[0\]: \['d1', 'a'\] is not a record"),
        ([("d1", "a"), ("d2",)], r"the corpus\[1\]: \('d2',\) is not a pair of an id and a text"),
        ([{"_id": "d1", "text": "a"}, {"text": "b"}], r"the corpus\[1\]: the id is missing: there is no '_id'"),
        ([{"_id": "d1", "text": "a"}, {"_id": 0.5, "text": "b"}], r"the corpus\[1\]: 0.5 is not an id"),
        (pd.DataFrame({"_id": ["d1", None], "text": ["a", "b"]}), "the corpus, row 1: the id is missing"),
        (pd.DataFrame({"a": ["d1"], "b": ["x"]}), "no columns 'id' and 'text'; the columns are 'a', 'b'"),
        (["no-such-file.jsonl"], "no-such-file.jsonl: no such file"),
    ],
)
def test_a_source_without_texts_is_an_error(source: Any, message: str) -> None:
    with pytest.raises(KaratError, match=message):
        read_texts(source, ["d1", "d2"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ('{"_id": "d1", "text": "a"}\n{"_id": "d2", "te', "texts.jsonl:2: not JSON"),
        ('{"x": "d1", "text": "a"}\n', "no column 'id'; the columns are 'x', 'text'. If yours have other"),
        ("q1 Q0 d1 1 0.5 t\n", "texts.jsonl: this is a run, not the texts of documents"),
        ("q1 what gold is\n", "the file is neither JSON nor a table"),
    ],
)
def test_a_damaged_file_is_an_error_with_its_place(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text(content)
    with pytest.raises(KaratError, match=message):
        read_texts(tmp_path / "texts.jsonl", ["d1"])


class Endless(FoundTexts):
    """A mapping that cannot be iterated to its end."""

    def __iter__(self) -> Any:
        return iter(lambda: "x", None)


def test_a_mapping_is_only_asked_for_wanted_ids() -> None:
    assert dict(read_texts(Endless({"d1": Text("a")}), ["d1"])) == {"d1": Text("a")}


@given(texts=st.dictionaries(st.text(min_size=1), st.text()), wanted=st.sets(st.text(min_size=1)))
def test_records_and_mappings_have_the_same_texts(texts: dict[str, str], wanted: set[str]) -> None:
    def read(source: Any) -> Any:
        try:
            found = read_texts(source, wanted | {"known"})
        except KaratError as error:
            return error.what
        return dict(found), found.missing

    texts |= {"known": "x"}
    of_mapping = read(texts)
    assert of_mapping == read([{"_id": each, "text": text} for each, text in texts.items()])
    wanted.add("known")
    assert of_mapping[0] == {
        each: Text(texts[each]) for each in sorted(texts) if each in wanted and texts[each].strip()
    }
