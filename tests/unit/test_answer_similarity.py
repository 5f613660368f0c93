"""SAS with the real model of wordllama: values, blank answers, batches, and errors if it is not installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from karat import KaratError, evaluate_answers
from karat.data.answers import Answers
from karat.data.judged import Floats
from karat.errors.installing import pip_install
from karat.measures import parse
from karat.measures.answers import SAS, models, sas
from karat.measures.answers.models import TextPairs, load_model
from karat.measures.answers.similarity import DEFAULT_MODEL, similarity

wordllama = pytest.importorskip("wordllama")

STATIC = "wordllama"
TEXTS = [
    *(
        "the car is new",
        "a new automobile",
        "Berlin",
        "Lyon",
        "It was finished in March 1889.",
        "1889",
        "yes",
        "no",
        "a",
    ),
    *(
        "the Eiffel Tower in Paris",
        "not safe",
        "safe",
        "x y z",
        "O(n log n)",
        "def f(x): return x",
        "3.5 kg",
        "?!",
        "👍",
    ),
    *("東京", "首都は東京です", "Straße", "किताब", "كتاب", "¿La Torre?"),
]
PAIRS = [(gold, predicted) for gold in TEXTS for predicted in TEXTS]


@pytest.fixture(scope="module")
def theirs() -> Any:
    """Similarities computed by the wordllama package itself."""
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


@pytest.fixture
def _empty_model_cache() -> Iterator[None]:
    """Empty the cache of models before and after a test."""
    caches = (models._static, models._sentence_transformer)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def answers_of(pairs: list[tuple[str, str]]) -> Answers:
    queries = tuple(map(str, range(len(pairs))))
    return Answers(queries, [(gold,) for gold, _ in pairs], [predicted for _, predicted in pairs])


def values_of(pairs: list[tuple[str, str]], batch_size: int = 32) -> list[float]:
    values: list[float] = similarity(answers_of(pairs), load_model(STATIC), batch_size).tolist()
    return values


def test_values_are_those_of_wordllama_with_0_for_negative_ones(theirs: Any) -> None:
    cosines = [theirs.similarity(gold, predicted) for gold, predicted in PAIRS]
    assert min(cosines) < 0
    assert values_of(PAIRS) == pytest.approx([min(max(cosine, 0), 1) for cosine in cosines], abs=1e-5)


def test_a_negative_cosine_is_exactly_0(theirs: Any) -> None:
    assert theirs.similarity("Berlin", "Lyon") < -0.01
    assert sas("Berlin", "Lyon", STATIC) == 0
    below = [pair for pair in PAIRS if theirs.similarity(*pair) < -1e-5]
    assert len(below) > 10
    assert set(values_of(below)) == {0.0}


def test_the_function_the_measure_and_evaluate_answers_give_the_same_value() -> None:
    expected = sas("the car is new", "a new automobile", STATIC)
    assert 0.5 < expected < 0.9
    assert values_of([("the car is new", "a new automobile")]) == pytest.approx([expected], abs=1e-12)
    answers = answers_of([("the car is new", "a new automobile")])
    for measure in (parse("SAS(model=wordllama)"), parse("sas(model=wordllama)", "answers"), SAS(model=STATIC)):
        assert str(measure) == "SAS(model=wordllama)"
        assert measure.compute(answers).tolist() == pytest.approx([expected], abs=1e-12)
    scores = evaluate_answers({"q": "the car is new"}, {"q": "a new automobile"}, "SAS(model=wordllama)")
    assert scores["SAS(model=wordllama)"] == pytest.approx(expected, abs=1e-12)


def test_answers_without_common_words_can_be_similar() -> None:
    near, far = values_of([("car", "automobile"), ("car", "banana")])
    assert near > far + 0.2


def test_identical_texts_have_similarity_1_exactly() -> None:
    texts = [*TEXTS, *(f"{text} {at}" for at, text in enumerate(TEXTS)), "<unk>", "\0", "\u200b"]
    values = values_of([(text, text) for text in texts])
    assert values == [1.0] * len(texts)
    assert max(values) <= 1
    assert values_of([("Berlin", " Berlin\n")]) == values_of([("Berlin", "Berlin")])


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u3000", "\x1c"])
def test_two_blank_answers_have_similarity_1_and_a_blank_and_another_0(blank: str) -> None:
    assert sas(blank, "", STATIC) == sas("", blank, STATIC) == sas(blank, blank, STATIC) == 1
    assert sas(blank, "Berlin", STATIC) == sas("Berlin", blank, STATIC) == 0
    mixed = [("Berlin", blank), (blank, ""), ("Berlin", "Berlin"), (blank, "?")]
    assert values_of(mixed) == pytest.approx([0, 1, 1, 0], abs=1e-12)


def test_no_answer_and_no_gold_answer_score_0() -> None:
    assert [
        sas(gold, predicted, STATIC) for gold, predicted in (("Berlin", None), ("", None), (None, ""), (None, "x"))
    ] == [0] * 4
    nobody = Answers(("1", "2"), [("Berlin",), ()], [None, "Berlin"])
    assert similarity(nobody, load_model(STATIC)).tolist() == [0, 0]


def test_the_model_is_not_asked_about_blank_answers_and_only_once_about_repeated_pairs() -> None:
    asked: list[tuple[str, str]] = []

    def model(pairs: TextPairs, batch_size: int) -> Floats:
        asked.extend(pairs)
        return np.full(len(pairs), 0.5)

    pairs = [("a", "b"), ("", "b"), ("a", " "), ("\n", ""), (" a", "b "), ("b", "a")]
    assert similarity(answers_of(pairs), model).tolist() == [0.5, 0, 0, 1, 0.5, 0.5]
    assert asked == [("a", "b"), ("b", "a")]


@pytest.mark.parametrize(("score", "value"), [(-0.5, 0.0), (1.0000001, 1.0), (7.0, 1.0), (0.25, 0.25)])
def test_the_scores_of_a_model_are_clipped_to_0_and_1(score: float, value: float) -> None:
    def model(pairs: TextPairs, batch_size: int) -> Floats:
        return np.full(len(pairs), score)

    assert similarity(answers_of([("a", "b")]), model).tolist() == [value]


def test_a_model_that_returns_nan_is_an_error_that_names_the_pair() -> None:
    def model(pairs: TextPairs, batch_size: int) -> Floats:
        return np.array([np.nan if "bad" in predicted else 0.5 for _, predicted in pairs])

    with pytest.raises(KaratError, match="returned NaN for 'bad' and 'gold'"):
        similarity(answers_of([("x", "y"), ("gold", "bad")]), model)


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_values_do_not_depend_on_the_batch_or_the_order(batch_size: int) -> None:
    alone = [values_of([pair])[0] for pair in PAIRS]
    assert len({round(value, 3) for value in alone}) > 50
    order = list(range(len(PAIRS)))
    Random(batch_size).shuffle(order)
    assert values_of(PAIRS, batch_size) == pytest.approx(alone, abs=1e-4)
    shuffled = values_of([PAIRS[at] for at in order], batch_size)
    assert shuffled == pytest.approx([alone[at] for at in order], abs=1e-4)
    # Short texts in the same batch would be padded to the length of the long one.
    beside = values_of([*PAIRS[:20], ("long " * 3000, "word")], batch_size)
    assert beside[:20] == pytest.approx(alone[:20], abs=1e-4)


@given(gold=st.text(max_size=20), predicted=st.text(max_size=20))
@example(gold="\ud800", predicted="\udfff!")
@settings(max_examples=50)
def test_any_text_has_a_value_from_0_to_1(gold: str, predicted: str) -> None:
    values = values_of([(gold, predicted), (predicted, gold), (gold, gold)])
    assert all(0 <= value <= 1 for value in values)
    assert values[0] == pytest.approx(values[1], abs=1e-9)
    assert values[2] == pytest.approx(1, abs=1e-9)


def test_lone_surrogates_are_question_marks_to_the_model() -> None:
    assert sas("\ud800", "?", STATIC) == pytest.approx(1)
    assert sas("Berlin \udc80", "Berlin ?", STATIC) == pytest.approx(1)
    assert sas("Berlin \udc80", "Berlin", STATIC) < 1 - 1e-6


def test_a_text_of_a_megabyte_is_compared_as_a_whole() -> None:
    long = "Berlin is the capital of Germany. " * 30_000
    assert len(long) > 1_000_000
    near, far, same = values_of([(long, "the capital of Germany"), (long, "banana"), (long, long)])
    assert near > 0.5 > far
    assert same == pytest.approx(1, abs=1e-9)
    # The end of the text counts too: nothing is cut off.
    assert sas(f"{long[:300_000]} {'banana ' * 100_000}", "banana", STATIC) > far + 0.2


def test_the_most_similar_of_several_gold_answers_counts() -> None:
    golds = ["Lyon", "the car is new", "banana"]
    alone = [sas(gold, "a new automobile", STATIC) for gold in golds]
    assert max(alone) == alone[1] > alone[2]
    assert sas(golds, "a new automobile", STATIC) == pytest.approx(alone[1], abs=1e-12)
    assert sas([*golds, "a new automobile"], "a new automobile", STATIC) == pytest.approx(1, abs=1e-12)
    # Each question has its own best.
    both = Answers(("1", "2"), [golds, ["banana", ""]], ["a new automobile", " "])
    assert similarity(both, load_model(STATIC)).tolist() == pytest.approx([alone[1], 1], abs=1e-12)


def test_values_are_plain_floats() -> None:
    assert (
        type(sas("Berlin", "Lyon", STATIC))
        is type(sas("Berlin", "Berlin", STATIC))
        is type(sas("", "", STATIC))
        is float
    )
    scores = evaluate_answers({"q": "Berlin"}, {"q": "Berlin"}, "SAS(model=wordllama)")
    assert type(scores.per_query["q"]["SAS(model=wordllama)"]) is float
    assert similarity(answers_of(PAIRS[:3]), load_model(STATIC)).dtype == np.float64
    assert similarity(answers_of([]), load_model(STATIC)).shape == (0,)


@pytest.mark.usefixtures("_empty_model_cache")
def test_a_model_is_loaded_once() -> None:
    model = load_model(STATIC)
    assert load_model(STATIC) is model
    sas("Berlin", "Lyon", STATIC)
    assert (models._static.cache_info().misses, models._static.cache_info().currsize) == (1, 1)


@pytest.mark.usefixtures("_empty_model_cache")
def test_a_model_is_cached_whether_or_not_device_and_token_are_given_as_none() -> None:
    model = load_model(STATIC)
    assert (
        load_model(STATIC, None, None)
        is load_model(STATIC, device=None)
        is load_model(model=STATIC, token=None)
        is model
    )
    # Static embeddings do not use a device.
    assert load_model(STATIC, "cuda:7", "a token") is model


@pytest.mark.usefixtures("_empty_model_cache")
def test_a_sentence_transformers_model_is_cached_per_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in ("sentence_transformers", "transformers"):
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
    monkeypatch.setattr(models, "_load_or_explain", lambda *_: object())
    name = str(tmp_path)
    model = load_model(name)
    assert load_model(name, None, None) is load_model(name, token=None) is model
    assert load_model(name, "cpu") is not model


OFFLINE = """
import socket
import sys

def refuse(*_):
    raise SystemExit("the network was asked")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refuse

from karat import evaluate_answers
from karat.measures.answers import sas

assert "wordllama" not in sys.modules
print(sas("the car is new", "a new automobile", model="wordllama"))
print(evaluate_answers({"q": "Berlin"}, {"q": "Berlin"}, "SAS(model=wordllama)").means)
"""


def test_wordllama_needs_no_network(tmp_path: Path) -> None:
    # In an empty home directory, no earlier download is found.
    ran = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(tmp_path), "HF_HOME": str(tmp_path), "PATH": ""},
    )
    assert ran.returncode == 0, ran.stderr
    value, means = ran.stdout.splitlines()
    assert float(value) == pytest.approx(sas("the car is new", "a new automobile", STATIC), abs=1e-12)
    assert means == "{'SAS(model=wordllama)': 1.0}"
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.usefixtures("_empty_model_cache")
@pytest.mark.parametrize("name", [DEFAULT_MODEL, "cross-encoder/stsb-roberta-base", "WordLlama", "./a/folder"])
def test_without_sentence_transformers_the_error_offers_to_install_it_or_to_use_wordllama(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    for ask in (
        lambda: load_model(name),
        lambda: sas("Berlin", "Lyon", name),
        lambda: SAS(model=name).compute(answers_of([])),
    ):
        with pytest.raises(KaratError) as raised:
            ask()
        assert raised.value.what.endswith("needs sentence-transformers")
        assert pip_install("sas") in str(raised.value)
        assert 'model="wordllama"' in str(raised.value)
        assert pip_install("static") in str(raised.value)


@pytest.mark.usefixtures("_empty_model_cache")
def test_the_default_model_is_a_sentence_transformers_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    assert parse("sas", "answers").get("model") == DEFAULT_MODEL
    with pytest.raises(KaratError, match="needs sentence-transformers"):
        sas("Berlin", "Lyon")
    with pytest.raises(KaratError, match="needs sentence-transformers"):
        evaluate_answers({"q": "Berlin"}, {"q": "Lyon"}, "SAS")


@pytest.mark.usefixtures("_empty_model_cache")
def test_without_wordllama_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    for _ in range(2):  # a failure is not cached
        with pytest.raises(KaratError, match='model="wordllama" needs wordllama') as raised:
            sas("Berlin", "Lyon", STATIC)
        assert pip_install("static") in str(raised.value)
    monkeypatch.undo()
    assert sas("Berlin", "Berlin", STATIC) == pytest.approx(1)


@pytest.mark.parametrize("wrong", ["", "  ", None, 5, b"wordllama"])
def test_an_invalid_model_name_is_an_error(wrong: Any) -> None:
    with pytest.raises(KaratError, match="is not the name of a model") as raised:
        load_model(wrong)
    assert STATIC in str(raised.value)


@pytest.mark.usefixtures("_empty_model_cache")
@pytest.mark.parametrize("wrong", ["", " wordllama", None, 5])
def test_a_measure_with_a_wrong_model_is_an_error(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(KaratError, match="model"):
        sas("Berlin", "Berlin", wrong)


@pytest.mark.parametrize(("gold", "predicted"), [("Berlin", 5), (["Berlin", 5], "x"), (["Berlin", None], "x")])
def test_an_answer_that_is_not_text_is_an_error(gold: Any, predicted: Any) -> None:
    with pytest.raises(KaratError, match="is not text"):
        sas(gold, predicted, STATIC)
