"""DocumentCleaner: what it removes and keeps, which inputs it accepts, and which it rejects."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from karat import Document, KaratError, Pipeline
from karat.components.evaluators import DocumentRecallEvaluator
from karat.components.preprocessors import DocumentCleaner
from karat.dataclasses import ByteStream, SparseEmbedding
from karat.documents.document import as_document

NOTHING = {"remove_empty_lines": False, "remove_extra_whitespaces": False}
EVERYTHING = {
    "remove_repeated_substrings": True,
    "remove_substrings": ["a", "\f\f"],
    "remove_regex": r"\d+\s*",
    "unicode_normalization": "NFKC",
    "ascii_only": True,
    "strip_whitespaces": True,
    "replace_regexes": {r"(\w)\1": r"\1"},
    "min_content_length": 1,
}

# White space, page breaks and repetitions matter most here, and hypothesis rarely generates them by itself.
texts = st.one_of(
    st.text(),
    st.text(st.characters(exclude_categories=())),
    st.text("ab \n\t\f\r\x0b\x1c\x85\xa0\x00é\ud800"),
    st.lists(st.sampled_from(["a", "head of page", " ", "  ", "\n", "\n\n", "\f", "\t"]), max_size=40).map("".join),
)
settings_of_cleaners = st.fixed_dictionaries(
    {},
    optional={
        **{
            name: st.booleans()
            for name in ("remove_empty_lines", "remove_extra_whitespaces", "remove_repeated_substrings", "keep_id")
        },
        "ascii_only": st.booleans(),
        "strip_whitespaces": st.booleans(),
        "remove_substrings": st.lists(st.text(min_size=1), max_size=3),
        "remove_regex": st.sampled_from(["", r"\s", "a*", "$", r"(?m)^.", r"\f"]),
        "unicode_normalization": st.sampled_from(["NFC", "NFKC", "NFD", "NFKD"]),
        "replace_regexes": st.sampled_from([{}, {"a": "b\\f"}, {r"(\w)(\s)?": r"\2\1", "^": "-"}]),
        "min_content_length": st.integers(0, 10),
    },
)
documents = st.builds(
    Document,
    content=st.none() | texts,
    id=st.sampled_from(["", "d1"]),
    meta=st.sampled_from([None, {}, {"page": 7, "tags": ["a"]}]),
    score=st.none() | st.floats(allow_nan=False),
)


def cleaned(text: str, **parameters: Any) -> str | None:
    (document,) = DocumentCleaner(**parameters).run([text])["documents"]
    assert isinstance(document, Document)
    return document.content


class Passage(NamedTuple):
    id: str
    text: str


# --- what is removed, and what is kept


@pytest.mark.parametrize(
    ("parameters", "before", "after"),
    [
        pytest.param({}, "  a  b \n\n\n c ", "a b c", id="two or more spaces become one, and pages are stripped"),
        pytest.param({}, "a\nb\tc\xa0d", "a\nb\tc\xa0d", id="a single white-space character is kept"),
        pytest.param({}, " a \f\f b ", "a\f\fb", id="pages are kept, even empty ones"),
        pytest.param({"remove_extra_whitespaces": False}, " a\n \t\n\n b \f\n\nc", " a\n b \fc", id="only empty lines"),
        pytest.param({"remove_empty_lines": False}, "a\n\nb", "a b", id="extra white space includes line breaks"),
        pytest.param(NOTHING, " a \n\n b\f ", " a \n\n b\f ", id="nothing is switched on"),
        pytest.param(
            {**NOTHING, "remove_substrings": ["ab", "c"]},
            "aabbc\fc",
            "ab\f",
            id="substrings are removed one after another, in order",
        ),
        pytest.param(
            {**NOTHING, "remove_substrings": [".*"]}, "a.*b", "ab", id="a substring is not a regular expression"
        ),
        pytest.param({**NOTHING, "remove_substrings": ["\f"]}, "a\fb", "ab", id="even a form feed can be removed"),
        pytest.param(
            {**NOTHING, "remove_regex": r"^\d+"}, "1 a 2\f3 b ", "a 2\fb", id="a regex is applied page by page"
        ),
        pytest.param({**NOTHING, "remove_regex": ""}, " a ", " a ", id="an empty regex does nothing"),
        pytest.param(
            {**NOTHING, "replace_regexes": {r"(\w)-(\w)": r"\2\1", "b": "c"}},
            " a-b\fb ",
            " ca\fc ",
            id="replacements can use groups, run in order, and strip nothing",
        ),
        pytest.param({**NOTHING, "unicode_normalization": "NFKC"}, "ﬁe\u0301", "fi\xe9", id="ligatures are composed"),
        pytest.param({**NOTHING, "unicode_normalization": "NFD"}, "\xe9", "e\u0301", id="accents are decomposed"),
        pytest.param({**NOTHING, "ascii_only": True}, "Façade ½ 漢\ud800!", "Facade 12 !", id="only ASCII is left"),
        pytest.param(
            {**NOTHING, "strip_whitespaces": True},
            "\f\n a  b \f",
            "a  b",
            id="both ends are stripped, but not the middle",
        ),
    ],
)
def test_a_text_is_cleaned(parameters: dict[str, Any], before: str, after: str) -> None:
    assert cleaned(before, **parameters) == after


def test_steps_run_in_their_documented_order() -> None:
    # Normalization, white space, substrings, regex, replacements: each step depends on the result of the one before.
    assert cleaned("\ufb01\n\nx", unicode_normalization="NFKC", remove_substrings=["fi x"]) == ""
    assert cleaned("abcbd", remove_substrings=["c"], remove_regex="bb", replace_regexes={"ad": "done"}) == "done"
    assert cleaned("é", ascii_only=True, remove_substrings=["e"]) == ""


HEADER, FOOTER = "The Book of Gold", "printed in Paris 1900"


def paged(*pages: str) -> str:
    return "\f".join(f"{HEADER}\n{page}\n{FOOTER}" for page in pages)


def test_headers_and_footers_are_removed_from_all_pages() -> None:
    text = paged("first words", "second thing here", "third that comes", "last of all")
    assert cleaned(text, remove_repeated_substrings=True, strip_whitespaces=True) == "\f".join(
        ["first words", "\nsecond thing here", "\nthird that comes", "\nlast of all"]
    )


def test_headers_and_footers_are_kept_by_default() -> None:
    text = paged("one", "two", "three", "four")
    assert cleaned(text) == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(paged("one", "two", "three"), id="only one page between the first and the last"),
        pytest.param("a\fno more\nb\fno more\nc\fd", id="two words are not a header"),
        pytest.param(f"a\f{'x ' * 150}one two three\f{'y ' * 150}one two three {'z ' * 150}\fb", id="in the middle"),
        pytest.param("a\f   \n   b\f   \n   c\fd", id="white space is not a header"),
        pytest.param("", id="no text"),
        pytest.param("\f\f\f\f", id="empty pages"),
    ],
)
def test_a_text_without_headers_is_kept(text: str) -> None:
    assert cleaned(text, **NOTHING, remove_repeated_substrings=True) == text


def test_of_equally_long_headers_the_first_is_removed() -> None:
    text = "x\fa b c X d e f Y g h i one\fa b c P d e f Q g h i two\fz"
    assert cleaned(text, **NOTHING, remove_repeated_substrings=True) == "x\f X  Y g h i one\f P  Q g h i two\fz"


def test_documents_that_are_too_short_are_dropped_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    lists = [["a  b", " a\f\f\f "], ["", "abc"], [""]]
    result = DocumentCleaner(min_content_length=3).run(lists)
    assert result == {"documents": [[Document("a b")], [Document("abc")], []]}
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "karat: dropped 3 of 5 documents that are shorter than min_content_length")
    ]


def test_documents_without_content_are_returned_unchanged_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    empty = Document(id="e", meta={"page": 1}, score=0.5)
    result = DocumentCleaner(min_content_length=1).run([[empty, {"id": 7}], ["a"]])
    assert result == {"documents": [[empty, Document(id="7")], [Document("a")]]}
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        (
            "WARNING",
            "karat: DocumentCleaner only cleans text documents but document.content for document IDs e and 7 is None.",
        )
    ]


def test_of_many_documents_without_content_the_warning_names_a_few(caplog: pytest.LogCaptureFixture) -> None:
    DocumentCleaner().run([Document(id=f"d{at}") for at in range(2000)])
    assert caplog.messages[0].endswith("for document IDs d0, d1, d2, d3, d4 and 1995 others is None.")
    DocumentCleaner().run([Document(id="a\x1b[2J\n")])
    assert r"for document ID a\x1b[2J\n is None." in caplog.messages[1]
    meta: dict[str, Any] = {}
    meta["again"] = meta  # no id can be derived from it
    DocumentCleaner().run([["a"], [Document(meta=meta)]])
    assert caplog.messages[-1].endswith("for document ID documents[1][0] is None.")


def test_nothing_is_logged_if_all_documents_have_content_and_none_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    DocumentCleaner(min_content_length=1).run(["a", Document("b")])
    assert not caplog.records


def test_a_cleaned_document_gets_a_new_id_unless_keep_id_is_set() -> None:
    given_id, derived = Document("a  b", id="d1"), Document("a  b")
    assert DocumentCleaner().run([given_id, derived])["documents"] == [Document("a b"), Document("a b")]
    kept = DocumentCleaner(keep_id=True).run([given_id, derived])["documents"]
    assert kept == [Document("a b", id="d1"), Document("a b", id=derived.id)]


def test_meta_is_copied_deeply_and_the_score_is_kept() -> None:
    document = Document("a", meta={"tags": ["x"]}, score=0.25)
    (clean,) = DocumentCleaner().run([document])["documents"]
    assert isinstance(clean, Document)
    assert clean == document
    clean.meta["tags"].append("y")
    assert document.meta == {"tags": ["x"]}


# --- which inputs are accepted


@pytest.mark.parametrize("document", ["a  b", {"content": "a  b"}, {"page_content": "a  b"}])
def test_a_text_or_a_mapping_becomes_a_document(document: object) -> None:
    assert DocumentCleaner().run([document]) == {"documents": [Document("a b")]}


class Labelled(Document):
    """A document of karat with a field of its own."""

    def __init__(self, content: str, label: str) -> None:
        super().__init__(content, id="d1", meta={"page": [7]}, embedding=[0.5])
        self.label = label


@dataclass(frozen=True)
class Frozen:
    """A document that cannot be changed, with a field that its constructor does not take."""

    content: str
    id: str
    meta: dict[str, Any]
    source: str = field(default="", init=False)


class Node:
    """A document like those of LlamaIndex."""

    def __init__(self, text: str) -> None:
        self.resource, self.id_, self.metadata, self.embedding = [text], "n1", {"page": [7]}, [0.5]

    def get_content(self) -> str:
        return self.resource[0]

    def set_content(self, value: str) -> None:
        self.resource = [value]


def frozen(source: str) -> Frozen:
    document = Frozen("a  b", "d1", {"page": [7]})
    object.__setattr__(document, "source", source)
    return document


@pytest.mark.parametrize(
    "document",
    [
        frozen("web"),
        SimpleNamespace(page_content="a  b", metadata={"page": [7]}, id="d1", type="Document"),
        SimpleNamespace(text="a  b", doc_id="d1", node="n1"),
        Passage("d1", "a  b"),
        Node("a  b"),
        Labelled("a  b", "x"),
    ],
    ids=["frozen dataclass", "langchain", "any", "named tuple", "node", "subclass"],
)
@pytest.mark.parametrize("keep_id", [True, False])
def test_a_cleaned_document_has_the_class_and_all_fields_of_the_document(document: Any, keep_id: bool) -> None:
    before = deepcopy(fields_of(document))
    (clean,) = DocumentCleaner(keep_id=keep_id).run([document])["documents"]
    assert type(clean) is type(document)
    assert fields_of(document) == before
    after = fields_of(clean)
    assert after.keys() == before.keys()
    texts = {"content": "a b", "page_content": "a b", "text": "a b", "resource": ["a b"]}
    derived = {"_id"} if isinstance(document, Document) and not keep_id else set()
    assert {name for name in before if after[name] != before[name]} == before.keys() & texts.keys() | derived
    assert all(after[name] == text for name, text in texts.items() if name in after)
    for name in before.keys() & {"meta", "_meta", "metadata"}:
        after[name]["page"].append(8)
    assert fields_of(document) == before


def test_the_node_of_a_node_with_a_score_is_cleaned() -> None:
    document = SimpleNamespace(node=Node("a  b"), score=0.5, get_content=lambda: "a  b")
    (clean,) = DocumentCleaner().run([document])["documents"]
    assert (clean.node.get_content(), clean.node.embedding, clean.score) == ("a b", [0.5], 0.5)
    assert document.node.get_content() == "a  b"


def fields_of(document: Any) -> dict[str, Any]:
    """All fields of a document, in slots, in a named tuple, or in its dictionary."""
    if isinstance(document, tuple):
        return document._asdict()  # type: ignore[attr-defined,no-any-return]  # a named tuple
    slots = {
        name: getattr(document, name)
        for cls in type(document).__mro__
        for name in getattr(cls, "__slots__", ())
        if hasattr(document, name)
    }
    return {**slots, **getattr(document, "__dict__", {})}


class ReadOnly:
    """A document whose text cannot be replaced."""

    content = property(lambda _: "a  b")


@pytest.mark.parametrize("document", [ReadOnly(), SimpleNamespace(get_content=lambda: "a  b", id="d1")])
def test_a_document_whose_text_cannot_be_replaced_is_an_error(document: object) -> None:
    with pytest.raises(
        KaratError, match=r"^documents\[1\]: the text of a \w+ cannot be replaced: .* karat\.Document\.$"
    ):
        DocumentCleaner().run(["a", document])


def test_blobs_and_embeddings_are_kept_and_the_new_id_is_derived_from_them() -> None:
    fields: dict[str, Any] = {
        "meta": {"page": 7},
        "score": 0.5,
        "blob": ByteStream(b"gold", {"a": 1}, "text/plain"),
        "embedding": [0.5, 1.0],
        "sparse_embedding": SparseEmbedding([0, 7], [0.5, 1.0]),
    }
    (clean,) = DocumentCleaner().run([Document("a  b", **fields)])["documents"]
    assert clean == Document("a b", **fields)
    assert clean.id == Document("a b", **fields).id != Document("a b").id


@pytest.mark.parametrize("empty", [[], (), [[]], [[], []]])
def test_empty_lists_are_returned_in_the_same_shape(empty: Any) -> None:
    assert DocumentCleaner().run(empty) == {"documents": list(empty)}


@pytest.mark.parametrize("given_as", [[("a  b",), ("c",)], (["a  b"], ["c"])])
def test_tuples_are_accepted_as_lists(given_as: Any) -> None:
    assert DocumentCleaner().run(given_as) == {"documents": [[Document("a b")], [Document("c")]]}


@pytest.mark.parametrize(
    ("mixed", "message"),
    [
        (
            ["a", ["b"]],
            r"documents[1]: ['b'] is a list, unlike the elements before it. Pass a list of documents, or one",
        ),
        ([["a"], ["b"], "c"], "documents[2]: 'c' is not a list, unlike the elements before it. Pass"),
        ([["a"], None], "documents[1]: None is not a list, unlike"),
        ("a", "DocumentCleaner expects a List of Documents as input, not 'a'. Pass"),
        (None, "DocumentCleaner expects a List of Documents as input, not None. Pass"),
        ({"content": "a"}, "DocumentCleaner expects a List of Documents as input, not {'content': 'a'}. Pass"),
        (Document("a"), "DocumentCleaner expects a List of Documents as input, not Document(content='a'). Pass"),
        (["a", None], "documents[1]: None is not a document. A document is a text, or"),
        ([["a"], ["b", 7]], "documents[1][1]: 7 is not a document. A document is"),
        ([{"d1": 0.5}], "documents[0]: {'d1': 0.5} is not a document. A document is"),
        ([{"content": "a", "meta": 3}], "documents[0]: the meta of a document must be a mapping, not 3"),
        ([{"content": "a", "score": "high"}], "documents[0]: score 'high' is not a number"),
        ([{"content": b"a"}], "documents[0]: the content of a document must be text, not b'a'"),
    ],
)
def test_an_input_that_is_not_a_list_of_documents_is_rejected_with_its_place(mixed: Any, message: str) -> None:
    with pytest.raises(KaratError, match=re.escape(message)):
        DocumentCleaner().run(mixed)


def test_an_input_that_is_not_a_list_is_a_type_error_too_as_in_haystack() -> None:
    with pytest.raises(TypeError, match="expects a List of Documents"):
        DocumentCleaner().run(Document("a"))  # type: ignore[arg-type]


# --- as_document


@pytest.mark.parametrize(
    ("mapping", "document"),
    [
        ({"text": "a", "doc_id": 7, "metadata": {"x": 1}}, Document("a", id="7", meta={"x": 1})),
        ({"page_content": "a", "id_": "i"}, Document("a", id="i")),
        ({"content": None, "page_content": "a"}, Document(meta={"page_content": "a"})),
        ({"content": "a", "text": "b", "metadata": {}}, Document("a", meta={"text": "b"})),
        ({"content": "", "meta": {"x": 1, "y": 2}, "x": 3, "embedding": None}, Document("", meta={"x": 3, "y": 2})),
        ({"content": "a", "blob": "b", "score": 0}, Document("a", meta={"blob": "b"}, score=0)),
    ],
)
def test_a_mapping_can_use_the_field_names_of_any_framework(mapping: Mapping[str, Any], document: Document) -> None:
    before = deepcopy(mapping)
    assert as_document(mapping, "here") == document
    assert mapping == before


@given(documents)
def test_a_document_is_the_same_after_to_dict(document: Document) -> None:
    assert as_document(document, "here") is document
    for flatten in (True, False):
        assert as_document(document.to_dict(flatten), "here") == document
        assert as_document(document.to_dict(flatten), "here") == Document.from_dict(document.to_dict(flatten))


# --- which parameters are rejected


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"remove_regex": "("}, "remove_regex: '(' cannot be used: missing ), unterminated subpattern at position 0."),
        ({"remove_regex": "a{99999999999999}"}, "remove_regex: 'a{99999999999999}' cannot be used: the repetition"),
        ({"remove_regex": "(" * 9999 + ")" * 9999}, "cannot be used: maximum recursion depth exceeded"),
        ({"remove_regex": ["a"]}, "remove_regex: ['a'] is not text. Patterns and"),
        ({"replace_regexes": {"a": "b", "[": ""}}, "replace_regexes: '[' cannot be used: unterminated character set"),
        ({"replace_regexes": {"(a)": "\\9"}}, r"replace_regexes: '\\9' cannot be used: invalid group reference 9"),
        ({"replace_regexes": {"(a)": r"\g<b>"}}, r"replace_regexes: '\\g<b>' cannot be used: unknown group name 'b'"),
        ({"replace_regexes": {"a": None}}, "replace_regexes: None is not text. Patterns and"),
        ({"replace_regexes": {b"a": ""}}, "replace_regexes: b'a' is not text. Patterns and"),
        ({"replace_regexes": ["a"]}, "replace_regexes: ['a'] is not a dictionary. Pass {pattern: replacement}."),
        (
            {"unicode_normalization": "nfkc"},
            "unicode_normalization: 'nfkc' is not a Unicode normalization form. Did you mean NFKC",
        ),
        (
            {"unicode_normalization": "utf-8"},
            "'utf-8' is not a Unicode normalization form. The forms are NFC, NFKC, NFD, NFKD.",
        ),
        ({"min_content_length": -1}, "min_content_length: -1 is not a length. Use an integer"),
        ({"min_content_length": 1.0}, "min_content_length: 1.0 is not a length"),
        ({"min_content_length": True}, "min_content_length: True is not a length"),
        ({"min_content_length": None}, "min_content_length: None is not a length"),
        ({"remove_substrings": "abc"}, "remove_substrings: 'abc' is not a list. Pass a list of strings"),
        ({"remove_substrings": {"abc"}}, "remove_substrings: {'abc'} is not a list"),
        (
            {"remove_substrings": ["a", ""]},
            "remove_substrings: '' cannot be removed. Pass a list of strings that are not empty.",
        ),
        ({"remove_substrings": [7]}, "remove_substrings: 7 cannot be removed"),
    ],
)
def test_invalid_parameters_are_rejected_by_the_constructor(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(KaratError, match=re.escape(message)) as caught:
        DocumentCleaner(**parameters)
    assert str(caught.value.place) == f"DocumentCleaner, {next(iter(parameters))}"
    assert caught.value.hint


# --- as a component


@pytest.mark.parametrize("parameters", [{}, EVERYTHING, {**NOTHING, "keep_id": True}])
def test_a_cleaner_is_the_same_after_to_dict(parameters: dict[str, Any]) -> None:
    data = DocumentCleaner(**parameters).to_dict()
    again = DocumentCleaner.from_dict(json.loads(json.dumps(data)))
    assert again.to_dict() == data
    assert len(data["init_parameters"]) == 11
    assert {name: data["init_parameters"][name] for name in parameters} == parameters


def test_changing_a_parameter_later_does_not_change_the_cleaner() -> None:
    substrings, replacements = ["a"], {"b": "c"}
    cleaner = DocumentCleaner(remove_substrings=substrings, replace_regexes=replacements)
    substrings.append("")
    replacements["("] = ""
    assert cleaner.run(["abd"]) == {"documents": [Document("cd")]}


def test_a_pipeline_cleans_documents_before_it_evaluates_them() -> None:
    pipeline = Pipeline()
    pipeline.add_component("cleaner", DocumentCleaner())
    pipeline.add_component("recall", DocumentRecallEvaluator())
    pipeline.connect("cleaner.documents", "recall.retrieved_documents")
    again = Pipeline.loads(pipeline.dumps())
    for each in (pipeline, again):
        result = each.run(
            {
                "cleaner": {"documents": [["Paris  is \n big"], ["Rome"]]},
                "recall": {"ground_truth_documents": [["Paris is big"], ["Oslo"]]},
            }
        )
        assert result["recall"]["individual_scores"] == [1.0, 0.0]


# --- properties of any text


@given(texts, settings_of_cleaners)
@example("\x00\f\ud800\f\udfff\x00", EVERYTHING)
@example("\f" * 50, EVERYTHING)
def test_any_text_can_be_cleaned(text: str, parameters: dict[str, Any]) -> None:
    for document in DocumentCleaner(**parameters).run([text])["documents"]:
        assert isinstance(document, Document)
        assert isinstance(document.content, str)
        assert document.id


@pytest.mark.parametrize("unit", ["a", " ", "\f", "\n", "one two three four\n\n\f", "é\ud800\x00  "])
def test_a_megabyte_is_cleaned(unit: str) -> None:
    text = unit * (2**20 // len(unit))
    parameters = {**EVERYTHING, "min_content_length": 0}
    assert cleaned(text, **parameters) is not None
    assert cleaned(text, **NOTHING) == text


@given(texts, st.booleans(), st.booleans(), st.booleans())
def test_cleaning_white_space_twice_changes_nothing(text: str, spaces: bool, lines: bool, ends: bool) -> None:
    parameters = {"remove_extra_whitespaces": spaces, "remove_empty_lines": lines, "strip_whitespaces": ends}
    once = cleaned(text, **parameters)
    assert once is not None
    assert cleaned(once, **parameters) == once


@given(texts)
def test_cleaning_white_space_keeps_all_other_characters_and_all_pages(text: str) -> None:
    clean = cleaned(text)
    assert clean is not None
    assert "".join(clean.split()) == "".join(text.split())
    assert clean.count("\f") == text.count("\f")
    assert not re.search(r"[^\S\f]{2}", clean)


@given(st.lists(st.lists(documents, max_size=4), max_size=4), settings_of_cleaners)
def test_the_shape_is_kept_and_the_input_is_not_modified(
    lists: list[list[Document]], parameters: dict[str, Any]
) -> None:
    before = deepcopy(lists)
    cleaner = DocumentCleaner(**parameters)
    result = cleaner.run(lists)["documents"]
    assert lists == before
    assert isinstance(result, list)
    assert len(result) == len(lists)
    for given_list, clean_list in zip(lists, result, strict=True):
        assert isinstance(clean_list, list)
        assert cleaner.run(given_list)["documents"] == (clean_list if given_list else [])
        if not parameters.get("min_content_length"):
            assert [each.score for each in clean_list] == [each.score for each in given_list]
            assert [each.meta for each in clean_list] == [each.meta for each in given_list]
        if parameters.get("keep_id"):
            assert {each.id for each in clean_list} <= {each.id for each in given_list}
