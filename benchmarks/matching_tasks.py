"""Benchmark tasks on matching chunks with gold documents: karat's matching and plain nested loops.

Before the clock starts, the data is created and both have compared one chunk. Comparing all pairs with rapidfuzz takes
too long, so it compares a sample of the questions, and its time is extrapolated. karat matches all questions, and means
are compared on the sample.
"""

import importlib
import random
from collections.abc import Callable
from typing import Any

from component_tasks import SEED, Lists, Means, texts_of
from sizes import Size

TASKS = ("chunk", "fuzzy")
CHUNKS = 100
"""The number of retrieved chunks per question."""
GOLDS = 5
CUT = 10
"""The number of chunks that are cut out of gold documents."""
CHANGED = 4
"""The number of those in which some characters are changed."""
WORDS = 29
"""The number of words in a chunk, about 200 characters, as in the other texts."""
SAMPLE = 10
"""The number of questions for which rapidfuzz compares all pairs."""
THRESHOLD = 90

Hits = list[list[bool]]
"""For each chunk, whether it is a hit of each gold document."""


def prepared(library: str, kind: str, size: Size) -> Callable[[], Means]:
    """The function to be timed."""
    truth, run = data(size)
    every = step(kind, size)
    if library == "karat":
        work = matched(kind)
        work(truth[:1], [run[0][:1]], 1)
        return lambda: work(truth, run, every)
    hits = {"python": contained, "rapidfuzz": nearly_contained}[library]()
    truth, run = truth[::every], run[::every]
    compared(hits, truth[:1], [run[0][:1]])
    return lambda: compared(hits, truth, run)


def scale(library: str, kind: str, size: Size) -> int:
    """The factor from the measured time to the time for all questions."""
    return 1 if library == "karat" else step(kind, size)


def step(kind: str, size: Size) -> int:
    """Means are over every n-th question; this is n."""
    return size.questions // SAMPLE if kind == "fuzzy" else 1


def matched(kind: str) -> Callable[[Lists, Lists, int], Means]:
    module = importlib.import_module("karat")

    def work(truth: Lists, run: Lists, every: int) -> Means:
        scores = module.evaluate(truth, run, ["R", "RR", "P@10"], match=kind)
        return {measure: float(values[::every].mean()) for measure, values in scores.values.items()}

    return work


def compared(hits_of: Callable[[list[str], list[str]], Hits], truth: Lists, run: Lists) -> Means:
    recall = reciprocal = precision = 0.0
    for golds, chunks in zip(truth, run, strict=True):
        hits = hits_of(chunks, golds)
        recall += sum(map(any, zip(*hits, strict=True))) / len(golds)
        reciprocal += next((1 / rank for rank, of_chunk in enumerate(hits, 1) if any(of_chunk)), 0.0)
        precision += sum(map(any, hits[:10])) / 10
    return {"R": recall / len(truth), "RR": reciprocal / len(truth), "P@10": precision / len(truth)}


def contained() -> Callable[[list[str], list[str]], Hits]:
    return lambda chunks, golds: [[chunk in gold for gold in golds] for chunk in chunks]


def nearly_contained() -> Callable[[list[str], list[str]], Hits]:
    ratio: Any = importlib.import_module("rapidfuzz.fuzz").partial_ratio
    return lambda chunks, golds: [[ratio(chunk, gold) >= THRESHOLD for gold in golds] for chunk in chunks]


def data(size: Size) -> tuple[Lists, Lists]:
    """Gold documents of about 2,000 characters, and retrieved chunks, some of which are cut out of them."""
    source = random.Random(SEED)
    text = texts_of(source)
    truth, run = [], []
    for _ in range(size.questions):
        golds = [" ".join(text() for _ in range(10)) for _ in range(GOLDS)]
        cut = [cut_out(source, source.choice(golds)) for _ in range(CUT)]
        chunks = [changed(source, chunk) for chunk in cut[:CHANGED]] + cut[CHANGED:]
        chunks += [text() for _ in range(CHUNKS - CUT)]
        source.shuffle(chunks)
        truth.append(golds)
        run.append(chunks)
    return truth, run


def cut_out(source: random.Random, document: str) -> str:
    words = document.split()
    start = source.randrange(len(words) - WORDS)
    return " ".join(words[start : start + WORDS])


def changed(source: random.Random, chunk: str) -> str:
    """Replace five characters by digits: the partial ratio stays well above the threshold."""
    characters = list(chunk)
    for place in source.sample(range(len(characters)), 5):
        characters[place] = source.choice("0123456789")
    return "".join(characters)
