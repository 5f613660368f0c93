"""Labels beside results: measures of verdicts in one table with those of documents and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karat import KaratError, Scores, evaluate_results, evaluate_verdicts
from karat.cli import demo_data as demo
from karat.grounding.verdict_file.records import text_digest
from tests.end_to_end.in_process import good, mistake, run_here

RECORDS: list[dict[str, Any]] = [
    {"query": "q1", "retrieved": [{"id": "d1", "content": "Gold is soft."}], "answer": "It is soft [1]. Very."},
    {"query": "q2", "retrieved": [{"id": "d2", "content": "Gold melts."}], "answer": "It melts [1]."},
]
ROW = {"task": "support", "system": "rag", "by": "human:ann", "label": "full"}
LABELS = [
    {**ROW, "query": "q1", "item": "s1", "against": ["d1"]},
    {**ROW, "query": "q1", "item": "s2", "against": ["d1"], "label": "none"},
]
MEASURES = ["Faithfulness(unit=sentences)", "SupportRecall"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "rag.jsonl", RECORDS)
    write(tmp_path / "both.jsonl", [{**record, "truth": ["d1"]} for record in RECORDS])
    write(tmp_path / "verdicts.jsonl", LABELS)
    (tmp_path / "truth.qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "run.trec").write_text("q1 Q0 d1 1 3 t\n")
    return tmp_path


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def evaluated(records: list[dict[str, Any]], labels: Any = LABELS, measures: Any = MEASURES, **options: Any) -> Scores:
    return evaluate_results(records, measures, verdicts=labels, name="rag", **options)


def test_results_need_only_an_answer_and_passages_if_there_are_labels() -> None:
    scores = evaluated(RECORDS)
    assert scores.per_query["q1"] == {"Faithfulness(unit=sentences)": 0.5, "SupportRecall": 0.5}
    assert scores.per_query["q2"] == {"Faithfulness(unit=sentences)": None, "SupportRecall": None}


def test_results_need_answers_only_for_measures_of_answers(folder: Path) -> None:
    passages = [{name: value for name, value in record.items() if name != "answer"} for record in RECORDS]
    write(folder / "rag.jsonl", passages)
    good(folder, "verdicts", "template", "rag.jsonl", "--task", "context", "-o", "todo.csv")
    relevant = {**ROW, "task": "relevance", "against": "question", "label": 3}
    labels = [{**relevant, "query": f"q{at}", "item": f"d{at}"} for at in (1, 2)]
    assert evaluated(passages, labels, None).means == {"ContextRelevance": 1.0, "ContextPrecision": 1.0}
    labels.append({**ROW, "query": "q1", "item": "c1", "type": "claim", "against": "context"})
    assert evaluated(passages, labels, "ContextRelevance")["ContextRelevance"] == 1.0
    for measures in ("Faithfulness", None, ["ContextRelevance", "CitationValid"]):
        with pytest.raises(KaratError, match="no field 'answer'"):
            evaluated(passages, labels, measures)


def test_the_demo_has_documents_answers_and_verdicts_in_one_table() -> None:
    truth = [{**json.loads(line), "truth": ["gold-001"]} for line in demo.GENERATED.read_text("utf-8").splitlines()]
    scores = evaluate_results(truth, verdicts=demo.VERDICTS, author="human:ann", name="generated")
    alone = evaluate_verdicts(demo.VERDICTS, author="human:ann")
    assert scores.measures[0] == "nDCG@5"
    assert "TokenF1" in scores
    assert {name: scores[name] for name in alone.measures} == alone.means


def test_gold_answers_say_which_questions_should_be_refused_unless_a_label_does() -> None:
    records = [{**RECORDS[0], "gold_answers": []}, {**RECORDS[1], "gold_answers": ["It melts."]}]
    refused = [{**ROW, "task": "abstention", "item": "answer", "query": query, "label": "refused"} for query in "12"]
    labels = [{**label, "query": f"q{label['query']}"} for label in refused]
    assert list(evaluated(records, labels, "Abstention").column("Abstention")) == [1.0, 0.0]
    labels += [{**labels[1], "item": "gold"}]
    assert list(evaluated(records, labels, "Abstention").column("Abstention")) == [1.0, 1.0]


def test_labels_of_a_text_that_has_changed_do_not_count() -> None:
    items = [
        {"query": "q1", "system": "rag", "id": name, "type": "sentence", "text": text, "cites": cites}
        for name, text, cites in (("s1", "It is soft [1].", ["d1"]), ("s2", "Very.", []))
    ]
    changed = [{**RECORDS[0], "answer": "It is hard [1]. Very."}]
    assert evaluated(RECORDS[:1], [*items, *LABELS])["SupportRecall"] == 0.5
    scores = evaluated(changed, [*items, *LABELS])
    assert scores.combined("SupportRecall") is None
    assert "1 label not used: the text has changed since." in map(str, scores.findings)


CLAIMS = [
    {"query": "q1", "system": "rag", "id": "answer", "type": "answer", "digest": text_digest(RECORDS[0]["answer"])},
    {**ROW, "query": "q1", "item": "c1", "type": "claim", "against": "context"},
    {**ROW, "query": "q1", "item": "n1", "type": "nugget", "against": "answer"},
]
CHANGED = [{**RECORDS[0], "answer": "It is soft [1]. Very. It is rare [1]."}]


def test_claims_of_an_answer_that_has_changed_do_not_count_and_new_sentences_are_unlabelled() -> None:
    measures = ["Faithfulness", "SupportRecall", "NuggetRecall"]
    sentences = [
        {"query": "q1", "system": "rag", "id": name, "type": "sentence", "text": text, "cites": cites}
        for name, text, cites in (("s1", "It is soft [1].", ["d1"]), ("s2", "Very.", []))
    ]
    of_q2 = [{**label, "query": "q2"} for label in CLAIMS[1:]]
    labels = [*CLAIMS, *sentences, *LABELS, *of_q2, {**LABELS[0], "query": "q2", "against": ["d2"]}]
    assert evaluated(RECORDS, labels, measures).means == dict(zip(measures, (1.0, 0.75, 1.0), strict=True))
    scores = evaluated([*CHANGED, RECORDS[1]], labels, measures)
    assert scores.means == dict.fromkeys(measures, 1.0)
    # The first of three sentences is supported, and one cites nothing.
    assert [scores.bounds(name).per_query["q1"] for name in measures] == [(0, 1), (1 / 3, 2 / 3), (0, 1)]
    notes = list(map(str, scores.findings))
    assert "1 label not used: about answers that have changed since (q1)." in notes
    assert "1 label not used: the text has changed since." in notes


def test_if_all_labels_are_about_earlier_answers_the_error_says_so() -> None:
    with pytest.raises(KaratError, match=r"there are none\. 1 label not used: about answers that have changed"):
        evaluated(CHANGED, CLAIMS[:2], "Faithfulness")


def test_labels_of_other_sentences_than_those_of_the_answer_are_not_used() -> None:
    row = {**ROW, "query": "q1", "type": "sentence", "against": ["d1"], "cites": ["d1"]}
    row |= {"against_digest": text_digest("Gold is soft.")}
    labels = [{**row, "item": "a", "text": "Very."}, {**row, "item": "b", "text": "It is rare."}]
    scores = evaluated(RECORDS[:1], labels, "Faithfulness(unit=sentences)")
    assert scores.bounds("Faithfulness(unit=sentences)").per_query["q1"] == (0.5, 1.0)
    notes = list(map(str, scores.findings))
    assert notes == ["1 label not used: about passages or sentences that the results do not have."]


def test_labels_of_other_passages_than_those_of_the_results_do_not_count() -> None:
    passage = {"query": "q1", "system": "rag", "type": "passage", "rank": 1}
    for other, value in (({"id": "d1"}, 1.0), ({"id": "x", "text": "Gold is soft."}, 1.0), ({"id": "x"}, None)):
        scores = evaluated(RECORDS[:1], [*CLAIMS, {**passage, **other}], "Faithfulness")
        assert scores.means == {"Faithfulness": value}


def test_labels_of_people_are_stale_after_an_answer_has_changed(folder: Path) -> None:
    template = ("verdicts", "template", "rag.jsonl", "--task", "faithfulness", "-o", "todo.csv")
    good(folder, *template)
    sheet = (folder / "todo.csv").read_text("utf-8-sig").replace("nothing_to_judge,,,", "nothing_to_judge,full,,")
    (folder / "todo.csv").write_text(sheet, "utf-8")
    assert "3 labels added" in good(folder, "verdicts", "import", "todo.csv", "-o", "people.jsonl")
    words = ("evaluate", "rag.jsonl", "--verdicts", "people.jsonl", "-m", "Faithfulness(unit=sentences)")
    assert "Faithfulness(unit=sentences)   1.0000" in good(folder, *words)
    write(folder / "rag.jsonl", [*CHANGED, RECORDS[1]])
    table = good(folder, *words)
    # Two of the three sentences that q1 has now are labelled.
    assert "Faithfulness(unit=sentences)   1.0000   0.8333 to 1.0000         1" in table
    assert "note:" not in table


def test_what_answers_cite_is_measured_without_labels(folder: Path) -> None:
    cites_two = [RECORDS[0], {**RECORDS[1], "answer": "It melts [1]. At 1064 °C [2]."}]
    scores = evaluate_results(cites_two, "CitationValid")
    assert scores.column("CitationValid").tolist() == [1.0, 0.5]
    assert [(row.item, row.against) for row in scores.explain("q2").labels or ()] == [("s1", "d2"), ("s2", "[2]")]
    beside = evaluate_results([{**record, "truth": ["d1"]} for record in cites_two], ["RR", "CitationValid"])
    assert beside.means == {"RR": 0.5, "CitationValid": 0.75}
    assert "CitationValid   1.0000" in good(folder, "evaluate", "rag.jsonl", "-m", "CitationValid")
    assert "is computed from labels" in mistake(folder, "evaluate", "rag.jsonl", "-m", "CitationValid,Faithfulness")


def test_queries_that_only_the_verdicts_have_are_counted() -> None:
    assert "1 query with verdicts not evaluated: q1." in map(
        str, evaluated(RECORDS[1:], [*LABELS, {**LABELS[0], "query": "q2", "against": ["d2"]}]).findings
    )


def test_an_empty_answer_has_nothing_to_judge() -> None:
    scores = evaluated([RECORDS[0], {**RECORDS[1], "answer": ""}])
    assert scores.bounds("SupportRecall").mean == (0.5, 0.5)
    assert scores.bounds("SupportRecall").unknown.sum() == 0


def test_a_submission_to_trec_rag_is_evaluated_by_labels_of_its_run() -> None:
    sentences = [{"text": "It is soft.", "citations": [0]}, {"text": "Very.", "citations": []}]
    submission = [{"run_id": "rag", "topic_id": "q1", "references": ["d1"], "answer": sentences}]
    assert evaluate_results(submission, "SupportRecall", verdicts=LABELS, name="any name")["SupportRecall"] == 0.5
    with pytest.raises(KaratError, match="several runs: rag, other"):
        evaluate_results([*submission, {**submission[0], "run_id": "other"}], verdicts=LABELS)


def test_the_command_reads_labels_and_finds_the_system_by_its_file_or_its_name(folder: Path) -> None:
    table = good(folder, "evaluate", "rag.jsonl", "--verdicts", "verdicts.jsonl", "-m", "SupportRecall")
    (folder / "rag.jsonl").rename(folder / "new.jsonl")
    assert good(folder, "evaluate", "new.jsonl:rag", "--verdicts", "verdicts.jsonl", "-m", "SupportRecall") == table
    error = mistake(folder, "evaluate", "new.jsonl", "--verdicts", "verdicts.jsonl")
    assert "no verdict is about the system 'new'. Systems: rag. Choose one with name, or FILE:NAME" in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("rag.jsonl -m Faithfulness", "Faithfulness is computed from labels of answers, and there are none"),
        ("truth.qrels run.trec -m Faithfulness", "results.jsonl --verdicts FILE"),
        ("truth.qrels run.trec -m CitationValid", "CitationValid measures generated answers, not documents. Use eval"),
        ("truth.qrels run.trec --verdicts verdicts.jsonl", "no label is about a document"),
        ("verdicts.jsonl", "karat evaluate results.jsonl --verdicts verdicts.jsonl"),
        ("rag.jsonl --author human", "Add --verdicts FILE"),
        ("rag.jsonl --verdicts verdicts.jsonl --by human:ann", "use --author human:ann"),
        ("rag.jsonl --verdicts verdicts.jsonl --author ann", "Authors: human:ann (2 labels)"),
        ("rag.jsonl --verdicts verdicts.jsonl --unknown error", "of query q2 lacks a label"),
        ("rag.jsonl --verdicts verdicts.jsonl -m NuggetRecall", "karat verdicts template"),
        ("both.jsonl --verdicts verdicts.jsonl -m RR", "none of these measures is computed from verdicts"),
    ],
)
def test_a_mistake_about_labels_is_explained(folder: Path, words: str, message: str) -> None:
    assert message in mistake(folder, "evaluate", *words.split())


def test_a_gate_reads_labels_and_its_options_from_the_configuration(folder: Path) -> None:
    config = 'verdicts = "verdicts.jsonl"\nauthor = "human:ann"\nunknown = "worst"\nmin = {SupportRecall = 0.3}\n'
    (folder / "karat.toml").write_text(f"[gate]\n{config}")
    done = run_here(folder, "gate", "rag.jsonl")
    assert (done.returncode, done.stderr) == (1, "")
    assert "failed    SupportRecall   0.2500   at least 0.3000" in done.stdout
    assert run_here(folder, "gate", "rag.jsonl", "--unknown", "bounds").returncode == 0
    (folder / "karat.toml").write_text("[gate]\nunknown = 'low'\n")
    assert "'low' is not one of bounds, skip, error, worst" in mistake(folder, "gate", "rag.jsonl")


def test_explain_shows_labels_by_whom_and_why_and_what_is_unlabelled() -> None:
    why = [{**LABELS[0], "why": "It is stated."}, *LABELS[1:]]
    explained = evaluated(RECORDS, why).explain("q1")
    assert [(row.item, row.against, row.label, row.by, row.why) for row in explained.labels or ()] == [
        ("s1", "d1", "full", "human:ann", "It is stated."),
        ("s2", "d1", "none", "human:ann", None),
    ]
    assert explained.tables()[0].text().splitlines()[2].split() == (
        "sentence s1: It is soft [1]. support d1 full human:ann It is stated.".split()
    )
    (unlabelled,) = evaluated(RECORDS, why).explain("q2").labels or ()
    assert (unlabelled.item, unlabelled.text, unlabelled.label_text) == ("s1", "It melts [1].", "unlabelled")


def test_explain_shows_stale_labels_as_stale_unless_there_is_a_later_one() -> None:
    row = {**ROW, "query": "q1", "type": "claim", "against": ["d1"], "label": "none"}
    passage = {"query": "q1", "system": "rag", "id": "d1", "type": "passage", "rank": 1}
    hard, soft = ({"against_digest": text_digest(text)} for text in ("Gold is hard.", "Gold is soft."))
    labels = [{**passage, "text": "Gold is soft."}, *({**row, **hard, "item": item} for item in ("c1", "c2"))]
    labels += [{**row, **soft, "item": "c2", "label": "full"}]
    scores = evaluated(RECORDS[:1], labels, "Faithfulness")
    explained = scores.explain("q1")
    assert [(each.item, each.label_text) for each in explained.labels or ()] == [("c1", "stale"), ("c2", "full")]


def test_a_claim_that_was_not_compared_with_all_passages_says_with_which() -> None:
    passages = [{"id": name, "content": name} for name in ("d1", "d2", "d3")]
    labels = [{**LABELS[1], "item": "c1", "type": "claim", "of": "answer"}]
    (label, missing) = (
        evaluated([{**RECORDS[0], "retrieved": passages}], labels, "Faithfulness").explain("q1").labels or ()
    )
    assert (label.against, missing.against, missing.label_text) == ("d1", "d2, d3", "unlabelled")


def test_diff_shows_the_labels_that_differ(folder: Path) -> None:
    other = [{**LABELS[0], "system": "new", "label": "none"}, {**LABELS[1], "system": "new"}]
    write(folder / "verdicts.jsonl", [*LABELS, *other])
    write(folder / "new.jsonl", [RECORDS[0], {**RECORDS[1], "answer": ""}])
    words = ("diff", "rag.jsonl", "new.jsonl", "--verdicts", "verdicts.jsonl", "-m", "SupportRecall")
    assert "q1      s1: It is soft [1].   d1        full → none   0.5000   0.0000      -0.5000" in good(folder, *words)
    assert "sentence   s1: It is soft [1].   support   d1        full   none" in good(folder, *words, "--query", "q1")
    assert (
        "s1,sentence,It is soft [1].,support,d1,full,none\n"
        in run_here(folder, *words, "--query", "q1", "--format", "csv").stdout
    )


def test_systems_labelled_by_different_authors_are_not_compared(folder: Path) -> None:
    write(folder / "verdicts.jsonl", [*LABELS, *({**label, "by": "model", "system": "new"} for label in LABELS)])
    write(folder / "new.jsonl", RECORDS)
    words = ("rag.jsonl", "new.jsonl", "--verdicts", "verdicts.jsonl", "-m", "SupportRecall")
    assert "with author='human:ann' and 'model'" in mistake(folder, "compare", *words)


def test_measures_of_verdicts_are_marked_and_say_which_labels_they_need(folder: Path) -> None:
    assert "that the passages support. (from verdicts)" in good(folder, "measures")
    explained = " ".join(good(folder, "measures", "CitationPrecision").split())
    assert "support of the sentences of the answer against what they cite" in explained
    assert "(karat verdicts template --task citations)" in explained
    assert ">>> from karat import evaluate_verdicts" in explained
    assert "labels none: citations are read from the answers" in " ".join(
        good(folder, "measures", "CitationValid").split()
    )
