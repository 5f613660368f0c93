"""What is read from the replies of language models, and what is said about those that are not understood."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.grounding.judges.replies import (
    LabelReply,
    UnreadableReplyError,
    decode_reply,
    label_in,
    list_in,
    object_in,
    read_label,
    read_labels,
    read_texts,
)

GOOD = {"labels": [{"item": 1, "why": "It says so, {literally}.", "label": "full"}]}
JSON = json.dumps(GOOD)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(f"\ufeff {JSON}\n", id="byte order mark"),
        pytest.param(f"```json\n{JSON}\n```", id="fenced"),
        pytest.param(f"```\n{JSON}\n```", id="fenced without a language"),
        pytest.param(f"~~~\n{JSON}\n~~~", id="fenced by tildes"),
        pytest.param(f"````\n```json\n{JSON}\n```\n````", id="nested fences"),
        pytest.param(f"```json\n{JSON}", id="a fence that is not closed"),
        pytest.param(f"Sure! Here is the JSON:\n{JSON}\nLet me know.", id="prose around it"),
        pytest.param(f"As passage [1] says {{sic}}:\n```json\n{JSON}\n```\nThat's [2] it.", id="prose with brackets"),
        pytest.param(JSON.replace("}]}", ",},],}"), id="trailing commas"),
        pytest.param(f"Fine:\n{JSON.replace('}]}', ', } , ] }')}", id="prose and trailing commas"),
        pytest.param(repr(GOOD), id="single quotation marks"),
        pytest.param(f"<think>Is it {{}} or [1]? {JSON[:-9]}none\"}}]}}</think>\n{JSON}", id="thoughts"),
        pytest.param(f"<think>{{}}</think><thinking>[]</thinking>{JSON}", id="several thoughts"),
        pytest.param(f'Maybe {{"labels": []}}.\n</think>\n\n{JSON}', id="the end of thoughts only"),
        pytest.param(f"{JSON}\n{JSON}", id="the same object twice"),
        pytest.param(f"[1] {JSON} [2]", id="an object between lists"),
    ],
)  # fmt: skip
def test_a_reply_that_is_understood(reply: str) -> None:
    assert decode_reply(reply) == GOOD


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        pytest.param("{'a': True, 'b': None, 'c': 'it\\'s \"x\" \\\\',}", {"a": True, "b": None, "c": 'it\'s "x" \\'},
                     id="Python"),
        pytest.param('{"a": "line\nbreak\ttab"}', {"a": "line\nbreak\ttab"}, id="line breaks in strings"),
        pytest.param('{"a": "x,] None \'q\'",}', {"a": "x,] None 'q'"}, id="what looks like a fault, in a string"),
        pytest.param('{"a": [-Infinity, 1e999, -1e999]}', {"a": [-inf, inf, -inf]}, id="not a number"),
        pytest.param('{"a": %s}' % ("9" * 5000), {"a": inf}, id="a number with thousands of digits"),
        pytest.param('{"a": 12345678901234567890}', {"a": 12345678901234567890}, id="a number beyond 64 bits"),
        pytest.param('{"a": 1, "a": 1}', {"a": 1}, id="the same key with the same value"),
        pytest.param("```json\n5\n```", 5, id="a number in a fence"),
    ],
)  # fmt: skip
def test_a_value_that_is_repaired(reply: str, value: object) -> None:
    assert decode_reply(reply) == value


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        pytest.param("", "The reply is empty.", id="empty"),
        pytest.param(" \n\ufeff ", "The reply is empty.", id="white space"),
        pytest.param(None, "The reply is not a text.", id="no text"),
        pytest.param("I cannot judge this.", "The reply is not JSON.", id="prose"),
        pytest.param('{"labels": [{"item": 1', "The JSON in the reply is incomplete: it ends too early.", id="cut off"),
        pytest.param('{"why": "It is', "The JSON in the reply is incomplete: it ends too early.", id="cut in a string"),
        pytest.param("<think>Well, ", "The reply is not JSON.", id="thoughts only"),
        pytest.param('{"a": 1} {"a": 2}', "The reply has several different JSON objects: write one.", id="two objects"),
        pytest.param("[1] or [2]", "The reply has several different JSON lists: write one.", id="two lists"),
        pytest.param('{"a": 1 "b": 2}', "The reply is not JSON: expecting ',' delimiter at '\"b\": 2}'.", id="comma"),
        pytest.param('{"a": [{"b": 1} {"b": 2}]}', "The reply is not JSON: expecting ',' delimiter", id="inner comma"),
        pytest.param("{'\\x1f': []}", "The reply is not JSON: expecting property name", id="what Python alone knows"),
        pytest.param("[sic] " * 21 + JSON, "The reply is not JSON.", id="too many brackets"),
        pytest.param('{"a": 1, "a": 2}', "The key 'a' appears twice in one object.", id="two values of a key"),
        pytest.param("[" * 100_000, "The JSON in the reply is nested too deeply.", id="deep lists"),
        pytest.param("x" + '{"a":' * 100_000, "The JSON in the reply is nested too deeply.", id="deep objects"),
        pytest.param("[" * 900 + "]" * 900 + "x" + "[" * 901 + "]" * 901, "The reply has several different JSON lists",
                     id="two deep lists"),
    ],
)  # fmt: skip
def test_a_reply_that_is_not_understood_is_said_to_be(reply: object, message: str) -> None:
    with pytest.raises(UnreadableReplyError, match=re.escape(message)):
        decode_reply(reply)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
prose = st.text(st.characters(exclude_characters="[]{}<>`~'\"\\"), max_size=30)


@given(json_values, st.booleans(), st.sampled_from([None, 0, 2]))
def test_any_json_in_a_fence_is_read(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert decode_reply(text) == value
    assert decode_reply(f"```json\n{text}\n```") == value


@given(st.dictionaries(st.text(), json_values, max_size=4) | st.lists(json_values, max_size=4), prose, prose)
def test_any_object_or_list_in_prose_is_read(value: Any, before: str, after: str) -> None:
    assert decode_reply(f"{before}\n{json.dumps(value)}\n{after}") == value
    assert decode_reply(f"{before}\n```json\n{json.dumps(value)}\n```\n{after}") == value


@given(st.text(st.sampled_from("a'\"\\\n\t, ]}éNone")), st.booleans() | st.none())
def test_python_is_read_as_json(text: str, value: bool | None) -> None:
    expected = {text: [value, text], "x": {"y": text}}
    assert decode_reply(repr(expected)) == expected


@given(st.text() | st.text(st.sampled_from("[]{},:\"'\\` \n1ea<>/think")))
def test_no_text_raises_another_error(text: str) -> None:
    with suppress(UnreadableReplyError):
        decode_reply(text)


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ("full", "full"), ("Full", "full"), (" FULL. ", "full"), ("**full**", "full"), ("'full'", "full"),
        ("fullest", None), ("", None), (None, None), (["full"], None), (True, None),
    ],
)  # fmt: skip
def test_how_labels_may_be_written(given: object, label: str | None) -> None:
    assert label_in(given, ["none", "partial", "full"]) == label


@pytest.mark.parametrize(
    ("given", "label"),
    [
        (2, "2"), (2.0, "2"), ("2", "2"), ("2.0", "2"), (" 2.", "2"), (True, "1"), (False, "0"),
        (5, None), (-1, None), (2.5, None), ("two", None), (10**399, None),
    ],
)  # fmt: skip
def test_how_grades_may_be_written(given: object, label: str | None) -> None:
    assert label_in(given, ["0", "1", "2", "3"]) == label


def test_a_label_of_several_words_may_be_written_with_blanks() -> None:
    assert label_in("Nothing to judge.", ["none", "nothing_to_judge"]) == "nothing_to_judge"


replies = (
    st.dictionaries(st.sampled_from(["labels", "label", "claims", "item", "why", "text"]), json_values) | json_values
)


@given(st.recursive(replies, lambda inner: st.lists(inner, max_size=3) | st.fixed_dictionaries({"labels": inner})))
def test_no_reply_raises_another_error_when_labels_and_texts_are_read(reply: Any) -> None:
    with suppress(UnreadableReplyError):
        found, problem = read_labels(reply, [["none", "full"]] * 2)
        assert len(found) == 2 or problem
    with suppress(UnreadableReplyError):
        assert read_label(reply, ["0", "1"]).label in ("0", "1")
    with suppress(UnreadableReplyError):
        texts, problem = read_texts(reply, "claims")
        assert all(map(str.strip, texts))
        assert texts or problem or list_in(reply, "claims") == []


def test_case_matters_if_the_scale_says_so() -> None:
    assert label_in("a", ["A", "a"]) == "a"
    assert label_in("B", ["b", "c"]) == "b"
    assert label_in("É", ["é", "É"]) == "É"
    assert label_in("ß", ["SS", "ss"]) is None


def test_one_label() -> None:
    assert read_label({"why": " Because. ", "label": "1"}, ["0", "1"]) == LabelReply("1", "Because.")
    assert read_label([{"label": 0, "why": None}], ["0", "1"]) == LabelReply("0")


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ({"label": 5}, "The label 5 is not one of 0, 1."),
        ({"label": None}, "The label None is not one of 0, 1."),
        ({"score": 1}, "The field label is missing."),
        ([{"label": 1}, {"label": 0}], "The reply is a list, not a JSON object."),
        (1, "The reply is a number, not a JSON object."),
        (None, "The reply is null, not a JSON object."),
    ],
)
def test_a_wrong_label_is_said_to_be(reply: object, message: str) -> None:
    with pytest.raises(UnreadableReplyError, match=re.escape(message)):
        read_label(reply, ["0", "1"])


def row(item: object, label: object, why: object = None) -> dict[str, object]:
    return {"item": item, "why": why, "label": label}


FULL, NONE = LabelReply("full"), LabelReply("none")


@pytest.mark.parametrize(
    ("rows", "found", "problem"),
    [
        ([row(1, "full"), row(2, "none")], {1: FULL, 2: NONE}, None),
        ([row(2, "none"), row("1", "full")], {1: FULL, 2: NONE}, None),
        ([row("Item 1", "full"), row(2.0, "none")], {1: FULL, 2: NONE}, None),
        ([{"label": "full"}, {"label": "none"}], {1: FULL, 2: NONE}, None),
        (["full", "none"], {1: FULL, 2: NONE}, None),
        ([row(1, "full"), row(1, "full"), row(2, "none")], {1: FULL, 2: NONE}, None),
        (None, {}, "Items 1 and 2 have no label."),
        ([], {}, "Items 1 and 2 have no label."),
        ([row(1, "full")], {1: FULL}, "Item 2 has no label."),
        (["full"], {}, "A label is about item None, but the items are 1 to 2. Items 1 and 2 have no label."),
        ([row(1, "full"), row(2, "none"), row(3, "none")], {1: FULL, 2: NONE},
         "A label is about item 3, but the items are 1 to 2."),
        ([row(1, "full"), row(2, 5)], {1: FULL}, "The label 5 of item 2 is not one of none, full."),
        ([row(1, "full"), row(2, None)], {1: FULL}, "The label None of item 2 is not one of none, full."),
        ([row(1, "full"), row(2, "none"), row(2, "full")], {1: FULL}, "Item 2 has two different labels."),
        ([row(1, "full"), row(2, "none"), row(2, "?")], {1: FULL}, "The label '?' of item 2 is not one of none, full."),
        ([row(True, "full"), row(2, "none")], {2: NONE},
         "A label is about item True, but the items are 1 to 2. Item 1 has no label."),
    ],
)  # fmt: skip
def test_labels_of_several_items(rows: object, found: dict[int, LabelReply], problem: str | None) -> None:
    assert read_labels({"labels": rows}, [["none", "full"]] * 2) == (found, problem)


def test_each_item_has_its_own_labels_and_reasons() -> None:
    reply = [row(1, "full", "So it says."), row(2, "full", 7)]
    found, problem = read_labels(reply, [["none", "full"], ["none"]])
    assert found == {1: LabelReply("full", "So it says.")}
    assert problem == "The label 'full' of item 2 is not one of none."


def test_at_most_three_problems_are_said() -> None:
    found, problem = read_labels({"labels": ["a", "b", "c", "d"]}, [["none"]] * 4)
    assert (found, problem and problem.count("The label")) == ({}, 3)


@pytest.mark.parametrize(
    ("reply", "texts", "problem"),
    [
        ({"claims": [" A. ", "B.", "A."]}, ["A.", "B."], None),
        (["A."], ["A."], None),
        ({"claims": None}, [], None),
        ([{"claims": ["A."]}], ["A."], None),
        ({"claims": [{"claim": "A."}, {"text": "B."}]}, ["A.", "B."], None),
        ({"claims": ["A.", 5]}, ["A."], "The field claims has a number in it where a text should be."),
        ({"claims": ["A.", ["B."]]}, ["A."], "The field claims has a list in it where a text should be."),
        ({"claims": [""]}, [], "The field claims has an empty text in it where a text should be."),
        ({"claims": [{"fact": "A."}]}, [], "The field claims has null in it where a text should be."),
    ],
)
def test_texts_of_a_list(reply: object, texts: list[str], problem: str | None) -> None:
    found, what = read_texts(reply, "claims")
    assert ([*found], what) == (texts, problem)


@pytest.mark.parametrize(
    "element", ["NaN", "Infinity", "-Infinity", "1e999", "7", "null", "true", "[]", "{}", '[["A."]]']
)
@pytest.mark.parametrize("field", ["claims", "nuggets"])
def test_only_an_empty_list_says_that_there_are_no_texts(field: str, element: str) -> None:
    texts, problem = read_texts(decode_reply(f'{{"{field}": [{element}]}}'), field)
    assert not texts
    assert problem is not None
    assert "where a text should be" in problem


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ({}, "The field claims is missing."),
        ({"claims": "A."}, "The field claims is a text, not a list."),
        (decode_reply('{"claims": NaN}'), "The field claims is a number, not a list."),
        ("A.", "The reply is a text, not a JSON object."),
    ],
)
def test_a_reply_without_a_list_is_said_to_be(reply: object, message: str) -> None:
    with pytest.raises(UnreadableReplyError, match=re.escape(message)):
        list_in(reply, "claims")


def test_the_only_element_of_a_list_is_taken_for_the_object() -> None:
    assert object_in([{"a": 1}]) == object_in({"a": 1}) == {"a": 1}
