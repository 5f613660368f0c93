"""Grades of people correct those of a model: from a sheet of documents to corrected means and differences of runs."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat import KaratError
from karat.comparison import compare
from karat.evaluation.label_agreement import label_agreement
from karat.grounding.verdict_file.drawn import draw, drawn_queries
from tests.end_to_end.in_process import run_here

Grades = Mapping[str, Mapping[str, float]]

QUERIES = [f"q{at}" for at in range(120)]
DRAWN = draw(QUERIES, 60, 0)
RUN = {query: [f"{query}-{at}" for at in range(10)] for query in QUERIES}
TRUTH = {query: {f"{query}-{at}": 3.0} for at, query in enumerate(QUERIES)}
"""what people judged before: the document at a rank that differs, of some queries none of those retrieved"""
MEASURES = ["nDCG@10", "AP(rel=2)", "P@5"]


def grades_of_people() -> dict[str, dict[str, float]]:
    """What people would say about all documents that are not judged."""
    rng = random.Random("people")
    return {
        query: {doc: rng.choice((0, 0, 0, 1, 2, 3)) for doc in RUN[query] if doc not in TRUTH[query]}
        for query in QUERIES
    }


PEOPLE = grades_of_people()


def lenient(grades: Grades, share: float = 0.4) -> dict[str, dict[str, float]]:
    """The grades of a model, which are often one too high."""
    rng = random.Random("model")
    return {
        query: {doc: min(3, grade + (rng.random() < share)) for doc, grade in of_query.items()}
        for query, of_query in grades.items()
    }


def labels(grades: Grades, by: str, queries: Iterable[str] = QUERIES) -> list[dict[str, Any]]:
    what = {"record": "verdict", "type": "document", "task": "relevance", "against": "question", "by": by}
    return [
        {**what, "query": query, "item": doc, "label": grade}
        for query in queries
        for doc, grade in grades[query].items()
    ]


def sample(drawn: list[str] = DRAWN, queries: Iterable[str] = QUERIES) -> list[dict[str, Any]]:
    return [each.record() for each in drawn_queries(drawn, queries, None, "relevance", 0).values()]


def verdicts(
    people: Grades = PEOPLE, model: Grades | None = None, labelled: Iterable[str] = DRAWN
) -> list[dict[str, Any]]:
    by_model = labels(lenient(PEOPLE) if model is None else model, "gpt")
    return [*by_model, *labels(people, "human:ann", labelled), *sample()]


def evaluated(records: Any, measures: Any = MEASURES, **options: Any) -> karat.Scores:
    return karat.evaluate(TRUTH, RUN, measures, verdicts=records, correct=True, **options)


def by_people_alone(measures: Any = MEASURES) -> karat.Scores:
    """The scores if people judged everything."""
    return karat.evaluate({query: {**PEOPLE[query], **TRUTH[query]} for query in QUERIES}, RUN, measures)


def test_the_means_of_a_lenient_model_are_corrected_by_the_grades_of_people() -> None:
    scores, right = evaluated(verdicts()), by_people_alone()
    for row in scores.corrected().records():
        mean = right[row["measure"]]
        assert row["model"] == scores[row["measure"]]
        assert abs(row["corrected"] - mean) < abs(row["people"] - mean) + 0.02
        assert row["low"] <= mean <= row["high"]
        assert (row["labelled"], row["queries"], row["few"]) == (60, 120, False)
    assert scores["P@5"] > right["P@5"] + 0.05


def test_the_values_by_people_are_those_of_an_evaluation_with_their_grades() -> None:
    scores, right = evaluated(verdicts(), ["nDCG@10", "ERR@5", "AP(rel=2)", "DCG", "bpref"]), by_people_alone()
    right = by_people_alone(["nDCG@10", "ERR@5", "AP(rel=2)", "DCG", "bpref"])
    for measure, correction in scores.corrections.items():
        for row, query in enumerate(scores.queries):
            if query in DRAWN:
                assert correction.people[row] == right.values[measure][right.queries.index(query)]
            else:
                assert correction.people[row] != correction.people[row]


def test_the_scores_of_gold_documents_are_replaced_only_where_labels_grade() -> None:
    truth = {query: [karat.Document(id=doc, score=2.5) for doc in TRUTH[query]] for query in QUERIES}
    scores = karat.evaluate(truth, RUN, "nDCG@10", verdicts=verdicts(), correct=True)
    both = {query: {**PEOPLE[query], **dict.fromkeys(TRUTH[query], 2.5)} for query in QUERIES}
    right = karat.evaluate(both, RUN, "nDCG@10")
    at = right.queries.index(DRAWN[0])
    assert scores.corrections["nDCG@10"].people[scores.queries.index(DRAWN[0])] == right.values["nDCG@10"][at]


@settings(max_examples=8)
@given(st.permutations(QUERIES))
def test_the_order_of_queries_and_records_does_not_matter(order: list[str]) -> None:
    run = {query: RUN[query] for query in order}
    records = sorted(verdicts(), key=lambda record: (order.index(record["query"]), record["record"]))
    scores = karat.evaluate(TRUTH, run, MEASURES, verdicts=records, correct=True)
    assert scores.corrected().records() == evaluated(verdicts()).corrected().records()


def test_queries_with_nothing_to_label_count_down_to_the_last_one_that_people_labelled() -> None:
    drawn = draw(QUERIES, 60, 0)
    judged = {drawn[3], drawn[40]}
    truth = {query: {**TRUTH[query], **(PEOPLE[query] if query in judged else {})} for query in QUERIES}
    records = [each for each in verdicts(labelled=drawn[:30]) if each["query"] not in judged]
    scores = karat.evaluate(truth, RUN, "P@5", verdicts=records, correct=True)
    assert scores.corrected().records()[0]["labelled"] == 30
    assert not [each for each in scores.findings if each.code == "left-out"]


def test_documents_that_people_judged_before_are_graded_by_the_ground_truth() -> None:
    others = {query: dict.fromkeys(TRUTH[query], 0.0) for query in QUERIES}
    more = [*verdicts(), *labels(others, "human:ann"), *labels(others, "gpt")]
    assert evaluated(more).corrected().records() == evaluated(verdicts()).corrected().records()


def without(grades: Grades, queries: Iterable[str]) -> dict[str, dict[str, float]]:
    """The same grades, of some queries without the first document."""
    return {
        query: dict([*of_query.items()][1:]) if query in {*queries} else {**of_query}
        for query, of_query in grades.items()
    }


def test_a_query_of_which_people_left_out_a_document_is_a_gap() -> None:
    scores = evaluated(verdicts(without(PEOPLE, DRAWN[4:6])))
    [finding] = [each for each in scores.findings if each.code == "left-out"]
    assert finding.message == "nDCG@10, AP(rel=2), P@5: people left out 2 queries of the first 60 that were drawn (3%)"
    assert finding.queries == tuple(DRAWN[4:6])
    assert {row["labelled"] for row in scores.corrected().records()} == {58}


def test_a_query_of_which_the_model_left_out_a_document_is_not_compared() -> None:
    scores = evaluated(verdicts(model=without(lenient(PEOPLE), DRAWN[4:6])))
    [finding] = [each for each in scores.findings if each.code == "not-by-model"]
    assert finding.message.endswith("people labelled what the model did not in 2 queries of 60 (3%)")
    assert {row["labelled"] for row in scores.corrected().records()} == {58}


REFUSED: dict[str, tuple[list[dict[str, Any]], str]] = {
    "documents that people chose themselves": (
        [each for each in verdicts() if each["record"] != "sample"], "were not drawn at random",
    ),
    "labels only by people": ([*labels(PEOPLE, "human", DRAWN), *sample()], "no label of a document is by a model"),
    "labels only by a model": (labels(PEOPLE, "gpt"), "no label of a document is by a person"),
    "two models": ([*verdicts(), *labels(PEOPLE, "claude")], "the labels are by 2 models"),
    "a sample of other queries": (
        [*verdicts()[: -len(DRAWN)], *sample(draw(QUERIES[:100], 60, 0), QUERIES[:100])],
        "was drawn from 100 queries, and the 120 queries that are evaluated are not the same",
    ),
    "a model that judged only what people did not": (
        verdicts(model={query: {} if query in DRAWN else PEOPLE[query] for query in QUERIES}),
        "people labelled what the model did not in 60 queries of 60 (100%)",
    ),
    "a model that judged more documents than people": (
        verdicts(people=without(PEOPLE, QUERIES)), "no query has a value of nDCG@10, AP(rel=2) or P@5 by both",
    ),
    "hard queries left out": (verdicts(labelled=DRAWN[20:]), "people left out 20 queries of the first 60"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_correction_that_would_be_wrong_is_refused_with_the_reason(case: str) -> None:
    records, reason = REFUSED[case]
    with pytest.raises(KaratError) as error:
        evaluated(records)
    assert reason in str(error.value)


def test_a_correction_needs_verdicts_and_ties_that_do_not_depend_on_grades() -> None:
    with pytest.raises(KaratError, match="correct needs labels"):
        evaluated(None)
    with pytest.raises(KaratError, match="ranks documents by their grades"):
        evaluated(verdicts(), ties="best")


def test_queries_of_examples_are_left_out() -> None:
    call = {"record": "call", "key": "k1", "model": "gpt", "prompt": "relevance/2+examples/1", "examples": DRAWN[:5]}
    scores = evaluated([*verdicts(), call])
    assert not {*scores.queries} & {*DRAWN[:5]}
    assert {(row["labelled"], row["queries"]) for row in scores.corrected().records()} == {(55, 115)}


def test_queries_that_a_run_lacks_score_zero_or_are_left_out() -> None:
    run = {query: RUN[query] for query in QUERIES if query not in DRAWN[:6]}
    for missing, counts in (("zero", (60, 120)), ("skip", (54, 114))):
        scores = karat.evaluate(TRUTH, run, "P@5", verdicts=verdicts(), correct=True, missing=missing)  # type: ignore[arg-type]
        [row] = scores.corrected().records()
        assert (row["labelled"], row["queries"]) == counts


def test_labels_of_answers_in_the_same_file_are_no_labels_of_documents() -> None:
    answer = {"record": "verdict", "query": "q1", "system": "rag", "task": "correctness", "item": "answer"}
    others = [{**answer, "by": "claude", "label": "correct"}, {**answer, "by": "human", "label": "correct"}]
    assert evaluated([*verdicts(), *others]).corrected().records() == evaluated(verdicts()).corrected().records()


def test_a_difference_that_is_only_the_models_is_corrected_away() -> None:
    runs = {"old": RUN, "new": {query: documents[::-1] for query, documents in RUN.items()}}
    rng = random.Random(3)
    model = {
        query: {doc: 3.0 if int(doc.split("-")[1]) > 4 and rng.random() < 0.5 else grade for doc, grade in each.items()}
        for query, each in PEOPLE.items()
    }
    systems = karat.evaluate_runs(TRUTH, runs, "P@5", verdicts=verdicts(model=model), correct=True)
    comparison = compare(systems, "old")
    [row] = comparison.corrected().records()
    p = comparison.row("P@5").p
    assert p is not None
    assert p < 0.001 < 0.05 < row["p"]
    assert row["low"] <= 0 <= row["high"]


def test_differences_of_totals_are_tested_against_limits_of_the_total() -> None:
    runs = {"old": RUN, "new": {query: documents[:-1] for query, documents in RUN.items()}}
    systems = karat.evaluate_runs(TRUTH, runs, ["NumRelRet", "GMAP"], verdicts=verdicts(), correct=True)
    drop = systems["old"]["NumRelRet"] - systems["new"]["NumRelRet"]
    by_limit = {
        limit: karat.gate(
            systems["new"], baseline=systems["old"], max_drop={"NumRelRet": limit}, significant=True, correct=True
        )
        for limit in (1.0, drop, 500.0)
    }
    assert [gate.passed for gate in by_limit.values()] == [False, True, True]
    [outcome] = by_limit[1.0].outcomes
    assert outcome.p is not None
    assert outcome.p < 0.001


def test_the_width_of_a_total_and_of_a_geometric_mean_is_that_of_their_intervals() -> None:
    shown = evaluated(verdicts(), ["NumRelRet", "GMAP"]).corrected(width=1.0).values[""]
    for value in shown.values():
        low, high = value.interval(0.95) or (0.0, 0.0)
        assert value.queries_needed(high - low, 0.95) == pytest.approx(60, abs=2)


def test_a_difference_of_geometric_means_is_left_out_and_said_to_be() -> None:
    runs = {"old": RUN, "new": {query: documents[::-1] for query, documents in RUN.items()}}
    systems = karat.evaluate_runs(TRUTH, runs, ["GMAP", "AP"], verdicts=verdicts(), correct=True)
    shown = compare(systems, "old").corrected()
    assert [row.measure for row in shown.rows] == ["AP"]
    assert "note: GMAP left out: differences of geometric means are not corrected." in str(shown)
    alone = {name: scores.only(["GMAP"]) for name, scores in systems.items()}
    with pytest.raises(KaratError, match="GMAP: differences of geometric means are not corrected"):
        compare(alone, "old").corrected()


def test_the_agreement_compares_the_values_of_the_queries_that_people_labelled() -> None:
    agreement = label_agreement(verdicts(), TRUTH, {"new": RUN}, MEASURES)
    by_people, by_model = (
        karat.evaluate({query: {**grades[query], **TRUTH[query]} for query in DRAWN}, RUN, MEASURES)
        for grades in (PEOPLE, lenient(PEOPLE))
    )
    assert [(each.measure, each.queries) for each in agreement.values] == [(measure, 60) for measure in MEASURES]
    for value in agreement.values:
        assert (value.people, value.model) == (by_people[value.measure], by_model[value.measure])


def test_documents_that_only_people_or_only_the_model_graded_are_not_compared() -> None:
    for records in (verdicts(without(PEOPLE, DRAWN)), verdicts(model=without(lenient(PEOPLE), DRAWN))):
        assert not label_agreement(records, TRUTH, {"new": RUN}, MEASURES).values


def run(*arguments: Any) -> str:
    done = run_here(Path(), *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Ground truth, a run, and the texts of queries and documents."""
    qrels = "".join(f"{query} 0 {doc} 3\n" for query in QUERIES for doc in TRUTH[query])
    lines = (f"{query} Q0 {doc} {at} {-at} run\n" for query in QUERIES for at, doc in enumerate(RUN[query], 1))
    (tmp_path / "truth.qrels").write_text(qrels)
    (tmp_path / "new.trec").write_text("".join(lines))
    write(tmp_path / "queries.jsonl", [{"id": query, "text": f"what is {query}?"} for query in QUERIES])
    documents = ({"id": doc, "title": "=1+1", "text": f"It is {doc}."} for each in RUN.values() for doc in each)
    write(tmp_path / "corpus.jsonl", documents)
    return {
        name.split(".")[0]: tmp_path / name for name in ("truth.qrels", "new.trec", "queries.jsonl", "corpus.jsonl")
    }


def template(files: Mapping[str, Path], *options: Any) -> tuple[Any, ...]:
    texts = ("--queries", files["queries"], "--corpus", files["corpus"])
    return "verdicts", "template", files["truth"], files["new"], "--task", "relevance", *texts, *options


def fill_in(sheet: Path, label: Callable[[str, str], object]) -> Path:
    """The sheet with labels, by query and document."""
    with open(sheet, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        record = json.loads(row["record"])
        row["label"] = str(label(record["query"], record["item"]["id"]))
    filled = sheet.with_name("filled.csv")
    with open(filled, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return filled


def test_from_a_sheet_of_documents_to_corrected_means(tmp_path: Path, files: dict[str, Path]) -> None:
    sheet = tmp_path / "sheet.csv"
    said = run(*template(files, "--sample", 60, "-o", sheet))
    assert "about 60 queries" in said
    with open(sheet, encoding="utf-8-sig", newline="") as file:
        first = next(csv.DictReader(file))
    assert first["question"] == f"what is {DRAWN[0]}?"
    assert first["item"] == f"“=1+1\n\nIt is {DRAWN[0]}-0.”"
    assert first["allowed"] == "0 | 1 | 2 | 3 | nothing_to_judge"
    filled = fill_in(sheet, lambda query, doc: f"{PEOPLE[query][doc]}.0")  # as a spreadsheet writes it
    people, model = tmp_path / "people.jsonl", write(tmp_path / "model.jsonl", labels(lenient(PEOPLE), "gpt"))
    run("verdicts", "import", filled, "-o", people, "--author", "ann")
    assert '"title"' not in people.read_text("utf-8")
    systems = files["truth"], files["new"], "--verdicts", model, "--verdicts", people, "--correct"
    shown = run("evaluate", *systems, "-m", "nDCG@10", "-m", "P@5")
    expected = str(evaluated(verdicts(), ["nDCG@10", "P@5"]).corrected())
    assert [line for line in shown.splitlines() if "60 of 120" in line] == [
        line for line in expected.splitlines() if "60 of 120" in line
    ]
    assert "values by gpt, corrected by human:ann for a random sample of the queries" in shown
    gate = run_here(tmp_path, "gate", *systems, "--min", "P@5=0.55")
    assert "60 of 120 queries labelled by people" in gate.stdout


def test_a_sheet_without_a_sample_asks_for_all_unjudged_documents(tmp_path: Path, files: dict[str, Path]) -> None:
    said = run(*template(files, "--depth", 3, "-o", tmp_path / "sheet.csv"))
    judged = sum(doc in RUN[query][:3] for query in QUERIES for doc in TRUTH[query])
    assert f"{360 - judged} labels to give, about 120 queries" in said
    assert f"karat evaluate {files['truth']} {files['new']} --verdicts" in said


def test_drawn_queries_with_nothing_to_label_are_counted(tmp_path: Path, files: dict[str, Path]) -> None:
    judged = "".join(f"{query} 0 {doc} 1\n" for query in DRAWN[:3] for doc in RUN[query])
    others = "".join(f"{query} 0 other 1\n" for query in QUERIES if query not in DRAWN[:3])
    files["truth"].write_text(judged + others)
    said = run(*template(files, "--sample", 20, "-o", tmp_path / "sheet.csv"))
    assert "170 labels to give, about 17 queries" in said
    assert "note: 3 drawn queries left out, whose documents in the top ranks are all judged." in said


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--next", 5], "--next has no effect on the task relevance"),
        (["--system", "new"], "--system has no effect on the task relevance"),
        (["--items", "truth.qrels"], "--items has no effect on the task relevance"),
        (["--sample", 121], "--sample 121 is more than the 120 queries there are"),
        (["--depth", 0], "--depth 0 is not"),
        (["--seed", 1], "--seed says which queries --sample draws"),
    ],
)  # fmt: skip
def test_options_that_fit_no_sheet_of_documents_are_refused(
    tmp_path: Path, files: dict[str, Path], options: list[Any], reason: str
) -> None:
    given = [files["truth"] if each == "truth.qrels" else each for each in options]
    done = run_here(tmp_path, *template(files, *given, "-o", tmp_path / "sheet.csv"))
    assert done.returncode == 2
    assert reason in done.stderr


def test_a_sheet_of_documents_needs_runs_and_texts_and_one_of_answers_takes_none(
    tmp_path: Path, files: dict[str, Path]
) -> None:
    task, out = ("--task", "relevance"), ("-o", tmp_path / "sheet.csv")
    for arguments, reason in (
        ((files["truth"], *task, *out), "the unjudged documents are those of runs, and none is given"),
        ((files["truth"], files["new"], *task, *out), "people read the texts of the queries"),
        ((files["truth"], files["new"], "--task", "context", *out), "runs are about the task relevance"),
        ((files["truth"], "--task", "context", "--depth", 3, *out), "--depth has no effect on the task context"),
    ):
        done = run_here(tmp_path, "verdicts", "template", *arguments)
        assert done.returncode == 2
        assert reason in done.stderr
