"""Document, and the fields and keys of documents of any framework."""

from __future__ import annotations

import copy
import datetime
import json
import pickle
import uuid
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import Document, KaratError
from karat.dataclasses import ByteStream, SparseEmbedding
from karat.documents.fields import check_field, document_key, document_keys, document_scores

NAMES = st.text() | st.sampled_from("content id meta score text page_content metadata id_ doc_id blob".split())
META = st.dictionaries(NAMES, st.integers() | st.text() | st.none() | st.lists(st.text()), max_size=3)
BLOBS = st.builds(ByteStream, st.binary(max_size=5), st.dictionaries(st.text(), st.integers(), max_size=2))
SPARSE = st.lists(st.tuples(st.integers(0), st.floats(allow_nan=False)), max_size=3).map(
    lambda pairs: SparseEmbedding([index for index, _ in pairs], [value for _, value in pairs])
)
DOCUMENTS = st.builds(
    Document,
    content=st.none() | st.text(),
    id=st.just("") | st.text(),
    meta=st.none() | META,
    score=st.none() | st.floats(allow_nan=False),
    blob=st.none() | BLOBS,
    embedding=st.none() | st.lists(st.floats(allow_nan=False), max_size=3),
    sparse_embedding=st.none() | SPARSE,
)


def test_a_document_stores_the_fields_it_is_given() -> None:
    document = Document(content="Paris", id="p1", meta={"page": 7}, score=0.5)
    assert (document.content, document.id, document.meta, document.score) == ("Paris", "p1", {"page": 7}, 0.5)


def test_an_id_is_derived_from_content_and_meta() -> None:
    ids = {
        Document(content="Paris").id,
        Document(content="Lyon").id,
        Document(content="Paris", meta={"page": 7}).id,
        Document(content="Paris", meta={"page": 8}).id,
    }
    assert len(ids) == 4
    assert Document(content="Paris", score=0.5).id == Document(content="Paris").id


def test_the_order_of_meta_does_not_change_the_id() -> None:
    assert Document("x", meta={"a": 1, "b": 2}).id == Document("x", meta={"b": 2, "a": 1}).id


def test_a_content_with_a_lone_surrogate_still_has_an_id() -> None:
    assert Document(content="\ud800").id != Document(content="\ud801").id


def test_meta_that_contains_itself_cannot_have_a_derived_id() -> None:
    meta: dict[str, Any] = {}
    meta["again"] = meta
    with pytest.raises(KaratError, match="Pass an id"):
        _ = Document("x", meta=meta).id


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"content": 5}, "the content of a document must be text, not 5"),
        ({"id": 5}, "the id of a document must be text, not 5"),
        ({"meta": "x"}, "the meta of a document must be a dictionary, not 'x'"),
        ({"score": "0.5"}, "the score of a document must be a number, not '0.5'"),
        ({"score": np.array([1.0, 2.0])}, "the score of a document must be a number"),
        ({"blob": b"x"}, "the blob of a document must be a ByteStream, not b'x'"),
        ({"embedding": "0.5"}, "the embedding of a document must be a list of numbers, not '0.5'"),
        ({"embedding": 0.5}, "the embedding of a document must be a list of numbers, not 0.5"),
        ({"sparse_embedding": [1]}, r"the sparse_embedding of a document must be a SparseEmbedding, not \[1\]"),
    ],
)
def test_a_field_of_the_wrong_type_is_rejected(fields: dict[str, Any], match: str) -> None:
    with pytest.raises(KaratError, match=match):
        Document(**fields)


def test_only_content_is_a_positional_argument() -> None:
    assert Document("Paris").content == "Paris"
    with pytest.raises(TypeError):
        Document("d1", "Paris")  # type: ignore[call-arg]


def test_fields_can_be_set_and_a_derived_id_follows_them() -> None:
    document = Document("a")
    before = document.id
    document.content, document.meta, document.score = "b", {"page": 1}, 0.5
    assert document == Document("b", meta={"page": 1}, score=0.5)
    assert document.id != before
    document.id = "d1"
    assert document.id == "d1"


def test_documents_do_not_share_metadata() -> None:
    one, other = Document("a"), Document("a")
    one.meta["page"] = 1
    assert other.meta == {}
    assert one != other


def test_a_blob_or_an_embedding_makes_a_document_different() -> None:
    others = {
        "blob": ByteStream(b"x"),
        "embedding": [0.5],
        "sparse_embedding": SparseEmbedding([1], [0.5]),
    }
    documents = [Document("a"), *(Document("a", **{name: value}) for name, value in others.items())]  # type: ignore[arg-type]  # each of its type
    assert len({document.id for document in documents}) == 4
    for at, document in enumerate(documents):
        assert [document == other for other in documents] == [at == each for each in range(4)]
    assert repr(documents[2]) == "Document(content='a', embedding=[0.5])"


def test_an_array_becomes_a_list() -> None:
    assert Document("a", embedding=np.array([0.5, 1.0])).embedding == [0.5, 1.0]  # type: ignore[arg-type]
    assert Document.from_dict({"content": "a", "embedding": np.array([0.5])}) == Document("a", embedding=[0.5])


@pytest.mark.parametrize("value", ["x", {"data": "x"}, {"data": [999]}, {"wrong": 1}, 5])
def test_something_else_that_is_named_like_a_blob_or_an_embedding_is_metadata(value: object) -> None:
    for name in ("blob", "sparse_embedding"):
        document = Document.from_dict({"content": "a", name: value})
        assert document == Document("a", meta={name: value})
        assert Document.from_dict(document.to_dict(flatten=True)) == document


def test_documents_are_equal_if_all_four_fields_are() -> None:
    assert Document("a", meta={"x": 1}) == Document("a", meta={"x": 1})
    assert Document("a", id="1") != Document("a", id="2")
    assert Document("a", score=1) != Document("a")
    assert Document("a") != "a"
    assert Document("a", id=Document("a").id) == Document("a")


@given(document=DOCUMENTS, flatten=st.booleans())
def test_a_document_survives_a_round_trip_through_a_dictionary(document: Document, flatten: bool) -> None:
    assert Document.from_dict(document.to_dict(flatten=flatten)) == document


@given(document=DOCUMENTS)
def test_a_document_can_be_copied_and_pickled(document: Document) -> None:
    assert copy.deepcopy(document) == document
    assert pickle.loads(pickle.dumps(document)) == document


def test_keys_of_a_dictionary_that_are_not_fields_become_metadata() -> None:
    document = Document.from_dict({"content": "a", "page": 7, "meta": {"file": "x"}, "embedding": None})
    assert document == Document("a", meta={"file": "x", "page": 7})


@pytest.mark.parametrize("data", [None, "text", 5, {"meta": 5}, {"content": 5}])
def test_a_value_that_is_not_a_document_is_rejected_by_from_dict(data: Any) -> None:
    with pytest.raises(KaratError):
        Document.from_dict(data)


def test_the_repr_of_a_document_shows_the_given_fields_and_no_derived_id() -> None:
    assert repr(Document("Paris", score=1.0)) == "Document(content='Paris', score=1.0)"
    assert len(repr(Document("x" * 10_000))) < 200


@pytest.mark.parametrize("field", ["content", "id", "meta.page", "meta.a.b"])
def test_documents_are_compared_by_content_id_or_metadata(field: str) -> None:
    assert check_field(field) == field


@pytest.mark.parametrize("field", ["contents", "meta", "meta.", "meta..a", ".meta", "", "score", None, 5])
def test_documents_cannot_be_compared_by_other_fields(field: Any) -> None:
    with pytest.raises(KaratError, match="documents cannot be compared by the field"):
        check_field(field)


@pytest.mark.parametrize(
    "document",
    [
        "Paris",
        Document("Paris", id="p"),
        {"content": "Paris"},
        {"page_content": "Paris"},
        {"text": "Paris"},
        SimpleNamespace(page_content="Paris"),
        SimpleNamespace(text="Paris"),
        SimpleNamespace(get_content=lambda: "Paris"),
    ],
)
def test_the_content_of_any_kind_of_document_is_found(document: object) -> None:
    assert document_key(document, "content", "here") == "Paris"
    assert document_keys([document, "x"], "content", "here") == ["Paris", "x"]
    assert document_keys((document,), "content", "here") == ["Paris"]


@pytest.mark.parametrize("name", ["id", "id_", "doc_id"])
def test_the_id_of_any_kind_of_document_is_found(name: str) -> None:
    assert document_key(SimpleNamespace(**{name: "p1"}), "id", "here") == "p1"
    assert document_key({name: "p1"}, "id", "here") == "p1"


def test_a_document_without_an_id_is_matched_by_its_content() -> None:
    assert document_key(SimpleNamespace(id=None, page_content="Paris"), "id", "here") == "Paris"


def test_metadata_is_found_at_any_depth_and_under_both_names() -> None:
    assert document_key({"meta": {"a": {"b": "x"}}}, "meta.a.b", "here") == "x"
    assert document_key(SimpleNamespace(metadata={"a": {"b": "x"}}), "meta.a.b", "here") == "x"


def test_aliases_of_fields_do_not_apply_inside_metadata() -> None:
    assert document_key(Document("x", meta={"text": "y"}), "meta.content", "here") is None
    assert document_key(Document("x", meta={"title": "y"}), "meta.title.upper", "here") is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (7.0, "7"),
        (7.5, "7.5"),
        ("007", "007"),
        (True, "True"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (datetime.date(2024, 5, 1), "2024-05-01"),
    ],
)
def test_a_number_matches_its_digits_and_other_values_match_their_text(value: object, text: str) -> None:
    assert document_key(Document("x", meta={"field": value}), "meta.field", "here") == text


@pytest.mark.parametrize("value", [None, "", float("nan")])
def test_an_empty_value_matches_nothing(value: object) -> None:
    assert document_key(Document("x", meta={"field": value}), "meta.field", "here") is None


@pytest.mark.parametrize("value", [["a"], {"a": 1}, b"a", object(), ("a",), np.arange(2000)])
def test_documents_cannot_be_matched_by_a_value_that_is_neither_text_nor_a_number(value: object) -> None:
    with pytest.raises(KaratError, match=r"here: the meta\.field of a document is .*, which is neither"):
        document_key(Document("x", meta={"field": value}), "meta.field", "here")


def test_document_can_be_imported_as_in_haystack() -> None:
    import karat.dataclasses

    assert karat.dataclasses.Document is Document


@given(stream=BLOBS, sparse=SPARSE)
def test_byte_streams_and_sparse_embeddings_survive_a_round_trip_through_json(
    stream: ByteStream, sparse: SparseEmbedding
) -> None:
    assert ByteStream.from_dict(json.loads(json.dumps(stream.to_dict()))) == stream
    assert SparseEmbedding.from_dict(json.loads(json.dumps(sparse.to_dict()))) == sparse


def test_a_byte_stream_is_read_from_texts_and_files_and_written_to_them(tmp_path: Path) -> None:
    path = tmp_path / "gold.html"
    stream = ByteStream.from_string("gøld", encoding="latin-1", mime_type="text/html", meta={"page": 7})
    stream.to_file(path)
    assert path.read_bytes() == b"g\xf8ld" == stream.data
    assert stream.to_string("latin-1") == "gøld"
    assert ByteStream.from_file_path(path, meta={"page": 7}, guess_mime_type=True) == stream
    assert ByteStream.from_file_path(path).mime_type is None
    assert len(repr(ByteStream(b"x" * 10_000))) < 200


def test_a_sparse_embedding_has_a_value_for_each_index() -> None:
    with pytest.raises(ValueError, match=r"Length of indices \(2\) and values \(1\) must be the same"):
        SparseEmbedding([1, 2], [0.5])
    assert SparseEmbedding(np.array([1, 2]), np.array([0.5, 1])).to_dict().keys() == {"indices", "values"}  # type: ignore[arg-type]


def test_metadata_named_like_a_field_of_another_framework_stays_metadata() -> None:
    for meta in ({"metadata": {"k": 1}}, {"metadata": "v"}, {"text": "t"}, {"id_": "x"}):
        document = Document(meta=meta)
        assert Document.from_dict(document.to_dict(flatten=True)) == document


def test_a_dotted_field_reads_metadata_and_never_attributes() -> None:
    document = Document("a", meta={"x": 1})
    assert (
        document_keys([document], "meta.__doc__", "here")
        == document_keys([document], "meta.__class__.__name__", "here")
        == [None]
    )


@pytest.mark.parametrize("value", [pd.NaT, pd.NA, np.datetime64("NaT"), Decimal("NaN"), Decimal("sNaN")])
def test_missing_values_match_nothing(value: object) -> None:
    assert document_key(Document("a", meta={"p": value}), "meta.p", "here") is None


def test_the_content_attribute_takes_precedence_over_a_method() -> None:
    both = SimpleNamespace(content="raw", get_content=lambda: "rich")
    assert document_keys([both, both], "content", "here") == ["raw", "raw"]
    assert document_keys([both, "x"], "content", "here") == ["raw", "x"]


def test_a_number_too_large_for_a_float_is_compared_exactly() -> None:
    assert document_key(Document("a", meta={"p": Fraction(10**400, 3)}), "meta.p", "here") == f"{10**400}/3"


def test_a_misspelt_metadata_field_is_corrected_in_the_hint() -> None:
    with pytest.raises(KaratError, match=r"Did you mean meta\.page\?"):
        check_field("metadata.page")


@pytest.mark.parametrize("value", [object(), 5.5, True, {"a": 1}, ["a"]])
def test_a_value_that_is_not_a_document_is_rejected(value: object) -> None:
    with pytest.raises(KaratError, match="is not a document"):
        document_key(value, "content", "here")


def test_a_pair_of_document_and_score_is_an_error_with_a_hint() -> None:
    with pytest.raises(KaratError, match="Pass the document itself, not a tuple"):
        document_key((Document("a"), 0.5), "content", "here")


@given(documents=st.lists(DOCUMENTS | st.text() | st.none() | st.builds(lambda text: {"content": text}, st.text())))
def test_the_keys_of_a_list_are_the_keys_of_each_document(documents: list[Any]) -> None:
    for field in ("content", "id", "meta.a"):
        together = document_keys(documents, field, "here")
        assert [each or None for each in together] == [document_key(each, field, "here") for each in documents]


def test_scores_are_read_from_documents_that_have_them() -> None:
    assert document_scores([Document("a", score=0.5), Document("b")], "here") == [0.5, None]
    assert document_scores(["a", {"content": "b", "score": 2}], "here") == [None, 2]
    with pytest.raises(KaratError, match="here: score 'high' is not a number"):
        document_scores([{"content": "b", "score": "high"}], "here")


def test_an_array_of_dates_is_not_a_blob() -> None:
    """Its attribute `data` raises a ValueError."""
    with pytest.raises(KaratError, match="blob"):
        Document("text", blob=np.array([np.datetime64("NaT")]))  # type: ignore[arg-type]
