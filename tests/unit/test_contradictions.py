"""Labels of support that say that a text contradicts an item: what measures, majorities and agreement make of them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement
from typing import Any

import pytest

from karat import evaluate_results, evaluate_verdicts, label_agreement
from karat.grounding.labels.votes import most_frequent
from karat.grounding.verdict_file.tasks import BUILT_IN

Record = dict[str, Any]
SCALE = BUILT_IN["support"].scale


def label(text: str, item: str = "c1", against: Any = "context", **fields: Any) -> Record:
    row = {"query": "q", "type": "claim", "task": "support", "against": against}
    return {**row, "item": item, "label": text, **fields}


def passages(number: int) -> list[Record]:
    return [{"query": "q", "id": f"p{at}", "type": "passage", "rank": at} for at in range(1, number + 1)]


def values(records: list[Record]) -> tuple[float | None, float | None]:
    """Faithfulness and Contradiction of the query."""
    scores = evaluate_verdicts(records, ["Faithfulness(partial=0.5)", "Contradiction"]).per_query["q"]
    return scores["Faithfulness(partial=0.5)"], scores["Contradiction"]


def test_the_share_of_contradicted_claims_is_counted_apart_from_support() -> None:
    labels = [label(text, f"c{at}") for at, text in enumerate(["full", "contradicts", "none", "contradicts"])]
    assert values(labels) == (1 / 4, 2 / 4)


@pytest.mark.parametrize(
    ("by_passage", "expected"),
    [
        (["contradicts", "none"], (0.0, 1.0)),
        (["contradicts", "full"], (1.0, 0.0)),
        (["partial", "contradicts"], (0.5, 0.0)),
        (["none", "none"], (0.0, 0.0)),
        (["contradicts", None], (None, None)),
        (["partial", None], (None, 0.0)),
        (["none", None], (None, None)),
        (["full", None], (1.0, 0.0)),
    ],
)
def test_a_passage_that_supports_a_claim_outweighs_one_that_contradicts_it(
    by_passage: list[str | None], expected: tuple[float | None, float | None]
) -> None:
    labels = [label(text, against=[f"p{at}"]) for at, text in enumerate(by_passage, 1) if text is not None]
    assert values([*passages(2), *labels]) == expected


def test_the_label_against_all_passages_together_comes_first() -> None:
    single = [label("contradicts", against=["p1"]), label("none", against=["p2"])]
    assert values([*passages(2), *single, label("none")]) == (0.0, 0.0)
    assert values([*passages(2), *single, label("contradicts")]) == (0.0, 1.0)


def test_an_unknown_label_may_or_may_not_be_a_contradiction() -> None:
    failed = {**label("", "c2"), "label": None, "state": "failed"}
    scores = evaluate_verdicts([label("contradicts"), failed], ["Contradiction", "Faithfulness"])
    assert scores.bounds("Contradiction").mean == (0.5, 1.0)
    assert scores.bounds("Faithfulness").mean == (0.0, 0.5)


def test_people_who_say_none_and_contradicts_agree_that_it_is_not_supported() -> None:
    def by(*labels: str) -> tuple[float | None, float | None]:
        return values([label(text, by=f"human:{at}") for at, text in enumerate(labels)])

    assert by("none", "contradicts", "full") == (0.0, None)
    assert by("none", "none", "contradicts", "full") == (0.0, 0.0)
    assert by("none", "contradicts", "contradicts", "full", "full") == (0.0, 1.0)
    assert by("contradicts", "full") == (None, None)
    assert by("none", "full") == (None, 0.0)


def test_measures_and_agreement_choose_the_same_label_of_several_people() -> None:
    for labels in (each for size in range(1, 6) for each in combinations_with_replacement(SCALE, size)):
        chosen = most_frequent(labels, SCALE)
        support, contradiction = values([label(text, by=f"human:{at}") for at, text in enumerate(labels)])
        if chosen is not None:
            assert (support, contradiction) == (SCALE[chosen], float(chosen == "contradicts")), labels
        else:
            counts = Counter(labels)
            assert support is None or counts["none"] == counts["contradicts"], labels


def test_kappa_tells_none_from_contradicts_and_weighted_kappa_does_not() -> None:
    people, model = ["none", "contradicts", "full", "full"], ["contradicts", "none", "full", "partial"]
    labels = [label(text, f"c{at}", query=f"q{at}", by="human") for at, text in enumerate(people)]
    labels += [label(text, f"c{at}", query=f"q{at}", by="m") for at, text in enumerate(model)]
    [task] = label_agreement(labels).tasks
    assert task.scale == ("contradicts", "none", "partial", "full")
    assert task.confusion == ((0, 1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0), (0, 0, 1, 1))
    assert task.equal == 1 / 4
    same = [{**each, "label": each["label"].replace("contradicts", "none")} for each in labels]
    [merged] = label_agreement(same).tasks
    assert task.weighted_kappa is not None
    assert merged.weighted_kappa is not None
    assert task.weighted_kappa.value == pytest.approx(merged.weighted_kappa.value)
    assert task.kappa.value is not None
    assert merged.kappa.value is not None
    assert task.kappa.value < merged.kappa.value


def test_of_several_samples_the_middle_label_on_the_scale_counts_in_agreement() -> None:
    samples = [label(text, by="m", sample=at) for at, text in enumerate(["none", "contradicts", "none"])]
    [task] = label_agreement([*samples, label("none", by="human")]).tasks
    assert task.equal == 1.0


def test_labels_without_contradictions_are_evaluated_as_before() -> None:
    assert evaluate_verdicts([label("full"), label("none", "c2")]).means == {"Faithfulness": 0.5}


def test_a_note_says_that_labels_may_not_tell_contradictions_apart() -> None:
    labels = [label("full"), label("none", "c2")]
    scores = evaluate_verdicts(labels, "Contradiction")
    assert scores.means == {"Contradiction": 0.0}
    [note] = [finding.message for finding in scores.findings]
    assert note.startswith("no label is `contradicts`: labels that were given before there was such a label")


def test_if_a_system_of_the_file_has_contradictions_all_have_the_measure() -> None:
    labels = [label("contradicts", system="a"), label("none", system="b")]
    assert [*evaluate_verdicts(labels, system="b").means] == ["Faithfulness", "Contradiction"]
    assert not evaluate_verdicts(labels, system="b").findings


def test_sentences_stand_in_for_claims_by_default() -> None:
    results = [{"query": "q", "retrieved": ["Gold is soft."], "answer": "It is hard. It is soft."}]
    row = {"query": "q", "task": "support", "against": "context"}
    labels = [{**row, "item": "s1", "label": "contradicts"}, {**row, "item": "s2", "label": "full"}]
    scores = evaluate_results(results, verdicts=labels)
    assert scores.means == {"Faithfulness(unit=sentences)": 0.5, "Contradiction(unit=sentences)": 0.5}


def test_a_rubric_may_have_a_label_of_the_same_name() -> None:
    rubric = {"record": "task", "name": "sources", "scale": {"contradicts": 0, "agrees": 1}}
    answer = {"query": "q", "task": "sources", "item": "answer", "label": "contradicts"}
    scores = evaluate_verdicts([rubric, answer, label("none")])
    assert scores.means == {"Faithfulness": 0.0, "Correctness(task=sources)": 0.0}
