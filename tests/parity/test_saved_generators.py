"""Chat generators in saved components: a file does not decide where a key is sent, with Haystack's own classes."""

from __future__ import annotations

import json
from typing import Any

import haystack
import pytest
from haystack.components.evaluators import FaithfulnessEvaluator as TheirFaithfulness
from haystack.components.generators.chat import (
    AzureOpenAIChatGenerator,
    FallbackChatGenerator,
    OpenAIChatGenerator,
)
from haystack.utils import Secret

from karat import KaratError, Pipeline
from karat.components.evaluators import FaithfulnessEvaluator

PROXY = {"proxy": "http://stranger.example:8080", "verify": False}
UNKNOWN_KEY = Secret.from_env_var("UNKNOWN_KEY", strict=False)
AZURE = ["AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"]


@haystack.component
class UnknownGenerator:
    """A chat generator that karat knows nothing about."""

    def __init__(
        self,
        api_key: Secret | None = UNKNOWN_KEY,
        model: str = "m",
        region: str | None = None,
        verify_ssl: bool = True,
    ) -> None:
        self.api_key, self.model, self.region, self.verify_ssl = api_key, model, region, verify_ssl

    @haystack.component.output_types(replies=list)
    def run(self, messages: list[Any]) -> dict[str, Any]:
        return {"replies": messages}

    def to_dict(self) -> dict[str, Any]:
        return haystack.default_to_dict(
            self, api_key=self.api_key, model=self.model, region=self.region, verify_ssl=self.verify_ssl
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        return haystack.default_from_dict(cls, data)


@haystack.component
class KeylessGenerator:
    """A chat generator that looks for a key in its own way."""

    def __init__(self, model: str = "m", url: str | None = None) -> None:
        self.model, self.url = model, url

    @haystack.component.output_types(replies=list)
    def run(self, messages: list[Any]) -> dict[str, Any]:
        return {"replies": messages}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        return haystack.default_from_dict(cls, data)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "UNKNOWN_KEY", *AZURE):
        monkeypatch.setenv(name, "a-key-that-nobody-must-see")


def saved(generator: Any, **changed: Any) -> dict[str, Any]:
    """An evaluator with this chat generator as karat saves it, with other parameters of the generator."""
    data = FaithfulnessEvaluator(chat_generator=generator).to_dict()
    data["init_parameters"]["chat_generator"]["init_parameters"] |= changed
    again: dict[str, Any] = json.loads(json.dumps(data))
    return again


def without(data: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        del data["init_parameters"]["chat_generator"]["init_parameters"][name]
    return data


def load(data: dict[str, Any], *allowed: str) -> Any:
    """The generator, loaded as a component of its own and as part of a pipeline, which make no difference."""
    data = json.loads(json.dumps(data))
    pipeline = Pipeline.loads(json.dumps({"components": {"f": data}}), allowed_env_vars=allowed)
    loaded = FaithfulnessEvaluator.from_dict(data, allowed_env_vars=allowed)
    assert type(pipeline.get_component("f").chat_generator) is type(loaded.chat_generator)
    return loaded.chat_generator


def refusal(data: dict[str, Any], *allowed: str) -> str:
    with pytest.raises(KaratError) as caught:
        FaithfulnessEvaluator.from_dict(data, allowed_env_vars=allowed)
    with pytest.raises(KaratError) as in_pipeline:
        Pipeline.from_dict({"components": {"f": data}}, allowed_env_vars=allowed)
    assert str(in_pipeline.value) == f"component f: {caught.value}"
    return str(caught.value)


def test_a_generator_with_harmless_settings_reads_the_key_that_its_class_reads_by_default() -> None:
    options = {"temperature": 0.0, "max_completion_tokens": 100, "response_format": {"type": "json_object"}}
    generator = OpenAIChatGenerator(
        model="org/model:tag", timeout=5.0, max_retries=2, organization="org-1", generation_kwargs=options
    )
    assert load(saved(generator)).to_dict() == generator.to_dict()
    assert isinstance(load(saved(UnknownGenerator(), verify_ssl=None)), UnknownGenerator)
    assert isinstance(load(saved(FallbackChatGenerator([generator, generator]))), FallbackChatGenerator)


@pytest.mark.parametrize(
    "changed",
    [
        {"http_client_kwargs": {"verify": False}},
        {"generation_kwargs": {"temperature": 0, "extra_headers": {"Authorization": "Bearer x"}}},
        {"generation_kwargs": {"type": "haystack.utils.auth.Secret"}},
        {"model": "https://stranger.example/model"},
        {"model": "//stranger.example/model"},
        {"model": "../../model"},
        {"organization": "a\r\nHost: b"},
        {"streaming_callback": "haystack.components.generators.utils.print_streaming_chunk"},
        {"tools": [{"type": "haystack.tools.tool.Tool", "data": {}}]},
        {"a_parameter_of_a_later_release": "stranger.example"},
    ],
)
def test_a_parameter_that_may_change_where_a_key_is_sent_needs_permission(changed: dict[str, Any]) -> None:
    message = refusal(saved(OpenAIChatGenerator(), **changed))
    assert message.startswith("the saved chat generator reads 'OPENAI_API_KEY' from the environment, and its '")
    assert message.endswith(
        "may change where it is sent, which was not allowed. If you trust it, pass allowed_env_vars=['OPENAI_API_KEY']."
    )
    # The class reads its key also if the file does not mention one.
    assert refusal(without(saved(OpenAIChatGenerator(), **changed), "api_key")) == message


def test_with_permission_such_a_generator_is_loaded() -> None:
    data = saved(OpenAIChatGenerator(http_client_kwargs=PROXY))
    assert load(data, "OPENAI_API_KEY").http_client_kwargs == PROXY
    assert load(data, "*").http_client_kwargs == PROXY
    assert "OPENAI_API_KEY" in refusal(data, "OTHER")


def test_a_proxy_is_named_as_the_server_that_the_key_is_sent_to() -> None:
    message = refusal(saved(OpenAIChatGenerator(http_client_kwargs=PROXY)))
    assert "reads 'OPENAI_API_KEY' from the environment and sends it to 'http://stranger.example:8080'" in message


def test_a_generator_that_names_its_server_needs_permission_also_if_it_does_not_name_the_key() -> None:
    data = saved(OpenAIChatGenerator(api_base_url="https://stranger.example/v1"))
    expected = (
        "reads 'OPENAI_API_KEY' from the environment and sends it to 'https://stranger.example/v1', which was not"
    )
    assert expected in refusal(data)
    assert expected in refusal(without(data, "api_key"))


def test_azure_needs_permission_for_the_key_and_the_token_because_the_file_has_the_address() -> None:
    data = saved(AzureOpenAIChatGenerator(azure_endpoint="https://stranger.example"))
    message = refusal(data)
    assert "reads 'AZURE_OPENAI_API_KEY' and 'AZURE_OPENAI_AD_TOKEN' from the environment and sends them to" in message
    assert "'https://stranger.example'" in message
    assert "AZURE_OPENAI_AD_TOKEN" in refusal(data, "AZURE_OPENAI_API_KEY")
    assert load(data, *AZURE).azure_endpoint == "https://stranger.example"


def test_a_key_that_is_null_or_may_be_missing_counts_as_the_default_because_clients_look_for_that() -> None:
    data = saved(AzureOpenAIChatGenerator(azure_endpoint="https://stranger.example"), api_key=None)
    assert "'AZURE_OPENAI_API_KEY'" in refusal(data, "AZURE_OPENAI_AD_TOKEN")
    optional = {"type": "env_var", "env_vars": ["UNSET"], "strict": False}
    data = saved(OpenAIChatGenerator(api_base_url="https://stranger.example/v1"), api_key=optional)
    assert "reads 'OPENAI_API_KEY' from the environment and sends it" in refusal(data, "UNSET")
    certain = {**optional, "env_vars": ["MY_KEY"], "strict": True}
    assert load(saved(OpenAIChatGenerator(api_base_url="http://localhost:1"), api_key=certain), "MY_KEY")


def test_the_key_of_another_service_is_not_sent_to_the_server_of_a_generator() -> None:
    key = {"type": "env_var", "env_vars": ["OPENAI_API_KEY"], "strict": True}
    assert "reads 'OPENAI_API_KEY' from the environment, which was not" in refusal(
        saved(UnknownGenerator(), verify_ssl=None, api_key=key)
    )
    # An address is not a key, also if it is read from the environment.
    assert "'azure_endpoint'" not in refusal(
        saved(AzureOpenAIChatGenerator(azure_endpoint="https://x")), "AZURE_OPENAI_API_KEY"
    )
    endpoint = {"type": "env_var", "env_vars": ["AZURE_OPENAI_API_KEY"], "strict": True}
    assert "AZURE_OPENAI_API_KEY" in refusal(
        saved(AzureOpenAIChatGenerator(azure_endpoint="https://x"), azure_endpoint=endpoint)
    )


def test_a_generator_that_karat_does_not_know_needs_permission_for_parameters_that_it_does_not_know() -> None:
    data = saved(UnknownGenerator(region="stranger.example/#", verify_ssl=False))
    message = refusal(data)
    assert (
        "reads 'UNKNOWN_KEY' from the environment, and its 'region' and 'verify_ssl' may change where it is" in message
    )
    assert load(data, "UNKNOWN_KEY").region == "stranger.example/#"


def test_a_generator_whose_variables_are_not_known_needs_permission_for_all() -> None:
    kind = f"{KeylessGenerator.__module__}.{KeylessGenerator.__qualname__}"

    def described(**parameters: Any) -> dict[str, Any]:
        data = FaithfulnessEvaluator().to_dict()
        data["init_parameters"] = {"chat_generator": {"type": kind, "init_parameters": parameters}}
        return data

    assert load(described(model="m")).url is None
    assert refusal(described(url="https://stranger.example"), "OPENAI_API_KEY") == (
        "the saved chat generator has 'url', and it is not known which environment variables it reads. If you trust it,"
        " pass allowed_env_vars=['*'], for all."
    )
    assert load(described(url="https://stranger.example"), "*").url == "https://stranger.example"


def test_generators_inside_generators_are_checked_too() -> None:
    inner: list[Any] = [OpenAIChatGenerator(), OpenAIChatGenerator(http_client_kwargs=PROXY)]
    data = saved(FallbackChatGenerator([FallbackChatGenerator(inner)]))
    assert "reads 'OPENAI_API_KEY' from the environment and sends it to 'http://stranger.example:8080'" in refusal(data)
    assert isinstance(load(data, "OPENAI_API_KEY"), FallbackChatGenerator)


def test_a_pipeline_of_haystack_is_checked_in_the_same_way() -> None:
    theirs = haystack.Pipeline()
    theirs.add_component("f", TheirFaithfulness(chat_generator=OpenAIChatGenerator(http_client_kwargs=PROXY)))
    with pytest.raises(KaratError, match="component f: the saved chat generator reads 'OPENAI_API_KEY' from the"):
        Pipeline.from_dict(theirs.to_dict())
    allowed = Pipeline.from_dict(theirs.to_dict(), allowed_env_vars=["OPENAI_API_KEY"]).get_component("f")
    assert allowed.chat_generator.http_client_kwargs == PROXY
