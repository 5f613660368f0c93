"""Answer measures: cases worked by hand, SQuAD's own definitions, and words in many languages."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from karat import KaratError, evaluate_answers
from karat.data.answers import Answers
from karat.measures import Measure, parse
from karat.measures.answers import contains, exact_match, f1, precision, recall, rouge_l

Gold = str | list[str] | None

# All but RougeL take `normalize`.
NORMALIZING: dict[str, Callable[..., float]] = {
    "EM": exact_match,
    "TokenF1": f1,
    "TokenPrecision": precision,
    "TokenRecall": recall,
    "Contains": contains,
}
FUNCTIONS: dict[str, Callable[..., float]] = {**NORMALIZING, "RougeL": rouge_l}
with_each_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


def answers_of(questions: Sequence[tuple[Sequence[str], str | None]]) -> Answers:
    """Answers from the gold answers and the predicted answer of each question."""
    return Answers(
        tuple(map(str, range(len(questions)))),
        [golds for golds, _ in questions],
        [predicted for _, predicted in questions],
    )


def values_of(name: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """The values of many pairs, computed at once."""
    values: list[float] = (
        parse(name, "answers").compute(answers_of([((gold,), predicted) for gold, predicted in pairs])).tolist()
    )
    return values


# SQuAD's definitions, worked by hand. Case, ASCII punctuation, a/an/the and white space are ignored. That leaves
# g words in the gold answer, p in the predicted one, c in both.
# gold, predicted, EM(normalize=true), precision c/p, recall c/g, F1 2c/(g+p)
SQUAD_CASES: list[tuple[Gold, str, int, float, float, float]] = [
    # paris | paris: c=1 p=1 g=1
    ("Paris", "Paris", 1, 1, 1, 1),
    # paris | london: c=0 p=1 g=1
    ("Paris", "London", 0, 0, 0, 0),
    # eiffel tower | eiffel tower in paris: c=2 p=4 g=2; F1 = 4/6
    ("the Eiffel Tower", "Eiffel Tower in Paris", 0, 2 / 4, 1, 4 / 6),
    # eiffel tower in paris | eiffel tower: c=2 p=2 g=4; F1 = 4/6
    ("Eiffel Tower in Paris", "the Eiffel Tower", 0, 1, 2 / 4, 4 / 6),
    # Articles are ignored wherever and however often they appear: cat | cat
    ("The cat", "a cat", 1, 1, 1, 1),
    ("an apple a day", "The apple day the", 1, 1, 1, 1),
    # ... but theatre and another are not articles: theatre | atre
    ("theatre", "atre", 0, 0, 0, 0),
    ("another", "other", 0, 0, 0, 0),
    # Punctuation is deleted without leaving a space: eiffeltower | eiffel tower
    ("Eiffel-Tower", "Eiffel Tower", 0, 0, 0, 0),
    ("U.S.A.", "usa", 1, 1, 1, 1),
    ("don't", "dont", 1, 1, 1, 1),
    # a_b becomes ab, so a is not an article in it: ab | ab
    ("a_b", "ab", 1, 1, 1, 1),
    # Punctuation is deleted before articles, so t.h.e becomes an article: cat | cat
    ("t.h.e cat", "cat", 1, 1, 1, 1),
    # Case: new york | new york
    ("NEW york", "new YORK", 1, 1, 1, 1),
    # White space of any kind, at the ends too: new york | new york
    ("  new\tyork\n", "new \u00a0 york", 1, 1, 1, 1),
    ("new\x1cyork", "new\u2028york", 1, 1, 1, 1),
    # Order does not count in F1: york new | new york, c=2 p=2 g=2
    ("New York", "York New", 0, 1, 1, 1),
    # Repeated words: to be or not to be (g=6) | to be to to (p=4): to twice, be once, c=3; F1 = 6/10
    ("to be or not to be", "to be to to", 0, 3 / 4, 3 / 6, 6 / 10),
    # no no no (p=3) | no (g=1): c=1; F1 = 2/4
    ("no", "no, no, no", 0, 1 / 3, 1, 2 / 4),
    # Numbers: 1889 | 1889; 35 | 3 5; 1000 | 1000; 5 | 15; -5 is 5
    ("1889", "1889.", 1, 1, 1, 1),
    ("3.5", "3 5", 0, 0, 0, 0),
    ("1,000", "1000", 1, 1, 1, 1),
    ("5", "15", 0, 0, 0, 0),
    ("-5", "5", 1, 1, 1, 1),
    # march 1889 | it was finished in march 1889: c=2 p=6 g=2; F1 = 4/8
    ("March 1889", "It was finished in March 1889.", 0, 2 / 6, 1, 4 / 8),
    # Accents count, and so do marks beyond ASCII: café | cafe; – is a word; ’ stays in it
    ("café", "cafe", 0, 0, 0, 0),
    ("CAFÉ", "café", 1, 1, 1, 1),
    # 1914 – 1918 (g=3) | 1914 - 1918 (p=2): c=2; F1 = 4/5
    ("1914 – 1918", "1914 - 1918", 0, 1, 2 / 3, 4 / 5),
    # it’s | its
    ("it’s", "it's", 0, 0, 0, 0),
    # An article that touches a mark beyond ASCII is one: “ cat” | “cat” have the words “, cat” and “cat”
    ("“the cat”", "“cat”", 0, 0, 0, 0),
    # ... and so “ cat” | “ cat” are the same
    ("“the cat”", "“a cat”", 1, 1, 1, 1),
    # Lower case is not case folding: straße | strasse
    ("Straße", "STRASSE", 0, 0, 0, 0),
    # Chinese has no spaces: each of the two texts is one word
    ("东京", "东京都", 0, 0, 0, 0),
    # No words are left in either text: they match, as in SQuAD 2
    ("", "", 1, 1, 1, 1),
    ("the", "a!", 1, 1, 1, 1),
    ("", " ?! an\n", 1, 1, 1, 1),
    # No words are left in one of them
    ("the", "cat", 0, 0, 0, 0),
    ("cat", "the", 0, 0, 0, 0),
    ("", "cat", 0, 0, 0, 0),
    ("cat", "", 0, 0, 0, 0),
    # Several gold answers: each measure takes its best. new york city | new york: c=2 p=3 g=2, 2/3, 1, 4/5;
    # new york city | city of new york state: c=3 p=3 g=5, 1, 3/5, 6/8. Best: 1, 1, 4/5
    (["New York", "City of New York State"], "New York City", 0, 1, 1, 4 / 5),
    (["nine", "9"], "9.", 1, 1, 1, 1),
    (["9", "nine"], "9.", 1, 1, 1, 1),
    # in 1889 | c=2 p=6 g=2; finished 1889 in may | finished in 1889, c=3 p=6 g=4: F1 4/8 and 6/10, recall 1 and 3/4
    (["in 1889", "finished 1889 in May"], "It was finished in March 1889", 0, 3 / 6, 1, 6 / 10),
    (["", "cat"], "cat", 1, 1, 1, 1),
    (["cat", ""], "the", 1, 1, 1, 1),
    (["cat", "dog"], "", 0, 0, 0, 0),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "predicted", "em", "p", "r", "f"), SQUAD_CASES)
def test_exact_match_and_f1_equal_values_worked_by_hand_from_squads_definitions(
    gold: Gold, predicted: str, em: int, p: float, r: float, f: float
) -> None:
    assert exact_match(gold, predicted, normalize=True) == em
    assert precision(gold, predicted) == pytest.approx(p, abs=1e-15)
    assert recall(gold, predicted) == pytest.approx(r, abs=1e-15)
    assert f1(gold, predicted) == pytest.approx(f, abs=1e-15)


def test_the_cases_worked_by_hand_have_the_same_values_when_evaluated_together() -> None:
    truth = {str(at): gold for at, (gold, *_) in enumerate(SQUAD_CASES)}
    predicted = {str(at): case[1] for at, case in enumerate(SQUAD_CASES)}
    scores = evaluate_answers(truth, predicted, "EM(normalize=true) precision recall F1")
    for at, (_, _, *expected) in enumerate(SQUAD_CASES):
        found = list(scores.per_query[str(at)].values())
        assert found == pytest.approx(expected, abs=1e-15), SQUAD_CASES[at]


# gold, predicted, and whether they match exactly, with SQuAD's normalization, and with the neutral one
EXACT_CASES: list[tuple[str, str, int, int, int]] = [
    ("Paris", "Paris", 1, 1, 1),
    ("Paris", "paris", 0, 1, 1),
    ("Paris", "Paris.", 0, 1, 1),
    ("Paris", " Paris", 0, 1, 1),
    # Articles of one language are words in another, so the neutral normalization keeps them
    ("the cat", "cat", 0, 1, 0),
    ("la torre", "torre", 0, 0, 0),
    # Only the neutral normalization handles punctuation, Unicode forms and case beyond ASCII
    ("¿La Torre?", "la torre", 0, 0, 1),
    ("it’s", "it's", 0, 0, 1),
    ("Straße", "STRASSE", 0, 0, 1),
    ("ﬁne", "fine", 0, 0, 1),
    ("cafe\u0301", "caf\u00e9", 0, 0, 1),
    ("３", "3", 0, 0, 1),
    ("「東京」", "東京", 0, 0, 1),
    ("東京", "東 京", 0, 0, 1),
    ("东京。", "东京", 0, 0, 1),
    # Different things stay different
    ("東京", "京東", 0, 0, 0),
    ("yes 👍", "yes 👎", 0, 0, 0),
    ("yes 👍", "yes", 0, 0, 0),
    ("5 €", "5 £", 0, 0, 0),
    ("schon", "schön", 0, 0, 0),
    # Vowel signs are part of a word: book, books; he wrote, it was written
    ("किताब", "किताबें", 0, 0, 0),
    ("كَتَبَ", "كُتِبَ", 0, 0, 0),
    ("किताब!", "किताब", 0, 1, 1),
    ("كتاب؟", "كتاب", 0, 0, 1),
    ("", "", 1, 1, 1),
    ("", " ", 0, 1, 1),
    ("", "。", 0, 0, 1),
    ("\n", " ", 0, 1, 1),
]


@pytest.mark.parametrize(("gold", "predicted", "plain", "squad", "neutral"), EXACT_CASES)
def test_exact_match_ignores_exactly_the_differences_that_normalize_names(
    gold: str, predicted: str, plain: int, squad: int, neutral: int
) -> None:
    assert exact_match(gold, predicted) == exact_match(gold, predicted, normalize=False) == plain
    assert exact_match(gold, predicted, normalize=True) == squad
    assert exact_match(gold, predicted, normalize="neutral") == neutral
    names = ("EM", "EM(normalize=true)", "EM(normalize=neutral)")
    assert [values_of(name, [(gold, predicted)])[0] for name in names] == [plain, squad, neutral]


# gold, predicted, precision, recall, F1, worked by hand: c words in both, p in the predicted one, g in the gold one
NEUTRAL_CASES: list[tuple[str, str, float, float, float]] = [
    # Each character of Chinese is a word: 首 都 是 东 京 (p=5) | 东 京 (g=2), c=2; F1 = 4/7
    ("东京", "首都是东京", 2 / 5, 1, 4 / 7),
    # ... and of Japanese: 東 京 都 (g=3) | 京 都 (p=2), c=2; F1 = 4/5
    ("東京都", "京都", 1, 2 / 3, 4 / 5),
    # 重 さ は 3kg (g=4) | 3kg (p=1), c=1; F1 = 2/5
    ("重さは3kg", "3kg", 1, 1 / 4, 2 / 5),
    # die strasse (g=2) | strasse (p=1), c=1: articles are words here; F1 = 2/3
    ("die Straße", "STRASSE", 1, 1 / 2, 2 / 3),
    ("the cat", "cat", 1, 1 / 2, 2 / 3),
    # New book | book: كتاب جديد (g=2) | كتاب (p=1), c=1; F1 = 2/3
    ("كتاب جديد", "كتاب", 1, 1 / 2, 2 / 3),
    # The vowel signs of Hindi do not split a word: नई दिल्ली (g=2) | दिल्ली (p=1), c=1; F1 = 2/3
    ("नई दिल्ली", "दिल्ली।", 1, 1 / 2, 2 / 3),
    # ... and a word without them is another word
    ("दिल्ली", "दल", 0, 0, 0),
    # yes 👍 | yes 👎: g=2 p=2 c=1; F1 = 2/4
    ("yes 👍", "yes 👎", 1 / 2, 1 / 2, 2 / 4),
    # 👍 👍 👍 (p=3) | 👍 (g=1): c=1; F1 = 2/4
    ("👍", "👍👍👍", 1 / 3, 1, 2 / 4),
    # Punctuation of any script is ignored
    ("…", "", 1, 1, 1),
    ("—", "cat", 0, 0, 0),
]


@pytest.mark.parametrize(("gold", "predicted", "p", "r", "f"), NEUTRAL_CASES)
def test_neutral_counts_the_words_of_any_language(gold: str, predicted: str, p: float, r: float, f: float) -> None:
    assert precision(gold, predicted, normalize="neutral") == pytest.approx(p, abs=1e-15)
    assert recall(gold, predicted, normalize="neutral") == pytest.approx(r, abs=1e-15)
    assert f1(gold, predicted, normalize="neutral") == pytest.approx(f, abs=1e-15)


def test_without_normalization_words_are_separated_by_white_space() -> None:
    # The cat. (g=2) | the cat. the (p=3): cat. is in both, c=1; F1 = 2/5
    assert precision("The cat.", "the  cat.\nthe", normalize=False) == pytest.approx(1 / 3)
    assert recall("The cat.", "the  cat.\nthe", normalize=False) == pytest.approx(1 / 2)
    assert f1("The cat.", "the  cat.\nthe", normalize=False) == pytest.approx(2 / 5)
    assert f1("the", "a", normalize=False) == 0
    assert f1(" \n", "", normalize=False) == 1


# gold, predicted, and whether it is found with SQuAD's normalization, with the neutral one, and without any
CONTAINS_CASES: list[tuple[Gold, str, int, int, int]] = [
    ("1889", "It was finished in 1889.", 1, 1, 1),
    ("March 1889", "It was finished in march, 1889.", 1, 1, 0),
    # Only whole words match, except without normalization
    ("5", "15", 0, 0, 1),
    ("5", "50", 0, 0, 1),
    ("5", "It is 5.", 1, 1, 1),
    ("cat", "concatenate", 0, 0, 1),
    ("York New", "New York New", 1, 1, 1),
    # The words must be consecutive and in this order
    ("New York", "York New", 0, 0, 0),
    ("New York", "New old York", 0, 0, 0),
    # Articles between them are ignored only by SQuAD's normalization
    ("on mat", "it sat on the mat", 1, 0, 0),
    ("the mat", "it sat on a mat", 1, 0, 0),
    # Chinese and Japanese, in a sentence without spaces, and not the other way round
    ("东京", "日本的首都是东京。", 1, 1, 1),
    ("東京", "首都は「東京」です", 1, 1, 1),
    ("東京都", "首都は東京です", 0, 0, 0),
    ("3kg", "重さは3kgです", 1, 1, 1),
    ("3", "重さは13です", 0, 0, 1),
    ("दिल्ली", "वह नई दिल्ली में है", 1, 1, 1),
    # book is in my book, but not in a longer word
    ("كتاب", "كتابي هنا", 0, 0, 1),
    ("👍", "yes 👍!", 1, 1, 1),
    ("👍", "yes 👎!", 0, 0, 0),
    # Only an empty answer contains an empty gold answer
    ("", "", 1, 1, 1),
    ("", "cat", 0, 0, 0),
    ("cat", "", 0, 0, 0),
    ("", " ?!", 1, 1, 0),
    ("the", "a!", 1, 0, 0),
    ("the", "cat", 0, 0, 0),
    # Any of several gold answers
    (["9", "nine"], "It has nine lives.", 1, 1, 1),
    (["8", "eight"], "It has nine lives.", 0, 0, 0),
    (["", "nine"], "It has nine lives.", 1, 1, 1),
]


@pytest.mark.parametrize(("gold", "predicted", "squad", "neutral", "plain"), CONTAINS_CASES)
def test_contains_finds_whole_words_or_without_normalization_any_substring(
    gold: Gold, predicted: str, squad: int, neutral: int, plain: int
) -> None:
    assert contains(gold, predicted) == contains(gold, predicted, normalize=True) == squad
    assert contains(gold, predicted, normalize="neutral") == neutral
    assert contains(gold, predicted, normalize=False) == plain


# gold, predicted, RougeL = 2·LCS / (g + p), worked by hand
ROUGE_CASES: list[Any] = [
    # police killed the gunman | police kill the gunman: LCS police the gunman = 3; 6/8 (Lin 2004)
    ("police killed the gunman", "police kill the gunman", 6 / 8),
    # the gunman kill police: LCS the gunman = 2; 4/8 (Lin 2004)
    ("police killed the gunman", "the gunman kill police", 4 / 8),
    # the cat sat on the mat (6) | the cat lay on a mat (6): the cat on mat = 4; 8/12
    ("the cat sat on the mat", "the cat lay on a mat", 8 / 12),
    # a b c d (4) | d c b a (4): any one letter = 1; 2/8
    ("a b c d", "d c b a", 2 / 8),
    # a a a (3) | a a (2): 2; 4/5
    ("a a a", "a a", 4 / 5),
    # Articles count: the cat (2) | cat (1): 1; 2/3
    ("the cat", "cat", 2 / 3),
    # Case and punctuation do not count, and punctuation separates words: it s 5 kg (4) | its 5kg (2): 0
    ("It's 5_KG.", "it s 5 kg", 1),
    ("It's 5_kg", "its 5kg", 0),
    # eiffel tower (2) | eiffel tower in paris (4): 2; 4/6
    ("Eiffel-Tower", "eiffel tower in Paris", 4 / 6),
    # Letters of all scripts: überall (1) | überall ist (2): 1; 2/3
    ("Überall!", "überall ist", 2 / 3),
    # 东 京 (2) | 在 东 京 都 (4): 2; 4/6
    ("东京", "在东京都", 4 / 6),
    # A text of punctuation only is one word: ?! | ?! and ?! | cat
    ("?!", "?!", 1),
    ("?!", "cat", 0),
    ("", "", 1),
    (" \n", "", 1),
    ("cat", "", 0),
    ("", "cat", 0),
    ("", "?!", 0),
    ("cat " * 100, "", 0),
    # The best of several: cat | the cat, 2·1/3; the | the cat, 2/3; the big cat | the cat, 4/5
    (["cat", "the", "the big cat"], "the cat", 4 / 5),
]


@pytest.mark.parametrize(("gold", "predicted", "expected"), ROUGE_CASES)
def test_rouge_l_equals_values_worked_by_hand(gold: Gold, predicted: str, expected: float) -> None:
    assert rouge_l(gold, predicted) == pytest.approx(expected, abs=1e-15)


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The definition: a table with a cell for each pair of prefixes."""
    before = [0] * (len(other) + 1)
    for word in one:
        row = [0]
        for at, its in enumerate(other):
            row.append(before[at] + 1 if word == its else max(before[at + 1], row[at]))
        before = row
    return before[-1]


def plain_rouge_l(gold: list[str], predicted: list[str]) -> float:
    return 2 * longest_common(gold, predicted) / (len(gold) + len(predicted)) if gold or predicted else 1.0


# Lengths around those at which another algorithm takes over.
SIZES = (1, 2, 62, 63, 64, 65, 127, 255, 256, 257, 300)


def words_by_chance(chance: Random, size: int, different: int) -> list[str]:
    return [f"w{chance.randrange(different)}" for _ in range(size)]


@pytest.mark.parametrize("different", [2, 20, 400])
def test_rouge_l_of_short_and_long_texts_equals_the_plain_dynamic_program(different: int) -> None:
    chance = Random(different)
    texts = [
        (words_by_chance(chance, gold, different), words_by_chance(chance, predicted, different))
        for gold in SIZES
        for predicted in SIZES
    ]
    expected = [plain_rouge_l(*pair) for pair in texts]
    pairs = [(" ".join(gold), " ".join(predicted)) for gold, predicted in texts]
    assert values_of("RougeL", pairs) == pytest.approx(expected, abs=1e-15)
    assert [rouge_l(gold, predicted) for gold, predicted in pairs] == pytest.approx(expected, abs=1e-15)


def test_rouge_l_of_a_long_text_with_itself_and_with_itself_doubled() -> None:
    for size in SIZES:
        text = " ".join(f"w{at}" for at in range(size))
        assert rouge_l(text, text) == 1
        # n of n and 2n words: 2n / 3n
        assert rouge_l(text, f"{text} {text}") == pytest.approx(2 / 3, abs=1e-15)
        assert rouge_l(f"{text} {text}", text) == pytest.approx(2 / 3, abs=1e-15)


@with_each_function
def test_without_a_predicted_or_a_gold_answer_nothing_matches(function: Callable[..., float]) -> None:
    assert function("cat", None) == 0
    assert function("", None) == 0
    assert function(None, "cat") == 0
    assert function(None, "") == 0
    assert function(None, None) == 0
    assert function(["", "cat"], None) == 0


@with_each_function
def test_an_empty_answer_matches_only_an_empty_answer(function: Callable[..., float]) -> None:
    assert function("", "") == 1
    assert function("cat", "") == 0
    assert function(["cat", ""], "") == 1


@pytest.mark.parametrize(
    "name",
    [
        *("EM", "EM(normalize=true)", "EM(normalize=neutral)", "TokenF1", "TokenPrecision", "TokenRecall", "Contains"),
        "RougeL",
    ],
)
def test_an_empty_list_of_gold_answers_means_that_the_question_has_no_answer(name: str) -> None:
    truth: dict[str, list[str]] = {"right": [], "wrong": []}
    scores = evaluate_answers(truth, {"right": "", "wrong": "cat"}, name)
    assert [scores.per_query[query][name] for query in truth] == [1, 0]


def test_a_question_with_gold_answer_none_is_not_scored() -> None:
    scores = evaluate_answers({"known": "cat", "unknown": None}, {"known": "cat", "unknown": "cat"}, "EM")
    assert scores.per_query == {"known": {"EM": 1.0}}


def test_a_question_without_a_predicted_answer_scores_0_or_is_left_out() -> None:
    truth, predicted = {"here": "cat", "none": "", "absent": "cat"}, {"here": "cat", "none": None}
    assert evaluate_answers(truth, predicted, "TokenF1").per_query == {
        "here": {"TokenF1": 1.0},
        "none": {"TokenF1": 0.0},
        "absent": {"TokenF1": 0.0},
    }
    assert evaluate_answers(truth, predicted, "TokenF1", missing="skip").per_query == {"here": {"TokenF1": 1.0}}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("em", "EM"),
        ("exact_match", "EM"),
        ("ExactMatch", "EM"),
        ("EM(normalize=false)", "EM"),
        ("em(normalize=true)", "EM(normalize=true)"),
        ("EM(normalize=neutral)", "EM(normalize=neutral)"),
        ("F1", "TokenF1"),
        ("f1", "TokenF1"),
        ("token_f1", "TokenF1"),
        ("squad_f1", "TokenF1"),
        ("f1(normalize=true)", "TokenF1"),
        ("f1(normalize=neutral)", "TokenF1(normalize=neutral)"),
        ("precision", "TokenPrecision"),
        ("Precision", "TokenPrecision"),
        ("recall", "TokenRecall"),
        ("Recall", "TokenRecall"),
        ("rougeL", "RougeL"),
        ("rouge-l", "RougeL"),
        ("ROUGE-L", "RougeL"),
        ("contains", "Contains"),
        ("has_answer", "Contains"),
        ("sas(model=wordllama)", "SAS(model=wordllama)"),
    ],
)
def test_for_answers_the_names_of_other_libraries_mean_answer_measures(name: str, expected: str) -> None:
    assert str(parse(name, "answers")) == expected
    if "SAS" not in expected:
        assert list(evaluate_answers({"q": "cat"}, {"q": "cat"}, [name]).means) == [expected]


def test_for_documents_f1_and_recall_mean_document_measures() -> None:
    assert {parse(name).definition.takes for name in ("F1", "precision@5", "recall")} == {"judged"}


@pytest.mark.parametrize("function", NORMALIZING.values(), ids=NORMALIZING)
@pytest.mark.parametrize("wrong", ["yes", "", "squad", " neutral", None, 1, 0.0, ["true"]])
def test_a_wrong_normalization_is_an_error_that_lists_the_choices(function: Callable[..., float], wrong: Any) -> None:
    with pytest.raises(KaratError, match=r"normalize=.* is not one of true, neutral, false"):
        function("cat", "cat", normalize=wrong)


@pytest.mark.parametrize(("name", "function"), NORMALIZING.items())
@pytest.mark.parametrize("normalize", [True, False, "true", "false", "neutral"])
def test_a_function_and_its_measure_give_the_same_values(
    name: str, function: Callable[..., float], normalize: bool | str
) -> None:
    spelled = str(normalize).lower()
    pairs = [(gold, predicted) for gold, predicted, *_ in EXACT_CASES]
    values = values_of(f"{name}(normalize={spelled})", pairs)
    assert values == [function(gold, predicted, normalize=normalize) for gold, predicted in pairs]
    assert 0 < sum(values) < len(values)


@with_each_function
@pytest.mark.parametrize(
    ("gold", "predicted"), [("cat", 5), (["cat", 5], "cat"), (["cat", None], "cat"), ("cat", b"cat")]
)
def test_an_answer_that_is_not_text_is_an_error(function: Callable[..., float], gold: Any, predicted: Any) -> None:
    with pytest.raises(KaratError, match="is not text"):
        function(gold, predicted)


def test_values_are_plain_numbers() -> None:
    assert {type(function("a cat", "cat")) for function in (exact_match, contains)} == {int}
    assert {type(function("a cat", "cat")) for function in (f1, precision, recall, rouge_l)} == {float}


def test_blocks_of_many_pairs_do_not_mix() -> None:
    # More than one block (4,096 pairs). Each pair has its own word, and every third one an additional word.
    pairs = [(f"w{at} x", f"x w{at}" + " y" * (at % 3 == 0)) for at in range(10_000)]
    expected = [4 / 5 if at % 3 == 0 else 1.0 for at in range(10_000)]
    assert values_of("TokenF1", pairs) == pytest.approx(expected, abs=1e-15)
    # In reverse, only one of the two words is in order.
    assert values_of("RougeL", pairs) == pytest.approx([value / 2 for value in expected], abs=1e-15)


def test_blocks_split_because_of_long_answers_do_not_mix() -> None:
    # 3 · 2,000,000 characters are more than one block.
    long = "word " * 400_000
    pairs = [(long, long), ("word", long), (long, "other"), ("other", "other")]
    # 2·1 / (1 + 400,000)
    assert values_of("TokenF1", pairs) == pytest.approx([1, 2 / 400_001, 0, 1], rel=1e-12)
    assert values_of("EM(normalize=true)", pairs) == [1, 0, 0, 1]


# SQuAD's evaluation script in its simplest form.


def squad_normalized(text: str) -> str:
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def squad_counts(gold: str, predicted: str) -> tuple[int, list[str], list[str]]:
    gold_words, said_words = squad_normalized(gold).split(), squad_normalized(predicted).split()
    return sum((Counter(gold_words) & Counter(said_words)).values()), gold_words, said_words


def squad_exact(gold: str, predicted: str) -> float:
    return float(squad_normalized(gold) == squad_normalized(predicted))


def squad_precision(gold: str, predicted: str) -> float:
    both, gold_words, said_words = squad_counts(gold, predicted)
    return both / len(said_words) if gold_words and said_words else float(gold_words == said_words)


def squad_recall(gold: str, predicted: str) -> float:
    both, gold_words, said_words = squad_counts(gold, predicted)
    return both / len(gold_words) if gold_words and said_words else float(gold_words == said_words)


def squad_f1(gold: str, predicted: str) -> float:
    both, gold_words, said_words = squad_counts(gold, predicted)
    if not gold_words or not said_words:
        return float(gold_words == said_words)
    if not both:
        return 0.0
    p, r = both / len(said_words), both / len(gold_words)
    return 2 * p * r / (p + r)


SQUAD = {
    "EM(normalize=true)": squad_exact,
    "TokenF1": squad_f1,
    "TokenPrecision": squad_precision,
    "TokenRecall": squad_recall,
}

HOSTILE = [
    *"a an the A The THE an. t.h.e theatre cat dog 1889 3.5 _ a_b - – ’ ' \" “ ” Σ σ ς ΑΣ İ i ß ẞ SS ﬁ 👍".split(),
    *"👎 京 都 é e\u0301 \u0301 \u2060 \u200b ½ ٣ किताब كِتاب は".split(),
    *(" ", "  ", "\n", "\r\n", "\t", "\0", "\0\0", "\x1c", "\x1f", "\x7f", "\x85", "\xa0", "\u2028", "\u3000"),
]
HOSTILE_TEXTS = st.lists(st.sampled_from(HOSTILE) | st.just(" "), max_size=8).map("".join)
ANY_TEXTS = HOSTILE_TEXTS | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
BATCHES = st.lists(st.tuples(ANY_TEXTS, ANY_TEXTS), min_size=1, max_size=8)


@given(pairs=BATCHES)
@example(pairs=[("a\0", "\0"), ("\0 \0", "\0\0"), ("", "\0")])
@example(pairs=[("the\n", "\na"), ("", ""), ("a\u0301", "\u0301"), ("ΑΣ", "ας"), ("Σ", "σ")])
@example(pairs=[("a cat", "the cat"), ("–a–", "– –")])
def test_on_any_text_the_measures_equal_squads_definitions(pairs: list[tuple[str, str]]) -> None:
    for name, defined in SQUAD.items():
        expected = [defined(gold, predicted) for gold, predicted in pairs]
        assert values_of(name, pairs) == pytest.approx(expected, abs=1e-12), name


@given(golds=st.lists(ANY_TEXTS, min_size=1, max_size=5), predicted=ANY_TEXTS)
def test_each_measure_takes_its_best_value_over_several_gold_answers(golds: list[str], predicted: str) -> None:
    for name, defined in SQUAD.items():
        expected = max(defined(gold, predicted) for gold in golds)
        found = parse(name).compute(answers_of([(golds, predicted)]))
        assert found.tolist() == pytest.approx([expected], abs=1e-12), name


def rouge_words(text: str) -> list[str]:
    """Runs of ASCII letters and digits in lower case; a text without any is one word."""
    return re.findall("[a-z0-9]+", text.lower()) or text.split()


ASCII_TEXTS = st.lists(
    st.sampled_from(["a", "b", "A", "the", "1", "22", "_", "-", ".", "'", "\0", "\n", "\t", "\x1c", "\x7f"])
    | st.just(" "),
    max_size=12,
).map("".join)
# A text beyond ASCII must not change the values of the other texts.
OTHER = ("œuvre 京", "œuvre")


@given(pairs=st.lists(st.tuples(ASCII_TEXTS, ASCII_TEXTS), max_size=6), beyond=st.booleans())
def test_rouge_l_equals_the_plain_longest_common_subsequence_of_words(
    pairs: list[tuple[str, str]], beyond: bool
) -> None:
    expected = [plain_rouge_l(rouge_words(gold), rouge_words(predicted)) for gold, predicted in pairs]
    # œuvre 京 has two words, one of which is œuvre: 2/3.
    other = OTHER if beyond else ("one two", "one")
    assert values_of("RougeL", [*pairs, other]) == pytest.approx([*expected, 2 / 3], abs=1e-12)


LISTS_OF_WORDS = st.lists(st.sampled_from(["über", "x", "京", "2", "Ωμέγα"]), min_size=1, max_size=150)


@given(pairs=st.lists(st.tuples(LISTS_OF_WORDS, LISTS_OF_WORDS), min_size=1, max_size=4))
def test_rouge_l_counts_words_of_all_scripts(pairs: list[tuple[list[str], list[str]]]) -> None:
    expected = [plain_rouge_l(gold, predicted) for gold, predicted in pairs]
    texts = [(", ".join(gold), " ".join(predicted).upper()) for gold, predicted in pairs]
    assert values_of("RougeL", texts) == pytest.approx(expected, abs=1e-12)


PIECES = st.lists(st.sampled_from(["cat", "dog", "5", "15", "the", "a", "so", "東京"]), max_size=6)


@given(gold=PIECES, predicted=PIECES)
def test_contains_means_that_the_words_of_the_gold_answer_appear_consecutively(
    gold: list[str], predicted: list[str]
) -> None:
    def told(words: list[str]) -> list[str]:
        """The words that count, with each Japanese character as a word."""
        return [each for word in words if word not in ("a", "the") for each in (word if word == "東京" else [word])]

    wanted, there = told(gold), told(predicted)
    rows = [there[at : at + len(wanted)] for at in range(len(there) + 1)]
    expected = wanted in rows if wanted else not there
    assert contains(" ".join(gold), "; ".join(predicted)) == expected


def test_neutral_contains_ignores_case_and_unicode_form() -> None:
    assert contains("Straße", "in der STRASSE", normalize="neutral") == 1
    assert contains("fine", "all is ﬁne", normalize="neutral") == 1
    assert contains("schon", "wie schön", normalize="neutral") == 0


@given(gold=ANY_TEXTS, predicted=ANY_TEXTS)
def test_without_normalization_exact_match_and_contains_equal_pythons_operators(gold: str, predicted: str) -> None:
    assert exact_match(gold, predicted) == (gold == predicted)
    assert contains(gold, predicted, normalize=False) == (gold in predicted if gold else not predicted)


@given(pairs=BATCHES)
def test_neutral_exact_match_ignores_case_punctuation_and_spaces(pairs: list[tuple[str, str]]) -> None:
    golds = [gold for gold, _ in pairs]
    dressed = [(gold, f" “{gold.casefold()}”! \n") for gold in golds]
    assert values_of("EM(normalize=neutral)", dressed) == [1.0] * len(golds)
    more = [(gold, f"{gold} zebra") for gold in golds]
    assert values_of("EM(normalize=neutral)", more) == [0.0] * len(golds)


def test_parsing_the_name_of_an_answer_measure_returns_the_measure() -> None:
    measure: Measure = parse("f1(normalize=neutral)", "answers")
    assert parse(str(measure)) == measure
