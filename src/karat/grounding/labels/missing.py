"""Which labels measures need, and how to get them if there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress

from karat.data.verdicts import Against, Relation
from karat.errors import KaratError, Place, enumeration, plural, shown
from karat.grounding.labels.facts import FailedLabels, LabelFacts
from karat.grounding.labels.recipes import RECIPES
from karat.measures import meanings, parse
from karat.measures.labels import relations_of
from karat.registry import Measure
from karat.registry.registry import is_name_of_measure
from karat.registry.selection import Selection

_OF_SENTENCES = "(unit=sentences)"
_MEASURES = (
    "Faithfulness", "Faithfulness(unit=sentences)", "Contradiction", "Contradiction(unit=sentences)",
    "ContextRelevance", "ContextPrecision", "ContextRecall", "NuggetRecall(kind=vital)", "NuggetRecall",
    "NuggetCoverage", "CitationRecall", "CitationPrecision", "CitationF1", "SupportPrecision", "SupportRecall",
    "ClaimPrecision", "ClaimRecall", "ClaimF1", "ContextUtilization", "NoiseSensitivity", "Hallucination",
    "SelfKnowledge", "Correctness", "AnswerRelevance", "Abstention",
)  # fmt: skip
"""computed for the recipe that asks for their labels"""
_NOT_BY_DEFAULT = (
    "NuggetCoverage", "CitationF1", "ClaimF1", "ContextUtilization", "NoiseSensitivity", "SelfKnowledge",
)  # fmt: skip
_DEFAULT = tuple(name for name in _MEASURES if name not in _NOT_BY_DEFAULT)
"""computed if their labels are there"""
_NO_CONTRADICTIONS = (
    "no label is `contradicts`: labels that were given before there was such a label, or by FaithfulnessEvaluator, do"
    " not tell it from `none`"
)

ANSWERABLE = Relation("abstention", "gold")
"""whether a question can be answered, which gold answers say"""
NEEDS_GOLD = (
    "Gold answers say which questions can be answered: add the field gold_answers to the results, with an empty list"
    " where there is no answer, or add a file of them with --truth (truth= in Python)"
)

_CITATIONS: tuple[Against, ...] = ("cited", "others", "passage")
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
_RECIPE_OF_RELATION = {
    ("claims", "context"): "faithfulness", ("sentences", "context"): "faithfulness",
    ("passages", "question"): "context",
    ("gold_claims", "context"): "claims", ("claims", "passage"): "claims", ("gold_claims", "passage"): "claims",
    ("claims", "gold"): "claims", ("gold_claims", "answer"): "claims", ("nuggets", "answer"): "nuggets",
    ("nuggets", "passage"): "coverage", ("sentences", "passage"): "support", ("sentences", "cited"): "citations",
    ("sentences", "others"): "citations",
}  # fmt: skip


def measures_of(task: str) -> list[str]:
    """The measures of what a judge labels for a recipe, or for a rubric: of the faithfulness of claims, not sentences.

    >>> measures_of("context"), measures_of("tone")
    (['ContextRelevance', 'ContextPrecision'], ['Correctness(task=tone)'])
    """
    return [name for name in _of_recipe(task) if not name.endswith(_OF_SENTENCES)] or [rubric_measure(task)]


def _of_recipe(task: str) -> list[str]:
    """The measures of what is labelled for a recipe; none for a rubric."""
    first = {name: next(iter(relations_of(parse(name, "verdicts")))) for name in _MEASURES}
    return [name for name, relation in first.items() if recipe_of(relation) == task]


def rubric_measure(name: str) -> str:
    """The measure that reads the labels of a rubric; an error if it cannot name the rubric.

    >>> rubric_measure("tone"), rubric_measure("tone, style")
    ('Correctness(task=tone)', 'Correctness(task="tone, style")')
    """
    return str(parse("Correctness", "verdicts")(task=name))


def check_rubric_name(name: str, place: Place) -> None:
    """Raise an error if a rubric has a name that cannot be that of its measure."""
    hint = "Give the rubric a name such as politeness."
    if is_name_of_measure(name):
        raise KaratError(f"{name} is the name of a measure, and so cannot be that of a rubric", place=place, hint=hint)
    try:
        rubric_measure(name)
    except KaratError:
        what = f"{shown(name)} cannot be the name of a rubric, because no measure can be written with it"
        raise KaratError(what, place=place, hint=hint) from None


def rubric_measures(rubrics: Iterable[str]) -> dict[str, Measure]:
    """The measures of rubrics by the names of these, by which they can be asked for."""
    measures = {}
    for name in sorted(rubrics):
        with suppress(KaratError):  # a rubric that no measure can name
            measures[name] = parse(rubric_measure(name), "verdicts")
    return measures


def rubric_names(measures: Iterable[Measure]) -> dict[str, str]:
    """The names of rubrics whose measures are among these, and the names of these measures in full."""
    tasks = {str(measure.get("task")): str(measure) for measure in measures if measure.name == "Correctness"}
    return {name: measure for name, measure in tasks.items() if not is_name_of_measure(name)}


def task_measures(facts: LabelFacts, task: str) -> list[str]:
    """The measures of a recipe, or of a rubric, whose labels are there, for at least one query."""
    return _with_labels(facts, measures_of(task))


def labelled_measures(facts: LabelFacts, failed: Callable[[], FailedLabels], place: str) -> list[str]:
    """The measures whose labels are there, for at least one query; `failed` are labels that failed, for errors."""
    rubrics = map(str, rubric_measures(facts.rubrics).values())
    if measures := _with_labels(facts, (*_DEFAULT, *rubrics)):
        return measures
    if facts.has_citations:
        return ["CitationValid"]
    if not _first_sample(facts) and facts.has_documents:
        hint = "They are for runs: evaluate(truth, run, verdicts=...), or karat evaluate TRUTH RUN --verdicts FILE."
        raise KaratError("all labels are about documents, and none about answers", place=place, hint=hint)
    hint = f"{_why_unused(facts, failed)}`karat measures` lists all measures."
    raise KaratError("no measure can be computed from these labels", hint=hint)


def _with_labels(facts: LabelFacts, names: Sequence[str]) -> list[str]:
    measures = {name: parse(name, "verdicts") for name in names}
    if not facts.has_contradictions:  # people and models may have had no such label to choose
        measures = {name: measure for name, measure in measures.items() if not _counts_contradictions(measure)}
    labelled = [name for name, measure in measures.items() if labelled_samples(measure, facts)]
    of_claims = {f"{name}{_OF_SENTENCES}" for name in labelled}
    return [name for name in labelled if name not in of_claims]  # sentences are counted if there are no claims


def readable_measures(
    facts: LabelFacts, failed: Callable[[], FailedLabels], measures: Selection, place: str
) -> Selection:
    """The measures to compute: of sentences instead of claims, if no claims are labelled, but sentences are.

    One for which no query has any label is an error, which says what to do; `failed` are labels that failed.
    """
    readable: dict[Measure, Sequence[str]] = {}
    for measure, names in measures.items():
        chosen = readable_measure(measure, facts)
        if chosen is None:
            raise _without_labels(measure, facts, failed, place)
        readable[chosen] = (*readable.get(chosen, ()), *names)
    return readable


def readable_measure(measure: Measure, facts: LabelFacts) -> Measure | None:
    """The measure, or the one that counts sentences instead of claims; None if there are no labels for either."""
    of_sentences = [measure(unit="sentences")] if "unit" in measure.definition.parameters else []
    return next((each for each in (measure, *of_sentences) if labelled_samples(each, facts)), None)


def _without_labels(measure: Measure, facts: LabelFacts, failed: Callable[[], FailedLabels], place: str) -> KaratError:
    """The error about a measure whose labels are missing."""
    relation = _missing(measure, _first_sample(facts))[0]
    what = f"{measure} needs labels of the task {relation.task}: {in_words(relation)}"
    variants = [str(each) for each in _variants(measure, facts) if labelled_samples(each, facts)]
    suffice = f"The labels that are there suffice for {enumeration(variants, 'and')}."
    hint = f"{_why_unused(facts, failed)}{suffice if variants else _how_to_label(relation)}"
    return KaratError(f"{what}, and there are none", place=place, hint=hint)


def notes_on_labels(facts: LabelFacts, measures: Selection) -> tuple[str, ...]:
    """What was odd about the labels that measures are computed from, as sentences."""
    lacking = not facts.has_contradictions and any(map(_counts_contradictions, measures))
    instead = [name for measure, names in measures.items() for name in names if _counted_claims(name, measure)]
    count = "counts" if len(instead) == 1 else "count"
    of_sentences = [f"no claims are labelled, so {enumeration(instead, 'and')} {count} sentences"] if instead else []
    return (*facts.notes.sentences, *of_sentences, *([_NO_CONTRADICTIONS] if lacking else []))


def _counted_claims(name: str, measure: Measure) -> bool:
    """Whether a name is that of a measure of claims, although this measure counts sentences."""
    return measure.get("unit") == "sentences" and measure not in meanings(name)


def sheet_measures(task: str, relations: Iterable[Relation]) -> list[str]:
    """The measures of a recipe, or of a rubric, that the labels of a sheet suffice for.

    >>> sheet_measures("faithfulness", [Relation("support", "sentences", "context")])
    ['Faithfulness(unit=sentences)']
    >>> sheet_measures("coverage", [Relation("support", "nuggets", "passage")])
    ['NuggetCoverage']
    """
    if task not in RECIPES:
        return [str(measure) for measure in rubric_measures([task]).values()]
    facts = LabelFacts({0: frozenset(relations)})
    measures = _with_labels(facts, _of_recipe(task))
    return [name for name in measures if name in _DEFAULT] or measures


def _counts_contradictions(measure: Measure) -> bool:
    return measure.name == "Contradiction"


def _variants(measure: Measure, facts: LabelFacts) -> Iterator[Measure]:
    """The measure with each other choice for one of its parameters, and with each rubric."""
    for name, parameter in measure.definition.parameters.items():
        choices = parameter.choices or ((parameter.default, *sorted(facts.rubrics)) if name == "task" else ())
        for choice in choices:
            with suppress(KaratError):  # a rubric that no measure can name
                yield measure(**{name: choice})


def _why_unused(facts: LabelFacts, failed: Callable[[], FailedLabels]) -> str:
    """Why labels that are there are not used, or are not there, as sentences."""
    return "".join((*(f"{note}. " for note in facts.notes.unused), str(failed())))


def failed_extractions(failed: FailedLabels) -> list[tuple[str, int, str]]:
    """Items that could not be extracted for any query, so that no measure reads them: what, how often, and a hint."""
    hint = "Measures of them are left out. `karat judge --retry-failed` asks again."
    extractions = []
    for items, count in failed.never_extracted.items():
        what = f"{_ITEMS[items]} could not be extracted for {plural(count.number, 'query')}{count.reason}"
        extractions.append((what, count.number, hint))
    return extractions


def labelled_samples(measure: Measure, facts: LabelFacts) -> list[int]:
    """The samples of a model in which it was asked for the labels of a measure: for others, it may be asked once."""
    return [sample for sample, labelled in facts.relations.items() if not _missing(measure, labelled)]


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
    return _RECIPE_OF_RELATION.get((relation.items, relation.against), relation.task)


def _how_to_label(relation: Relation) -> str:
    if relation == ANSWERABLE:
        return f"{NEEDS_GOLD}."
    recipe = recipe_of(relation)
    by_model = f" `karat judge results.jsonl --task {recipe}` asks a language model." if recipe in RECIPES else ""
    return (
        f"`karat verdicts template results.jsonl --task {recipe} -o todo.csv` writes a sheet to fill in, and"
        f" `karat verdicts import` reads it.{by_model}"
    )


def _first_sample(facts: LabelFacts) -> frozenset[Relation]:
    """The relations that have labels in the first sample."""
    return next(iter(facts.relations.values()))


def _missing(measure: Measure, labelled: Set[Relation]) -> list[Relation]:
    """The relations that have no label at all; measures of citations need labels of any kind for citations."""
    return [relation for relation in relations_of(measure) if labelled.isdisjoint(_equivalent(relation))]


def _equivalent(relation: Relation) -> list[Relation]:
    """The relations whose labels are read for a relation."""
    against: tuple[Against, ...] = (relation.against,)
    if relation.items == "sentences" and relation.against in _CITATIONS:
        against = _CITATIONS
    elif relation.against == "context":
        against = ("context", "passage")
    return [relation._replace(against=each) for each in against]
