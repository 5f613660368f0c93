"""Verdicts as data: unknown labels, what is assumed for them, and queries taken several times."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import karat
from karat.data.judged import Floats
from karat.data.verdicts import AGAINST, SETS, Labels, Relation, Verdicts, both, either
from karat.errors import KaratError, Place
from karat.grounding.verdict_file.reading import read_verdict_records
from karat.grounding.verdict_file.records import Call, Item, kind_of, read_call, read_item, text_digest
from karat.grounding.verdict_file.tasks import BUILT_IN, read_task

NAN = np.nan
HERE = Place("here")


def verdicts(
    items: Sequence[tuple[int, str, int]],
    labels: Sequence[tuple[int, str, int, float]],
    cites: Sequence[tuple[int, int]] = (),
    queries: int = 1,
    unlisted: Sequence[tuple[str, int]] = (),
) -> Verdicts:
    """Verdicts from (query, set, rank) and (item, against, passage, value), all about support."""
    listed = np.ones((len(SETS), queries), bool)
    for name, query in unlisted:
        listed[SETS.index(name), query] = False
    return Verdicts(
        queries=tuple(f"q{query}" for query in range(queries)),
        item_query=np.array([query for query, _, _ in items], np.int64),
        item_set=np.array([SETS.index(name) for _, name, _ in items], np.int64),
        item_rank=np.array([rank for _, _, rank in items], np.int64),
        item_vital=np.zeros(len(items), bool),
        listed=listed,
        cite_sentence=np.array([sentence for sentence, _ in cites], np.int64),
        cite_passage=np.array([passage for _, passage in cites], np.int64),
        tasks=("support",),
        label_task=np.zeros(len(labels), np.int64),
        label_item=np.array([item for item, _, _, _ in labels], np.int64),
        label_against=np.array([AGAINST.index(against) for _, against, _, _ in labels], np.int64),
        label_passage=np.array([passage for _, _, passage, _ in labels], np.int64),
        label_value=np.array([value for _, _, _, value in labels], np.float64),
        label_contradicts=np.zeros(len(labels)),
    )


CLAIM_AND_TWO_PASSAGES = [(0, "claims", 0), (0, "passages", 2), (0, "passages", 1)]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([(0, "context", -1, 0.5)], 0.5),
        ([(0, "passage", 1, 1.0)], 1.0),
        ([(0, "passage", 1, 0.5)], NAN),
        ([(0, "passage", 1, 0.5), (0, "passage", 2, 0.0)], 0.5),
        ([(0, "context", -1, 0.0), (0, "passage", 1, 1.0)], 0.0),
        ([], NAN),
    ],
    ids=["by the context", "full by one", "one unknown", "highest", "the context counts first", "no label"],
)
def test_support_by_the_context_is_the_highest_support_by_a_passage(
    labels: list[tuple[int, str, int, float]], expected: float
) -> None:
    found = verdicts(CLAIM_AND_TWO_PASSAGES, labels).support("claims", "context").value
    np.testing.assert_array_equal(found, [expected])


def test_support_is_unknown_if_the_passages_are_unknown_and_zero_without_passages() -> None:
    items = [(0, "claims", 0), (1, "claims", 0)]
    found = verdicts(items, [], queries=2, unlisted=[("passages", 0)]).support("claims", "context").value
    np.testing.assert_array_equal(found, [NAN, 0.0])


def test_an_assumption_fills_unknown_labels_but_not_below_what_is_known() -> None:
    partly = verdicts(CLAIM_AND_TWO_PASSAGES, [(0, "passage", 1, 0.5)])
    relation = Relation("support", "claims", "context")
    assert partly.assuming({relation: 0.0}).support("claims", "context").value == [0.5]
    assert partly.assuming({relation: 1.0}).support("claims", "context").value == [1.0]


def test_of_two_cited_passages_the_other_one_is_what_is_left() -> None:
    items = [(0, "sentences", 0), (0, "passages", 1), (0, "passages", 2)]
    cited = verdicts(items, [(0, "passage", 1, 1.0)], cites=[(0, 1), (0, 2)]).citations
    np.testing.assert_array_equal(cited.alone.value, [1.0, NAN])
    np.testing.assert_array_equal(cited.others.value, [NAN, 1.0])
    np.testing.assert_array_equal(cited.together.value, [NAN])


def test_a_sentence_with_one_valid_citation_is_supported_by_it_alone() -> None:
    items = [(0, "sentences", 0), (0, "passages", 1), (0, "sentences", 0)]
    cited = verdicts(items, [(0, "passage", 1, 1.0)], cites=[(0, 1), (0, -1)]).citations
    np.testing.assert_array_equal(cited.together.value, [1.0, 0.0])
    np.testing.assert_array_equal(cited.others.value, [0.0, 0.0])
    np.testing.assert_array_equal(cited.alone.value, [1.0, 0.0])


def test_claims_and_passages_whose_pairs_do_not_fit_into_memory_are_an_error_that_names_the_query() -> None:
    claims, passages = [(1, "claims", 0)] * 20_000, [(1, "passages", at) for at in range(6_000)]
    with pytest.raises(KaratError, match="120,000,000 pairs of claims and passages") as error:
        verdicts([(0, "claims", 0), *claims, *passages], [], queries=2).pairs("support", "claims")
    assert error.value.hint == "The query 'q1' has 20,000 claims and 6,000 passages."


def test_a_query_can_be_taken_several_times() -> None:
    items = [(0, "claims", 0), (1, "claims", 0), (1, "passages", 1), (1, "sentences", 0)]
    whole = verdicts(items, [(0, "gold", -1, 0.5), (1, "passage", 2, 1.0)], cites=[(3, 2)], queries=2)
    taken = whole.take(np.array([1, 0, 1]))
    assert taken.queries == ("q1", "q0", "q1")
    np.testing.assert_array_equal(taken.support("claims", "context").value, [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(taken.support("claims", "gold").value, [NAN, 0.5, NAN])
    np.testing.assert_array_equal(taken.cite_passage, [1, 5])


def test_what_is_certain_whatever_unknown_labels_are_is_known() -> None:
    truth, unknown = np.array([0.0, 1.0, NAN]), np.full(3, NAN)
    np.testing.assert_array_equal(both(truth, unknown), [0.0, NAN, NAN])
    np.testing.assert_array_equal(either(truth, unknown), [NAN, 1.0, NAN])
    labels = Labels(3, np.array([0, 0, 1, 1]), np.array([1.0, NAN, 0.0, NAN]))
    np.testing.assert_array_equal(labels.highest(), [1.0, NAN, NAN])
    np.testing.assert_array_equal(labels.mean(), [NAN, NAN, NAN])


def test_partial_support_counts_as_much_as_it_is_told_to() -> None:
    labels = Labels(1, np.zeros(4, np.int64), np.array([0.0, 0.5, 1.0, NAN]))
    np.testing.assert_array_equal(labels.with_partial(0).value, [0.0, 0.0, 1.0, NAN])
    np.testing.assert_array_equal(labels.with_partial(1).value, [0.0, 1.0, 1.0, NAN])


ITEM = {"query": "q", "id": "s1", "type": "sentence", "text": "Gold is soft. [1]", "cites": ["p1", "p1", "[7]"]}


def test_an_item_is_written_as_it_is_read_with_the_digest_of_its_text() -> None:
    item = read_item(ITEM, "here")
    assert item.cites == ("p1", "[7]")
    written = item.record()
    assert written["digest"] == text_digest("Gold is soft. [1]")
    assert read_item(written, "here") == item._replace(digest=written["digest"])


def test_a_text_that_was_changed_after_it_was_labelled_is_noticed() -> None:
    assert Item("q", "c", "claim", text="Gold is hard.", digest=text_digest("Gold is soft.")).is_corrected
    assert not Item("q", "c", "claim", text="Gold is soft.", digest=text_digest("Gold is soft.")).is_corrected
    assert not Item("q", "c", "claim", text="Gold is soft.").is_corrected


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("query", None, "the field query is missing"),
        ("id", [1], "is not an id"),
        ("id", "context", "the id of a sentence is 'context'"),
        ("type", "sentense", "Did you mean sentence?"),
        ("type", None, "the item has no type"),
        ("of", "gould", "Did you mean gold?"),
        ("text", 3, "the field text is 3, not a text"),
        ("cites", "p1", "not a list of passages"),
        ("cites", [None], "is not an id"),
        ("rank", 0, "not a whole number from 1 to 1,000,000,000"),
        ("importance", "high", "It is one of vital, okay"),
        ("digest", 5, "the field digest is 5"),
        ("removed", "yes", "the field removed is 'yes', neither true nor false"),
        ("system", {}, "is not an id"),
    ],
)
def test_a_wrong_field_of_an_item_is_named(field: str, value: object, message: str) -> None:
    with pytest.raises(KaratError) as error:
        read_item({**ITEM, field: value}, "labels.jsonl:3")
    assert message in str(error.value)
    assert "labels.jsonl:3" in str(error.value)


@pytest.mark.parametrize(
    ("name", "of", "message"),
    [
        ("a1", None, "an item of the type answer has the id 'a1'. The answer has the id answer"),
        ("question", None, "an item of the type answer has the id 'question'"),
        ("gold", "answer", "has the id 'gold', but is of answer"),
    ],
)
def test_an_answer_has_the_id_answer_or_gold(name: str, of: str | None, message: str) -> None:
    record = {"query": "q", "id": name, "type": "answer", "of": of}
    with pytest.raises(KaratError) as error:
        read_item(record, "here")
    assert message in str(error.value)
    assert read_item({**record, "id": "gold", "of": None}, "here").set == "gold"


CALL = {
    "record": "call", "key": "k1", "model": "m", "prompt": "support/1", "settings": {"temperature": 0}, "reply": "{}",
    "tokens_in": 9, "tokens_out": 2, "state": "done", "verdicts": 1, "error": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("key", None, "the field key is missing"),
        ("key", "", "the field key is empty"),
        ("key", ["k"], "is not an id"),
        ("model", 3, "the field model is 3, not a text"),
        ("prompt", {}, "the field prompt is {}, not a text"),
        ("settings", "temperature=0", "the field settings is 'temperature=0', not an object"),
        ("examples", "q1", "the field examples is 'q1', not a list of queries"),
        ("reply", [], "the field reply is [], not a text"),
        ("tokens_in", -1, "the field tokens_in is -1, not a whole number from 0"),
        ("tokens_out", "many", "the field tokens_out is 'many', not a whole number from 0"),
        ("state", "labelled", "It is one of done, failed"),
        ("verdicts", 1.5, "the field verdicts is 1.5, not a whole number from 0"),
        ("error", 500, "the field error is 500, not a text"),
    ],
)
def test_a_wrong_field_of_a_call_is_an_error_with_its_place(field: str, value: object, message: str) -> None:
    label = {"query": "q", "item": "answer", "task": "correctness", "label": "correct"}
    with pytest.raises(KaratError) as error:
        read_verdict_records([label, {**CALL, field: value}])
    assert message in str(error.value)
    assert "row 1" in str(error.value)


def test_a_call_needs_only_a_key() -> None:
    assert read_call(CALL, HERE)[:6] == ("k1", "m", "support/1", "done", 9, 2)
    assert read_call({"record": "call", "key": "k1"}, HERE) == Call("k1", None, None, "done", None, None)


def test_only_the_start_of_the_reply_of_a_failed_call_is_kept() -> None:
    call = {**CALL, "reply": "x" * 5_000, "error": "not JSON"}
    assert read_call(call, HERE).reply_start is None
    failed = read_call({**call, "state": "failed"}, HERE)
    assert (failed.error, failed.reply_start, failed.reply_length) == ("not JSON", "x" * 2_000, 5_000)


def test_a_passage_needs_a_rank() -> None:
    with pytest.raises(KaratError, match="the passage 'p1' has no rank"):
        read_item({"query": "q", "id": "p1", "type": "passage"}, "here")


def test_the_kind_of_a_record_follows_from_its_fields() -> None:
    assert kind_of({"label": "full"}, "") == kind_of({"state": "failed"}, "") == "verdict"
    assert kind_of({"scale": {}}, "") == "task"
    assert kind_of({"type": "claim"}, "") == "item"
    with pytest.raises(KaratError, match=r"Did you mean verdict\?"):
        kind_of({"record": "verdikt"}, "here")


def test_labels_of_a_rubric_are_mapped_to_0_to_1() -> None:
    task = read_task({"name": "tone", "scale": {"rude": -1, "neutral": 0, "polite": 3}}, "here")
    assert [task.value(label) for label in ("rude", "neutral", "polite")] == [0.0, 0.25, 1.0]
    assert BUILT_IN["relevance"].value("3") == 3.0


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"name": "support", "scale": {"a": 0, "b": 1}}, "built-in task"),
        ({"name": "", "scale": {"a": 0, "b": 1}}, "the name of a task is ''"),
        ({"name": "tone"}, "the scale of the task 'tone' is None"),
        ({"name": "tone", "scale": {"a": 1, "b": 1}}, "at least two labels"),
        ({"name": "tone", "scale": {"a": "x", "b": 1}}, "at least two labels"),
        ({"name": "tone", "scale": {"a": float("nan"), "b": 1}}, "at least two labels"),
        ({"name": "tone", "scale": {"a": -1e308, "b": 1e308}}, "at least two labels"),
        ({"name": "tone", "scale": {}}, "at least two labels"),
        ({"name": "tone", "scale": {"": 0, "b": 1}}, "'' is not a label that the scale of the task 'tone' can have"),
        ({"name": "tone", "scale": {"nothing_to_judge": 0, "b": 1}}, "Give it another name."),
    ],
)
def test_a_wrong_rubric_is_an_error(record: dict[str, object], message: str) -> None:
    with pytest.raises(KaratError) as error:
        read_task(record, "here")
    assert message in str(error.value)


STYLE = {"record": "task", "name": "style", "scale": {"poor": 0, "good": 1}}
GOOD = {"record": "verdict", "query": "q", "item": "answer", "task": "style", "label": "good"}


def test_the_record_of_a_rubric_may_stand_after_its_labels_or_in_another_file(tmp_path: Path) -> None:
    labels, rubric = tmp_path / "labels.jsonl", tmp_path / "rubric.jsonl"
    labels.write_text(json.dumps(GOOD))
    rubric.write_text(json.dumps(STYLE))
    for source in ([STYLE, GOOD], [GOOD, STYLE], iter([GOOD, STYLE]), [rubric, labels], [labels, rubric]):
        assert karat.evaluate_verdicts(source, "Correctness(task=style)").means == {"Correctness(task=style)": 1.0}


def test_what_is_wrong_with_a_rubric_after_its_labels_is_said_with_its_place() -> None:
    with pytest.raises(KaratError, match=r"row 1: the scale of the task 'style' is \{\}"):
        read_verdict_records([GOOD, {**STYLE, "scale": {}}])
    with pytest.raises(KaratError, match=r"row 2: the task 'style' already has another scale"):
        read_verdict_records([GOOD, STYLE, {**STYLE, "scale": {"poor": 0, "good": 2}}])
    with pytest.raises(KaratError, match=r"row 0: the label 'good' is not on the scale"):
        read_verdict_records([GOOD, {**STYLE, "scale": {"a": 0, "b": 2}}])


def test_an_iterator_loses_no_record() -> None:
    assert len(read_verdict_records(iter([STYLE, GOOD, GOOD])).labels) == 2
    with pytest.raises(KaratError, match="verdicts cannot be read from"):
        read_verdict_records({"query": "q"})


def test_white_space_around_a_label_does_not_matter() -> None:
    task = read_task({"name": "tone", "scale": {" rude ": 0, "polite": 1}}, "here")
    assert task.label("rude", HERE) == task.label(" rude", HERE) == "rude"


def test_true_is_no_grade_even_after_a_1_was_read() -> None:
    row = {"query": "q", "type": "passage", "task": "relevance"}
    rows = [{**row, "item": "p1", "rank": 1, "label": 1}, {**row, "item": "p2", "rank": 2, "label": True}]
    with pytest.raises(KaratError, match="True is not on the scale"):
        read_verdict_records(rows)


def test_a_label_off_the_scale_is_an_error_that_lists_the_labels() -> None:
    support, relevance = BUILT_IN["support"], BUILT_IN["relevance"]
    assert relevance.label(2, HERE) == relevance.label("2", HERE) == relevance.label(2.0, HERE) == "2"
    with pytest.raises(KaratError, match=r"Did you mean full\? The labels are contradicts, none, partial, full"):
        support.label("fulll", HERE)
    with pytest.raises(KaratError, match="not on the scale"):
        support.label(None, HERE)


def test_verdicts_are_loaded_for_measures_of_ones_own(caplog: pytest.LogCaptureFixture) -> None:
    row = {"query": "q", "type": "claim", "task": "support", "against": "context", "by": "model"}
    labels = [{**row, "item": "c1", "label": "none"}, {**row, "item": "c1", "label": "full"}]
    labels += [{**row, "item": "c2", "label": "none"}, {**row, "item": "c2", "label": "full", "by": "human"}]
    assert karat.parse("Faithfulness").compute(karat.load_verdicts(labels, author="model")).tolist() == [0.5]
    assert caplog.messages == ["karat: 1 label replaced by a later one of the same author."]
    with pytest.raises(KaratError, match=r"by several authors\. .* human \(1 label\), model \(3 labels\)"):
        karat.load_verdicts(labels)
    with pytest.raises(KaratError, match="author must be text, not 7"):
        karat.load_verdicts(labels, author=7)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(KaratError, match=r"the labels are 2 samples, and Verdicts contain one\. evaluate_verdicts"):
        karat.load_verdicts([*labels, {**labels[0], "sample": 1}], author="model")


def test_a_measure_that_does_not_say_which_labels_it_reads_is_unknown_within_its_range() -> None:
    @karat.register(takes="verdicts", bounds=(0, 2))
    def Doubled(verdicts: Verdicts) -> Floats:
        return 2 * verdicts.answer("correctness")

    rows = [{"query": query, "item": "answer", "task": "correctness"} for query in ("q", "r")]
    labels = [{**rows[0], "label": "partial"}, {**rows[1], "state": "failed"}]
    bounds = karat.evaluate_verdicts(labels, "Doubled").bounds("Doubled")
    assert (bounds.low.tolist(), bounds.high.tolist(), bounds.exact.tolist()) == ([1, 0], [1, 2], [True, False])
    with pytest.raises(KaratError, match="Doubled is computed from labels of answers, and there are none"):
        karat.evaluate_results([{"query": "q", "retrieved": ["a b"], "answer": "a"}], "Doubled")
