"""Every result is printed and written in the same way: as tables, as a document, and as records."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import pytest

from karat import KaratError, compare, evaluate, evaluate_runs
from karat.analysis.query_groups import QueryColumn
from karat.comparison.gate.gate import gate_by_rules
from karat.comparison.gate.rules import Rule
from karat.output.printable import BySystem, Printable, rendered
from karat.scores.summary import ShownScores

TRUTH = {f"q{at}": {"a": 1, "b": 0} for at in range(6)}
RUNS = {
    "one": {query: ["a", "x"] for query in TRUTH},
    "two": {query: ["x", "a"] if query != "q0" else ["a"] for query in TRUTH},
}
SYSTEMS = evaluate_runs(TRUTH, RUNS, ["RR", "P@1"])
GROUPS = {query: "late" if query > "q2" else "early" for query in TRUTH}

RESULTS: dict[str, Callable[[], Printable]] = {
    "scores": lambda: SYSTEMS["one"],
    "scores of systems": lambda: SYSTEMS,
    "shown scores": lambda: ShownScores(SYSTEMS, 0.95),
    "shown scores per query": lambda: ShownScores(SYSTEMS, per_query=True),
    "a comparison": lambda: compare(SYSTEMS, "one"),
    "a comparison by group": lambda: compare(SYSTEMS, "one").slices(GROUPS),
    "slices": lambda: SYSTEMS["one"].slices(GROUPS),
    "slices of systems": lambda: BySystem({name: scores.slices(GROUPS) for name, scores in SYSTEMS.items()}),
    "a diff": lambda: compare(SYSTEMS, "one").diff("RR"),
    "a query of a diff": lambda: compare(SYSTEMS, "one").diff("RR").in_full("q1"),
    "an explanation": lambda: SYSTEMS["one"].explain("q1"),
    "bounds": lambda: SYSTEMS["one"].bounds("RR"),
    "a gate": lambda: gate_by_rules(SYSTEMS["two"], [Rule("min", "RR", 0.9)]),
}
WITHOUT_ROWS = ("an explanation", "bounds", "a gate")


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_tables_and_a_document_in_all_formats(name: str) -> None:
    result = RESULTS[name]()
    assert result.tables()
    assert rendered(result, "table").rstrip("\n") == str(result)
    assert json.loads(rendered(result, "json")) == json.loads(json.dumps(result.to_dict()))
    assert rendered(result, "markdown").count("| --- |") >= 1
    assert r"\begin{tabular}" in rendered(result, "latex")
    assert "<table>" in result._repr_html_()


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in WITHOUT_ROWS])
def test_the_rows_of_a_result_are_the_same_in_csv_tsv_and_json_lines(name: str) -> None:
    result = RESULTS[name]()
    records = result.records()
    assert [json.loads(line) for line in rendered(result, "jsonl").splitlines()] == records
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        rows = list(csv.DictReader(io.StringIO(rendered(result, form)), delimiter=delimiter))
        assert [list(row.values()) for row in rows] == [
            ["" if value is None else str(value) for value in record.values()] for record in records
        ]


def test_a_result_without_rows_says_what_to_use_instead() -> None:
    with pytest.raises(KaratError, match=r"no rows. Use to_dict or to_json"):
        SYSTEMS["one"].explain("q1").to_csv()


def test_results_of_several_systems_are_under_their_names_and_one_is_not() -> None:
    slices = {name: scores.slices(GROUPS) for name, scores in SYSTEMS.items()}
    both, one = BySystem(slices), BySystem({"one": slices["one"]})
    assert [table.title for table in both.tables()] == ["one", "two"]
    assert both.to_dict() == {"runs": {name: each.to_dict() for name, each in slices.items()}}
    assert {record["run"] for record in both.records()} == {"one", "two"}
    assert both.remarks()[0] == "one: 6 queries in 2 groups, with 95% confidence intervals"
    assert one.to_dict() == slices["one"].to_dict()
    assert str(one) == str(slices["one"])


def test_a_table_with_a_title_has_it_above_in_all_formats() -> None:
    (table, _) = BySystem({name: scores.explain("q1") for name, scores in SYSTEMS.items()}).tables()
    assert table.text().startswith("one\nrank")
    assert table.markdown().startswith("one\n\n| rank |")
    assert table.latex().startswith("% one\n")
    assert "<div>one</div><table>" in table.html()


def test_groups_from_a_file_have_its_column_as_name_and_notes_on_how_it_was_read() -> None:
    column = QueryColumn("language", GROUPS, ("the ids were guessed",))
    for result in (SYSTEMS["one"].slices(column), compare(SYSTEMS).slices(column)):
        (table,) = result.tables()
        assert "language" in table.header
        assert table.notes[-1] == "note: the ids were guessed."


def test_missing_texts_of_queries_are_noted_below_groups_by_length() -> None:
    texts = dict.fromkeys(list(TRUTH)[1:], "how soft is gold")
    scores = evaluate(TRUTH, RUNS["one"], "RR")
    assert "no text for 1 of 6 queries (q0)" in str(scores.slices("length", queries=texts))


def test_an_explanation_has_as_many_decimals_as_asked_for() -> None:
    assert "query q1: RR 1.00, P@1 1.00\n" in SYSTEMS["one"].explain("q1").to_markdown(digits=2).replace("- ", "")
