"""Texts of questions and documents in diffs and explanations, and how they are cut."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from karat import Comparison, KaratError, compare, evaluate, evaluate_results, evaluate_runs
from karat.output.tables import Cell, Table, long_cell
from karat.output.widths import shared_widths, shorten, width_of

TRUTH = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1}}
RUNS = {"old": {"q1": ["a", "x", "b"], "q2": ["c"]}, "new": {"q1": ["y", "b"], "q2": ["x", "c"]}}
QUERIES = {"q1": "How soft is gold?", "q2": "What rusts?"}
CORPUS = {"a": "Gold is soft.", "b": "Gold is a metal. " * 10, "c": "Iron rusts.", "x": "Zinc", "y": "Lead"}
HOSTILE = [
    "\x1b[2Jred\x07", "\u202egnitirw\u202c", "two\nlines\r\nand\ttabs", "金" * 500, "x" * 200_000, "a\u0301" * 300,
    "\u0301" * 5000, "<script>alert(1)</script>|`*", "\ud800 lone", " \n ", "", "=1+1", "👩‍👩‍👧 " * 40,
]  # fmt: skip


def compared(**options: Any) -> Comparison:
    return compare(evaluate_runs(TRUTH, RUNS, "nDCG@10", **options), "old", resamples=9, permutations=9)


def test_the_question_and_the_beginnings_of_documents_are_beside_their_ids() -> None:
    found = compared().diff("nDCG@10", queries=QUERIES, corpus=CORPUS)
    text = str(found)
    assert "q1: How soft is gold?   a: Gold is soft." in text
    assert "b: Gold is a metal. Gold is a metal. Go… (grade 2)" in text
    assert "q2: What rusts?         c: Iron rusts." in text
    whole = found.to_dict()
    assert {each["query"]: each["text"] for each in whole["queries"]} == QUERIES
    moves = [move for each in whole["queries"] for move in each["moves"]]
    assert {move["gold"]: move["text"] for move in moves} == {name: CORPUS[name] for name in ("a", "b", "c")}


def test_one_query_is_shown_with_its_question_and_the_texts_of_both_lists() -> None:
    found = compared().diff("nDCG@10", queries=QUERIES, corpus=CORPUS)
    moves, lists = found.in_full("q1").tables()
    assert moves.notes[0] == "query q1: How soft is gold?"
    second = [cell.text for cell in lists.rows[1]]
    assert second == ["2", "x: Zinc", "[2] b: Gold is a metal. Gold is a metal. Go…"]


def test_without_texts_ids_are_shown_as_before() -> None:
    whole = compared().diff("nDCG@10").to_dict()
    assert all("text" not in each for each in whole["queries"])
    assert {move["text"] for each in whole["queries"] for move in each["moves"]} == {None}
    assert whole["notes"] == []


def test_texts_that_are_missing_are_noted() -> None:
    found = compared().diff("nDCG@10", queries={"q1": "How soft?"}, corpus={"a": "Gold", "b": ""})
    assert found.to_dict()["notes"] == [
        "the queries: no text for 1 of 2 queries (q2).", "the corpus: no text for 2 of 3 documents (b, c).",
    ]  # fmt: skip
    assert "note: the queries: no text for 1 of 2 queries (q2)." in str(found)
    # The other query has a text, so that nothing is missing here.
    explained = evaluate(TRUTH, RUNS["old"], "RR").explain("q1", queries={"q1": "How soft?"})
    assert (explained.text, explained.notes) == ("How soft?", ())
    explained = evaluate(TRUTH, RUNS["old"], "RR").explain("q2", queries={"q1": "How soft?"})
    assert (explained.text, explained.notes) == (None, ("the queries: no text for 1 of 2 queries (q2)",))


def test_results_need_no_sources_and_given_texts_come_first() -> None:
    def scores(*retrieved: str) -> Any:
        truth = [{"id": "a", "content": "Gold is soft."}]
        return evaluate_results(
            [{"query": "q1", "question": "How soft?", "truth": truth, "retrieved": list(retrieved)}], "RR"
        )

    systems = {"old": scores("a"), "new": scores("x", "a")}
    found = compare(systems, "old", resamples=9).diff("RR")
    assert "q1: How soft?   a: Gold is soft." in str(found)
    assert systems["old"].explain("q1").text == "How soft?"
    given = compare(systems, "old", resamples=9).diff("RR", queries={"q1": "Is it soft?"}, corpus={"x": "Zinc"})
    assert "q1: Is it soft?" in str(given)
    assert "x: Zinc" in given.in_full("q1").tables()[1].text()


def test_documents_without_a_text_of_their_own_have_that_of_the_corpus() -> None:
    scores = evaluate({"q": [{"id": "a"}]}, {"q": [{"id": "a"}, {"id": "x", "content": "Zinc"}]}, "RR")
    rows = scores.explain("q", corpus={"a": "Gold", "x": "another"}).rows
    assert [row.document for row in rows] == ["a: Gold", "x: Zinc"]


def test_a_corpus_that_is_not_needed_is_noted() -> None:
    note = "the corpus was not read: no document that is shown needs a text"
    same = compare(evaluate_runs(TRUTH, {"a": RUNS["old"], "b": RUNS["old"]}, "RR"), "a", resamples=9)
    assert same.diff("RR", corpus={"never": "read"}).to_dict()["notes"] == [f"{note}."]
    by_text = evaluate({"q": ["Gold"]}, {"q": ["Gold"]}, "RR", match="content")
    assert by_text.explain("q", corpus={"never": "read"}).notes == (note,)


class Counted(dict[str, str]):
    """A corpus that counts how often it is read."""

    read = 0

    def __iter__(self) -> Iterator[str]:
        self.read += 1
        return super().__iter__()


def test_the_corpus_is_read_once_for_all_queries_and_not_for_texts_that_documents_were_matched_by() -> None:
    corpus = Counted(CORPUS)
    found = compared().diff("nDCG@10", corpus=corpus)
    assert corpus.read == 0
    str(found)
    found.to_dict()
    assert corpus.read == 1
    found.in_full("q1").tables()
    found.in_full("q1").tables()
    assert corpus.read == 2  # for the documents that did not move
    matched = compare(evaluate_runs(TRUTH, RUNS, "RR", match="chunk", corpus=CORPUS), "old", resamples=9)
    assert "a: Gold is soft." in str(matched.diff("RR"))


def test_wrong_sources_are_errors() -> None:
    comparison = compared()
    with pytest.raises(KaratError, match="a corpus from an iterator can be read only once"):
        comparison.diff("nDCG@10", corpus=iter([("a", "Gold")]))
    with pytest.raises(KaratError, match="the queries: this is ground truth or a run, not the texts of queries"):
        comparison.diff("nDCG@10", queries=TRUTH)
    with pytest.raises(KaratError, match=r"the corpus: no text found for any of the 3 documents\. Their ids are a, b"):
        str(comparison.diff("nDCG@10", corpus={"z": "Gold"}))


@pytest.mark.parametrize("at", range(len(HOSTILE)))
def test_hostile_texts_are_harmless_in_tables_and_whole_in_json(at: int) -> None:
    text = HOSTILE[at]
    texts: Mapping[str, str] = dict.fromkeys(CORPUS, text or "")
    found = compared().diff("nDCG@10", queries={**QUERIES, "q1": text}, corpus=texts)
    shown = str(found) + found.in_full("q1").tables()[1].text()
    assert shown.replace("\n", "").isprintable() or "\u200d" in shown  # joins letters and emoji
    assert "<script>" not in found._repr_html_()
    rows = str(found).splitlines()[2:-2]
    assert max(map(width_of, rows)) <= 180
    known = text if text.strip() else None
    assert found["q1"].text == known
    assert {move.text for move in found["q1"].moves} == {known}
    explained = evaluate(TRUTH, RUNS["old"], "RR").explain("q1", queries={**QUERIES, "q1": text}, corpus=texts)
    assert explained.text == known
    assert max(map(width_of, str(explained).splitlines()[:4])) <= 130


@pytest.mark.parametrize("width", [60, 80, 120, 200, 400])
def test_a_terminal_shows_as_much_of_long_texts_as_it_has_room_for(width: int) -> None:
    rows = tuple((long_cell(f"q{at}: {'word ' * 30}", 40), long_cell("金" * 90, 40, " (grade 2)"), Cell("0.5"))
                 for at in range(3))  # fmt: skip
    table = Table(("query", "document", "score"), rows, labels=2)
    fitted = table.fit(width)
    widths = [max(width_of(row[at].text) for row in fitted.rows) for at in range(3)]
    console = Console(width=width, force_terminal=True)
    assert fitted.fits(console)
    assert sum(widths) + 6 > min(width, 350) - 10
    assert all(row[1].text.endswith(" (grade 2)") for row in fitted.rows)
    assert max(width_of(row[0].text) for row in table.rows) == 40


def test_a_table_without_long_texts_is_not_changed() -> None:
    table = Table(("query", "score"), ((Cell("q" * 200), Cell("1")),))
    assert table.fit(50) is table


@given(text=st.text(), width=st.integers(2, 60))
def test_a_text_is_cut_to_its_width_at_its_beginning(text: str, width: int) -> None:
    short = shorten(text, width)
    line = " ".join(text.split())
    assert width_of(short) <= width
    assert len(short) <= 4 * width + 1
    assert short == line or (short.endswith("…") and line.startswith(short[:-1]))


@given(wanted=st.lists(st.integers(0, 100), min_size=1, max_size=5), available=st.integers(0, 300))
def test_columns_share_what_is_available(wanted: list[int], available: int) -> None:
    widths = shared_widths(wanted, available)
    assert all(got <= want for got, want in zip(widths, wanted, strict=True))
    assert sum(widths) <= max(available, 0)
    if sum(wanted) <= available:
        assert widths == wanted
    else:
        assert sum(widths) > available - len(wanted)


def test_texts_of_a_beir_folder_are_shown(tmp_path: Path) -> None:
    for name, texts in (("queries.jsonl", QUERIES), ("corpus.jsonl", CORPUS)):
        lines = (json.dumps({"_id": each, "title": "", "text": text}) for each, text in texts.items())
        (tmp_path / name).write_text("\n".join(lines))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\n")
    found = compared().diff("nDCG@10", queries=tmp_path, corpus=tmp_path)
    assert "q2: What rusts?         c: Iron rusts." in str(found)
