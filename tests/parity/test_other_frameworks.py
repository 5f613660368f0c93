"""The evaluators accept documents of LangChain and LlamaIndex, dictionaries and plain texts without conversion."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import Document as LlamaIndexDocument
from llama_index.core.schema import MediaResource, Node, NodeWithScore, TextNode

from karat import Document
from karat.components.evaluators import (
    DocumentMAPEvaluator,
    DocumentMeasureEvaluator,
    DocumentMRREvaluator,
    DocumentNDCGEvaluator,
    DocumentRecallEvaluator,
)
from karat.components.preprocessors import DocumentCleaner

Make = Callable[[str, str, str], Any]
"""Makes a document from its content, its id, and the source in its metadata."""


def node(content: str, id_: str, source: str) -> Node:
    # LlamaIndex declares the metadata under an alias, extra_info, but accepts both names.
    return Node(text_resource=MediaResource(text=content), id_=id_, metadata={"source": source})  # type: ignore[call-arg]


KINDS: dict[str, Make] = {
    "LangChain's Document": lambda content, id_, source: LangChainDocument(
        page_content=content, id=id_, metadata={"source": source}
    ),
    "LlamaIndex's TextNode": lambda content, id_, source: TextNode(text=content, id_=id_, metadata={"source": source}),
    "LlamaIndex's Document": lambda content, id_, source: LlamaIndexDocument(
        text=content, id_=id_, metadata={"source": source}
    ),
    "LlamaIndex's Node": node,
    "NodeWithScore of a TextNode": lambda content, id_, source: NodeWithScore(
        node=TextNode(text=content, id_=id_, metadata={"source": source})
    ),
    "NodeWithScore of a Node": lambda *parts: NodeWithScore(node=node(*parts)),
    "a dictionary": lambda content, id_, source: {"content": content, "id": id_, "meta": {"source": source}},
    "LangChain's dictionary": lambda content, id_, source: {
        "page_content": content, "id": id_, "metadata": {"source": source},
    },
    "LlamaIndex's dictionary": lambda content, id_, source: {
        "text": content, "id_": id_, "metadata": {"source": source},
    },
}  # fmt: skip
FIELDS = ["content", "id", "meta.source"]
EVALUATORS: list[Callable[[str], DocumentMeasureEvaluator]] = [
    lambda field: DocumentRecallEvaluator("single_hit", field),
    lambda field: DocumentRecallEvaluator("multi_hit", field),
    lambda field: DocumentMAPEvaluator(field),
    lambda field: DocumentMAPEvaluator(field, "standard"),
    lambda field: DocumentMRREvaluator(field),
    lambda field: DocumentNDCGEvaluator(field),
    lambda field: DocumentMeasureEvaluator("P@2", field),
]

parts = st.tuples(
    st.sampled_from(["a", "b", "c ", "ä\n"]), st.sampled_from(["1", "2", "3"]), st.sampled_from(["x", "y", "z"])
)
Parts = list[list[tuple[str, str, str]]]
found = st.lists(st.lists(parts, max_size=4), min_size=2, max_size=2)


def ours(content: str, id_: str, source: str) -> Document:
    return Document(content, id=id_, meta={"source": source})


def made(make: Make, lists: Parts) -> list[list[Any]]:
    return [[make(*each) for each in listed] for listed in lists]


@settings(max_examples=10)
@given(gold=found, retrieved=found, field=st.sampled_from(FIELDS))
def test_documents_of_other_frameworks_are_matched_like_karats(gold: Parts, retrieved: Parts, field: str) -> None:
    our_golds, our_retrieved = made(ours, gold), made(ours, retrieved)
    theirs = {kind: (made(make, gold), made(make, retrieved)) for kind, make in KINDS.items()}
    for evaluator in (each(field) for each in EVALUATORS):
        expected = evaluator.run(our_golds, our_retrieved)
        for kind, (golds, documents) in theirs.items():
            for lists in ((golds, documents), (golds, our_retrieved), (our_golds, documents)):
                assert evaluator.run(*lists) == expected, (kind, evaluator.measure)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("field", FIELDS)
def test_only_the_compared_field_decides_a_match(make: Make, field: str) -> None:
    gold = ("a", "1", "x")
    at = FIELDS.index(field)
    same = tuple(value if each == at else "other" for each, value in enumerate(gold))
    different = tuple("other" if each == at else value for each, value in enumerate(gold))
    result = DocumentMRREvaluator(field).run([[make(*gold)]], [[make(*different), make(*same)]])
    assert result["individual_scores"] == [0.5]


@settings(max_examples=10)
@given(gold=found, retrieved=found)
def test_a_plain_text_is_read_as_the_compared_field(gold: Parts, retrieved: Parts) -> None:
    for at, field in enumerate(["content", "id"]):
        evaluator = DocumentMRREvaluator(field)
        plain = [[[each[at] for each in listed] for listed in lists] for lists in (gold, retrieved)]
        expected = evaluator.run(made(ours, gold), made(ours, retrieved))
        assert evaluator.run(*plain) == expected
        for kind, make in KINDS.items():
            assert evaluator.run(plain[0], made(make, retrieved)) == expected, kind
            assert evaluator.run(made(make, gold), plain[1]) == expected, kind


@pytest.mark.parametrize("inside", [TextNode(text="a"), LlamaIndexDocument(text="a"), node("a", "1", "x")])
def test_the_score_of_a_gold_node_is_its_grade(inside: Any) -> None:
    evaluator = DocumentNDCGEvaluator()
    retrieved = [["b", NodeWithScore(node=inside, score=0.01)]]
    graded = [[NodeWithScore(node=inside, score=3.0), NodeWithScore(node=TextNode(text="b"), score=1.0)]]
    expected = evaluator.run([[Document("a", score=3), Document("b", score=1)]], retrieved)
    assert 0 < expected["score"] < 1
    assert evaluator.run(graded, retrieved) == expected
    ungraded = [[NodeWithScore(node=inside), NodeWithScore(node=TextNode(text="b"))]]
    assert evaluator.run(ungraded, retrieved)["score"] == 1.0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "dictionary" not in kind])
def test_a_cleaned_document_has_its_class_and_its_other_fields(kind: str) -> None:
    document = KINDS[kind]("a  b", "1", "x")
    inside = document.node if isinstance(document, NodeWithScore) else document
    if not isinstance(inside, LangChainDocument):
        inside.embedding = [0.5]
    before = document.model_dump()
    (clean,) = DocumentCleaner().run([document])["documents"]
    assert document.model_dump() == before
    assert type(clean) is type(document)
    expected = KINDS[kind]("a b", "1", "x")
    inside = expected.node if isinstance(expected, NodeWithScore) else expected
    if not isinstance(inside, LangChainDocument):
        inside.embedding = [0.5]
    assert clean.model_dump() == expected.model_dump()


@pytest.mark.parametrize("module", ["karat.components.evaluators", "karat.components.preprocessors"])
def test_the_components_do_not_import_other_frameworks(module: str) -> None:
    code = f"import sys, {module}; print(*{{name.split('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "karat" in loaded
    assert not {"haystack", "langchain_core", "llama_index"} & set(loaded)
