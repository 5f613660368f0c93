"""Verdict files in ranges: however many there are, and wherever they end, the scores are those of the whole file."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

import karat
from karat.evaluation.verdict_ranges import evaluate_ranges, plan_verdicts
from karat.registry import Measure
from tests.random_verdicts import labelled_by_several

pytestmark = pytest.mark.usefixtures("tiny_ranges")


def in_tasks(work: Callable[[Any], Any], inputs: Sequence[Any]) -> list[Any]:
    """What a function returns for inputs that were sent to it."""
    return [work(pickle.loads(pickle.dumps(each))) for each in inputs]


def portable(measure: Measure) -> Callable[[], Measure]:
    return lambda: measure


def in_ranges(path: Path, number: int, tasks: Callable[..., list[Any]] = in_tasks) -> karat.Scores:
    ranges = plan_verdicts(str(path), number)
    assert ranges is not None
    return evaluate_ranges(
        str(path), ranges, tasks, None, system=None, author=None, unknown="bounds", name="", portable=portable
    )


def outcome(compute: Callable[[], karat.Scores]) -> Any:
    """Values, bounds and findings, or the whole error."""
    try:
        scores = compute()
    except karat.KaratError as error:
        return str(error)
    rows = scores.by_id
    bounds = {name: (each.low[rows].tolist(), each.high[rows].tolist()) for name, each in scores.label_bounds.items()}
    return repr((sorted(scores.per_query.items()), scores.means, bounds, scores.findings))


@pytest.mark.parametrize("seed", range(8))
def test_ranges_have_the_scores_findings_and_errors_of_the_whole_file(tmp_path: Path, seed: int) -> None:
    random, path = Random(seed), tmp_path / "verdicts.jsonl"
    records = labelled_by_several(random)
    if seed % 4 == 3:
        random.shuffle(records)
    lines = [json.dumps(each, ensure_ascii=random.random() < 0.5) for each in records]
    if seed % 5 == 4:
        lines.insert(random.randrange(2, len(lines) + 1), random.choice(["", "{", '{"query": "q1"}', "[]"]))
    path.write_text(random.choice(["\n", "\r\n"]).join(lines) + random.choice(["", "\n"]))
    whole = outcome(lambda: karat.evaluate_verdicts(path))
    for number in (1, 7, 60):
        assert outcome(partial(in_ranges, path, number)) == whole


def test_a_file_that_is_written_meanwhile_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    label = {"record": "verdict", "item": "answer", "task": "correctness", "label": "correct"}
    path.write_text("".join(json.dumps({**label, "query": f"q{at}"}) + "\n" for at in range(20)))

    def writing(work: Callable[[Any], Any], inputs: Sequence[Any]) -> list[Any]:
        results = in_tasks(work, inputs)
        with path.open("a") as file:
            file.write(json.dumps({**label, "query": "q3", "label": "incorrect"}) + "\n")
        return results

    with pytest.raises(karat.KaratError, match="the file was changed while it was evaluated"):
        in_ranges(path, 4, writing)
