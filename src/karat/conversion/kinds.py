"""What a file contains: a run, ground truth, answers, results or texts, judging by its columns or fields.

What cannot be known is an error that asks for it: a wrong guess would be written to a file.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from karat.errors import KaratError, did_you_mean, enumeration, shown
from karat.sources.columns import ALIASES, find_column
from karat.sources.formats import Format
from karat.sources.input_file import InputFile
from karat.sources.part_files import part_files

if TYPE_CHECKING:
    from karat.sources.arrow_blocks import ArrowFile

Kind = Literal["run", "truth", "answers", "results", "texts"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_CONTENT = "a run, ground truth, answers, results or texts (queries, a corpus)"
_START = 1 << 16  # bytes
_LINES = 20
_TREC_COLUMNS: dict[int, Kind] = {4: "truth", 6: "run"}
_BY_SUFFIX: dict[str, Kind] = {".qrels": "truth", ".qrel": "truth", ".run": "run"}
_GRADES = ("grade", "relevance", "rel", "label", "rating", "judgment", "judgement")
# The name of a member of an object, and how its value begins.
_MEMBER = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*(.)')
TEXT_NAMES = {"text", "contents", "content", "title", "body", "passage_text"}


def check_kind(name: object) -> Kind:
    """A kind by its name."""
    if name not in KINDS:
        hint = f"{did_you_mean(name, KINDS)} It is one of {enumeration(KINDS, 'and')}.".strip()
        raise KaratError(f"{shown(name)} is not what a file can contain", hint=hint)
    return name


def kind_of_file(file: InputFile, form: Format, suffix: str) -> Kind:
    """What a file of this format contains. If its content leaves that open, the suffix of the output may say it."""
    found = _kind_of_content(file, form) or _BY_SUFFIX.get(suffix)
    if found is None:
        raise _unknown_kind(file.name)
    return found


def kind_of_object(source: object, suffix: str) -> Kind:
    """What a Python object contains: a data frame is told by its columns; for others, the output may say it."""
    columns = getattr(source, "columns", ()) if hasattr(source, "__arrow_c_stream__") else ()
    found = kind_of_columns(name for name in columns if isinstance(name, str)) or _BY_SUFFIX.get(suffix)
    if found is None:
        raise _unknown_kind("the source")
    return found


def kind_of_roles(columns: Mapping[str, str]) -> Kind | None:
    """What a table contains if columns with these roles are named: grades are those of ground truth."""
    roles = set(columns)
    return "truth" if "grade" in roles else "run" if roles & {"score", "rank"} else None


def _unknown_kind(where: str) -> KaratError:
    what = f"it cannot be known whether this is {_CONTENT}"
    return KaratError(what, where=where, hint="Say it with --as, for example --as run (in Python kind='run').")


def kind_of_columns(names: Iterable[str]) -> Kind | None:
    """What a table or records with these columns or fields contain; None if that cannot be known."""
    plain = [name.strip().casefold().replace("-", "_") for name in names]
    query = find_column(plain, "query")
    doc = find_column(plain, "doc", (query,))
    has_grades = any(name in _GRADES for name in plain)
    has_scores = find_column(plain, "score") is not None or find_column(plain, "rank") is not None
    has_texts, has_answers = bool(TEXT_NAMES & set(plain)), _any_of(plain, "gold_answers") or _any_of(plain, "answer")
    if {"truth", "retrieved"} & set(plain) or (_any_of(plain, "gold_answers") and "answer" in plain):
        return "results"
    if query and doc and (has_grades or has_scores):
        # BEIR writes grades into a column named score, with these names of the other columns.
        is_beir = {"query_id", "corpus_id", "score"} <= set(plain)
        return None if has_grades == has_scores or is_beir else "truth" if has_grades else "run"
    if has_texts == has_answers:
        return None
    return "answers" if has_answers else "texts"


def other_fields(names: Iterable[str]) -> list[str]:
    """Fields of records that are neither the question nor its answers."""
    return [name for name in names if not any(_any_of([name], field) for field in ("query", "gold_answers", "answer"))]


def _any_of(names: Sequence[str], field: str) -> bool:
    return field in names or any(name in names for name in ALIASES[field])


def names_in(file: InputFile, form: Format) -> list[str]:
    """The columns of a table with a header, or the fields of the first record; nothing for other content."""
    if form in ("parquet", "feather"):
        return list(arrow_files(file, form)[0].schema().names)
    start = file.start(_START).decode(errors="replace")
    return list(_first_object(start)) if form in ("json", "jsonl") else (_first_rows(start, form) or [[]])[0]


def _kind_of_content(file: InputFile, form: Format) -> Kind | None:
    start = "" if form in ("parquet", "feather") else file.start(_START).decode(errors="replace")
    if form in ("json", "jsonl"):
        return kind_of_columns(_first_object(start)) or _kind_of_json(start, is_single=form == "json")
    if form in ("parquet", "feather"):
        return kind_of_columns(names_in(file, form))
    rows = _first_rows(start, form)
    if not rows:
        raise KaratError("the file is empty", where=file.name)
    if form == "trec":
        return _TREC_COLUMNS.get(min(len(rows[0]), 6))
    has_texts = all(len(row) == 2 and len(row[1].split()) > 1 for row in rows)
    return kind_of_columns(rows[0]) or ("texts" if has_texts else None)


def _first_rows(start: str, form: Format) -> list[list[str]]:
    """The first rows of a text in columns, without blank lines and comments."""
    lines = [line for line in start.splitlines() if line.strip() and not line.startswith("#")][:_LINES]
    if form == "trec":
        return [line.split() for line in lines]
    return list(csv.reader(lines, delimiter="\t" if form == "tsv" else _delimiter(lines))) if lines else []


def _delimiter(lines: Sequence[str]) -> str:
    return next((mark for mark in ",;\t" if mark in lines[0]), ",")


def arrow_files(file: InputFile, form: Format) -> list[ArrowFile]:
    """The Parquet or Feather files of a table: one, or those in a folder or of a pattern."""
    from karat.sources.arrow_blocks import ArrowFile

    kind: Literal["parquet", "feather"] = "parquet" if form == "parquet" else "feather"
    several = part_files(file.path)
    return [ArrowFile(InputFile(path), kind) for path in several[1]] if several else [ArrowFile(file, kind)]


def _first_object(start: str) -> Mapping[str, object]:
    """The first JSON object of a text, with only the first character of each value if it goes on after the text."""
    try:
        value, _ = json.JSONDecoder().raw_decode(start, max(start.find("{"), 0))
    except (ValueError, RecursionError):
        members = _MEMBER.findall(start)
        # Where the first value is an object or a list, the next name is one in it.
        return dict(members[:1] if members and members[0][1] in "{[" else members)
    return value if isinstance(value, dict) else {}


def _kind_of_json(start: str, *, is_single: bool) -> Kind | None:
    """What JSON without records contains: `{query: "answer"}` and SQuAD's format are answers."""
    value = _first_object(start)
    is_object = is_single and bool(value) and start.lstrip()[:1] == "{"
    is_texts = all(isinstance(each, str) and each not in ("{", "[") for each in value.values())
    return "answers" if is_object and (is_texts or _is_squad(value)) else None


def _is_squad(value: Mapping[str, object]) -> bool:
    articles = value.get("data")
    return isinstance(articles, list) and all(isinstance(each, dict) and "paragraphs" in each for each in articles)
