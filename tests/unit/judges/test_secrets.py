"""Keys are in no file and no message, in whatever spelling a server repeats them; ordinary words stay."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from karat import judge
from karat.errors import KaratError
from karat.grounding.judges.options import judge_options
from karat.grounding.judges.secrets import Secrets, check_key_variable, without_secrets
from tests.llm_server import LLMServer, error, reply

KEY = "sk-proj-Zm9vYmFyYmF6cXV4L1/x+Yq7"
SECRET = KEY.removeprefix("sk-proj-")


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


SPELLINGS: dict[str, str] = {
    "whole": KEY,
    "without its prefix": SECRET,
    "beginning": KEY[:20],
    "middle": SECRET[5:17],
    "end": KEY[-12:],
    "JSON": json.dumps(KEY)[1:-1].replace("/", "\\/"),
    "escapes": escaped(KEY),
    "some escapes": SECRET[:4] + escaped(SECRET[4:9]) + SECRET[9:],
    "escapes in JSON in JSON": json.dumps(json.dumps(escaped(KEY))),
    "hexadecimal escapes": "".join(f"\\x{ord(character):02x}" for character in KEY),
    "address": quote(KEY, safe=""),
    "all of an address": "".join(f"%{ord(character):02X}" for character in KEY),
    "address in an address": quote(quote(KEY, safe=""), safe=""),
    "HTML": "".join(f"&#{ord(character)};" for character in KEY),
    "Base64": base64.b64encode(KEY.encode()).decode(),
    "hexadecimal digits": KEY.encode().hex(),
    "hexadecimal digits in capitals": KEY.encode().hex().upper(),
    "Base64 of a header": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "Base64 of another header": base64.b64encode(f"a:{KEY}\n".encode()).decode(),
    "Base64 for addresses": base64.urlsafe_b64encode(KEY.encode()).decode(),
}


def has_key(text: str) -> bool:
    """Whether twelve characters of the key can be read in a text, decoded or not."""
    parts = {SECRET[at : at + 12] for at in range(len(SECRET) - 11)}
    encoded = base64.b64encode(SECRET.encode()).decode().rstrip("=")
    in_hex = {digits for part in parts for digits in (part.encode().hex(), part.encode().hex().upper())}
    parts |= {encoded[at : at + 16] for at in range(len(encoded) - 15)} | {escaped(part) for part in parts} | in_hex
    return any(part in text for part in parts)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_key_is_masked_in_every_spelling(spelling: str) -> None:
    text = f"You sent {SPELLINGS[spelling]} to me."
    masked = Secrets(KEY).masked(text)
    assert "[key]" in masked
    assert not has_key(masked)
    assert (masked[:9], masked[-7:]) == (text[:9], text[-7:])


@pytest.mark.parametrize(
    "text",
    [
        'Gold is soft: see https://example.org/a%20b, \\n and "quotes".',
        "The prefix sk-proj- says which kind of key it is.",
        f"Its eleven characters {SECRET[3:14]} are too few.",
        "sk-learn and hf_hub are names.",
        "",
        "\\",
        "\\u12 %zz &#;",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert Secrets(KEY).masked(text) == text


@pytest.mark.parametrize("key", ["EMPTY", "not-needed", "anything", "lm-studio", "Password", "sk-no-key-required", ""])
def test_a_key_that_is_an_ordinary_word_is_not_masked(key: str) -> None:
    assert Secrets(key).masked(f"It says {key} here.") == f"It says {key} here."


def test_a_short_key_is_masked_as_a_whole_only() -> None:
    secrets = Secrets("abc-123-def-456")
    assert secrets.masked("abc-123-def-456 and abc-123-def-45") == "[key] and abc-123-def-45"


def test_the_public_prefix_of_a_key_is_not_masked_alone() -> None:
    secrets = Secrets("sk-ant-api03-Zm9vYmFyYmF6cXV4")
    assert secrets.masked("Keys of this kind begin with sk-ant-api03-.") == (
        "Keys of this kind begin with sk-ant-api03-."
    )
    assert secrets.masked("It is sk-ant-api03-Zm9vYmFyYmF6.") == "It is [key]."


def test_keys_of_the_environment_are_masked_in_replies_and_other_variables_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_PROVIDER_API_KEY", KEY)
    monkeypatch.setenv("TOKENIZER_NAME", "meta-llama/Llama-3.1-8B-Instruct")
    monkeypatch.setenv("KEYBOARD_LAYOUT", "us-international-2024-variant")
    monkeypatch.setenv("SSH_KEY", "/home/ann/.ssh/id_ed25519_key")
    monkeypatch.setenv("SECRET", "internationalization of it")
    text = "Llama-3.1-8B-Instruct, us-international-2024, /home/ann/.ssh/id_ed25519 and internationalization"
    assert Secrets().masked(f"{text} {KEY}") == f"{text} [key]"
    assert "[key]" in without_secrets(f"oops: {escaped(KEY)}")


@pytest.mark.parametrize(
    "form",
    [
        lambda key: json.dumps({"label": 3, "why": f"You sent {key}."}),
        lambda key: f'{{"label": 3, "why": "You sent {escaped(key)}."}}',
        lambda key: json.dumps({"label": 3, "why": f"It begins with {key[:21]} and ends with {key[-13:]}."}),
        lambda key: json.dumps({"label": 3, "why": base64.b64encode(key.encode()).decode()}),
        lambda key: f"I do not judge {escaped(key)}.",
        lambda key: error(400, f"no: {key}"),
        lambda key: error(500, f"no: {quote(quote(key))}"),
        lambda key: reply(None, tokens=None, headers={"X-Key": key}),
    ],
    ids=["why", "escapes", "parts", "Base64", "not JSON", "error", "address", "header"],
)
def test_nothing_of_the_key_is_in_the_verdict_file_or_the_notes(
    form: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_ACCESS", KEY)
    monkeypatch.setattr("karat.grounding.judges.sending._FIRST_WAIT", 0.001)
    results = [{"query": "q1", "retrieved": ["Gold is soft."], "answer": "No."}]
    path = tmp_path / "v.jsonl"
    with LLMServer(lambda _: form(KEY)) as server:
        judging = judge(
            results, task="context", model="m", base_url=server.url, api_key_env="JUDGE_ACCESS", verdicts=path
        )
    decoded = [json.loads(line) for line in path.read_text().splitlines()]
    again = [json.dumps(each.get("reply")) for each in decoded]
    for text in (path.read_text(), str(decoded), " ".join(judging.notes), *again):
        assert not has_key(text)
        assert not has_key(text.replace("\\\\", "\\"))


def test_a_function_that_replies_with_a_key_of_the_environment_does_not_get_it_into_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)
    results = [{"query": "q1", "retrieved": ["Gold is soft."], "answer": "No."}]
    path = tmp_path / "v.jsonl"
    judge(results, task="context", model=lambda _: f'{{"label": 3, "why": "{escaped(KEY)}"}}', verdicts=path)
    assert '"why":"[key]"' in path.read_text().replace('": "', '":"')


@pytest.mark.parametrize(
    "name", [KEY, "gsk_abcdefghijklmnop", "sk-short", "a1b2c3d4e5f6a7b8c9d0e1f2", "OPENAI API KEY", "AIza.Sy-x"]
)
def test_a_key_in_place_of_the_name_of_its_variable_is_refused_and_not_shown(name: str) -> None:
    with pytest.raises(KaratError, match=r"^api_key_env is not the name of an environment variable\. ") as caught:
        judge_options({"api_key_env": name})
    assert name not in str(caught.value)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "my_key", "KEY2", "AZURE_OPENAI_API_KEY_2024_EASTUS"])
def test_names_of_variables_are_accepted(name: str) -> None:
    check_key_variable(name)


def test_a_variable_of_any_name_is_accepted_if_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("my.key", KEY)
    check_key_variable("my.key")
