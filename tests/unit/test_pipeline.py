"""Pipelines: components are connected, checked, run in order, saved and loaded."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import Document, KaratError, Pipeline, component, default_from_dict, default_to_dict
from karat.components.component import registered
from karat.components.evaluators import AnswerExactMatchEvaluator, DocumentMRREvaluator, DocumentRecallEvaluator
from karat.components.run_cache import cached, run_cache
from karat.evaluation.document_lists import match_documents

LISTS = {"ground_truth_documents": [["Paris", "Lyon"]], "retrieved_documents": [["Rome", "Paris"]]}


@component
class Upper:
    """Writes texts in capitals."""

    def __init__(self, suffix: str = "") -> None:
        self.suffix = suffix
        self.warmed = 0

    def warm_up(self) -> None:
        self.warmed += 1

    @component.output_types(texts=list[str], count=int)
    def run(self, texts: list[str], times: int = 1) -> dict[str, Any]:
        return {"texts": [text.upper() * times + self.suffix for text in texts], "count": len(texts)}


@component
class Broken:
    """Fails or returns a wrong result."""

    @component.output_types(texts=list[str])
    def run(self, how: str) -> Any:
        if how == "raise":
            raise ZeroDivisionError("by zero")
        return {"nothing": {}, "list": [], "numbers": {"texts": [1]}}[how]


@component
class Anything:
    """Accepts any input."""

    @component.output_types(names=list[str])
    def run(self, **inputs: Any) -> dict[str, Any]:
        return {"names": sorted(inputs)}


def pipeline_of(**components: Any) -> Pipeline:
    pipeline = Pipeline()
    for name, instance in components.items():
        pipeline.add_component(name, instance)
    return pipeline


def rejected(match: str) -> Any:
    return pytest.raises(KaratError, match=match)


def test_every_component_runs_with_its_own_inputs() -> None:
    pipeline = pipeline_of(recall=DocumentRecallEvaluator("multi_hit"), mrr=DocumentMRREvaluator())
    assert pipeline.run({"recall": LISTS, "mrr": LISTS}) == {
        "recall": {"score": 0.5, "individual_scores": [0.5]},
        "mrr": {"score": 0.5, "individual_scores": [0.5]},
    }


def test_an_input_given_without_a_component_goes_to_all_components_that_have_it() -> None:
    pipeline = pipeline_of(recall=DocumentRecallEvaluator(), mrr=DocumentMRREvaluator())
    assert pipeline.run(LISTS) == pipeline.run({"recall": LISTS, "mrr": LISTS})


def test_an_input_given_to_a_component_overrides_one_given_to_all() -> None:
    pipeline = pipeline_of(one=Upper(), other=Upper())
    result = pipeline.run({"texts": ["a"], "other": {"texts": ["b"]}})
    assert (result["one"]["texts"], result["other"]["texts"]) == (["A"], ["B"])


def test_connected_components_run_in_order_even_if_they_were_added_in_another_order() -> None:
    pipeline = pipeline_of(match=AnswerExactMatchEvaluator(), last=Upper("!"), first=Upper())
    pipeline.connect("last.texts", "match.predicted_answers").connect("first.texts", "last.texts")
    result = pipeline.run({"match": {"ground_truth_answers": ["A!", "C!"]}, "first": {"texts": ["a", "b"]}})
    assert result["match"]["individual_scores"] == [1, 0]


def test_connected_outputs_are_left_out_of_the_result_unless_included() -> None:
    pipeline = pipeline_of(first=Upper(), last=Upper())
    pipeline.connect("first.texts", "last.texts")
    data = {"first": {"texts": ["a"]}}
    assert pipeline.run(data) == {"first": {"count": 1}, "last": {"texts": ["A"], "count": 1}}
    assert pipeline.run(data, include_outputs_from={"first"})["first"] == {"texts": ["A"], "count": 1}


def test_names_of_components_are_enough_to_connect_them_if_only_one_pair_fits() -> None:
    pipeline = pipeline_of(first=Upper(), last=Upper())
    pipeline.connect("first.texts", "last")
    assert pipeline.run({"first": {"texts": ["a"]}})["last"]["texts"] == ["A"]


def test_an_undeclared_input_can_be_connected_if_run_accepts_any_input() -> None:
    pipeline = pipeline_of(first=Upper(), last=Anything())
    pipeline.connect("first.count", "last.total")
    assert pipeline.run({"first": {"texts": ["a"]}})["last"] == {"names": ["total"]}


def test_a_constructor_declares_the_inputs_of_a_component_that_takes_any() -> None:
    @component
    class Declared:
        def __init__(self, *names: str) -> None:
            component.set_input_types(self, **dict.fromkeys(names, list[str]))

        @component.output_types(names=list[str])
        def run(self, **inputs: Any) -> dict[str, Any]:
            return {"names": sorted(inputs)}

    pipeline = pipeline_of(first=Upper(), last=Declared("texts", "others"))
    socket = {"type": list[str], "is_mandatory": True}
    assert pipeline.inputs()["last"] == {"texts": socket, "others": socket}
    pipeline.connect("first.texts", "last.texts")
    inputs: dict[str, Any] = {"first": {"texts": ["a"]}, "last": {"others": ["b"]}}
    assert pipeline.run(inputs)["last"] == {"names": ["others", "texts"]}
    with rejected(r"^component last: the input others is missing\."):
        pipeline.run({"first": {"texts": ["a"]}})
    with rejected(r"unknown input 'other'\. Did you mean others\? The inputs are texts, others\.$"):
        pipeline.run({"first": {"texts": ["a"]}, "last": {"other": ["b"]}})
    with rejected("^last has no input 'more'"):
        pipeline.connect("first.texts", "last.more")


def test_if_several_pairs_fit_the_sockets_with_equal_names_are_connected() -> None:
    @component
    class Two:
        @component.output_types(names=list[str])
        def run(self, others: list[str], texts: list[str]) -> dict[str, Any]:
            return {"names": others + texts}

    pipeline = pipeline_of(first=Upper(), last=Two())
    pipeline.connect("first", "last")
    assert "first.texts -> last.texts" in repr(pipeline)


def test_a_component_warms_up_once() -> None:
    upper = Upper()
    pipeline = pipeline_of(upper=upper, again=upper)
    for _ in range(2):
        pipeline.run({"texts": []})
    pipeline.warm_up()
    assert upper.warmed == 1


def test_a_component_used_by_several_threads_warms_up_once() -> None:
    class Slow(Upper):
        def warm_up(self) -> None:
            time.sleep(0.01)
            super().warm_up()

    slow = component(Slow)()
    pipeline = pipeline_of(slow=slow)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: pipeline.run({"texts": ["a"]}), range(8)))
    assert slow.warmed == 1
    assert results == [{"slow": {"texts": ["A"], "count": 1}}] * 8


def test_an_empty_pipeline_returns_an_empty_result() -> None:
    assert Pipeline().run() == {}
    assert Pipeline.loads(Pipeline().dumps()) == Pipeline()


def test_a_pipeline_lists_its_inputs_and_outputs() -> None:
    pipeline = pipeline_of(first=Upper(), last=Upper())
    pipeline.connect("first.texts", "last.texts")
    assert pipeline.inputs() == {
        "first": {"texts": {"type": list[str], "is_mandatory": True}, "times": {"type": int, "is_mandatory": False}},
        "last": {"times": {"type": int, "is_mandatory": False}},
    }
    assert pipeline.outputs()["last"] == {"texts": {"type": list[str]}, "count": {"type": int}}
    assert "first.texts -> last.texts" in repr(pipeline)


BAD_PARTS: list[tuple[Callable[[Pipeline], object], str]] = [
    (lambda pipeline: pipeline.add_component("up", Upper()), r"a component named up \(Upper\) already exists"),
    (lambda pipeline: pipeline.add_component("a.b", Upper()), "is not a valid name of a component"),
    (lambda pipeline: pipeline.add_component("", Upper()), "is not a valid name of a component"),
    (lambda pipeline: pipeline.add_component(5, Upper()), "is not a valid name of a component"),  # type: ignore[arg-type]
    (
        lambda pipeline: pipeline.add_component("new", Upper),
        "new: Upper is a class, not an instance. Create an instance",
    ),
    (lambda pipeline: pipeline.add_component("new", "text"), "new: 'text' is not a component. Decorate its"),
    (lambda pipeline: pipeline.get_component("ups"), "no component is named 'ups'. Did you mean up"),
    (lambda pipeline: pipeline.connect("upp.texts", "em.predicted_answers"), "no component is named 'upp'. Did you"),
    (lambda pipeline: pipeline.connect("up.text", "em.predicted_answers"), "up has no output 'text'. Did you mean te"),
    (lambda pipeline: pipeline.connect("up.texts", "em.predicted"), "em has no input 'predicted'. Did you mean pred"),
    (lambda pipeline: pipeline.connect("up.texts", "recall.retrieved_documents"), "up.texts cannot be connected to r"),
    (
        lambda pipeline: pipeline.connect("up.count", "em.predicted_answers"),
        r"count is int\. Inputs: .* list\[str \| None\]",
    ),
    (lambda pipeline: pipeline.connect("up.texts", "em"), "can be connected to em in several ways"),
    (lambda pipeline: pipeline.connect("up.texts", "up.texts"), "would create a cycle: up -> up"),
    (lambda pipeline: pipeline.connect(5, "up.texts"), "5 is not a socket"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("do", "match"), BAD_PARTS, ids=[match for _, match in BAD_PARTS])
def test_a_mistake_in_building_a_pipeline_is_rejected_with_the_most_similar_names(
    do: Callable[[Pipeline], object], match: str
) -> None:
    pipeline = pipeline_of(recall=DocumentRecallEvaluator(), em=AnswerExactMatchEvaluator(), up=Upper())
    before = repr(pipeline)
    with rejected(match):
        do(pipeline)
    assert repr(pipeline) == before


def test_all_components_of_a_cycle_are_shown() -> None:
    pipeline = pipeline_of(a=Upper(), b=Upper(), c=Upper())
    pipeline.connect("a.texts", "b.texts").connect("b.texts", "c.texts")
    with rejected("c.texts -> a.texts would create a cycle: c -> a -> b -> c"):
        pipeline.connect("c.texts", "a.texts")


def test_an_input_can_be_connected_once() -> None:
    pipeline = pipeline_of(a=Upper(), b=Upper(), c=Upper())
    pipeline.connect("a.texts", "c.texts")
    with rejected("c.texts is already connected: a.texts -> c.texts"):
        pipeline.connect("b.texts", "c.texts")


BAD_RUNS: list[tuple[Any, str]] = [
    ({"upp": {"texts": []}}, "'upp' is neither a component nor an input. Did you mean up?"),
    ({"up": {"text": []}}, "component up: unknown input 'text'. Did you mean texts?"),
    ({"up": {}}, "component up: the input texts is missing"),
    ({}, "component up: the input texts is missing"),
    ({"up": []}, r"component up: \[\] is not a mapping of inputs"),
    ([], r"\[\] is not a mapping of inputs"),
    ({"up": {"texts": "abc"}}, r"component up: texts is 'abc'. It must be list\[str\]"),
    ({"up": {"texts": ["a", 5]}}, r"component up: texts\[1\] is 5. It must be str"),
    ({"up": {"texts": [], "times": "2"}}, "component up: times is '2'. It must be int"),
    ({"up": {"texts": []}, "last": {"texts": []}}, "component last: the input texts is both given and con"),
]


@pytest.mark.parametrize(("data", "match"), BAD_RUNS, ids=[match for _, match in BAD_RUNS])
def test_wrong_inputs_are_rejected_before_any_component_runs(data: Any, match: str) -> None:
    ran = []

    @component
    class First:
        def run(self) -> dict[str, Any]:
            ran.append(self)
            return {}

    pipeline = pipeline_of(first=First(), up=Upper(), last=Upper())
    pipeline.connect("up.texts", "last.texts")
    with rejected(match):
        pipeline.run(data)
    assert not ran


def test_include_outputs_from_must_be_a_collection_of_names_of_components() -> None:
    pipeline = pipeline_of(up=Upper())
    with rejected("no component is named 'pu'"):
        pipeline.run({"up": {"texts": []}}, include_outputs_from={"pu"})
    with rejected("include_outputs_from='up' is a string"):
        pipeline.run({"up": {"texts": []}}, include_outputs_from="up")
    assert pipeline.run({"up": {"texts": []}}, include_outputs_from=None) == {"up": {"texts": [], "count": 0}}


@pytest.mark.parametrize(
    ("documents", "match"),
    [
        ([["a"]] * 1234 + [None], r"retrieved_documents\[1234\] is None\. It must be list\[Document\]"),
        (["a"], r"retrieved_documents\[0\] is 'a'\. It must be list\[Document\]"),
        (np.array(["a"]), r"must be list\[list\[Document\]\]\. Call \.tolist\(\) on it"),
        (iter([["a"]]), r"must be list\[list\[Document\]\]\. Wrap it in list\(\.\.\.\)"),
    ],
)
def test_a_value_of_the_wrong_type_is_rejected_with_its_place_and_a_hint(documents: Any, match: str) -> None:
    with rejected(match):
        pipeline_of(mrr=DocumentMRREvaluator()).run({**LISTS, "retrieved_documents": documents})


def test_a_component_of_haystack_is_rejected_with_a_hint() -> None:
    class Foreign:
        __haystack_input__ = object()

    with rejected("it: Foreign is not a component. It belongs to Haystack: add it to a haystack.Pipeline"):
        pipeline_of(it=Foreign())


def test_the_same_connection_may_be_made_twice() -> None:
    pipeline = pipeline_of(a=Upper(), b=Upper())
    once = pipeline.connect("a.texts", "b.texts").to_dict()
    assert pipeline.connect("a.texts", "b.texts").to_dict() == once


def test_a_component_that_accepts_any_input_receives_all_that_are_given() -> None:
    assert pipeline_of(any=Anything()).run({"any": {"x": 1, "y": 2}}) == {"any": {"names": ["x", "y"]}}


def test_a_wrong_output_is_rejected_with_the_name_of_the_component() -> None:
    pipeline = pipeline_of(broken=Broken(), up=Upper())
    pipeline.connect("broken.texts", "up.texts")
    for how, match in (
        ("nothing", "component broken: run did not return texts, which is connected to up.texts"),
        ("list", r"component broken: run returned \[\], not a dictionary"),
        ("numbers", r"component up: texts\[0\] is 1. It must be str"),
    ):
        with rejected(match):
            pipeline.run({"broken": {"how": how}})


def test_an_exception_in_a_component_has_a_note_with_the_name_of_the_component() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        pipeline_of(broken=Broken()).run({"broken": {"how": "raise"}})
    assert raised.value.__notes__ == ["Raised by component broken (Broken)."]


def test_an_error_in_the_data_names_the_component() -> None:
    lists = {"ground_truth_documents": [["a"], ["b"]], "retrieved_documents": [["a"]]}
    with rejected("component recall: ground_truth_documents has length 2 and retrieved_documents has length 1"):
        pipeline_of(recall=DocumentRecallEvaluator()).run({"recall": lists})


def test_a_pipeline_is_the_same_after_json() -> None:
    pipeline = pipeline_of(em=AnswerExactMatchEvaluator(), up=Upper("!"), recall=DocumentRecallEvaluator("multi_hit"))
    pipeline.connect("up.texts", "em.predicted_answers")
    again = Pipeline.loads(pipeline.dumps())
    assert again == pipeline
    assert again.dumps() == pipeline.dumps()
    data = {"em": {"ground_truth_answers": ["A!"]}, "up": {"texts": ["a"]}, "recall": LISTS}
    assert again.run(data) == pipeline.run(data)


def test_a_pipeline_can_be_saved_to_a_file_and_loaded(tmp_path: Path) -> None:
    pipeline = pipeline_of(up=Upper("é"))
    with (tmp_path / "pipeline.json").open("w", encoding="utf-8") as file:
        pipeline.dump(file)
    with (tmp_path / "pipeline.json").open(encoding="utf-8") as file:
        assert Pipeline.load(file) == pipeline


def test_a_saved_pipeline_of_haystack_evaluators_is_loaded_with_karat_evaluators() -> None:
    data = {"components": {"mrr": {"type": "haystack.components.evaluators.document_mrr.DocumentMRREvaluator"}}}
    assert isinstance(Pipeline.from_dict(data).get_component("mrr"), DocumentMRREvaluator)


def test_a_component_of_haystack_that_karat_lacks_is_an_error_that_says_so() -> None:
    data = {"components": {"llm": {"type": "haystack.components.generators.chat.openai.OpenAIChatGenerator"}}}
    with rejected("component llm: karat has no 'haystack.*OpenAIChatGenerator'. Run this pipeline in Haystack"):
        Pipeline.from_dict(data)


def test_yaml_of_haystack_is_an_error_that_says_how_to_read_it() -> None:
    with rejected(r"not a pipeline in JSON: .* Haystack writes YAML: pass yaml\.safe_load\(text\) to from_dict"):
        Pipeline.loads("components:\n  mrr:\n    init_parameters: {}\n")


def test_the_map_evaluator_of_haystack_is_loaded_with_the_standard_convention() -> None:
    data = {"components": {"map": {"type": "haystack.components.evaluators.document_map.DocumentMAPEvaluator"}}}
    assert Pipeline.from_dict(data).get_component("map").convention == "standard"


def test_control_characters_in_the_names_of_a_saved_pipeline_are_shown_as_escapes() -> None:
    kind = f"{Broken.__module__}.{Broken.__qualname__}"
    name = "a\x1b[2J\nb"
    pipeline = Pipeline.loads(json.dumps({"components": {name: {"type": kind}}}))
    assert repr(pipeline).splitlines() == ["<Pipeline of 1 component", r"  a\x1b[2J\nb: Broken>"]
    with pytest.raises(ZeroDivisionError) as raised:
        pipeline.run({name: {"how": "raise"}})
    assert raised.value.__notes__ == [r"Raised by component a\x1b[2J\nb (Broken)."]


def saved_sas(token: Any) -> dict[str, Any]:
    kind = "karat.components.evaluators.sas_evaluator.SASEvaluator"
    return {"components": {"sas": {"type": kind, "init_parameters": {"model": "wordllama", "token": token}}}}


def secret(*names: str) -> dict[str, Any]:
    """A secret as Haystack saves it."""
    return {"type": "env_var", "env_vars": list(names), "strict": True}


@pytest.mark.parametrize(
    "token",
    [
        secret("AWS_SECRET_ACCESS_KEY"),
        {"env_vars": ["AWS_SECRET_ACCESS_KEY"]},
        {"env_vars": "AWS_SECRET_ACCESS_KEY"},
        secret("HF_TOKEN", "AWS_SECRET_ACCESS_KEY"),
        [{"any": {"depth": [secret("AWS_SECRET_ACCESS_KEY")]}}],
    ],
)
def test_a_saved_pipeline_can_name_an_environment_variable_only_if_it_is_allowed(token: Any) -> None:
    data = saved_sas(token)
    text = json.dumps(data)
    loaders: list[Callable[[], Pipeline]] = [
        lambda: Pipeline.from_dict(data),
        lambda: Pipeline.loads(text),
        lambda: Pipeline.load(StringIO(text)),
    ]
    for load in loaders:
        with rejected(
            r"component sas: the saved component reads 'AWS_SECRET_ACCESS_KEY' from the environment, which was not "
            r"allowed\. If you trust it, pass allowed_env_vars=\['AWS_SECRET_ACCESS_KEY'\]\."
        ):
            load()


def test_a_variable_that_is_allowed_or_a_default_of_the_component_can_be_named() -> None:
    data = saved_sas(secret("HF_API_TOKEN", "HF_TOKEN"))
    assert Pipeline.from_dict(data).get_component("sas").token == secret("HF_API_TOKEN", "HF_TOKEN")
    data = saved_sas(secret("MY_TOKEN", "HF_TOKEN"))
    text = json.dumps(data)
    for pipeline in (
        Pipeline.from_dict(data, allowed_env_vars=["MY_TOKEN"]),
        Pipeline.loads(text, allowed_env_vars={"MY_TOKEN"}),
        Pipeline.load(StringIO(text), allowed_env_vars=("MY_TOKEN", "OTHER")),
    ):
        assert pipeline.get_component("sas").token == secret("MY_TOKEN", "HF_TOKEN")
    with rejected(r"reads 'A' and 'B' from the environment.*allowed_env_vars=\['A', 'B'\]"):
        Pipeline.from_dict(saved_sas(secret("A", "MY_TOKEN", "B")), allowed_env_vars=["MY_TOKEN"])
    with rejected("allowed_env_vars='MY_TOKEN' is a string"):
        Pipeline.from_dict(data, allowed_env_vars="MY_TOKEN")


def test_variables_in_parameters_of_any_component_are_checked_even_if_it_has_its_own_from_dict() -> None:
    @component
    class Client:
        env_vars = ("CLIENT_KEY",)

        def __init__(self, key: Any) -> None:
            self.key = key

        @component.output_types(key=str)
        def run(self) -> dict[str, Any]:
            return {"key": self.key}

        @classmethod
        def from_dict(cls, data: dict[str, Any]) -> Client:
            return cls(**data["init_parameters"])

    kind = f"{Client.__module__}.{Client.__qualname__}"
    for name, allowed in (("CLIENT_KEY", True), ("HF_TOKEN", False)):
        data = {"components": {"client": {"type": kind, "init_parameters": {"key": secret(name)}}}}
        if allowed:
            assert Pipeline.from_dict(data).get_component("client").key == secret(name)
        else:
            with rejected("component client: the saved component reads 'HF_TOKEN' from the environment"):
                Pipeline.from_dict(data)


@pytest.mark.parametrize(
    "name", ["url", "api_base_url", "azure_endpoint", "host", "Proxy", "proxies", "server_address"]
)
def test_a_variable_that_a_component_declares_needs_permission_if_the_file_names_a_server(name: str) -> None:
    @component
    class Client:
        env_vars = ("CLIENT_KEY",)

        def __init__(self, **options: Any) -> None:
            self.options = options

        @component.output_types(options=dict)
        def run(self) -> dict[str, Any]:
            return self.options

    kind = f"{Client.__module__}.{Client.__qualname__}"
    options = {"key": secret("CLIENT_KEY"), "settings": {name: "stranger.example"}}
    data = {"components": {"client": {"type": kind, "init_parameters": options}}}
    with rejected("reads 'CLIENT_KEY' from the environment and sends it to 'stranger.example', which was not allowed"):
        Pipeline.from_dict(data)
    assert Pipeline.from_dict(data, allowed_env_vars=["CLIENT_KEY"]).get_component("client").options == options
    options["settings"] = {name: {"https://": "stranger.example"}}
    with rejected("reads 'CLIENT_KEY' from the environment and sends it to 'stranger.example', which was not allowed"):
        Pipeline.from_dict(data)
    options["settings"] = {name: None, "curly": "x"}
    assert Pipeline.from_dict(data).get_component("client").options == options


def test_parameters_that_contain_themselves_can_be_loaded() -> None:
    suffix: list[Any] = []
    suffix.append(suffix)
    kind = f"{Upper.__module__}.{Upper.__qualname__}"
    data = {"components": {"up": {"type": kind, "init_parameters": {"suffix": suffix}}}}
    assert Pipeline.from_dict(data).get_component("up").suffix is suffix


def test_a_pipeline_and_its_evaluators_can_be_copied_and_pickled() -> None:
    pipeline = pipeline_of(recall=DocumentRecallEvaluator("multi_hit"), mrr=DocumentMRREvaluator())
    for again in (copy.deepcopy(pipeline), pickle.loads(pickle.dumps(pipeline))):
        assert again == pipeline
        assert again.run(LISTS) == pipeline.run(LISTS)


@pytest.mark.parametrize("metadata", ["x", [Upper()], 5])
def test_metadata_that_is_not_a_mapping_is_rejected(metadata: Any) -> None:
    with rejected("metadata=.* is not a mapping"):
        Pipeline(metadata)


def test_a_pipeline_is_saved_in_the_format_of_haystack() -> None:
    pipeline = pipeline_of(a=Upper("!"), b=Upper())
    pipeline.connect("a.texts", "b.texts")
    assert pipeline.to_dict() == {
        "metadata": {},
        "components": {
            "a": {"type": f"{__name__}.Upper", "init_parameters": {"suffix": "!"}},
            "b": {"type": f"{__name__}.Upper", "init_parameters": {"suffix": ""}},
        },
        "connections": [{"sender": "a.texts", "receiver": "b.texts"}],
    }


RECALL = "karat.components.evaluators.document_recall.DocumentRecallEvaluator"
BAD_TEXTS = [
    ("", "not a pipeline in JSON"),
    ("[" * 100_000, "not a pipeline in JSON"),
    ("[]", r"\[\] is not a mapping"),
    ("{}", "components is missing"),
    ('{"components": []}', r"components has the wrong type: \[\]"),
    ('{"components": {"x": 5}}', "component x: 5 is not a mapping"),
    ('{"components": {"x": {}}}', "component x: type is missing"),
    ('{"components": {"x": {"type": 5}}}', "component x: type has the wrong type: 5"),
    ('{"components": {"x": {"type": "os.system"}}}', "component x: 'os.system' is not a registered component"),
    ('{"components": {"x": {"type": "karat.documents.document.Document"}}}', "is not a registered component"),
    (f'{{"components": {{"x": {{"type": "{RECALL}s"}}}}}}', "Did you mean karat.components.evaluators.document_recall"),
    (f'{{"components": {{"x": {{"type": "{RECALL}", "init_parameters": 5}}}}}}', "component x: the init_parameters"),
    (f'{{"components": {{"x": {{"type": "{RECALL}", "init_parameters": {{"mood": 1}}}}}}}}', "no parameter 'mood'"),
    (f'{{"components": {{"x": {{"type": "{RECALL}", "init_parameters": {{"mode": 1}}}}}}}}', "1 is not a recall mode"),
    (f'{{"components": {{"x": {{"type": "{RECALL}"}}, "x": {{"type": "{RECALL}"}}}}}}', "the name 'x' is used twice"),
    (f'{{"components": {{"x.y": {{"type": "{RECALL}"}}}}}}', "'x.y' is not a valid name"),
    ('{"components": {}, "connections": {}}', "connections has the wrong type: {}"),
    ('{"components": {}, "connections": [{"sender": "a.b"}]}', "no component is named 'a'|receiver is missing"),
    ('{"components": {}, "connections": [{"sender": "a.b", "receiver": "c.d"}]}', "no component is named 'a'"),
]


@pytest.mark.parametrize(("text", "match"), BAD_TEXTS, ids=[match for _, match in BAD_TEXTS])
def test_a_text_that_is_not_a_valid_pipeline_is_rejected_with_its_place(text: str, match: str) -> None:
    with rejected(match):
        Pipeline.loads(text)


@pytest.mark.parametrize("thing", [5, None, b"\xff"])
def test_a_value_that_is_not_a_text_is_not_loaded(thing: Any) -> None:
    with rejected("not a pipeline in JSON"):
        Pipeline.loads(thing)


NAMES = st.sampled_from(["components", "connections", "metadata", "type", "sender", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(NAMES, inside),
)


KINDS = st.sampled_from([RECALL, RECALL.replace("karat", "haystack"), "os.system", "karat.Document", ""])
PARTS = st.fixed_dictionaries({"type": KINDS}, optional={"init_parameters": st.dictionaries(NAMES, JSON) | JSON})
PIPELINES = st.fixed_dictionaries(
    {"components": st.dictionaries(NAMES, PARTS)}, optional={"connections": JSON, "metadata": JSON}
)


@given(data=JSON | PIPELINES)
def test_any_json_is_loaded_or_rejected_with_a_karat_error(data: Any) -> None:
    try:
        pipeline = Pipeline.loads(json.dumps(data))
    except KaratError:
        return
    assert Pipeline.loads(pipeline.dumps()) == pipeline


def test_loading_a_pipeline_imports_nothing_that_it_names() -> None:
    code = """
import sys, karat
try:
    karat.Pipeline.loads('{"components": {"x": {"type": "colorsys.rgb_to_hls"}}}')
except karat.KaratError as error:
    print(error, "colorsys" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "is not a registered component" in done.stdout
    assert done.stdout.strip().endswith("False")


def test_a_parameter_that_cannot_be_written_as_json_is_rejected() -> None:
    with rejected("cannot be written as JSON"):
        pipeline_of(up=Upper(object())).dumps()  # type: ignore[arg-type]
    with rejected("cannot be written as JSON"):
        pipeline_of(up=Upper(float("nan"))).dumps()  # type: ignore[arg-type]


def test_a_subclass_is_a_component_only_if_it_is_decorated() -> None:
    class Louder(Upper):
        pass

    with rejected("Louder is not a component"):
        pipeline_of(up=Louder())


def test_only_a_class_with_a_run_method_can_be_a_component() -> None:
    class Lame:
        pass

    for thing in (Lame, len, 5):
        with rejected("cannot be a component"):
            component(thing)  # type: ignore[type-var]


def test_a_class_can_define_its_own_to_dict_and_from_dict() -> None:
    @component
    class Secretive:
        def __init__(self, path: str) -> None:
            self._path = path

        def to_dict(self) -> dict[str, Any]:
            return default_to_dict(self, path=self._path)

        @classmethod
        def from_dict(cls, data: dict[str, Any]) -> Secretive:
            return default_from_dict(cls, data)  # type: ignore[no-any-return]

        def run(self) -> dict[str, Any]:
            return {"path": self._path}

    again = Pipeline.loads(pipeline_of(it=Secretive("x")).dumps())
    assert again.run() == {"it": {"path": "x"}}


def test_a_component_that_does_not_store_a_parameter_cannot_be_saved() -> None:
    class Forgetful:
        def __init__(self, path: str) -> None:
            self._path = path

        def run(self) -> dict[str, Any]:
            return {}

    @component
    class WithDefault(Forgetful):
        def __init__(self, path: str = "a") -> None:
            super().__init__(path)

    @component
    class WithAnything(Forgetful):
        def __init__(self, **path: str) -> None:
            super().__init__(path["path"])

    for instance in (component(Forgetful)("x"), WithDefault("x"), WithAnything(path="x")):
        with rejected(f"{type(instance).__name__} does not store its parameter path. Set self.path"):
            pipeline_of(it=instance).to_dict()


def test_a_missing_parameter_of_a_saved_component_is_named() -> None:
    @component
    class Demanding:
        def __init__(self, path: str) -> None:
            self.path = path

        def run(self) -> dict[str, Any]:
            return {}

    name = next(name for name in registered() if name.endswith("Demanding"))
    with rejected("component x: Demanding requires the parameter path"):
        Pipeline.loads(json.dumps({"components": {"x": {"type": name}}}))


def test_evaluators_with_the_same_lists_match_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(*given: Any) -> Any:
        calls.append(given)
        return match_documents(*given)

    monkeypatch.setattr("karat.components.evaluators.document_measure.match_documents", counted)
    pipeline = pipeline_of(
        recall=DocumentRecallEvaluator(), mrr=DocumentMRREvaluator(), by_id=DocumentMRREvaluator("id")
    )
    pipeline.run({"recall": LISTS, "mrr": LISTS, "by_id": LISTS})
    assert [str(given[2]) for given in calls] == ["content", "id"]
    pipeline.run({"recall": LISTS, "mrr": dict(LISTS, retrieved_documents=[["Paris"]]), "by_id": LISTS})
    assert len(calls) == 5


def test_a_list_that_a_component_modified_is_matched_again() -> None:
    @component
    class Filler:
        @component.output_types(documents=list[list[str]])
        def run(self, documents: list[list[str]]) -> dict[str, Any]:
            documents[0].append("Paris")
            return {"documents": documents}

    documents = [["Rome"]]
    pipeline = pipeline_of(before=DocumentRecallEvaluator(), filler=Filler(), after=DocumentRecallEvaluator())
    pipeline.connect("filler.documents", "after.retrieved_documents")
    result = pipeline.run(
        {
            "ground_truth_documents": [["Paris"]],
            "before": {"retrieved_documents": documents},
            "filler": {"documents": documents},
        }
    )
    assert (result["before"]["score"], result["after"]["score"]) == (0.0, 1.0)


def test_evaluators_inside_a_component_see_the_lists_as_it_modified_them() -> None:
    @component
    class Cut:
        @component.output_types(scores=list[float])
        def run(self, gold: list[list[str]], documents: list[list[str]]) -> dict[str, Any]:
            scores = []
            for k in (2, 1):
                for found in documents:
                    del found[k:]
                scores.append(DocumentRecallEvaluator("multi_hit").run(gold, documents)["score"])
            return {"scores": scores}

    documents = [["a", "b", "c"]]
    result = pipeline_of(cut=Cut()).run({"cut": {"gold": [["a", "b"]], "documents": documents}})
    assert result == {"cut": {"scores": [1.0, 0.5]}}
    assert documents == [["a", "b", "c"]]


def test_a_subclass_with_its_own_run_does_not_inherit_modifies_inputs() -> None:
    @component
    class Sorting(DocumentMRREvaluator):
        def run(self, ground_truth_documents: Any, retrieved_documents: Any) -> dict[str, Any]:
            for documents in retrieved_documents:
                documents.sort()
            return super().run(ground_truth_documents, retrieved_documents)

    pipeline = pipeline_of(mrr=DocumentMRREvaluator(), sorting=Sorting(), after=DocumentMRREvaluator())
    result = pipeline.run({"ground_truth_documents": [["a"]], "retrieved_documents": [["b", "a"]]})
    assert [result[name]["score"] for name in ("mrr", "sorting", "after")] == [0.5, 1.0, 0.5]


def test_instances_stay_components_after_their_class_is_defined_again() -> None:
    def make() -> Any:
        @component
        class Same:
            def run(self) -> dict[str, Any]:
                return {}

        return Same()

    old, new = make(), make()
    assert pipeline_of(old=old, new=new).run() == {}


def test_the_default_of_an_input_is_accepted_even_if_it_has_another_type() -> None:
    @component
    class Lenient:
        @component.output_types(n=int)
        def run(self, n: int = None) -> dict[str, Any]:  # type: ignore[assignment]  # noqa: RUF013  # people do
            return {"n": n}

    assert pipeline_of(it=Lenient()).run({"it": {"n": None}}) == {"it": {"n": None}}
    assert pipeline_of(it=Lenient()).run({"it": {"n": np.int64(3)}}) == {"it": {"n": 3}}


def test_run_can_be_a_static_method() -> None:
    @component
    class Static:
        @staticmethod
        @component.output_types(total=int)
        def run(a: int, b: int) -> dict[str, Any]:
            return {"total": a + b}

    assert pipeline_of(it=Static()).run({"it": {"a": 1, "b": 2}}) == {"it": {"total": 3}}


def test_an_error_of_a_subclass_of_karat_error_keeps_its_class() -> None:
    class OwnError(KaratError):
        pass

    @component
    class Failing:
        def run(self) -> dict[str, Any]:
            raise OwnError("no", place="here")

    with pytest.raises(OwnError, match="component it, here: no"):
        pipeline_of(it=Failing()).run()


def test_a_long_chain_is_loaded_and_run() -> None:
    names = [f"c{at}" for at in range(300)]
    pipeline = pipeline_of(**{name: Upper() for name in names})
    for one, other in pairwise(names):
        pipeline.connect(f"{one}.texts", f"{other}.texts")
    assert Pipeline.loads(pipeline.dumps()).run({"c0": {"texts": ["a"]}})["c299"]["texts"] == ["A"]


def test_nothing_is_cached_between_runs() -> None:
    pipeline = pipeline_of(recall=DocumentRecallEvaluator())
    lists = {"ground_truth_documents": [["a"]], "retrieved_documents": [["b"]]}
    assert pipeline.run({"recall": lists})["recall"]["score"] == 0
    lists["retrieved_documents"][0].append("a")
    assert pipeline.run({"recall": lists})["recall"]["score"] == 1


def test_nothing_is_cached_outside_of_a_run() -> None:
    computed: list[int] = []

    def compute(_: object, n: int) -> int:
        computed.append(n)
        return n

    thing = object()
    assert cached(compute, thing, n=1) == cached(compute, thing, n=1) == 1
    with run_cache():
        assert cached(compute, thing, n=2) == cached(compute, thing, n=2) == 2
        assert cached(compute, object(), n=2) == 2
    assert computed == [1, 1, 2, 2]


def test_documents_pass_from_one_component_to_another() -> None:
    @component
    class Same:
        @component.output_types(documents=list[list[Document]])
        def run(self, documents: list[list[Document]]) -> dict[str, Any]:
            return {"documents": documents}

    pipeline = pipeline_of(same=Same(), recall=DocumentRecallEvaluator())
    pipeline.connect("same.documents", "recall.retrieved_documents")
    result = pipeline.run(
        {
            "same": {"documents": [[Document("a")]]},
            "recall": {"ground_truth_documents": [[Document("a")]]},
        }
    )
    assert result == {"recall": {"score": 1.0, "individual_scores": [1.0]}}
