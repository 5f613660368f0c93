"""check() of ground truth and runs: each fault is found with its number and place, and clean data has no findings."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError, check, evaluate
from karat.scores.finding import Finding
from tests.block_size import block_size
from tests.standard_input import piped

SHARED = Path(__file__).parents[3] / "shared" / "conformance" / "trec_eval"
QUERIES, DOCS = [f"q{at}" for at in range(6)], [f"d{at}" for at in range(12)]
Rows = list[list[Any]]

TRUTH: Rows = [[query, doc, (at + int(query[1:])) % 3] for query in QUERIES for at, doc in enumerate(DOCS)]
RUN: Rows = [
    [query, doc, rank, 13.5 - rank]
    for query in QUERIES
    for rank, doc in enumerate(DOCS[int(query[1:]) :] + DOCS[: int(query[1:])], 1)
]
OPTIONS: dict[str, Any] = {"measures": ["nDCG@10", "AP", "RR"]}


def qrels(rows: Rows = TRUTH) -> str:
    return "".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in rows)


def trec(rows: Rows = RUN) -> str:
    return "".join(f"{query} Q0 {doc} {rank} {score} tag\n" for query, doc, rank, score in rows)


def by_query(rows: Rows) -> dict[str, dict[str, Any]]:
    mapping: dict[str, dict[str, Any]] = {}
    for row in rows:
        mapping.setdefault(row[0], {})[row[1]] = row[-1]
    return mapping


def numbered(found: Any) -> list[tuple[str, str]]:
    """The numbers of findings with their places, the folder of a file left out."""
    return [(finding.kind.number, str(finding.place).rpartition("/")[2]) for finding in found]


def of_kind(found: Iterable[Finding], number: str) -> Finding:
    [finding] = [each for each in found if each.kind is not None and each.kind.number == number]
    return finding


@pytest.fixture
def checked(tmp_path: Path) -> Callable[..., Any]:
    def run_check(truth: str | None = None, *runs: str, **options: Any) -> Any:
        of_truth = tmp_path / "truth.qrels"
        of_truth.write_text(qrels() if truth is None else truth)
        paths = [tmp_path / f"{at}.trec" for at in range(len(runs))]
        for path, run in zip(paths, runs, strict=True):
            path.write_text(run)
        return check(of_truth, *paths, **{**OPTIONS, **options})

    return run_check


def changed(text: str, line: int, change: Callable[[list[str]], list[str] | None]) -> str:
    """A text whose line, counted from 1, has other columns, or is left out."""
    lines = text.splitlines(keepends=True)
    columns = change(lines[line - 1].split())
    lines[line - 1] = "" if columns is None else f"{' '.join(columns)}\n"
    return "".join(lines)


# Clean data


def test_clean_data_has_no_findings(checked: Callable[..., Any]) -> None:
    assert list(checked(None, trec(), trec(RUN[::-1]))) == []


def test_clean_data_that_is_read_in_many_blocks_has_no_findings(checked: Callable[..., Any]) -> None:
    with block_size(100):
        assert list(checked(None, trec(), trec(sorted(RUN, key=lambda row: row[2])))) == []


def _frames(rows: Rows, number: str) -> dict[str, Any]:
    names = ["query", "doc", number] if number == "grade" else ["query", "doc", "rank", number]
    frame = pd.DataFrame(rows, columns=names)
    return {"pandas": frame, "polars": pl.DataFrame(frame.to_dict("list")), "arrow": pa.table(frame.to_dict("list"))}


def _written(folder: Path, rows: Rows, number: str, form: str) -> Any:
    frame = _frames(rows, number)["pandas"]
    name = folder / f"{number}.{form}"
    match form:
        case "pandas" | "polars" | "arrow":
            return _frames(rows, number)[form]
        case "mapping":
            return by_query(rows)
        case "records":
            return frame.to_dict("records")
        case "tuples":
            return [(row[0], row[1], row[-1]) for row in rows]
        case "csv" | "tsv":
            frame.to_csv(name, index=False, sep="\t" if form == "tsv" else ",")
        case "json":
            name.write_text(json.dumps(by_query(rows)))
        case "jsonl":
            frame.to_json(name, orient="records", lines=True)
        case "parquet":
            pq.write_table(pa.table(frame.to_dict("list")), name)
        case "gz":
            name.write_bytes(gzip.compress((qrels if number == "grade" else trec)(rows).encode()))
    return name


FORMS = ["pandas", "polars", "arrow", "mapping", "records", "tuples", "csv", "tsv", "json", "jsonl", "parquet", "gz"]


@pytest.mark.parametrize("form", FORMS)
def test_clean_data_in_any_format_has_no_findings(tmp_path: Path, form: str) -> None:
    truth, run = _written(tmp_path, TRUTH, "grade", form), _written(tmp_path, RUN, "score", form)
    assert list(check(truth, run, **OPTIONS)) == []


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("mapping", "tuples", "json")])
def test_a_rank_that_contradicts_the_scores_is_found_in_any_format_with_ranks(tmp_path: Path, form: str) -> None:
    rows = [list(row) for row in RUN]
    rows[14][2], rows[15][2] = rows[15][2], rows[14][2]
    truth, run = _written(tmp_path, TRUTH, "grade", form), _written(tmp_path, rows, "score", form)
    [finding] = check(truth, run, **OPTIONS)
    assert finding.kind is not None
    assert (finding.kind.number, finding.queries) == ("K036", ("q1",))
    place = finding.place
    assert place is not None
    assert place.line == {"csv": 17, "tsv": 17, "jsonl": 16, "gz": 16}.get(form)
    assert place.row == (15 if place.line is None else None)


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "records", "tuples", "csv", "jsonl", "parquet", "gz"])
def test_repeated_rows_are_found_in_any_format_with_rows(tmp_path: Path, form: str) -> None:
    truth = _written(tmp_path, [*TRUTH, ["q1", "d3", 2], ["q2", "d4", 0]], "grade", form)
    run = _written(tmp_path, [*RUN, ["q1", "d3", 13, 0.1]], "score", form)
    found = check(truth, run, **OPTIONS)
    assert [finding.kind.number for finding in found if finding.kind] == ["K004", "K006", "K005"]
    places = [finding.place.line or finding.place.row for finding in found if finding.place]
    before = {"csv": 2, "jsonl": 1, "gz": 1}.get(form, 0)
    of_run = [[row[:2] for row in RUN].index(["q1", "d3"]), len(RUN)]
    rows = [[15, len(TRUTH)], of_run, [28, len(TRUTH) + 1]]
    assert places == [tuple(row + before for row in both) for both in rows]


@pytest.mark.parametrize("which", ["truth", "run"])
def test_one_of_the_files_may_be_standard_input(tmp_path: Path, which: str) -> None:
    truth, run = tmp_path / "truth.qrels", tmp_path / "run.trec"
    truth.write_text(qrels())
    run.write_text(changed(trec(), 3, lambda row: [*row[:3], "7", *row[4:]]))
    data = (truth if which == "truth" else run).read_bytes()
    with piped(data):
        found = check("-" if which == "truth" else truth, "-" if which == "run" else run, **OPTIONS)
    assert [finding.kind.number for finding in found if finding.kind] == ["K036"]


# Rows that cannot be read

ROWS_OF_TRUTH = [
    ("K002", lambda row: row[:3]),
    ("K002", lambda row: [*row, "x"]),
    ("K003", lambda row: [*row[:3], "x"]),
    ("K003", lambda row: [*row[:3], "nan"]),
    ("K003", lambda row: [*row[:3], "1e999"]),
]
ROWS_OF_RUN = [
    ("K002", lambda row: row[:5]),
    ("K003", lambda row: [*row[:4], "high", row[5]]),
    ("K003", lambda row: [*row[:4], "NaN", row[5]]),
    ("K003", lambda row: [*row[:4], "1,5", row[5]]),
]


@pytest.mark.parametrize(("number", "change"), ROWS_OF_TRUTH)
@pytest.mark.parametrize("line", [1, 30, 72])
def test_a_row_of_ground_truth_that_cannot_be_read_is_found(
    checked: Callable[..., Any], number: str, change: Any, line: int
) -> None:
    found = checked(changed(qrels(), line, change), trec())
    assert numbered(found) == [(number, f"truth.qrels:{line}")]


@pytest.mark.parametrize(("number", "change"), ROWS_OF_RUN)
@pytest.mark.parametrize("line", [1, 30, 72])
def test_a_row_of_a_run_that_cannot_be_read_is_found(
    checked: Callable[..., Any], number: str, change: Any, line: int
) -> None:
    assert numbered(checked(None, changed(trec(), line, change))) == [(number, f"0.trec:{line}")]


def test_all_rows_that_cannot_be_read_are_found_and_the_rest_is_checked(checked: Callable[..., Any]) -> None:
    truth = changed(changed(qrels(), 3, lambda row: row[:2]), 9, lambda row: [*row[:3], "?"])
    run = changed(changed(trec(), 4, lambda row: row[:2]), 40, lambda row: [*row[:4], "?", "t"])
    found = checked(truth + "q0 0 d11 1\n", run + "q0 Q0 d0 13 0 t\n")
    assert numbered(found) == [
        ("K002", "0.trec:4"),
        ("K002", "truth.qrels:3"),
        ("K003", "0.trec:40"),
        ("K003", "truth.qrels:9"),
        ("K004", "truth.qrels:12 and 73"),
        ("K006", "0.trec:1 and 73"),
    ]


def test_runs_are_checked_if_the_ground_truth_cannot_be_read(tmp_path: Path) -> None:
    run = tmp_path / "run.trec"
    run.write_text(changed(trec(), 5, lambda row: row[:2]) + "q0 Q0 d0 13 0 t\n")
    found = check(tmp_path / "missing.qrels", run, **OPTIONS)
    assert numbered(found) == [("K001", "missing.qrels"), ("K002", "run.trec:5"), ("K006", "run.trec:1 and 73")]


def test_the_other_runs_are_checked_if_one_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text(qrels())
    (tmp_path / "run.trec").write_text(changed(trec(), 5, lambda row: row[:2]))
    found = check(tmp_path / "truth.qrels", tmp_path / "missing.trec", tmp_path / "run.trec", **OPTIONS)
    assert numbered(found) == [("K001", "missing.trec"), ("K002", "run.trec:5")]


@pytest.mark.parametrize("content", ["", "\n \n", "\0\1\2", "# nothing\n"])
def test_an_empty_or_unreadable_file_is_a_finding(tmp_path: Path, content: str) -> None:
    path, other = tmp_path / "a.trec", tmp_path / "b.qrels"
    path.write_text(content)
    other.write_text(qrels())
    assert numbered(check(path, **OPTIONS))[0] == ("K001", "a.trec")
    assert numbered(check(other, path, **OPTIONS))[0] == ("K001", "a.trec")


@pytest.mark.parametrize("content", ["{}", "[]"])
def test_empty_ground_truth_in_json_is_a_finding_about_its_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "truth.json"
    path.write_text(content)
    assert numbered(check(path, **OPTIONS)) == [("K001", "truth.json")]


def test_a_damaged_compressed_run_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "run.trec.gz"
    path.write_bytes(gzip.compress(trec().encode())[:-20])
    assert numbered(check(by_query(TRUTH), path, **OPTIONS)) == [("K001", "run.trec.gz")]


# Ground truth


def test_judgments_that_contradict_each_other_are_found_with_both_lines(checked: Callable[..., Any]) -> None:
    [finding] = checked(qrels([*TRUTH, ["q2", "d4", 1]]), trec())
    assert numbered([finding]) == [("K004", "truth.qrels:29 and 73")]
    assert finding.message == "document d4 is judged twice for query q2, with different grades: 0 and 1"


def test_a_judgment_that_is_listed_three_times_is_found_once(checked: Callable[..., Any]) -> None:
    [finding] = checked(qrels([*TRUTH, ["q2", "d4", 0], ["q2", "d4", 0]]), trec())
    assert numbered([finding]) == [("K005", "truth.qrels:29 and 73")]
    assert "3 times" in finding.message


def test_the_first_of_several_judgments_counts(checked: Callable[..., Any]) -> None:
    first: Rows = [["q", "d", 2], ["q", "e", 1], ["q", "d", 0]]
    second: Rows = [["q", "d", 0], ["q", "e", 1], ["q", "d", 2]]
    assert "K020" not in dict(numbered(checked(qrels(first), "q Q0 d 1 1 t\n", measures=["AP(rel=2)"])))
    assert "K020" in dict(numbered(checked(qrels(second), "q Q0 d 1 1 t\n", measures=["AP(rel=2)"])))


@pytest.mark.parametrize(("grade", "number"), [(2, "K004"), (1, "K005")])
def test_judgments_that_a_list_of_json_repeats_are_found_with_their_line(
    tmp_path: Path, grade: int, number: str
) -> None:
    path, other = tmp_path / "truth.jsonl", {"query": "q2", "documents": [{"id": "d1", "grade": 1}]}
    repeated = {"query": "q1", "documents": [{"id": "d1", "grade": 1}, {"id": "d1", "grade": grade}]}
    path.write_text("".join(f"{json.dumps(each)}\n" for each in (other, repeated)))
    assert numbered(check(path, {"q2": {"d1": 1.0}}, measures=["RR"])) == [(number, "truth.jsonl:2")]


def test_a_gold_document_with_a_score_that_is_no_grade_is_found_once() -> None:
    truth = {"q": [{"id": "a", "score": 1.0}, {"id": "b", "score": -1.0}]}
    runs = {"q": {"a": 1.0, "b": 0.5}}, {"q": {"a": 0.5, "b": 1.0}}
    assert numbered(check(truth, *runs, measures=["nDCG"])) == [("K003", "the ground truth, query q")]


def test_a_query_without_relevant_documents_is_found_once_for_all_runs(checked: Callable[..., Any]) -> None:
    rows = [[query, doc, 0 if query == "q3" else grade] for query, doc, grade in TRUTH]
    found = checked(qrels(rows), trec(), trec())
    assert numbered(found) == [("K020", "truth.qrels")]
    assert of_kind(found, "K020").queries == ("q3",)


def test_a_query_without_a_grade_of_the_threshold_is_found(checked: Callable[..., Any]) -> None:
    rows = [[query, doc, min(grade, 1) if query == "q3" else grade] for query, doc, grade in TRUTH]
    assert numbered(checked(qrels(rows), trec())) == []
    assert numbered(checked(qrels(rows), trec(), measures=["AP(rel=2)"])) == [("K020", "truth.qrels")]


def test_a_query_without_judged_documents_is_found() -> None:
    truth: dict[str, Any] = {**by_query(TRUTH), "q9": {}}
    run: dict[str, Any] = {**by_query(RUN), "q9": dict(by_query(RUN)["q1"])}
    found = check(truth, run, **OPTIONS)
    assert of_kind(found, "K021").queries == ("q9",)


@pytest.mark.parametrize("grade", [0, 1, 3])
def test_a_truth_whose_grades_are_all_equal_is_found(checked: Callable[..., Any], grade: int) -> None:
    found = checked(qrels([[query, doc, grade] for query, doc, _ in TRUTH]), trec())
    assert of_kind(found, "K022").message == f"all 72 judged documents have grade {grade}"


def test_lists_of_relevant_documents_have_no_grades_that_could_be_equal() -> None:
    truth = {query: [*docs] for query, docs in by_query(TRUTH).items()}
    assert list(check(truth, by_query(RUN), **OPTIONS)) == []


def test_documents_without_the_field_that_is_matched_are_found_on_both_sides() -> None:
    truth = {"q": [{"id": "d1", "content": "a"}, {"id": "d2", "content": ""}]}
    run = {"q": [{"id": "x", "content": "a"}, {"id": "y"}]}
    found = check(truth, run, match="content", measures=["AP"])
    assert numbered(found) == [("K017", "the run"), ("K018", "the ground truth")]


# Runs


def test_a_document_that_is_listed_twice_is_found_with_both_lines(checked: Callable[..., Any]) -> None:
    found = checked(None, trec([*RUN, ["q0", "d5", 13, 0.2], ["q4", "d0", 13, 0.1]]))
    assert numbered(found) == [("K006", "0.trec:6 and 73"), ("K006", "0.trec:57 and 74")]
    assert [finding.queries for finding in found] == [("q0",), ("q4",)]


def test_a_document_that_is_listed_twice_far_apart_is_found(checked: Callable[..., Any]) -> None:
    with block_size(80):
        found = checked(None, trec([*RUN, ["q0", "d5", 13, 0.2]]))
    assert numbered(found) == [("K006", "0.trec:6 and 73")]


def test_ids_of_any_length_are_shortened_in_what_people_read(tmp_path: Path) -> None:
    long = "x" * 100_000
    (tmp_path / "truth.qrels").write_text(f"q1 0 {long} 1\nq1 0 {long} 0\n{long} 0 d2 1\n")
    (tmp_path / "run.trec").write_text(f"q1 Q0 {long} 1 2 x\nq1 Q0 {long} 2 1 x\n")
    (tmp_path / "run.json").write_text(f'{{"q1": {{"d1": 1}}, "{long}": {{"d2": "x"}}}}')
    found = check(tmp_path / "truth.qrels", tmp_path / "run.trec", tmp_path / "run.json")
    assert {"K003", "K004", "K006", "K030"} <= {finding.kind.number for finding in found if finding.kind}
    assert max(map(len, f"{found}{found.to_github()}".splitlines())) < 5000
    [duplicate] = [finding for finding in found if finding.code == "duplicates"]
    assert duplicate.message.startswith("document xxx")
    assert duplicate.message.endswith("xxx is listed twice for query q1")
    assert any(long in finding.queries for finding in found)  # programs read them as they are


def test_of_very_many_repetitions_the_others_are_counted(
    checked: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("evaluation.check.many_findings", "ranking.ranker", "reading.pairs.tables"):
        monkeypatch.setattr(f"karat.{module}.MOST_ERRORS", 5)
    again = [[query, doc, rank + 12, score - 12] for query, doc, rank, score in RUN]
    changed_grades = [[query, doc, grade + 1] for query, doc, grade in TRUTH]
    found = checked(qrels([*TRUTH, *changed_grades]), trec([*RUN, *again]))
    for number, many in (("K004", 72), ("K006", 72)):
        findings = [finding for finding in found if finding.kind.number == number]
        assert len(findings) == 6
        assert sum(finding.count for finding in findings) == many


def test_queries_that_retrieve_themselves_are_found(checked: Callable[..., Any]) -> None:
    rows = [[query, query if rank == 12 else doc, rank, score] for query, doc, rank, score in RUN]
    found = checked(None, trec(rows))
    assert numbered(found) == [("K016", "0.trec")]
    assert of_kind(found, "K016").queries == tuple(QUERIES)
    assert numbered(checked(None, trec(rows), ignore_identical_ids=True)) == []


def test_a_document_with_the_id_of_its_query_is_right_if_it_is_judged(checked: Callable[..., Any]) -> None:
    truth = [[query, query if doc == "d3" else doc, grade] for query, doc, grade in TRUTH]
    run = [[query, query if doc == "d3" else doc, rank, score] for query, doc, rank, score in RUN]
    assert numbered(checked(qrels(truth), trec(run))) == []


@pytest.mark.parametrize(
    ("prefix", "queries", "own", "is_found"),
    [("", 300, "7", False), ("", 20, "7", False), ("q", 20, "q7", True), ("q", 300, "q7", False)],
)
def test_one_equal_id_is_chance_among_hundreds_of_queries_or_if_ids_are_numbers(
    prefix: str, queries: int, own: str, is_found: bool
) -> None:
    truth = {f"{prefix}{at}": {"a": 1, "b": 0} for at in range(queries)}
    run = {query: {"a": 2.0, "b": 1.0, own: 0.5} for query in truth}
    assert ("K016" in dict(numbered(check(truth, run, measures=["AP@3"])))) == is_found


def test_queries_of_one_file_only_are_found(checked: Callable[..., Any]) -> None:
    rows = [["other" if query == "q2" else query, doc, rank, score] for query, doc, rank, score in RUN]
    found = checked(None, trec(rows))
    assert numbered(found) == [("K023", "0.trec"), ("K030", "0.trec")]
    assert [finding.queries for finding in found] == [("other",), ("q2",)]


def test_all_queries_are_missing_from_an_empty_run() -> None:
    found = check(by_query(TRUTH), {}, **OPTIONS)
    assert numbered(found) == [("K030", "the run")]
    assert found[0].count == len(QUERIES)


def test_missing_queries_are_left_out_if_that_is_asked_for(checked: Callable[..., Any]) -> None:
    found = checked(None, trec([row for row in RUN if row[0] != "q2"]), missing="skip")
    assert of_kind(found, "K030").message == "1 query missing from the run (left out): q2"


def test_a_query_for_which_nothing_was_retrieved_is_found() -> None:
    found = check(by_query(TRUTH), {**by_query(RUN), "q2": {}}, **OPTIONS)
    assert numbered(found) == [("K031", "the run")]
    assert of_kind(found, "K031").queries == ("q2",)


def test_a_run_without_any_judged_document_is_found_with_the_match_that_would_find_them(
    checked: Callable[..., Any],
) -> None:
    found = checked(None, trec([[query, f"{doc}#1", rank, score] for query, doc, rank, score in RUN]))
    assert numbered(found) == [("K011", "0.trec")]
    assert "--match 'prefix(separator=#)'" in of_kind(found, "K011").hint
    same = [[query, f"{doc}#1", rank, score] for query, doc, rank, score in RUN]
    assert numbered(checked(None, trec(same), match="prefix(separator=#)")) == []


def test_unjudged_documents_are_found_from_a_fifth_of_the_top_10(checked: Callable[..., Any]) -> None:
    def unjudged(number: int) -> str:
        return trec([[query, f"x{rank}" if rank <= number else doc, rank, score] for query, doc, rank, score in RUN])

    assert numbered(checked(None, unjudged(1))) == []
    found = checked(None, unjudged(2))
    assert numbered(found) == [("K032", "0.trec")]
    assert of_kind(found, "K032").message == "20% of the documents in the top 10 are unjudged"
    assert numbered(checked(None, unjudged(5), measures=["nDCG(judged_only=true)@10"])) == []


def test_measures_that_ties_decide_are_found_with_their_ranges() -> None:
    truth = {f"q{at}": {"a": 1, "b": 0} for at in range(10)}
    tied = {query: {"a": 0.5, "b": 0.5} for query in truth}
    finding = of_kind(check(truth, tied, measures=["RR", "P@2"]), "K033")
    assert finding.message == "RR is 0.5000 to 1.0000, depending on the order of documents with equal scores"
    clear = {query: {"a": 0.5, "b": 0.4} for query in truth}
    assert numbered(check(truth, clear, measures=["RR", "P@2"])) == []


def test_ties_that_decide_one_of_a_thousand_queries_are_not_worth_a_warning() -> None:
    truth = {f"q{at}": {"a": 1, "b": 0} for at in range(1000)}
    run = {query: {"a": 0.5, "b": 0.5 if query == "q3" else 0.4} for query in truth}
    assert numbered(check(truth, run, measures=["RR"])) == []


def test_scores_beyond_doubles_that_are_tied_are_found(checked: Callable[..., Any]) -> None:
    rows = [[query, doc, rank, 2**53 + (1 if rank < 3 else -rank)] for query, doc, rank, _ in RUN]
    assert ("K034", "0.trec") in numbered(checked(None, trec(rows)))


def test_a_run_that_is_cut_at_different_depths_is_found(checked: Callable[..., Any]) -> None:
    rows = [row for row in RUN if row[0] != "q3" or row[2] <= 5]
    found = checked(None, trec(rows))
    assert numbered(found) == [("K035", "0.trec")]
    assert "fewer than half of the 12 documents that other queries have" in found[0].message
    assert found[0].queries == ("q3",)


@pytest.mark.parametrize("short", [1, 3, 4])
def test_a_run_that_is_cut_at_two_depths_is_found_whichever_is_more_frequent(
    checked: Callable[..., Any], short: int
) -> None:
    found = checked(None, trec([row for row in RUN if int(row[0][1:]) >= short or row[2] <= 5]))
    assert numbered(found) == [("K035", "0.trec")]
    assert found[0].queries == tuple(QUERIES[:short])


def test_queries_that_retrieve_whatever_matches_are_not_cut(checked: Callable[..., Any]) -> None:
    rows = [row for row in RUN if row[2] <= 12 - 2 * int(row[0][1:])]
    assert "K035" not in dict(numbered(checked(None, trec(rows))))


@pytest.mark.parametrize(
    ("ranks", "found"),
    [
        (lambda rank: rank, []),
        (lambda rank: rank - 1, []),
        (lambda _: 0, []),
        (lambda _: 1, []),
        (lambda rank: 10 * rank, []),
        (lambda rank: 13 - rank, [("K036", "0.trec:2")]),
        (lambda rank: rank + 5 if rank == 3 else rank, [("K036", "0.trec:4")]),
        (lambda _: "-", [("K036", "0.trec:1")]),
        (lambda rank: f"r{rank}", [("K036", "0.trec:1")]),
        (lambda rank: "r" if rank == 3 else rank, [("K036", "0.trec:3")]),
        (lambda rank: -rank, [("K036", "0.trec:1")]),
    ],
)
def test_ranks_are_compared_with_scores(checked: Callable[..., Any], ranks: Any, found: Any) -> None:
    run = trec([[query, doc, ranks(rank), score] for query, doc, rank, score in RUN])
    assert numbered(checked(None, run)) == found
    with block_size(100):
        assert numbered(checked(None, run)) == found


def test_documents_with_equal_scores_may_have_their_ranks_in_any_order(checked: Callable[..., Any]) -> None:
    rows = [
        [query, doc, rank if rank > 2 else 3 - rank, 11.5 if rank <= 2 else score] for query, doc, rank, score in RUN
    ]
    assert "K036" not in dict(numbered(checked(None, trec(rows))))


def test_ranks_are_compared_although_other_rows_cannot_be_read(checked: Callable[..., Any]) -> None:
    run = changed(changed(trec(), 3, lambda row: [*row[:4], "x", "t"]), 20, lambda row: [*row[:3], "x", *row[4:]])
    run = changed(run, 40, lambda row: [*row[:3], "0", *row[4:]])
    assert numbered(checked(None, run)) == [("K003", "0.trec:3"), ("K036", "0.trec:20"), ("K036", "0.trec:40")]


def test_ranks_that_cannot_be_read_are_one_finding_that_counts_them(
    checked: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trec([[query, doc, "x" if rank < 3 else rank, score] for query, doc, rank, score in RUN])
    [finding] = checked(None, run)
    assert (finding.message, finding.count) == ("12 ranks cannot be read: rank 'x' is not a number", 12)
    monkeypatch.setattr("karat.evaluation.check.documents._MOST_WRONG_RANKS", 7)
    [finding] = checked(None, run)
    assert (finding.message, str(finding.place)[-6:]) == ("more than 7 ranks cannot be read", "0.trec")


def test_ranks_without_scores_are_wrong_numbers_and_not_a_wrong_order(tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text(qrels())
    (tmp_path / "run.csv").write_text("query,doc,rank\nq1,d1,1\nq1,d2,x\nq2,d1,1\n")
    found = check(tmp_path / "truth.qrels", tmp_path / "run.csv").only(["K003", "K036"], [])
    assert numbered(found) == [("K003", "run.csv:3")]


def test_a_measure_that_looks_deeper_than_the_run_is_found(checked: Callable[..., Any]) -> None:
    found = checked(None, trec(), measures=["nDCG@12", "R@100", "P@20"])
    assert numbered(found) == [("K037", "0.trec")]
    assert found[0].message == "R@100 and P@20 look deeper than the run: no query has more than 12 documents"


# Across systems


def test_relevant_documents_that_no_system_retrieves_are_found(checked: Callable[..., Any]) -> None:
    truth = qrels([*TRUTH, ["q1", "hidden", 2], ["q2", "bad", 0]])
    assert numbered(checked(truth, trec())) == []
    found = checked(truth, trec(), trec(RUN[::-1]))
    assert numbered(found) == [("K026", "truth.qrels")]
    assert found[0].message == "1 relevant document that none of the 2 systems retrieves: hidden (query q1)"


def test_unjudged_documents_at_the_top_of_all_systems_are_found(checked: Callable[..., Any]) -> None:
    one, other = (
        trec(
            [[query, "new" if (query, rank) == ("q1", place) else doc, rank, score] for query, doc, rank, score in RUN]
        )
        for place in (5, 1)
    )
    found = checked(None, one, other)
    assert numbered(found) == [("K027", "truth.qrels")]
    assert found[0].message == "1 unjudged document in the top 5 of each of the 2 systems: new (query q1)"
    lower = trec(
        [[query, "new" if (query, rank) == ("q1", 6) else doc, rank, score] for query, doc, rank, score in RUN]
    )
    assert numbered(checked(None, one, lower)) == []


# Anything


@st.composite
def clean_data(draw: st.DrawFn) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    queries = draw(st.lists(st.text("abcé名 _-.7", min_size=1, max_size=4), min_size=1, max_size=5, unique=True))
    docs = draw(st.lists(st.text("dxyø0 #", min_size=1, max_size=4), min_size=1, max_size=6, unique=True))
    truth = {query: {doc: draw(st.integers(0, 3)) for doc in docs} for query in queries}
    run = {query: {doc: draw(st.floats(-5, 5)) for doc in draw(st.permutations(docs))} for query in queries}
    return truth, run


@given(clean_data())
def test_data_without_faults_has_no_errors(data: tuple[Mapping[str, Any], Mapping[str, Any]]) -> None:
    truth, run = data
    assert check(truth, run).errors == []
    assert check(truth, run, run, match="prefix").errors == []


@given(clean_data(), st.data())
def test_what_an_evaluation_finds_too_is_the_same_finding(data: tuple[Any, Any], draw: st.DataObject) -> None:
    truth, run = data
    queries = [*truth, "other"]
    run = {query: docs for query, docs in run.items() if draw.draw(st.booleans())}
    run |= {
        query: {"dx": 2.0**60, "dy": 2.0**60} for query in draw.draw(st.lists(st.sampled_from(queries), max_size=2))
    }
    found = {(finding.code, finding.message, finding.queries) for finding in check(truth, run)}
    evaluated = evaluate(truth, run).findings if run.keys() & truth.keys() else ()
    same = [each for each in evaluated if each.kind is not None and each.code != "unjudged"]
    assert {(each.code, each.message, each.queries) for each in same} <= found


SMALL = st.integers(0, 3)


@given(
    rows=st.lists(st.tuples(st.sampled_from(QUERIES[:3]), SMALL, SMALL), max_size=12),
    size=st.sampled_from([10, 60, 1 << 20]),
)
def test_a_rank_contradicts_a_score_if_any_two_documents_are_in_another_order(
    rows: list[tuple[str, int, int]], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "ranks.trec"
    listed: Rows = [[query, f"d{at}", rank, score] for at, (query, rank, score) in enumerate(rows)]
    path.write_text(trec([["q", "d", 1, 1], *listed]))
    with block_size(size):
        found = check({"q": {"d": 1, "e": 0}}, path, measures="RR", select=["K036"])
    contradict = {
        row[0] for row in listed for other in listed if row[0] == other[0] and row[2] < other[2] and row[3] < other[3]
    }
    assert {query for finding in found for query in finding.queries} == contradict


@given(data=clean_data(), scores=st.lists(st.integers(0, 2), min_size=30, max_size=30))
def test_the_range_of_a_measure_is_that_of_evaluations_with_the_best_and_the_worst_order(
    data: tuple[Any, Any], scores: list[int]
) -> None:
    truth, run = data
    left = iter(scores)
    tied = {query: {doc: next(left) for doc in docs} for query, docs in run.items()}
    best, worst = (evaluate(truth, tied, ["RR", "nDCG@3"], ties=ties).means for ties in ("best", "worst"))
    means = [(name, float(worst[name] or 0), float(best[name] or 0)) for name in best]
    ranges = [f"{name} is {low:.4f} to {high:.4f}" for name, low, high in means if high - low >= 0.005]
    found = check(truth, tied, measures=["RR", "nDCG@3"], select=["K033"])
    assert [finding.message.partition(", depending")[0] for finding in found] == (
        [" and ".join(ranges)] if ranges else []
    )


TOKENS = st.sampled_from(
    ["q1", "q2", "d1", "d2", "0", "1", "-3", "nan", "inf", "1e999", "x", '"', ",", "\t", "é", "#", "\0", "Q0"]
)


@given(
    truth=st.lists(st.lists(TOKENS, max_size=7).map(" ".join), max_size=8),
    run=st.lists(st.lists(TOKENS, max_size=7).map(" ".join), max_size=8),
    size=st.sampled_from([10, 1 << 20]),
)
def test_whatever_the_lines_are_nothing_is_raised(
    truth: list[str], run: list[str], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "any.qrels").write_text("\n".join(["q1 0 d1 1", *truth]))
    (folder / "any.trec").write_text("\n".join(["q1 Q0 d1 1 0.5 t", *run]))
    with block_size(size):
        found = check(folder / "any.qrels", folder / "any.trec")
    assert all(finding.kind is not None for finding in found)
    assert len(found.to_dict()["findings"]) == len(found)
    assert found.to_text()


# Real data


@pytest.mark.skipif(not SHARED.is_dir(), reason="trec_eval's test data is not beside the project")
@pytest.mark.parametrize("truth", ["qrels.test", "qrels.rel_level", "qrels.test.with-comments"])
def test_the_test_data_of_trec_eval_has_no_findings(truth: str) -> None:
    assert list(check(SHARED / truth, SHARED / "results.test")) == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="trec_eval's test data is not beside the project")
def test_the_truncated_run_of_trec_eval_lacks_a_query_and_most_of_another() -> None:
    found = check(SHARED / "qrels.test", SHARED / "results.trunc")
    assert [finding.queries for finding in found] == [("302",), ("303",)]
    assert [finding.kind.number for finding in found if finding.kind] == ["K030", "K035"]


# JSON that is none


def test_wrong_numbers_and_repeated_documents_of_a_json_mapping_are_found_and_the_rest_is_checked(
    tmp_path: Path,
) -> None:
    truth, run = tmp_path / "truth.json", tmp_path / "run.json"
    truth.write_text('{"q1": {"a": 1, "b": 0, "a": 2, "c": NaN, "d": 1, "d": 1}, "q2": {"a": 1, "b": 0}}')
    run.write_text('{"q1": {"a": 2.5, "b": NaN, "a": 1}, "q2": {"b": 1}}')
    found = check(truth, run, measures=["RR"])
    assert numbered(found) == [
        ("K003", "run.json, query q1, document b"),
        ("K003", "truth.json, query q1, document c"),
        ("K004", "truth.json, query q1, document a"),
        ("K006", "run.json, query q1, document a"),
        ("K005", "truth.json, query q1, document d"),
    ]
    for source in (truth, run):
        with pytest.raises(KaratError, match=r"is not a JSON number|appears twice in one object"):
            evaluate(truth, source, ["RR"])


def test_lists_may_name_a_document_at_several_ranks_because_chunks_do() -> None:
    truth = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 0}}
    assert list(check(truth, {"q1": ["a", "b", "a"], "q2": ["b", "a", "b"]}, measures=["RR"])) == []
