"""What stands behind the score of an answer: each gold answer, and what each measure says of it."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from karat import KaratError, Scores, evaluate_answers, evaluate_results, register
from karat.answers import Answers
from karat.judged import Floats

TRUTH: dict[str, Any] = {"nine": ["9", "nine", "the nine"], "tower": "the Eiffel Tower", "unsaid": ["x", "y"]}
SAID = {"nine": "Nine.", "tower": "Eiffel Tower in Paris", "unsaid": None}
MEASURES = ["EM", "EM(normalize=true)", "TokenF1"]

RESULTS: list[dict[str, Any]] = [
    {"query": "both", "truth": ["a"], "retrieved": ["x", "a"], "gold_answers": ["p", "q"], "answer": "q"},
    {"query": "documents", "truth": ["a"], "retrieved": ["a"]},
    {"query": "answers", "gold_answers": ["p"], "answer": "p"},
]

HOSTILE = "<b>&\x1b[31m[red]\x07\u202e\x9b2J</b>"


def drawn(explanation: Any, *, colour: bool = True) -> str:
    """What a terminal of some width is sent."""
    file = io.StringIO()
    Console(file=file, width=200, force_terminal=colour, color_system="truecolor" if colour else None).print(
        explanation
    )
    return file.getvalue()


def rows(explanation: Any) -> list[list[str]]:
    """The cells of the table of answers, in plain text."""
    return [[cell.text for cell in row] for row in explanation.tables()[-1].rows]


def test_each_gold_answer_has_a_row_with_what_each_measure_says_of_it_alone() -> None:
    explanation = evaluate_answers(TRUTH, SAID, MEASURES).explain("nine")
    assert explanation.answer is not None
    assert explanation.answer.predicted == "Nine."
    assert [(gold, list(scores.values())) for gold, scores in explanation.answer.golds] == [
        ("9", [0.0, 0.0, 0.0]), ("nine", [0.0, 1.0, 1.0]), ("the nine", [0.0, 1.0, 1.0]),
    ]  # fmt: skip
    assert {tuple(scores) for _, scores in explanation.answer.golds} == {tuple(MEASURES)}


def test_the_table_shows_the_predicted_answer_and_marks_the_best_of_the_gold_ones() -> None:
    lines = str(evaluate_answers(TRUTH, SAID, MEASURES).explain("nine")).splitlines()
    assert lines[0].split() == ["answer", *MEASURES]
    assert [line.split() for line in lines[2:6]] == [
        ["predicted", "Nine."],
        ["gold", "9", "0.0000", "0.0000", "0.0000"],
        ["gold", "nine", "0.0000", "1.0000*", "1.0000*"],
        ["gold", "the", "nine", "0.0000", "1.0000*", "1.0000*"],
    ]
    assert lines[6:] == ["* the best of its column", "query nine: EM 0.0000, EM(normalize=true) 1.0000, TokenF1 1.0000"]


def test_nothing_is_marked_where_all_gold_answers_are_as_near() -> None:
    scores = evaluate_answers({"q": ["a", "b"], "alone": "c"}, {"q": "x", "alone": "c"}, "EM")
    for query in ("q", "alone"):
        assert "*" not in str(scores.explain(query))


def test_no_predicted_answer_is_said_to_be_none_and_is_far_from_every_gold_one() -> None:
    explanation = evaluate_answers(TRUTH, SAID, "EM").explain("unsaid")
    assert rows(explanation) == [["predicted", "(none)", ""], ["gold", "x", "0.0000"], ["gold", "y", "0.0000"]]
    assert explanation.to_dict()["predicted"] is None
    assert explanation.answer is not None
    assert explanation.answer.predicted is None


def test_an_empty_predicted_answer_is_not_none() -> None:
    explanation = evaluate_answers({"q": ["", "x"]}, {"q": ""}, "EM").explain("q")
    assert explanation.to_dict()["predicted"] == ""
    assert rows(explanation) == [["predicted", "", ""], ["gold", "", "1.0000"], ["gold", "x", "0.0000"]]


def test_the_dictionary_holds_the_whole_texts_and_the_table_their_beginning() -> None:
    gold, said = "gold " * 100 + "end", "line one\nline  two " * 20
    explanation = evaluate_answers({"q": [gold, "x"]}, {"q": said}, "TokenF1").explain("q")
    whole = explanation.to_dict()
    assert json.loads(json.dumps(whole)) == whole
    assert whole == {
        "query": "q",
        "scores": {"TokenF1": 0.0},
        "predicted": said,
        "golds": [{"gold": gold, "scores": {"TokenF1": 0.0}}, {"gold": "x", "scores": {"TokenF1": 0.0}}],
    }
    predicted, first, _ = rows(explanation)
    assert predicted[1].startswith("line one line two line")
    for text in (predicted[1], first[1]):
        assert text.endswith("…")
        assert len(text) <= 50


def test_the_dictionary_is_the_callers_own() -> None:
    explanation = evaluate_answers(TRUTH, SAID, "EM").explain("nine")
    before = explanation.to_dict()
    changed = explanation.to_dict()
    changed["golds"].clear()
    changed["scores"].clear()
    assert explanation.to_dict() == before


def test_similarity_is_explained_by_the_same_model() -> None:
    scores = evaluate_answers({"q": ["a new automobile", "the moon"]}, {"q": "the car is new"}, "SAS(model=wordllama)")
    near, far = (each["scores"]["SAS(model=wordllama)"] for each in scores.explain("q").to_dict()["golds"])
    assert far < near == scores["SAS(model=wordllama)"]


@given(
    golds=st.lists(st.text("ab .", max_size=6), min_size=1, max_size=4),
    said=st.none() | st.text("ab .", max_size=6),
)
def test_the_best_of_the_gold_answers_is_the_score(golds: list[str], said: str | None) -> None:
    explanation = evaluate_answers({"q": golds}, {"q": said}).explain("q")
    assert explanation.answer is not None
    assert [gold for gold, _ in explanation.answer.golds] == list(dict.fromkeys(golds))
    for measure, value in explanation.scores.items():
        assert max(scores[measure] for _, scores in explanation.answer.golds) == value


def test_a_number_as_id_of_a_question_is_its_text() -> None:
    scores = evaluate_answers(["a", "b"], ["a", "x"], "EM")
    assert scores.explain("1").to_dict()["golds"] == [{"gold": "b", "scores": {"EM": 0.0}}]


def test_an_unknown_question_is_an_error_that_names_the_nearest() -> None:
    scores = evaluate_answers(TRUTH, SAID, "EM")
    with pytest.raises(KaratError, match=r"there is no query 'towr' in the truth\. Did you mean tower\?"):
        scores.explain("towr")
    with pytest.raises(KaratError, match=r"Did you mean answers\?"):
        evaluate_results(RESULTS, ["EM", "RR"]).explain("answer")


@pytest.mark.parametrize("how", ["each", "best"])
def test_where_less_is_better_the_lowest_of_the_gold_answers_counts_and_is_marked(how: str) -> None:
    def apart(gold: str, said: str) -> float:
        return abs(len(gold) - len(said))

    @register(takes="answers", higher_is_better=False)
    def Apart(answers: Answers) -> Floats:
        """How many characters one answer is longer than the other."""
        if how == "each":
            return answers.best_of(apart, lowest=True)
        return answers.best([apart(*pair) for pair in zip(*answers.pairs, strict=True)], lowest=True)

    truth: dict[str, Any] = {"q": ["abcd", "ab", "abcdefg"], "r": ["abc"], "unsaid": ["a", "b"]}
    scores = evaluate_answers(truth, {"q": "xyz!!", "r": "x", "unsaid": None}, ["Apart", "EM"])
    assert scores.per_query == {
        "q": {"Apart": 1.0, "EM": 0.0}, "r": {"Apart": 2.0, "EM": 0.0}, "unsaid": {"Apart": 0.0, "EM": 0.0},
    }  # fmt: skip
    explanation = scores.explain("q")
    assert explanation.answer is not None
    assert [values["Apart"] for _, values in explanation.answer.golds] == [1.0, 3.0, 2.0]
    assert [line.split() for line in str(explanation).splitlines()[3:6]] == [
        ["gold", "abcd", "1.0000*", "0.0000"],
        ["gold", "ab", "3.0000", "0.0000"],
        ["gold", "abcdefg", "2.0000", "0.0000"],
    ]
    assert "*" not in str(scores.explain("r"))


def test_a_question_that_was_left_out_is_said_to_be_left_out() -> None:
    scores = evaluate_answers(TRUTH, SAID, "EM", missing="skip")
    with pytest.raises(KaratError) as caught:
        scores.explain("unsaid")
    assert caught.value.what == ("query 'unsaid' was not evaluated: 1 question without an answer (left out): unsaid")


def test_a_question_that_nobody_knows_the_answer_of_is_said_to_be_ignored() -> None:
    scores = evaluate_answers({**TRUTH, "open": None}, SAID, "EM")
    with pytest.raises(KaratError) as caught:
        scores.explain("open")
    assert caught.value.what == "query 'open' was not evaluated: 1 question without a gold answer (ignored): open"


def test_a_query_with_nothing_else_is_said_to_be_ignored() -> None:
    scores = evaluate_results([*RESULTS, {"query": "nothing"}], ["EM", "RR"])
    with pytest.raises(KaratError) as caught:
        scores.explain("nothing")
    assert caught.value.what == (
        "query 'nothing' was not evaluated: 1 query with nothing to evaluate (ignored): nothing"
    )


def test_scores_alone_pickled_or_saved_are_numbers_without_answers(tmp_path: Path) -> None:
    scores = evaluate_answers(TRUTH, SAID, "EM")
    scores.to_json(tmp_path / "scores.json")
    for numbers in (
        scores.without_evidence(),
        pickle.loads(pickle.dumps(scores)),
        Scores.load(tmp_path / "scores.json"),
    ):
        assert numbers.means == scores.means
        with pytest.raises(KaratError, match="numbers alone"):
            numbers.explain("nine")
    assert scores.explain("nine").answer is not None


def test_answers_that_change_afterwards_do_not_change_what_is_explained() -> None:
    golds, said = {"q": ["a", "b"]}, {"q": "a"}
    scores = evaluate_answers(golds, said, "EM")
    before = scores.explain("q").to_dict()
    golds["q"][0], said["q"] = "z", "y"
    assert scores.explain("q").to_dict() == before


# Texts that want to be more than texts.


@pytest.fixture
def hostile() -> Any:
    return evaluate_answers({HOSTILE: [HOSTILE, "[bold]x[/bold]"]}, {HOSTILE: f"{HOSTILE}!"}, "EM").explain(HOSTILE)


def test_hostile_texts_are_shown_on_a_terminal_and_not_obeyed(hostile: Any) -> None:
    text = drawn(hostile, colour=False)
    assert text.replace("\n", "").isprintable()
    for shown in (r"\x1b[31m[red]\x07\u202e\x9b2J", "[bold]x[/bold]", "<b>&"):
        assert shown in text
        assert shown in str(hostile)
    assert str(hostile).replace("\n", "").isprintable()


def test_on_a_terminal_the_only_escapes_are_those_of_colour() -> None:
    explanation = evaluate_answers({"q": [f"{HOSTILE}", "y"]}, {"q": HOSTILE}, "EM").explain("q")
    text = drawn(explanation)
    assert "\x1b[1;32m1.0000\x1b[0m" in text
    for sent in ("\x1b[31m", "\x07", "\u202e", "\x9b"):
        assert sent not in text


@pytest.mark.parametrize("mark", ["\u200e", "\u200f", "\u061c"])
def test_marks_of_direction_are_shown_as_their_code_on_a_terminal_and_in_html(mark: str) -> None:
    explanation = evaluate_answers({f"{mark}q": [f"{mark}a", "y"]}, {f"{mark}q": f"a{mark}"}, "EM").explain(f"{mark}q")
    for text in (str(explanation), drawn(explanation), explanation._repr_html_()):
        assert mark not in text
        assert f"\\u{ord(mark):04x}a" in text
    assert explanation.to_dict()["predicted"] == f"a{mark}"


def test_hostile_texts_are_escaped_in_html(hostile: Any) -> None:
    page = hostile._repr_html_()
    assert page.count("<table>") == 1
    assert "&lt;b&gt;&amp;" in page
    for raw in ("<b>&", "</b>!", "\x1b", "\x07", "\u202e", "\x9b"):
        assert raw not in page


def test_the_dictionary_has_hostile_texts_as_they_are(hostile: Any) -> None:
    whole = hostile.to_dict()
    assert (whole["query"], whole["predicted"], whole["golds"][0]["gold"]) == (HOSTILE, f"{HOSTILE}!", HOSTILE)


# Answers beside documents.


def test_documents_and_answers_of_a_query_are_two_tables_under_one_line_of_scores() -> None:
    explanation = evaluate_results(RESULTS, ["RR", "EM"]).explain("both")
    of_documents, of_answers = explanation.tables()
    assert of_documents.header == ("rank", "retrieved", "gold", "grade", "how")
    assert of_answers.header == ("", "answer", "EM")
    assert str(explanation).count("query both: RR 0.5000, EM 1.0000") == 1
    assert of_answers.notes == ()
    assert explanation._repr_html_().count("<table>") == 2
    text = drawn(explanation, colour=False)
    assert text.index("retrieved") < text.index("query both: RR 0.5000, EM 1.0000") < text.index("predicted")


def test_the_dictionary_of_both_has_the_parts_of_both() -> None:
    whole = evaluate_results(RESULTS, ["RR", "EM"]).explain("both").to_dict()
    assert list(whole) == ["query", "scores", "match", "retrieved", "rows", "predicted", "golds"]
    assert whole["scores"] == {"RR": 0.5, "EM": 1.0}
    assert [row["rank"] for row in whole["rows"]] == [1, 2]
    assert whole["golds"] == [{"gold": "p", "scores": {"EM": 0.0}}, {"gold": "q", "scores": {"EM": 1.0}}]


def test_a_query_with_documents_alone_is_explained_without_answers() -> None:
    explanation = evaluate_results(RESULTS, ["RR", "EM"]).explain("documents")
    (table,) = explanation.tables()
    assert table.header[0] == "rank"
    assert table.notes[0] == "query documents: RR 1.0000, EM null"
    assert list(explanation.to_dict()) == ["query", "scores", "match", "retrieved", "rows"]
    assert explanation.answer is None


def test_a_query_with_answers_alone_is_explained_without_ranks() -> None:
    explanation = evaluate_results(RESULTS, ["RR", "EM"]).explain("answers")
    (table,) = explanation.tables()
    assert table.header == ("", "answer", "EM")
    assert table.notes == ("query answers: RR null, EM 1.0000",)
    assert explanation.to_dict() == {
        "query": "answers",
        "scores": {"RR": None, "EM": 1.0},
        "predicted": "p",
        "golds": [{"gold": "p", "scores": {"EM": 1.0}}],
    }


def test_only_what_was_measured_is_explained() -> None:
    assert evaluate_results(RESULTS, "RR").explain("both").answer is None
    assert evaluate_results(RESULTS, "EM").explain("both").rows == ()


def test_a_number_of_ranks_cuts_documents_and_not_answers() -> None:
    explanation = evaluate_results(RESULTS, ["RR", "EM"]).explain("both", 0)
    assert [row.rank for row in explanation.rows] == [2]
    assert len(rows(explanation)) == 3
