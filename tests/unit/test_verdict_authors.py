"""Whose labels count: people, models, samples, systems, and labels that were replaced or are out of date."""

from __future__ import annotations

from typing import Any

import pytest

from karat.errors import KaratError
from karat.evaluation.verdicts import evaluate_verdicts
from karat.grounding.labels.counting import label_status
from karat.grounding.labels.selection import select
from karat.grounding.labels.votes import document_grades
from karat.grounding.verdict_file.reading import read_verdict_records
from karat.grounding.verdict_file.records import joint_digest, text_digest
from tests.random_verdicts import RUBRIC, Record


def _claim(name: str, label: str | None, by: str | None = "human:ann", **more: Any) -> Record:
    label_fields = {"label": None, "state": "failed"} if label is None else {"label": label}
    row = {"query": "q", "item": name, "type": "claim", "task": "support", "against": "context", "by": by}
    return {**row, **label_fields, **more}


def _nothing(name: str, by: str = "human:ann", **more: Any) -> Record:
    return _claim(name, None, by, **more) | {"state": "nothing_to_judge"}


def _value(records: list[Record], **options: Any) -> float | None:
    return evaluate_verdicts(records, "Faithfulness", **options).per_query["q"]["Faithfulness"]


def _notes(records: list[Record], **options: Any) -> list[str]:
    found = evaluate_verdicts(records, "Faithfulness", **options).findings
    return [finding.message for finding in found if finding.code == "reading"]


@pytest.mark.parametrize(
    ("votes", "value"),
    [
        (["full", "full", "none"], 1.0),
        (["full", "none"], None),
        (["full", "none", None], None),
        (["full", None, None], 1.0),
        (["full", "none", "partial", "none"], 0.0),
        (["full", "full", "none", "none", "partial"], None),
        ([None, None], None),
    ],
    ids=str,
)
def test_of_people_the_most_frequent_label_counts_and_a_tie_is_unknown(
    votes: list[str | None], value: float | None
) -> None:
    records = [_claim("c1", vote, f"human:{at}") for at, vote in enumerate(votes)]
    assert _value(records) == _value(records[::-1]) == value
    assert _value(records, author="human") == value


def test_of_two_labels_by_one_person_the_later_one_counts_and_it_is_said() -> None:
    records = [_claim("c1", "none"), _claim("c1", "full"), _claim("c2", "full", "human:ben")]
    assert _value(records) == 1.0
    assert _notes(records) == ["1 label replaced by a later one of the same author"]


def test_a_failure_does_not_replace_a_label() -> None:
    assert _value([_claim("c1", "full"), _claim("c1", None)]) == 1.0
    assert _notes([_claim("c1", "full"), _claim("c1", None)]) == []


def test_the_order_of_passages_does_not_make_another_label() -> None:
    items: list[Record] = [{"query": "q", "id": f"p{at}", "type": "passage", "rank": at} for at in (1, 2)]
    items += [{"query": "q", "id": "s1", "type": "sentence", "cites": ["p2", "p1"]}]
    row = {"query": "q", "task": "support", "item": "s1"}
    labels = [{**row, "against": ["p1", "p2"], "label": "none"}, {**row, "against": ["p2", "p1"], "label": "full"}]
    assert evaluate_verdicts(items + labels, "CitationRecall").per_query["q"] == {"CitationRecall": 1.0}


def test_samples_of_a_model_are_averaged_and_so_are_their_bounds() -> None:
    records = [_claim("c1", "full", "m", sample=0), _claim("c2", "none", "m", sample=0)]
    assert _value([*records, *(_claim(name, "full", "m", sample=1) for name in ("c1", "c2"))]) == 0.75
    scores = evaluate_verdicts([*records, _claim("c1", "full", "m", sample=1)], "Faithfulness")
    assert scores.per_query["q"] == {"Faithfulness": None}
    assert scores.label_bounds["Faithfulness"].mean == (0.5, 0.75)


def test_labels_of_several_models_must_be_chosen_from() -> None:
    records = [_claim("c1", "full", "m"), _claim("c1", "none", "n"), _claim("c1", "none", None)]
    with pytest.raises(KaratError, match=r"human \(1 label\), m \(1 label\), n \(1 label\)"):
        _value(records)
    assert [_value(records, author=by) for by in ("m", "n", "human")] == [1.0, 0.0, 0.0]
    with pytest.raises(KaratError, match="no label is by 'o'"):
        _value(records, author="o")


def test_one_person_of_several_can_be_chosen() -> None:
    records = [_claim("c1", "full", "human:ann"), _claim("c1", "none", "human:ben"), _claim("c2", "full", "human:ben")]
    assert _value(records, author="human:ann") is None
    assert _value(records, author="human:ben") == 0.5
    assert _value(records) is None


@pytest.mark.parametrize(
    ("records", "value"),
    [
        ([_nothing("c1")], 0.0),
        ([_nothing("c1"), _claim("c1", "full")], 0.5),
        ([_claim("c1", "full"), _nothing("c1")], 0.0),
        ([_nothing("c1"), _claim("c1", None)], 0.0),
        ([_nothing("c1"), _claim("c1", "full", "human:ben")], 0.5),
        ([_nothing("c1"), _nothing("c1", "human:ben"), _claim("c1", "full", "human:cy")], 0.0),
    ],
    ids=["alone", "labelled later", "after a label", "before a failure", "one of two", "two of three"],
)
def test_an_item_is_left_out_if_most_of_those_who_judged_it_say_so(records: list[Record], value: float) -> None:
    item = {"query": "q", "id": "c1", "type": "claim"}
    assert _value([item, _claim("c2", "none"), *records]) == value


def test_each_system_has_its_own_labels_and_those_of_all_systems() -> None:
    nugget = {"query": "q", "id": "n1", "type": "nugget"}
    row = {"query": "q", "task": "support", "item": "n1", "against": "answer"}
    records = [nugget, {**row, "system": "a", "label": "full"}, {**row, "system": "b", "label": "none"}]
    values = [evaluate_verdicts(records, "NuggetRecall", system=name)["NuggetRecall"] for name in "ab"]
    assert values == [1.0, 0.0]
    with pytest.raises(KaratError, match="Systems: a, b"):
        evaluate_verdicts(records)
    with pytest.raises(KaratError, match="about the system 'c'"):
        evaluate_verdicts(records, system="c")


def test_an_id_of_all_systems_cannot_be_that_of_one() -> None:
    records = [{"query": "q", "id": "x", "type": "nugget"}, {"query": "q", "id": "x", "type": "claim", "system": "a"}]
    with pytest.raises(KaratError, match="the item 'x' of query 'q' is also in"):
        evaluate_verdicts([*records, _claim("c1", "full")])


def test_a_label_of_another_text_is_not_used_and_it_is_said() -> None:
    item = {"query": "q", "id": "c1", "type": "claim", "text": "Gold is hard."}
    labels = [_claim("c1", "full", digest=text_digest("Gold is soft.")), _claim("c2", "full")]
    assert _value([item, *labels]) is None
    assert _notes([item, *labels]) == ["1 label not used: the text has changed since"]
    assert _value([{**item, "text": "Gold is soft."}, *labels]) == 1.0


def test_labels_about_a_removed_item_are_not_used_until_it_comes_back() -> None:
    items = [{"query": "q", "id": name, "type": "claim", "text": "Gold is soft."} for name in ("c1", "c2")]
    records = [*items, _claim("c1", "full"), _claim("c2", "none"), {**items[1], "removed": True}]
    assert _value(records) == 1.0
    assert _notes(records) == ["1 label not used: about items that were removed"]
    assert _value([*records, items[1]]) == 0.5
    with pytest.raises(KaratError, match="needs labels of the task support"):
        _value([*records, {**items[0], "removed": True}])


def test_another_passage_may_take_the_rank_of_a_removed_one() -> None:
    passages = [{"query": "q", "id": name, "type": "passage", "rank": 1} for name in ("p1", "p2")]
    labels = [_claim("c1", "full", against=["p1"]), _claim("c1", "none", against=["p2"])]
    removed = {**passages[0], "removed": True}
    assert _value([*passages[:1], labels[0], removed, passages[1], labels[1]]) == 0.0
    with pytest.raises(KaratError, match="have the same rank"):
        _value([*passages, *labels])


@pytest.mark.parametrize(
    ("against", "digests", "value"),
    [
        (["p1"], ["a"], 1.0), (["p1"], ["b"], None), ("context", ["a", "b"], 1.0), ("context", ["a"], None),
        ("context", ["b", "a"], 1.0), ("context", ["a", "b", "a"], 1.0), ("answer", ["c"], 1.0),
        ("answer", ["a"], None), ("gold", ["a"], 1.0),
    ],
    ids=str,
)  # fmt: skip
def test_a_label_against_other_texts_than_those_of_today_is_not_used(
    against: Any, digests: list[str], value: float | None
) -> None:
    items = [{"query": "q", "id": f"p{at}", "type": "passage", "rank": at, "digest": "xab"[at]} for at in (1, 2)]
    items += [{"query": "q", "id": "answer", "type": "answer", "digest": "c"}]
    label = _claim("c1", "full", against=against, against_digest=joint_digest(digests))
    records = read_verdict_records([*items, label])
    assert label_status(records) == ["counts" if value else "stale"]
    if against not in ("answer", "gold"):
        assert _value([*items, label]) == value


def test_an_item_of_one_system_is_removed_for_this_one_only() -> None:
    items = [{"query": "q", "id": "c1", "type": "claim", "system": system} for system in ("a", "b")]
    labels = [_claim("c1", "full", type=None, system=system) for system in ("a", "b")]
    records = [*items, *labels, {**items[0], "removed": True}]
    assert _value(records, system="b") == 1.0
    with pytest.raises(KaratError, match="needs labels of the task support"):
        _value(records, system="a")


def test_nothing_to_judge_is_about_the_text_that_its_author_saw() -> None:
    item = {"query": "q", "id": "c1", "type": "claim", "text": "Gold is soft."}
    records = [_claim("c1", "full"), _nothing("c1", digest=text_digest("Hello!"), against=None), _claim("c2", "none")]
    assert _value([item, *records]) == 0.5
    assert _value([{**item, "text": "Hello!"}, *records]) == 0.0


def test_a_label_of_the_answer_does_not_say_that_it_has_claims() -> None:
    answer = {"query": "q", "item": "answer", "type": "answer", "by": "m"}
    nothing = {**answer, "task": "support", "label": None, "state": "nothing_to_judge"}
    rated = [{**answer, "task": "correctness", "label": "correct", "sample": sample} for sample in range(3)]
    others = [_claim("c1", "full", "m", query="r", sample=sample) for sample in range(3)]
    scores = evaluate_verdicts([nothing, *rated, *others], "Faithfulness")
    assert "queries with nothing to judge (left out): 1 for Faithfulness" in str(scores)


@pytest.mark.parametrize(("against", "value"), [(["p1"], None), ("context", None), (["p2"], 1.0)], ids=str)
def test_a_label_against_a_passage_that_has_changed_is_not_used(against: Any, value: float | None) -> None:
    passages = [{"query": "q", "id": f"p{at}", "type": "passage", "rank": at, "text": "Gold is soft."} for at in (1, 2)]
    passages[0]["digest"] = text_digest("Gold is hard.")
    assert _value([*passages, _claim("c1", "full", against=against)]) == value


SOFT, HARD = "Gold is soft.", "Gold is hard."


@pytest.mark.parametrize("against", [["p1"], "context"], ids=str)
@pytest.mark.parametrize(("digest", "value"), [(text_digest(SOFT), 1.0), (text_digest(HARD), None), (None, 1.0)])
def test_the_digest_of_a_label_says_which_text_it_is_about_wherever_the_label_stands(
    against: Any, digest: str | None, value: float | None
) -> None:
    passage = {"record": "item", "query": "q", "id": "p1", "type": "passage", "rank": 1}
    label = _claim("c1", "full", against=against, against_digest=digest)
    items = [{**passage, "text": HARD}, {**passage, "text": SOFT}]
    for records in ([label, *items], [items[0], label, items[1]], [*items, label]):
        assert _value(records) == value
        assert _notes(records) == (["1 label not used: the text has changed since"] if value is None else [])
        assert label_status(read_verdict_records(records)) == ["stale" if value is None else "counts"]
    assert _value([*items, label, _claim("c1", "none", against="context")]) == 0.0


def test_a_label_of_an_answer_or_a_claim_is_about_the_text_of_its_digest() -> None:
    answer = {"query": "q", "id": "answer", "type": "answer"}
    claim = {"query": "q", "id": "c1", "type": "claim"}
    nugget = _claim("n1", "full", type="nugget", against="answer", against_digest=text_digest(SOFT))
    of_claim = _claim("c1", "full", digest=text_digest(SOFT))
    for item, label, measure in ((answer, nugget, "NuggetRecall"), (claim, of_claim, "Faithfulness")):
        records = [{**item, "text": SOFT}, label]
        assert evaluate_verdicts(records, measure).means == {measure: 1.0}
        assert evaluate_verdicts([*records, {**item, "text": HARD}], measure).means == {measure: None}


def test_claims_and_nuggets_of_another_answer_are_not_used() -> None:
    answers = [
        {"query": "q", "id": name, "type": "answer", "text": text} for name, text in (("answer", SOFT), ("gold", HARD))
    ]
    claim = {"query": "q", "id": "c1", "type": "claim", "of_digest": text_digest(SOFT)}
    nugget = {**claim, "id": "n1", "type": "nugget", "of_digest": text_digest(HARD)}
    labels = [_claim("c1", "full", type=None), _claim("n1", "full", type=None, against="answer")]
    measures = ["Faithfulness", "NuggetRecall"]
    assert evaluate_verdicts([*answers, claim, nugget, *labels], measures).means == dict.fromkeys(measures, 1.0)
    for stale, used in ((claim, "NuggetRecall"), (nugget, "Faithfulness")):
        others = [{**each, "of_digest": "other"} if each is stale else each for each in (claim, nugget)]
        scores = evaluate_verdicts([*answers, *others, *labels])
        assert {name: mean for name, mean in scores.means.items() if mean is not None} == {used: 1.0}
        assert "1 label not used: about answers that have changed since (q)." in map(str, scores.findings)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({**_claim("c9", "full"), "type": None}, "the item 'c9' of query 'q' is unknown"),
        (_claim("c1", "full", against=["p9"]), "the passage 'p9' of query 'q' is unknown"),
        (_claim("c1", "full", against=["c1"]), "the passage 'c1' of query 'q' is unknown"),
        (_claim("c1", "full", task="suport"), "Did you mean support?"),
        (_claim("c1", "complete"), "The labels are contradicts, none, partial, full"),
        (_claim("c1", "full", against="kontext"), "Did you mean context?"),
        (_claim("c1", "full", against=None), "a label of support is against nothing"),
        (_claim("c1", "full", type="sentence"), "the item 'c1' of query 'q' is a claim in"),
        (_nothing("c9", type=None), "the item 'c9' of query 'q' is unknown"),
        (_claim("c1", "full", state="failed"), "the state is failed, but the label is 'full'"),
    ],
)
def test_a_label_of_something_unknown_is_an_error_with_its_row(record: Record, message: str) -> None:
    with pytest.raises(KaratError) as error:
        _value([_claim("c1", "full"), record])
    assert message in str(error.value)
    assert "row 1" in str(error.value)


def test_labels_of_other_sets_of_passages_than_those_that_a_sentence_cites_are_counted() -> None:
    passages = [{"query": "q", "id": f"p{at}", "type": "passage", "rank": at} for at in (1, 2, 3)]
    sentence = {"query": "q", "id": "s1", "type": "sentence", "cites": ["p1", "p2"]}
    label = {"query": "q", "item": "s1", "task": "support", "label": "full"}
    labels = [{**label, "against": ["p1", "p2"]}, {**label, "against": ["p1", "p3"], "label": "none"}]
    scores = evaluate_verdicts([*passages, sentence, *labels], "CitationRecall")
    assert scores["CitationRecall"] == 1.0
    assert "1 label not used: about passages that the sentence does not cite together." in map(str, scores.findings)


def test_without_labels_what_is_cited_is_measured_by_default_and_without_citations_nothing() -> None:
    items: list[Record] = [{"query": "q", "id": "s1", "type": "sentence", "cites": ["[1]"]}]
    items += [{"query": "q", "id": "p1", "type": "passage", "rank": 1}]
    assert evaluate_verdicts(items).means == {"CitationValid": 0.0}
    with pytest.raises(KaratError, match="no measure can be computed from these labels"):
        evaluate_verdicts(items[1:])


@pytest.mark.parametrize(
    ("measure", "form"),
    [
        ("Correctness", "Correctness(task=tone)"),
        ("Correctness(task=style)", "Correctness(task=tone)"),
    ],
)
def test_a_measure_without_labels_names_the_form_that_the_labels_suffice_for(measure: str, form: str) -> None:
    records = [RUBRIC, {**RUBRIC, "name": "style"}, _claim("s1", "full", type="sentence")]
    records += [{"query": "q", "item": "answer", "task": "tone", "label": "polite"}]
    with pytest.raises(KaratError) as error:
        evaluate_verdicts(records, measure)
    assert error.value.hint == f"The labels that are there suffice for {form}."
    assert evaluate_verdicts(records, form).means == {form: 1.0}


def test_a_measure_without_labels_in_any_form_says_how_to_label() -> None:
    with pytest.raises(KaratError, match=r"karat verdicts template results\.jsonl --task nuggets"):
        evaluate_verdicts([_claim("c1", "full")], "NuggetRecall")


def test_there_may_be_as_many_authors_as_labels() -> None:
    """That would take minutes if each author were compared with all others."""
    n = 40_000
    labels = [_claim("c1", "full" if at % 3 else "none", f"human:{at}", query=f"q{at % 100}") for at in range(n)]
    scores = evaluate_verdicts(labels, "Faithfulness")
    assert (len(scores.queries), scores["Faithfulness"]) == (100, 1.0)
    documents = [{"query": "q", "type": "document", "task": "relevance", "item": "d1", "label": 2}]
    grades = [{**documents[0], "by": f"human:{at}"} for at in range(n)]
    assert document_grades(read_verdict_records(grades)).grades == {"q": {"d1": 2.0}}
    selected = select(read_verdict_records(labels))
    assert [selected.author_places[author] for author in selected.authors] == list(range(n))
