"""RougeL equals the rouge-score package of Google Research on ASCII text."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from karat import evaluate_answers
from karat.measures.answers import rouge_l

with warnings.catch_warnings():
    # absl and nltk may use deprecated features of Python.
    warnings.simplefilter("ignore")
    rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer")

SCORER = rouge_scorer.RougeScorer(["rougeL"])
# Few different words, so that many are shared, with all ASCII punctuation and control characters around them.
WORDS = st.sampled_from(["the", "The", "cat", "CAT", "cat's", "a", "1", "1.5", "a_b", "e-mail", "running", "runs"])
MARKS = st.characters(max_codepoint=127)
PIECES = WORDS | MARKS | st.sampled_from([" ", "\n", ", "])
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.lists(WORDS, max_size=90).map(" ".join)
# A text without letters or digits is one word in karat, and has no words in rouge-score.
WORDED = TEXTS.filter(lambda text: any(letter.isalnum() for letter in text))


def theirs(gold: str, predicted: str) -> float:
    return float(SCORER.score(gold, predicted)["rougeL"].fmeasure)


@given(gold=WORDED, predicted=WORDED)
@example(gold="the cat sat", predicted="The-cat_sat!")
@example(gold="running", predicted="runs")
@example(gold="a\0b\x1cc\nd", predicted="a b c d")
def test_rouge_l_equals_rouge_score(gold: str, predicted: str) -> None:
    assert rouge_l(gold, predicted) == pytest.approx(theirs(gold, predicted), abs=1e-12)


@given(pairs=st.lists(st.tuples(WORDED, WORDED), min_size=1, max_size=6))
def test_many_questions_at_once_have_the_scores_of_rouge_score(pairs: list[tuple[str, str]]) -> None:
    truth = {str(at): gold for at, (gold, _) in enumerate(pairs)}
    predictions = {str(at): predicted for at, (_, predicted) in enumerate(pairs)}
    scores = evaluate_answers(truth, predictions, "RougeL").per_query
    for at, (gold, predicted) in enumerate(pairs):
        assert scores[str(at)]["RougeL"] == pytest.approx(theirs(gold, predicted), abs=1e-12)


@given(golds=st.lists(WORDED, min_size=1, max_size=5), predicted=WORDED)
def test_the_best_of_several_gold_answers_counts_as_in_score_multi(golds: list[str], predicted: str) -> None:
    multi = SCORER.score_multi(golds, predicted)["rougeL"].fmeasure
    assert rouge_l(golds, predicted) == pytest.approx(multi, abs=1e-12)


@pytest.mark.parametrize("size", [10, 63, 64, 200, 256, 257, 600])
def test_long_texts_have_the_scores_of_rouge_score(size: int) -> None:
    gold = " ".join(f"w{at * at % 37}" for at in range(size))
    for predicted in (
        " ".join(f"w{at * 7 % 41}" for at in range(size)),
        " ".join(f"w{at % 5}" for at in range(size // 2)),
    ):
        assert 0 < theirs(gold, predicted) < 1
        assert rouge_l(gold, predicted) == pytest.approx(theirs(gold, predicted), abs=1e-12)
        assert rouge_l(predicted, gold) == pytest.approx(theirs(predicted, gold), abs=1e-12)


@given(worded=WORDED, marks=st.text("?!._- \n\0", min_size=1).filter(str.strip))
def test_a_text_of_punctuation_only_scores_0_against_words(worded: str, marks: str) -> None:
    assert rouge_l(worded, marks) == theirs(worded, marks) == 0
    assert rouge_l(marks, worded) == theirs(marks, worded) == 0


def test_two_equal_texts_without_words_score_1_in_karat() -> None:
    for gold, predicted, expected in (("", "", 1), (" ", "\n", 1), ("?!", "?!", 1), ("?!", "...", 0)):
        assert rouge_l(gold, predicted) == expected
        assert theirs(gold, predicted) == 0


def test_letters_beyond_ascii_are_words_in_karat_but_ignored_in_rouge_score() -> None:
    assert rouge_l("Überall", "überall") == 1
    # In rouge-score, the first two are berall, and Москва has no words.
    assert theirs("Überall", "Überall") == 1
    assert theirs("Überall", "äberall") == 1
    assert rouge_l("Überall", "äberall") == 0
    assert (rouge_l("Москва", "москва"), theirs("Москва", "москва")) == (1, 0)
