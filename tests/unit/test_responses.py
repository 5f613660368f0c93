"""Reading generated answers: their sentences, and the passages that they are based on."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from karat.errors import KaratError
from karat.grounding.responses.responses import Passage, Response, Sentence, items_of
from karat.grounding.responses.results import read_labelled_results, read_responses
from karat.grounding.verdict_file.records import read_item
from karat.reading.records.results import WantedResults

D1, D2 = {"id": "d1", "content": "Gold is soft."}, {"id": "d2", "content": "Gold is yellow."}


def response(record: dict[str, Any], **options: Any) -> Response:
    [found] = read_responses([{"query": "q1", **record}], **options).responses
    return found


def test_an_answer_becomes_sentences_with_what_they_cite() -> None:
    found = response({"question": "Why?", "answer": "It is soft [1].\n---\nYes [2][9]. No.", "retrieved": [D1, D2]})
    assert found.question == "Why?"
    assert found.sentences == (
        Sentence("It is soft [1].", ("d1",)),
        Sentence("Yes [2][9].", ("d2", "[9]")),
        Sentence("No."),
    )
    assert found.passages == (Passage("d1", 1, "Gold is soft."), Passage("d2", 2, "Gold is yellow."))


@pytest.mark.parametrize(
    ("retrieved", "passages"),
    [
        (["Gold is soft.", "Yellow."], [("p1", "Gold is soft."), ("p2", "Yellow.")]),
        (["d1", "d2"], [("d1", None), ("d2", None)]),
        ({"d1": 0.5, "d2": 2}, [("d2", None), ("d1", None)]),
        ([D1, D2, D1], [("d1", "Gold is soft."), ("d2", "Gold is yellow.")]),
        ([D1, {"id": "d1", "content": "Another chunk."}], [("d1", "Gold is soft."), ("d1#2", "Another chunk.")]),
        ([{"content": "A b"}, {"id": "p1", "content": "C d"}], [("p1#2", "A b"), ("p1", "C d")]),
        ([{"id": "context", "content": "A b"}], [("context#2", "A b")]),
        ([{"id": 7, "page_content": "A b"}, {"id": ""}], [("7", "A b"), ("p2", None)]),
        ([], []),
    ],
)
def test_passages_have_the_ids_of_documents_or_are_named_after_their_ranks(
    retrieved: Any, passages: list[tuple[str, str | None]]
) -> None:
    found = response({"answer": "Yes.", "retrieved": retrieved})
    assert [(each.id, each.text) for each in found.passages] == passages


def test_a_passage_that_is_listed_twice_counts_for_the_ranks_of_others() -> None:
    found = response({"answer": "Yes [2] and [3].", "retrieved": [D1, D1, D2]})
    assert found.sentences[0].cites == ("d1", "d2")
    assert [(each.id, each.rank) for each in found.passages] == [("d1", 1), ("d2", 3)]


def test_texts_come_from_a_corpus_and_questions_from_queries() -> None:
    found = response({"answer": "Yes.", "retrieved": ["d1"]}, corpus={"d1": "Gold is soft."}, queries={"q1": "Why?"})
    assert (found.question, found.passages) == ("Why?", (Passage("d1", 1, "Gold is soft."),))


def test_ground_truth_is_not_needed_and_fields_are_known_by_their_usual_names() -> None:
    [found] = read_responses(
        [{"question": "Why is it?", "contexts": ["Gold is soft."], "response": "Yes [1]."}]
    ).responses
    assert (found.query, found.question, found.sentences) == (
        "Why is it?",
        "Why is it?",
        (Sentence("Yes [1].", ("p1",)),),
    )


def test_a_query_may_lack_an_answer_but_not_all_of_them() -> None:
    first, second = read_responses([{"query": "q1", "answer": "Yes."}, {"query": "q2", "answer": None}]).responses
    assert (len(first.sentences), second.answer, second.sentences) == (1, "", ())
    with pytest.raises(KaratError, match="no field 'answer'"):
        read_responses([{"query": "q1", "retrieved": ["Gold is soft."]}])


@pytest.mark.parametrize("content", ["", "nonsense"])
def test_the_hint_for_results_that_cannot_be_read_is_about_answers(tmp_path: Path, content: str) -> None:
    file = tmp_path / "rag.jsonl"
    file.write_text(content)
    hint = re.escape('Each line is one object: {"query": "...", "retrieved": [...], "answer": "..."}')
    for read in (read_responses, partial(read_labelled_results, wanted=WantedResults())):
        with pytest.raises(KaratError, match=hint):
            read(file)


def test_a_span_is_not_a_passage() -> None:
    with pytest.raises(KaratError, match=r"the results, query q1, passage 1: a span of a document has no text"):
        response({"answer": "Yes.", "retrieved": [["d1", 0, 5]]})


def test_items_are_read_back_from_their_records_and_their_ids_are_unique() -> None:
    found = response({"answer": "It is [1]. No.", "retrieved": [{"id": "s1", "content": "A b"}]}, system="rag")
    items = items_of(found)
    assert [each.id for each in items] == ["sentence1", "sentence2", "s1"]
    for item in items:
        again = read_item(json.loads(json.dumps(item.record())), "")
        assert again._replace(digest=None) == item
        assert not again.is_corrected


TREC = {
    "run_id": "run",
    "topic_id": 7,
    "topic": "Why?",
    "references": ["d1", "d2"],
    "answer": [{"text": "It is soft.", "citations": [1, 0, 1]}, {"text": "Yes [1].", "citations": [2, -1]}],
}
TREC_2025 = {
    "metadata": {"team_id": "t", "run_id": "run", "narrative_id": 7, "narrative": "Why?"},
    "references": ["d1", "d2"],
    "answer": [{"text": "It is soft.", "citations": ["d2", "d1"]}, {"text": "Yes [1].", "citations": ["2", "-1"]}],
}
OF_OTHER_TRACKS = {**TREC_2025, "responses": [{"text": "It is soft.", "citations": {"d2": 0.9, "d1": 0.1}}]}


@pytest.mark.parametrize("record", [TREC, TREC_2025])
def test_submissions_to_trec_rag_are_read(record: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(json.dumps(record) + "\n")
    [found] = read_responses(file, corpus={"d1": "Gold is soft."}).responses
    assert (found.query, found.system, found.question, found.answer) == ("7", "run", "Why?", "It is soft. Yes [1].")
    assert found.sentences == (Sentence("It is soft.", ("d2", "d1")), Sentence("Yes [1].", ("[2]", "[-1]")))
    assert found.passages == (Passage("d1", 1, "Gold is soft."), Passage("d2", 2))


def test_responses_of_other_tracks_are_read() -> None:
    [found] = read_responses([{key: value for key, value in OF_OTHER_TRACKS.items() if key != "answer"}]).responses
    assert found.sentences == (Sentence("It is soft.", ("d2", "d1")),)


def test_several_runs_may_be_in_one_file_but_a_topic_only_once_in_a_run() -> None:
    found = read_responses([TREC, {**TREC, "run_id": "other"}])
    assert [each.system for each in found.responses] == ["run", "other"]
    with pytest.raises(KaratError, match=r"the results\[1\]: topic '7' was already in the results\[0\]"):
        read_responses([TREC, TREC])


def test_sentences_without_a_letter_are_left_out_and_counted() -> None:
    found = read_responses([{**TREC, "answer": [{"text": " ", "citations": []}, {"text": "Yes.", "citations": []}]}])
    assert [each.text for each in found.responses[0].sentences] == ["Yes."]
    assert found.notes == ("1 sentence without a letter or a digit left out",)


SENTENCE = {"text": "Yes.", "citations": [0]}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"metadata": 5}, "metadata 5 is not an object"),
        ({"topic_id": None}, "there is no topic"),
        ({"topic_id": 1.5}, "topic: 1.5 is not an id"),
        ({"topic_id": "\ud800"}, "an id is not valid Unicode"),
        ({"run_id": ["r"]}, "run_id: ['r'] is not an id"),
        ({"references": None}, "there are no references"),
        ({"references": "d1"}, "references 'd1' are not a list"),
        ({"references": ["d1", 5]}, "references[1]: 5 is not an id"),
        ({"references": [""]}, "references[0]: '' is not an id"),
        ({"answer": None}, "there is no answer"),
        ({"answer": "Yes."}, "answer 'Yes.' is not a list of sentences"),
        ({"answer": [SENTENCE, "Yes."]}, "answer[1]: 'Yes.' is not a sentence"),
        ({"answer": [{"citations": []}]}, "answer[0]: the text is None, which is not text"),
        ({"answer": [{"text": "Yes."}]}, "answer[0]: there are no citations"),
        ({"answer": [{**SENTENCE, "citations": 0}]}, "answer[0]: citations 0 are not a list"),
        ({"answer": [{**SENTENCE, "citations": [0.5]}]}, "answer[0], citations[0]: 0.5 is not a citation"),
        ({"answer": [{**SENTENCE, "citations": [True]}]}, "answer[0], citations[0]: True is not a citation"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_damaged_field_of_a_submission_is_an_error_with_its_place(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(KaratError) as raised:
        read_responses([{**TREC, "topic_id": 1}, {**TREC, **fields}])
    assert str(raised.value).startswith("the results[1]")
    assert message in str(raised.value)


def test_documents_with_scores_may_have_numbers_as_ids() -> None:
    found = response({"answer": "Yes [2].", "retrieved": {7: 0.5, 12: 0.75}})
    assert found.passages == (Passage("12", 1), Passage("7", 2))
    assert found.sentences[0].cites == ("7",)
