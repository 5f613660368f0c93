#!/usr/bin/env python3
"""Rebuild the runs and the results of the demo data set in ``src/karat/cli/demo_data``.

Three retrieval systems answer the questions of ``questions.jsonl`` from the passages of ``corpus.jsonl``:

* ``overlap``: the number of different words that question and passage share, stop words included;
* ``bm25``: Okapi BM25 (k1 = 0.9, b = 0.4) over the lower-cased words of title and content;
* ``bm25-rm3``: BM25 without stop words, over stems, the title counted twice, the question expanded by
  pseudo-relevance feedback (RM3: the ten most characteristic terms of the first five passages, without
  those in more than a tenth of the corpus, with the same total weight as the terms of the question).

The parameters are conventional and were not tuned on the judgments. A passage that scores 0
is not returned, so a system may return fewer passages than DEPTH, or none.

``results.jsonl`` is the log of a small RAG system. Passages are split into overlapping chunks of whole words. BM25 over
stems retrieves chunks, each together with the title of its passage. The answer is the sentence that shares most stems
with the question, from the passages of the first chunks.

Usage::

    python scripts/build_demo.py            # write the runs and the results
    python scripts/build_demo.py --check    # write nothing; exit 1 if a file on disk is not up to date
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from up_to_date import main

DEMO = Path(__file__).resolve().parent.parent / "src" / "karat" / "cli" / "demo_data"
DEPTH = 30  # passages returned per question
FEEDBACK_PASSAGES = 5  # RM3: the number of passages used as feedback
FEEDBACK_TERMS = 10  # the number of terms taken from them
FEEDBACK_COMMON = 0.1  # the largest share of passages such a term may be in
QUESTION_WEIGHT = 0.5  # the weight of the question's own terms
CHUNK = 120  # the largest number of characters in a chunk, unless a short rest of the passage is added
OVERLAP = 30  # about how many characters a chunk shares with the previous one
CHUNKS = 10  # chunks returned per question
CONTEXTS = 3  # the number of chunks whose passages are used for the answer

STOP_WORD_LIST = """
    a about all also an and any are as at be because been but by can could did do does done each ever for
    from get had has have he her his how i if in into is it its made make makes many may me more most much my
    no not of on one only or other our out over s she so some such than that the their them then there these
    they this those to up was we were what when where which while who why will with would you your
"""
STOP_WORDS = frozenset(STOP_WORD_LIST.split())
SUFFIXES = ("ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "ly", "s", "e", "y")

Record = dict[str, Any]  # a passage or a question
Scores = dict[str, float]
System = Callable[[str], Scores]


def words(text: str) -> list[str]:
    """The sequences of letters and digits in a text, lower-cased."""
    return re.findall(r"[^\W_]+", text.lower())


def stem(word: str) -> str:
    """A word without the first suffix that leaves three letters or more: mines, mined, mining -> min."""
    if word.endswith("ss"):
        return word
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
                word = word[:-1]  # stopped, stopping -> stop
            break
    return word


def stems(text: str) -> list[str]:
    """The stems of the words of a text that are not stop words."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


class BM25:
    """Okapi BM25 over documents given as lists of terms; queries are weighted terms."""

    def __init__(self, documents: Mapping[str, list[str]], k1: float = 0.9, b: float = 0.4) -> None:
        """Count the terms of the documents."""
        self.counts = {name: Counter(terms) for name, terms in documents.items()}
        self.lengths = {name: len(terms) for name, terms in documents.items()}
        average = sum(self.lengths.values()) / len(documents)
        self.k1 = k1
        self.norms = {name: k1 * (1 - b + b * length / average) for name, length in self.lengths.items()}
        self.found_in = Counter(term for counts in self.counts.values() for term in counts)
        self.idf = {
            term: math.log(1 + (len(documents) - found + 0.5) / (found + 0.5)) for term, found in self.found_in.items()
        }

    def search(self, query: Mapping[str, float]) -> Scores:
        """The score of every document that shares a term with the query."""
        scores: Scores = {}
        for name, counts in self.counts.items():
            shared = [term for term in query if term in counts]
            if shared:
                norm = self.norms[name]
                scores[name] = sum(
                    query[term] * self.idf[term] * counts[term] * (self.k1 + 1) / (counts[term] + norm)
                    for term in shared
                )
        return scores

    def expand(self, query: Mapping[str, float]) -> dict[str, float]:
        """The query mixed with the terms that characterise its own best documents (RM3)."""
        best = ranked(self.search(query))[:FEEDBACK_PASSAGES]
        model: dict[str, float] = {}
        for name, score in best:
            for term, count in self.counts[name].items():
                if self.found_in[term] <= FEEDBACK_COMMON * len(self.counts):
                    model[term] = model.get(term, 0.0) + score * count / self.lengths[name]
        top = sorted(model.items(), key=lambda item: (-item[1], item[0]))[:FEEDBACK_TERMS]
        mixed = {term: QUESTION_WEIGHT * share for term, share in shares(query.items()).items()}
        for term, share in shares(top).items():
            mixed[term] = mixed.get(term, 0.0) + (1 - QUESTION_WEIGHT) * share
        return mixed


def shares(weights: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Weights scaled to a sum of 1."""
    pairs = list(weights)
    total = sum(weight for _, weight in pairs)
    return {term: weight / total for term, weight in pairs}


def ranked(scores: Scores) -> list[tuple[str, float]]:
    """Names with rounded scores, by score and then by name, both descending, as in trec_eval."""
    rounded = [(name, round(score, 6)) for name, score in scores.items()]
    return sorted(rounded, key=lambda item: (item[1], item[0]), reverse=True)


def overlap(passages: list[Record]) -> System:
    """The weak system: the number of different words that question and passage share."""
    vocabularies = {p["id"]: frozenset(words(p["title"] + " " + p["content"])) for p in passages}

    def search(question: str) -> Scores:
        query = frozenset(words(question))
        return {name: float(len(query & known)) for name, known in vocabularies.items() if query & known}

    return search


def bm25(passages: list[Record]) -> System:
    """The baseline: BM25 over plain words."""
    index = BM25({p["id"]: words(p["title"] + " " + p["content"]) for p in passages})
    return lambda question: index.search(Counter(words(question)))


def bm25_rm3(passages: list[Record]) -> System:
    """The strongest system: BM25 over stems with a weighted title and pseudo-relevance feedback."""
    index = BM25({p["id"]: 2 * stems(p["title"]) + stems(p["content"]) for p in passages})
    return lambda question: index.search(index.expand(Counter(stems(question))))


def chunks(text: str) -> list[str]:
    """Split a text into overlapping chunks of whole words, without changing white space."""
    spans = [found.span() for found in re.finditer(r"\S+", text)]
    cut: list[str] = []
    begin = end = 0
    while end < len(text):
        end = max(stop for _, stop in spans if stop <= begin + CHUNK)
        # A rest that is too short for its own chunk is added to this one.
        end = end if len(text) - end >= OVERLAP else len(text)
        cut.append(text[begin:end])
        begin = next((start for start, _ in spans if start >= end - OVERLAP), end)
    return cut


def answer(question: str, passages: Iterable[Record]) -> str:
    """The sentence that shares most stems with the question, or the first of them."""
    question_stems = frozenset(stems(question))
    sentences = [sentence for passage in passages for sentence in re.split(r"(?<=[.!?]) ", passage["content"])]
    return max(sentences, key=lambda sentence: len(question_stems & frozenset(stems(sentence))), default="")


def results(passages: list[Record], questions: list[Record], truth: Mapping[str, Mapping[str, int]]) -> list[Record]:
    """The log of a RAG system over chunks: one record per question."""
    by_id = {passage["id"]: passage for passage in passages}
    pieces = [(f"{p['id']}::{at}", p, chunk) for p in passages for at, chunk in enumerate(chunks(p["content"]))]
    index = BM25({name: stems(passage["title"]) + stems(chunk) for name, passage, chunk in pieces})
    content = {name: chunk for name, _, chunk in pieces}
    passage_of = {name: passage for name, passage, _ in pieces}
    records: list[Record] = []
    for question in questions:
        grades = sorted(truth[question["query"]].items(), key=lambda item: (-item[1], item[0]))
        found = ranked(index.search(Counter(stems(question["text"]))))[:CHUNKS]
        used = [name for name, _ in found[:CONTEXTS]]
        records.append(
            {
                "query": question["query"],
                "question": question["text"],
                "truth": [
                    {"id": name, "content": by_id[name]["content"], "score": grade} for name, grade in grades if grade
                ],
                "retrieved": [{"id": name, "content": content[name], "score": score} for name, score in found],
                "gold_answers": question["gold_answers"],
                "answer": answer(question["text"], (passage_of[name] for name in used)),
                "contexts": [content[name] for name in used],
            }
        )
    return records


def read_jsonl(path: Path) -> list[Record]:
    """The objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """The grades of the judged passages of each question."""
    truth: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query, _, name, grade = line.split()
        truth.setdefault(query, {})[name] = int(grade)
    return truth


def build() -> dict[Path, str]:
    """The files and what they should contain."""
    passages, questions = read_jsonl(DEMO / "corpus.jsonl"), read_jsonl(DEMO / "questions.jsonl")
    systems = {"overlap": overlap(passages), "bm25": bm25(passages), "bm25-rm3": bm25_rm3(passages)}
    files: dict[Path, str] = {}
    for tag, search in systems.items():
        lines = [
            f"{question['query']} Q0 {name} {rank} {score:.6f} {tag}\n"
            for question in questions
            for rank, (name, score) in enumerate(ranked(search(question["text"]))[:DEPTH], start=1)
        ]
        files[DEMO / "runs" / f"{tag}.trec"] = "".join(lines)
    records = results(passages, questions, read_qrels(DEMO / "truth.qrels"))
    files[DEMO / "results.jsonl"] = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return files


if __name__ == "__main__":
    sys.exit(main(__file__, "Rebuild the runs and the results of the demo data set.", build().items()))
