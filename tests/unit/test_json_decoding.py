"""JSON is decoded strictly by Python's decoder, and large documents and many lines by orjson."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karat import evaluate
from karat.errors import KaratError
from karat.reading.bytes import json_decoding
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_json, decode_lines
from karat.reading.records.records import records_from_json_lines

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


def test_a_key_that_appears_twice_in_a_large_document_has_its_last_value(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b'{"q": {"d": 1, "d": 2}}'
    monkeypatch.setattr(json_decoding, "STRICT_UP_TO", len(data))
    with pytest.raises(KaratError, match="the key 'd' appears twice in one object"):
        decode_json(data, "run.json", "A hint.")
    assert decode_json(data + b" ", "run.json", "A hint.") == {"q": {"d": 2}}


@pytest.mark.parametrize("name", [name for name in BAD if "repeated" not in name])
def test_errors_in_large_documents_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_decoding, "STRICT_UP_TO", -1)
    if name != "thousands of digits":  # which are a float
        test_bad_json_is_one_error_with_its_place(name)


def test_a_key_that_appears_twice_in_the_first_lines_is_an_error(tmp_path: Path) -> None:
    good, bad = '{"query": "q", "truth": [], "x": 1}\n', '{"query": "q", "truth": [], "x": 1, "x": 2}'
    for line in (1, 2, 1000, 1001):
        path = tmp_path / "results.jsonl"
        path.write_text(good * (line - 1) + bad)
        if line <= 1000:
            with pytest.raises(KaratError, match=f"jsonl:{line}: the key 'x' appears twice in one object"):
                list(records_from_json_lines(InputFile(str(path)), ""))
        else:
            assert [*records_from_json_lines(InputFile(str(path)), "")][-1][1]["x"] == 2


def test_lines_are_decoded_or_not_at_all() -> None:
    lines = [b'{"a": 1}', b'{"a": 1, "a": 2}']
    assert decode_lines(lines) == [{"a": 1}, {"a": 2}]
    assert decode_lines(lines, strict=True) is None
    assert decode_lines(lines[:1], strict=True) == [{"a": 1}]
    assert decode_lines([*lines, b""]) is None


def test_a_whole_number_beyond_64_bits_in_a_large_file_is_not_an_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run.json").write_text('[{"query": "q", "doc": 123456789012345678901234567890, "score": 1}]')
    assert evaluate({"q": ["123456789012345678901234567890"]}, tmp_path / "run.json", "RR")["RR"] == 1
    monkeypatch.setattr(json_decoding, "STRICT_UP_TO", -1)
    with pytest.raises(KaratError, match="is not an id"):
        evaluate({"q": ["123456789012345678901234567890"]}, tmp_path / "run.json", "RR")


def test_numbers_and_texts_have_the_values_of_pythons_decoder() -> None:
    data = b'[1e400, -1e400, 18446744073709551616, 123456789012345678901234567890, "\\ud800", -0.0, 1E5, 0.1]'
    assert repr(decode_json(data, "", "")) == repr(json.loads(data))
    assert decode_json(b"123456789012345678901234567890", "", "") == 123456789012345678901234567890


def test_constants_are_numbers_where_they_are_allowed_and_repeated_keys_still_errors() -> None:
    assert repr(decode_json(b'{"a": NaN, "b": [-Infinity]}', "", "", constants=True)) == "{'a': nan, 'b': [-inf]}"
    with pytest.raises(KaratError, match="the key 'a' appears twice"):
        decode_json(b'{"a": NaN, "a": 1}', "", "", constants=True)
