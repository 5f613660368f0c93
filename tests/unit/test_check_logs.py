"""check() of logs: each kind of finding is planted and found at its line, and clean logs have none."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.evaluation.check.checked import Checked
from karat.reading import shapes as folder_of_shapes
from karat.reading.bytes.rejected_rows import MOST_ERRORS
from karat.scores.finding_kinds import finding_kinds

SAMPLES = sorted(
    path for path in Path(folder_of_shapes.__file__).parent.iterdir() if path.suffix in (".json", ".jsonl", ".csv")
)
DEMO = Path(karat.__file__).parent / "cli" / "demo_data"
METALS = ("gold", "silver", "copper", "iron", "tin", "lead")


def record(metal: str) -> dict[str, Any]:
    """A record with nothing wrong."""
    return {
        "query": f"q-{metal}",
        "question": f"How soft is {metal}?",
        "truth": [f"{metal}-1"],
        "retrieved": [
            {"id": f"{metal}-1", "content": f"The hardness of {metal} was measured by Friedrich Mohs."},
            {"id": f"{metal}-2", "content": f"Nobody eats {metal} with a spoon."},
        ],
        "gold_answers": ["Friedrich Mohs"],
        "answer": f"Ask Mohs how soft {metal} is.",
    }


def log() -> list[dict[str, Any]]:
    return [*map(record, METALS)]


def written(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return path


def places(checked: Checked) -> list[tuple[str, int | None]]:
    """The number and the line of each finding."""
    kinds = finding_kinds()
    return [(kinds[each.code].number, each.place.line if each.place else None) for each in checked]  # type: ignore[misc]


EMPTY = {"id": "gold-1", "content": " "}
PLANTED: dict[str, tuple[str, dict[str, Any]]] = {
    "a query is missing": ("K002", {"query": None}),
    "a query is an empty text": ("K002", {"query": " "}),
    "a query is not an id": ("K002", {"query": 1.5}),
    "an answer is a number": ("K002", {"answer": 7}),
    "a gold answer is a number": ("K002", {"gold_answers": [7]}),
    "a document is a number with decimals": ("K002", {"retrieved": [1.5]}),
    "the content of a document is an object": ("K002", {"retrieved": [{"id": "iron-1", "content": {"text": "x"}}]}),
    "the gold documents are a number": ("K002", {"truth": 3}),
    "a gold document is an object without an id or a text": ("K002", {"truth": {"iron-1": "x"}}),
    "a retrieved document is an object without an id or a text": ("K002", {"retrieved": [{"rank": 1}]}),
    "the gold documents are an empty list": ("K021", {"truth": []}),
    "there are no gold documents": ("K023", {"truth": None}),
    "a query is that of an earlier record": ("K025", {"query": "q-gold"}),
    "a question is that of an earlier record": ("K025", {"question": "how soft  is GOLD?"}),
    "one of two passages is empty": ("K043", {"retrieved": [EMPTY, {"id": "iron-1", "content": "Friedrich Mohs"}]}),
    "no passages were retrieved": ("K031", {"retrieved": []}),
    "the passages are missing": ("K030", {"retrieved": None}),
    "nothing is known but answers": ("K050", {"truth": None, "retrieved": None}),
    "all passages are empty": ("K050", {"retrieved": [EMPTY, {**EMPTY, "id": "gold-2"}]}),
    "the answer is a passage": (
        "K051",
        {"answer": "nobody eats iron with a spoon", "retrieved": record("iron")["retrieved"]},
    ),
    "the gold answer is in no passage": ("K052", {"gold_answers": ["Georgius Agricola", "Agricola"]}),
    "the answer is missing": ("K053", {"answer": None}),
    "the answer is empty": ("K053", {"answer": ""}),
    "the gold answer is missing": ("K054", {"gold_answers": None}),
    "everything but the query is missing": ("K055", dict.fromkeys(("truth", "retrieved", "gold_answers", "answer"))),
    "a passage is repeated": ("K056", {"retrieved": [*record("iron")["retrieved"], record("iron")["retrieved"][1]]}),
}


@pytest.mark.parametrize(("number", "changes"), PLANTED.values(), ids=PLANTED)
@pytest.mark.parametrize("at", [1, 3, 5])
def test_each_fault_is_found_once_at_its_line(number: str, changes: Mapping[str, Any], at: int, tmp_path: Path) -> None:
    records = log()
    records[at] |= changes
    assert places(karat.check(written(tmp_path / "log.jsonl", records))) == [(number, at + 1)]


@pytest.mark.parametrize("changes", [changes for _, changes in PLANTED.values()], ids=PLANTED)
def test_what_an_evaluation_notices_in_a_log_has_the_same_code(changes: Mapping[str, Any]) -> None:
    records = log()
    records[3] |= changes
    found = {finding.code for finding in karat.check(records)}
    with suppress(karat.KaratError):
        assert {each.code for each in karat.evaluate_results(records).findings if each.kind is not None} <= found


OTHER_NAMES = {"query": "id", "retrieved": "contexts", "gold_answers": "ground_truth", "answer": "response"}


@pytest.mark.parametrize(("field", "value"), [("contexts", "a text"), ("ground_truth", 5), ("response", ["a", "list"])])
def test_a_field_whose_name_is_guessed_is_checked_though_one_value_is_wrong(
    field: str, value: object, tmp_path: Path
) -> None:
    records = [{OTHER_NAMES.get(name, name): each for name, each in one.items() if name != "truth"} for one in log()]
    records = [one | {"ground_truth": "Friedrich Mohs"} for one in records]
    records[1]["response"] = "nobody eats silver with a spoon"
    records[2]["contexts"] = []
    records[4] |= {"response": ""}
    clean = places(karat.check(written(tmp_path / "log.jsonl", records)))
    assert clean == [("K050", 3), ("K051", 2), ("K053", 5)]
    records[3][field] = value
    assert places(karat.check(written(tmp_path / "log.jsonl", records))) == [("K002", 4), *clean]


def test_values_after_those_that_decide_how_a_field_is_read_may_be_of_another_kind() -> None:
    records = [{"id": f"q{at}", "contexts": [f"text {at}"], "response": f"answer {at}"} for at in range(1001)]
    assert not len(karat.check([*records, {"id": "last", "contexts": "a text", "response": "an answer"}]))


def test_all_faults_are_found_in_one_log(tmp_path: Path) -> None:
    records = [record("gold"), *({**record(f"metal{at}"), **each} for at, (_, each) in enumerate(PLANTED.values()))]
    found = places(karat.check(written(tmp_path / "log.jsonl", records)))
    assert sorted(found) == sorted((number, line) for line, (number, _) in enumerate(PLANTED.values(), 2))


@pytest.mark.parametrize(
    "as_source",
    [
        lambda records, path: written(path / "log.jsonl", records),
        lambda records, path: str(written(path / "log.jsonl", records)),
        lambda records, _: records,
        lambda records, _: [SimpleNamespace(**each) for each in records],
        lambda records, _: pd.DataFrame(records),
        lambda records, _: pl.DataFrame(records),
        lambda records, _: iter(records),
        lambda records, _: io.BytesIO("\n".join(map(json.dumps, records)).encode()),
    ],
    ids=["path", "name", "list", "objects", "pandas", "polars", "iterator", "open file"],
)
def test_a_log_is_recognized_wherever_it_is(as_source: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    assert not len(karat.check(as_source(log(), tmp_path)))
    wrong = [*log(), {**record("zinc"), "retrieved": []}]
    assert [finding.code for finding in karat.check(as_source(wrong, tmp_path))] == ["nothing-retrieved"]


def test_ground_truth_in_memory_is_not_a_log() -> None:
    rows = [{"query": "q1", "doc": "d1", "grade": 0}]
    for truth in (rows, pd.DataFrame(rows), [("q1", "d1", 0)], {"q1": {"d1": 0}}):
        assert "unreadable-file" not in {finding.code for finding in karat.check(truth)}
        assert [finding.code for finding in karat.check(truth, {"q1": {"d1": 0.5}})][:1] != ["unreadable-file"]


def test_lists_of_gold_documents_before_a_run_are_ground_truth(tmp_path: Path) -> None:
    truth = written(tmp_path / "truth.jsonl", [{"query": "q1", "documents": ["d1"]}])
    codes = {finding.code for finding in karat.check(truth, {"q1": ["d1"], "q2": ["d1"]})}
    assert "unknown-queries" in codes
    assert "unreadable-file" not in codes


def test_several_logs_are_checked_one_by_one(tmp_path: Path) -> None:
    first = written(tmp_path / "first.jsonl", log())
    second = written(tmp_path / "second.jsonl", [*log(), {**record("zinc"), "answer": None}])
    [finding] = karat.check(first, second)
    assert finding.code == "missing-answers"
    assert str(finding.place) == f"{second}:7"
    [finding] = karat.check(log(), [{**record("zinc"), "retrieved": []}, *log()])
    assert str(finding.place) == "results 2[0]"


def test_options_of_runs_are_refused_for_logs() -> None:
    with pytest.raises(karat.KaratError, match="this is a log"):
        karat.check(log(), corpus={"d1": "x"})


def test_fields_and_the_path_of_records_are_those_of_an_evaluation(tmp_path: Path) -> None:
    records = [{"ask": each["query"], "found": each["retrieved"], "said": each["answer"]} for each in log()]
    records[2]["found"] = []
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"run": {"items": records}}))
    fields = {"query": "ask", "retrieved": "found", "answer": "said"}
    [finding] = karat.check(path, fields=fields, records="run.items")
    assert finding.code == "empty-contexts"
    assert "items.2" in str(finding.place)


def test_lines_that_are_not_records_are_found_and_the_others_checked(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [*map(json.dumps, log())]
    lines[1:1] = ["{bad", "", "[1]", '"text"', '{"query": "q"', "\xff"]
    path.write_bytes("\n".join([*lines, json.dumps({**record("zinc"), "retrieved": []})]).encode("latin-1"))
    found = places(karat.check(path))
    assert found == [*(("K002", line) for line in (2, 4, 5, 6, 7)), ("K031", 13)]


def test_rows_of_a_table_that_are_wrong_are_found_and_the_others_checked(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = ["query,answer,gold_answer", "q1,soft,soft", "q2,soft", 'q3,"soft"ly,x', "q4,,soft", "q5,a,b,c", "q6,x,x"]
    path.write_text("\n".join(rows))
    assert places(karat.check(path)) == [("K002", 3), ("K002", 4), ("K002", 6), ("K053", 5)]


def test_entries_of_a_list_that_are_not_records_are_found_and_the_others_checked(tmp_path: Path) -> None:
    records = [record("gold"), 7, None, "text", {**record("iron"), "retrieved": []}]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(records))
    for source in (records, path):
        found = karat.check(source)
        assert [finding.code for finding in found] == [*["unreadable-row"] * 3, "nothing-retrieved"]
        assert [finding.place.field for finding in found if finding.place] == ["[1]", "[2]", "[3]", "[4]"]


def test_entries_of_an_inner_list_that_are_not_records_are_found_and_the_others_checked(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"run": {"items": [record("gold"), 7, {**record("iron"), "retrieved": []}]}}))
    found = karat.check(path, records="run.items")
    assert [finding.code for finding in found] == ["unreadable-row", "nothing-retrieved"]
    assert [finding.place.field for finding in found if finding.place] == ["[0], run.items.1", "[0], run.items.2"]


def test_fields_of_unknown_names_are_one_finding_that_says_how_to_name_them(tmp_path: Path) -> None:
    path = written(tmp_path / "log.jsonl", [{"ask": "How soft?", "said": "Very."}, {"ask": "Why?", "said": "So."}])
    [finding] = karat.check(path)
    assert finding.code == "unreadable-file"
    assert "fields={'query': 'NAME'}" in finding.hint


@pytest.mark.parametrize("content", [b"", b"{bad\n{bad", b"\x00\x01", b"[]", b"{}", b'[{"query": "q1"}]'])
def test_a_log_without_a_record_that_can_be_read_is_one_finding(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    assert [finding.code for finding in karat.check(path)] == ["unreadable-file"]


def test_a_log_that_is_missing_beside_another_is_one_finding(tmp_path: Path) -> None:
    [finding] = karat.check(written(tmp_path / "log.jsonl", log()), tmp_path / "missing.jsonl")
    assert finding.code == "unreadable-file"
    assert str(finding.place) == str(tmp_path / "missing.jsonl")


def test_a_field_whose_values_are_all_wrong_is_one_finding_that_says_where_the_text_is() -> None:
    [finding] = karat.check([{**each, "answer": {"text": each["answer"]}} for each in log()])
    assert finding.code == "unreadable-file"
    assert "fields={'answer': 'answer.text'}" in finding.hint


def test_a_question_to_two_systems_is_not_repeated_and_to_one_system_it_is() -> None:
    of_both = [{**each, "system": system} for system in ("a", "b") for each in log()]
    assert not len(karat.check(of_both))
    [finding] = karat.check([*of_both, {**record("gold"), "system": "b"}])
    assert finding.code == "repeated-questions"
    assert finding.message == "query 'q-gold' was already in the results[6]"


@pytest.mark.parametrize("gold", ["yes", "No.", "1971", "31.1 grams", "B", "that depends on the weather", ""])
def test_gold_answers_that_passages_rarely_have_word_for_word_are_not_missed(gold: str) -> None:
    assert not len(karat.check([{**each, "gold_answers": [gold]} for each in log()]))


@pytest.mark.parametrize("gold", ["friedrich mohs!", "Mohs", "the Friedrich", "Mohs, Friedrich"])
def test_gold_answers_are_compared_as_measures_of_answers_compare_them(gold: str) -> None:
    assert not len(karat.check([{**each, "gold_answers": [gold]} for each in log()]))


def test_gold_answers_of_languages_without_spaces_are_compared_with_passages() -> None:
    log = [
        {"query": query, "contexts": [{"text": "金は柔らかい。"}], "gold_answers": [query], "answer": "?"}
        for query in "金銀"
    ]
    assert not len(karat.check([{**each, "gold_answers": ["柔"]} for each in log]))
    [finding] = karat.check([log[0], {**log[1], "gold_answers": ["硬い"]}])
    assert finding.code == "gold-in-no-passage"


def test_passages_that_are_known_by_their_ids_are_not_compared_with_answers() -> None:
    by_id = [{**each, "retrieved": [each["retrieved"][0]["id"], "x"], "gold_answers": ["tin tin"]} for each in log()]
    assert not len(karat.check(by_id))
    [finding] = karat.check([{**each, "retrieved": [*each["retrieved"], "x"]} for each in by_id[:1]] + by_id[1:])
    assert finding.code == "repeated-passages"


def test_a_log_without_gold_is_checked_for_what_it_has() -> None:
    records: list[dict[str, Any]] = [
        {"question": f"Is {metal} soft?", "contexts": [f"{metal} is soft", "x"], "answer": "?"} for metal in METALS
    ]
    assert not len(karat.check(records))
    records[3]["answer"] = None
    assert [finding.code for finding in karat.check(records)] == ["missing-answers"]


def test_no_gold_document_in_the_log_is_found_with_the_match_that_finds_them() -> None:
    chunks = [{**each, "retrieved": [{**doc, "id": f"{doc['id']}#0"} for doc in each["retrieved"]]} for each in log()]
    [finding] = karat.check(chunks)
    assert finding.code == "nothing-found"
    assert "prefix" in finding.hint
    assert not len(karat.check(chunks, match="prefix(separator=#)"))


def test_what_is_wrong_with_all_documents_of_a_system_names_the_system() -> None:
    of_both = [{**each, "system": system} for system in ("a", "b") for each in log()]
    for each in of_both[6:]:
        each["truth"] = ["elsewhere"]
    [finding] = karat.check(of_both)
    assert (finding.code, finding.message) == ("nothing-found", "system b: no judged document is in the run")


def test_gold_documents_without_a_relevant_grade_are_found_at_the_first_record() -> None:
    graded = [{**each, "truth": {each["truth"][0]: int(at not in (2, 4))}} for at, each in enumerate(log())]
    [finding] = karat.check(graded)
    assert (finding.code, finding.count, str(finding.place)) == ("no-relevant", 2, "the results[2]")


def test_a_submission_to_trec_rag_is_checked(tmp_path: Path) -> None:
    sentence = {"text": "Gold is soft.", "citations": [0]}
    good: dict[str, Any] = {"run_id": "r", "topic_id": "1", "references": ["d7"], "answer": [sentence]}
    lines = [good, {**good, "topic_id": "2", "references": []}, {**good, "topic_id": "3", "answer": []}]
    lines += [{**good, "topic_id": "4", "references": None}, good, {**good, "run_id": "s"}]
    found = places(karat.check(written(tmp_path / "log.jsonl", lines)))
    assert found == [("K002", 4), ("K025", 5), ("K050", 2), ("K053", 3)]


def test_of_very_many_findings_of_a_kind_the_first_are_listed_and_the_others_counted() -> None:
    records = [{"query": f"q{at}", "retrieved": [], "answer": "x"} for at in range(MOST_ERRORS + 7)]
    found = karat.check([{"query": "q", "retrieved": ["a b"], "answer": "x"}, *records])
    assert len(found) == MOST_ERRORS + 1
    assert [finding.count for finding in found if finding.count != 1] == [7]
    assert f"and {MOST_ERRORS + 4:,} more" in found.to_text()


def test_of_very_many_lines_that_cannot_be_read_the_others_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*map(json.dumps, log()), *["{bad"] * (MOST_ERRORS + 3)]))
    found = karat.check(path)
    assert [finding.count for finding in found if finding.count != 1] == [3]
    assert len(found) == MOST_ERRORS + 1


def test_records_with_faults_of_json_are_left_out_of_a_list_and_the_others_are_checked(tmp_path: Path) -> None:
    records = [json.dumps(each) for each in log()]
    records[1] = records[1][:-1] + ', "seconds": NaN}'
    records[3] = records[3][:-1] + ', "answer": "again"}'
    path = tmp_path / "log.json"
    path.write_text(f"[{','.join([*records, json.dumps(record('zinc') | {'answer': ''})])}]")
    found = [(each.code, str(each.place).removeprefix(str(path))) for each in karat.check(path)]
    assert found == [("unreadable-row", "[1]"), ("unreadable-row", "[3]"), ("missing-answers", "[6]")]


@pytest.mark.parametrize("name", ["log.jsonl", "log.json"])
def test_all_wrong_values_of_a_record_are_found(name: str, tmp_path: Path) -> None:
    path, records = tmp_path / name, log()
    records[1] |= {"truth": 5, "retrieved": 7, "answer": 9}
    path.write_text(json.dumps(records) if name.endswith("json") else "\n".join(map(json.dumps, records)))
    found = karat.check(path)
    assert [finding.kind and finding.kind.number for finding in found] == ["K002"] * 3


def test_all_wrong_values_of_a_field_are_counted() -> None:
    wrong = MOST_ERRORS + 5
    records = [{"query": f"q{at}", "answer": 5 if at < wrong else "text"} for at in range(wrong + 1)]
    found = karat.check(records)
    assert [sum(finding.count for finding in found), found[-1].count] == [wrong, 5]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_sample_of_a_tool_has_no_findings(sample: Path) -> None:
    assert not len(karat.check(str(sample)))


def test_the_logs_of_the_demo_have_only_the_findings_that_are_known() -> None:
    found = {name: places(karat.check(DEMO / name)) for name in ("generated.jsonl", "pairs.jsonl", "results.jsonl")}
    assert found == {
        "generated.jsonl": [("K052", line) for line in (12, 13, 37, 50)],
        "pairs.jsonl": [("K025", 8)],
        "results.jsonl": [
            ("K011", None),
            *(("K051", line) for line in (28, 39, 46)),
            *(("K052", line) for line in (5, 12, 13, 18, 29, 37, 50)),
        ],
    }


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
DOCUMENTS = st.lists(
    st.text(max_size=8)
    | st.fixed_dictionaries({}, optional={"id": VALUES, "content": VALUES, "score": VALUES})
    | VALUES
)
RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "query": st.sampled_from(["q1", "q2", "", "\ud800"]) | VALUES,
        "question": VALUES,
        "truth": DOCUMENTS | VALUES,
        "retrieved": DOCUMENTS | VALUES,
        "gold_answers": st.lists(st.text(max_size=8)) | VALUES,
        "answer": st.text(max_size=8) | VALUES,
        "system": VALUES,
        "references": VALUES,
    },
)


@given(st.lists(RECORDS | VALUES, max_size=5))
@settings(max_examples=100)
def test_hostile_records_are_findings_and_never_errors(records: list[Any]) -> None:
    found = karat.check([{"query": "first", "answer": "x", "retrieved": ["a b"]}, *records])
    assert all(finding.kind for finding in found)
    assert found.to_text()
    assert json.dumps(found.to_dict())
    assert isinstance(found.to_github(), str)


@given(st.binary(max_size=40), st.sampled_from([b"\n", b"\n{", b'\n{"query": "q2", "answer": ']))
@settings(max_examples=100)
def test_hostile_lines_are_findings_and_never_errors(line: bytes, before: bytes) -> None:
    text = json.dumps({"query": "q1", "answer": "x", "retrieved": ["a b"]}).encode()
    for source in (io.BytesIO(text + before + line), io.BytesIO(line + before + text)):
        assert all(finding.kind for finding in karat.check(source))
