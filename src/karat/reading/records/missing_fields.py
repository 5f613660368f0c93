"""Errors about fields of results that no record has: which fields exist, and a call that works on these records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from karat.errors import KaratError, MessagePart, Parameter, enumeration, shown
from karat.errors.suggestions import SuggestedCall
from karat.reading.bytes.kinds import JSON_IS_READ, QUERIES_TO_ANSWERS, QUERIES_TO_DOCUMENTS
from karat.reading.columns import listed
from karat.reading.columns.spellings import is_spelling
from karat.reading.records.likely_fields import LOOKS_LIKE, likely_fields, maps_queries_to_documents
from karat.reading.records.paths import Record, inner_paths
from karat.reading.records.records import rename_hint
from karat.reading.records.result_fields import AMBIGUOUS, ROLES, ResultFields
from karat.reading.records.sources import RecordSource

_TWO_FILES = "If gold answers and predicted answers are in two files, use karat answers."
_ANSWERS_ARE_READ = (
    "Predicted answers are evaluated by karat answers GOLD PREDICTED, or added to a log with --answers (answers= in"
    " Python)."
)
_GOLD = {"truth", "gold_answers"}
_ELSEWHERE = {
    "truth": "Gold in another file is added with --truth (truth= in Python).",
    "gold_answers": "Gold in another file is added with --truth (truth= in Python).",
    "answer": "Answers in another file are added with --answers (answers= in Python).",
}
"""what to do about fields that can be in another file"""
_TASKS = {("answer", "retrieved"): "faithfulness", ("answer",): "answer_relevance", ("retrieved",): "context"}
"""tasks of a judge that need no gold, by the outputs that they are about"""
_MOST_PATHS = 12  # in a message
EXAMPLES = 100
"""records that show which fields there are"""


@dataclass(frozen=True)
class Lacking:
    """What results lack: fields that no record has.

    `alternatives` are the fields that one or another way to evaluate or label results needs, `present` those that any
    record has, and `wrong` those that were given a name that no record has. If results are `labelled`, a task decides
    which fields are needed.
    """

    alternatives: Sequence[Sequence[str]]
    present: Collection[str]
    wrong: Sequence[str] = ()
    labelled: bool = False

    def __bool__(self) -> bool:
        return all(map(self.fields, self.alternatives))

    def fields(self, alternative: Sequence[str]) -> list[str]:
        """The fields that one of the alternatives lacks."""
        missing = [field for field in alternative if field not in self.present]
        return [*missing, *(field for field in self.wrong if field not in missing)]

    def error(self, fields: ResultFields, source: RecordSource, notes: Sequence[str] = ()) -> KaratError:
        """The error that names all of them, the fields that exist, and what to do; `notes` are on other fields."""
        examples = [record for _, record in islice(source.plain, EXAMPLES)]
        names = fields.names
        if (
            all("query" in self.fields(each) for each in self.alternatives)
            and not self.present
            and names["query"] == "query"
            and maps_queries_to_documents(examples[0])
        ):
            what = f"this is {QUERIES_TO_DOCUMENTS}, not results"
            return KaratError(what, place=source.name, hint=JSON_IS_READ)
        if not self.present and len(examples) == 1 and _maps_queries_to_answers(examples[0]):
            what = f"this is {QUERIES_TO_ANSWERS}, not results"
            return KaratError(what, place=source.name, hint=_ANSWERS_ARE_READ)
        repair = min((self._repair(each, fields, source, examples) for each in self.alternatives), key=len)
        sentences = [f" {note[0].upper()}{note[1:]}." for note in notes]
        hint = [*repair.hint(self, fields, source), *sentences, *SuggestedCall.look(source.name)]
        existing = _existing(examples, fields, source)
        wanted = [names[field] for field in repair.missing]
        absent = [name for name in wanted if not any(name in example for example in examples)]
        if absent:
            nouns = "field" if len(absent) == 1 else "fields"
            what = f"no {nouns} {enumeration([*map(shown, absent)], 'and')}; the fields are {_listed(existing)}"
            return KaratError(what, place=source.name, hint=hint)
        are = "is" if len(wanted) == 1 else "are"
        nouns = "field" if len(wanted) == 1 else "fields"
        others = _listed([name for name in existing if name not in wanted])
        what = f"the {nouns} {enumeration([*map(shown, wanted)], 'and')} {are} null on every line"
        return KaratError(f"{what}; the other fields are {others}", place=source.name, hint=hint)

    def _repair(
        self, alternative: Sequence[str], fields: ResultFields, source: RecordSource, examples: Sequence[Record]
    ) -> _Repair:
        missing = self.fields(alternative)
        used = [*(fields.names[field] for field in self.present), *source.used]
        wrong = {field: fields.names[field] for field in missing}
        likely = {} if "*" in source.used else likely_fields(examples, missing, used, wrong)
        usual = {} if source.shape is None else source.shape.left_out
        likely = {field: name for field, name in likely.items() if field not in usual}
        outputs = [field for field in ("answer", "retrieved") if field not in missing and field not in self.present]
        taken = [*used, *likely.values()]
        others = {} if "*" in source.used else likely_fields(examples, outputs, taken)
        return _Repair(missing, likely, {*usual}, others)


@dataclass(frozen=True)
class _Repair:
    """What to do about missing fields: the paths that they likely have, and names that only need to be left out."""

    missing: list[str]
    likely: dict[str, str]
    usual: set[str]
    others: dict[str, str]
    """paths of outputs that are not missing, but that a judge can label"""

    @property
    def without(self) -> list[str]:
        """The fields for which nothing fits."""
        return [field for field in self.missing if field not in self.likely and field not in self.usual]

    def __len__(self) -> int:
        return 10 * len(self.without) + len(self.missing)

    def hint(self, lacking: Lacking, fields: ResultFields, source: RecordSource) -> list[MessagePart]:
        names = {field: name for field, name in fields.given.items() if field not in self.missing} | self.likely
        if not self.without:
            other = "If it has another name" if len(self.missing) == 1 else "If they have other names"
            return [f"{other}, use ", SuggestedCall.again(fields=names), ".", *self._either(names, lacking)]
        nothing = [f"{LOOKS_LIKE[field]} ({field})" for field in self.without]
        # A field may have a usual name, and contain something else.
        named = [name for name in fields.present for field in self.without if is_spelling(name, ROLES[field])]
        examples = {
            name: _first_value(source, name) for name in dict.fromkeys(named) if name not in fields.names.values()
        }
        contents = [f"{name} is {shown(value)}" for name, value in examples.items() if value is not None]
        contents += [f"{name} is null on every line" for name, value in examples.items() if value is None]
        hint: list[MessagePart] = [f"No field looks like {enumeration(nothing, 'or')}{_after_colon(contents)}."]
        given = {"fields": names} if names else {}
        there = {*lacking.present, *self.likely}
        outputs = tuple(field for field in ("answer", "retrieved") if field in there)
        is_only_gold = {*self.without} <= _GOLD
        if is_only_gold and outputs and not lacking.labelled:
            all_names = names | self.others
            outputs = tuple(field for field in ("answer", "retrieved") if field in {*there, *self.others})
            judge: dict[str, Any] = {"task": _TASKS[outputs], "model": "NAME", "verdicts": "verdicts.jsonl"}
            judge |= {"records": source.given_path} if source.given_path else {}
            judge |= {"fields": all_names} if all_names else {}
            hint += [" A language model can judge what has no gold: ", _judge(source.name, judge), "."]
            again: list[MessagePart] = [
                " Gold in another file is added with ",
                SuggestedCall.again(truth="GOLD", **given),
                ".",
            ]
            hint += [f" There are none in {source.gold}, either."] if source.gold else again
        elif lacking.labelled and outputs and "query" not in self.without:
            task = _TASKS[outputs]
            hint += [f" The task {task} does not need it: ", SuggestedCall.again(task=task, **given), "."]
        elif self.without == ["answer"] and not lacking.labelled:
            hint += [f" {_ELSEWHERE['answer']}"]
        elif fields.present:
            there_are = "If one is" if len(self.without) == 1 else "If some are"
            option = Parameter("fields", names | dict.fromkeys(self.without, "NAME"))
            hint += [f" {there_are} there, use ", option, "."]
        if "query" in self.without and not lacking.labelled:
            hint += [f" {_TWO_FILES}"]
        return hint

    def _either(self, names: Mapping[str, str], lacking: Lacking) -> list[MessagePart]:
        """What to do if a name that may be that of gold documents or of gold answers is the other one."""
        for field, instead, content in (("truth", "gold_answers", "answers"), ("gold_answers", "truth", "documents")):
            name = self.likely.get(field)
            if name in AMBIGUOUS and instead not in lacking.present and instead not in self.likely:
                others = {key: each for key, each in names.items() if key != field} | {instead: name}
                return [f" If {name} contains gold {content}, use ", SuggestedCall.again(fields=others), "."]
        return []


def _listed(paths: Sequence[str]) -> str:
    """Paths in a message: fewer, if they are long."""
    return listed(paths, _MOST_PATHS) if any("." in path for path in paths) else listed(paths)


def _after_colon(texts: Sequence[str]) -> str:
    return f": {enumeration(texts, 'and')}" if texts else ""


def _first_value(source: RecordSource, name: str) -> Any:
    values = (record.get(name) for _, record in islice(source.plain, EXAMPLES))
    return next((value for value in values if value is not None), None)


def _judge(name: str, parameters: Mapping[str, Any]) -> SuggestedCall:
    return SuggestedCall.of("judge", name, **parameters)


def _existing(examples: Sequence[Record], fields: ResultFields, source: RecordSource) -> list[str]:
    """The paths that exist in the records, without objects and lists that others are in."""
    paths = [path for path in dict.fromkeys(p for each in examples for p in inner_paths(each)) if ".0." not in path]
    around = {path.rpartition(".")[0].removesuffix(".*") for path in paths}
    tops = {path.partition(".")[0] for path in paths}
    later = [] if source.shape else [name for name in fields.present if name not in tops]
    return list(dict.fromkeys([*(path for path in paths if path not in around), *later]))


def hint_about_missing(
    source: RecordSource, records: Sequence[Record], fields: ResultFields, present: Collection[str], field: str
) -> str:
    """What to do if the other field of a part is missing, in a finding."""
    taken = [*(fields.names[name] for name in present), *source.used]
    if likely := likely_fields(records, [field], taken):
        return f"If the field has another name, use {rename_hint(likely)}"
    nothing = f"No field looks like {LOOKS_LIKE[field]} ({field})."
    is_joined = field in _GOLD and source.gold
    elsewhere = f"There are none in {source.gold}, either." if is_joined else _ELSEWHERE.get(field, "")
    return f"{nothing} {elsewhere}".strip()


def wrong_names(fields: ResultFields, read: Collection[str], present: Collection[str]) -> list[str]:
    """The fields of these that were given a name that no record has; one that is null everywhere is there."""
    wrong = [field for field, name in fields.given.items() if field not in present and name not in fields.present]
    return [field for field in wrong if field in read]


def _maps_queries_to_answers(record: Record) -> bool:
    """Whether this is `{query: answer}`: a question has more words than the name of a field, and an id has digits."""
    names = [str(name) for name, answer in record.items() if isinstance(answer, str)]
    are_queries = (len(name.split()) > 2 or any(map(str.isdigit, name)) for name in names)
    return bool(names) and len(names) == len(record) and all(are_queries)
