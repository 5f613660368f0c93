"""Benchmark tasks on answers: karat's answer measures, SQuAD's script in plain Python, rouge-score and wordllama.

Before the clock starts, the answers are created and both have compared one pair.
"""

import importlib
import random
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from component_tasks import SEED, Means
from sizes import Size

MEASURES = {"answers": ("EM(normalize=true)", "TokenF1"), "rouge": ("RougeL",), "sas": ("SAS(model=wordllama)",)}
TASKS = tuple(MEASURES)
REWRITTEN, CONTAINING = 30, 40
"""Percentages of predicted answers that are a variant of the gold answer, and that are sentences with it."""
FOR_SAS = 5
"""Models compare only one in this many pairs, because they are slower than counting words."""
VOCABULARY = 20_000
COMMON = "the of and in a to was is for on an as by with that at from it his her were are which be".split()
"""The first, and so the most frequent, words of the vocabulary."""

Texts = dict[str, str]
"""The answer to each question."""
Evaluate = Callable[[Texts, Texts], Means]


def prepared(library: str, kind: str, size: Size) -> Callable[[], Means]:
    """The function to be timed."""
    evaluate = LIBRARIES[library](kind)
    truth, predictions = data(size.answers // FOR_SAS if kind == "sas" else size.answers)
    # Not only ASCII, like the data, so that everything needed for such texts is loaded.
    evaluate({"q": "Rock ’n’ roll"}, {"q": "It is rock ’n’ roll."})
    return lambda: evaluate(truth, predictions)


def karat(kind: str) -> Evaluate:
    module = importlib.import_module("karat")
    measures = list(MEASURES[kind])

    def evaluate(truth: Texts, predictions: Texts) -> Means:
        scores = module.evaluate_answers(truth, predictions, measures)
        return {measure: float(scores[measure]) for measure in measures}

    return evaluate


def squad(kind: str) -> Evaluate:
    def evaluate(truth: Texts, predictions: Texts) -> Means:
        # As in SQuAD's script, each measure normalizes the answers again.
        exact = [exact_match(gold, predictions[question]) for question, gold in truth.items()]
        overlap = [f1(gold, predictions[question]) for question, gold in truth.items()]
        return dict(zip(MEASURES[kind], (sum(exact) / len(truth), sum(overlap) / len(truth)), strict=True))

    return evaluate


def exact_match(gold: str, predicted: str) -> float:
    return float(normalized(gold) == normalized(predicted))


def f1(gold: str, predicted: str) -> float:
    gold_words, predicted_words = normalized(gold).split(), normalized(predicted).split()
    if not gold_words or not predicted_words:
        return float(gold_words == predicted_words)
    both = sum((Counter(gold_words) & Counter(predicted_words)).values())
    if not both:
        return 0.0
    precision, recall = both / len(predicted_words), both / len(gold_words)
    return 2 * precision * recall / (precision + recall)


PUNCTUATION = frozenset(string.punctuation)
ARTICLE = re.compile(r"\b(a|an|the)\b")


def normalized(answer: str) -> str:
    bare = "".join(letter for letter in answer.lower() if letter not in PUNCTUATION)
    return " ".join(ARTICLE.sub(" ", bare).split())


def rouge_score(kind: str) -> Evaluate:
    scorer: Any = importlib.import_module("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
    return of_each(kind, lambda gold, predicted: scorer.score(gold, predicted)["rougeL"].fmeasure)


def wordllama(kind: str) -> Evaluate:
    module = importlib.import_module("wordllama")
    # Its package contains the tokenizer, but without cache_dir it would download it.
    model: Any = module.WordLlama.load(cache_dir=Path(str(module.__file__)).parent, disable_download=True)
    return of_each(kind, lambda gold, predicted: min(max(model.similarity(gold, predicted), 0.0), 1.0))


def of_each(kind: str, value: Callable[[str, str], float]) -> Evaluate:
    """The mean of a function over all pairs."""
    (measure,) = MEASURES[kind]

    def evaluate(truth: Texts, predictions: Texts) -> Means:
        values = [value(gold, predictions[question]) for question, gold in truth.items()]
        return {measure: sum(values) / len(values)}

    return evaluate


LIBRARIES: Mapping[str, Callable[[str], Evaluate]] = {
    "karat": karat,
    "squad": squad,
    "rouge-score": rouge_score,
    "wordllama": wordllama,
}


def data(pairs: int) -> tuple[Texts, Texts]:
    """Gold answers of a few words and predicted answers: variants, sentences that contain them, or other texts."""
    source = random.Random(SEED)
    words = words_of(source)
    truth, predictions = {}, {}
    for question in map(str, range(pairs)):
        gold = words(source.randint(1, 10))
        kind = source.randrange(100)
        if kind < REWRITTEN:
            predicted = rewritten(source, " ".join(gold))
        elif kind < REWRITTEN + CONTAINING:
            others = words(source.randint(max(5, len(gold)), 30) - len(gold))
            at = source.randint(0, len(others))
            predicted = sentence(source, others[:at] + gold + others[at:])
        else:
            predicted = sentence(source, words(source.randint(1, 30)))
        truth[question], predictions[question] = " ".join(gold), predicted
    return truth, predictions


def words_of(source: random.Random) -> Callable[[int], list[str]]:
    """Draws words with frequencies as in natural language: the n-th word has a weight of 1/n (Zipf's law)."""
    vocabulary = COMMON + [word(source) for _ in range(VOCABULARY - len(COMMON))]
    shares = list(accumulate(1 / rank for rank in range(1, len(vocabulary) + 1)))
    return lambda count: source.choices(vocabulary, cum_weights=shares, k=count)


def word(source: random.Random) -> str:
    """A random word: mostly lower case; also names, years and compounds."""
    made, other = ("".join(source.choices(string.ascii_lowercase, k=source.randint(2, 10))) for _ in range(2))
    year = source.randint(1000, 2030)
    # Real texts are not only ASCII. But no letters beyond ASCII: for rouge-score, which knows a to z, they end a word.
    forms = (made, made.title(), str(year), f"{made}-{other}", f"{made}’s", f"{made}'s", f"{year}–{year + 9}")
    return source.choices(forms, (70, 20, 4, 3, 1, 1, 1))[0]


def rewritten(source: random.Random, gold: str) -> str:
    """A variant that SQuAD considers equal: other case, punctuation or article."""
    changes: tuple[Callable[[str], str], ...] = (
        str.lower,
        str.upper,
        str.capitalize,
        lambda text: f"{text}.",
        lambda text: f'"{text}"',
        lambda text: f"the {text}",
        lambda text: text.removeprefix("the ").removeprefix("a "),
    )
    for change in source.sample(changes, source.randint(1, 3)):
        gold = change(gold)
    return gold


def sentence(source: random.Random, words: list[str]) -> str:
    text = " ".join(f"{each}," if source.random() < 0.08 else each for each in words).rstrip(",")
    return f"{text[0].upper()}{text[1:]}."
