"""Which columns of a table are read: the usual names, names that were given, and what a note says."""

import pytest

from karat.errors import KaratError
from karat.reading.columns import ColumnRole, GivenNames, IfPresent, choose, names_present
from karat.reading.columns.spellings import find_column, is_spelling
from karat.reading.pairs.columns import columns_to_read


@pytest.mark.parametrize(
    "names",
    [
        ("query_id", "doc_id", "relevance"),  # ir_measures
        ("query-id", "corpus-id", "score"),  # BEIR, MTEB
        ("qid", "docno", "label"),  # PyTerrier
        ("q_id", "doc_id", "score"),  # ranx
        ("query", "docid", "rel"),  # trectools
        ("Query Text", "Doc ID", "Rating"),  # Quepid
        ("queryId", "documentId", "judgment"),
        ("topic", "_id", "grade"),
    ],
)
def test_the_names_that_other_tools_give_to_the_columns_of_ground_truth_are_known(names: tuple[str, ...]) -> None:
    found = columns_to_read(names, "grade", None, "f")
    assert (found.query, found.doc, found.number) == names


@pytest.mark.parametrize(
    "names",
    [
        ("query_id", "doc_id", "score"),
        ("qid", "pid", "rank"),  # MS MARCO
        ("query", "_id", "_score"),  # Elasticsearch
        ("query", "node_id", "score"),  # LlamaIndex
    ],
)
def test_the_names_that_other_tools_give_to_the_columns_of_a_run_are_known(names: tuple[str, ...]) -> None:
    found = columns_to_read(names, "score", None, "f")
    assert (found.query, found.doc, found.number) == names


def test_of_the_columns_of_pyterrier_the_ids_and_the_score_are_read() -> None:
    found = columns_to_read(["qid", "query", "docid", "docno", "rank", "score"], "score", None, "res")
    assert (found.query, found.doc, found.number, found.by_rank) == ("qid", "docno", "score", False)
    assert found.note("res") == ("res: query is read from the column 'qid' and doc from 'docno'",)


def test_columns_with_karats_own_names_need_no_note() -> None:
    assert columns_to_read(["query", "doc", "score", "rank"], "score", None, "f").note("f") == ()


def test_a_note_names_columns_that_would_fit_as_well() -> None:
    found = columns_to_read(["qid", "chunk_id", "doc_id", "score"], "score", None, "f")
    assert found.note("f") == ("f: query is read from the column 'qid' and doc from 'doc_id' rather than 'chunk_id'",)


def test_a_note_says_that_ranks_are_the_order() -> None:
    found = columns_to_read(["query", "doc", "rank"], "score", None, "f")
    assert (found.number, found.by_rank) == ("rank", True)
    assert found.note("f") == ("f: documents are ordered by the column 'rank'",)
    found = columns_to_read(["qid", "doc", "rank"], "score", None, "f")
    assert found.note("f") == ("f: query is read from the column 'qid'; documents are ordered by the column 'rank'",)


def test_a_name_for_any_file_is_used_where_it_is_present_and_a_note_says_where_it_is_not() -> None:
    given: GivenNames = {"doc": IfPresent("url"), "query": "qid"}
    assert names_present(given, ["qid", "url"].__contains__, "a") == ({"doc": "url", "query": "qid"}, ())
    assert names_present(given, ["doc"].__contains__, "b") == (
        {"query": "qid"},
        ("b: the column 'url' was not found, so the usual names of columns are used",),
    )


def test_a_column_cannot_be_given_for_two_roles() -> None:
    with pytest.raises(KaratError, match="f: the column 'id' is given for both query and doc"):
        columns_to_read(["id", "score"], "score", {"query": "id", "doc": "id"}, "f")


def test_of_two_columns_with_one_name_none_is_read() -> None:
    with pytest.raises(KaratError, match="f: more than one column 'doc'"):
        columns_to_read(["query", "doc", "doc", "score"], "score", None, "f")


def test_the_content_of_a_column_can_decide_between_usual_names() -> None:
    roles = [ColumnRole("query", "record_query"), ColumnRole("answer", "answer", required=False)]
    found = choose(["id", "question", "reply"], roles, None, "f", "field", fits=lambda _, name: name != "id")
    assert found.columns == {"query": "question", "answer": "reply"}
    assert found.note("f") == ("f: query is read from the field 'question' and answer from 'reply'",)
    assert found.without(["answer"]).columns == {"query": "question"}


def test_a_name_that_was_given_for_this_file_must_be_there() -> None:
    with pytest.raises(KaratError, match="no column 'url'; the columns are 'query', 'doc', 'score'"):
        columns_to_read(["query", "doc", "score"], "score", {"doc": "url"}, "f")


def test_all_missing_columns_are_named_in_one_error() -> None:
    with pytest.raises(KaratError, match=r"no columns 'query', 'doc' and 'score'; the columns are 'a'.*run_columns="):
        columns_to_read(["a", "b"], "score", None, "f")


def test_a_column_is_read_for_one_role_only() -> None:
    assert find_column(["_id", "text"], "doc", ["_id"]) is None
    assert not is_spelling(3, "query")
