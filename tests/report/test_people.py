"""The labels of people in a report: corrected means and differences, and the agreement of models with people."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import karat
from karat.grounding.verdict_file.drawn import draw, drawn_queries
from karat.report import report_content, subject_of_systems
from karat.report.people import _MOST_ROWS
from tests.end_to_end import test_corrected_documents as documents
from tests.end_to_end.in_process import run_here
from tests.end_to_end.test_corrected import (
    QUERIES,
    by_model,
    few_labels_that_disagree_with_the_correction,
    label,
    records,
    truth_of,
    write,
)
from tests.report import contents
from tests.report.conftest import OpenPage
from tests.report.test_accessibility import violations

HEADINGS = ["Corrected means", "Corrected differences", "Agreement of models with people"]


def two_systems(names: tuple[str, str] = ("old", "new"), sample: int = 80) -> list[dict[str, Any]]:
    """Labels of two systems that are equally good; the model prefers the answers of the second one."""
    truth, drawn = truth_of("same"), draw(QUERIES, sample, 3)
    rows = []
    for system, leniency in zip(names, (0.05, 0.5), strict=True):
        rows += [each.record() for each in drawn_queries(drawn, QUERIES, system, "correctness", 3).values()]
        rows += [label(query, truth[query], "human", system) for query in drawn]
        rows += [label(query, is_, "gpt", system) for query, is_ in by_model(truth, leniency).items()]
    return rows


def content_of(rows: list[dict[str, Any]], *names: str) -> dict[str, Any]:
    systems = {name: karat.evaluate_verdicts(rows, system=name, correct=True, name=name) for name in names}
    return report_content(subject_of_systems(systems))


def test_the_overview_shows_corrected_values_beside_those_by_the_model_and_by_people(open_page: OpenPage) -> None:
    page = open_page(content_of(two_systems(), "old", "new"))
    section = page.locator("#people")
    assert section.locator("h3").all_inner_texts() == HEADINGS
    header, _, new = section.locator("table").nth(0).locator("tr").all()
    columns = ["run", "measure", "corrected", "by the model", "by people", "queries labelled by people"]
    assert header.locator("th").all_inner_texts() == columns
    name, measure, corrected, model, _, labelled = new.locator("th, td").all_inner_texts()
    assert (name, measure, model, labelled) == ("new", "Correctness", "0.7650", "80 of 200")
    assert corrected.startswith("0.5575 [")
    difference = section.locator("table").nth(1).locator("tbody td").all_inner_texts()
    assert difference == ["0.0000 [-0.0472, 0.0472]", "1.0000", "+0.1350", "0.0000", "80 of 200"]


def test_the_agreement_of_files_that_both_systems_were_read_from_is_shown_once(open_page: OpenPage) -> None:
    page = open_page(content_of(two_systems(), "old", "new"))
    task, confusion, bias = page.locator("#people .panel-card").nth(2).locator("table").all()
    assert task.locator("tbody th, tbody td").all_inner_texts()[:5] == ["gpt", "correctness", "160", "80", "0.8750"]
    assert confusion.locator("tbody tr").nth(0).locator("td").all_inner_texts() == ["54", "0", "20"]
    expect(bias.locator("tbody tr").nth(1)).to_contain_text("+0.2000 [")
    expect(page.locator("#people")).to_contain_text(
        "compared with people, the model rates new 0.1500 higher than others"
    )


def test_the_result_is_the_corrected_one_and_that_of_the_model_alone_stands_below_it() -> None:
    result, limits = content_of(two_systems(), "old", "new")["answer"]
    assert result == (
        "No significant difference between new and old on Correctness: 0.000 [-0.047, 0.047] (p = 1.0000), corrected by"
        " the labels of human for 80 of 200 queries."
    )
    assert limits.startswith(
        "By the labels of gpt alone: new is significantly better than old on Correctness, by 0.135"
    )
    assert "found reliably" not in limits  # the power of the model's values
    alone = content_of(records(), "new")
    result, limits = alone["answer"]
    assert re.fullmatch(
        r"new has a Correctness of 0\.6\d+ \[.*\], corrected by the labels of human for 80 of 200 queries\.", result
    )
    assert limits.startswith("By the labels of gpt alone: new has a mean Correctness of 0.")
    assert [part["heading"] for part in alone["people"]] == [HEADINGS[0], HEADINGS[2]]


def test_the_table_of_results_says_whose_values_it_shows(open_page: OpenPage) -> None:
    page = open_page(content_of(two_systems(), "old", "new"))
    sentence = "These values come from the labels of gpt alone; corrected ones are below, under Labels of people."
    assert page.locator("#table .note").first.inner_text() == sentence
    uncorrected = karat.evaluate_verdicts(two_systems(), system="old", author="gpt")
    assert report_content(subject_of_systems({"old": uncorrected}))["table"]["by_model"] is None


def test_only_the_measures_that_people_correct_are_said_to_be_by_the_model() -> None:
    scores = karat.evaluate_verdicts(two_systems(), system="old", correct=True, name="old")
    latency = replace(scores, values={**scores.values, "latency": scores.values["Correctness"]})
    sentence = report_content(subject_of_systems({"old": latency}))["table"]["by_model"]
    assert sentence.startswith("The values of Correctness come from the labels of gpt alone;")


def test_a_corrected_difference_that_is_significant_names_the_better_system() -> None:
    worse = [
        {**each, "label": "incorrect"} if each.get("system") == "old" and "label" in each else each
        for each in two_systems()
    ]
    for systems in (("old", "new"), ("new", "old")):
        result, _ = content_of(worse, *systems)["answer"]
        assert result.startswith("new is significantly better than old on Correctness, by 0.")


def test_few_people_who_contradict_the_corrected_difference_decide_no_result() -> None:
    run, baseline = few_labels_that_disagree_with_the_correction()
    # The corrected difference is above 0, and people alone found one below 0 that is significant.
    changed = {**run.values, "Correctness": np.minimum(run.values["Correctness"] + np.repeat([0, 0.05], [30, 370]), 1)}
    systems = {"baseline": replace(baseline, name="baseline"), "run": replace(run, name="run", values=changed)}
    content = report_content(subject_of_systems(systems))
    cells = [text for text, _ in content["people"][1]["tables"][0]["rows"][0]]
    assert re.fullmatch(r"\+0\.0\d+ \[-0\.\d+, -0\.\d+\]", cells[3])
    assert not any("significantly better" in sentence and "corrected" in sentence for sentence in content["answer"])


def test_of_three_systems_the_result_is_by_the_model_and_says_so() -> None:
    rows = [*two_systems(), *records("third")]
    _, limits = content_of(rows, "old", "new", "third")["answer"]
    assert limits.startswith("This is by the labels of gpt alone. Values that human corrected are in a table below.")


def test_few_labels_are_marked(open_page: OpenPage) -> None:
    page = open_page(content_of(records(sample=30), "new"))
    card = page.locator("#people .panel-card").first
    expect(card.locator("tbody td").first).to_contain_text("]°")
    expect(card).to_contain_text("° fewer than 50 queries labelled by people")


def test_labels_without_people_and_scores_without_labels_have_no_such_section(open_page: OpenPage) -> None:
    by_model_alone = karat.evaluate_verdicts([each for each in records() if each.get("by") == "gpt"])
    assert report_content(by_model_alone)["people"] == []
    assert open_page(contents.alone()).locator("#people, nav a[href='#people']").count() == 0


def test_people_and_a_model_who_labelled_nothing_in_common_are_said_to() -> None:
    person = {**label("q1", True, "human"), "task": "abstention", "label": "answered"}
    scores = karat.evaluate_verdicts([*(each for each in records() if each.get("by") == "gpt"), person], author="gpt")
    [part] = report_content(scores)["people"]
    assert part["tables"] == []
    assert part["sentences"][0].startswith("people and models have labelled nothing in common: ")


def test_scores_that_were_saved_keep_their_corrected_means(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    karat.evaluate_verdicts(records(), correct=True).to_json(path)
    assert [part["heading"] for part in report_content(karat.Scores.load(path))["people"]] == HEADINGS[:1]


def test_long_tables_are_cut_and_say_so() -> None:
    scores = karat.evaluate_verdicts(records(), correct=True)
    many = {f"s{at}": scores for at in range(_MOST_ROWS + 3)}
    [means, *_] = report_content(subject_of_systems(many))["people"]
    assert len(means["tables"][0]["rows"]) == _MOST_ROWS
    assert means["tables"][0]["notes"][-1] == "3 more rows left out of the report."


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 390)], ids=["light", "dark"])
def test_axe_finds_no_violation_and_hostile_names_are_texts(open_page: OpenPage, dark: bool, width: int) -> None:
    names = ("<img src=x onerror=window.hacked=1>", "\u202e{{7*7}}</script><script>window.hacked=1</script>")
    page = open_page(content_of(two_systems(names), *names), dark=dark, width=width)
    assert page.evaluate("window.hacked") is None
    assert page.locator("#people img, #people script").count() == 0
    expect(page.locator("#people")).to_contain_text("\\u202e{{7*7}}</script>")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


def test_commands_pass_the_correction_to_their_report(tmp_path: Path) -> None:
    systems = ("old", "new")
    logs = [
        write(tmp_path / f"{name}.jsonl", [{"query": query, "retrieved": ["p"], "answer": "a"} for query in QUERIES])
        for name in systems
    ]
    labels = write(tmp_path / "labels.jsonl", two_systems())
    for command in (("evaluate",), ("compare",), ("report",)):
        output = "-o" if command == ("report",) else "--report"
        done = run_here(
            tmp_path, *command, *map(str, logs), "--verdicts", str(labels), "--correct", output, "page.html"
        )
        assert done.returncode == 0, done.stderr
        page = (tmp_path / "page.html").read_text("utf-8")
        assert all(f"<h3>{heading}</h3>" in page for heading in HEADINGS[:: 1 if command != ("evaluate",) else 2])
        assert page.count(f"<h3>{HEADINGS[2]}</h3>") == 1
        shown = json.loads(page.split('id="content"')[1].split(">", 1)[1].split("</script>")[0])
        assert shown["people"][0]["tables"][0]["rows"][0][0][0] == "old"


def test_a_report_of_scores_that_nothing_corrects_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    karat.evaluate_verdicts([each for each in records() if each.get("by") == "gpt"]).to_json(path)
    done = run_here(tmp_path, "report", str(path), "--correct", "-o", "page.html")
    assert done.returncode == 2
    assert "no values of people that could correct them" in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_runs_whose_documents_a_model_graded_have_corrected_means_and_the_agreement(open_page: OpenPage) -> None:
    runs = {"new": documents.RUN, "old": {query: ids[::-1] for query, ids in documents.RUN.items()}}
    systems = karat.evaluate_runs(documents.TRUTH, runs, "P@5", verdicts=documents.verdicts(), correct=True)
    section = open_page(report_content(subject_of_systems(systems))).locator("#people")
    assert section.locator("h3").all_inner_texts() == HEADINGS
    assert (
        section.locator("table").nth(0).locator("tbody tr").nth(0).locator("th, td").all_inner_texts()[-1]
        == "60 of 120"
    )
    assert section.locator("table").nth(2).locator("tbody th, tbody td").all_inner_texts()[:2] == [
        "gpt",
        "relevance of documents",
    ]
