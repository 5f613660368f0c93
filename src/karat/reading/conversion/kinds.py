"""What is converted: what the caller says, what the source contains, or what the name of the output says.

If that is not clear, an error asks for it: a wrong guess would be written to a file.
"""

from __future__ import annotations

from collections.abc import Mapping

from karat.errors import KaratError, Parameter, Place, did_you_mean, enumeration, shown
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_json
from karat.reading.bytes.names import Format
from karat.reading.contents import contents
from karat.reading.contents.contents import Kind, kind_of_columns

KINDS: tuple[Kind, ...] = ("run", "truth", "results")

_BY_SUFFIX: dict[str, Kind] = {".qrels": "truth", ".qrel": "truth", ".run": "run"}


def check_kind(name: object, place: str | None = None) -> Kind:
    """A kind by its name."""
    if name in ("answers", "texts"):
        raise KaratError(f"{name} are not converted", place=place, hint="Runs, ground truth and results are.")
    if name not in KINDS:
        hint = f"{did_you_mean(name, KINDS)} It is one of {enumeration(KINDS, 'and')}.".strip()
        raise KaratError(f"{shown(name)} is not a kind of content", hint=hint)
    return name


def kind_of_file(file: InputFile, form: Format, suffix: str) -> Kind:
    """What a file of this format contains. If its content leaves that open, the suffix of the output may say it."""
    found = contents.kind_of_file(file, form) or _BY_SUFFIX.get(suffix)
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
        raise KaratError(
            what, place=path, hint=["Use the suffix .trec, or choose a format with ", Parameter("output_format"), "."]
        )


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
    what = "cannot tell whether this is a run, ground truth or results"
    return KaratError(what, place=place, hint=["Say what it is, for example ", Parameter("kind", "run"), "."])
