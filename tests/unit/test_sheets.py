"""Sheets that people fill in, from the template to the verdict file."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import evaluate_verdicts
from karat.cli import demo_data as demo
from karat.errors import KaratError
from karat.grounding.labels.recipes import RECIPES, wanted_labels
from karat.grounding.responses.responses import items_of
from karat.grounding.responses.results import read_responses
from karat.grounding.sheets.filled import FilledSheet, SheetError, read_filled_sheet
from karat.grounding.sheets.importing import add_to_verdict_file
from karat.grounding.sheets.sheets import COLUMNS, Sheet, record_digest, sheet_of, write_sheet
from karat.grounding.verdict_file.reading import read_verdict_records
from karat.grounding.verdict_file.records import Item, text_digest
from karat.grounding.verdict_file.tasks import Task
from karat.output.delimited import delimited

RESULTS: list[dict[str, Any]] = [
    {
        "query": "007",
        "question": "=Why?",
        "answer": "It is soft [1]. It is “yellow” [1][2]. Yes [9]. No.",
        "retrieved": [{"id": "d1", "content": "Gold, a metal,\r\nis soft;"}, {"id": "d2", "content": "=1+1 é → \x00"}],
        "gold_answers": ["soft"],
    },
    {"query": "q2", "answer": "", "retrieved": []},
    {"query": "q3", "answer": "5.50", "retrieved": ["d1"]},
]
NUGGETS = [Item(query, "n1", "nugget", text="soft", importance="vital") for query in ("007", "q2", "q3")]
Rows = list[list[str]]
LABEL, WHY, RECORD = (COLUMNS.index(name) for name in ("label", "why", "record"))


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    file = tmp_path / "todo.csv"
    write_sheet(sheet_of("support", read_responses(RESULTS, system="rag").responses), file)
    return file


def rows_of(file: Path) -> Rows:
    return list(csv.reader(StringIO(file.read_text("utf-8-sig"), newline="")))


def saved(file: Path, rows: Rows, delimiter: str = ",", encoding: str = "utf-8", end: str = "\r\n") -> Path:
    """The file as a spreadsheet would save it."""
    text = StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=end).writerows(rows)
    file.write_bytes(text.getvalue().encode(encoding))
    return file


def filled(file: Path, *labels: str, why: str = "") -> Path:
    rows = rows_of(file)
    to_label = [row for row in rows[1:] if '"asked": true' in row[RECORD]]
    for row, label in zip(to_label, labels, strict=False):
        row[LABEL], row[WHY] = label, why
    return saved(file, rows)


def labels_of(sheet: FilledSheet) -> list[tuple[str, Any]]:
    return [(each["item"], each.get("label", each.get("state"))) for each in sheet.verdicts]


def errors_of(file: Path) -> list[str]:
    with pytest.raises(KaratError) as raised:
        read_filled_sheet(file)
    errors = raised.value.errors if isinstance(raised.value, SheetError) else [raised.value]
    return [str(error).removeprefix(str(file)) for error in errors]


def test_a_sheet_has_a_row_for_each_label_and_for_each_item_without_one(sheet: Path) -> None:
    header, *rows = rows_of(sheet)
    assert header == list(COLUMNS)
    assert [row[:3] for row in rows] == [
        ["1 of 7", "'=Why?", "“It is soft [1].”"],
        ["2 of 7", "'=Why?", "“It is “yellow” [1][2].”"],
        ["3 of 7", "'=Why?", "“It is “yellow” [1][2].”"],
        ["4 of 7", "'=Why?", "“Yes [9].”"],
        ["5 of 7", "'=Why?", "“No.”"],
        ["6 of 7", "q2", ""],
        ["7 of 7", "q3", "“5.50”"],
    ]
    assert rows[0][3] == "[1] Gold, a metal, \nis soft;"
    how = "in full, in part (partial) or not at all (none), or contradict it (contradicts)"
    assert rows[0][4] == f"Does this passage support the sentence {how}?"
    assert rows[0][5:8] == ["contradicts | none | partial | full | nothing_to_judge", "", ""]
    assert [row[4] for row in rows[3:]] == [
        "Nothing: it cites no passage that was given.",
        "Nothing: it cites no passage.",
        "Nothing: the answer is empty.",
        "Nothing: it cites no passage.",
    ]
    assert rows[5][LABEL] == "nothing_to_judge"


def test_what_is_filled_in_comes_back_with_all_items(sheet: Path) -> None:
    found = read_filled_sheet(filled(sheet, "full", "None ", why="- not stated"), "ann")
    assert labels_of(found) == [("s1", "full"), ("s2", "none"), ("answer", "nothing_to_judge")]
    assert found.unlabelled == 1
    assert found.verdicts[1] == {
        "record": "verdict", "query": "007", "system": "rag", "task": "support", "item": "s2", "against": ["d1"],
        "label": "none", "by": "human:ann", "why": "- not stated", "digest": found.verdicts[1]["digest"],
        "against_digest": text_digest("Gold, a metal,\r\nis soft;"),
    }  # fmt: skip
    answers = {key: item.digest for key, item in found.items.items() if item.type == "answer"}
    assert answers == {(each["query"], "rag", "answer"): text_digest(each["answer"]) for each in RESULTS}
    items = {key: item._replace(place=None, digest=None) for key, item in found.items.items() if key not in answers}
    expected = [item for each in read_responses(RESULTS, system="rag").responses for item in items_of(each)]
    assert items == {
        (item.query, item.system, item.id): item._replace(text=None) if item.type == "passage" else item
        for item in expected
    }


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_makes_a_sheet_that_is_read_back(recipe: str, tmp_path: Path) -> None:
    claims = [
        Item("007", "c1", "claim", "rag", "answer", "soft"), Item("007", "g1", "claim", None, "gold", "yellow"),
        Item("q2", "c1", "claim", "rag", "answer", "a"), Item("q3", "c1", "claim", "rag", "answer", "b"),
    ]  # fmt: skip
    responses = read_responses(
        [{**each, "gold_answers": ["x"]} for each in RESULTS], system="rag", corpus={"d1": "a b"}
    )
    items = [*NUGGETS, *claims]
    sheet = sheet_of(recipe, responses.responses, items)
    file = tmp_path / "todo.tsv"
    write_sheet(sheet, file)
    scale = sheet.rows[0][COLUMNS.index("allowed")].split(" | ")
    rows = list(csv.reader(StringIO(file.read_text("utf-8-sig"), newline=""), delimiter="\t"))
    for row in rows[1:]:
        row[LABEL] = row[LABEL] or (scale[0] if '"asked": true' in row[RECORD] else "")
    found = read_filled_sheet(saved(tmp_path / "todo.csv", rows, ";"))
    wanted = [each for one in responses.responses for each in wanted_labels(recipe, one, [*items_of(one), *(
        item for item in items if item.query == one.query and item.system in (None, "rag"))])]  # fmt: skip
    assert sheet.labels == len(wanted)
    given = [each for each in found.verdicts if "label" in each]
    assert [(each["query"], each["item"], each.get("against")) for each in given] == [
        (each.item.query, each.item.id, list(each.against) if isinstance(each.against, tuple) else each.against)
        for each in wanted
    ]
    assert found.unlabelled == 0


def test_a_rubric_of_the_users_own_is_about_the_answer(tmp_path: Path) -> None:
    rubric = Task("politeness", {"rude": 0.0, "polite": 1.0}, "Is it polite?")
    file = tmp_path / "todo.csv"
    write_sheet(sheet_of("politeness", read_responses(RESULTS[:1]).responses, tasks={"politeness": rubric}), file)
    assert rows_of(file)[1][4] == "Is it polite?"
    add_to_verdict_file(read_filled_sheet(filled(file, "polite")), tmp_path / "verdicts.jsonl")
    records = read_verdict_records(tmp_path / "verdicts.jsonl")
    assert records.tasks["politeness"] == rubric
    assert (list(records.labels.item), list(records.labels.label)) == (["answer"], ["polite"])


@pytest.mark.parametrize(("given", "label"), [("a", "a"), ("A", "A"), ("GOOD", "good")])
def test_a_label_is_read_in_any_case_unless_the_scale_tells_cases_apart(tmp_path: Path, given: str, label: str) -> None:
    rubric = Task("grade", {"A": 0.0, "a": 1.0, "good": 2.0})
    file = tmp_path / "todo.csv"
    write_sheet(sheet_of("grade", read_responses(RESULTS[:1]).responses, tasks={"grade": rubric}), file)
    assert [verdict["label"] for verdict in read_filled_sheet(filled(file, given)).verdicts] == [label]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_sheets_saved_by_spreadsheets_are_read(sheet: Path, delimiter: str, encoding: str) -> None:
    rows = rows_of(filled(sheet, "full", "none", "partial"))
    moved = [[*row[1:], row[0].replace("row", " Row "), "", ""] for row in rows]  # and blank columns and rows
    moved[2:2] = [[""] * 11, [""]]
    found = read_filled_sheet(saved(sheet, moved, delimiter, encoding, "\n"))
    assert [label for _, label in labels_of(found)] == ["full", "none", "partial", "nothing_to_judge"]


def test_a_sheet_in_windows_1252_is_read_if_no_character_was_lost(sheet: Path) -> None:
    rows = rows_of(filled(sheet, "full"))
    lossy = [[cell.encode("cp1252", "replace").decode("cp1252") for cell in row] for row in rows]
    assert errors_of(saved(sheet, lossy, ";", "cp1252")) == [
        ': characters were lost when the sheet was saved as Windows-1252. In Excel, save it as "CSV UTF-8 (Comma'
        ' delimited)".'
    ]
    plain = [{**RESULTS[0], "retrieved": [{"id": "d1", "content": "café"}, "Gold is."]}]
    write_sheet(sheet_of("support", read_responses(plain).responses), sheet)
    rows = rows_of(filled(sheet, "full"))
    found = read_filled_sheet(saved(sheet, rows, ";", "cp1252"))
    assert labels_of(found) == [("s1", "full")]
    assert found.notes == [f"{sheet} is not UTF-8, so it was read as Windows-1252"]


def test_numbers_that_a_spreadsheet_has_written_in_its_own_way_are_labels(tmp_path: Path) -> None:
    file = tmp_path / "todo.csv"
    write_sheet(sheet_of("context", read_responses(RESULTS[:1]).responses), file)
    assert labels_of(read_filled_sheet(filled(file, "2,0", " 3.00"))) == [("d1", "2"), ("d2", "3")]


def changed(row: int, column: str, value: str) -> Callable[[Rows], Rows]:
    def change(rows: Rows) -> Rows:
        rows[row][COLUMNS.index(column)] = value
        return rows

    return change


def with_record(row: int, **fields: Any) -> Callable[[Rows], Rows]:
    return lambda rows: changed(row, "record", json.dumps({**json.loads(rows[row][RECORD]), **fields}))(rows)


CHANGED = ", row 2: the cell in the column record was changed."
NOT_FOUND = "Keep all rows; one without a label is not labelled yet."


@pytest.mark.parametrize(
    ("change", "errors"),
    [
        (
            changed(1, "label", "ful"),
            [", row 2: the label 'ful' is not on the scale of the task 'support'. Did you mean full?"],
        ),
        (changed(4, "label", "full"), [", row 5: the label 'full' is in a row that asks for none."]),
        (
            changed(1, "why", "Because."),
            [", row 2: there is a reason, but no label. The labels are contradicts, none, partial, full."],
        ),
        (changed(1, "item", "“It is hard [1].”"), [", row 2: the text in the column item was changed."]),
        (changed(1, "compare_with", "[1] Gold"), [", row 2: the text in the column compare_with was changed. Fill in"]),
        (
            changed(1, "compare_with", "x" * 32_767),
            [", row 2: the text in the column compare_with was changed. A spreadsheet has cut it off after 32,767"],
        ),
        (changed(1, "record", "{}"), [CHANGED]),
        (changed(1, "record", ""), [CHANGED]),
        (changed(1, "record", "[1]"), [CHANGED]),
        (with_record(1, query="other"), [CHANGED]),
        (lambda rows: [*rows[:3], *rows[5:]], [f": 2 rows of 7 not found: 3, 4. {NOT_FOUND}"]),
        (lambda rows: [*rows, rows[2]], [", row 9: this row is the same as row 3: both are row 2 of the sheet."]),
        (lambda rows: [row[:RECORD] for row in rows], [": there is no column 'record'. Columns of a sheet are row, q"]),
        (
            changed(0, "label", "labels"),
            [": there is no column 'label'. Is label called something else now? Did you me"],
        ),
        (changed(0, "question", "label"), [": the column 'label' is there twice."]),
        (
            lambda rows: [*rows[:1], [*rows[1], "x"], *rows[2:]],
            [", row 2: 10 columns, but the header has 9.", f": 1 row of 7 not found: 1. {NOT_FOUND}"],
        ),
        (lambda rows: rows[:1], [": the sheet has no rows."]),
        (lambda rows: rows[:0], [": the sheet has no rows."]),
        (lambda rows: [["a", "b"]], [": there are no columns 'item', 'compare_with', 'label', 'why' and 'record'."]),  # noqa: ARG005
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_wrong_cell_is_an_error_with_its_row(
    sheet: Path, change: Callable[[Rows], Rows], errors: list[str]
) -> None:
    found = errors_of(saved(sheet, change(rows_of(sheet))))
    assert [error[: len(expected)] for error, expected in zip(found, errors, strict=True)] == errors


@pytest.mark.parametrize(
    "value", [None, -1, 1.5, "x", "", [], {}, [[1]], True, "\ud800", 10**30, [["a", 0, 5]]], ids=repr
)
def test_a_record_with_a_wrong_field_is_an_error_or_can_be_imported(sheet: Path, tmp_path: Path, value: Any) -> None:
    rows = rows_of(filled(sheet, "full"))
    record = json.loads(rows[1][RECORD])
    for field in [*record, *record["item"]]:
        damaged: dict[str, Any] = json.loads(rows[1][RECORD])
        (damaged if field in damaged and field != "digest" else damaged["item"])[field] = value
        damaged["digest"] = record_digest(damaged)
        saved(sheet, [rows[0], [*rows[1][:RECORD], json.dumps(damaged)], *rows[2:]])
        verdicts = tmp_path / "verdicts.jsonl"
        verdicts.unlink(missing_ok=True)
        try:
            add_to_verdict_file(read_filled_sheet(sheet), verdicts)
        except KaratError:
            continue
        assert len(read_verdict_records(verdicts).labels) == 2


def test_all_errors_are_reported_together_up_to_twenty(sheet: Path, tmp_path: Path) -> None:
    rows = changed(1, "label", "x")(changed(2, "item", "y")(rows_of(sheet)))
    assert len(errors_of(saved(sheet, rows))) == 2
    with pytest.raises(SheetError, match=r"row 2: the label 'x' .* 1 other error in this sheet\."):
        read_filled_sheet(sheet)
    many = [{"query": f"q{at}", "answer": "Yes."} for at in range(30)]
    write_sheet(sheet_of("correctness", read_responses(many).responses), tmp_path / "many.csv")
    assert len(errors_of(filled(tmp_path / "many.csv", *["x"] * 30))) == 20


def test_rows_of_another_sheet_are_an_error(sheet: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    write_sheet(sheet_of("support", read_responses(RESULTS[:1], system="rag").responses), other)
    rows = [*rows_of(sheet)[:-1], rows_of(other)[1]]
    assert errors_of(saved(sheet, rows))[0].startswith(", row 8: this row is from another sheet than the first one.")


def test_a_quotation_mark_that_is_not_closed_is_an_error(sheet: Path) -> None:
    sheet.write_bytes(sheet.read_bytes() + b'"open')
    assert errors_of(sheet)[0].startswith(", row 9: a quotation mark is not closed.")


def test_what_is_not_a_sheet_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "todo.csv"
    file.write_bytes(b"\x81 \xff,")
    assert errors_of(file)[0].startswith(": the file is neither UTF-8 nor Windows-1252.")
    file.write_bytes("row,label".encode("utf-16"))
    assert "text in UTF-16" in errors_of(file)[0]


def test_several_people_fill_in_copies_of_a_sheet(sheet: Path, tmp_path: Path) -> None:
    verdicts = tmp_path / "verdicts.jsonl"
    copy = tmp_path / "copy.csv"
    copy.write_bytes(sheet.read_bytes())
    assert add_to_verdict_file(read_filled_sheet(filled(sheet, "full", "none"), "ann"), verdicts).labels == 3
    items = verdicts.read_text().count('"record":"item"')
    assert add_to_verdict_file(read_filled_sheet(filled(copy, "full", "full"), "ben"), verdicts).labels == 3
    assert verdicts.read_text().count('"record":"item"') == items
    labels = read_verdict_records(verdicts).labels
    assert list(zip(labels.by, labels.item, labels.label, strict=True))[1::3] == [
        ("human:ann", "s2", "none"), ("human:ben", "s2", "full"),
    ]  # fmt: skip


def test_a_sheet_that_is_imported_again_adds_only_what_is_new(sheet: Path, tmp_path: Path) -> None:
    verdicts = tmp_path / "verdicts.jsonl"
    add_to_verdict_file(read_filled_sheet(filled(sheet, "full", "none")), verdicts)
    before = verdicts.read_bytes()
    assert add_to_verdict_file(read_filled_sheet(sheet), verdicts).notes == ("3 labels were in the file already",)
    assert verdicts.read_bytes() == before
    added = add_to_verdict_file(read_filled_sheet(filled(sheet, "partial", "none", "full")), verdicts)
    assert (added.labels, added.notes) == (
        2,
        (
            "2 labels were in the file already",
            "1 label by human replaced; use --author if these are other people's labels",
        ),
    )
    assert verdicts.read_bytes().startswith(before)


def test_a_label_is_known_whatever_the_file_says_that_relevance_is_compared_with(tmp_path: Path) -> None:
    todo, verdicts = tmp_path / "todo.csv", tmp_path / "verdicts.jsonl"
    label = {"query": "007", "system": "rag", "task": "relevance", "by": "human", "record": "verdict", "label": 2}
    texts = {each["id"]: each["content"] for each in RESULTS[0]["retrieved"]}
    labels = [{**label, "item": name, "digest": text_digest(text)} for name, text in texts.items()]
    verdicts.write_text("".join(json.dumps(each) + "\n" for each in labels))
    write_sheet(sheet_of("context", read_responses(RESULTS[:1], system="rag").responses), todo)
    added = add_to_verdict_file(read_filled_sheet(filled(todo, "2", "2")), verdicts)
    assert (added.labels, added.notes) == (0, ("2 labels were in the file already",))


@pytest.mark.parametrize(
    ("recipe", "retrieved", "message"),
    [
        ("context", ["d1"], "the text of passage 'd1' of query 'q' is not in the results. Add the texts with corpus"),
        ("support", ["d1"], "the text of passage 'd1' of query 'q' is not in the results"),
        ("nuggets", [], "the text of nugget 'n1' of query 'q' is not in its record"),
    ],
)
def test_nobody_is_asked_about_a_text_that_is_not_there(recipe: str, retrieved: list[str], message: str) -> None:
    responses = read_responses([{"query": "q", "answer": "It is soft [1].", "retrieved": retrieved}]).responses
    with pytest.raises(KaratError) as error:
        sheet_of(recipe, responses, [Item("q", "n1", "nugget")])
    assert message in str(error.value)


def test_a_sheet_says_what_a_spreadsheet_would_cut_off_and_refuses_what_cannot_be_read_back() -> None:
    def sheet_with(length: int) -> Sheet:
        record = {"query": "q", "answer": "It is soft [1].", "retrieved": ["x " * (length // 2)]}
        return sheet_of("support", read_responses([record]).responses)

    assert sheet_with(1000).notes == ()
    assert sheet_with(40_000).notes == ("the longest cell has 40,004 characters, but Excel cuts off all after 32,767",)
    with pytest.raises(KaratError, match="a cell of the sheet would have 140,004 characters"):
        sheet_with(140_000)


def test_what_cannot_be_asked_is_an_error() -> None:
    with pytest.raises(KaratError, match="there is nothing to label: the results have no answers"):
        sheet_of("correctness", [])
    responses = read_responses([{"query": "q", "answer": "Soft.", "retrieved": []}]).responses
    with pytest.raises(KaratError, match="query 'q' has no gold answer to compare claims with"):
        sheet_of("claims", responses, [Item("q", "c1", "claim", of="answer", text="Gold is soft.")])


def test_a_sheet_has_a_name_of_whoever_filled_it_in(sheet: Path) -> None:
    with pytest.raises(KaratError, match="' ' is not a name"):
        read_filled_sheet(sheet, " ")


def test_labels_are_added_after_a_line_that_was_cut_short_or_has_no_end(sheet: Path, tmp_path: Path) -> None:
    verdicts = tmp_path / "verdicts.jsonl"
    add_to_verdict_file(read_filled_sheet(sheet), verdicts)
    whole = verdicts.read_bytes()
    verdicts.write_bytes(whole[:-1])
    assert add_to_verdict_file(read_filled_sheet(filled(sheet, "full")), verdicts).labels == 1
    assert verdicts.read_bytes().startswith(whole)
    verdicts.write_bytes(whole[:-5])
    added = add_to_verdict_file(read_filled_sheet(sheet), verdicts)
    assert added.notes[0].endswith("the last line is cut short and was left out")
    assert len(read_verdict_records(verdicts).labels) == 2


def test_items_whose_text_has_changed_are_noted(sheet: Path, tmp_path: Path) -> None:
    verdicts = tmp_path / "verdicts.jsonl"
    add_to_verdict_file(read_filled_sheet(sheet), verdicts)
    other = [{**RESULTS[0], "answer": "It is hard [1]."}]
    write_sheet(sheet_of("support", read_responses(other, system="rag").responses), sheet)
    added = add_to_verdict_file(read_filled_sheet(sheet), verdicts)
    assert added.notes == ("2 items have another text now; earlier labels are not about them",)


def test_people_label_whether_an_answer_addresses_the_question(tmp_path: Path) -> None:
    todo, verdicts = tmp_path / "todo.csv", tmp_path / "verdicts.jsonl"
    sheet = sheet_of("answer_relevance", read_responses([{"query": "q", "answer": "In 1848."}], system="rag").responses)
    [cells] = sheet.rows
    assert dict(zip(COLUMNS, cells, strict=True)) | {"record": ""} == {
        "row": "1 of 1", "question": "q", "item": "“In 1848.”",
       "compare_with": "", "label": "", "why": "", "record": "",
        "asked": "Does this answer address the question, whether right or wrong: fully, partly, or not at all (no)?",
        "allowed": "no | partly | fully | nothing_to_judge",
    }  # fmt: skip
    write_sheet(sheet, todo)
    add_to_verdict_file(read_filled_sheet(filled(todo, "partly")), verdicts)
    assert evaluate_verdicts(verdicts).means == {"AnswerRelevance": 0.5}


def test_claims_and_sentences_of_an_earlier_answer_are_removed_when_labels_of_the_new_one_are_added(
    tmp_path: Path,
) -> None:
    todo, verdicts = tmp_path / "todo.csv", tmp_path / "verdicts.jsonl"
    results = [{"query": "q", "answer": "It is soft. Very.", "retrieved": ["Gold is soft."]}]
    claim = Item("q", "c1", "claim", "rag", "answer", "Gold is soft.")
    for recipe, answer, label in (
        ("faithfulness", "It is soft. Very.", "full"), ("correctness", "It is soft. Very.", "correct"),
        ("correctness", "It is hard.", "correct"),
    ):  # fmt: skip
        responses = read_responses([{**results[0], "answer": answer}], system="rag").responses
        write_sheet(sheet_of(recipe, responses, [claim]), todo)
        added = add_to_verdict_file(read_filled_sheet(filled(todo, label)), verdicts)
        assert added.labels == 1  # also if the same label was given to another answer
    scores = evaluate_verdicts(verdicts)
    assert scores.means == {"Correctness": 1.0}
    assert "1 label not used: about items that were removed" in str(scores)
    responses = read_responses([{**results[0], "answer": "It is hard."}], system="rag").responses
    with pytest.raises(KaratError, match=r"the claims of query 'q' are not those of its answer, which has changed"):
        sheet_of("faithfulness", responses, [claim, Item("q", "answer", "answer", "rag", text="It is soft. Very.")])


@pytest.mark.parametrize(
    "content", [b"a,b\n1,2\n", b'{"query": "q1", "answer": "x"}\n', b'{"record": "file", "version": 2}\n']
)
def test_other_files_are_not_touched(sheet: Path, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "results.jsonl"
    file.write_bytes(content)
    with pytest.raises(KaratError, match="results"):
        add_to_verdict_file(read_filled_sheet(filled(sheet, "full")), file)
    assert file.read_bytes() == content


def test_the_labels_of_the_demo_come_back_from_a_sheet(tmp_path: Path) -> None:
    known = read_verdict_records(demo.VERDICTS).labels
    keys = zip(known.query, known.item, known.against, strict=True)
    labels = zip(keys, known.label, known.by, strict=True)
    by_what = {key: label for key, label, by in labels if by == "human:ann"}
    sheet = sheet_of("support", read_responses(demo.GENERATED, system="generated").responses)
    rows = [list(row) for row in sheet.rows]
    for row in rows:
        record = json.loads(row[RECORD])
        if record.get("asked"):
            row[LABEL] = by_what[record["query"], record["item"]["id"], tuple(record["against"])] or ""
    file = saved(tmp_path / "todo.csv", [list(COLUMNS), *rows])
    added = add_to_verdict_file(read_filled_sheet(file, "ann"), tmp_path / "verdicts.jsonl")
    assert added.labels == sheet.labels


@given(st.text(), st.text(), st.text("“”'\"=+-@, \t\r\n;[1].\x00\ud800é"))
def test_any_text_comes_back_from_a_sheet(question: str, passage: str, answer: str) -> None:
    record = {
        "query": "q1",
        "question": question,
        "answer": f"Yes {answer}",
        "retrieved": [{"id": "d", "content": passage}],
    }
    [response] = read_responses([record]).responses
    text = delimited(COLUMNS, sheet_of("faithfulness", [response]).rows, ",", safe=True)
    found = read_filled_sheet(BytesIO(text.encode("utf-8-sig", "backslashreplace")))
    sentences = [item.text for item in found.items.values() if item.type == "sentence"]
    assert sentences == [each.text for each in response.sentences]
