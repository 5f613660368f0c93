"""Explaining the score of an answer: the score of each measure for each gold answer."""

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
from karat.data.answers import Answers
from karat.data.judged import Floats

TRUTH: dict[str, Any] = {"nine": ["9", "nine", "the nine"], "tower": "the Eiffel Tower", "missing": ["x", "y"]}
PREDICTED = {"nine": "Nine.", "tower": "Eiffel Tower in Paris", "missing": None}
MEASURES = ["EM", "EM(normalize=true)", "TokenF1"]

RESULTS: list[dict[str, Any]] = [
    {"query": "both", "truth": ["a"], "retrieved": ["x", "a"], "gold_answers": ["p", "q"], "answer": "q"},
    {"query": "documents", "truth": ["a"], "retrieved": ["a"]},
    {"query": "answers", "gold_answers": ["p"], "answer": "p"},
]

HOSTILE = "<b>&\x1b[31m[red]\x07\u202e\x9b2J</b>"


def terminal_output(explanation: Any, *, colour: bool = True) -> str:
    """The output for a terminal."""
    file = io.StringIO()
    Console(file=file, width=200, force_terminal=colour, color_system="truecolor" if colour else None).print(
        explanation
    )
    return file.getvalue()


def rows(explanation: Any) -> list[list[str]]:
    """The texts of the cells of the table of answers."""
    return [[cell.text for cell in row] for row in explanation.tables()[-1].rows]


def test_each_gold_answer_has_its_own_scores() -> None:
    explanation = evaluate_answers(TRUTH, PREDICTED, MEASURES).explain("nine")
    assert explanation.answer is not None
    assert explanation.answer.predicted == "Nine."
    assert [(gold, list(scores.values())) for gold, scores in explanation.answer.golds] == [
        ("9", [0.0, 0.0, 0.0]), ("nine", [0.0, 1.0, 1.0]), ("the nine", [0.0, 1.0, 1.0]),
    ]  # fmt: skip
    assert {tuple(scores) for _, scores in explanation.answer.golds} == {tuple(MEASURES)}


def test_the_table_shows_the_predicted_answer_and_marks_the_best_scores() -> None:
    lines = str(evaluate_answers(TRUTH, PREDICTED, MEASURES).explain("nine")).splitlines()
    assert lines[0].split() == ["answer", *MEASURES]
    assert [line.split() for line in lines[2:6]] == [
        ["predicted", "Nine."],
        ["gold", "9", "0.0000", "0.0000", "0.0000"],
        ["gold", "nine", "0.0000", "1.0000*", "1.0000*"],
        ["gold", "the", "nine", "0.0000", "1.0000*", "1.0000*"],
    ]
    assert lines[6:] == ["* best in its column", "query nine: EM 0.0000, EM(normalize=true) 1.0000, TokenF1 1.0000"]


def test_nothing_is_marked_if_all_gold_answers_have_the_same_score() -> None:
    scores = evaluate_answers({"q": ["a", "b"], "alone": "c"}, {"q": "x", "alone": "c"}, "EM")
    for query in ("q", "alone"):
        assert "*" not in str(scores.explain(query))


def test_a_missing_predicted_answer_is_shown_as_none_and_scores_0_for_every_gold_answer() -> None:
    explanation = evaluate_answers(TRUTH, PREDICTED, "EM").explain("missing")
    assert rows(explanation) == [["predicted", "(none)", ""], ["gold", "x", "0.0000"], ["gold", "y", "0.0000"]]
    assert explanation.to_dict()["predicted"] is None
    assert explanation.answer is not None
    assert explanation.answer.predicted is None


def test_an_empty_predicted_answer_is_not_none() -> None:
    explanation = evaluate_answers({"q": ["", "x"]}, {"q": ""}, "EM").explain("q")
    assert explanation.to_dict()["predicted"] == ""
    assert rows(explanation) == [["predicted", "", ""], ["gold", "", "1.0000"], ["gold", "x", "0.0000"]]


def test_the_dictionary_has_the_full_texts_and_the_table_their_beginning() -> None:
    gold, predicted = "gold " * 100 + "end", "line one\nline  two " * 20
    explanation = evaluate_answers({"q": [gold, "x"]}, {"q": predicted}, "TokenF1").explain("q")
    whole = explanation.to_dict()
    assert json.loads(json.dumps(whole)) == whole
    assert whole == {
        "query": "q",
        "scores": {"TokenF1": 0.0},
        "predicted": predicted,
        "golds": [{"gold": gold, "scores": {"TokenF1": 0.0}}, {"gold": "x", "scores": {"TokenF1": 0.0}}],
    }
    (_, shown, _), (_, shown_gold, _), _ = rows(explanation)
    assert shown.startswith("line one line two line")
    for text in (shown, shown_gold):
        assert text.endswith("…")
        assert len(text) <= 50


def test_changing_the_dictionary_does_not_change_the_explanation() -> None:
    explanation = evaluate_answers(TRUTH, PREDICTED, "EM").explain("nine")
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
    predicted=st.none() | st.text("ab .", max_size=6),
)
def test_the_best_score_over_the_gold_answers_counts(golds: list[str], predicted: str | None) -> None:
    explanation = evaluate_answers({"q": golds}, {"q": predicted}).explain("q")
    assert explanation.answer is not None
    assert [gold for gold, _ in explanation.answer.golds] == list(dict.fromkeys(golds))
    for measure, value in explanation.scores.items():
        assert max(scores[measure] for _, scores in explanation.answer.golds) == value


def test_the_id_of_a_question_in_a_list_is_its_position_as_text() -> None:
    scores = evaluate_answers(["a", "b"], ["a", "x"], "EM")
    assert scores.explain("1").to_dict()["golds"] == [{"gold": "b", "scores": {"EM": 0.0}}]


def test_an_unknown_question_is_an_error_that_names_the_nearest() -> None:
    scores = evaluate_answers(TRUTH, PREDICTED, "EM")
    with pytest.raises(KaratError, match=r"query 'towr' is not in the ground truth\. Did you mean tower\?"):
        scores.explain("towr")
    with pytest.raises(KaratError, match=r"Did you mean answers\?"):
        evaluate_results(RESULTS, ["EM", "RR"]).explain("answer")


@pytest.mark.parametrize("method", ["best_of", "best"])
def test_the_lowest_score_counts_and_is_marked_if_lower_is_better(method: str) -> None:
    def longer(gold: str, predicted: str) -> float:
        return abs(len(gold) - len(predicted))

    @register(takes="answers", higher_is_better=False)
    def Longer(answers: Answers) -> Floats:
        """How many characters one answer is longer than the other."""
        if method == "best_of":
            return answers.best_of(longer, lowest=True)
        return answers.best([longer(*pair) for pair in zip(*answers.pairs, strict=True)], lowest=True)

    truth: dict[str, Any] = {"q": ["abcd", "ab", "abcdefg"], "r": ["abc"], "missing": ["a", "b"]}
    scores = evaluate_answers(truth, {"q": "xyz!!", "r": "x", "missing": None}, ["Longer", "EM"])
    assert scores.per_query == {
        "q": {"Longer": 1.0, "EM": 0.0}, "r": {"Longer": 2.0, "EM": 0.0}, "missing": {"Longer": 0.0, "EM": 0.0},
    }  # fmt: skip
    explanation = scores.explain("q")
    assert explanation.answer is not None
    assert [values["Longer"] for _, values in explanation.answer.golds] == [1.0, 3.0, 2.0]
    assert [line.split() for line in str(explanation).splitlines()[3:6]] == [
        ["gold", "abcd", "1.0000*", "0.0000"],
        ["gold", "ab", "3.0000", "0.0000"],
        ["gold", "abcdefg", "2.0000", "0.0000"],
    ]
    assert "*" not in str(scores.explain("r"))


def test_explaining_a_question_that_was_left_out_is_an_error_with_the_reason() -> None:
    scores = evaluate_answers(TRUTH, PREDICTED, "EM", missing="skip")
    with pytest.raises(KaratError) as caught:
        scores.explain("missing")
    assert caught.value.what == ("query 'missing' was not evaluated: 1 question without an answer (left out): missing")


def test_explaining_a_question_without_a_gold_answer_is_an_error_with_the_reason() -> None:
    scores = evaluate_answers({**TRUTH, "open": None}, PREDICTED, "EM")
    with pytest.raises(KaratError) as caught:
        scores.explain("open")
    assert caught.value.what == "query 'open' was not evaluated: 1 question without a gold answer (ignored): open"


def test_explaining_a_query_with_nothing_to_evaluate_is_an_error_with_the_reason() -> None:
    scores = evaluate_results([*RESULTS, {"query": "nothing"}], ["EM", "RR"])
    with pytest.raises(KaratError) as caught:
        scores.explain("nothing")
    assert caught.value.what == (
        "query 'nothing' was not evaluated: 1 query with nothing to evaluate (ignored): nothing"
    )


def test_scores_without_evidence_pickled_or_saved_cannot_be_explained(tmp_path: Path) -> None:
    scores = evaluate_answers(TRUTH, PREDICTED, "EM")
    scores.to_json(tmp_path / "scores.json")
    for restored in (
        scores.without_evidence(),
        pickle.loads(pickle.dumps(scores)),
        Scores.load(tmp_path / "scores.json"),
    ):
        assert restored.means == scores.means
        with pytest.raises(KaratError, match="no run data"):
            restored.explain("nine")
    assert scores.explain("nine").answer is not None


def test_changing_the_answers_after_the_evaluation_does_not_change_the_explanation() -> None:
    golds, predicted = {"q": ["a", "b"]}, {"q": "a"}
    scores = evaluate_answers(golds, predicted, "EM")
    before = scores.explain("q").to_dict()
    golds["q"][0], predicted["q"] = "z", "y"
    assert scores.explain("q").to_dict() == before


# Texts with markup and control characters


@pytest.fixture
def hostile() -> Any:
    return evaluate_answers({HOSTILE: [HOSTILE, "[bold]x[/bold]"]}, {HOSTILE: f"{HOSTILE}!"}, "EM").explain(HOSTILE)


def test_control_characters_and_markup_are_shown_on_a_terminal_as_text(hostile: Any) -> None:
    text = terminal_output(hostile, colour=False)
    assert text.replace("\n", "").isprintable()
    for shown in (r"\x1b[31m[red]\x07\u202e\x9b2J", "[bold]x[/bold]", "<b>&"):
        assert shown in text
        assert shown in str(hostile)
    assert str(hostile).replace("\n", "").isprintable()


def test_the_only_escape_sequences_on_a_terminal_are_those_for_colour() -> None:
    explanation = evaluate_answers({"q": [f"{HOSTILE}", "y"]}, {"q": HOSTILE}, "EM").explain("q")
    text = terminal_output(explanation)
    assert "\x1b[1;32m1.0000*\x1b[0m" in text
    for sent in ("\x1b[31m", "\x07", "\u202e", "\x9b"):
        assert sent not in text


@pytest.mark.parametrize("mark", ["\u200e", "\u200f", "\u061c"])
def test_directional_marks_are_shown_as_escapes_on_a_terminal_and_in_html(mark: str) -> None:
    explanation = evaluate_answers({f"{mark}q": [f"{mark}a", "y"]}, {f"{mark}q": f"a{mark}"}, "EM").explain(f"{mark}q")
    for text in (str(explanation), terminal_output(explanation), explanation._repr_html_()):
        assert mark not in text
        assert f"\\u{ord(mark):04x}a" in text
    assert explanation.to_dict()["predicted"] == f"a{mark}"


def test_hostile_texts_are_escaped_in_html(hostile: Any) -> None:
    page = hostile._repr_html_()
    assert page.count("<table>") == 1
    assert "&lt;b&gt;&amp;" in page
    for raw in ("<b>&", "</b>!", "\x1b", "\x07", "\u202e", "\x9b"):
        assert raw not in page


def test_the_dictionary_has_hostile_texts_unchanged(hostile: Any) -> None:
    whole = hostile.to_dict()
    assert (whole["query"], whole["predicted"], whole["golds"][0]["gold"]) == (HOSTILE, f"{HOSTILE}!", HOSTILE)


# Answers and documents


def test_documents_and_answers_of_a_query_are_two_tables_with_one_line_of_scores() -> None:
    explanation = evaluate_results(RESULTS, ["RR", "EM"]).explain("both")
    documents, answers = explanation.tables()
    assert documents.header == ("rank", "retrieved", "gold", "grade", "reason")
    assert answers.header == ("", "answer", "EM")
    assert str(explanation).count("query both: RR 0.5000, EM 1.0000") == 1
    assert answers.notes == ()
    assert explanation._repr_html_().count("<table>") == 2
    text = terminal_output(explanation, colour=False)
    assert text.index("retrieved") < text.index("query both: RR 0.5000, EM 1.0000") < text.index("predicted")


def test_the_dictionary_has_the_documents_and_the_answers_of_a_query() -> None:
    whole = evaluate_results(RESULTS, ["RR", "EM"]).explain("both").to_dict()
    assert list(whole) == ["query", "scores", "match", "retrieved", "rows", "predicted", "golds"]
    assert whole["scores"] == {"RR": 0.5, "EM": 1.0}
    assert [row["rank"] for row in whole["rows"]] == [1, 2]
    assert whole["golds"] == [{"gold": "p", "scores": {"EM": 0.0}}, {"gold": "q", "scores": {"EM": 1.0}}]


def test_a_query_with_documents_only_is_explained_without_answers() -> None:
    explanation = evaluate_results(RESULTS, ["RR", "EM"]).explain("documents")
    (table,) = explanation.tables()
    assert table.header[0] == "rank"
    assert table.notes[0] == "query documents: RR 1.0000, EM null"
    assert list(explanation.to_dict()) == ["query", "scores", "match", "retrieved", "rows"]
    assert explanation.answer is None


def test_a_query_with_answers_only_is_explained_without_ranks() -> None:
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


def test_documents_and_answers_that_were_not_measured_are_not_explained() -> None:
    assert evaluate_results(RESULTS, "RR").explain("both").answer is None
    assert evaluate_results(RESULTS, "EM").explain("both").rows == ()


def test_k_limits_the_documents_and_not_the_answers() -> None:
    explanation = evaluate_results(RESULTS, ["RR", "EM"]).explain("both", 0)
    assert [row.rank for row in explanation.rows] == [2]
    assert len(rows(explanation)) == 3
