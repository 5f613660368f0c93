"""JSON: tell a JSON file from JSON lines, and decode it.

What people write is decoded strictly, where a key that appears twice is an error, and the rest fast. Python's own
decoder finds a key that appears twice, orjson does not: it keeps the last value, as most parsers do, but takes a third
of the time. Files that are large enough for that to matter are written by programs, from mappings that have each key
once. A whole number beyond 64 bits is a float in such a file, which is not an id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from karat.errors import KaratError, Place, shown
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import format_of_name

_START = 1 << 16  # bytes: the first line of JSON lines is rarely longer
_TEXT = rb'"(?:[^"\\]|\\.)*"'
# The first key of an object, and the first character of its value.
_FIRST_KEY = re.compile(rb"\s*\{\s*" + _TEXT + rb"\s*:\s*(.)")
# An object with a key, or a list of objects or texts. The ids of a TREC file may begin with brackets, too.
_JSON = re.compile(rb"[\[\s]*\{\s*(?:" + _TEXT + rb"\s*:|\}|$)|\[[\[\s]*(?:" + _TEXT + rb"\s*[,\]]|\]|$)")
STRICT_UP_TO = 1 << 20  # bytes of a JSON document


def is_json(start: bytes) -> bool:
    """Whether a file begins like JSON."""
    return _JSON.match(start.lstrip()) is not None


def json_or_jsonl(file: InputFile) -> Literal["json", "jsonl"]:
    """The format of a file that begins with `{` or `[`: one JSON value, or a JSON object on each line."""
    start = file.start(_START)
    first, newline, rest = start.lstrip().partition(b"\n")
    if not newline and len(start) == _START:
        # In a long object, the first value of a record is a text or a number; that of a mapping is its documents.
        match = _FIRST_KEY.match(first)
        return "json" if not match or match[1] in b"{[" else "jsonl"
    if not rest.strip():
        return "jsonl" if format_of_name(file.name) == "jsonl" else "json"
    return "jsonl" if _is_complete(first) or (_is_line(first) and _is_line(rest.lstrip())) else "json"


def _is_complete(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _is_line(text: bytes) -> bool:
    """Whether this looks like an object on a line of its own, even if it is damaged."""
    line = text.partition(b"\n")[0].strip()
    return line.startswith(b'{"') and line.endswith((b"}", b'"', b"]"))


class InvalidJsonError(KaratError):
    """Data that is not JSON; `at_end` if it is an unfinished beginning of JSON."""

    def __init__(self, what: str, place: Place | str, hint: str, at_end: bool) -> None:
        super().__init__(what, place=place, hint=hint)
        self.at_end = at_end


def decode_json(data: bytes, place: Place | str, hint: str, *, constants: bool = False) -> Any:
    """The value of a JSON document; a key that appears twice in an object is an error, unless the document is large.

    `hint` says what was expected. With `constants`, NaN and Infinity are numbers, as Python's json writes them.
    """
    if len(data) > STRICT_UP_TO:
        import orjson  # not every command reads JSON, and few read large files

        with suppress(ValueError):  # Python's decoder words the error, with its line and column
            return orjson.loads(data)
    return _decode(data, place, hint, (_DECODER_WITH_CONSTANTS if constants else _STRICT_DECODER).decode)


class JsonFault(NamedTuple):
    """What is wrong in a JSON document that can be read otherwise: NaN or Infinity, or a key that appears twice."""

    path: tuple[str | int, ...]
    """where it is: keys of objects, and positions in lists"""
    error: KaratError
    is_constant: bool
    value: Any
    """the number, or the value of the key that does not count"""


ToleratesFault = Callable[[JsonFault], bool]
"""Whether a JSON document can be read in spite of a fault, because whoever reads it finds it again"""


def decode_with_faults(data: bytes, place: Place | str, hint: str) -> tuple[Any, list[JsonFault]]:
    """The value of a JSON document, and its faults in their order: of a key that appears twice, the first value counts.

    >>> value, faults = decode_with_faults(b'{"q1": {"d1": NaN, "d2": 1, "d2": 2}}', "run.json", "")
    >>> value, [(fault.path, fault.value) for fault in faults]
    ({'q1': {'d1': nan, 'd2': 1}}, [(('q1', 'd1'), nan), (('q1', 'd2'), 2)])
    """
    with suppress(KaratError):
        return decode_json(data, place, hint), []
    repeated: dict[int, list[tuple[str, Any]]] = {}

    def values_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in pairs:
            if key in values:
                repeated.setdefault(id(values), []).append((key, value))
            else:
                values[key] = value
        return values

    decoder = json.JSONDecoder(parse_constant=_Constant, object_pairs_hook=values_of)
    root = [_decode(data, place, hint, decoder.decode)]
    faults = [
        fault._replace(path=fault.path[1:], error=fault.error.but(place=place)) for fault in _faults(root, repeated)
    ]
    return root[0], faults


def decode_entries(file: InputFile, hint: str, kinds: tuple[type, ...]) -> Any:
    """The value of a JSON file. If its kind is one of these, and wrong rows are left out, so are entries with faults.

    Of a list, they become None, so that the others keep their positions.
    """
    if file.rejected is None:
        return decode_json(file.read_all(), file.name, hint)
    value, faults = decode_with_faults(file.read_all(), file.name, hint)
    if faults and not isinstance(value, kinds):
        raise faults[0].error
    for fault in faults:
        at, *inner = fault.path
        file.rejected.add(fault.error.but(place=Place(file.name, field=f"[{at}]" if type(at) is int else shown(at))))
        if isinstance(value, list):
            value[int(at)] = None
        elif inner or fault.is_constant:
            value.pop(at, None)
    return value


def decode_lines(lines: Sequence[bytes], *, strict: bool = False) -> list[Any] | None:
    """The values of JSON lines; None if any of them is invalid.

    If `strict`, a key that appears twice in an object is invalid. A program writes the same keys to each line, so that
    the first lines of a file show whether it does.
    """
    if strict:
        with suppress(KaratError):
            return [_decode(line, "", "", _STRICT_DECODER.decode) for line in lines]
        return None
    import orjson

    try:
        return [*map(orjson.loads, lines)]
    except ValueError:
        return None


def _decode(data: bytes, place: Place | str, hint: str, decode: Callable[[str], Any]) -> Any:
    """The value of a JSON document, by Python's own decoder."""
    if b"\0" in data:
        encoding = "This is binary data, or UTF-16: save the file as UTF-8."
        raise KaratError(f"a NUL byte at {_position(data, data.index(0))}", place=place, hint=encoding)
    try:
        text = data.decode()
        return decode(text)
    except UnicodeDecodeError as error:
        bad = shown(data[error.start : error.start + 1])
        what = f"not UTF-8: {bad} at {_position(data, error.start)}"
        raise KaratError(what, place=place, hint="Save the file as UTF-8.") from None
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg.removesuffix(' at')} at {_position(text, error.pos)}"
        raise InvalidJsonError(what, place, hint, error.pos >= len(text)) from None
    except RecursionError:
        raise KaratError("objects are nested too deeply", place=place, hint=hint) from None
    except KaratError as error:  # from the decoder's hooks, which do not know the place
        raise KaratError(error.what, place=place, hint=error.hint) from None
    except ValueError:
        raise KaratError("a number has thousands of digits", place=place, hint="Write it as text.") from None


def _position(data: bytes | str, at: int) -> str:
    newline: Any = "\n" if isinstance(data, str) else b"\n"
    line, column = data.count(newline, 0, at) + 1, at - data.rfind(newline, 0, at)
    return f"column {column}" if line == 1 else f"line {line}, column {column}"


def _reject_constant(name: str) -> None:
    raise _constant_error(name)


def _constant_error(name: str) -> KaratError:
    return KaratError(f"not JSON: {name} is not a JSON number", hint="Write null, or leave it out.")


def _repeated_key_error(key: str) -> KaratError:
    return KaratError(f"the key {shown(key)} appears twice in one object", hint="Keep one of them.")


def _reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise _repeated_key_error(key)
        values[key] = value
    return values


class _Constant(NamedTuple):
    """NaN, Infinity or -Infinity, where a decoder found it."""

    name: str


def _faults(root: list[Any], repeated: dict[int, list[tuple[str, Any]]]) -> Iterator[JsonFault]:
    """The constants in decoded lists and objects, which become numbers, and the keys that are `repeated` in an object.

    The objects are known by their `id`.
    """
    left: list[tuple[tuple[str | int, ...], dict[Any, Any] | list[Any]]] = [((), root)]
    while left:
        path, container = left.pop()
        inner: list[tuple[tuple[str | int, ...], dict[Any, Any] | list[Any]]] = []
        for key, value in [*container.items()] if isinstance(container, dict) else enumerate(container):
            if isinstance(value, _Constant):
                container[key] = float(value.name)
                yield JsonFault((*path, key), _constant_error(value.name), True, container[key])
            elif isinstance(value, dict | list):
                inner.append(((*path, key), value))
        for key, value in repeated.get(id(container), ()):
            number = float(value.name) if isinstance(value, _Constant) else value
            yield JsonFault((*path, key), _repeated_key_error(key), False, number)
        left += reversed(inner)


_STRICT_DECODER = json.JSONDecoder(parse_constant=_reject_constant, object_pairs_hook=_reject_repeated_keys)
_DECODER_WITH_CONSTANTS = json.JSONDecoder(object_pairs_hook=_reject_repeated_keys)
