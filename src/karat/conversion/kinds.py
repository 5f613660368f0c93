"""What a file contains: a run, ground truth, answers, results or texts, judging by its columns or fields.

If that is not clear, an error asks for it: a wrong guess would be written to a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from karat.errors import KaratError, Place, did_you_mean, enumeration, shown
from karat.files.input_file import InputFile
from karat.files.names import Format, is_arrow
from karat.json_decoding import decode_json
from karat.sources.elasticsearch import elasticsearch_content
from karat.sources.kinds import Kind, kind_of_columns
from karat.sources.result_fields import names_by_field
from karat.sources.samples import sample

KINDS: tuple[Kind, ...] = get_args(Kind)

_CONTENT = "a run, ground truth, answers, results or texts (queries, a corpus)"
_TREC_COLUMNS: dict[int, Kind] = {4: "truth", 6: "run"}
_BY_SUFFIX: dict[str, Kind] = {".qrels": "truth", ".qrel": "truth", ".run": "run"}


def check_kind(name: object) -> Kind:
    """A kind by its name."""
    if name not in KINDS:
        hint = f"{did_you_mean(name, KINDS)} It is one of {enumeration(KINDS, 'and')}.".strip()
        raise KaratError(f"{shown(name)} is not a kind of content", hint=hint)
    return name


def kind_of_file(file: InputFile, form: Format, suffix: str) -> Kind:
    """What a file of this format contains. If its content leaves that open, the suffix of the output may say it."""
    found = _kind_of_content(file, form) or _BY_SUFFIX.get(suffix)
    if found is None:
        if form == "json":
            decode_json(file.read_all(), file.name, "Is the file complete?")  # invalid JSON is the better error
        raise _unknown_kind(file.name)
    return found


def check_suffix(kind: Kind, path: str, suffix: str) -> None:
    """Refuse to write a run to a file that is named as ground truth, and the other way round."""
    named = _BY_SUFFIX.get(suffix, kind)
    if named != kind:
        nouns = {"run": "a run", "truth": "ground truth"}
        what = f"the file is named as {nouns[named]}, but this is {nouns.get(kind, kind)}"
        raise KaratError(what, place=path, hint="Use the suffix .trec, or choose a format with --output-format.")


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


def _unknown_kind(place: Place | str) -> KaratError:
    what = f"cannot tell whether this is {_CONTENT}"
    return KaratError(what, place=place, hint="Use --as, for example --as run (in Python kind='run').")


def other_fields(names: Iterable[str]) -> list[str]:
    """Fields of records that are not the question."""
    listed = list(names)
    queries = names_by_field(listed)["query"]
    return [name for name in listed if name not in queries]


def names_in(file: InputFile, form: Format) -> Sequence[str]:
    """The columns of a table, or the fields of the first records; nothing for a TREC file."""
    found = sample(file, form)
    return tuple(found.value) if isinstance(found.value, dict) else found.names


def _kind_of_content(file: InputFile, form: Format) -> Kind | None:
    if not (is_arrow(form) or file.first_byte()):
        raise KaratError("the file is empty", place=file.name)
    if form == "trec":
        lines = (line for _, line in file.lines() if line and not line.startswith(b"#"))
        return _TREC_COLUMNS.get(min(len(next(lines, b"").split()), 6))
    names = names_in(file, form)
    if (found := kind_of_columns(names)) or form not in ("csv", "tsv", "json"):
        return found
    start = sample(file, form)
    if form == "json":
        content = elasticsearch_content(start.value) if isinstance(start.value, dict) else None
        return "answers" if _are_answers(start.value) else None if content == "search" else content
    rows = [names, *(list(record.values()) for record in start.records)]
    return "texts" if all(len(row) == 2 and len(row[1].split()) > 1 for row in rows) else None


def _are_answers(value: object) -> bool:
    """Whether a JSON value is `{query: "answer"}`, or in SQuAD's format."""
    if not isinstance(value, dict) or not value:
        return False
    articles = value.get("data")
    is_squad = isinstance(articles, list) and all(isinstance(each, dict) and "paragraphs" in each for each in articles)
    return is_squad or all(isinstance(each, str) for each in value.values())
