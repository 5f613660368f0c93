"""Labels belong to what was labelled: results bring their passages, order, answer and citations, never the file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError, Scores, evaluate_results
from karat.grounding.verdict_file.records import joint_digest, text_digest
from tests.random_verdicts import Record

TEXTS = {"p1": "Iron rusts.", "p2": "Gold is soft.", "p3": "Silver shines.", "p4": "Gold is soft."}
PASSAGES: list[Record] = [
    {"query": "q", "id": name, "type": "passage", "rank": rank, "text": TEXTS[name]}
    for rank, name in enumerate(("p1", "p2"), 1)
]
RELEVANCE: list[Record] = [
    {"query": "q", "task": "relevance", "item": name, "label": label} for name, label in (("p1", 0), ("p2", 3))
]


def results(names: Any = ("p1", "p2"), answer: str = "It is soft [1].", **fields: Any) -> list[Record]:
    retrieved = [{"id": name, "content": TEXTS[name]} for name in names]
    return [{"query": "q", "retrieved": retrieved, "answer": answer, **fields}]


def claim(label: str = "none", against: Any = "context", **fields: Any) -> Record:
    row = {"query": "q", "type": "claim", "item": "c1", "task": "support", "against": against, "label": label}
    return {**row, "of_digest": text_digest("It is soft [1]."), **fields}


def notes(scores: Scores) -> list[str]:
    return [finding.message for finding in scores.findings if finding.code == "reading"]


def value(scores: Scores, measure: str) -> float | tuple[float, float] | None:
    """The value of the only query, or its bounds if it is unknown."""
    found = scores.per_query["q"][measure]
    return scores.bounds(measure).per_query["q"] if found is None else found


@pytest.mark.parametrize(
    ("retrieved", "expected"),
    [
        (["p1", "p2"], 0.5),
        (["p2", "p1"], 1.0),
        (["p3", "p1", "p2"], (1 / 3, 5 / 6)),
        (["p2", "p3"], 1.0),
        (["p3", "p2"], (0.5, 1.0)),
    ],
    ids=str,
)
def test_passages_and_their_order_are_those_of_the_results(retrieved: list[str], expected: Any) -> None:
    scores = evaluate_results(results(retrieved), "ContextPrecision", verdicts=[*PASSAGES, *RELEVANCE])
    assert value(scores, "ContextPrecision") == pytest.approx(expected)
    absent = 2 - len({*retrieved} & {"p1", "p2"})
    labels = "1 label" if absent == 1 else f"{absent} labels"
    not_used = f"{labels} not used: about passages or sentences that the results do not have"
    assert notes(scores) == ([not_used] if absent else [])


def test_texts_without_ids_are_recognized_by_their_digests() -> None:
    texts = [{"query": "q", "retrieved": [TEXTS["p2"], TEXTS["p1"]], "answer": ""}]
    scores = evaluate_results(texts, "ContextPrecision", verdicts=[*PASSAGES, *RELEVANCE])
    assert scores.means == {"ContextPrecision": 1.0}


def test_the_coverage_of_nuggets_by_the_first_passages_follows_the_order_of_the_results() -> None:
    row = {"query": "q", "type": "nugget", "item": "n1", "task": "support"}
    labels = [{**row, "against": [name], "label": label} for name, label in (("p1", "none"), ("p2", "full"))]
    for order, expected in ((["p1", "p2"], 0.0), (["p2", "p1"], 1.0)):
        scores = evaluate_results(results(order), "NuggetCoverage@1", verdicts=[*PASSAGES, *labels])
        assert scores.means == {"NuggetCoverage@1": expected}


@pytest.mark.parametrize("labelled", [["p1"], ["p1", "p2"], ["p2", "p1"]], ids=str)
@pytest.mark.parametrize("retrieved", [["p1"], ["p1", "p2"], ["p2", "p1"], ["p1", "p4"], ["p1", "p3"]], ids=str)
def test_a_label_against_the_context_is_about_a_set_of_texts(labelled: list[str], retrieved: list[str]) -> None:
    context = joint_digest(text_digest(TEXTS[name]) for name in labelled)
    scores = evaluate_results(results(retrieved), "Faithfulness", verdicts=[claim(against_digest=context)])
    is_same = {TEXTS[name] for name in labelled} == {TEXTS[name] for name in retrieved}
    assert value(scores, "Faithfulness") == (0.0 if is_same else (0, 1))
    assert notes(scores) == ([] if is_same else ["1 label not used: the text has changed since"])


def test_without_a_digest_a_label_against_the_context_is_about_the_passages_that_the_file_lists() -> None:
    for retrieved, expected in (
        (["p1", "p2"], 0.0),
        (["p2", "p1"], 0.0),
        (["p1"], (0, 1)),
        (["p1", "p2", "p3"], (0, 1)),
    ):
        scores = evaluate_results(results(retrieved), "Faithfulness", verdicts=[*PASSAGES, claim()])
        assert value(scores, "Faithfulness") == expected


def test_of_results_that_name_passages_without_texts_the_set_of_ids_decides() -> None:
    context = joint_digest(text_digest(TEXTS[name]) for name in ("p1", "p2"))
    for retrieved, expected in ((["p2", "p1"], 0.0), (["p1"], (0, 1))):
        records = [{**results()[0], "retrieved": retrieved}]
        for label in (claim(), claim(against_digest=context)):
            assert (
                value(evaluate_results(records, "Faithfulness", verdicts=[*PASSAGES, label]), "Faithfulness")
                == expected
            )


def test_a_text_that_results_do_not_have_is_the_one_that_the_file_has_now() -> None:
    records = [{**results()[0], "retrieved": ["p1"]}]
    for text, expected in (("Iron rusts.", 1.0), ("Iron shines.", (0, 1))):
        file = [
            PASSAGES[0],
            {**RELEVANCE[0], "label": 3, "digest": text_digest(TEXTS["p1"])},
            {**PASSAGES[0], "text": text},
        ]
        assert value(evaluate_results(records, "ContextPrecision", verdicts=file), "ContextPrecision") == expected
        label = claim(against_digest=text_digest(TEXTS["p1"]))
        scores = evaluate_results(records, "Faithfulness", verdicts=[{**PASSAGES[0], "text": text}, label])
        assert value(scores, "Faithfulness") == (expected and 0.0 if expected == 1.0 else expected)


def test_a_label_against_no_passages_does_not_count_for_others() -> None:
    label = claim(against_digest=joint_digest([]))
    for retrieved, expected in (([], 0.0), (["p1"], (0, 1))):
        scores = evaluate_results(results(retrieved), "Faithfulness", verdicts=[label])
        assert value(scores, "Faithfulness") == expected


def test_nothing_to_judge_is_about_an_answer_the_passages_or_the_gold_answer_of_its_digest() -> None:
    nothing = {"query": "q", "task": "support", "state": "nothing_to_judge", "label": None}
    other = {**claim(), "query": "r", "of_digest": None}
    nugget = {**other, "type": "nugget", "item": "n1", "against": "answer"}
    records = [*results(gold_answers=["Soft."]), {**results()[0], "query": "r"}]
    for text, is_same in (("It is soft [1].", True), ("It is hard.", False)):
        label = {**nothing, "item": "answer", "digest": text_digest(text)}
        found = evaluate_results(records, "Faithfulness", verdicts=[label, other])
        assert bool(found.bounds("Faithfulness").unknown.sum()) is not is_same
    for text, is_same in (("Soft.", True), ("Hard.", False)):
        label = {**nothing, "item": "question", "digest": text_digest(text)}
        found = evaluate_results(records, "NuggetRecall", verdicts=[label, nugget])
        assert bool(found.bounds("NuggetRecall").unknown.sum()) is not is_same


def test_correctness_is_about_the_gold_answers_that_an_answer_was_compared_with() -> None:
    label = {"query": "q", "task": "correctness", "item": "answer", "label": "correct"}
    label |= {"digest": text_digest("It is soft [1]."), "against_digest": text_digest("Soft.")}
    for gold, expected in ((["Soft."], 1.0), (["Hard."], (0, 1))):
        scores = evaluate_results(results(gold_answers=gold), "Correctness", verdicts=[label])
        assert value(scores, "Correctness") == expected


def test_several_passages_are_recognized_by_their_texts_together() -> None:
    answer = "It is soft [1][2]."
    label: Record = {
        "query": "q",
        "type": "sentence",
        "item": "s1",
        "task": "support",
        "against": ["p1", "p2"],
        "label": "full",
    }
    label |= {"digest": text_digest(answer), "against_digest": joint_digest(map(text_digest, list(TEXTS.values())[:2]))}
    swapped = [{**PASSAGES[0], "text": TEXTS["p3"]}, PASSAGES[1]]
    for passages in ([], PASSAGES, swapped, [{**each, "removed": True} for each in PASSAGES]):
        for names in (["p1", "p2"], ["p1", "p2", "p3"]):
            scores = evaluate_results(results(names, answer), "CitationRecall", verdicts=[*passages, label])
            assert scores.means == {"CitationRecall": 1.0}


def test_a_label_of_another_context_does_not_keep_single_passages_from_standing_in() -> None:
    stale = claim(against_digest=text_digest(TEXTS["p2"]))
    single = claim("none", ["p1"], against_digest=text_digest(TEXTS["p1"]))
    for labels, expected in (([stale], (0, 1)), ([single], 0.0), ([stale, single], 0.0)):
        assert value(evaluate_results(results(["p1"]), "Faithfulness", verdicts=labels), "Faithfulness") == expected


def test_a_label_without_a_record_of_its_item_is_found_by_its_text() -> None:
    records = [{"query": "q", "retrieved": [{"id": "d7", "content": TEXTS["p2"]}], "answer": "."}]
    label = {**RELEVANCE[1], "digest": text_digest(TEXTS["p2"])}
    assert evaluate_results(records, "ContextPrecision", verdicts=[label]).means == {"ContextPrecision": 1.0}


def test_a_claim_that_was_removed_does_not_remove_labels_of_a_passage_with_its_id() -> None:
    removed = {"query": "q", "id": "p2", "type": "claim", "removed": True}
    scores = evaluate_results(results(), "ContextPrecision", verdicts=[removed, *RELEVANCE])
    assert scores.means == {"ContextPrecision": 0.5}


def test_what_a_sentence_cites_is_what_it_cites_in_the_results() -> None:
    sentence = {"query": "q", "id": "s1", "type": "sentence", "cites": ["p1"]}
    label = {"query": "q", "task": "support", "item": "s1", "against": ["p1"], "label": "full"}
    for answer, expected in (("It is soft [1].", 1.0), ("It is soft [2].", (0, 1)), ("It is soft.", 0.0)):
        scores = evaluate_results(results(answer=answer), "SupportRecall", verdicts=[*PASSAGES, sentence, label])
        assert value(scores, "SupportRecall") == expected


def test_a_sentence_that_moved_keeps_its_labels() -> None:
    label = {"query": "q", "task": "support", "item": "s1", "against": ["p1"], "label": "full", "type": "sentence"}
    label |= {"digest": text_digest("It is soft [1]."), "against_digest": text_digest(TEXTS["p1"])}
    answer = "Gold, then. It is soft [1]."
    scores = evaluate_results(results(answer=answer), "SupportRecall", verdicts=[label])
    assert (scores.means, notes(scores)) == ({"SupportRecall": 0.5}, [])
    (row,) = [row for row in scores.explain("q").labels or () if row.label]
    assert (row.item, row.text, row.against) == ("s2", "It is soft [1].", "p1")


@pytest.mark.parametrize("item", [{"of_digest": "another answer"}, {"of_digest": None}], ids=str)
def test_a_claim_belongs_to_the_answer_it_is_from(item: Record) -> None:
    answer = {"query": "q", "id": "answer", "type": "answer", "text": "It is hard."}
    with pytest.raises(KaratError, match=r"1 label not used: about answers that have changed since \(q\)"):
        evaluate_results(results(), "Faithfulness", verdicts=[answer, claim(**item)])


def test_nuggets_and_claims_of_the_gold_answer_belong_to_the_gold_answers_in_any_order() -> None:
    gold = {"of_digest": text_digest("Soft.\nYellow."), "type": "nugget", "item": "n1", "against": "answer"}
    for answers, expected in ((["Soft.", "Yellow."], 0.0), (["Yellow.", "Soft."], 0.0), (["Soft."], None)):
        records = results(gold_answers=answers)
        if expected is None:
            with pytest.raises(KaratError, match="about answers that have changed since"):
                evaluate_results(records, "NuggetRecall", verdicts=[claim(**gold)])
        else:
            assert evaluate_results(records, "NuggetRecall", verdicts=[claim(**gold)]).means == {
                "NuggetRecall": expected
            }


def test_labels_without_digests_are_trusted_and_counted() -> None:
    bare = claim(of_digest=None)
    scores = evaluate_results(results(), "Faithfulness", verdicts=[bare, {**bare, "item": "c2"}])
    assert scores.means == {"Faithfulness": 0.0}
    assert notes(scores) == ["2 labels have no digests of texts, so they are taken to be about these results"]
    with_digests: Record = {"against_digest": joint_digest(text_digest(TEXTS[name]) for name in ("p1", "p2"))}
    assert not notes(evaluate_results(results(), "Faithfulness", verdicts=[claim(**with_digests)]))


def test_results_that_say_nothing_about_passages_leave_them_unknown() -> None:
    records = [{"query": "q", "answer": "It is soft [1]."}]
    scores = evaluate_results(records, ["Faithfulness", "CitationValid"], verdicts=[*PASSAGES, claim()])
    assert scores.means == {"Faithfulness": 0.0, "CitationValid": None}
    with pytest.raises(
        KaratError, match=r"2 labels not used: about passages or sentences that the results do not have"
    ):
        evaluate_results(records, "ContextPrecision", verdicts=[*PASSAGES, *RELEVANCE])


def test_earlier_results_are_evaluated_by_their_own_labels_after_the_file_has_moved_on() -> None:
    removed = {**PASSAGES[1], "text": None, "removed": True}
    new = {**PASSAGES[1], "id": "p3", "text": TEXTS["p3"]}
    labels = [{**label, "digest": text_digest(TEXTS[label["item"]])} for label in RELEVANCE]
    records = [
        *PASSAGES,
        *labels,
        removed,
        new,
        {**labels[1], "item": "p3", "digest": text_digest(TEXTS["p3"]), "label": 0},
    ]
    for retrieved, expected in ((["p1", "p2"], 0.5), (["p1", "p3"], 0.0)):
        scores = evaluate_results(results(retrieved), "ContextPrecision", verdicts=records)
        assert scores.means == {"ContextPrecision": expected}


def test_claims_may_have_ids_like_those_of_sentences_but_not_those_of_passages() -> None:
    scores = evaluate_results(results(), "Faithfulness", verdicts=[claim("full", item="s1")])
    assert scores.means == {"Faithfulness": 1.0}
    with pytest.raises(KaratError, match="the claim 'p1' of query 'q' has the id of a passage"):
        evaluate_results(results(), "Faithfulness", verdicts=[claim(item="p1")])


@given(
    labelled=st.dictionaries(st.sampled_from("abcde"), st.integers(0, 3), min_size=1),
    retrieved=st.lists(st.sampled_from("abcde"), min_size=1, unique=True),
    ids=st.sampled_from(list(permutations(range(5)))[::7]),
)
def test_the_value_is_that_of_the_labels_in_the_order_of_the_results(
    labelled: dict[str, int], retrieved: list[str], ids: tuple[int, ...]
) -> None:
    """Whatever the ids are in the file and in the results, texts decide."""
    file: list[Record] = []
    for rank, (text, label) in enumerate(labelled.items(), 1):
        row = {"query": "q", "item": f"p{ids['abcde'.index(text)]}", "type": "passage", "rank": rank, "text": text}
        file.append({**row, "task": "relevance", "label": label, "digest": text_digest(text)})
    records = [{"query": "q", "retrieved": [{"content": text} for text in retrieved], "answer": "."}]
    grades = [labelled.get(text) for text in retrieved]
    if any(grade is not None for grade in grades):
        scores = evaluate_results(records, "ContextPrecision", verdicts=file)
        choices = product(*((0, 1) if grade is None else (int(grade >= 2),) for grade in grades))
        possible = {average_precision(choice) for choice in choices}
        expected = possible.pop() if len(possible) == 1 else None
        assert scores.per_query["q"]["ContextPrecision"] == pytest.approx(expected)


def average_precision(relevant: Sequence[int]) -> float:
    hits = [rank for rank, grade in enumerate(relevant, 1) if grade]
    return sum(found / rank for found, rank in enumerate(hits, 1)) / len(hits) if hits else 0.0
