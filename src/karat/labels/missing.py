"""Which labels measures need, and how to get them if there are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from karat.errors import KaratError, plural, printable
from karat.labels.recipes import RECIPES
from karat.labels.selection import Selected
from karat.labels.tasks import BUILT_IN
from karat.labels.things import label_status
from karat.measures import parse
from karat.measures.relations import relations_of
from karat.registry import Measure
from karat.registry.selection import Selection
from karat.verdicts import AGAINST, SETS, Relation, Verdicts

_MEASURES = (
    "Faithfulness", "Faithfulness(unit=sentences)", "ContextRelevance", "ContextPrecision", "ContextRecall",
    "NuggetRecall(kind=vital)", "NuggetRecall", "NuggetCoverage", "CitationRecall", "CitationPrecision", "CitationF1",
    "SupportPrecision", "SupportRecall", "ClaimPrecision", "ClaimRecall", "ClaimF1", "ContextUtilization",
    "NoiseSensitivity", "Hallucination", "SelfKnowledge", "Correctness", "Abstention",
)  # fmt: skip
"""computed for the recipe that asks for their labels"""
_NOT_BY_DEFAULT = (
    "NuggetCoverage", "CitationF1", "ClaimF1", "ContextUtilization", "NoiseSensitivity", "SelfKnowledge",
)  # fmt: skip
_DEFAULT = tuple(name for name in _MEASURES if name not in _NOT_BY_DEFAULT)
"""computed if their labels are there"""

_CITATIONS = ("cited", "others", "passage")
_ITEMS = {
    "claims": "the claims of the answer", "gold_claims": "the claims of the gold answer",
    "sentences": "the sentences of the answer", "nuggets": "the nuggets of the question",
    "passages": "the passages", "answer": "the answer", "gold": "the gold answer",
}  # fmt: skip
_AGAINST_WORDS = {
    "context": "against the passages", "passage": "against each passage", "answer": "against the answer",
    "gold": "against the gold answer", "question": "to the question", "cited": "against what they cite",
    "others": "against what they cite",
}  # fmt: skip
_EXTRACTED = {"answer": "claims", "gold": "gold_claims", "question": "nuggets"}
"""the items that are extracted from an implied item"""
_RECIPES = {
    ("claims", "context"): "faithfulness", ("sentences", "context"): "faithfulness",
    ("passages", "question"): "context",
    ("gold_claims", "context"): "claims", ("claims", "passage"): "claims", ("gold_claims", "passage"): "claims",
    ("claims", "gold"): "claims", ("gold_claims", "answer"): "claims", ("nuggets", "answer"): "nuggets",
    ("nuggets", "passage"): "coverage", ("sentences", "passage"): "support", ("sentences", "cited"): "citations",
    ("sentences", "others"): "citations",
}  # fmt: skip


def measures_of(task: str) -> list[str]:
    """The measures that read the labels of a recipe, or of a rubric.

    >>> measures_of("context"), measures_of("tone")
    (['ContextRelevance', 'ContextPrecision'], ['Correctness(task=tone)'])
    """
    first = {name: next(iter(relations_of(parse(name, "verdicts")))) for name in _MEASURES}
    return [name for name, relation in first.items() if recipe_of(relation) == task] or [rubric_measure(task)]


def rubric_measure(name: str) -> str:
    """The measure that reads the labels of a rubric; an error if it cannot name the rubric.

    >>> rubric_measure("tone"), rubric_measure("tone, style")
    ('Correctness(task=tone)', 'Correctness(task="tone, style")')
    """
    return str(parse("Correctness", "verdicts")(task=name))


def task_measures(selected: Selected, task: str) -> list[str]:
    """The measures of a recipe, or of a rubric, whose labels are there, for at least one query."""
    return _labelled(selected, measures_of(task))


def labelled_measures(selected: Selected) -> list[str]:
    """The measures whose labels are there, for at least one query."""
    verdicts = selected.samples[0]
    found = _labelled(selected, (*_DEFAULT, *_rubrics(selected)))
    if not found and len(verdicts.cite_sentence):
        return ["CitationValid"]
    if not found and not len(verdicts.label_task) and selected.records.documents:
        hint = "They are for runs: evaluate(truth, run, verdicts=...), or karat evaluate TRUTH RUN --verdicts FILE."
        what = "all labels are about documents, and none about answers"
        raise KaratError(what, where=selected.records.name, hint=hint)
    if not found:
        hint = f"{_unused(selected)}`karat measures` lists all measures."
        raise KaratError("no measure can be computed from these labels", hint=hint)
    return found


def _rubrics(selected: Selected) -> list[str]:
    """The measures of the rubrics, except those that no measure can name."""
    names = []
    for rubric in selected.records.tasks.keys() - BUILT_IN.keys():
        with suppress(KaratError):
            names.append(rubric_measure(rubric))
    return sorted(names)


def _labelled(selected: Selected, names: Sequence[str]) -> list[str]:
    found = [name for name in names if labelled_samples(parse(name, "verdicts"), selected)]
    return [name for name in found if name != "Faithfulness(unit=sentences)" or "Faithfulness" not in found]


def check_labels(selected: Selected, measures: Selection, where: str) -> None:
    """Refuse a measure for which no query has any label, and say what to label."""
    for measure in measures:
        if not labelled_samples(measure, selected):
            relation = _missing(measure, selected.samples[0])[0]
            what = f"{measure} needs labels of the task {relation.task}: {in_words(relation)}"
            hint = f"{_unused(selected)}{_how_to_label(relation)}"
            raise KaratError(f"{what}, and there are none", where=where, hint=hint)


def _unused(selected: Selected) -> str:
    """Why labels that are there are not used, or are not there, as sentences."""
    notes = [f"{note}. " for note in selected.notes if " not used: " in note]
    return "".join((*notes, *_failures(selected)))


def _failures(selected: Selected) -> list[str]:
    """How many labels failed, and the most frequent error of their calls, as a sentence."""
    rows = _failed_rows(selected)
    return [f"{plural(len(rows), 'label')} failed{_most_frequent_error(selected, rows)}. "] if rows else []


def failed_extractions(selected: Selected) -> list[tuple[str, int, str]]:
    """Items that could not be extracted for any query, so that no measure reads them: what, how often, and a hint."""
    labels, known = selected.records.labels, {item.set for item in selected.known_items}
    rows_of: dict[str, list[int]] = {}
    for row in _failed_rows(selected):
        items = _EXTRACTED.get(labels.item[row]) if labels.task[row] == "support" else None
        if items is not None and items not in known:
            rows_of.setdefault(items, []).append(row)
    hint = "Measures of them are left out. `karat judge --retry-failed` asks again."
    found = []
    for items, rows in rows_of.items():
        queries, why = len({labels.query[row] for row in rows}), _most_frequent_error(selected, rows)
        found.append((f"{_ITEMS[items]} could not be extracted for {plural(queries, 'query')}{why}", queries, hint))
    return found


def _failed_rows(selected: Selected) -> list[int]:
    """The labels of the evaluated queries that failed, without those that were given later."""
    labels = selected.records.labels
    systems, queries = {None, *(item.system for item in selected.known_items)}, {*selected.samples[0].queries}
    has_failed = labels.state.where(lambda state: state == "failed") & labels.by.where(selected.authors.__contains__)
    has_failed &= labels.system.where(systems.__contains__) & labels.query.where(queries.__contains__)
    if not has_failed.any():
        return []
    status = label_status(selected.records)
    return [row for row in np.flatnonzero(has_failed).tolist() if status[row] == "counts"]


def _most_frequent_error(selected: Selected, rows: Sequence[int]) -> str:
    """The most frequent error of the calls of labels, as the end of a sentence."""
    labels, calls = selected.records.labels, selected.records.calls
    errors = {call.key: call.error for call in calls if call.state == "failed" and call.error}
    found = Counter(error for row in rows if (error := errors.get(labels.call[row] or "")))
    why = "".join(f", most often with this error: {printable(error)}" for error, _ in found.most_common(1))
    return why.removesuffix(".")


def labelled_samples(measure: Measure, selected: Selected) -> tuple[Verdicts, ...]:
    """The samples of a model in which it was asked for the labels of a measure: for others, it may be asked once."""
    return tuple(sample for sample in selected.samples if not _missing(measure, sample))


def reads_answers(measure: Measure) -> bool:
    """Whether a measure is about answers: it reads labels of them, or does not say what it reads."""
    relations = relations_of(measure)
    about = {name for relation in relations for name in (relation.items, relation.against)}
    return not relations or bool(about & {"answer", "claims", "sentences"})


def in_words(relation: Relation) -> str:
    """What labels are about.

    >>> in_words(Relation("support", "claims", "context"))
    'the claims of the answer against the passages'
    """
    return f"{_ITEMS[relation.items]} {_AGAINST_WORDS.get(relation.against, '')}".strip()


def recipe_of(relation: Relation) -> str:
    """The task to give to `karat verdicts template`, for labels of a relation.

    >>> recipe_of(Relation("support", "claims", "context"))
    'faithfulness'
    """
    return _RECIPES.get((relation.items, relation.against), relation.task)


def _how_to_label(relation: Relation) -> str:
    recipe = recipe_of(relation)
    by_model = f" `karat judge results.jsonl --task {recipe}` asks a language model." if recipe in RECIPES else ""
    return (
        f"`karat verdicts template results.jsonl --task {recipe} -o todo.csv` writes a sheet to fill in, and"
        f" `karat verdicts import` reads it.{by_model}"
    )


def _missing(measure: Measure, verdicts: Verdicts) -> list[Relation]:
    """The relations that have no label at all; measures of citations need labels of any kind for citations."""
    return [relation for relation in relations_of(measure) if not _has_labels(relation, verdicts)]


def _has_labels(relation: Relation, verdicts: Verdicts) -> bool:
    if relation.task not in verdicts.tasks:
        return False
    against: set[str] = {relation.against}
    if relation.items == "sentences" and relation.against in _CITATIONS:
        against = {*_CITATIONS}
    elif relation.against == "context":
        against = {"context", "passage"}
    rows = verdicts.label_task == verdicts.tasks.index(relation.task)
    rows = rows & np.isin(verdicts.label_against, [AGAINST.index(each) for each in against])
    return bool((verdicts.item_set[verdicts.label_item[rows]] == SETS.index(relation.items)).any())
