"""Read records, one per query: dictionaries, or a file with one JSON object per line; and the names of their fields."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from karat.errors import KaratError, did_you_mean, shown
from karat.sources.input_file import InputFile

Record = Mapping[str, Any]

FIELDS = ("query", "truth", "retrieved", "gold_answers", "answer", "contexts")

# The names that other systems use for these fields.
ALIASES = {
    "query": ("id", "query_id", "question_id", "qid", "question", "prompt", "input", "user_input", "_id"),
    "truth": (
        "ground_truth", "gold", "relevant", "reference_contexts", "expected", "gold_docs", "ground_truth_documents",
    ),
    "retrieved": (
        "source_nodes", "documents", "docs", "contexts", "retrieved_contexts", "results", "retrieved_documents",
        "retrieved_chunks",
    ),
    "gold_answers": (
        "gold_answer", "answers", "ground_truth_answers", "ground_truth_answer", "ground_truth", "references",
        "reference", "reference_answer", "expected_answer", "expected_output", "expected", "target", "gold",
    ),
    "answer": (
        "predicted_answer", "prediction", "prediction_text", "predicted_answers", "generated_answer", "response",
        "output", "completion", "reply", "result",
    ),
}  # fmt: skip


def field_names(fields: Mapping[str, str] | None) -> dict[str, str]:
    """The name of each field in the records: the field's own name, unless `fields` gives another."""
    if fields is not None and not isinstance(fields, Mapping):
        raise KaratError(f"fields={shown(fields)} is not a mapping", hint='For example {"query": "id"}.')
    for field, name in (fields or {}).items():
        if not isinstance(field, str) or field not in FIELDS:
            near = did_you_mean(field, FIELDS)
            hint = f"{near} The fields are {', '.join(FIELDS)}.".strip()
            raise KaratError(f"{shown(field)} is not a field of results", hint=hint)
        if not isinstance(name, str) or not name:
            hint = f"Pass the name of the field for {field} as a string."
            raise KaratError(f"{shown(name)} is not the name of a field", hint=hint)
    return {field: field for field in FIELDS} | dict(fields or {})


def rename_hint(field: str, name: str) -> str:
    """How to give the name of a field, on the command line and in Python."""
    in_python = json.dumps({field: name}, ensure_ascii=False)
    return f"--field {shlex.quote(f'{field}={name}')} (in Python fields={in_python})."


def field_value(record: Record, name: str) -> Any:
    """A field of a record, or None; `a.b` is the field b of the object a, unless the record has a key `a.b`."""
    if name in record:
        return record[name]
    outer, dot, inner = name.partition(".")
    inside = record.get(outer) if dot else None
    return field_value(inside, inner) if isinstance(inside, Mapping) else None


def records_from_list(records: Sequence[Record], name: str) -> Iterator[tuple[str, Record]]:
    """Each record with its place, for errors."""
    for at, record in enumerate(records):
        where = f"{name}[{at}]"
        if not isinstance(record, Mapping):
            raise KaratError(f"{shown(record)} is not a record", where=where, hint="A record is a dictionary.")
        yield where, record


def records_from_json_lines(source: InputFile, read: Iterable[str], hint: str) -> Iterator[tuple[str, Record]]:
    """Each object of a JSON lines file with its place; `read` lists the fields that will be read.

    A field that appears twice in an object is an error.
    """
    # Checking every key of every object would make parsing 50% slower. So a line is only checked if it contains the
    # quoted name of a field twice. Quotation marks inside texts are escaped, so a text cannot contain a quoted name.
    quoted = {name.partition(".")[0]: _quoted(name.rpartition(".")[2]) for name in read}
    first = True
    for number, line in source.lines():
        if not line:
            continue
        where = f"{source.name}:{number}"
        record = _decode(line, _FAST_DECODER, where, first, hint)
        if not isinstance(record, dict):
            raise _not_an_object(line, f"{shown(record)} is not an object", where, first, hint)
        if any(line.count(quoted[name]) > 1 for name in quoted.keys() & record.keys()):
            record = _decode(line, _STRICT_DECODER, where, first, hint)
        yield where, record
        first = False


def _quoted(name: str) -> bytes:
    return json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass")


def parse_json(data: bytes, where: str, hint: str) -> Any:
    """The value of a JSON file; a key that appears twice in an object is an error."""
    return _decode(data, _STRICT_DECODER, where, False, hint)


def is_single_json_value(data: bytes) -> bool:
    """Whether the data is a single JSON value or invalid JSON, and not several values, as in JSON lines."""
    text = data.decode(errors="replace").lstrip()
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return True
    return not text[end:].strip()


def _decode(line: bytes, decoder: json.JSONDecoder, where: str, first: bool, hint: str) -> Any:
    if b"\0" in line:
        encoding = "This is binary data, or UTF-16: save the file as UTF-8."
        raise KaratError("the line contains a NUL byte", where=where, hint=encoding)
    try:
        text = line.decode()
        return decoder.decode(text)
    except UnicodeDecodeError as error:
        bad = shown(line[error.start : error.start + 1])
        what = f"not UTF-8: {bad} at column {error.start + 1}"
        raise KaratError(what, where=where, hint="Save the file as UTF-8.") from None
    except json.JSONDecodeError as error:
        at = f"{'' if error.lineno == 1 else f'line {error.lineno}, '}column {error.colno}"
        what = f"not JSON: {error.msg.removesuffix(' at')} at {at}"
        raise _not_an_object(line, what, where, first, hint, cut=error.pos >= len(text)) from None
    except RecursionError:
        raise KaratError("objects are nested too deeply", where=where, hint=hint) from None
    except KaratError as error:  # from the decoder's hooks, which do not know the line
        raise KaratError(error.what, where=where, hint=error.hint) from None
    except ValueError:
        raise KaratError("a number has thousands of digits", where=where, hint="Write it as text.") from None


def _not_an_object(line: bytes, what: str, where: str, first: bool, hint: str, cut: bool = False) -> KaratError:
    """The error for a line that is not an object. On the first line, detects JSON that is not in lines."""
    if first and line.lstrip().startswith(b"["):
        what = "this is one list, not one object per line"
        hint = "Put each object on a line of its own: jq -c '.[]' results.json > results.jsonl"
    elif first and cut and line.lstrip().startswith(b"{"):
        what = "this object does not end on its line"
        hint = (
            "Results have one object per line: jq -c . results.json > results.jsonl. Ground truth or a run in JSON is"
            " read in Python: evaluate(json.load(file), ...)."
        )
    return KaratError(what, where=where, hint=hint)


def _reject_constant(name: str) -> None:
    raise KaratError(f"not JSON: {name} is not a JSON number", hint="Write null, or leave it out.")


def _reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise KaratError(f"the key {shown(key)} appears twice in one object", hint="Keep one of them.")
        found[key] = value
    return found


_FAST_DECODER = json.JSONDecoder(parse_constant=_reject_constant)
_STRICT_DECODER = json.JSONDecoder(parse_constant=_reject_constant, object_pairs_hook=_reject_repeated_keys)
