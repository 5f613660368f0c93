"""What `karat verdicts FILE...` counts: labels, calls, and where authors disagree."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from karat.grounding.labels.counting import label_status
from karat.grounding.labels.summary import HEADER, label_rows, summarize
from karat.grounding.verdict_file.reading import read_verdict_records

ROW = {"query": "q", "system": "s", "item": "c", "type": "claim", "task": "support", "against": "context"}


def label(label: str | None, **fields: Any) -> dict[str, Any]:
    return {**ROW, "label": label, "by": "human:ann", **fields}


def test_labels_are_counted_by_task_system_author_label_and_state() -> None:
    rows = [label("full"), label("none", item="d"), label(None, item="e", state="failed"), label("full", by="model")]
    found = [tuple(row.values()) for row in summarize(read_verdict_records(rows)).records()]
    assert found == [
        ("support", "s", "human:ann", "none", "labelled", 1),
        ("support", "s", "human:ann", "full", "labelled", 1),
        ("support", "s", "human:ann", None, "failed", 1),
        ("support", "s", "model", "full", "labelled", 1),
    ]


def test_a_replaced_label_is_not_counted_and_a_failure_replaces_none() -> None:
    rows = [label("none"), label("full"), label(None, state="failed"), label("none", sample=1)]
    records = read_verdict_records([{**row, "by": "a-model"} for row in rows])
    assert label_status(records) == ["replaced", "counts", "replaced", "counts"]
    summary = summarize(records)
    assert [(each.label, each.number) for each in summary.labels] == [("none", 1), ("full", 1)]
    assert summary.notes == ["2 labels replaced by a later one of the same author"]


def test_a_label_of_a_text_that_has_changed_is_stale_and_is_no_disagreement() -> None:
    item = {"query": "q", "system": "s", "id": "c", "type": "claim", "text": "Gold is soft."}
    old = label("none", by="human:ben", digest="0" * 16)
    records = read_verdict_records([item, label("full", digest="5fd496ce85ce7540"), old])
    assert label_status(records) == ["counts", "stale"]
    summary = summarize(records)
    assert (summary.agreement, summary.notes) == ([], ["1 label not used: the text has changed since"])
    records = read_verdict_records([{**item, "digest": "0" * 16}, label("full")])
    assert label_status(records) == ["stale"]


def test_a_label_of_an_item_that_was_removed_is_stale() -> None:
    removed = {"query": "q", "system": "s", "id": "c", "type": "claim", "removed": True}
    records = read_verdict_records([label("full"), removed, label("full", item="d")])
    assert label_status(records) == ["stale", "counts"]


def test_authors_agree_if_all_of_them_gave_the_same_label_in_most_samples() -> None:
    rows = [label("full", by="a"), label("full", by="b"), label("full", by="c", sample=0)]
    rows += [label("none", by="c", sample=1), label("full", by="c", sample=2)]
    rows += [label("full", item="d", by="a"), label("none", item="d", by="b", text="It melts.")]
    rows += [label("full", item="e", by="a"), *(label(each, item="e", by="c", sample=at) for at, each in
                                                  enumerate(("none", "full")))]  # fmt: skip
    summary = summarize(read_verdict_records(rows))
    ((several, agreed),) = [(each.several, each.agreed) for each in summary.agreement]
    assert (several, agreed) == (2, 1)
    (found,) = summary.disagreements
    assert (found.query, found.item, found.against, dict(found.labels)) == (
        "q",
        "d",
        "context",
        {"a": "full", "b": "none"},
    )


def test_relevance_is_the_same_thing_with_and_without_what_it_is_against() -> None:
    passage = {"query": "q", "item": "p", "type": "passage", "rank": 1, "task": "relevance", "by": "a"}
    rows = [{**passage, "label": 1}, {**passage, "label": 2, "by": "b", "against": "question"}]
    assert len(summarize(read_verdict_records(rows)).disagreements) == 1


def test_calls_are_counted_by_model_and_tokens_added_up_where_they_are_known() -> None:
    call = {"record": "call", "key": "k"}
    calls = [
        {**call, "model": "m", "tokens_in": 10, "tokens_out": 2},
        {**call, "model": "m", "tokens_in": 5, "state": "failed", "key": "k2"},
        call,
    ]
    found = summarize(read_verdict_records([label("full"), *calls]))
    assert [(each.model, each.calls, each.failed, each.tokens_in, each.tokens_out) for each in found.calls] == [
        ("m", 2, 1, 15, 2),
        ("(unknown)", 1, 0, None, None),
    ]
    assert found.tables()[1].text().splitlines()[2:] == [
        "m                        2        1          15            2",
        "(unknown)                1        0     unknown      unknown",
        "note: the tokens of 2 calls are unknown.",
    ]


def test_calls_are_counted_by_prompt_and_a_failure_that_was_asked_again_is_not_one() -> None:
    made = [("support/1", "a", "failed"), ("support/1", "a", "done"), ("support/1", "b", "failed")]
    made += [("support/1", "b", "failed"), ("support/1", "a", "reused"), ("claims/1", "c", "done")]
    calls = [
        {"record": "call", "model": "m", "prompt": prompt, "key": key, "state": state, "tokens_in": 1, "tokens_out": 2}
        for prompt, key, state in made
    ]
    assert summarize(read_verdict_records([label("full"), *calls])).tables()[1].text().splitlines() == [
        "model   prompt      calls   failed   tokens in   tokens out",
        "───────────────────────────────────────────────────────────",
        "m       support/1       2        1           4            8",
        "m       claims/1        1        0           1            2",
    ]


def test_a_list_that_could_not_be_extracted_at_first_is_not_counted_as_failed() -> None:
    failed = {"record": "verdict", "query": "q", "task": "support", "item": "question", "state": "failed", "by": "m"}
    records: list[dict[str, object]] = [{**failed, "call": "k"}, {**failed, "query": "other", "call": "l"}]
    calls = [{"record": "call", "key": key, "state": "failed"} for key in "kl"]
    done = {"record": "call", "key": "k", "state": "done"}
    nugget = {"record": "item", "query": "q", "id": "n1", "type": "nugget", "text": "Gold is soft.", "call": "k"}
    before = summarize(read_verdict_records([*records, *calls]))
    assert [(each.state, each.number) for each in before.labels] == [("failed", 2)]
    after = summarize(read_verdict_records([*records, *calls, nugget, done]))
    assert [(each.state, each.number) for each in after.labels] == [("failed", 1)]


def test_every_label_is_exported_with_all_fields_and_its_place() -> None:
    row = label("full", against=["p2", "p1"], why="=1", call="k", sample=2, digest="x", text="It melts.")
    ((*fields,),) = label_rows(read_verdict_records([row]))
    assert dict(zip(HEADER, fields, strict=True)) == {
        "query": "q", "system": "s", "task": "support", "item": "c", "against": '["p1", "p2"]', "label": "full",
        "state": "labelled", "by": "human:ann", "sample": 2, "why": "=1", "digest": "x", "call": "k", "status": "stale",
        "type": "claim", "text": "It melts.", "place": "the verdicts, row 0",
    }  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from("cde"), st.sampled_from("ab"), st.sampled_from(["none", "partial", "full"]))))
def test_counts_are_those_of_the_last_label_of_each_author_and_item(given_labels: list[tuple[str, str, str]]) -> None:
    rows = [label(each, item=item, by=by) for item, by, each in given_labels]
    summary = summarize(read_verdict_records([label("full", query="another"), *rows]))
    last = {(item, by): each for item, by, each in given_labels}
    expected = Counter((by, each) for (_, by), each in last.items()) + Counter([("human:ann", "full")])
    assert {(each.by, each.label): each.number for each in summary.labels} == expected
    both = [item for item in "cde" if {(item, "a"), (item, "b")} <= last.keys()]
    agreed = sum(last[item, "a"] == last[item, "b"] for item in both)
    assert [(each.several, each.agreed) for each in summary.agreement] == ([(len(both), agreed)] if both else [])
    assert len(summary.disagreements) == len(both) - agreed
