"""What a command line says about its files: how they are read, and the texts, labels and groups in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from karat.data.caching import cached_property
from karat.errors import KaratError, did_you_mean, enumeration, shown
from karat.options import UNKNOWN_LABELS, Order, Unknown, check_order
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import FORMATS
from karat.reading.columns import GivenNames, IfPresent, plain_names
from karat.reading.columns.spellings import Role
from karat.reading.pairs.files import DescribedFile
from karat.reading.records.gold import OtherSource
from karat.reading.records.records import field_names
from karat.reading.shapes import check_tool_or_format

if TYPE_CHECKING:
    from karat.analysis.query_groups import QueryColumn
    from karat.reading.texts.texts import FoundTexts

Side = Literal["truth", "run", "queries", "corpus"]
_PAIRS: tuple[Side, ...] = ("truth", "run")
_ROLES: dict[Side, tuple[Role | Literal["id", "text", "title"], ...]] = {
    "truth": ("query", "doc", "grade"), "run": ("query", "doc", "score", "rank"),
    "queries": ("id", "text"), "corpus": ("id", "text", "title"),
}  # fmt: skip
_BUILT_IN = ("length", "relevant")


@dataclass(frozen=True)
class Inputs:
    """What is evaluated, and how its files are read: formats, columns, fields, texts and labels.

    A column that is given for ground truth and runs together is `IfPresent`: only one of them needs to have it.
    """

    formats: Mapping[Side, str] = field(default_factory=dict)
    columns: Mapping[Side, GivenNames] = field(default_factory=dict)
    split: str | None = None
    """of a BEIR data set"""
    fields: Mapping[str, str] = field(default_factory=dict)
    """the names of fields in results"""
    records: str | None = None
    """the path of results inside an object"""
    field_option: str = "--field"
    """where the fields are given, for messages"""
    queries: Sequence[DescribedFile] = ()
    corpus: Sequence[DescribedFile] = ()
    shows_texts: bool = False
    """whether the texts of queries and documents are shown, or only used to group queries and to match documents"""
    verdicts: tuple[str, ...] = ()
    author: str | None = None
    unknown: Unknown = UNKNOWN_LABELS.default
    correct: bool = False
    """whether the labels of people correct the means of a model"""
    order: Order | None = None
    """what the documents of results are sorted by"""
    truth: str | None = None
    """gold for results, or ground truth for runs, in a file that is not the first one"""
    answers: str | None = None
    """predicted answers for results"""
    accepts_saved: bool = False
    """whether a file may also contain saved scores"""
    force: bool = False
    """whether saved scores may have been evaluated against other ground truth than the one given"""

    @classmethod
    def of(cls, values: Mapping[str, Any], *, shows_texts: bool = False, **others: Any) -> Inputs:
        """What the options of a command say; what cannot be read, or has no effect, is an error before any work."""
        inputs = parse_inputs(values)
        is_shown = shows_texts or values.get("report") is not None or values.get("explain") is not None
        unknown = values.get("unknown", UNKNOWN_LABELS.default)
        inputs = replace(
            inputs,
            fields=parse_fields(values["fields"]),
            records=values["records"],
            queries=inputs.texts("queries", values.get("queries", ())),
            corpus=inputs.texts("corpus", values["corpus"]),
            shows_texts=is_shown,
            order=parse_order(values),
            truth=values.get("gold"),
            answers=values.get("answers"),
            verdicts=tuple(values.get("verdicts", ())),
            author=values.get("author"),
            # A gate can also decide by the worst value of saved scores.
            unknown=UNKNOWN_LABELS.default if unknown == "worst" else unknown,
            correct=values.get("correct", False),
            force=values.get("force", False),
            **others,
        )
        if inputs.queries and not is_shown and values.get("by") != "length":
            hint = "Add --by length, or leave --queries out."
            raise KaratError("--queries is only used to group by length", hint=hint)
        check_texts(inputs.queries, "queries")
        check_texts(inputs.corpus, "corpus")
        for option, is_given in (("author", inputs.author), ("unknown", inputs.unknown != UNKNOWN_LABELS.default)):
            if is_given and not inputs.verdicts:
                hint = f"Add --verdicts FILE, or leave --{option} out."
                raise KaratError(f"--{option} is about labels, and there are none", hint=hint)
        return inputs

    def for_any_file(self) -> list[str]:
        """The names of columns that are given for ground truth and runs together."""
        names = (name for columns in self.columns.values() for name in columns.values())
        return [name.name for name in names if isinstance(name, IfPresent)]

    def texts(self, side: Literal["queries", "corpus"], names: Sequence[str]) -> list[DescribedFile]:
        """The files of `--queries` and `--corpus`, each `FILE` or `FILE:COLUMN`."""
        from karat.cli.files import split_texts

        files = []
        for name in names:
            path, column = split_texts(name)
            columns = {**self.columns.get(side, {}), **({} if column is None else {"text": column})}
            files.append(DescribedFile(InputFile(path), columns, self.formats.get(side)))
        return files

    def described(self, file: InputFile, side: Side) -> DescribedFile:
        """A file of ground truth or a run, with what is known about it."""
        return DescribedFile(file, self.columns.get(side), self.formats.get(side))

    def joined(self, truth: InputFile | None) -> dict[str, OtherSource]:
        """What is joined to results, as arguments of an evaluation; it is read once for all of them."""
        sources: dict[str, OtherSource] = {}
        if truth is not None:
            # The name of a tool is that of the one that wrote the results.
            form = form if (form := self.formats.get("truth")) in FORMATS else None
            sources["truth"] = OtherSource.of(truth, "truth", self.fields, self.columns.get("truth"), form)
        if self.answers is not None:
            sources["answers"] = OtherSource.of(self.answers, "answers", self.fields)
        return sources

    def query_texts(self, by: object, queries: Iterable[str]) -> FoundTexts | None:
        """The texts of queries, if they are to be grouped by length and their texts are given."""
        from karat.reading.texts.texts import read_texts

        return read_texts(self.queries, set(queries), "queries") if self.queries and by == "length" else None

    def corpus_to_match(self, match: str) -> Sequence[DescribedFile]:
        """The texts of documents, if these are matched by their texts; texts that are not shown must be."""
        return self.corpus if not self.shows_texts or _matches_texts(match) else ()

    def corpus_to_show(self, match: str) -> Sequence[DescribedFile] | None:
        """The texts of documents that are to be read to show them; None if they were read to match documents."""
        return None if _matches_texts(match) else self.corpus or None

    @cached_property
    def labels(self) -> dict[str, Any]:
        """The labels and whose of them count, as arguments of an evaluation; the files are read once."""
        if not self.verdicts:
            return {}
        from karat.grounding.verdict_file.reading import read_verdict_records

        return {"verdicts": read_verdict_records(list(self.verdicts)), "author": self.author}


def _matches_texts(match: str) -> bool:
    from karat.matching.matchers import matcher_of

    return matcher_of(match).field == "content"


def check_texts(files: Sequence[DescribedFile], content: Literal["queries", "corpus"]) -> None:
    """Reject files of `--queries` and `--corpus` that cannot be read or contain no texts, before any work is done."""
    for described in files:
        from karat.reading.contents.contents import check_text_file
        from karat.reading.texts.text_files import TextFile

        columns = plain_names(described.columns)
        file = TextFile.of(described.file, described.format, columns.get("text"), content)
        check_text_file(file, content, columns)


def read_groups(by: str | None, has_labels: bool) -> str | QueryColumn | None:
    """What `--by` groups queries by: `length`, `relevant`, or a column of a file, as numbers if all values are."""
    if by is None or by in _BUILT_IN:
        return by
    if has_labels and _is_author(by):
        hint = f"To choose whose labels count, use --author {by}."
        raise KaratError(f"--by {by} does not name a group of queries", hint=hint)
    from karat.analysis.query_groups import QueryColumn
    from karat.cli.files import split_column, split_texts
    from karat.reading.texts.text_files import read_values

    file, column = split_texts(by)
    if not column:
        hint = f"Use {', '.join(_BUILT_IN)}, or a file and one of its columns, such as queries.csv:language."
        raise KaratError(f"--by {shown(by)} is not of the form FILE:COLUMN", hint=hint)
    read = read_values(file, column)
    values: dict[str, Any] = {}
    for place, query, value in read.rows:
        if values.setdefault(query, value) != value:
            what = f"query {query} has the value {shown(value)} here, but {shown(values[query])} earlier"
            raise KaratError(what, place=place, hint="Give each query one value.")
    known = [value for value in values.values() if value is not None]
    with suppress(ValueError):
        if all(isinstance(value, str) for value in known):
            values = {query: None if value is None else float(value) for query, value in values.items()}
    return QueryColumn(split_column(by)[1], values, read.notes)


def _is_author(by: str) -> bool:
    from karat.cli.files import split_column

    return (by == "human" or by.startswith("human:")) and not os.path.exists(split_column(by)[0])


def parse_order(values: Mapping[str, Any]) -> Order | None:
    """The value of `--order`: on Spark, it is a column, which is not read here."""
    order: Order | None = values.get("order")
    if values.get("engine") == "spark":
        return None
    try:
        check_order(order)
    except KaratError as error:
        if "engine" in values:
            error.add_hint("With --engine spark, it is a column.")
        raise
    return order


def parse_inputs(values: Mapping[str, Any]) -> Inputs:
    """The values of `--input-format`, `--column` and `--split`."""
    return Inputs(parse_formats(values["formats"]), parse_columns(values["columns"]), values["split"])


def parse_inputs_of_results(values: Mapping[str, Any]) -> Inputs:
    """The same for results, whose fields are not columns; their texts may be elsewhere."""
    inputs = parse_inputs(values)
    if sides := inputs.columns.keys() & {"truth", "run"}:
        what = f"--column names a column of {' and '.join(sorted(sides, reverse=True))}, and these are results"
        raise KaratError(what, hint="Use --field, or queries.text= and corpus.text= for texts.")
    return inputs


def parse_formats(texts: Sequence[str]) -> dict[Side, str]:
    """The formats of files, from texts such as `csv`, for ground truth and runs, and `run=csv`.

    >>> parse_formats(["csv"]), parse_formats(["run=jsonl"])
    ({'truth': 'csv', 'run': 'csv'}, {'run': 'jsonl'})
    """
    formats: dict[Side, str] = {}
    for text in texts:
        prefix, equals, name = (part.strip() for part in text.rpartition("="))
        for side in [_side(prefix, f"--input-format {text}")] if equals else _PAIRS:
            known = check_tool_or_format(name, "input_format")
            if formats.setdefault(side, known) != name:
                raise KaratError(f"--input-format is given twice for the {side}", hint="Keep one of them.")
    return formats


def parse_columns(texts: Sequence[str]) -> dict[Side, dict[str, str | IfPresent]]:
    """The names of columns by role, from texts such as `doc=docno` and `truth.doc=docno`.

    >>> parse_columns(["truth.grade=label", "doc=docno"])
    {'truth': {'grade': 'label', 'doc': IfPresent(name='docno')}, 'run': {'doc': IfPresent(name='docno')}}
    """
    columns: dict[Side, dict[str, str | IfPresent]] = {}
    for text in texts:
        what, equals, name = (part.strip() for part in text.partition("="))
        prefix, dot, role = what.rpartition(".")
        if not (what and equals and name):
            hint = "Write --column doc=docno, or --column run.doc=docno for the runs only."
            raise KaratError(f"--column {shown(text)} is not of the form ROLE=NAME", hint=hint)
        sides = [_side(prefix, f"--column {text}")] if dot else _PAIRS
        known = list(dict.fromkeys(each for side in sides for each in _ROLES[side]))
        if role not in known:
            hint = f"{did_you_mean(role, known)} Columns are {enumeration(known, 'or')}.".strip()
            raise KaratError(f"{shown(role)} is not a column of the {prefix or 'ground truth or of runs'}", hint=hint)
        for side in (side for side in sides if role in _ROLES[side]):
            column = name if dot else IfPresent(name)
            if columns.setdefault(side, {}).setdefault(role, column) not in (name, IfPresent(name)):
                raise KaratError(f"--column {what} is given twice", hint="Keep one of them.")
    return columns


def parse_fields(texts: Sequence[str]) -> dict[str, str]:
    """The names of fields in results files, from texts such as `retrieved=source_nodes`.

    >>> parse_fields(["query=id", "retrieved=response.source_nodes"])
    {'query': 'id', 'retrieved': 'response.source_nodes'}
    """
    names: dict[str, str] = {}
    for text in texts:
        role, equals, name = (part.strip() for part in text.partition("="))
        if not (role and equals and name) or names.get(role, name) != name:
            problem = "is given twice" if role in names else "is not of the form NAME=FIELD"
            raise KaratError(f"--field {shown(text)} {problem}", hint="Write --field retrieved=source_nodes.")
        names[role] = name
    field_names(names)  # a role that does not exist is an error before any file is read
    return names


def _side(name: str, place: str) -> Side:
    known: tuple[Side, ...] = get_args(Side)
    for side in known:
        if side == name:
            return side
    raise KaratError(f"{shown(name)} is not one of {', '.join(known)}", place=place, hint=did_you_mean(name, known))
