"""The evaluators of answers: their scores, warnings and errors, and how they are saved."""

from __future__ import annotations

import copy
import json
import logging
import math
import pickle
from pathlib import Path
from typing import Any

import haystack.components.evaluators
import numpy as np
import pytest
from haystack.utils import ComponentDevice, Device, DeviceMap, Secret
from hypothesis import given
from hypothesis import strategies as st

import karat.integrations.haystack as in_haystack
from karat import KaratError, Pipeline, definitions, evaluate_answers
from karat.components.evaluators import (
    AnswerExactMatchEvaluator,
    AnswerF1Evaluator,
    AnswerMeasureEvaluator,
    SASEvaluator,
    sas_evaluator,
)
from karat.measures.answers import RougeL, models
from karat.registry.measure import Definition

EXACT = AnswerExactMatchEvaluator()
STATIC = SASEvaluator(model="wordllama")
ALL: list[Any] = [
    EXACT,
    AnswerF1Evaluator(),
    AnswerF1Evaluator(normalize=False),
    AnswerMeasureEvaluator("RougeL"),
    AnswerMeasureEvaluator("Contains(normalize=neutral)"),
    STATIC,
]
each_evaluator = pytest.mark.parametrize("evaluator", ALL, ids=repr)
# The measures of the evaluators above, as evaluate_answers names them.
MEASURES = ["EM", "TokenF1", "TokenF1(normalize=false)", "RougeL", "Contains(normalize=neutral)",
            "SAS(model=wordllama)"]  # fmt: skip

CAPITALS = {"ground_truth_answers": ["Berlin", "Paris"], "predicted_answers": ["Berlin", "Lyon"]}
ENVIRONMENT = {"type": "env_var", "env_vars": ["HF_API_TOKEN", "HF_TOKEN"], "strict": False}
TOKEN = "hf_of_nobody"


def individual(evaluator: Any, golds: Any, predicted: Any) -> list[float]:
    scores: list[float] = evaluator.run(ground_truth_answers=golds, predicted_answers=predicted)["individual_scores"]
    return scores


# Scores and warnings.


@each_evaluator
def test_the_score_is_the_mean_and_all_scores_are_plain_numbers(evaluator: Any) -> None:
    golds = ["Berlin", "in the Paris of France", "x"]
    result = evaluator.run(ground_truth_answers=golds, predicted_answers=["Berlin", "in Paris", "y"])
    assert list(result) == ["score", "individual_scores"]
    assert type(result["score"]) is float
    assert type(result["individual_scores"]) is list
    kind = int if evaluator is EXACT else float
    assert [type(score) for score in result["individual_scores"]] == [kind] * 3
    assert result["score"] == pytest.approx(math.fsum(result["individual_scores"]) / 3, abs=1e-15)
    assert result["individual_scores"][0] == 1
    assert 0 < result["score"] < 1


@pytest.mark.parametrize(
    ("evaluator", "scores"),
    [
        (EXACT, [1, 0, 0]),
        (AnswerF1Evaluator(), [1.0, 1.0, 2 / 3]),
        (AnswerF1Evaluator(normalize="neutral"), [1.0, 4 / 5, 4 / 7]),
        (AnswerF1Evaluator(normalize=False), [1.0, 0.0, 4 / 7]),
        (AnswerMeasureEvaluator(), [1.0, 1.0, 2 / 3]),
        (AnswerMeasureEvaluator("EM(normalize=true)"), [1.0, 1.0, 0.0]),
        (AnswerMeasureEvaluator("Contains"), [1.0, 1.0, 1.0]),
        (AnswerMeasureEvaluator("TokenRecall"), [1.0, 1.0, 1.0]),
    ],
    ids=repr,
)
def test_each_evaluator_normalizes_as_its_measure_does(evaluator: Any, scores: list[float]) -> None:
    golds = ["Eiffel Tower", "eiffel tower", "the Eiffel Tower"]
    found = individual(evaluator, golds, ["Eiffel Tower", "The Eiffel Tower!", "Eiffel Tower in Paris"])
    assert found == pytest.approx(scores)


@each_evaluator
def test_the_gold_answer_with_the_highest_score_counts(evaluator: Any) -> None:
    golds = [["nothing like it", "nine"], ("nine", "nothing like it"), ["nothing like it"], {"nine", "9"}]
    found = individual(evaluator, golds, ["nine"] * 4)
    assert [found[at] for at in (0, 1, 3)] == [1, 1, 1]
    assert found[2] < 1


@each_evaluator
def test_for_an_empty_list_of_gold_answers_an_empty_answer_is_right(
    evaluator: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert individual(evaluator, [[], [], ""], ["", "something", ""]) == [1, 0, 1]
    assert not caplog.records


@each_evaluator
def test_a_missing_answer_scores_0_and_one_warning_names_the_questions(
    evaluator: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "karat"):
        found = individual(evaluator, ["a1", None, "a3", None, "a5"], ["a1", "a2", None, None, "a5"])
    assert found == [1, 0, 0, 0, 1]
    (record,) = caplog.records
    assert (record.levelno, record.name.partition(".")[0]) == (logging.WARNING, "karat")
    assert record.getMessage() == (
        "karat: 2 questions without a gold answer (scored 0): 1, 3;"
        " 2 questions without a predicted answer (scored 0): 2, 3."
    )


@each_evaluator
def test_every_call_warns_and_only_about_the_list_that_has_missing_answers(
    evaluator: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        individual(evaluator, ["a", "b"], [None, "b"])
    first, second = caplog.messages
    assert first == second == "karat: 1 question without a predicted answer (scored 0): 0."


def test_the_warning_counts_missing_answers_in_each_list(caplog: pytest.LogCaptureFixture) -> None:
    individual(EXACT, [None, "b", "c", None], ["a", None, "c", "d"])
    assert caplog.messages == [
        "karat: 2 questions without a gold answer (scored 0): 0, 3;"
        " 1 question without a predicted answer (scored 0): 1."
    ]


@pytest.mark.parametrize("by_component", [False, True], ids=["to all", "to each"])
def test_evaluators_of_a_pipeline_warn_once_about_the_same_lists(
    by_component: bool, caplog: pytest.LogCaptureFixture
) -> None:
    answers = {"ground_truth_answers": ["a", None], "predicted_answers": ["a", "b"]}
    pipeline = Pipeline()
    for name, evaluator in {"em": EXACT, "f1": AnswerF1Evaluator(), "sas": STATIC}.items():
        pipeline.add_component(name, evaluator)
    data: dict[str, Any] = dict.fromkeys(("em", "f1", "sas"), answers) if by_component else answers
    for run in (1, 2):
        assert {name: each["score"] for name, each in pipeline.run(data).items()} == {"em": 0.5, "f1": 0.5, "sas": 0.5}
        assert caplog.messages == ["karat: 1 question without a gold answer (scored 0): 1."] * run


@each_evaluator
def test_complete_answers_give_no_warning(evaluator: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "karat"):
        individual(evaluator, ["a", ["b", "c"]], ["x", ""])
    assert not caplog.records


@each_evaluator
@pytest.mark.parametrize(
    "text", ["\ud800", "\x00", "a" * 100_000, "{}", "(?P<x>", "\u202e", "\N{GRINNING FACE}", "日本"]
)
def test_any_text_matches_itself(evaluator: Any, text: str) -> None:
    same, other = individual(evaluator, [text, text], [text, "wholly different"])
    assert other < 1
    assert same == 1


@each_evaluator
def test_inputs_are_not_modified(evaluator: Any) -> None:
    golds: list[Any] = ["a", ["b", "b", "c"], None]
    predicted = ["a", None, "c"]
    before = copy.deepcopy((golds, predicted))
    individual(evaluator, golds, predicted)
    assert (golds, predicted) == before


TEXTS = st.sampled_from(["", " ", "Paris", "paris.", "the Paris", "in Paris, France", "1889", "é", "北京", "\ud800"])
GOLDS = st.none() | TEXTS | st.lists(TEXTS, max_size=3)
ANSWERS = st.lists(st.tuples(GOLDS, st.none() | TEXTS), min_size=1, max_size=6)


@pytest.mark.parametrize(("evaluator", "measure"), list(zip(ALL, MEASURES, strict=True)), ids=MEASURES)
@given(answers=ANSWERS.filter(lambda answers: any(gold is not None for gold, _ in answers)))
def test_scores_equal_those_of_evaluate_answers_on_the_same_lists(
    evaluator: Any, measure: str, answers: list[tuple[Any, str | None]]
) -> None:
    golds, predicted = map(list, zip(*answers, strict=True))
    scores = evaluate_answers(golds, predicted, measure)
    known = {query: values[measure] for query, values in scores.per_query.items()}
    found = individual(evaluator, golds, predicted)
    assert found == [known.get(str(at), 0) for at in range(len(golds))]
    if None not in golds:
        assert evaluator.run(golds, predicted)["score"] == scores[measure]


@given(answers=st.lists(st.tuples(*[st.text(max_size=3) | st.sampled_from("aAé")] * 2), min_size=1, max_size=8))
def test_exact_match_equals_that_of_haystack_on_any_text(answers: list[tuple[str, str]]) -> None:
    golds, predicted = map(list, zip(*answers, strict=True))
    theirs = haystack.components.evaluators.AnswerExactMatchEvaluator().run(golds, predicted)
    assert EXACT.run(golds, predicted) == theirs
    assert in_haystack.AnswerExactMatchEvaluator().run(golds, predicted) == theirs


OF_ANSWERS = [one for one in definitions() if one.takes == "answers" and one.name != "SAS"]


@pytest.mark.parametrize("definition", OF_ANSWERS, ids=lambda definition: definition.name)
def test_every_measure_of_answers_can_be_used_in_an_evaluator(definition: Definition) -> None:
    golds, predicted = ["the Eiffel Tower", "nine"], ["Eiffel Tower", "it is nine"]
    found = AnswerMeasureEvaluator(definition.name).run(golds, predicted)
    assert found["score"] == evaluate_answers(golds, predicted, definition.name)[definition.name]


def test_a_measure_is_given_by_name_by_the_name_in_another_library_or_as_an_object() -> None:
    assert AnswerMeasureEvaluator("F1").measure == AnswerMeasureEvaluator("squad_f1").measure == "TokenF1"
    assert AnswerMeasureEvaluator(RougeL).measure == "RougeL"


def test_similarity_is_higher_for_words_of_similar_meaning() -> None:
    near, far = individual(STATIC, ["the car is new"] * 2, ["a new automobile", "the moon over Oslo"])
    assert 0 <= far < near < 1


def test_the_similarity_of_an_answer_does_not_depend_on_other_answers_or_the_batch_size() -> None:
    golds, predicted = ["the car is new", "Paris", "nine"], ["a new automobile", "Lyon", "9"]
    together = individual(STATIC, golds, predicted)
    assert together == individual(SASEvaluator(model="wordllama", batch_size=1), golds, predicted)
    for gold, answer, score in zip(golds, predicted, together, strict=True):
        assert individual(STATIC, [gold], [answer]) == [score]


# Errors.


@each_evaluator
@pytest.mark.parametrize(("golds", "predicted"), [(["a"], []), ([], ["a"]), (["a"], ["a", "b"]), (["a"] * 3, ["a"])])
def test_lists_of_different_lengths_are_rejected_with_both_lengths(evaluator: Any, golds: Any, predicted: Any) -> None:
    message = f"ground_truth_answers has length {len(golds)} and predicted_answers has length {len(predicted)}"
    with pytest.raises(ValueError, match=message) as raised:
        individual(evaluator, golds, predicted)
    assert isinstance(raised.value, KaratError)


@each_evaluator
def test_empty_lists_are_rejected_except_by_similarity_as_in_haystack(evaluator: Any) -> None:
    if evaluator is STATIC:
        assert evaluator.run(ground_truth_answers=[], predicted_answers=[]) == {"score": 0.0, "individual_scores": []}
    else:
        with pytest.raises(KaratError, match="ground_truth_answers has length 0 and predicted_answers has length 0"):
            individual(evaluator, [], [])


WRONG: dict[str, tuple[Any, Any, str]] = {
    "text as gold": ("ab", ["a", "b"], "ground_truth_answers: 'ab' is not a list"),
    "text as predicted": (["a", "b"], "ab", "predicted_answers: 'ab' is not a list"),
    "bytes": (["a"], b"a", "predicted_answers: b'a' is not a list"),
    "None": (None, ["a"], "ground_truth_answers: None is not a list"),
    "a mapping": ({"q": "a"}, ["a"], "ground_truth_answers: .* is not a list"),
    "a set": ({"a"}, ["a"], r"ground_truth_answers: .* is not a list\. A set has no order\."),
    "an array": (np.array(["a"]), ["a"], r"ground_truth_answers: .* is not a list\. Call \.tolist\(\) on it"),
    "a number as gold": (["a", 5], ["a", "b"], r"ground_truth_answers\[1\]: 5 is not a gold answer"),
    "a number as predicted": (["a", "b"], ["a", 5], r"predicted_answers\[1\]: 5 is not text"),
    "nan": (["a"], [math.nan], r"predicted_answers\[0\]: nan is not text"),
    "bytes as gold": ([b"a"], ["a"], r"ground_truth_answers\[0\]: b'a' is not a gold answer"),
    "bytes as predicted": (["a"], [b"a"], r"predicted_answers\[0\]: b'a' is not text"),
    "several predicted": (["a"], [["a"]], r"predicted_answers\[0\]: .* Pass one predicted answer per question"),
    "a number among golds": ([["a", 5]], ["a"], r"ground_truth_answers\[0\]\[1\]: 5 is not text"),
    "None among golds": ([["a", None]], ["a"], r"ground_truth_answers\[0\]\[1\]: None is not text"),
    "an array as golds": ([np.array(["a"])], ["a"], r"ground_truth_answers\[0\]: .* Call \.tolist\(\) on it"),
}


@each_evaluator
@pytest.mark.parametrize("name", WRONG)
def test_an_input_that_is_not_a_list_of_texts_is_rejected_with_its_place_and_a_hint(evaluator: Any, name: str) -> None:
    golds, predicted, match = WRONG[name]
    with pytest.raises(ValueError, match=match) as raised:
        individual(evaluator, golds, predicted)
    assert isinstance(raised.value, KaratError)
    assert raised.value.hint


@each_evaluator
def test_a_generator_is_rejected_with_a_hint_and_not_consumed(evaluator: Any) -> None:
    generator = iter(["a"])
    with pytest.raises(KaratError, match=r"predicted_answers: .* is not a list\. Wrap it in list\(\.\.\.\)"):
        individual(evaluator, ["a"], generator)
    assert list(generator) == ["a"]


@pytest.mark.parametrize(
    ("measure", "match"),
    [
        ("nDCG@10", "nDCG@10 measures documents, not answers"),
        ("F", "F measures documents, not answers"),
        ("TokenF2", "Did you mean TokenF1"),
        ("EM@3", "EM takes no cut-off"),
        ("EM,TokenF1", "'EM,TokenF1' stands for 2 measures, but one is needed. Name one of them, such as EM"),
        ("", "'' is not a valid measure name"),
        (5, "5 is not the name of a measure"),
        (None, "None is not the name of a measure"),
    ],
)
def test_a_measure_that_is_not_of_answers_is_rejected(measure: Any, match: str) -> None:
    with pytest.raises(KaratError, match=match):
        AnswerMeasureEvaluator(measure)


@pytest.mark.parametrize("normalize", ["squad", "", None, 5, 1])
def test_an_unknown_normalization_is_rejected_with_the_known_ones(normalize: Any) -> None:
    with pytest.raises(KaratError, match=r"normalize=.* is not one of true, neutral, false"):
        AnswerF1Evaluator(normalize)


@pytest.mark.parametrize("model", ["", "  ", None, 5, b"wordllama", ["wordllama"]])
def test_an_invalid_name_of_a_model_is_rejected(model: Any) -> None:
    with pytest.raises(KaratError, match=r"model=.* is not the name of a model"):
        SASEvaluator(model=model)


def test_the_folder_of_a_model_can_be_a_path_and_is_saved_as_text() -> None:
    evaluator = SASEvaluator(model=Path("models") / "mine")
    assert evaluator.model == "models/mine"
    assert json.loads(json.dumps(evaluator.to_dict())) == evaluator.to_dict()


@pytest.mark.parametrize("size", [0, -1, True, "3", 2.0, None])
def test_an_invalid_batch_size_is_rejected(size: Any) -> None:
    with pytest.raises(KaratError, match=r"batch_size=.* is not a positive whole number"):
        SASEvaluator(model="wordllama", batch_size=size)


@pytest.mark.parametrize("device", [object(), 5, True, ["cpu"], {}, {"device": 5}, {"type": "multiple"}])
def test_an_invalid_device_is_rejected(device: Any) -> None:
    with pytest.raises(KaratError, match=r"device=.* is not a device"):
        SASEvaluator(model="wordllama", device=device)


@pytest.mark.parametrize("token", [5, True, b"hf_of_nobody", ["hf_of_nobody"], {}, {"type": "token", "token": TOKEN}])
def test_an_invalid_token_is_rejected_and_not_shown(token: Any) -> None:
    with pytest.raises(KaratError, match="this is not a token") as raised:
        SASEvaluator(model="wordllama", token=token)
    assert TOKEN not in str(raised.value)
    assert TOKEN not in repr(raised.value)


def test_an_environment_variable_whose_name_is_not_a_text_is_rejected() -> None:
    with pytest.raises(KaratError, match="this is not a token"):
        SASEvaluator(model="wordllama", token={**ENVIRONMENT, "env_vars": [5]})


def test_several_devices_are_rejected() -> None:
    several = ComponentDevice.from_multiple(DeviceMap({"a": Device.cpu(), "b": Device.gpu(1)}))
    with pytest.raises(KaratError, match="is not a device"):
        SASEvaluator(model="wordllama", device=several)


# Models, devices and tokens.

LoadCall = tuple[str, str | None, str | None]


@pytest.fixture
def load_calls(monkeypatch: pytest.MonkeyPatch) -> list[LoadCall]:
    """The model, device and token of each call that loads a model; the environment has no tokens."""
    calls: list[LoadCall] = []

    def load_model(model: str, device: str | None, token: str | None) -> Any:
        calls.append((model, device, token))
        return models.load_model("wordllama")

    monkeypatch.setattr(sas_evaluator, "load_model", load_model)
    for name in ("HF_API_TOKEN", "HF_TOKEN", "OTHER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return calls


def test_the_model_is_loaded_with_its_device_and_token_when_it_is_warmed_up_or_run(
    load_calls: list[LoadCall],
) -> None:
    evaluator = SASEvaluator(model="mine", device="cuda:1", token=TOKEN)
    assert load_calls == []
    evaluator.warm_up()
    assert evaluator.run(["a"], ["a"])["score"] == 1.0
    assert load_calls == [("mine", "cuda:1", TOKEN)] * 2


def test_no_model_is_loaded_for_empty_lists(load_calls: list[LoadCall]) -> None:
    assert SASEvaluator(model="mine").run([], [])["individual_scores"] == []
    assert load_calls == []


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (None, None),
        ("cpu", "cpu"),
        ({"type": "single", "device": "cuda:0"}, "cuda:0"),
        (ComponentDevice.from_str("cpu"), "cpu"),
        (ComponentDevice.from_str("cuda:1"), "cuda:1"),
    ],
)
def test_a_device_is_a_name_or_a_device_of_haystack(device: Any, name: str | None, load_calls: list[LoadCall]) -> None:
    for module in (sas_evaluator, in_haystack):
        module.SASEvaluator(model="mine", device=device).warm_up()
    assert load_calls == [("mine", name, None)] * 2
    assert SASEvaluator(model="mine", device=device).to_dict()["init_parameters"]["device"] == name


TOKENS: dict[str, tuple[Any, dict[str, str], str | None]] = {
    "no token": (None, {}, None),
    "given": (TOKEN, {"HF_TOKEN": "from the environment"}, TOKEN),
    "given empty": ("", {"HF_TOKEN": "from the environment"}, None),
    "HF_TOKEN": (None, {"HF_TOKEN": TOKEN}, TOKEN),
    "HF_API_TOKEN": (None, {"HF_API_TOKEN": TOKEN, "HF_TOKEN": "second"}, TOKEN),
    "an empty HF_API_TOKEN": (None, {"HF_API_TOKEN": "", "HF_TOKEN": TOKEN}, TOKEN),
    "as Haystack saves it": (ENVIRONMENT, {"HF_TOKEN": TOKEN}, TOKEN),
    "another variable": ({**ENVIRONMENT, "env_vars": ["OTHER_TOKEN"]}, {"OTHER_TOKEN": TOKEN, "HF_TOKEN": "x"}, TOKEN),
    "a variable that is not set": ({**ENVIRONMENT, "env_vars": ["OTHER_TOKEN"]}, {"HF_TOKEN": "x"}, None),
    "Haystack's secret": (Secret.from_token(TOKEN), {"HF_TOKEN": "x"}, TOKEN),
    "Haystack's variable": (Secret.from_env_var("OTHER_TOKEN"), {"OTHER_TOKEN": TOKEN, "HF_TOKEN": "x"}, TOKEN),
}


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_is_given_or_read_from_the_environment_when_the_model_is_loaded(
    name: str, load_calls: list[LoadCall], monkeypatch: pytest.MonkeyPatch
) -> None:
    given, environment, expected = TOKENS[name]
    evaluators = [module.SASEvaluator(model="mine", token=given) for module in (sas_evaluator, in_haystack)]
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    for evaluator in evaluators:
        evaluator.warm_up()
    assert load_calls == [("mine", None, expected)] * 2


STRICT = {**ENVIRONMENT, "strict": True, "env_vars": ["OTHER_TOKEN"]}


@pytest.mark.parametrize("token", [Secret.from_env_var("OTHER_TOKEN"), STRICT], ids=["secret", "saved"])
@pytest.mark.parametrize("module", [sas_evaluator, in_haystack], ids=["ours", "Haystack's"])
def test_a_strict_variable_that_is_not_set_is_an_error_only_when_the_model_is_loaded(
    token: Any, module: Any, load_calls: list[LoadCall], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator = module.SASEvaluator(model="mine", token=token)
    for use in (evaluator.warm_up, lambda: evaluator.run(["a"], ["a"])):
        with pytest.raises(KaratError, match=r"no token in the environment\. Set OTHER_TOKEN"):
            use()
    assert load_calls == []
    monkeypatch.setenv("OTHER_TOKEN", TOKEN)
    evaluator.warm_up()
    assert load_calls == [("mine", None, TOKEN)]


@pytest.mark.parametrize("token", [TOKEN, Secret.from_token(TOKEN)], ids=["text", "secret"])
def test_a_token_is_neither_shown_nor_saved(token: Any) -> None:
    evaluator = SASEvaluator(model="wordllama", token=token)
    pipeline = Pipeline()
    pipeline.add_component("sas", evaluator)
    for text in (repr(evaluator), str(evaluator), f"{evaluator}", repr(pipeline)):
        assert "SASEvaluator" in text
        assert TOKEN not in text
    ours = in_haystack.SASEvaluator(model="wordllama", token=token)
    for save in (evaluator.to_dict, pipeline.to_dict, pipeline.dumps, ours.to_dict):
        with pytest.raises(KaratError, match=r"a token cannot be saved. .* set HF_TOKEN") as raised:
            save()
        assert TOKEN not in repr(raised.value)


def test_a_token_from_the_environment_is_saved_as_the_name_of_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_TOKEN", TOKEN)
    for token in (Secret.from_env_var("OTHER_TOKEN", strict=False), {**ENVIRONMENT, "env_vars": ["OTHER_TOKEN"]}):
        saved = SASEvaluator(model="wordllama", token=token).to_dict()
        assert saved["init_parameters"]["token"] == {"type": "env_var", "env_vars": ["OTHER_TOKEN"], "strict": False}
        assert SASEvaluator.from_dict(saved, allowed_env_vars=["OTHER_TOKEN"]).to_dict() == saved
        with pytest.raises(KaratError, match=r"reads 'OTHER_TOKEN' from the environment.* pass allowed_env_vars=\["):
            SASEvaluator.from_dict(saved)


# Saving, copying, and pipelines.


@each_evaluator
def test_an_evaluator_is_the_same_after_to_dict_copy_and_pickle(evaluator: Any) -> None:
    answers = {"ground_truth_answers": ["the Tower", ["9", "nine"]], "predicted_answers": ["Tower in Paris", "Nine"]}
    for again in (
        type(evaluator).from_dict(json.loads(json.dumps(evaluator.to_dict()))),
        copy.copy(evaluator),
        copy.deepcopy(evaluator),
        pickle.loads(pickle.dumps(evaluator)),
    ):
        assert again is not evaluator
        assert again.to_dict() == evaluator.to_dict()
        assert repr(again) == repr(evaluator)
        assert again.run(**answers) == evaluator.run(**answers)


@pytest.mark.parametrize(
    ("evaluator", "name", "parameters"),
    [
        (EXACT, "answer_exact_match.AnswerExactMatchEvaluator", {}),
        (AnswerF1Evaluator("neutral"), "answer_f1.AnswerF1Evaluator", {"normalize": "neutral"}),
        (AnswerMeasureEvaluator("rougeL"), "answer_measure.AnswerMeasureEvaluator", {"measure": "RougeL"}),
        (
            SASEvaluator("wordllama", 7, "cpu"),
            "sas_evaluator.SASEvaluator",
            {"model": "wordllama", "batch_size": 7, "device": "cpu", "token": None},
        ),
    ],
    ids=repr,
)
def test_the_dictionary_names_the_class_and_its_parameters(evaluator: Any, name: str, parameters: Any) -> None:
    assert evaluator.to_dict() == {"type": f"karat.components.evaluators.{name}", "init_parameters": parameters}


@pytest.mark.parametrize("kind", [AnswerExactMatchEvaluator, AnswerF1Evaluator, AnswerMeasureEvaluator, SASEvaluator])
@pytest.mark.parametrize("data", [None, {}, {"type": "x"}, {"type": 5, "init_parameters": {}}])
def test_a_dictionary_that_does_not_describe_the_evaluator_is_rejected(kind: Any, data: Any) -> None:
    with pytest.raises(KaratError):
        kind.from_dict(data)


def test_a_dictionary_with_an_unknown_parameter_is_rejected_with_the_most_similar_one() -> None:
    data = {**STATIC.to_dict(), "init_parameters": {"modle": "wordllama"}}
    with pytest.raises(KaratError, match=r"has no parameter 'modle'. Did you mean model"):
        SASEvaluator.from_dict(data)


def test_the_example_of_haystacks_documentation_runs_before_and_after_json() -> None:
    pipeline = Pipeline()
    pipeline.add_component("em_evaluator", AnswerExactMatchEvaluator())
    pipeline.add_component("sas_evaluator", SASEvaluator(model="wordllama"))
    again = Pipeline.loads(pipeline.dumps())
    assert again == pipeline
    for each in (pipeline, again):
        each.warm_up()
        result = each.run({"em_evaluator": CAPITALS, "sas_evaluator": CAPITALS})
        assert result["em_evaluator"] == {"score": 0.5, "individual_scores": [1, 0]}
        assert result["sas_evaluator"] == STATIC.run(**CAPITALS)
        berlin, paris = result["sas_evaluator"]["individual_scores"]
        assert 0 < paris < berlin == 1
        assert each.run(CAPITALS) == result


def test_evaluators_return_the_same_in_a_pipeline_as_alone() -> None:
    pipeline = Pipeline()
    for at, evaluator in enumerate(ALL):
        pipeline.add_component(str(at), evaluator)
    answers = {"ground_truth_answers": ["the Tower", ["9", "nine"]], "predicted_answers": ["Tower in Paris", "Nine"]}
    assert pipeline.run(answers) == {str(at): evaluator.run(**answers) for at, evaluator in enumerate(ALL)}


def test_an_error_in_the_answers_names_the_component() -> None:
    pipeline = Pipeline()
    pipeline.add_component("sas", STATIC)
    with pytest.raises(KaratError, match=r"component sas: predicted_answers\[0\] is 5"):
        pipeline.run({"sas": {"ground_truth_answers": ["a"], "predicted_answers": [5]}})


@pytest.mark.parametrize("device", [None, {"type": "single", "device": "cpu"}])
def test_a_pipeline_saved_by_haystack_is_loaded_with_karat_evaluators(device: Any) -> None:
    theirs = "haystack.components.evaluators"
    parameters = {"model": "wordllama", "batch_size": 4, "device": device, "token": ENVIRONMENT}
    saved = {
        "metadata": {},
        "max_runs_per_component": 100,
        "components": {
            "em": {"type": f"{theirs}.answer_exact_match.AnswerExactMatchEvaluator", "init_parameters": {}},
            "sas": {"type": f"{theirs}.sas_evaluator.SASEvaluator", "init_parameters": parameters},
        },
        "connections": [],
        "connection_type_validation": True,
    }
    pipeline = Pipeline.from_dict(saved)
    evaluator = pipeline.get_component("sas")
    assert isinstance(evaluator, SASEvaluator)
    assert (evaluator.model, evaluator.batch_size, evaluator.device) == ("wordllama", 4, device and "cpu")
    again = Pipeline.loads(pipeline.dumps())
    assert again.get_component("sas").to_dict()["init_parameters"] == {**parameters, "device": device and "cpu"}
    assert again.run(CAPITALS) == {"em": EXACT.run(**CAPITALS), "sas": STATIC.run(**CAPITALS)}


def test_a_pipeline_with_an_evaluator_of_haystack_is_loaded() -> None:
    theirs = haystack.components.evaluators.AnswerExactMatchEvaluator
    name = f"{theirs.__module__}.{theirs.__name__}"
    pipeline = haystack.Pipeline()
    pipeline.add_component("em", theirs())
    saved = pipeline.to_dict()
    assert saved["components"]["em"]["type"] == name
    assert Pipeline.from_dict(saved).run(CAPITALS) == {"em": EXACT.run(**CAPITALS)}
