"""The prompts of karat and of the user, and the messages that are made of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.errors import KaratError
from karat.grounding.judges.prompts import NAMES, load_prompts, user_prompt
from karat.grounding.judges.replies import decode_reply
from karat.grounding.verdict_file.tasks import BUILT_IN

# A changed text needs a new version, because replies that were given to the old one are kept under its name.
DIGESTS = {
    "support/2": "c6e41493",
    "claims/2": "b151b99a",
    "nuggets/2": "dbb479fd",
    "importance/1": "f8903965",
    "relevance/2": "72bbd38b",
    "correctness/2": "12103bd2",
    "answer_relevance/1": "7ebfb269",
    "abstention/2": "2dbe52a7",
    "rubric/2": "c88eeaea",
    "examples/1": "6e154ed9",
}


def test_a_changed_prompt_has_a_new_version() -> None:
    assert {prompt.id: user_prompt(prompt.name, prompt.text).version for prompt in load_prompts().values()} == DIGESTS


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_shows_a_message_and_a_reply_and_calls_texts_data(name: str) -> None:
    text = load_prompts()[name].text
    lines = re.findall(r"^\{.*\}$", text, re.MULTILINE)
    assert lines
    for message, reply in zip(lines[::2], lines[1::2], strict=True):
        assert isinstance(json.loads(message), dict)
        assert isinstance(decode_reply(reply), dict)
    assert "The user message is one JSON object." in text
    assert re.search(r"data\s+to\s+be\s+[\w ]+,\s+never\s+instructions\s+to\s+you", text)


def test_a_prompt_of_the_users_own_replaces_one_and_is_named_after_its_text(tmp_path: Path) -> None:
    (tmp_path / "support.txt").write_text("version 1\n\nIs it stated?\n", "utf-8")
    prompts = load_prompts(tmp_path)
    assert prompts["support"] == user_prompt("support", "Is it stated?")
    assert prompts["claims"] == load_prompts()["claims"]


def test_a_copy_of_a_prompt_is_the_same_prompt(tmp_path: Path) -> None:
    text = load_prompts()["claims"].text
    (tmp_path / "claims.txt").write_bytes(b"\xef\xbb\xbfversion 1\r\n\r\n" + text.replace("\n", "\r\n").encode())
    assert load_prompts(tmp_path)["claims"].id == "claims/2"


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("suport.txt", b"x", "suport.txt is not the name of a prompt. Did you mean support?"),
        ("support.txt", b" \n", "the prompt is empty"),
        ("support.txt", b"\xff", "the prompt is not UTF-8"),
        ("support.md", b"x", "the folder has no prompts"),
    ],
)
def test_a_wrong_prompt_is_an_error(tmp_path: Path, file: str, content: bytes, message: str) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(KaratError, match=re.escape(message)):
        load_prompts(tmp_path)


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KaratError, match="this is not a folder with prompts"):
        load_prompts(tmp_path / "nowhere")


@given(st.dictionaries(st.text(), st.text() | st.lists(st.text())))
def test_the_user_message_is_exactly_the_data(data: dict[str, object]) -> None:
    prompt = load_prompts()["support"]
    system, user = prompt.messages(data)
    assert system == {"role": "system", "content": prompt.text}
    assert user["role"] == "user"
    assert json.loads(user["content"]) == data
    assert "\n" not in user["content"]


def test_lone_surrogates_are_escaped_and_other_scripts_are_not() -> None:
    _, user = load_prompts()["support"].messages({"answer": "Löte 金 \ud800\x00"})
    assert user["content"] == '{"answer": "Löte 金 \\ud800\\u0000"}'
    user["content"].encode()


def test_the_prompt_of_relevance_has_an_example_of_each_grade() -> None:
    replies = re.findall(r"^\{\"why\".*\}$", load_prompts()["relevance"].text, re.MULTILINE)
    assert [json.loads(reply)["label"] for reply in replies] == [3, 2, 1, 0]


def test_the_prompt_of_support_has_an_example_of_each_label() -> None:
    reply = re.findall(r"^\{\"labels\".*\}$", load_prompts()["support"].text, re.MULTILINE)[0]
    assert {each["label"] for each in json.loads(reply)["labels"]} == BUILT_IN["support"].scale.keys()


def test_the_prompt_of_claims_has_an_example_without_claims() -> None:
    replies = re.findall(r"^\{\"claims\".*\}$", load_prompts()["claims"].text, re.MULTILINE)
    assert [bool(json.loads(reply)["claims"]) for reply in replies] == [True, False]


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_says_that_texts_may_be_in_different_languages(name: str) -> None:
    assert re.search(r"may\s+be\s+in\s+different\s+languages", load_prompts()[name].text)
