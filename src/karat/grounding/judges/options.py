"""The options of a judge, each declared once: for `karat.judge` and `karat judge`, and evaluators that ask a model.

This module stays light, so that `karat --help` starts at once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict, get_args, get_type_hints

from karat.errors import KaratError, Message, Parameter, require
from karat.errors.arguments import as_count, as_number, check_path, check_switch, check_text
from karat.options import RELEVANCE, Option, Order, Recipe, check_choice, check_names, check_order

TASKS: tuple[str, ...] = (*get_args(Recipe), RELEVANCE)
_RUBRIC = '{"name": ..., "question": ..., "scale": {label: number}}'
_DAY = 24 * 60 * 60.0
_PRICES: Message = [
    "Pass what a million tokens cost, such as ", Parameter("price_in", 0.4), " and ", Parameter("price_out", 1.6), ".",
]  # fmt: skip
_COUNTS: Mapping[str, tuple[int, float]] = {
    "concurrency": (1, 1000), "samples": (1, 1000), "seed": (0, 2**63 - 1), "max_tokens": (1, 10**9),
    "max_input_tokens": (1, math.inf),
    "depth": (1, math.inf), "overlap": (0, math.inf), "max_calls": (0, math.inf), "max_tokens_total": (0, math.inf),
}  # fmt: skip


class _Help(NamedTuple):
    """How an option is explained: a placeholder for its value, which a switch does not have, and a sentence."""

    metavar: str
    text: str


class JudgeArguments(TypedDict, total=False):
    """The options as keyword arguments, for editors and type checkers: the fields of `JudgeOptions`."""

    task: str | Sequence[str] | None
    rubric: Any
    model: Any
    replay: bool
    retry_failed: bool
    base_url: str | None
    api_key_env: str | None
    samples: int
    max_calls: int | None
    max_tokens_total: int | None
    max_cost: float | None
    price_in: float | None
    price_out: float | None
    concurrency: int
    timeout: float
    temperature: float
    seed: int
    max_tokens: int
    max_input_tokens: int | None
    prompts: str | os.PathLike[str] | None
    examples: Any
    depth: int
    overlap: int
    system: str | None
    queries: Any
    corpus: Any
    truth: Any
    answers: Any
    fields: Mapping[str, str] | None
    records: str | None
    input_format: str | None
    order: Order | None


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """What a language model is asked about, how, and what that may cost. Values are checked when it is created."""

    task: Annotated[
        str | Sequence[str] | None,
        _Help("TASK", f"What is judged: {', '.join(TASKS)} (of unjudged documents). Repeatable."),
    ] = None
    rubric: Annotated[Any, _Help("FILE", f"A rubric of your own, alone or beside tasks, as JSON: {_RUBRIC}.")] = None
    model: Annotated[Any, _Help("NAME", "The model that judges.")] = None
    replay: Annotated[bool, _Help("", "Ask nothing: every reply must be in the verdict file. Needs no key.")] = False
    retry_failed: Annotated[bool, _Help("", "Ask again where the reply could not be understood.")] = False
    base_url: Annotated[
        str | None, _Help("URL", "The server, if it is not OpenAI's: any that speaks its chat protocol.")
    ] = None
    api_key_env: Annotated[
        str | None, _Help("VARIABLE", "The environment variable that contains the key of the server.")
    ] = "OPENAI_API_KEY"
    samples: Annotated[int, _Help("N", "Ask everything N times, to see how much the judge varies.")] = 1
    max_calls: Annotated[int | None, _Help("N", "Stop before more than N requests are sent.")] = None
    max_tokens_total: Annotated[int | None, _Help("N", "Stop before more than N tokens may be used.")] = None
    max_cost: Annotated[float | None, _Help("COST", "Stop before more than this may be spent. Needs both prices.")] = (
        None
    )
    price_in: Annotated[float | None, _Help("PRICE", "The price of a million input tokens.")] = None
    price_out: Annotated[float | None, _Help("PRICE", "The price of a million output tokens.")] = None
    concurrency: Annotated[int, _Help("N", "The most requests at a time.")] = 8
    timeout: Annotated[float, _Help("SECONDS", "The longest time to wait for a reply.")] = 60.0
    temperature: Annotated[float, _Help("T", "The temperature of the model.")] = 0.0
    seed: Annotated[int, _Help("N", "The seed of the model.")] = 42
    max_tokens: Annotated[int, _Help("N", "The longest reply, in tokens.")] = 2048
    max_input_tokens: Annotated[
        int | None,
        _Help("N", "Divide texts, so that a request has about N tokens at most."),
    ] = None
    prompts: Annotated[
        str | os.PathLike[str] | None,
        _Help("FOLDER", "A folder with prompts of your own, such as support.txt, instead of karat's."),
    ] = None
    examples: Annotated[
        Any, _Help("FILE", "Show the model a few labels by people, of this verdict file, in the prompt. Repeatable.")
    ] = None
    depth: Annotated[
        int, _Help("K", "With the task relevance: judge the unjudged documents in the top K of a run.")
    ] = 10
    overlap: Annotated[
        int, _Help("N", "With the task relevance: also judge all judged documents of N queries, for comparison.")
    ] = 0
    system: Annotated[str | None, _Help("NAME", "The name of the system. By default, the name of the file.")] = None
    queries: Annotated[Any, _Help("FILE", "The texts of queries that are known by id only.")] = None
    corpus: Annotated[Any, _Help("FILE", "The texts of documents that are known by id only.")] = None
    truth: Annotated[Any, _Help("FILE", "Gold answers, if they are not in the results.")] = None
    answers: Annotated[Any, _Help("FILE", "Answers, if they are not in the results.")] = None
    fields: Annotated[Mapping[str, str] | None, _Help("FIELD=NAME", "What fields of results are called.")] = None
    records: Annotated[str | None, _Help("PATH", "Where the records are inside an object, such as run.items.")] = None
    input_format: Annotated[str | None, _Help("FORMAT", "The format of the files, if their names do not say it.")] = (
        None
    )
    order: Annotated[
        Order | None, _Help("ORDER", "What each list of documents is sorted by: score. By default, it keeps its order.")
    ] = None

    def __post_init__(self) -> None:
        for name, (least, most) in _COUNTS.items():
            self._set(name, as_count(getattr(self, name), least, most), _whole_number(least, most))
        temperature, timeout, cost = (as_number(getattr(self, each)) for each in ("temperature", "timeout", "max_cost"))
        in_range = temperature is not None and 0 <= temperature <= 2
        self._set("temperature", temperature if in_range else None, "a number from 0 to 2")
        in_range = timeout is not None and 0 < timeout <= _DAY
        self._set("timeout", timeout if in_range else None, "a number of seconds above 0, up to a day")
        self._set("max_cost", cost if cost is not None and cost >= 0 else None, "a number of 0 or more")
        self._check_prices()
        self._check_tasks()
        for name in ("system", "input_format", "records", "base_url", "api_key_env"):
            if getattr(self, name) is not None:
                check_text(name, getattr(self, name))
        if self.api_key_env and self.api_key_env != JUDGE_OPTIONS["api_key_env"].default:
            from karat.grounding.judges.secrets import check_key_variable  # which compiles patterns

            check_key_variable(self.api_key_env)
        if self.prompts is not None:
            check_path(self.prompts, "prompts")
        check_order(self.order)
        for name in ("replay", "retry_failed"):
            object.__setattr__(self, name, check_switch(name, getattr(self, name)))
        both = self.replay and self.retry_failed
        require(not both, "a replay asks nothing, so that failed calls cannot be made again", "Leave one of them out.")

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, in the order in which they are given."""
        return tuple(self.task or ())

    @property
    def is_about_documents(self) -> bool:
        """Whether documents of runs are judged instead of answers."""
        return RELEVANCE in self.tasks

    def _check_tasks(self) -> None:
        """Set the task to a tuple of tasks, each of which is known and given once."""
        given = self.task if isinstance(self.task, Sequence) and not isinstance(self.task, str) else [self.task]
        tasks: list[str] = []
        for name in given if self.task is not None else ():
            check_text("task", name)
            what: Message = [Parameter("task", name), " is not the name of one task"]
            require("," not in str(name), what, "Give each task by itself, not as one text.")
            if check_choice("task", name, TASKS) in tasks:
                raise KaratError([Parameter("task", name), " is given twice"], hint="Leave one of them out.")
            tasks.append(str(name))
        object.__setattr__(self, "task", tuple(tasks))

    def _check_prices(self) -> None:
        """Both prices are needed or none, and a limit of cost needs them."""
        prices = {name: value for name in ("price_in", "price_out") if (value := getattr(self, name)) is not None}
        if len(prices) == 1:
            [price] = prices.items()
            raise KaratError([Parameter(*price), " needs the other price, too"], hint=_PRICES)
        for name, value in prices.items():
            number = as_number(value)
            is_valid = number is not None and 0 <= number < math.inf
            self._set(name, number if is_valid else None, "a number of 0 or more", _PRICES)
        if self.max_cost is not None and not prices:
            raise KaratError([Parameter("max_cost", self.max_cost), " needs prices"], hint=_PRICES)

    def _set(self, name: str, checked: float | None, wanted: str, hint: Message | None = None) -> None:
        """Set an option to its checked value; None says that it is not what is wanted, unless None is the default."""
        value = getattr(self, name)
        if checked is None and (value is not None or JUDGE_OPTIONS[name].default is not None):
            raise KaratError([Parameter(name, value), f" is not {wanted}"], hint=hint)
        object.__setattr__(self, name, checked)


def _declared() -> dict[str, Option]:
    options = {}
    for name, hint in get_type_hints(JudgeOptions, include_extras=True).items():
        [about] = hint.__metadata__
        options[name] = Option(getattr(JudgeOptions, name), about.text, metavar=about.metavar)
    return options


JUDGE_OPTIONS: Mapping[str, Option] = _declared()
"""the options by name, with their defaults and help"""


def judge_options(options: Mapping[str, Any]) -> JudgeOptions:
    """The options of a judge with their defaults filled in; an unknown one is an error."""
    check_names(options, JUDGE_OPTIONS)
    return JudgeOptions(**options)


def _whole_number(least: int, most: float) -> str:
    return f"a whole number of {least} or more" if most == math.inf else f"a whole number from {least} to {most:,}"
