"""Records, one per question: JSON objects, one a line, or dictionaries; and their fields, whatever they are called."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from karat.errors import KaratError, did_you_mean, shown
from karat.sources.text_file import TextFile

Record = Mapping[str, Any]

FIELDS = ("query", "truth", "retrieved", "gold_answers", "answer", "contexts")


# What other systems call the fields.
ALIASES = {
    "query": ("id", "query_id", "question_id", "qid", "question", "prompt", "input", "user_input"),
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
    """What each field is called: as we call it, unless another name is given."""
    if fields is not None and not isinstance(fields, Mapping):
        hint = 'Give a mapping, as {"query": "id"}.'
        raise KaratError(f"fields={shown(fields)} says no names of fields", hint=hint)
    for role, name in (fields or {}).items():
        if role not in FIELDS:
            hint = f"{did_you_mean(str(role), FIELDS)} The fields are {', '.join(FIELDS)}.".strip()
            raise KaratError(f"{shown(role)} is no field of results", hint=hint)
        if not isinstance(name, str) or not name:
            raise KaratError(f"{shown(name)} is not the name of a field", hint=f"Give the name of {role} as text.")
    return {role: role for role in FIELDS} | dict(fields or {})


def rename_hint(role: str, name: str) -> str:
    """How to name a field, on the command line and in Python."""
    in_python = json.dumps({role: name}, ensure_ascii=False)
    return f"--field {shlex.quote(f'{role}={name}')} (in Python fields={in_python})."


def field_value(record: Record, name: str) -> Any:
    """A field of a record, None where it has none; a dot goes into an object, unless a key is written so."""
    if name in record:
        return record[name]
    outer, dot, inner = name.partition(".")
    inside = record.get(outer) if dot else None
    return field_value(inside, inner) if isinstance(inside, Mapping) else None


def records_from_list(records: Sequence[Record], name: str) -> Iterator[tuple[str, Record]]:
    """Each record with its place."""
    for at, record in enumerate(records):
        where = f"{name}[{at}]"
        if not isinstance(record, Mapping):
            raise KaratError(f"{shown(record)} is not a record", where=where, hint="A record is a dictionary.")
        yield where, record


def records_from_json_lines(source: TextFile, read: Iterable[str], hint: str) -> Iterator[tuple[str, Record]]:
    """Each object of a file of JSON lines, with its place; `read` are the names of the fields that will be read."""
    # A field that comes twice is looked for only where its name does: to look at every key of every object makes
    # parsing take half as long again. A quotation mark in a text is escaped, so that texts are not taken for names.
    quoted = {name.partition(".")[0]: _quoted(name.rpartition(".")[2]) for name in read}
    first = True
    for number, line in source.lines():
        if not line:
            continue
        where = f"{source.name}:{number}"
        record = _parsed(line, _QUICK, where, first, hint)
        if not isinstance(record, dict):
            raise _no_object(line, f"{shown(record)} is not an object", where, first, hint)
        if any(line.count(quoted[name]) > 1 for name in quoted.keys() & record.keys()):
            record = _parsed(line, _CAREFUL, where, first, hint)
        yield where, record
        first = False


def _quoted(name: str) -> bytes:
    return json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass")


def parse_json(data: bytes, where: str, hint: str) -> Any:
    """What a file of JSON holds as a whole, no key twice in an object."""
    return _parsed(data, _CAREFUL, where, False, hint)


def is_single_json_value(data: bytes) -> bool:
    """Whether this is one value of JSON, as far as it can be read; else values follow each other, as lines do."""
    text = data.decode(errors="replace").lstrip()
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return True
    return not text[end:].strip()


def _parsed(line: bytes, decoder: json.JSONDecoder, where: str, first: bool, hint: str) -> Any:
    """What a line holds."""
    if b"\0" in line:
        binary = "This is binary data, or UTF-16: save the file as UTF-8."
        raise KaratError("there is a NUL byte in this line", where=where, hint=binary)
    try:
        text = line.decode()
        return decoder.decode(text)
    except UnicodeDecodeError as error:
        bad = shown(line[error.start : error.start + 1])
        what = f"not UTF-8: {bad} in column {error.start + 1}"
        raise KaratError(what, where=where, hint="Save the file as UTF-8.") from None
    except json.JSONDecodeError as error:
        at = f"{'' if error.lineno == 1 else f'line {error.lineno}, '}column {error.colno}"
        what = f"not JSON: {error.msg} in {at}"
        raise _no_object(line, what, where, first, hint, cut=error.pos >= len(text)) from None
    except RecursionError:
        raise KaratError("objects are nested too deeply", where=where, hint=hint) from None
    except KaratError as error:  # from the decoder's hooks, which do not know the place
        raise KaratError(error.what, where=where, hint=error.hint) from None
    except ValueError:
        what = "there is a number of thousands of digits"
        raise KaratError(what, where=where, hint="Write it as text.") from None


def _no_object(line: bytes, what: str, where: str, first: bool, hint: str, cut: bool = False) -> KaratError:
    """A line that holds no object. The first one shows whether this is JSON that is not in lines."""
    if first and line.lstrip().startswith(b"["):
        what = "this is one list, not one object per line"
        hint = "Put each object on a line of its own: jq -c '.[]' results.json > results.jsonl"
    elif first and cut and line.lstrip().startswith(b"{"):
        what = "this object does not end on its line"
        hint = "Put each object on one line: jq -c . results.json > results.jsonl"
    return KaratError(what, where=where, hint=hint)


def _no_constant(name: str) -> None:
    raise KaratError(f"not JSON: {name} is no number there", hint="Write null, or leave it out.")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise KaratError(f"the key {shown(key)} comes twice in one object", hint="Keep one of them.")
        found[key] = value
    return found


_QUICK = json.JSONDecoder(parse_constant=_no_constant)
_CAREFUL = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_each_key_once)
