"""JSON is decoded by orjson, with the values and the errors of Python's own decoder."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.errors import KaratError
from karat.json_decoding import decode_json, decode_lines, decode_strictly

# Texts with everything that looks like the end of a key.
TEXTS = st.text(st.sampled_from('a:"\\ \n1é'), max_size=4)
NUMBERS = st.integers(-(2**70), 2**70) | st.floats() | st.sampled_from([2**63, 2**64, -(2**63) - 1, 10**400, 1e300])
KEYS = st.sampled_from(["a", "b", ":", '"', '":', "\\", ""])
SPACES = st.sampled_from(["", " ", "\n", "\t", "\r", "  "])


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    """An object as text, in which a key may appear twice, with white space anywhere."""
    pairs = draw(st.lists(st.tuples(KEYS, SPACES, SPACES, inner), max_size=4))
    return "{" + ",".join(f"{json.dumps(key)}{one}:{two}{value}" for key, one, two, value in pairs) + "}"


def lists(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(inner, max_size=3).map(lambda values: f"[{','.join(values)}]")


SCALARS = (TEXTS | NUMBERS | st.none() | st.booleans()).map(json.dumps) | TEXTS.map(json.dumps)
DOCUMENTS = st.recursive(SCALARS, lambda inner: objects(inner) | lists(inner), max_leaves=8) | objects(objects(SCALARS))


def outcome(data: bytes, decode: Any) -> object:
    """The value, with the types of numbers, or the error."""
    try:
        return repr(decode(data, "file", "A hint."))
    except KaratError as error:
        return error.what, error.place, error.hint


@given(DOCUMENTS)
def test_a_repeated_key_is_never_missed_and_a_valid_value_never_refused_or_changed(text: str) -> None:
    data = text.encode()
    strict, fast = outcome(data, decode_strictly), outcome(data, decode_json)
    if strict != fast:
        # The only difference: whole numbers beyond 64 bits in an object of objects, which are scores and grades.
        exact, rounded = (decode(data, "file", "") for decode in (decode_strictly, decode_json))
        assert all(isinstance(row, dict) for row in exact.values())
        assert repr(as_floats(exact)) == repr(as_floats(rounded))


def as_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: as_floats(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_floats(each) for each in value]
    return float(value) if isinstance(value, int | float) else value


@settings(max_examples=50)
@given(st.lists(objects(SCALARS | lists(SCALARS) | objects(SCALARS)), min_size=1, max_size=4))
def test_lines_are_decoded_as_each_of_them_is_or_not_at_all(texts: list[str]) -> None:
    lines = [text.replace("\n", " ").encode() for text in texts]
    values = decode_lines(lines)
    if values is not None:
        assert repr(values) == repr([decode_strictly(line, "", "") for line in lines])


def test_lines_with_json_in_a_text_are_decoded_fast() -> None:
    lines = [json.dumps({"reply": json.dumps({"why": 'It says "a": b.', "label": 1})}).encode()] * 2
    assert decode_lines(lines) is None  # a backslash before a backslash before a quotation mark: nobody can be sure
    lines = [json.dumps({"reply": json.dumps({"label": 1})}).encode()] * 2
    assert decode_lines(lines) == [{"reply": '{"label": 1}'}] * 2


BAD = {
    "a repeated key": (b'{"a": 1, "a": 2}', "the key 'a' appears twice in one object"),
    "a repeated inner key": (b'{"q": {"d": 1, "e": 2, "d": 3}}', "the key 'd' appears twice in one object"),
    "a repeated key, deep inside": (b'[[{"x": [{"b": 1, "b": 1}]}]]', "the key 'b' appears twice in one object"),
    "a repeated key, escaped": (b'{"a": 1, "\\u0061": 2}', "the key 'a' appears twice in one object"),
    "a repeated key, and a text like a key": (b'{"q" : {"d": ":", "d": 1}}', "the key 'd' appears twice in one object"),
    "white space hides a repeated key": (b'{"a" :1, "a":":"}', "the key 'a' appears twice in one object"),
    "100,000 brackets": (b"[" * 100_000, "objects are nested too deeply"),
    "100,000 objects": (b'{"a":' * 100_000, "objects are nested too deeply"),
    "cut short": (b'{"q": {"d": 1,\n "e": 2', "not JSON: Expecting ',' delimiter at line 2, column 8"),
    "cut short in a text": (b'{"q": "d', "not JSON: Unterminated string starting at column 7"),
    "empty": (b"", "not JSON: Expecting value at column 1"),
    "NaN": (b'{"q": {"d": NaN}}', "not JSON: NaN is not a JSON number"),
    "infinite": (b'{"q": {"d": -Infinity}}', "not JSON: -Infinity is not a JSON number"),
    "NUL": (b'{"q": {\n"d\0": 1}}', "a NUL byte at line 2, column 3"),
    "Latin-1": ('{"q": {\n"dé": 1}}'.encode("latin-1"), "not UTF-8: b'\\xe9' at line 2, column 3"),
    "a byte order mark": (b"\xef\xbb\xbf1", "not JSON: Expecting value at column 1"),
    "two values": (b"{}\n{}", "not JSON: Extra data at line 2, column 1"),
    "a trailing comma": (b'{"a": 1,}', "not JSON: Expecting property name enclosed in double quotes at column 9"),
    "thousands of digits": (b"1" * 5000, "a number has thousands of digits"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_json_is_one_error_with_its_place(name: str) -> None:
    data, what = BAD[name]
    with pytest.raises(KaratError) as raised:
        decode_json(data, "run.json", "A hint.")
    error = raised.value
    # Python 3.13 words some errors differently.
    assert error.what == what or (name == "a trailing comma" and "Illegal trailing comma" in error.what)
    assert str(error.place) == "run.json"
    assert error.hint


def test_numbers_and_texts_have_the_values_of_pythons_decoder() -> None:
    data = b'[1e400, -1e400, 18446744073709551616, 123456789012345678901234567890, "\\ud800", -0.0, 1E5, 0.1]'
    assert repr(decode_json(data, "", "")) == repr(json.loads(data))
    assert decode_json(b"123456789012345678901234567890", "", "") == 123456789012345678901234567890


def test_constants_are_numbers_where_they_are_allowed_and_repeated_keys_still_errors() -> None:
    assert repr(decode_json(b'{"a": NaN, "b": [-Infinity]}', "", "", constants=True)) == "{'a': nan, 'b': [-inf]}"
    with pytest.raises(KaratError, match="the key 'a' appears twice"):
        decode_json(b'{"a": NaN, "a": 1}', "", "", constants=True)
