"""The evaluators of documents, and exact match: their scores, warnings and errors."""

from __future__ import annotations

import logging
import math
from enum import Enum
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from karat import Document, KaratError, Pipeline, definitions, evaluate
from karat.components.evaluators import (
    AnswerExactMatchEvaluator,
    DocumentMAPEvaluator,
    DocumentMeasureEvaluator,
    DocumentMRREvaluator,
    DocumentNDCGEvaluator,
    DocumentRecallEvaluator,
)
from karat.components.evaluators.document_recall import RecallMode
from karat.matching.joiner import join_lists
from karat.matching.matchers import Same
from karat.measures import nDCG
from karat.registry.measure import Definition

CENTURIES = {
    "ground_truth_documents": [
        [Document(content="France")],
        [Document(content="9th century"), Document(content="9th")],
    ],
    "retrieved_documents": [
        [Document(content="France")],
        [Document(content="9th century"), Document(content="10th century"), Document(content="9th")],
    ],
}
ALL: list[Any] = [
    DocumentRecallEvaluator(),
    DocumentRecallEvaluator("multi_hit"),
    DocumentMAPEvaluator(),
    DocumentMAPEvaluator(convention="standard"),
    DocumentMRREvaluator(),
    DocumentNDCGEvaluator(),
    DocumentMeasureEvaluator("P@2"),
    DocumentMeasureEvaluator("nDCG@10"),
]
each_evaluator = pytest.mark.parametrize("evaluator", ALL, ids=repr)

TEXTS = st.sampled_from(["a", "b", "c", "d", "", None])
DOCUMENTS = st.builds(Document, content=TEXTS)
LISTS = st.lists(st.tuples(st.lists(DOCUMENTS, max_size=5), st.lists(DOCUMENTS, max_size=6)), min_size=1, max_size=4)


def individual(evaluator: Any, golds: list[Any], retrieved: list[Any]) -> list[float]:
    result = evaluator.run(ground_truth_documents=golds, retrieved_documents=retrieved)
    scores: list[float] = result["individual_scores"]
    return scores


@pytest.mark.parametrize(
    ("evaluator", "scores"),
    [
        (DocumentRecallEvaluator(), [1.0, 1.0]),
        (DocumentRecallEvaluator(RecallMode.MULTI_HIT), [1.0, 1.0]),
        (DocumentMAPEvaluator(), [1.0, 0.8333333333333333]),
        (DocumentMRREvaluator(), [1.0, 1.0]),
        (DocumentNDCGEvaluator(), [1.0, 1.5 / (1 + 1 / math.log2(3))]),
        (DocumentMeasureEvaluator("P@1"), [1.0, 1.0]),
    ],
    ids=repr,
)
def test_each_question_has_a_score_and_the_overall_score_is_the_mean(evaluator: Any, scores: list[float]) -> None:
    result = evaluator.run(**CENTURIES)
    assert result["individual_scores"] == pytest.approx(scores, abs=1e-15)
    assert result["score"] == math.fsum(result["individual_scores"]) / 2
    assert list(result) == ["score", "individual_scores"]
    assert {type(score) for score in result["individual_scores"]} == {float}


def test_recall_is_whether_one_document_was_found_or_the_share_of_those_found() -> None:
    golds, retrieved = [[Document("Paris"), Document("France")]], [[Document("Paris"), Document("Berlin")]]
    assert individual(DocumentRecallEvaluator(), golds, retrieved) == [1.0]
    assert individual(DocumentRecallEvaluator(mode="multi_hit"), golds, retrieved) == [0.5]


def test_map_divides_by_the_documents_found_or_by_all_relevant_documents() -> None:
    golds, retrieved = [["a", "b", "c"]], [["x", "a"]]
    assert individual(DocumentMAPEvaluator(), golds, retrieved) == [0.5]
    assert individual(DocumentMAPEvaluator(convention="standard"), golds, retrieved) == [1 / 6]


def test_if_no_convention_was_chosen_one_warning_shows_both_maps(caplog: pytest.LogCaptureFixture) -> None:
    result = DocumentMAPEvaluator().run([["a", "b", "c"], ["a"]], [["x", "a"], ["a"]])
    assert result == {"score": 0.75, "individual_scores": [0.5, 1.0]}
    assert caplog.messages == [
        'karat: MAP is 0.7500 with convention="found", which is used here, and 0.5833 with convention="standard"; '
        "they differ for 1 of 2 questions. Pass the convention that you want to DocumentMAPEvaluator."
    ]


def test_maps_that_differ_only_by_rounding_give_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    retrieved = [*"wxyz", "a"] * 3  # 1 / 5, or the mean of 1 / 5, 2 / 10 and 3 / 15
    assert individual(DocumentMAPEvaluator(), [["a"]], [retrieved]) == [0.20000000000000004]
    assert individual(DocumentMAPEvaluator(convention="standard"), [["a"]], [retrieved]) == [0.2]
    assert not caplog.records


@pytest.mark.parametrize("convention", ["found", "standard"])
def test_a_chosen_convention_gives_no_warning(convention: Any, caplog: pytest.LogCaptureFixture) -> None:
    DocumentMAPEvaluator(convention=convention).run([["a", "b", "c"]], [["x", "a"]])
    assert not caplog.records


class Text(str):
    """A text that is read as another one."""

    __slots__ = ()

    def __str__(self) -> str:
        return "b"


FIELDS = st.builds(
    SimpleNamespace,
    content=st.sampled_from(["a", "b", "c", "1", ""]) | st.sampled_from(["a", "b", "", None, 1, Text("a")]),
    score=st.none() | st.sampled_from([None, None, 1, 2.5]),
) | st.builds(SimpleNamespace, content=st.sampled_from(["a", "b", "c"]))
SEVERAL = st.lists(FIELDS, max_size=5)


@given(lists=st.lists(st.tuples(SEVERAL, SEVERAL), min_size=1, max_size=4))
def test_documents_as_objects_are_matched_like_the_same_documents_as_mappings(
    lists: list[tuple[list[SimpleNamespace], list[SimpleNamespace]]],
) -> None:
    """Most lists of objects are read in one pass; mappings are always read one by one."""
    golds, retrieved = [gold for gold, _ in lists], [found for _, found in lists]
    found = join_lists(golds, retrieved, Same("content"), ("golds", "retrieved"))
    expected = join_lists(
        [list(map(vars, gold)) for gold in golds],
        [list(map(vars, documents)) for documents in retrieved],
        Same("content"),
        ("golds", "retrieved"),
    )
    for name, value in expected._asdict().items():
        mine = getattr(found, name)
        same = str(mine) == str(value) if isinstance(value, KaratError) else np.array_equal(mine, value)
        assert same, name


@given(lists=LISTS)
def test_maps_are_compared_question_by_question_and_a_difference_is_a_warning(lists: list[Any]) -> None:
    golds, retrieved = [gold for gold, _ in lists], [found for _, found in lists]
    found = individual(DocumentMAPEvaluator(convention="found"), golds, retrieved)
    standard = individual(DocumentMAPEvaluator(convention="standard"), golds, retrieved)
    log = logging.getLogger("karat.components.evaluators.document_map")
    with patch.object(log, "warning") as warning:
        assert individual(DocumentMAPEvaluator(), golds, retrieved) == found
    assert warning.call_count == (found != pytest.approx(standard))


def test_a_convention_that_was_not_chosen_is_not_saved_so_that_the_warning_stays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pipeline = Pipeline()
    pipeline.add_component("map", DocumentMAPEvaluator())
    pipeline.add_component("standard", DocumentMAPEvaluator(convention="standard"))
    loaded = Pipeline.loads(pipeline.dumps())
    lists = {"ground_truth_documents": [["a", "b"]], "retrieved_documents": [["a"]]}
    assert loaded.run(lists) == pipeline.run(lists)
    assert loaded.run(lists)["map"]["score"] == 1.0
    assert len(caplog.records) == 3  # one for each run
    assert DocumentMAPEvaluator().to_dict()["init_parameters"] == {"document_comparison_field": "content"}


def test_a_repeated_document_is_credited_again_only_by_map_with_the_convention_found() -> None:
    golds, retrieved = [["a"]], [["a", "x", "a"]]
    assert individual(DocumentMAPEvaluator(), golds, retrieved) == [pytest.approx((1 + 2 / 3) / 2)]
    for evaluator in (DocumentMAPEvaluator(convention="standard"), DocumentNDCGEvaluator(), DocumentMRREvaluator()):
        assert individual(evaluator, golds, retrieved) == [1.0]


def test_a_gold_document_given_twice_counts_once_with_its_larger_grade() -> None:
    golds = [[Document("a", score=1), Document("a", score=3), Document("a", score=1), Document("b", score=2)]]
    assert individual(DocumentNDCGEvaluator(), golds, [["a", "b"]]) == [1.0]
    assert individual(DocumentRecallEvaluator("multi_hit"), golds, [["a"]]) == [0.5]


def test_the_score_of_a_gold_document_is_its_grade_in_ndcg() -> None:
    golds = [[Document("France", score=1.0), Document("Paris", score=0.5)]]
    (score,) = individual(DocumentNDCGEvaluator(), golds, [["France", "Germany", "Paris"]])
    assert score == pytest.approx((1 + 0.5 / 2) / (1 + 0.5 / math.log2(3)))


@pytest.mark.parametrize("score", [0.5, 0, -3, math.nan])
def test_only_graded_measures_read_the_scores_of_gold_documents(score: Any) -> None:
    golds = [[Document("a", score=score), Document("b")]]
    for evaluator in ALL:
        if "nDCG" in evaluator.measure:
            with pytest.raises(KaratError, match="ground_truth_documents, query 0: "):
                individual(evaluator, golds, [["a", "b"]])
        else:
            assert individual(evaluator, golds, [["a", "b"]]) == [1.0]


@pytest.mark.parametrize("score", [-3, -0.001, math.nan, math.inf, 10**400])
def test_a_score_that_is_not_a_valid_grade_is_an_error_only_in_ndcg(score: float) -> None:
    golds = [[Document("a", score=score)]]
    with pytest.raises(ValueError, match="ground_truth_documents, query 0: a gold document has the score"):
        individual(DocumentNDCGEvaluator(), golds, [["a"]])
    assert individual(DocumentRecallEvaluator(), golds, [["a"]]) == [1.0]


def test_a_warning_names_all_questions_without_truth(caplog: pytest.LogCaptureFixture) -> None:
    individual(DocumentMRREvaluator(), [[]] * 10, [["a"]] * 10)
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8, 9." in caplog.text


def test_a_grade_of_0_gains_nothing() -> None:
    golds = [[Document("a", score=0), Document("b", score=0)]]
    assert individual(DocumentNDCGEvaluator(), golds, [["a", "b"]]) == [0.0]


def test_the_scores_of_gold_documents_apply_only_to_their_own_question() -> None:
    golds = [[Document("a", score=4), Document("b", score=1)], [Document("a"), Document("b")]]
    first, second = individual(DocumentNDCGEvaluator(), golds, [["b", "a"], ["b", "a"]])
    assert first < 1
    assert second == 1


GRADED = st.lists(st.builds(Document, content=TEXTS, score=st.integers(0, 3)), max_size=5)
GRADED_LISTS = st.lists(
    st.tuples(GRADED | st.lists(DOCUMENTS, max_size=5), st.lists(DOCUMENTS, max_size=6)), min_size=1, max_size=4
)


@given(lists=GRADED_LISTS)
def test_ndcg_is_dcg_divided_by_ideal_dcg(lists: list[Any]) -> None:
    evaluator = DocumentNDCGEvaluator()
    for golds, retrieved in lists:
        dcg, ideal = evaluator.calculate_dcg(golds, retrieved), evaluator.calculate_idcg(golds)
        assert 0 <= dcg <= ideal
        assert individual(evaluator, [golds], [retrieved]) == [dcg / ideal if ideal else 0.0]
        evaluator.validate_inputs([golds], [retrieved])


def test_dcg_and_ideal_dcg_give_no_warnings(caplog: pytest.LogCaptureFixture) -> None:
    evaluator = DocumentNDCGEvaluator("meta.page")
    assert evaluator.calculate_dcg([], []) == evaluator.calculate_idcg([]) == 0.0
    assert evaluator.calculate_idcg([Document("a", meta={"page": page}) for page in (1, 2, 2, None)]) == (
        pytest.approx(1 + 1 / math.log2(3))
    )
    assert not caplog.records


@pytest.mark.parametrize(
    ("golds", "retrieved", "match"),
    [
        ([], [], "length 0"),
        ([["a"]], [["a"], ["b"]], "length 1 and retrieved_documents has length 2"),
        ([[Document("a", score=1), Document("b")]], [["a"]], "query 0: "),
    ],
)
def test_validate_inputs_rejects_what_run_rejects(golds: Any, retrieved: Any, match: str) -> None:
    for check in (DocumentNDCGEvaluator.validate_inputs, DocumentNDCGEvaluator().run):
        with pytest.raises(ValueError, match=match):
            check(golds, retrieved)


@given(lists=GRADED_LISTS)
def test_scores_equal_those_of_evaluate_on_the_same_lists(lists: list[Any]) -> None:
    golds, retrieved = [gold for gold, _ in lists], [found for _, found in lists]
    # evaluate rejects a field that no document has.
    assume(
        all(
            any(document.content for each in lists for document in each) or not any(lists)
            for lists in (golds, retrieved)
        )
    )
    for evaluator in ALL:
        expected = evaluate(golds, retrieved, evaluator.measure, match="content").column(evaluator.measure)
        assert individual(evaluator, golds, retrieved) == pytest.approx(list(expected), abs=1e-12), evaluator.measure


@given(lists=LISTS)
def test_scores_are_between_0_and_1(lists: list[Any]) -> None:
    golds, retrieved = [gold for gold, _ in lists], [found for _, found in lists]
    for evaluator in ALL:
        assert all(0 <= score <= 1 for score in individual(evaluator, golds, retrieved))


@given(lists=LISTS)
def test_evaluators_return_the_same_in_a_pipeline_as_alone(lists: list[Any]) -> None:
    inputs = {
        "ground_truth_documents": [gold for gold, _ in lists],
        "retrieved_documents": [found for _, found in lists],
    }
    pipeline = Pipeline()
    for at, evaluator in enumerate(ALL):
        pipeline.add_component(str(at), evaluator)
    assert pipeline.run(inputs) == {str(at): evaluator.run(**inputs) for at, evaluator in enumerate(ALL)}


ON_DOCUMENTS = [definition for definition in definitions() if definition.takes == "judged"]


@pytest.mark.parametrize("definition", ON_DOCUMENTS, ids=lambda definition: definition.name)
def test_every_measure_of_documents_can_be_used_in_an_evaluator(definition: Definition) -> None:
    measure = f"{definition.name}@{definition.example_at}" if definition.at else definition.name
    result = DocumentMeasureEvaluator(measure).run([["a", "b"], ["c"]], [["x", "a"], ["c"]])
    assert result["score"] == pytest.approx(evaluate([["a", "b"], ["c"]], [["x", "a"], ["c"]], measure)[measure])


def test_a_measure_is_given_by_name_or_as_an_object() -> None:
    assert DocumentMeasureEvaluator(nDCG @ 5).measure == DocumentMeasureEvaluator("ndcg_cut_5").measure == "nDCG@5"


@pytest.mark.parametrize("field", ["id", "content", "meta.file", "meta.source.url"])
def test_documents_are_compared_by_the_given_field(field: str) -> None:
    gold = Document("text", id="1", meta={"file": "f", "source": {"url": "u"}})
    other = Document("no text", id="2", meta={"file": "g", "source": {"url": "v"}})
    same = {
        "id": Document("x", id="1"),
        "content": Document("text", id="3"),
        "meta.file": Document("x", meta={"file": "f"}),
        "meta.source.url": Document("x", meta={"source": {"url": "u"}}),
    }
    evaluator = DocumentMRREvaluator(document_comparison_field=field)
    assert individual(evaluator, [[gold]], [[other, same[field]]]) == [0.5]


def test_gold_documents_can_be_given_as_values_of_the_field() -> None:
    evaluator = DocumentMRREvaluator("meta.page")
    assert individual(evaluator, [[7, "8"]], [[Document("x", meta={"page": 7})]]) == [1.0]


@each_evaluator
def test_none_and_empty_texts_match_nothing_and_are_not_relevant(evaluator: Any) -> None:
    nothing = [Document(content=None), Document(content="")]
    assert individual(evaluator, [nothing], [nothing]) == [0.0]
    assert individual(evaluator, [[*nothing, Document("a")]], [[Document("a"), *nothing]]) == (
        [1.0] if evaluator.measure != "P@2" else [0.5]
    )


def test_questions_without_truth_or_documents_are_named_in_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    golds: list[Any] = [["a"], [], [None], ["a"], ["a"]]
    retrieved: list[Any] = [["a"], ["a"], ["a"], [], [Document()]]
    with caplog.at_level(logging.WARNING):
        assert individual(DocumentRecallEvaluator("multi_hit"), golds, retrieved) == [1.0, 0, 0, 0, 0]
    (record,) = caplog.records
    assert record.getMessage() == (
        "karat: 2 queries with empty ground truth (scored 0): 1, 2. "
        "2 queries of the run without documents that can match (scored 0): 3, 4. "
        "1 judged document without content (cannot match)."
    )


def test_a_warning_names_the_field_that_gold_documents_lack(caplog: pytest.LogCaptureFixture) -> None:
    golds = [[Document("x", meta={"file_id": "1"}), Document("y", meta={"file": "1"})]]
    with caplog.at_level(logging.WARNING):
        DocumentRecallEvaluator("multi_hit", "meta.file").run(golds, [[Document("x", meta={"file": "1"})]])
    assert caplog.messages == ["karat: 1 judged document without meta.file (cannot match)."]


def test_retrieved_texts_have_no_metadata_but_a_gold_text_may_be_the_value_of_a_field() -> None:
    evaluator = DocumentMRREvaluator("meta.file")
    with pytest.raises(
        KaratError, match=r"retrieved_documents, query 0: retrieved documents that are texts have no met"
    ):
        evaluator.run([["a"]], [["a"]])
    assert evaluator.run([["a"]], [[Document("x", meta={"file": "a"})]])["score"] == 1


def test_a_warning_shows_control_characters_of_a_field_as_escapes(caplog: pytest.LogCaptureFixture) -> None:
    DocumentRecallEvaluator("multi_hit", "meta.a\x1b[2J\n").run(
        [["a", Document("x")]], [[Document("y", meta={"a\x1b[2J\n": "a"})]]
    )
    assert caplog.messages == [r"karat: 1 judged document without meta.a\x1b[2J\n (cannot match)."]


def test_the_warning_for_an_empty_list_differs_from_that_for_documents_without_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    individual(DocumentMRREvaluator(), [["a"]], [[]])
    assert caplog.messages == ["karat: 1 query of the run without documents (scored 0): 0."]


def test_a_pipeline_warns_once_for_all_its_evaluators(caplog: pytest.LogCaptureFixture) -> None:
    pipeline = Pipeline()
    pipeline.add_component("recall", DocumentRecallEvaluator())
    pipeline.add_component("map", DocumentMAPEvaluator())
    with caplog.at_level(logging.WARNING):
        pipeline.run({"ground_truth_documents": [[]], "retrieved_documents": [[]]})
    assert len(caplog.records) == 1


def test_complete_data_gives_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        DocumentRecallEvaluator().run([["a"], ["b"]], [["x"], ["b"]])
    assert not caplog.records


def test_if_nothing_is_found_the_warning_suggests_to_match_by_chunk(caplog: pytest.LogCaptureFixture) -> None:
    DocumentRecallEvaluator().run([["Gold is soft."]], [["is soft"]])
    assert "match='chunk'" in caplog.text


@each_evaluator
@pytest.mark.parametrize(
    ("golds", "retrieved", "match"),
    [
        ([], [], "ground_truth_documents has length 0 and retrieved_documents has length 0"),
        ([["a"]], [], "ground_truth_documents has length 1 and retrieved_documents has length 0"),
        ([["a"]], [["a"], ["b"]], "ground_truth_documents has length 1 and retrieved_documents has length 2"),
        ("ab", "ab", "ground_truth_documents: 'ab' is not a list"),
        ([["a"]], None, "retrieved_documents: None is not a list"),
        (["a"], [["a"]], "ground_truth_documents, query 0: 'a' is not a list"),
        ([["a"]], [{"content": "a"}], "retrieved_documents, query 0: .* is not a list"),
        ([["a"]], [{"a"}], "retrieved_documents, query 0: .* is not a list. A set has no order"),
        ([["a"]], [iter("a")], r"retrieved_documents, query 0: .* is not a list. Wrap it in list\(\.\.\.\)"),
        ([["a"]], np.array([["a"]]), r"retrieved_documents: .* is not a list. Call \.tolist\(\) on it"),
        ([["a"]], [pd.DataFrame({"content": ["a"]})], "retrieved_documents, query 0: .* is not a list"),
        ([["a"], [object()]], [["a"], ["b"]], "ground_truth_documents, query 1: .* is not a document"),
        ([["a"]], [[5.5]], "retrieved_documents, query 0: 5.5 is not a document"),
    ],
)
def test_invalid_lists_are_rejected_with_their_place(evaluator: Any, golds: Any, retrieved: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match) as raised:
        individual(evaluator, golds, retrieved)
    assert isinstance(raised.value, KaratError)


@pytest.mark.parametrize("field", ["contents", "meta", "", "blob", None])
def test_an_invalid_field_is_rejected_by_the_constructor(field: Any) -> None:
    for make in (DocumentRecallEvaluator, DocumentMAPEvaluator, DocumentMRREvaluator, DocumentNDCGEvaluator):
        with pytest.raises(ValueError, match=r'fields are "content", "id" and "meta\.name"'):
            make(document_comparison_field=field)


def test_a_recall_mode_is_given_as_a_member_or_by_name() -> None:
    assert RecallMode.from_str("single_hit") is RecallMode.SINGLE_HIT
    assert str(RecallMode.MULTI_HIT) == "multi_hit"
    assert DocumentRecallEvaluator("multi_hit").mode is RecallMode.MULTI_HIT
    for mode in ("multi-hit", "", None, 5):
        with pytest.raises(ValueError, match="The modes are single_hit, multi_hit"):
            DocumentRecallEvaluator(mode=mode)  # type: ignore[arg-type]


def test_the_recall_mode_of_another_library_is_accepted() -> None:
    class Mode(Enum):
        MULTI_HIT = "multi_hit"

    assert DocumentRecallEvaluator(Mode.MULTI_HIT).mode is RecallMode.MULTI_HIT


def test_an_unknown_convention_or_measure_is_rejected() -> None:
    with pytest.raises(KaratError, match="convention='trec' is not one of found, standard"):
        DocumentMAPEvaluator(convention="trec")  # type: ignore[arg-type]
    with pytest.raises(KaratError, match="Did you mean nDCG"):
        DocumentMeasureEvaluator("nDGC@10")
    with pytest.raises(KaratError):
        DocumentMeasureEvaluator(5)  # type: ignore[arg-type]


@each_evaluator
def test_an_evaluator_is_the_same_after_to_dict(evaluator: Any) -> None:
    data = evaluator.to_dict()
    again = type(evaluator).from_dict(data)
    assert again.to_dict() == data
    assert repr(again) == repr(evaluator)
    assert again.run(**CENTURIES) == evaluator.run(**CENTURIES)


def test_the_dictionary_of_an_evaluator_names_its_class_and_parameters() -> None:
    assert DocumentRecallEvaluator("multi_hit", "meta.file").to_dict() == {
        "type": "karat.components.evaluators.document_recall.DocumentRecallEvaluator",
        "init_parameters": {"mode": "multi_hit", "document_comparison_field": "meta.file"},
    }


@pytest.mark.parametrize("data", [None, {}, {"type": "x"}, {"type": 5, "init_parameters": {}}])
def test_a_dictionary_that_does_not_describe_the_evaluator_is_rejected(data: Any) -> None:
    with pytest.raises(KaratError):
        DocumentMRREvaluator.from_dict(data)


def test_answers_match_character_by_character() -> None:
    result = AnswerExactMatchEvaluator().run(["Berlin", "Paris", "", "é"], ["Berlin", "paris", "", "e\u0301"])
    assert result == {"score": 0.5, "individual_scores": [1, 0, 1, 0]}
    assert {type(score) for score in result["individual_scores"]} == {int}


def test_none_does_not_match_none() -> None:
    assert AnswerExactMatchEvaluator().run([None, "a", None], [None, None, "a"])["individual_scores"] == [0, 0, 0]


@pytest.mark.parametrize(
    ("truth", "predicted", "match"),
    [
        ([], [], "ground_truth_answers has length 0 and predicted_answers has length 0"),
        (["a"], ["a", "b"], "ground_truth_answers has length 1 and predicted_answers has length 2"),
        ("a", "a", "ground_truth_answers: 'a' is not a list"),
        (["a"], [5], r"predicted_answers\[0\]: 5 is not text"),
    ],
)
def test_invalid_answers_are_rejected(truth: Any, predicted: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        AnswerExactMatchEvaluator().run(truth, predicted)


@pytest.mark.parametrize("text", ["\ud800", "\x00", "a" * 1_000_000, "{}", "(?P<x>", "\u202e", "\N{GRINNING FACE}"])
def test_any_text_matches_itself(text: str) -> None:
    assert individual(DocumentMRREvaluator(), [[Document(text)]], [[Document(text + "x"), Document(text)]]) == [0.5]
