"""Labels of people correct those of a model: from a sheet of drawn queries to corrected means and differences."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import karat
from karat import KaratError
from karat.comparison import compare
from karat.grounding.verdict_file.drawn import draw, drawn_queries, population_digest
from karat.grounding.verdict_file.records import text_digest
from karat.scores.corrections import ValuesByPeople
from tests.end_to_end.in_process import mistake, run_here

QUERIES = [f"q{at}" for at in range(200)]


def label(query: str, is_correct: bool, by: str, system: str = "new") -> dict[str, Any]:
    what = {"record": "verdict", "query": query, "system": system, "task": "correctness", "item": "answer", "by": by}
    return {**what, "label": "correct" if is_correct else "incorrect"}


def truth_of(system: str, share: float = 0.6) -> dict[str, bool]:
    rng = random.Random(system)
    return {query: rng.random() < share for query in QUERIES}


def by_model(truth: Mapping[str, bool], leniency: float = 0.4) -> dict[str, bool]:
    rng = random.Random("model")
    return {query: is_correct or rng.random() < leniency for query, is_correct in truth.items()}


def records(
    system: str = "new", sample: int = 80, labelled: Iterable[str] | None = None, queries: list[str] = QUERIES
) -> list[dict[str, Any]]:
    """Labels of all queries by a model, and of drawn ones by people."""
    truth = truth_of(system)
    drawn = draw(queries, sample, 3)
    people = [label(query, truth[query], "human", system) for query in (drawn if labelled is None else labelled)]
    marks = [each.record() for each in drawn_queries(drawn, queries, system, "correctness", 3).values()]
    return [*(label(query, is_, "gpt", system) for query, is_ in by_model(truth).items()), *people, *marks]


def results() -> list[dict[str, Any]]:
    return [{"query": query, "retrieved": ["a passage"], "answer": f"the answer to {query}"} for query in QUERIES]


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_a_lenient_model_is_corrected_by_the_labels_of_people() -> None:
    scores = karat.evaluate_results(results(), verdicts=records(), name="new", correct=True)
    truth = sum(truth_of("new").values()) / len(QUERIES)
    [row] = scores.corrected().records()
    assert scores["Correctness"] == row["model"] > truth + 0.1
    assert abs(row["corrected"] - truth) < 0.05
    assert row["low"] <= truth <= row["high"]
    assert (row["labelled"], row["queries"], row["few"]) == (80, 200, False)
    assert row["high"] - row["low"] < row["people_high"] - row["people_low"]


def test_the_labels_alone_give_the_same_as_with_their_results() -> None:
    of_results = karat.evaluate_results(results(), verdicts=records(), name="new", correct=True)
    assert karat.evaluate_verdicts(records(), correct=True).corrected().records() == of_results.corrected().records()


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_saved_scores_can_be_corrected_later(tmp_path: Path, suffix: str) -> None:
    scores = karat.evaluate_verdicts(records(), correct=True)
    path = tmp_path / f"scores.{suffix}"
    (scores.to_json if suffix == "json" else scores.to_parquet)(path)
    loaded = karat.Scores.load(path)
    assert loaded.corrected().records() == scores.corrected().records()
    assert loaded.take(range(100)).corrected().records() == scores.take(range(100)).corrected().records()


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_the_command_line_saves_scores_that_can_be_corrected_later(tmp_path: Path, suffix: str) -> None:
    log, labels = write(tmp_path / "new.jsonl", results()), write(tmp_path / "labels.jsonl", records())
    saved = f"saved.{suffix}"
    words = ("evaluate", log, "--verdicts", labels, "--correct")
    done, shown = run_here(tmp_path, *words, "-o", saved), run_here(tmp_path, *words)
    assert done.stdout == shown.stdout
    assert f"wrote {saved}: 1 system, 200 queries, 1 measure\n" in done.stderr
    checked = run_here(tmp_path, "gate", saved, "--correct", "--min", "Correctness=0.7")
    assert checked.returncode == 1
    assert "80 of 200 queries labelled by people" in checked.stdout


@pytest.mark.parametrize("value", [5, -0.1, 1e300, float("inf")])
def test_saved_values_of_people_outside_of_the_range_of_their_measure_are_refused(tmp_path: Path, value: float) -> None:
    path = tmp_path / "scores.json"
    karat.evaluate_verdicts(records(), correct=True).to_json(path)
    first = draw(QUERIES, 80, 3)[0]
    text = path.read_text("utf-8")
    changed = re.sub(rf'("queries": {{[^}}]*"{first}": )[0-9.]+', rf"\g<1>{json.dumps(value)}", text)
    assert changed != text
    path.write_text(changed, "utf-8")
    with pytest.raises(KaratError, match=r"outside of the range of Correctness|not valid JSON"):
        karat.Scores.load(path)


def test_below_fifty_labelled_queries_the_interval_is_that_of_people_and_the_mean_is_marked() -> None:
    drawn = draw(QUERIES, 80, 3)
    shown = karat.evaluate_verdicts(records(labelled=drawn[:15]), correct=True).corrected()
    [row] = shown.records()
    assert row["few"]
    assert (row["low"], row["high"]) == (row["people_low"], row["people_high"])
    assert "° fewer than 50 queries labelled by people" in str(shown)
    assert "people labelled 15 queries. For an interval of width 0.1, all 200 would not be enough." in str(shown)
    assert "are needed" in str(karat.evaluate_verdicts(records(), correct=True).corrected(width=0.15))


def test_labels_that_all_agree_still_have_an_interval() -> None:
    drawn = draw(QUERIES, 60, 3)
    marks = [each.record() for each in drawn_queries(drawn, QUERIES, "new", "correctness", 3).values()]
    same = [label(query, True, "gpt") for query in QUERIES] + [label(query, True, "human") for query in drawn]
    [row] = karat.evaluate_verdicts([*same, *marks], correct=True).corrected().records()
    assert row["corrected"] == row["high"] == 1
    assert 0.8 < row["low"] < 1


def test_people_outnumber_each_other_and_an_even_split_is_a_gap() -> None:
    drawn = draw(QUERIES, 80, 3)
    divided = [label(drawn[4], is_, f"human:{name}") for name, is_ in (("ann", True), ("bo", False))]
    others = [label(query, truth_of("new")[query], "human:ann") for query in drawn if query != drawn[4]]
    scores = karat.evaluate_verdicts([*records(labelled=[]), *others, *divided], correct=True)
    [finding] = [each for each in scores.findings if each.code == "left-out"]
    assert finding.queries == (drawn[4],)
    assert finding.message == "Correctness: people are divided about 1 query of the first 80 that were drawn (1%)"
    assert scores.corrected().records()[0]["labelled"] == 79


REFUSED = {
    "labels that people chose themselves": (
        [each for each in records() if each["record"] != "sample"],
        "were not drawn at random",
    ),
    "no label by a person": ([each for each in records() if each.get("by") != "human"], "no label is by a person"),
    "no label by a model": ([each for each in records() if each.get("by") != "gpt"], "no label is by a model"),
    "two models": ([*records(), label("q1", True, "claude")], "the labels are by 2 models"),
    "a sample of other queries": (
        [*records()[:200], *records(queries=QUERIES[:150])[200:]],
        "was drawn from 150 queries, and the 200 queries that are evaluated are not the same",
    ),
    "labels only of queries that were not drawn": (
        records(labelled=[query for query in QUERIES if query not in draw(QUERIES, 80, 3)]),
        "no query has a value of Correctness by both people and gpt",
    ),
    "contradictory people": (
        [*records(), *(label(query, not truth_of("new")[query], "human:bo") for query in draw(QUERIES, 80, 3))],
        "people are divided about 80 queries of the first 80 that were drawn (100%)",
    ),
    "some left out, and about others people are divided": (
        [
            *records(labelled=draw(QUERIES, 80, 3)[5:]),
            *(label(query, not truth_of("new")[query], "human:bo") for query in draw(QUERIES, 80, 3)[5:10]),
        ],
        "people left out 5 queries of the first 80 that were drawn (6%)",
    ),
    "hard queries left out": (
        records(labelled=draw(QUERIES, 80, 3)[20:]),
        "people left out 20 queries of the first 80 that were drawn (25%)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_correction_that_would_be_wrong_is_refused_with_the_reason(case: str) -> None:
    verdicts, reason = REFUSED[case]
    with pytest.raises(KaratError) as error:
        karat.evaluate_verdicts(verdicts, correct=True)
    assert reason in str(error.value)


def test_labels_of_another_system_correct_nothing() -> None:
    others = [each | {"system": "old"} for each in records() if each["record"] == "sample"]
    kept = [each for each in records() if each["record"] != "sample"]
    with pytest.raises(KaratError, match="people labelled drawn queries of old, not of new"):
        karat.evaluate_verdicts([*kept, *others], correct=True, system="new")


@pytest.mark.parametrize(("without", "share"), [(80, "80 queries of 80 (100%)"), (20, "20 queries of 80 (25%)")])
def test_a_model_that_did_not_label_many_of_the_queries_of_people_is_not_corrected(without: int, share: str) -> None:
    lacking = {*draw(QUERIES, without, 3)}
    verdicts = [each for each in records() if each.get("by") != "gpt" or each["query"] not in lacking]
    with pytest.raises(KaratError) as error:
        karat.evaluate_results(results(), verdicts=verdicts, name="new", correct=True)
    assert f"people give a value to {share} that have none by the model" in str(error.value)


def test_labels_of_people_about_another_system_are_said_to_be() -> None:
    others = [each | {"system": "old"} if each.get("by") != "gpt" else each for each in records()]
    with pytest.raises(KaratError, match="people labelled answers of old, not of 'new'"):
        karat.evaluate_results(results(), verdicts=others, name="new", correct=True)


def test_labels_of_people_about_answers_that_have_changed_are_said_to_be() -> None:
    digest = {"digest": text_digest("another answer")}
    drawn = {*draw(QUERIES, 80, 3)[10:14]}
    verdicts = [each | digest if each["query"] in drawn and each.get("by") == "human" else each for each in records()]
    scores = karat.evaluate_results(results(), verdicts=verdicts, name="new", correct=True)
    [finding] = [each for each in scores.findings if each.code == "left-out"]
    assert finding.message.startswith("Correctness: people labelled earlier texts of 4 queries of the first 80 ")


def example_call(queries: list[str], model: str = "gpt") -> dict[str, Any]:
    return {"record": "call", "key": "k1", "model": model, "prompt": "correctness/2+examples/1", "examples": queries}


def test_queries_of_examples_are_left_out_of_the_sample_and_of_all_queries() -> None:
    drawn = draw(QUERIES, 80, 3)
    shown = [*drawn[2:7], QUERIES[-1]] if QUERIES[-1] not in drawn else drawn[2:8]
    scores = karat.evaluate_verdicts([*records(), example_call(shown)], correct=True)
    assert not {*scores.queries} & {*shown}
    [finding] = [each for each in scores.findings if each.code == "examples"]
    assert finding.message == "6 queries left out, from which the examples for gpt were chosen"
    assert {*finding.queries} == {*shown}
    assert not [each for each in scores.findings if each.code == "left-out"]  # nobody has overlooked them
    [row] = scores.corrected().records()
    assert (row["labelled"], row["queries"]) == (80 - len({*shown} & {*drawn}), 194)
    kept = [query for query in QUERIES if query not in shown]
    truth = by_model(truth_of("new"))
    assert row["model"] == pytest.approx(sum(truth[query] for query in kept) / 194)


def test_what_the_model_says_about_queries_of_examples_changes_nothing() -> None:
    shown = draw(QUERIES, 80, 3)[:6]
    changed = [
        {**each, "label": "incorrect"} if each.get("query") in shown and each.get("by") == "gpt" else each
        for each in records()
    ]
    first, second = (
        karat.evaluate_verdicts([*labels, example_call(shown)], correct=True).corrected().records()
        for labels in (records(), changed)
    )
    assert first == second


def test_examples_for_another_model_and_scores_without_a_correction_leave_nothing_out() -> None:
    shown = draw(QUERIES, 80, 3)[:6]
    scores = karat.evaluate_verdicts([*records(), example_call(shown, "claude")], correct=True)
    assert scores.corrected().records() == karat.evaluate_verdicts(records(), correct=True).corrected().records()
    assert len(karat.evaluate_verdicts([*records(), example_call(shown)], author="gpt").queries) == 200


def test_results_with_measures_of_documents_have_null_for_queries_of_examples() -> None:
    shown = draw(QUERIES, 80, 3)[:6]
    rows = [{**row, "relevant": ["a passage"]} for row in results()]
    verdicts = [*records(), example_call(shown)]
    options: dict[str, Any] = {"match": "content", "fields": {"truth": "relevant"}}
    scores = karat.evaluate_results(
        rows, ["R@5", "Correctness"], verdicts=verdicts, name="new", correct=True, **options
    )
    alone = karat.evaluate_verdicts(verdicts, correct=True)
    assert (len(scores.queries), scores.nulls("Correctness"), scores.nulls("R@5")) == (200, 6, 0)
    assert scores.corrected().records() == alone.corrected().records()


@pytest.mark.parametrize(
    "words",
    [("evaluate", "log.jsonl"), ("compare", "log.jsonl", "log.jsonl"), ("evaluate", "t.qrels", "r.trec")],
    ids=["log", "comparison", "run"],
)
def test_a_correction_without_labels_says_what_it_needs_whatever_is_evaluated(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "log.jsonl").write_text('{"query": "q", "answer": "a"}\n')
    (tmp_path / "t.qrels").write_text("q 0 d 1\n")
    (tmp_path / "r.trec").write_text("q Q0 d 1 1 r\n")
    assert mistake(tmp_path, *words, "--correct") == (
        "karat: --correct needs labels. Add --verdicts with labels of a model and of people, or leave it out.\n"
    )


def test_a_correction_by_nothing_but_queries_of_examples_is_refused() -> None:
    drawn = draw(QUERIES, 80, 3)
    with pytest.raises(KaratError, match="besides those from which examples for it were chosen"):
        karat.evaluate_verdicts([*records(labelled=drawn[:6]), example_call(drawn[:6])], correct=True)


def test_the_author_names_the_model_that_is_corrected() -> None:
    verdicts = [*records(), *(label(query, True, "claude") for query in QUERIES)]
    [row] = karat.evaluate_verdicts(verdicts, correct=True, author="gpt").corrected().records()
    assert row["model"] < 1
    with pytest.raises(KaratError, match="not a model whose labels could be corrected"):
        karat.evaluate_verdicts(verdicts, correct=True, author="human")
    of_people = [{**each, "by": "human:ann"} for each in records()]
    with pytest.raises(KaratError, match="no label is by a model"):
        karat.evaluate_verdicts(of_people, correct=True, author="gpt")


def test_a_difference_that_is_the_models_preference_is_corrected_away() -> None:
    systems = lenient_and_strict()
    comparison = compare(systems, "old")
    [row] = comparison.corrected().records()
    p = comparison.row("Correctness").p
    assert p is not None
    assert p < 0.001
    assert row["model"] > 0.1
    assert abs(row["difference"]) < 0.02
    assert row["p"] > 0.3
    assert row["low"] <= 0 <= row["high"]


def lenient_and_strict() -> dict[str, karat.Scores]:
    """Two systems that are equally good; the model prefers the answers of the new one."""
    systems = {}
    for system, leniency in (("old", 0.05), ("new", 0.5)):
        truth, drawn = truth_of("same"), draw(QUERIES, 80, 3)
        marks = [each.record() for each in drawn_queries(drawn, QUERIES, system, "correctness", 3).values()]
        people = [label(query, truth[query], "human", system) for query in drawn]
        model = [label(query, is_, "gpt", system) for query, is_ in by_model(truth, leniency).items()]
        systems[system] = karat.evaluate_verdicts([*model, *people, *marks], correct=True)
    return systems


def test_a_gate_decides_by_the_corrected_mean() -> None:
    new = lenient_and_strict()["new"]
    limits = {"Correctness": 0.7}
    assert karat.gate(new, min=limits).passed
    checked = karat.gate(new, min=limits, correct=True)
    assert not checked.passed
    assert "80 of 200 queries labelled by people" in str(checked)
    assert checked.outcomes[0].value == new.corrected().records()[0]["corrected"]


def test_a_gate_is_not_decided_by_a_single_label() -> None:
    scores = karat.evaluate_verdicts(records(labelled=draw(QUERIES, 80, 3)[:1]), correct=True)
    with pytest.raises(KaratError, match="people labelled 1 query for Correctness, which decides nothing"):
        karat.gate(scores, min={"Correctness": 0.1}, correct=True)


def test_a_corrected_difference_has_a_test_of_its_own(tmp_path: Path) -> None:
    systems = lenient_and_strict()
    with pytest.raises(KaratError, match="test='t' and correct=True cannot be combined"):
        karat.gate(systems["new"], baseline=systems["old"], max_drop={"Correctness": 0.1}, test="t", correct=True)
    for system, scores in systems.items():
        scores.to_json(tmp_path / f"{system}.json")
    done = run_here(tmp_path, "compare", "old.json", "new.json", "--correct", "--test", "t")
    assert (done.returncode, done.stderr[:48]) == (2, "karat: --correct and --test cannot be combined. ")


def test_a_gate_decides_by_the_corrected_difference() -> None:
    systems = lenient_and_strict()
    run, baseline = systems["old"], systems["new"]
    drop = {"Correctness": 0.03}
    assert not karat.gate(run, baseline=baseline, max_drop=drop, significant=True).passed
    assert karat.gate(run, baseline=baseline, max_drop=drop, significant=True, correct=True).passed
    shown = karat.gate(run, baseline=baseline, non_inferior={"Correctness": 0.3}, correct=True)
    assert shown.passed
    assert shown.outcomes[0].p is not None
    assert shown.outcomes[0].p < 0.05


def test_a_corrected_gate_needs_values_of_people() -> None:
    alone = karat.evaluate_verdicts([label("q1", True, "gpt"), label("q2", True, "gpt")])
    with pytest.raises(KaratError, match="no values of people that could correct it"):
        karat.gate(alone, min={"Correctness": 0.5}, correct=True)
    with pytest.raises(KaratError, match="cannot be combined"):
        karat.gate(alone, min={"Correctness": 0.5}, correct=True, unknown="worst")


def test_scores_without_values_of_people_cannot_be_corrected() -> None:
    with pytest.raises(KaratError, match="no values of people that could correct them"):
        karat.evaluate_verdicts([label("q1", True, "gpt")]).corrected()


def test_the_same_seed_draws_the_same_queries_of_every_system_and_a_larger_sample_goes_on() -> None:
    assert draw(QUERIES, 30, 7) == draw(reversed(QUERIES), 30, 7) == draw(QUERIES, 50, 7)[:30]
    assert draw(QUERIES, 30, 8) != draw(QUERIES, 30, 7)
    assert population_digest(QUERIES) == population_digest(reversed(QUERIES))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"number": 0}, "a drawn query needs its number"),
        ({"drawn": 300}, "a drawn query needs its number"),
        ({"seed": "x"}, "the field seed is 'x'"),
        ({"population_digest": None}, "the field population_digest is missing"),
        ({"recipe": ""}, "the field recipe is empty"),
    ],
)
def test_a_damaged_mark_of_a_sample_is_an_error_with_its_place(fields: dict[str, Any], reason: str) -> None:
    verdicts = records()
    verdicts[-1] |= fields
    with pytest.raises(KaratError, match=reason):
        karat.evaluate_verdicts(verdicts)


def test_a_larger_sample_goes_on_in_the_same_file() -> None:
    larger = draw(QUERIES, 80, 3)
    marks = [each.record() for each in drawn_queries(larger, QUERIES, "new", "correctness", 3).values()]
    both = karat.evaluate_verdicts([*records(sample=60, labelled=larger), *marks], correct=True).corrected()
    assert both.records() == karat.evaluate_verdicts(records(), correct=True).corrected().records()


def test_a_query_that_was_drawn_in_two_samples_is_an_error() -> None:
    again = next(each for each in records() if each["record"] == "sample") | {"seed": 9}
    with pytest.raises(KaratError, match="was drawn in two ways, with the seeds 3 and 9"):
        karat.evaluate_verdicts([*records(), again])


def test_from_a_sheet_to_corrected_means(tmp_path: Path) -> None:
    def run(*words: str | Path) -> str:
        done = run_here(tmp_path, *map(str, words))
        assert done.returncode == 0, done.stderr
        return done.stdout

    log = write(tmp_path / "new.jsonl", results())
    sheet, filled = tmp_path / "sheet.csv", tmp_path / "filled.csv"
    run("verdicts", "template", log, "--task", "correctness", "--sample", "60", "--seed", "3", "-o", sheet)
    with open(sheet, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    truth = truth_of("new")
    assert [json.loads(row["record"])["query"] for row in rows] == draw(QUERIES, 60, 3)
    for row in rows:
        row["label"] = "correct" if truth[json.loads(row["record"])["query"]] else "incorrect"
    with open(filled, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    people, model = tmp_path / "people.jsonl", tmp_path / "model.jsonl"
    run("verdicts", "import", filled, "-o", people)
    write(model, [label(query, is_, "gpt") for query, is_ in by_model(truth).items()])
    shown = run("evaluate", log, "--verdicts", model, "--verdicts", people, "--correct")
    assert "60 of 200" in shown
    assert "values by gpt, corrected by human for a random sample of the queries; 95% confidence intervals" in shown


def test_few_differences_that_are_all_the_same_are_not_significant() -> None:
    drawn = draw(QUERIES, 80, 3)[:3]
    both = []
    for system, is_correct in (("old", False), ("new", True)):
        marks = [each for each in records(system, labelled=[]) if each.get("by") is None]
        both += [*marks, *(label(query, is_correct, "human", system) for query in drawn)]
        both += [label(query, is_correct, "gpt", system) for query in QUERIES]
    scores = [karat.evaluate_verdicts(both, system=system, correct=True) for system in ("old", "new")]
    [row] = compare(dict(zip(("old", "new"), scores, strict=True))).corrected().records()
    assert row["difference"] == 1
    assert row["low"] < 0
    assert row["p"] > 0.05


def test_what_was_left_out_is_said_below_every_table_of_corrected_values() -> None:
    drawn = draw(QUERIES, 80, 3)
    skipped = [records(system, labelled=[*drawn[:5], *drawn[7:]]) for system in ("old", "new")]
    systems = {
        system: karat.evaluate_verdicts(each, system=system, correct=True)
        for system, each in zip(("old", "new"), skipped, strict=True)
    }
    what = "people left out 2 queries of the first 80 that were drawn"
    differences = compare(systems).corrected()
    gate = karat.gate(systems["new"], min={"Correctness": 0.1}, correct=True)
    for shown in (systems["new"].corrected(), differences, gate):
        assert what in str(shown)
        assert any(what in note for note in shown.to_dict()["notes"])


def test_a_gate_on_very_few_labels_says_how_many_are_needed() -> None:
    scores = karat.evaluate_verdicts(records(labelled=draw(QUERIES, 80, 3)[:15]), correct=True)
    gate = karat.gate(scores, min={"Correctness": 0.1}, correct=True)
    assert "people labelled 15 queries. For an interval of width 0.1, all 200 would not be enough." in str(gate)


@pytest.mark.filterwarnings("error")
def test_one_label_has_no_interval() -> None:
    scores = karat.evaluate_verdicts(records(labelled=draw(QUERIES, 80, 3)[:1]), correct=True)
    [row] = scores.corrected().records()
    assert (row["labelled"], row["low"], row["high"]) == (1, None, None)
    assert row["corrected"] == row["people"]


def test_people_of_several_systems_are_named_once() -> None:
    ann, bo = (
        [each | {"by": f"human:{name}"} for each in records() if each.get("by") == "human"] for name in ("a", "b")
    )
    others = [each for each in records() if each.get("by") != "human"]
    one = karat.evaluate_verdicts([*others, *ann], correct=True)
    both = karat.evaluate_verdicts([*others, *ann[:40], *bo[40:]], correct=True)
    assert "corrected by human:a and human:b for" in str(compare({"one": one, "both": both}).corrected())


def drawn_from(queries: list[str], number: int, seed: int) -> list[dict[str, Any]]:
    drawn = draw(queries, number, seed)
    return [each.record() for each in drawn_queries(drawn, queries, "new", "correctness", seed).values()]


def test_marks_of_samples_that_were_changed_or_mixed_are_refused() -> None:
    first = records(sample=40)
    small = drawn_from(QUERIES, 4, 8)
    assert not {each["query"] for each in small} & {*draw(QUERIES, 40, 3)}
    left = [query for query in QUERIES if query not in draw(QUERIES, 40, 3)]
    other = left[-1]
    moved = [each | {"query": other} if each.get("number") == 7 else each for each in first]
    for verdicts, reason in (
        ([*first, *small], "were drawn in 2 ways, with the seeds 3 and 8"),
        ([*first, *drawn_from(left, 4, 3)], "was drawn from 160 queries, and the 200 queries that are evaluated"),
        (
            [
                each | {"drawn": 900, "population": 900, "number": 800} if each.get("number") == 7 else each
                for each in first
            ],
            f"the seed 3 draws other queries for correctness than {draw(QUERIES, 7, 3)[-1]}",
        ),
        (moved, f"the seed 3 draws other queries for correctness than {other}"),
    ):
        with pytest.raises(KaratError) as error:
            karat.evaluate_verdicts(verdicts, correct=True)
        assert reason in str(error.value)


def test_p_values_of_corrected_differences_are_corrected_within_their_family() -> None:
    rng = random.Random(4)
    drawn = draw(QUERIES, 80, 3)
    systems = {}
    for system, share in (("a", 0.4), ("b", 0.5), ("c", 0.7)):
        rows: list[dict[str, Any]] = []
        for task, labels in (("correctness", ("incorrect", "correct")), ("answer_relevance", ("no", "fully"))):
            what = {"record": "verdict", "system": system, "task": task, "item": "answer"}
            right = {query: rng.random() < share for query in QUERIES}
            rows += [{**what, "query": query, "by": "gpt", "label": labels[is_]} for query, is_ in right.items()]
            rows += [{**what, "query": query, "by": "human", "label": labels[right[query]]} for query in drawn]
            rows += [each.record() for each in drawn_queries(drawn, QUERIES, system, task, 3).values()]
        measures = ["Correctness", "AnswerRelevance"]
        systems[system] = karat.evaluate_verdicts(rows, measures, system=system, correct=True)
    per_measure, of_all = (compare(systems, family=family).corrected() for family in ("measure", "all"))
    assert "p Holm-corrected per measure" in str(per_measure)
    assert "p Holm-corrected" in str(of_all)
    assert "per measure" not in str(of_all)
    for rows_of, family in ((per_measure.rows[:3], 3), (of_all.rows, 6)):
        first = min(rows_of, key=lambda row: row.p or 0)
        assert first.p is not None
        assert first.p_corrected == pytest.approx(min(1, family * first.p))


def test_a_system_without_values_of_people_is_named_where_its_differences_are_missing() -> None:
    systems = {system: karat.evaluate_verdicts(records(system), correct=True) for system in ("old", "new")}
    systems["third"] = karat.evaluate_verdicts(records("third"), author="gpt")
    assert "note: third left out: no values of people." in str(compare(systems).corrected())


@pytest.mark.parametrize("correction", ["bonferroni", "holm"])
def test_intervals_of_corrected_differences_exclude_0_as_those_of_a_comparison_do(correction: str) -> None:
    systems = {name: karat.evaluate_verdicts(records(name), correct=True) for name in ("a", "b", "c", "d")}
    compared = compare(systems, correction=correction).corrected()
    assert len(compared.rows) == 6
    for row in compared.rows:
        assert row.interval is not None
        assert row.p is not None
        assert row.p_corrected is not None
        p = row.p_corrected if correction == "bonferroni" else row.p
        assert (row.interval[0] > 0 or row.interval[1] < 0) == (p < 0.05)
    said = {"bonferroni": "intervals are at 99.17%: they exclude 0", "holm": "p before the correction is below 0.05"}
    assert said[correction] in str(compared)
    assert "  p (" in str(compared)  # beside p before the correction


QUERIES_OF_FEW = tuple(f"q{at}" for at in range(400))


def few_labels_that_disagree_with_the_correction() -> tuple[karat.Scores, karat.Scores]:
    """A run and a baseline: people found the run worse for 30 queries, but by the model, these are its worst ones."""
    rng = np.random.default_rng(147)
    run = np.clip(rng.normal(0.5, 0.1, 400), 0, 1)
    run[:30] = np.clip(rng.normal(0.4, 0.1, 30), 0, 1)
    return scores_of(run, run), scores_of(np.full(400, 0.5), np.full(400, 0.5))


def scores_of(model: np.ndarray, people: np.ndarray) -> karat.Scores:
    labelled = np.where(np.arange(400) < 30, people, np.nan)
    correction = ValuesByPeople(labelled, "human", "gpt", 30)
    return karat.Scores(QUERIES_OF_FEW, {"Correctness": model}, corrections={"Correctness": correction})


def test_few_people_who_found_a_drop_are_no_evidence_that_there_is_none() -> None:
    run, baseline = few_labels_that_disagree_with_the_correction()
    [row] = compare({"baseline": baseline, "run": run}, "baseline").corrected().records()
    assert row["people"] < -0.05
    assert abs(row["difference"]) < 0.02
    assert row["high"] < 0
    assert row["p"] < 0.05
    gate = karat.gate(run, baseline=baseline, non_inferior={"Correctness": 0.03}, correct=True)
    assert not gate.passed
    assert gate.outcomes[0].p is not None
    assert gate.outcomes[0].p > 0.95
    assert karat.gate(baseline, baseline=run, non_inferior={"Correctness": 0.03}, correct=True).passed


@pytest.mark.parametrize(("labelled", "width", "needed"), [(15, 0.5, 14), (80, 0.25, 50), (80, 0.2, 63)])
def test_fewer_than_fifty_queries_are_enough_only_if_people_alone_give_such_an_interval(
    labelled: int, width: float, needed: int
) -> None:
    drawn = draw(QUERIES, 80, 3)
    scores = karat.evaluate_verdicts(records(labelled=drawn[:labelled]), correct=True)
    shown = str(scores.corrected(width=width))
    assert f"For an interval of width {width}, about {needed} are needed." in shown


def test_a_gate_says_that_a_corrected_value_is_unchanged() -> None:
    scores = karat.evaluate_verdicts(records(), correct=True)
    gate = karat.gate(scores, baseline=scores, max_drop={"Correctness": 0.1}, correct=True)
    assert "corrected, it is unchanged (p = 1.0000)" in str(gate)


def test_queries_in_which_only_the_model_finds_something_to_judge_are_said_and_many_are_refused() -> None:
    drawn = draw(QUERIES, 80, 3)
    marks = [each.record() for each in drawn_queries(drawn, QUERIES, "new", "faithfulness", 3).values()]
    what = {"record": "verdict", "system": "new", "task": "support", "item": "s1", "against": "context"}
    model = [{**what, "query": query, "by": "gpt", "label": "none"} for query in QUERIES]
    answers = [{"query": query, "retrieved": ["a passage"], "answer": "It is so."} for query in QUERIES]
    for nothing, reason in (
        (4, "in 4 queries of 80 (5%), in which the model did"),
        (20, "cannot be corrected: people"),
    ):
        people = [
            {
                **what,
                "query": query,
                "by": "human",
                **({"state": "nothing_to_judge"} if at < nothing else {"label": "full"}),
            }
            for at, query in enumerate(drawn)
        ]
        try:
            scores = karat.evaluate_results(
                answers, ["Faithfulness"], verdicts=[*marks, *model, *people], name="new", correct=True
            )
            said = str(scores.corrected())
        except KaratError as error:
            assert nothing == 20
            said = str(error)
        assert reason in said


@pytest.mark.parametrize("option", ["--detect", "--equivalence"])
def test_options_that_say_nothing_of_corrected_differences_are_refused(tmp_path: Path, option: str) -> None:
    for system in ("old", "new"):
        write(tmp_path / f"{system}.jsonl", results())
    write(tmp_path / "verdicts.jsonl", [*records("old"), *records("new")])
    words = ("compare", "old.jsonl", "new.jsonl", "--verdicts", "verdicts.jsonl", "--correct", option, "0.1")
    done = run_here(tmp_path, *words)
    assert f"--correct and {option} cannot be combined" in done.stderr
