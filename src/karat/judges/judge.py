"""judge() and estimate_judging(): have answers or documents judged by a language model, in a verdict file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from karat.arguments import check_path, check_text
from karat.errors import KaratError, require
from karat.judges.assignments import RELEVANCE, Assignment, answers_to_judge, documents_to_judge, read_rubric
from karat.judges.estimates import Estimate
from karat.judges.judging import Judge, Judging

_DEPTH = 10


def judge(
    source: Any,
    *runs: Any,
    verdicts: str | os.PathLike[str],
    task: str | None = None,
    rubric: Any = None,
    model: Any = None,
    system: str | None = None,
    queries: Any = None,
    corpus: Any = None,
    depth: int = _DEPTH,
    overlap: int = 0,
    fields: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    concurrency: int = 8,
    timeout: float = 60.0,
    samples: int = 1,
    temperature: float = 0.0,
    seed: int = 42,
    max_tokens: int = 2048,
    prompts: str | os.PathLike[str] | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    max_calls: int | None = None,
    max_tokens_total: int | None = None,
    max_cost: float | None = None,
    replay: bool = False,
    retry_failed: bool = False,
) -> Judging:
    """Have answers or documents judged by a language model, which adds labels to the verdict file `verdicts`.

    `source` are results, with further results of other systems in `runs`; `task` says what is asked, or a `rubric` of
    your own (`{"name": ..., "question": ..., "scale": {label: number}}`, or a JSON file). With `task="relevance"`,
    `source` is ground truth, `runs` are runs, and the unjudged documents in their top `depth` are graded, with all
    judged ones of `overlap` queries. `queries` and `corpus` are the texts of what is known by id only.

    `model` is the name of a model (of OpenAI, or of the server at `base_url`; the key is in the environment variable
    `api_key_env`), a Haystack chat generator, or a function that takes messages and returns a text. The last two have
    settings of their own: `temperature`, `seed` and `max_tokens` are not passed to them. Everything is asked `samples`
    times. `prompts` is a folder with prompts of your own.

    Replies are written to the file before they count. If the same call is made again, nothing that is in the file is
    asked again, except failures: those without a reply, and with `retry_failed` all. With `replay`, everything must be
    in the file. `max_calls`, `max_tokens_total` and `max_cost`, with the prices of a million tokens, are not exceeded.

    >>> import json, tempfile
    >>> def model(messages):
    ...     return json.dumps({"label": 3, "why": "It is the answer."})
    >>> results = [{"query": "How hard is gold?", "retrieved": ["Gold is soft."], "answer": "Not very."}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     judging = judge(results, task="context", model=model, verdicts=f"{folder}/verdicts.jsonl")
    ...     judging.scores().means
    {'ContextRelevance': 1.0, 'ContextPrecision': 1.0}
    """
    asked = Judge(
        model=model,
        base_url=base_url,
        api_key_env=api_key_env,
        concurrency=concurrency,
        timeout=timeout,
        samples=samples,
        temperature=temperature,
        seed=seed,
        max_tokens=max_tokens,
        prompts=prompts,
        price_in=price_in,
        price_out=price_out,
        max_calls=max_calls,
        max_tokens_total=max_tokens_total,
        max_cost=max_cost,
        replay=replay,
        retry_failed=retry_failed,
    )
    path = check_path(verdicts, "verdicts")
    assignment = _assignment(source, runs, task, rubric, system, queries, corpus, depth, overlap, fields, format)
    return asked.judge(assignment, path)


def estimate_judging(
    source: Any,
    *runs: Any,
    verdicts: str | os.PathLike[str] | None = None,
    task: str | None = None,
    rubric: Any = None,
    model: Any = None,
    system: str | None = None,
    queries: Any = None,
    corpus: Any = None,
    depth: int = _DEPTH,
    overlap: int = 0,
    fields: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002
    samples: int = 1,
    temperature: float = 0.0,
    seed: int = 42,
    max_tokens: int = 2048,
    prompts: str | os.PathLike[str] | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    retry_failed: bool = False,
) -> Estimate:
    """About how many calls `judge` would make with the same arguments, and how many tokens; nothing is asked.

    With prices of a million tokens, it says what that costs. Replies that are in `verdicts` already cost nothing.

    >>> results = [{"query": "How hard is gold?", "retrieved": ["Gold is soft."], "answer": "Not very."}]
    >>> estimate_judging(results, task="context").calls
    1
    """
    asked = Judge(
        model=model,
        samples=samples,
        temperature=temperature,
        seed=seed,
        max_tokens=max_tokens,
        prompts=prompts,
        price_in=price_in,
        price_out=price_out,
        retry_failed=retry_failed,
    )
    path = None if verdicts is None else check_path(verdicts, "verdicts")
    assignment = _assignment(source, runs, task, rubric, system, queries, corpus, depth, overlap, fields, format)
    return asked.estimate(assignment, path)


def _assignment(
    source: Any,
    runs: Sequence[Any],
    task: str | None,
    rubric: Any,
    system: str | None,
    queries: Any,
    corpus: Any,
    depth: int,
    overlap: int,
    fields: Mapping[str, str] | None,
    form: str | None,
) -> Assignment:
    task is None or check_text("task", task)
    system is None or check_text("system", system)
    form is None or check_text("format", form)
    others: dict[str, bool] = {"depth": depth != _DEPTH, "overlap": bool(overlap)}
    if task == RELEVANCE:
        others = {"rubric": rubric is not None, "system": system is not None, "fields": fields is not None}
    for name in filter(others.get, others):
        raise KaratError(f"{name} has no effect on {f'the task {task}' if task else 'a rubric'}", hint="Leave it out.")
    if task != RELEVANCE:
        own = None if rubric is None else read_rubric(rubric)
        texts: Any = {"queries": queries, "corpus": corpus, "fields": fields, "format": form}
        return answers_to_judge([source, *runs], task, own, system=system, **texts)
    from karat.evaluation import evaluate_runs

    hint = "Pass the ground truth first, and then runs."
    require(runs, "the unjudged documents are those of runs, and none is given", hint)
    are_files = all(isinstance(each, str | os.PathLike) for each in runs)
    named = list(runs) if are_files else {f"run {at}": each for at, each in enumerate(runs, 1)}
    systems = evaluate_runs(source, named, f"Judged@{depth}", truth_format=form, run_format=form)
    return documents_to_judge(systems, depth=depth, overlap=overlap, queries=queries, corpus=corpus)
