"""Decode JSON as fast as orjson and as strictly as Python's own decoder: a key that appears twice is an error.

orjson keeps the last of several equal keys, and makes floats of whole numbers beyond 64 bits. Both can be ruled out by
looking at the bytes, which takes little time. Where they cannot, and where orjson finds an error, Python's decoder
reads the data again: it decides what is valid, and its errors name the line and the column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain
from typing import Any

from karat.errors import KaratError, Place, shown

# The colon after a key comes after a quotation mark or white space; colons in texts are often counted too.
_BEFORE_COLON = (b'":', b" :", b"\n:", b"\t:", b"\r:")
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
_BEYOND_64_BITS = b"0" * 19  # at least as many digits
_LARGEST = 2.0**63


class InvalidJsonError(KaratError):
    """Data that is not JSON; `at_end` if it is an unfinished beginning of JSON."""

    def __init__(self, what: str, place: Place | str, hint: str, at_end: bool) -> None:
        super().__init__(what, place=place, hint=hint)
        self.at_end = at_end


def decode_json(data: bytes, place: Place | str, hint: str, *, constants: bool = False) -> Any:
    """The value of a JSON document; a key that appears twice in an object is an error.

    `hint` says what was expected. With `constants`, NaN and Infinity are numbers, as Python's json writes them. In an
    object of objects, such as `{query: {doc: score}}`, whole numbers beyond 64 bits are floats.
    """
    try:
        value = _fast_decoder()(data)
    except ValueError:
        return decode_strictly(data, place, hint, constants=constants)
    of_mappings = type(value) is dict and set(map(type, value.values())) == {dict}
    if of_mappings and _keys_of([value, *value.values()]) == data.count(b":"):
        return value
    return value if _is_exact([value], data) else decode_strictly(data, place, hint, constants=constants)


def decode_lines(lines: Sequence[bytes]) -> list[Any] | None:
    """The values of JSON lines, as `decode_json` returns them; None if any of them is invalid, or may be."""
    try:
        values = list(map(_fast_decoder(), lines))
    except ValueError:
        return None
    return values if _is_exact(values, b"\n".join(lines)) else None


def decode_strictly(data: bytes, place: Place | str, hint: str, *, constants: bool = False) -> Any:
    """The value of a JSON document, by Python's own decoder."""
    if b"\0" in data:
        encoding = "This is binary data, or UTF-16: save the file as UTF-8."
        raise KaratError(f"a NUL byte at {_position(data, data.index(0))}", place=place, hint=encoding)
    try:
        text = data.decode()
        return (_DECODER_WITH_CONSTANTS if constants else _STRICT_DECODER).decode(text)
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


@cache
def _fast_decoder() -> Callable[[bytes], Any]:
    import orjson  # not every command reads JSON

    return orjson.loads


def _is_exact(values: Sequence[Any], data: bytes) -> bool:
    """Whether orjson has kept all keys and all digits of these values, as far as their bytes show it."""
    large = _BEYOND_64_BITS in data.translate(_DIGITS_TO_ZERO)
    colons = data.count(b":")
    if not large and _keys_of(values) == colons:
        return True  # which also means that no inner object has keys
    levels = [[values], *_containers(values)]
    keys = sum(map(_keys_of, levels))
    if keys != colons and keys != _colons_after_keys(data):
        return False
    return not large or not any(_has_large_number(each) for level in levels for each in level)


def _colons_after_keys(data: bytes) -> int:
    """How many colons may come after a key: at least as many as there are keys.

    A quotation mark after a backslash is part of a text, such as JSON in a text, unless there are two backslashes.
    """
    in_texts = data.count(b'\\":') - data.count(b'\\\\":')
    return sum(map(data.count, _BEFORE_COLON)) - in_texts


def _keys_of(values: Sequence[Any]) -> int:
    if set(map(type, values)) <= {dict}:
        return sum(map(len, values))
    return sum([len(each) for each in values if type(each) is dict])  # a list is faster than a generator


def _containers(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    """The objects and lists among these values, then those inside them, and so on."""
    while values:
        values = [each for each in values if type(each) is dict or type(each) is list]
        yield values
        values = list(chain.from_iterable(each.values() if type(each) is dict else each for each in values))


def _has_large_number(container: dict[str, Any] | list[Any]) -> bool:
    values = container.values() if type(container) is dict else container
    return any(type(each) is float and abs(each) >= _LARGEST for each in values)


def _position(data: bytes | str, at: int) -> str:
    newline: Any = "\n" if isinstance(data, str) else b"\n"
    line, column = data.count(newline, 0, at) + 1, at - data.rfind(newline, 0, at)
    return f"column {column}" if line == 1 else f"line {line}, column {column}"


def _reject_constant(name: str) -> None:
    raise KaratError(f"not JSON: {name} is not a JSON number", hint="Write null, or leave it out.")


def _reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise KaratError(f"the key {shown(key)} appears twice in one object", hint="Keep one of them.")
        found[key] = value
    return found


_STRICT_DECODER = json.JSONDecoder(parse_constant=_reject_constant, object_pairs_hook=_reject_repeated_keys)
_DECODER_WITH_CONSTANTS = json.JSONDecoder(object_pairs_hook=_reject_repeated_keys)
