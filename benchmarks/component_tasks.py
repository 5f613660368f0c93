"""Benchmark tasks on documents and evaluators: karat's components and Haystack's.

Before the clock starts, the data is created and the evaluators have run once on one question.
"""

import importlib
import random
from collections.abc import Callable
from typing import Any

from sizes import Size

TASKS = ("documents", "evaluators 5", "evaluators 100", "pipeline 5")
SEED = 20_240_601
DOCUMENTS = 100
"""The number of retrieved documents per question."""

Means = dict[str, float]
Lists = list[list[str]]


def prepared(library: str, kind: str, size: Size) -> Callable[[], Means]:
    """The function to be timed."""
    package = {"karat": "karat", "haystack-ai": "haystack"}[library]
    make: Any = importlib.import_module(package).Document
    task, _, golds = kind.partition(" ")
    if task == "documents":
        text = texts_of(random.Random(SEED))
        return creation(make, [text() for _ in range(size.questions * DOCUMENTS)])
    gold_texts, texts = data(size, int(golds))
    inputs: dict[str, list[Any]] = {
        "ground_truth_documents": [[make(content=text) for text in of_question] for of_question in gold_texts],
        "retrieved_documents": [[make(content=text) for text in of_question] for of_question in texts],
        "ground_truth_answers": [of_question[0] for of_question in gold_texts],
        "predicted_answers": [of_question[0] for of_question in texts],
    }
    # karat's evaluators share work in a pipeline. Haystack's are fastest outside of one, because it copies all inputs.
    without_pipeline = library == "haystack-ai" and task == "evaluators"
    evaluate = one_after_the_other(package) if without_pipeline else in_a_pipeline(package)
    evaluate({name: values[:1] for name, values in inputs.items()})
    return lambda: evaluate(inputs)


def creation(make: Any, texts: list[str]) -> Callable[[], Means]:
    make(content="text")
    documents = []

    def work() -> Means:
        # The documents are kept: freeing them should not be timed.
        documents.extend([make(content=text) for text in texts])
        return {"documents": float(len(documents))}

    return work


def data(size: Size, golds: int) -> tuple[Lists, Lists]:
    """Gold texts and retrieved texts; every second gold text is retrieved."""
    source = random.Random(SEED)
    text = texts_of(source)
    gold_texts, texts = [], []
    for _ in range(size.questions):
        retrieved = [text() for _ in range(DOCUMENTS)]
        gold = source.sample(retrieved, golds // 2) + [text() for _ in range(golds - golds // 2)]
        source.shuffle(gold)
        # Equal texts, but different objects, as in real data.
        gold_texts.append([each.encode().decode() for each in gold])
        texts.append([each.encode().decode() for each in retrieved])
    return gold_texts, texts


def texts_of(source: random.Random) -> Callable[[], str]:
    """Random texts of about 200 characters."""
    words = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randint(2, 10))) for _ in range(5_000)]
    return lambda: " ".join(source.choices(words, k=source.randint(26, 32)))


def evaluators(package: str) -> dict[str, Any]:
    module: Any = importlib.import_module(f"{package}.components.evaluators")
    # Haystack's MAP follows the standard convention.
    convention = {"convention": "standard"} if package == "karat" else {}
    return {
        "recall": module.DocumentRecallEvaluator(mode="multi_hit"),
        "map": module.DocumentMAPEvaluator(**convention),
        "mrr": module.DocumentMRREvaluator(),
        "ndcg": module.DocumentNDCGEvaluator(),
        "match": module.AnswerExactMatchEvaluator(),
    }


def inputs_of(name: str, inputs: dict[str, Any]) -> dict[str, Any]:
    of_answers = name == "match"
    return {each: values for each, values in inputs.items() if each.endswith("answers") == of_answers}


def one_after_the_other(package: str) -> Callable[[dict[str, Any]], Means]:
    components = evaluators(package)
    return lambda inputs: {
        name: float(component.run(**inputs_of(name, inputs))["score"]) for name, component in components.items()
    }


def in_a_pipeline(package: str) -> Callable[[dict[str, Any]], Means]:
    pipeline: Any = importlib.import_module(package).Pipeline()
    for name, component in evaluators(package).items():
        pipeline.add_component(name, component)

    def evaluate(inputs: dict[str, Any]) -> Means:
        result = pipeline.run({name: inputs_of(name, inputs) for name in evaluators(package)})
        return {name: float(outputs["score"]) for name, outputs in result.items()}

    return evaluate
