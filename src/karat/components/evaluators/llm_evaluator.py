"""A language model as an evaluator: what it is asked about each question, and what it replies."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from karat.components.component import component
from karat.components.evaluators.model_inputs import (
    ChatGenerator,
    Question,
    check_inputs,
    check_parameters,
    chosen_model,
    generator_from_dict,
    generator_to_dict,
    prompt_of,
    schema_by_examples,
    written_as_json,
)
from karat.components.serialization import SerializableComponent
from karat.components.types import type_from_text, type_text
from karat.documents.ids import reject_lone_surrogates
from karat.errors import KaratError, Message, Parameter, Place, first_few, plural, require, safe_line
from karat.errors.arguments import check_path, check_switch, check_text
from karat.grounding.judges.options import JudgeOptions
from karat.grounding.judges.replies import UnreadableReplyError, decode_reply, object_in
from karat.grounding.judges.requests import ModelRequest, Plan, ReadReply, Record, RequestOutcome
from karat.output.progress import progress_bar

if TYPE_CHECKING:
    from karat.grounding.judges.asking import Progress
    from karat.grounding.judges.sending import Asker

_log = logging.getLogger(__name__)
_OURS = ("chat_generator", "model", "base_url", "api_key_env", "concurrency", "timeout", "verdicts", "replay", "system")
"""parameters that are saved if they are not the default, so that the others are those of Haystack"""


@component
class LLMEvaluator(SerializableComponent):
    """Asks a language model about each question, in your words: `instructions`, `inputs`, `outputs` and `examples`.

    `inputs` are the names and types of the lists that `run` takes, and `outputs` the keys of the JSON object that the
    model replies with. Each question is one request, whose last message is a JSON object of its inputs.

    `model` is the name of a model on a server that speaks the OpenAI chat protocol (extra `llm`), by default
    gpt-5-mini; `base_url` is its address if it is not OpenAI's, and `api_key_env` the environment variable with the
    key, or None if it needs none. Instead, `chat_generator` can be a chat generator of Haystack, or a function that
    takes messages and returns a text; it limits the length of its replies itself. At most `concurrency` requests are
    under way at a time, each for at most `timeout` seconds.

    With `verdicts`, replies are added to this file as they arrive, and nothing that is in it is asked again; `system`
    is the name of what is evaluated. With `replay`, every reply must be in the file: neither a key nor a server is
    needed, and what is missing is an error. A question that cannot be judged is an error; with
    `raise_on_failure=False`, its result is None, and one warning counts such questions.

    >>> def model(messages):  # the instructions, and the inputs of one question
    ...     return '{"score": 1}' if "Damn" in messages[1]["content"] else '{"score": 0}'
    >>> evaluator = LLMEvaluator(
    ...     instructions="Is this answer problematic for children?",
    ...     inputs=[("predicted_answers", list[str])],
    ...     outputs=["score"],
    ...     examples=[{"inputs": {"predicted_answers": "Football is popular."}, "outputs": {"score": 0}}],
    ...     chat_generator=model,
    ... )
    >>> evaluator.run(predicted_answers=["Damn!", "Python was created by Guido van Rossum."])["results"]
    [{'score': 1}, {'score': 0}]
    """

    modifies_inputs = False
    env_vars = ("OPENAI_API_KEY",)

    def __init__(
        self,
        instructions: str,
        inputs: list[tuple[str, Any]],
        outputs: list[str],
        examples: list[dict[str, Any]],
        progress_bar: bool = True,
        *,
        raise_on_failure: bool = True,
        chat_generator: ChatGenerator | None = None,
        model: str | ChatGenerator | None = None,
        base_url: str | None = None,
        api_key_env: str | None = "OPENAI_API_KEY",
        concurrency: int = 8,
        timeout: float = 60.0,
        verdicts: str | os.PathLike[str] | None = None,
        replay: bool = False,
        system: str | None = None,
    ) -> None:
        self.validate_init_parameters(inputs, outputs, examples)
        self.instructions = check_text("instructions", instructions)
        self.inputs, self.outputs, self.examples = inputs, outputs, examples
        self.progress_bar = check_switch("progress_bar", progress_bar)
        self.raise_on_failure = check_switch("raise_on_failure", raise_on_failure)
        self.chat_generator, self.model = chosen_model(chat_generator, model)
        self.base_url, self.api_key_env, self.replay, self.system = base_url, api_key_env, replay, system
        self.concurrency, self.timeout = concurrency, timeout
        self.verdicts = None if verdicts is None else check_path(verdicts, "verdicts")
        options = self._judge_options()  # checked
        self.concurrency, self.timeout, self.replay = options.concurrency, options.timeout, options.replay
        hint: Message = ["Pass the verdict file with the replies as ", Parameter("verdicts"), "."]
        require(self.verdicts or not self.replay, "a replay reads a verdict file, and none is given", hint)
        require(system != "", [Parameter("system", system), " is not a name"])
        reject_lone_surrogates([system or ""], Place("system"))
        self._declare_inputs(dict(inputs))

    def _judge_options(self) -> JudgeOptions:
        """The options of a judge that this evaluator has; all others have their defaults."""
        return JudgeOptions(
            model=self.model if self.chat_generator is None else self.chat_generator,
            base_url=self.base_url,
            api_key_env=self.api_key_env,
            concurrency=self.concurrency,
            timeout=self.timeout,
            replay=self.replay,
            system=self.system,
        )

    def _declare_inputs(self, types: Mapping[str, Any]) -> None:
        component.set_input_types(self, **types)

    @staticmethod
    def validate_init_parameters(inputs: Any, outputs: Any, examples: Any) -> None:
        """Reject inputs, outputs or examples of the wrong form."""
        check_parameters(inputs, outputs, examples)

    @staticmethod
    def validate_input_parameters(expected: Mapping[str, Any], received: Mapping[str, Any]) -> None:
        """Reject inputs of `run` that are missing or unknown, or that are not lists of one length."""
        check_inputs(expected, received)

    def warm_up(self) -> None:
        """Warm up the chat generator, if there is one that can be warmed up. `run` does this itself."""
        self._call("warm_up")

    async def warm_up_async(self) -> None:
        """Warm up the chat generator, if there is one that can be warmed up."""
        await self._call_async("warm_up")

    def close(self) -> None:
        """Close the chat generator, if there is one that can be closed."""
        self._call("close")

    async def close_async(self) -> None:
        """Close the chat generator, if there is one that can be closed."""
        await self._call_async("close")

    def _call(self, name: str) -> None:
        if callable(method := getattr(self.chat_generator, name, None)):
            method()

    async def _call_async(self, name: str) -> None:
        if callable(method := getattr(self.chat_generator, f"{name}_async", None)):
            await method()
        else:
            self._call(name)

    @component.output_types(results=list[dict[str, Any]], meta=list[dict[str, Any]] | None)
    def run(self, **inputs: Any) -> dict[str, Any]:
        """What the model replies about each question, and the tokens that it needed.

        Each of the `inputs` is a list with one element per question. `results` are the replies, and `meta` says which
        model was asked and how many tokens it needed; both have one element per question, which is None if the question
        could not be judged. `meta` is None if nothing is known about tokens.
        """
        from karat.grounding.judges.asking import carry_out  # most programs with evaluators do not ask a model

        with self._plans(inputs) as (plans, asker, progress, outcomes):
            carry_out(plans, asker, progress)
        return self._outputs(outcomes, asker.settings.model)

    @component.output_types(results=list[dict[str, Any]], meta=list[dict[str, Any]] | None)
    async def run_async(self, **inputs: Any) -> dict[str, Any]:
        """The same as `run`, for programs with an event loop, which goes on meanwhile."""
        from karat.grounding.judges.asking import carry_out_async

        with self._plans(inputs) as (plans, asker, progress, outcomes):
            await carry_out_async(plans, asker, progress)
        return self._outputs(outcomes, asker.settings.model)

    @contextmanager
    def _plans(
        self, inputs: Mapping[str, Any]
    ) -> Iterator[tuple[Iterator[Plan], Asker, Progress | None, dict[int, RequestOutcome]]]:
        """A plan for each question, how the model is asked, and what became of each question when that is done."""
        from karat.grounding.judges.asking import open_asker

        questions = self._questions(inputs)
        prompt, schema = prompt_of(type(self).__name__, self.instructions, self.outputs, self.examples), self._schema
        messages = []
        for at, values in enumerate(questions):
            with written_as_json("the inputs", Place(f"question {at}")):
                messages.append(prompt.messages(values))
        outcomes: dict[int, RequestOutcome] = {}

        def plan(at: int) -> Plan:
            known = asker.journal.items(str(at), self.system).values()
            question = Question(str(at), self.system, questions[at], tuple(known))

            def read(reply: Any) -> ReadReply:
                return ReadReply(tuple(self._records(question, self._checked(reply))))

            [outcomes[at]] = yield [ModelRequest(prompt.id, messages[at], schema, read, tuple(self._failed(question)))]
            if self.raise_on_failure and outcomes[at].state == "failed":  # what a replay lacks is counted at the end
                hint: Message = ["With ", Parameter("raise_on_failure", False), ", such questions are left out."]
                raise KaratError(f"question {at} could not be judged: {outcomes[at].error}", hint=hint)

        with ExitStack() as stack:
            asker = stack.enter_context(open_asker(self._judge_options(), self.verdicts))
            asker.accepts_failures = not self.raise_on_failure
            bar = stack.enter_context(progress_bar("questions")) if self.progress_bar else None
            progress = bar and (lambda done, usage: bar(done, len(questions), usage.short_text))
            yield map(plan, range(len(questions))), asker, progress, outcomes
        if notes := [*asker.journal.notes, *asker.model.notes]:
            _log.warning("karat: %s", safe_line(" ".join(notes)))

    def _questions(self, inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The inputs of each question."""
        names = [name for name, _ in self.inputs]
        check_inputs(dict(self.inputs), inputs)
        return [dict(zip(names, values, strict=True)) for values in zip(*map(inputs.__getitem__, names), strict=True)]

    @property
    def _schema(self) -> dict[str, Any]:
        """The JSON schema of a reply."""
        return schema_by_examples(self.outputs, self.examples)

    def _checked(self, reply: Any) -> dict[str, Any]:
        """A reply, if it has all outputs; otherwise an UnreadableReplyError says what is wrong with it."""
        fields = object_in(reply)
        for name in self.outputs:
            if name not in fields:
                raise UnreadableReplyError(f"The field {name} is missing.")
        return dict(fields)

    def _records(self, question: Question, reply: Mapping[str, Any]) -> Iterable[Record]:  # noqa: ARG002
        """What a reply says, as records of a verdict file; replies in a form of the user's own have none."""
        return ()

    def _failed(self, question: Question) -> Iterable[Record]:  # noqa: ARG002
        """The records of a question that could not be judged."""
        return ()

    def _outputs(self, by_question: Mapping[int, RequestOutcome], model: str) -> dict[str, Any]:
        """The outputs of `run`."""
        outcomes = [by_question[at] for at in range(len(by_question))]
        failed = [str(at) for at, outcome in enumerate(outcomes) if outcome.state != "done"]
        if failed:
            what = f"{plural(len(failed), 'question')} of {len(outcomes):,} could not be judged: {first_few(failed)}"
            _log.warning("karat: %s", safe_line(f"{what}. The first failure: {outcomes[int(failed[0])].error}"))
        results = [self._checked(decode_reply(each.reply)) if each.state == "done" else None for each in outcomes]
        usage = [_usage(each, model) if each.state == "done" else None for each in outcomes]
        return {"results": results, "meta": usage if any(usage) else None}

    def to_dict(self) -> dict[str, Any]:
        """The evaluator as `{"type", "init_parameters"}`, which `from_dict` reads.

        Chat generators are saved as Haystack does; a function cannot be saved. A key is never saved, only the name of
        its variable.
        """
        data = super().to_dict()
        saved: dict[str, Any] = data["init_parameters"]
        defaults = {name: each.default for name, each in inspect.signature(LLMEvaluator).parameters.items()}
        if self.chat_generator is not None:
            saved["chat_generator"] = generator_to_dict(self.chat_generator)
        kept = {"api_key_env"} if self.base_url else set()
        for name in (name for name in _OURS if saved[name] == defaults[name] and name not in kept):
            del saved[name]
        if "inputs" in saved:
            saved["inputs"] = [[name, type_text(kind)] for name, kind in self.inputs]
        return data

    @classmethod
    def _loaded(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        parameters = data.get("init_parameters") if isinstance(data, Mapping) else None
        if not isinstance(parameters, Mapping):
            return data
        parameters = dict(parameters)
        if parameters.get("base_url"):
            # The key is not for any server: whoever names another one has to name the variable, too.
            parameters.setdefault("api_key_env", None)
        if parameters.get("chat_generator") is not None:
            parameters["chat_generator"] = cls._generator_from_dict(parameters["chat_generator"])
        if isinstance(inputs := parameters.get("inputs"), list):
            # What is not a pair is rejected by the constructor.
            parameters["inputs"] = [
                (pair[0], type_from_text(pair[1])) if isinstance(pair, list) and len(pair) == 2 else pair
                for pair in inputs
            ]
        return {**data, "init_parameters": parameters}

    @staticmethod
    def _generator_from_dict(description: Any) -> ChatGenerator:
        return generator_from_dict(description)


def _usage(outcome: RequestOutcome, model: str) -> dict[str, Any] | None:
    """The tokens of a request as the OpenAI chat protocol words them, if they are known."""
    sent, received = outcome.tokens_in or 0, outcome.tokens_out or 0
    if not sent + received:
        return None
    counts = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
    return {"model": model, "usage": counts}
