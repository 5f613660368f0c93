"""judge() and estimate_judging(): have answers or documents judged by a language model, in a verdict file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Unpack

from karat.errors import require
from karat.errors.arguments import check_path
from karat.grounding.judges.assignments import Assignment, answers_to_judge, check_task, documents_to_judge
from karat.grounding.judges.estimates import Estimate, estimate
from karat.grounding.judges.judging import Judging, carry_out_assignment
from karat.grounding.judges.options import RELEVANCE, JudgeArguments, JudgeOptions, judge_options


def judge(source: Any, *runs: Any, verdicts: str | os.PathLike[str], **options: Unpack[JudgeArguments]) -> Judging:
    """Have answers or documents judged by a language model, which adds labels to the verdict file `verdicts`.

    `source` are results, with further results of other systems in `runs`; `task` says what is asked, or a `rubric` of
    your own (`{"name": ..., "question": ..., "scale": {label: number}}`, or a JSON file). With `task="relevance"`,
    `source` is ground truth, `runs` are runs, and the unjudged documents in their top `depth` (10) are graded, with all
    judged ones of `overlap` (0) queries. `queries` and `corpus` are the texts of what is known by id only; `system` is
    the name of the system; `fields` and `format` say how results are read.

    `model` is the name of a model (of OpenAI, or of the server at `base_url`; the key is in the environment variable
    `api_key_env`, OPENAI_API_KEY), a Haystack chat generator, or a function that takes messages and returns a text. The
    last two have settings of their own: `temperature` (0.0), `seed` (42) and `max_tokens` (2048) are not passed to
    them. At most `concurrency` (8) requests are under way at a time, each for at most `timeout` (60.0) seconds.
    Everything is asked `samples` (1) times. `prompts` is a folder with prompts of your own.

    Replies are written to the file before they count. If the same call is made again, nothing that is in the file is
    asked again, except failures: those without a reply, and with `retry_failed` all. With `replay`, everything must be
    in the file. `max_calls`, `max_tokens_total` and `max_cost`, with the prices of a million tokens (`price_in`,
    `price_out`), are not exceeded.

    >>> import json, tempfile
    >>> def model(messages):
    ...     return json.dumps({"label": 3, "why": "It is the answer."})
    >>> results = [{"query": "How hard is gold?", "retrieved": ["Gold is soft."], "answer": "Not very."}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     judging = judge(results, task="context", model=model, verdicts=f"{folder}/verdicts.jsonl")
    ...     judging.scores().means
    {'ContextRelevance': 1.0, 'ContextPrecision': 1.0}
    """
    checked = judge_options(options)
    path = check_path(verdicts, "verdicts")
    return carry_out_assignment(_assignment([source, *runs], checked), checked, path)


def estimate_judging(
    source: Any, *runs: Any, verdicts: str | os.PathLike[str] | None = None, **options: Unpack[JudgeArguments]
) -> Estimate:
    """About how many calls `judge` would make with the same arguments, and how many tokens; nothing is asked.

    With prices of a million tokens, it says what that costs. Replies that are in `verdicts` already cost nothing.

    >>> results = [{"query": "How hard is gold?", "retrieved": ["Gold is soft."], "answer": "Not very."}]
    >>> estimate_judging(results, task="context").calls
    1
    """
    checked = judge_options(options)
    path = None if verdicts is None else check_path(verdicts, "verdicts")
    return estimate(_assignment([source, *runs], checked), checked, path)


def _assignment(sources: Sequence[Any], options: JudgeOptions) -> Assignment:
    if options.task != RELEVANCE:
        return answers_to_judge(sources, options)
    from karat.evaluation import evaluate_runs

    check_task(options)
    truth, *runs = sources
    hint = "Pass the ground truth first, and then runs."
    require(runs, "the unjudged documents are those of runs, and none is given", hint)
    are_files = all(isinstance(each, str | os.PathLike) for each in runs)
    named = runs if are_files else {f"run {at}": each for at, each in enumerate(runs, 1)}
    form = options.format
    systems = evaluate_runs(truth, named, f"Judged@{options.depth}", truth_format=form, run_format=form)
    return documents_to_judge(systems, options)
