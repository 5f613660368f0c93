"""Evaluators, documents and the cleaner agree with Haystack's, and our evaluators run in Haystack's pipelines."""

from __future__ import annotations

import base64
import copy
import inspect
import json
import pickle
import subprocess
import sys
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import haystack.components.evaluators
import haystack.dataclasses
import pytest
from haystack.components.joiners import ListJoiner
from haystack.components.preprocessors import document_cleaner
from haystack.core.errors import PipelineRuntimeError
from hypothesis import given, settings
from hypothesis import strategies as st

import karat.components.evaluators
import karat.components.evaluators.document_recall
import karat.dataclasses
import karat.integrations.haystack
from karat import Document
from karat.components.preprocessors import DocumentCleaner
from karat.errors import KaratError
from karat.errors.installing import pip_install

Spec = dict[str, Any]
"""The fields of a document, or the parameters of a component."""
Queries = list[tuple[list[Spec], list[Spec]]]
"""The gold documents and the retrieved documents of each query."""

# A few values each, so that documents match. Cases in which karat differs from Haystack on purpose are left out: empty
# texts, and a field that contains a number in one document and the same digits as text in another.
texts = st.sampled_from(["a", "b", "a b", " a", "ä"])
values = st.none() | texts | st.integers(0, 2)
metas = st.fixed_dictionaries({"name": values, "a": st.fixed_dictionaries({"b": values})})
specs = st.fixed_dictionaries(
    {"content": st.none() | texts, "meta": metas | st.sampled_from([{}, {"a": "b"}, {"a": {}}])},
    optional={"id": st.sampled_from(["", "1", "2", "x"])},
)
grades = st.sampled_from([0, 1, 2, 3, 0.5]) | st.floats(1e-3, 1e9)
golds = st.lists(specs, max_size=5) | st.lists(
    st.builds(lambda spec, score: {**spec, "score": score}, specs, grades), max_size=5
)
queries = st.lists(st.tuples(golds, st.lists(specs, max_size=8)), min_size=1, max_size=4)
fields = st.sampled_from(["content", "id", "meta.name", "meta.a.b", "meta.nowhere"])

EVALUATORS: list[tuple[str, Spec, Spec]] = [
    ("DocumentRecallEvaluator", {"mode": "single_hit"}, {"mode": "single_hit"}),
    ("DocumentRecallEvaluator", {"mode": "multi_hit"}, {"mode": "multi_hit"}),
    ("DocumentMAPEvaluator", {"convention": "standard"}, {}),
    ("DocumentMRREvaluator", {}, {}),
    ("DocumentNDCGEvaluator", {}, {}),
]


def lists(queries: Queries, gold: Callable[..., Any], retrieved: Callable[..., Any]) -> Spec:
    """The inputs of an evaluator; `gold` and `retrieved` are the classes of the documents."""
    return {
        "ground_truth_documents": [[gold(**spec) for spec in specs] for specs, _ in queries],
        "retrieved_documents": [[retrieved(**spec) for spec in specs] for _, specs in queries],
    }


# All evaluators in one test, because generating the queries and their documents takes most of the time.
@settings(max_examples=60)
@given(queries=queries, field=fields)
def test_evaluators_of_documents_agree_on_documents_of_both_libraries(queries: Queries, field: str) -> None:
    our_lists, their_lists = lists(queries, Document, Document), lists(queries, haystack.Document, haystack.Document)
    mixed = {**their_lists, "ground_truth_documents": our_lists["ground_truth_documents"]}
    for name, parameters, their_parameters in EVALUATORS:
        ours = getattr(karat.components.evaluators, name)(document_comparison_field=field, **parameters)
        inside = getattr(karat.integrations.haystack, name)(document_comparison_field=field, **parameters)
        theirs = getattr(haystack.components.evaluators, name)(document_comparison_field=field, **their_parameters)
        expected = theirs.run(**their_lists)
        for result in (ours.run(**our_lists), ours.run(**their_lists), ours.run(**mixed), inside.run(**their_lists)):
            individual = pytest.approx(expected["individual_scores"], rel=0, abs=1e-12)
            assert result["individual_scores"] == individual, (name, parameters)
            assert result["score"] == pytest.approx(expected["score"], rel=0, abs=1e-12), (name, parameters)
    dcg, their_dcg = (
        [module.DocumentNDCGEvaluator(field).calculate_dcg(*lists) for lists in zip(*their_lists.values(), strict=True)]
        for module in (karat.components.evaluators, haystack.components.evaluators)
    )
    assert dcg == pytest.approx(their_dcg)
    ideal, their_ideal = (
        [module.DocumentNDCGEvaluator(field).calculate_idcg(golds) for golds in their_lists["ground_truth_documents"]]
        for module in (karat.components.evaluators, haystack.components.evaluators)
    )
    assert ideal == pytest.approx(their_ideal)


@pytest.mark.parametrize("name", sorted({name for name, _, _ in EVALUATORS} | {"AnswerExactMatchEvaluator"}))
def test_evaluators_have_all_public_attributes_of_haystacks(name: str) -> None:
    theirs = getattr(haystack.components.evaluators, name)()
    public = {each for each in dir(theirs) if not each.startswith("_")}
    for module in (karat.components.evaluators, karat.integrations.haystack):
        ours = getattr(module, name)()
        assert public <= set(dir(ours))
        own = {each for each in public if callable(getattr(theirs, each))}
        for method in own - {"run", "to_dict"}:
            ours_takes, theirs_takes = (inspect.signature(getattr(each, method)).parameters for each in (ours, theirs))
            assert list(ours_takes) == list(theirs_takes), method
        for each in public - own:
            assert str(getattr(ours, each)) == str(getattr(theirs, each))


def test_the_mode_of_recall_is_haystacks_inside_haystack() -> None:
    modes = haystack.components.evaluators.document_recall.RecallMode
    assert karat.integrations.haystack.RecallMode is modes
    for mode in ("multi_hit", modes.MULTI_HIT, karat.components.evaluators.document_recall.RecallMode.MULTI_HIT):
        assert karat.integrations.haystack.DocumentRecallEvaluator(mode).mode is modes.MULTI_HIT


def test_the_default_convention_of_map_is_that_of_the_installed_haystack(caplog: pytest.LogCaptureFixture) -> None:
    ours, theirs = (
        module.DocumentMAPEvaluator().run(GOLD, [GOLD[0], GOLD[1][:1]])
        for module in (karat.integrations.haystack, haystack.components.evaluators)
    )
    assert ours == theirs
    assert ours["score"] == 0.75
    assert 'MAP is 0.7500 with convention="standard", which is used here, and 1.0000 with' in caplog.text


def test_the_convention_of_a_release_before_3_1_is_recognized(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = partial(karat.components.evaluators.DocumentMAPEvaluator, convention="found")
    monkeypatch.setattr(karat.integrations.haystack, "HaystackMAPEvaluator", earlier)
    assert karat.integrations.haystack._installed_convention() == "found"


def test_the_default_convention_is_saved_because_it_differs_between_releases_of_haystack() -> None:
    saved = karat.integrations.haystack.DocumentMAPEvaluator().to_dict()
    assert saved["init_parameters"] == {"document_comparison_field": "content", "convention": "standard"}
    loaded = karat.integrations.haystack.DocumentMAPEvaluator.from_dict(saved)
    assert loaded.to_dict() == saved


@given(answers=st.lists(st.tuples(*[st.text("aA \n", max_size=2)] * 2), min_size=1, max_size=6))
def test_exact_match_agrees(answers: list[tuple[str, str]]) -> None:
    truth, predicted = map(list, zip(*answers, strict=True))
    evaluators = (karat.components.evaluators, karat.integrations.haystack, haystack.components.evaluators)
    ours, inside, theirs = (module.AnswerExactMatchEvaluator().run(truth, predicted) for module in evaluators)
    assert ours == inside == theirs


@pytest.mark.parametrize("name", sorted({name for name, _, _ in EVALUATORS} | {"AnswerExactMatchEvaluator"}))
@pytest.mark.parametrize(("one", "other"), [([[]], [[], []]), ([], [[]]), ([[]], []), ([], [])])
def test_lists_that_haystack_rejects_are_rejected(name: str, one: list[Any], other: list[Any]) -> None:
    for module in (karat.components.evaluators, karat.integrations.haystack, haystack.components.evaluators):
        with pytest.raises(ValueError, match="ground_truth"):
            getattr(module, name)().run(one, other)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.dates(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside, max_size=3),
    max_leaves=8,
)
FIELDS = (
    "content id meta score blob embedding sparse_embedding dataframe content_type id_hash_keys"
    " text page_content metadata id_ doc_id"
).split()


def any_spec() -> st.SearchStrategy[Spec]:
    """Any document; its metadata can have the names of fields."""
    names = st.text(max_size=3) | st.sampled_from(FIELDS)
    return st.fixed_dictionaries(
        {"content": st.none() | st.text(), "meta": st.dictionaries(names, json_values, max_size=4)},
        optional={"id": st.text(max_size=3), "score": st.none() | st.floats(allow_nan=False)},
    )


@given(spec=any_spec())
def test_derived_ids_agree(spec: Spec) -> None:
    spec = {"content": spec["content"], "meta": spec["meta"]}
    assert Document(**spec).id == haystack.Document(**spec).id


@given(spec=any_spec(), flatten=st.booleans())
def test_a_dictionary_of_a_haystack_document_is_read_by_karat(spec: Spec, flatten: bool) -> None:
    theirs = haystack.Document(**spec)
    assert parts(Document.from_dict(theirs.to_dict(flatten=flatten))) == parts(theirs)


@given(spec=any_spec(), flatten=st.booleans())
def test_a_dictionary_of_a_karat_document_is_read_by_haystack(spec: Spec, flatten: bool) -> None:
    ours = Document(**spec)
    assert parts(haystack.Document.from_dict(ours.to_dict(flatten=flatten))) == parts(ours)


def parts(document: Any) -> tuple[object, ...]:
    return document.id, document.content, document.meta, document.score


switches = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(
            "remove_empty_lines remove_extra_whitespaces remove_repeated_substrings"
            " keep_id ascii_only strip_whitespaces".split(),
            st.booleans(),
        ),
        "remove_substrings": st.none() | st.lists(st.sampled_from(["a", "b a", " ", "\n", "\f", "é"]), max_size=3),
        "remove_regex": st.sampled_from([None, r"\d+", r"\s", "^a", "a$", r"(?<=a)b", "x*"]),
        "unicode_normalization": st.sampled_from([None, "NFC", "NFKC", "NFD", "NFKD"]),
        "replace_regexes": st.none()
        | st.dictionaries(
            st.sampled_from(["(a)(b)?", r"\n+", r"\b", "$"]), st.sampled_from(["", " ", r"<\g<0>>", r"\n", "\f"])
        ),
        "min_content_length": st.integers(0, 12),
    },
)
# Accented letters as one and as two characters, ligatures, and all kinds of white space.
dirt = st.text("ab1 \t\n\r\f\v\x1c\x85\u00a0\u2003\u2028\u200b.ée\u0301ﬁ²Å", max_size=30)
# Pages with a header and a footer, which are removed if they have three words or more.
edges = st.sampled_from(["a b c", "c b a", "the a of b", "© by us", "a\tb\nc", "a  b", " ", "\n"])
insides = st.text("ab1 \t\n", max_size=6)
pages = st.builds(
    lambda header, footer, gap, insides: "\f".join(gap.join((header, inside, footer)) for inside in insides),
    edges,
    edges,
    st.sampled_from([" ", "\n", "\t", "", " 1 "]),
    st.lists(insides, min_size=4, max_size=6),
)


@settings(max_examples=60)
@given(content=st.none() | dirt, meta=metas, parameters=switches)
def test_the_cleaner_agrees(content: str | None, meta: Spec, parameters: Spec) -> None:
    check_cleaner({"content": content, "meta": meta, "score": 2}, parameters)


@settings(max_examples=40)
@given(content=pages, parameters=switches)
def test_the_cleaner_agrees_on_headers_and_footers(content: str, parameters: Spec) -> None:
    check_cleaner({"content": content}, {**parameters, "remove_repeated_substrings": True})


@dataclass
class Labelled(haystack.Document):
    """A document with a field of its own."""

    label: str = ""


@pytest.mark.parametrize("keep_id", [True, False])
def test_the_cleaner_keeps_the_class_and_all_fields_of_haystacks_documents(keep_id: bool) -> None:
    fields: Spec = {
        "meta": {"page": [7]},
        "score": 0.5,
        "blob": haystack.dataclasses.ByteStream(b"gold", mime_type="text/plain"),
        "embedding": [0.5, 1.0],
        "sparse_embedding": haystack.dataclasses.SparseEmbedding([0, 7], [0.5, 1.0]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the constructor of a subclass of Haystack's Document warns
        plain, labelled = haystack.Document(content="a  b", **fields), Labelled(content="a  b", **fields, label="x")
        before = copy.deepcopy([plain, labelled])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Haystack's documents warn if they are changed
        cleaned, again = DocumentCleaner(keep_id=keep_id).run([plain, labelled])["documents"]
    assert [plain, labelled] == before
    assert [cleaned] == document_cleaner.DocumentCleaner(keep_id=keep_id).run([plain])["documents"]
    assert type(again) is Labelled
    assert again.label == "x"
    assert {**vars(again), "label": ""} == {**vars(cleaned), "label": ""}
    assert cleaned.meta["page"] is not plain.meta["page"]


attached = st.fixed_dictionaries(
    {},
    optional={
        "blob": st.tuples(st.binary(max_size=4), st.sampled_from([None, "text/plain"])),
        "embedding": st.lists(st.floats(allow_nan=False), max_size=3),
        "sparse_embedding": st.lists(st.tuples(st.integers(0), st.floats(allow_nan=False)), max_size=3),
    },
)


@given(spec=any_spec(), attachments=attached, flatten=st.booleans())
def test_documents_with_blobs_and_embeddings_agree(spec: Spec, attachments: Spec, flatten: bool) -> None:
    ours, theirs = (
        module.Document(**spec, **made(module, attachments)) for module in (karat.dataclasses, haystack.dataclasses)
    )
    assert ours.id == theirs.id
    fields = theirs.to_dict(flatten=flatten)
    assert Document.from_dict(fields) == ours
    assert haystack.Document.from_dict(ours.to_dict(flatten=flatten)) == theirs


def made(module: Any, attachments: Spec) -> Spec:
    """A blob and embeddings of a library."""
    made = dict(attachments)
    if "blob" in made:
        made["blob"] = module.ByteStream(made["blob"][0], mime_type=made["blob"][1])
    if "sparse_embedding" in made:
        indices, values = [[pair[at] for pair in made["sparse_embedding"]] for at in (0, 1)]
        made["sparse_embedding"] = module.SparseEmbedding(indices, values)
    return made


def check_cleaner(spec: Spec, parameters: Spec) -> None:
    ours = DocumentCleaner(**parameters)
    result = list(map(parts, ours.run(documents=[Document(**spec)])["documents"]))
    theirs = haystack.Document(**spec)
    assert any(list(map(parts, cleaned)) == result for cleaned in cleanings(parameters, theirs))
    (*cleaned,) = ours.run(documents=[theirs])["documents"]
    assert list(map(parts, cleaned)) == result
    assert all(type(each) is haystack.Document for each in cleaned)


def cleanings(parameters: Spec, document: haystack.Document) -> Iterator[list[haystack.Document]]:
    """All possible results of Haystack's cleaner, which depend on the order of a set.

    Of several longest headers or footers, it removes the one that comes first in a set; this differs between processes.
    """
    pending: list[list[int]] = [[]]
    while pending:
        yield cleaning(parameters, document, pending.pop(), pending)


def cleaning(
    parameters: Spec, document: haystack.Document, choices: list[int], pending: list[list[int]]
) -> list[haystack.Document]:
    """The result for given choices among equally long phrases; after these, the first phrase is chosen.

    The alternatives to these later choices are added to `pending`.
    """
    made: list[int] = []

    def longest(phrases: set[str], **_: object) -> str:
        length = max(map(len, phrases), default=0)
        tied = sorted(phrase for phrase in phrases if len(phrase) == length) or [""]
        if len(made) == len(choices):
            pending.extend([*made, other] for other in range(1, len(tied)))
            choices.append(0)
        made.append(choices[len(made)])
        return tied[made[-1]]

    with patch.object(document_cleaner, "max", longest, create=True):
        return document_cleaner.DocumentCleaner(**parameters).run(documents=[document])["documents"]


# In the pipelines of Haystack.

ASKING = ("ContextRelevanceEvaluator", "FaithfulnessEvaluator", "LLMEvaluator")  # see test_haystack_models.py
OURS = [name for name in karat.integrations.haystack.__all__ if name not in ("RecallMode", *ASKING)]
PARAMETERS: dict[str, Spec] = {
    "AnswerExactMatchEvaluator": {},
    "AnswerF1Evaluator": {"normalize": "neutral"},
    "AnswerMeasureEvaluator": {"measure": "RougeL"},
    "SASEvaluator": {"model": "wordllama", "batch_size": 2, "device": None, "token": None},
    "DocumentMAPEvaluator": {"document_comparison_field": "meta.a.b", "convention": "standard"},
    "DocumentMRREvaluator": {"document_comparison_field": "id"},
    "DocumentMeasureEvaluator": {"measure": "P@3", "document_comparison_field": "content"},
    "DocumentNDCGEvaluator": {"document_comparison_field": "meta.name"},
    "DocumentRecallEvaluator": {"mode": "multi_hit", "document_comparison_field": "content"},
}
GOLD = [
    [haystack.Document(id="1", content="a", meta={"a": {"b": 1}, "name": "x"}, score=2.0)],
    [
        haystack.Document(id="2", content="b", meta={"a": {"b": 2}, "name": "y"}, score=1.0),
        haystack.Document(id="3", content="c", meta={"a": {"b": 3}, "name": "z"}, score=3.0),
    ],
]
FOUND = [
    [haystack.Document(id="9", content="b", meta={"name": "x"}), haystack.Document(id="1", content="a")],
    [haystack.Document(id="3", content="c", meta={"a": {"b": 3}, "name": "y"})],
]
ANSWERS = {"ground_truth_answers": ["Rome", "Oslo"], "predicted_answers": ["Rome", "oslo"]}


@pytest.fixture
def pipeline() -> haystack.Pipeline:
    """All evaluators; those of documents are connected to a component of Haystack."""
    pipeline = haystack.Pipeline()
    pipeline.add_component("retrieved", ListJoiner(list[list[haystack.Document]]))
    for name in OURS:
        pipeline.add_component(name, getattr(karat.integrations.haystack, name)(**PARAMETERS[name]))
        if name.startswith("Document"):
            pipeline.connect("retrieved.values", f"{name}.retrieved_documents")
    return pipeline


def run(pipeline: haystack.Pipeline, gold: list[list[haystack.Document]]) -> dict[str, Any]:
    documents = {name: {"ground_truth_documents": gold} for name in OURS if name.startswith("Document")}
    answers = {name: ANSWERS for name in OURS if not name.startswith("Document")}
    return pipeline.run({"retrieved": {"values": FOUND}, **answers, **documents})


def test_a_pipeline_of_haystack_returns_the_scores_of_karat(pipeline: haystack.Pipeline) -> None:
    documents = {"ground_truth_documents": GOLD, "retrieved_documents": FOUND}
    assert run(pipeline, GOLD) == {
        name: getattr(karat.components.evaluators, name)(**PARAMETERS[name]).run(
            **documents if name.startswith("Document") else ANSWERS
        )
        for name in OURS
    }


def test_a_saved_pipeline_is_the_same_after_loading(pipeline: haystack.Pipeline) -> None:
    loaded = haystack.Pipeline.loads(pipeline.dumps())
    assert loaded.to_dict() == pipeline.to_dict()
    assert run(loaded, GOLD) == run(pipeline, GOLD)


@pytest.mark.parametrize("name", OURS)
def test_a_component_is_saved_with_its_name_and_its_parameters(name: str) -> None:
    kind = getattr(karat.integrations.haystack, name)
    saved = kind(**PARAMETERS[name]).to_dict()
    assert saved == {"type": f"karat.integrations.haystack.{name}", "init_parameters": PARAMETERS[name]}
    assert kind.from_dict(saved).to_dict() == saved


@pytest.mark.parametrize("name", [*OURS, *ASKING])
def test_a_component_has_the_signature_and_the_docstring_of_the_evaluator(name: str) -> None:
    evaluator, inside = getattr(karat.components.evaluators, name), getattr(karat.integrations.haystack, name)
    assert inspect.signature(inside) == inspect.signature(evaluator)
    _, *parameters = inspect.signature(inside.__init__).parameters.values()
    assert parameters == list(inspect.signature(evaluator).parameters.values())
    assert inside.__doc__ == evaluator.__doc__
    assert inside.run.__doc__ == evaluator.run.__doc__


@pytest.mark.parametrize("name", OURS)
def test_a_component_declares_the_types_of_haystack(name: str) -> None:
    kind = list[list[haystack.Document]] if name.startswith("Document") else list[str]
    evaluator = getattr(karat.integrations.haystack, name)(**PARAMETERS[name])
    assert [socket.type for socket in evaluator.__haystack_input__._sockets_dict.values()] == [kind] * 2
    assert [each.annotation for each in inspect.signature(evaluator.run).parameters.values()] == [kind] * 2
    score = int if name == "AnswerExactMatchEvaluator" else float
    outputs = {each: socket.type for each, socket in evaluator.__haystack_output__._sockets_dict.items()}
    assert outputs == {"score": float, "individual_scores": list[score]}  # type: ignore[valid-type]  # computed


@pytest.mark.parametrize("name", OURS)
def test_a_component_is_a_karat_evaluator_that_can_be_copied_and_pickled(name: str) -> None:
    kind = getattr(karat.integrations.haystack, name)
    evaluator = kind(**PARAMETERS[name])
    assert isinstance(evaluator, getattr(karat.components.evaluators, name))
    assert (kind.__module__, kind.__qualname__) == ("karat.integrations.haystack", name)
    inputs = [GOLD, FOUND] if name.startswith("Document") else list(ANSWERS.values())
    for again in (copy.deepcopy(evaluator), pickle.loads(pickle.dumps(evaluator))):
        assert type(again) is kind
        assert again.to_dict() == evaluator.to_dict()
        assert again.run(*inputs) == evaluator.run(*inputs)


@pytest.mark.parametrize("name", OURS)
def test_haystacks_own_functions_save_and_load_a_component(name: str) -> None:
    evaluator = getattr(karat.integrations.haystack, name)(**PARAMETERS[name])
    saved = haystack.default_to_dict(evaluator, **PARAMETERS[name])
    assert saved == evaluator.to_dict()
    assert haystack.default_from_dict(type(evaluator), saved).to_dict() == saved


def test_lists_of_different_lengths_are_rejected_with_both_lengths(
    pipeline: haystack.Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # Haystack creates a folder there if a pipeline fails
    with pytest.raises(PipelineRuntimeError, match=r"length 1 and .*length 2") as caught:
        run(pipeline, GOLD[:1])
    assert isinstance(caught.value.__cause__, KaratError)


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_a_pipeline_is_drawn(pipeline: haystack.Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[str] = []

    class Mermaid(BaseHTTPRequestHandler):
        """A minimal stand-in for the server that draws pipelines for Haystack."""

        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "image/png")
            self.end_headers()
            self.wfile.write(PNG)

        def log_message(self, *_: object) -> None: ...

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    pipeline.add_component("FaithfulnessEvaluator", karat.integrations.haystack.FaithfulnessEvaluator())
    with ThreadingHTTPServer(("127.0.0.1", 0), Mermaid) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        pipeline.draw(path=tmp_path / "pipeline.png", server_url=f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert (tmp_path / "pipeline.png").read_bytes() == PNG
    (path,) = requests
    packed = path.removeprefix("/img/pako:").partition("?")[0]
    drawn = json.loads(zlib.decompress(base64.urlsafe_b64decode(packed)))["code"]
    for name in (*OURS, "FaithfulnessEvaluator"):
        assert f"<i>{name}</i>" in drawn
    assert "values -> retrieved_documents" in drawn


def test_without_haystack_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['haystack'] = None; import karat.integrations.haystack"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1] == f"ImportError: Haystack is not installed: {pip_install('haystack')}"
