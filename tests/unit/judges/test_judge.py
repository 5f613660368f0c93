"""judge() and estimate_judging(): what is asked, what is written, and what came of it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import karat
from karat import KaratError
from karat.grounding.judges.prompts import load_prompts
from karat.grounding.judges.requests import Message
from karat.grounding.labels.recipes import RECIPES
from tests.unit.judges.toy_judge import toy_reply

ROOT = Path(__file__).parents[3]
RESULTS = [
    {"query": "q1", "question": "How hard?", "retrieved": ["Gold is soft."], "answer": "Gold is soft. Iron is hard."},
    {"query": "q2", "question": "How soft?", "retrieved": ["Gold is soft.", "No."], "answer": "Gold is soft."},
]
RUBRIC = {"name": "tone", "question": "Is it polite?", "scale": {"poor": 0, "fair": 1, "good": 2}}
_NAMES = {prompt.text: name for name, prompt in load_prompts().items()}


class Toy:
    """A function that replies as the toy judge does, and counts."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, messages: Sequence[Message]) -> str:
        self.asked += 1
        [name] = [name for text, name in _NAMES.items() if messages[0]["content"].startswith(text)]
        return json.dumps(toy_reply(name, json.loads(messages[1]["content"])))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts.jsonl"


def test_answers_are_judged_once(path: Path) -> None:
    model = Toy()
    judging = karat.judge(RESULTS, task="faithfulness", model=model, verdicts=path)
    assert judging.scores().values["Faithfulness"].tolist() == [0.5, 1.0]
    assert (judging.usage.calls, judging.usage.failed, model.asked) == (4, 0, 4)
    again = karat.judge(RESULTS, task="faithfulness", model=model, verdicts=path)
    assert (again.usage.calls, again.usage.known, model.asked) == (0, 4, 4)
    assert str(again).startswith("0 calls (4 more were in the file), 0 failed")


@pytest.mark.parametrize("claims", ["[NaN]", "[null]", "[7]", "NaN"])
def test_a_list_of_claims_without_texts_is_a_failure_and_not_an_answer_without_claims(path: Path, claims: str) -> None:
    def model(messages: Sequence[Message]) -> str:
        asked = json.loads(messages[1]["content"])
        return f'{{"claims": {claims}}}' if asked.get("answer") == RESULTS[0]["answer"] else Toy()(messages)

    scores = karat.judge(RESULTS, task="faithfulness", model=model, verdicts=path).scores()
    assert scores.values["Faithfulness"][1] == 1.0
    assert scores.label_bounds["Faithfulness"].mean == (0.5, 1.0)


def test_what_is_wrong_with_the_file_is_an_error_of_its_scores_and_not_a_system_without_labels(path: Path) -> None:
    judging = karat.judge(RESULTS, task="context", model=Toy(), verdicts=path, system="rag")
    with path.open("a") as file:
        file.write('{"record": "item", "query": "q1", "id": "p1", "type": "passage", "rank": 1}\n')
    with pytest.raises(KaratError, match="another id"):
        judging.task_scores()


def test_files_are_systems_and_share_calls(path: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in RESULTS))
    files = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    judging = karat.judge(*files, task="context", model=Toy(), verdicts=path)
    assert judging.systems == ("one", "two")
    assert judging.usage.calls == 3
    assert {name: scores.means for name, scores in judging.task_scores().items()} == {
        name: {"ContextRelevance": 1.0, "ContextPrecision": 1.0} for name in judging.systems
    }
    assert judging.scores("ContextRelevance", system="two")["ContextRelevance"] == 1.0
    for each in files:
        karat.judge(each, task="context", verdicts=path, replay=True)


@pytest.mark.parametrize("as_file", [False, True])
def test_a_rubric_is_a_mapping_or_a_file(path: Path, tmp_path: Path, as_file: bool) -> None:
    file = tmp_path / "tone.json"
    file.write_text(json.dumps(RUBRIC))
    judging = karat.judge(RESULTS, rubric=file if as_file else RUBRIC, model=Toy(), verdicts=path, system="rag")
    assert judging.task_scores()["rag"].means == {"Correctness(task=tone)": 0.5}


@pytest.mark.parametrize(
    ("given", "means"),
    [({"task": "coverage"}, {"NuggetCoverage": 1.0}), ({"rubric": RUBRIC}, {"Correctness(task=tone)": 0.5})],
    ids=["coverage", "rubric"],
)
def test_without_measures_the_scores_are_those_of_the_task(path: Path, given: Any, means: dict[str, float]) -> None:
    karat.judge(RESULTS, task="context", model=Toy(), verdicts=path, system="rag")
    judging = karat.judge(RESULTS, model=Toy(), verdicts=path, system="rag", **given)
    assert judging.scores().means == judging.task_scores()["rag"].means == means


@pytest.mark.parametrize(("task", "measure"), [("context", "ContextRelevance"), ("coverage", "NuggetCoverage")])
def test_passages_are_judged_without_answers_and_claims_of_answers_are_kept(
    path: Path, task: str, measure: str
) -> None:
    karat.judge(RESULTS, task="faithfulness", model=Toy(), verdicts=path, system="rag")
    without = [{name: value for name, value in row.items() if name != "answer"} for row in RESULTS]
    judging = karat.judge(without, task=task, model=Toy(), verdicts=path, system="rag")
    assert judging.scores()[measure] == judging.task_scores()["rag"][measure] == 1.0
    assert karat.evaluate_results(without, measure, verdicts=path, name="rag")[measure] == 1.0
    again = karat.judge(RESULTS, task="faithfulness", model=None, verdicts=path, system="rag", replay=True)
    assert again.scores()["Faithfulness"] == 0.75


@pytest.mark.parametrize("task", RECIPES)
def test_the_measures_of_a_task_are_those_that_the_documentation_lists(path: Path, task: str) -> None:
    more = "Gold is never hard. Yes [1]."
    cited = [{**row, "answer": f"{row['answer']} {more}", "gold_answers": ["Gold is soft."]} for row in RESULTS]
    judging = karat.judge(cited, task=task, model=Toy(), verdicts=path, system="rag")
    table = (ROOT / "docs" / "judges.md").read_text("utf-8")
    [listed] = re.findall(rf"^\| `{task}` \| .* \| (.*) \|$", table, re.MULTILINE)
    assert ", ".join(judging.task_scores()["rag"].measures) == listed


@pytest.mark.parametrize(
    ("task", "fields"),
    [
        ("faithfulness", "'answer' and 'retrieved'"),
        ("support", "'answer' and 'retrieved'"),
        ("citations", "'answer' and 'retrieved'"),
        ("context", "'retrieved'"),
        ("coverage", "'retrieved'"),
        ("nuggets", "'answer'"),
        ("claims", "'answer'"),
        ("correctness", "'answer'"),
        ("answer_relevance", "'answer'"),
        ("abstention", "'answer'"),
    ],
)
def test_results_need_the_fields_that_the_task_reads(path: Path, task: str, fields: str) -> None:
    with pytest.raises(KaratError, match=rf"no fields? {fields}"):
        karat.judge([{"query": "q1", "gold_answers": ["Soft."]}], task=task, model=Toy(), verdicts=path)
    assert not path.exists()


def test_documents_that_are_not_judged_are_graded(path: Path) -> None:
    truth, run = {"q1": {"d1": 1, "d2": 0}}, {"q1": {"d1": 3.0, "d3": 2.0, "d4": 1.0}}
    texts: dict[str, Any] = {
        "queries": {"q1": "How hard?"},
        "corpus": {"d3": "Gold is soft.", "d4": "No.", "d1": "Gold.", "d2": "-"},
    }
    judging = karat.judge(truth, run, task="relevance", depth=2, model=Toy(), verdicts=path, **texts)
    assert judging.usage.calls == 1
    scores = karat.evaluate(truth, run, "P(rel=2)@2", verdicts=path)
    assert scores["P(rel=2)@2"] == 0.5
    again = karat.judge(truth, run, task="relevance", model=Toy(), verdicts=path, overlap=1, **texts)
    assert (again.usage.calls, again.usage.known) == (3, 1)
    with pytest.raises(KaratError, match="labels of documents, not of answers"):
        judging.scores()


def test_an_estimate_asks_nothing_and_says_what_is_assumed(path: Path) -> None:
    estimate = karat.estimate_judging(RESULTS, task="faithfulness", price_in=1e6, price_out=0, samples=2)
    assert (estimate.calls, estimate.known) == (6, 0)
    assert estimate.cost == estimate.tokens_in > 6 * 100
    assert estimate.tokens_out > 0
    assert "counted roughly" in str(estimate)
    model = Toy()
    karat.judge(RESULTS[:1], task="faithfulness", model=model, verdicts=path)
    before = path.read_bytes()
    rest = karat.estimate_judging(RESULTS, task="faithfulness", verdicts=path, model=model)
    assert (rest.calls, rest.known, path.read_bytes()) == (2, 2, before)
    nothing = karat.estimate_judging(RESULTS[:1], task="faithfulness", verdicts=path)  # the model is in the file
    assert (nothing.calls, nothing.known, nothing.tokens_in) == (0, 2, 0)


def test_the_estimate_is_what_is_asked_if_answers_have_a_claim_per_sentence(path: Path) -> None:
    for task in ("faithfulness", "context", "support", "citations", "nuggets", "correctness"):
        estimate = karat.estimate_judging(RESULTS, task=task)
        assert karat.judge(RESULTS, task=task, model=Toy(), verdicts=path).usage.calls == estimate.calls, task


def test_several_tasks_are_one_run_with_one_file_and_claims_are_extracted_once(path: Path) -> None:
    results = [{**row, "gold_answers": ["Gold is soft."]} for row in RESULTS]
    tasks = ["claims", "context", "faithfulness", "correctness"]
    apart = {task: path.with_name(f"{task}.jsonl") for task in tasks}
    judgings = {
        task: karat.judge(results, task=task, model=Toy(), verdicts=file, system="rag") for task, file in apart.items()
    }
    model = Toy()
    judging = karat.judge(results, task=tasks, model=model, verdicts=path, system="rag")
    means = {name: value for each in judgings.values() for name, value in each.scores().means.items()}
    assert judging.scores().means == judging.task_scores()["rag"].means == means
    assert judging.tasks == tuple(tasks)
    calls = sum(each.usage.calls for each in judgings.values())
    assert (judging.usage.calls, judging.usage.known, model.asked) == (calls - len(results), 0, calls - len(results))
    again = karat.judge(results, task=tasks, verdicts=path, system="rag", replay=True)
    assert (again.usage.calls, again.usage.failed) == (0, 0)
    assert again.scores().means == means


def test_a_rubric_is_judged_beside_tasks(path: Path) -> None:
    judging = karat.judge(RESULTS, task=("context", "support"), rubric=RUBRIC, model=Toy(), verdicts=path, system="rag")
    assert judging.tasks == ("context", "support", "tone")
    assert judging.scores()["Correctness(task=tone)"] == 0.5
    assert judging.scores()["ContextRelevance"] == 1.0


def test_labels_that_two_tasks_need_are_asked_for_once(path: Path) -> None:
    cited = [{**row, "answer": "Gold is soft [1]. Iron is hard [1]."} for row in RESULTS]
    both = karat.judge(cited, task=["support", "citations"], model=Toy(), verdicts=path)
    assert (both.usage.calls, both.usage.known) == (2, 0)
    assert karat.judge(cited, task="citations", verdicts=path, replay=True).usage.known == 2


def test_what_failed_for_one_task_is_not_asked_again_for_the_next(path: Path) -> None:
    results = [{**row, "gold_answers": ["Gold is soft."]} for row in RESULTS]

    def model(messages: Sequence[Message]) -> str:
        asked = json.loads(messages[1]["content"])
        is_extraction = "items" not in asked and "gold_answers" not in asked
        return "no" if is_extraction else toy(messages)

    toy = Toy()
    judging = karat.judge(results, task=["faithfulness", "claims"], model=model, verdicts=path, retry_failed=True)
    assert (judging.usage.failed, judging.usage.known) == (2, 0)
    assert any(note.startswith("2 calls failed: ") for note in judging.notes)


def test_several_tasks_and_systems_that_are_stopped_again_and_again_end_with_the_same_labels(
    path: Path, tmp_path: Path
) -> None:
    results = [{**row, "gold_answers": ["Gold is soft."], "answer": f"{row['answer']} Yes [1]."} for row in RESULTS]
    for name, rows in (("one", results), ("two", [{**row, "answer": "Gold is hard [1]."} for row in results])):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    files = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    tasks = ["claims", "coverage", "support", "faithfulness", "citations", "nuggets", "answer_relevance"]
    options: Any = {"task": tasks, "rubric": RUBRIC}
    whole = karat.judge(*files, model=Toy(), verdicts=path.with_name("whole.jsonl"), **options)
    model = Toy()
    runs = 1
    while karat.judge(*files, model=model, verdicts=path, max_calls=7, **options).usage.not_asked:
        runs += 1
    assert (runs, model.asked) == (-(-whole.usage.calls // 7), whole.usage.calls)
    stopped = karat.judge(*files, verdicts=path, replay=True, **options)
    for system, scores in stopped.task_scores().items():
        assert scores.means == whole.task_scores()[system].means


def test_a_limit_is_one_for_all_tasks(path: Path) -> None:
    judging = karat.judge(RESULTS, task=["context", "faithfulness"], model=Toy(), verdicts=path, max_calls=4)
    assert judging.usage.calls == 4
    assert judging.usage.not_asked > 0


def test_the_estimate_of_several_tasks_is_their_sum_and_what_is_asked(path: Path) -> None:
    results = [{**row, "gold_answers": ["Gold is soft."]} for row in RESULTS]
    tasks = ["context", "faithfulness", "claims"]
    options: Any = {"price_in": 1.0, "price_out": 2.0}
    estimate = karat.estimate_judging(results, task=tasks, rubric=RUBRIC, **options)
    assert [*estimate.tasks] == [*tasks, "tone"]
    for name in ("calls", "known", "tokens_in", "tokens_out", "cost"):
        assert getattr(estimate, name) == sum(getattr(part, name) for part in estimate.tasks.values()), name
    alone = {task: karat.estimate_judging(results, task=task, **options) for task in tasks}
    assert estimate.tasks["context"].calls == alone["context"].calls
    assert estimate.tasks["claims"].calls == alone["claims"].calls - len(results)
    assert "a call that several tasks need is counted for the first of them" in estimate.notes
    judging = karat.judge(results, task=tasks, rubric=RUBRIC, model=Toy(), verdicts=path)
    assert judging.usage.calls == estimate.calls
    lines = str(estimate).splitlines()
    assert [line.split()[0] for line in lines[2:7]] == [*tasks, "tone", "total"]
    assert lines[0].split("  ")[0] == "task"
    after = karat.estimate_judging(results, task=tasks, rubric=RUBRIC, verdicts=path, model=Toy())
    assert after.calls == 0
    assert karat.estimate_judging(results, task=["context"]).tasks == {}


def test_a_notebook_shows_scores_calls_and_notes_in_escaped_html(path: Path) -> None:
    limits: Any = {"price_in": 1.0, "price_out": 1.0, "max_cost": 5.0}
    options: Any = {"task": ["context", "nuggets"], "model": Toy(), "verdicts": path, "samples": 2, **limits}
    judging = karat.judge(RESULTS, system="<b>rag</b>", **options)
    html = judging._repr_html_()
    assert html.count("<table>") == 2
    assert "&lt;b&gt;rag&lt;/b&gt;" in html
    assert "<b>rag" not in html
    for text in ("ContextRelevance", "NuggetRecall", "tokens in", "cost", "note: 2 samples with temperature 0"):
        assert text in html, text


def test_a_notebook_says_which_task_has_no_labels_and_why_there_are_no_scores(path: Path) -> None:
    judging = karat.judge(RESULTS, task=["faithfulness", "context"], model=lambda _: "?", verdicts=path, max_calls=0)
    html = judging._repr_html_()
    assert html.count("<table>") == 1
    assert "no measure of the tasks faithfulness and context can be computed for the answers" in html
    path.unlink()
    assert "no scores: " in judging._repr_html_()
    assert "no such file" in judging._repr_html_()


def test_a_replay_of_another_model_or_of_several_is_an_error(path: Path) -> None:
    path.write_text('{"record":"file","version":1}\n')
    with pytest.raises(KaratError, match="no replies of a model"):
        karat.judge(RESULTS, task="context", verdicts=path, replay=True)
    karat.judge(RESULTS, task="context", model=Toy(), verdicts=path)
    karat.judge(RESULTS, task="context", verdicts=path, replay=True)
    karat.judge(RESULTS, task="context", model=lambda messages: Toy()(messages), verdicts=path)
    with pytest.raises(KaratError, match=r"several models\. Name the model whose replies are wanted: .* or "):
        karat.judge(RESULTS, task="context", verdicts=path, replay=True)
    with pytest.raises(KaratError, match=r"3 of 3 calls are not in the file; the first is relevance/2 about query q1"):
        karat.judge(RESULTS, task="context", model="another", verdicts=path, replay=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": "fathfulness"}, "task='fathfulness' is not one of .*Did you mean faithfulness"),
        ({"task": None}, "neither a task nor a rubric"),
        ({"task": []}, "neither a task nor a rubric"),
        ({"task": 7}, "task must be text"),
        ({"task": ["context", None]}, "task must be text"),
        ({"task": "context,support"}, "task='context,support' is not the name of one task. Give each task by itself"),
        ({"task": ["context", "suport"]}, "task='suport' is not one of .*Did you mean support"),
        ({"task": ["context", "support", "context"]}, "task='context' is given twice. Leave one of them out"),
        (
            {"task": ["relevance", "context"]},
            "the task relevance is about documents of runs, and context is about results. Judge the task relevance by",
        ),
        ({"task": ["context", "nuggets"], "depth": 5}, "depth=5 has no effect on the tasks context and nuggets"),
        ({"task": ["context", "claims"]}, "no gold answers"),
        ({"rubric": {**RUBRIC, "name": "context"}}, "context is the name of a built-in task"),
        ({"task": None, "rubric": [1]}, "is not a rubric"),
        ({"task": None, "rubric": {**RUBRIC, "name": "nuggets"}}, "nuggets is the name of a built-in task"),
        ({"task": None, "rubric": {**RUBRIC, "name": "support"}}, "support is a built-in task"),
        ({"task": None, "rubric": {**RUBRIC, "question": ""}}, "no question to ask"),
        ({"task": None, "rubric": {**RUBRIC, "scale": {"a": 1}}}, "the scale of the task"),
        ({"model": None}, "no model is given"),
        ({"model": 7}, "model=7 is not a language model"),
        ({"samples": 0}, "samples=0 is not a whole number from 1 to 1,000"),
        ({"samples": 10**400}, "samples=a number with thousands|samples=1000"),
        ({"concurrency": 1.5}, "concurrency=1.5 is not a whole number"),
        ({"temperature": -1}, "temperature=-1 is not a number from 0 to 2"),
        ({"max_tokens": "many"}, "max_tokens='many' is not a whole number"),
        ({"timeout": 0}, "timeout=0 is not a number of seconds above 0"),
        ({"timeout": float("inf")}, "timeout=inf"),
        ({"prompts": 7}, "prompts must be the path"),
        ({"max_calls": -1}, "max_calls=-1 is not a whole number of 0 or more"),
        ({"max_calls": 1.5}, "max_calls=1.5 is not a whole number of 0 or more"),
        ({"max_tokens_total": True}, "max_tokens_total=True is not a whole number of 0 or more"),
        ({"max_cost": 1}, r"max_cost=1\.0 needs prices\. Pass what a million tokens cost, such as price_in=0\.4 and"),
        ({"max_cost": "5", "price_in": 1, "price_out": 1}, "max_cost='5' is not a number of 0 or more"),
        ({"max_cost": float("nan"), "price_in": 1, "price_out": 1}, "max_cost=nan is not a number of 0 or more"),
        ({"price_in": 1}, "price_in=1 needs the other price, too"),
        ({"price_out": 1}, "price_out=1 needs the other price, too"),
        ({"price_in": -1, "price_out": 1}, "price_in=-1 is not a number of 0 or more"),
        ({"price_in": 1, "price_out": float("inf")}, "price_out=inf is not a number of 0 or more"),
        ({"replay": "yes"}, "replay='yes' is neither True nor False"),
        ({"replay": True, "retry_failed": True}, "a replay asks nothing"),
        ({"verdicts": 7}, "verdicts must be the path of a file"),
        ({"system": 7}, "system must be text"),
        ({"input_format": 7}, "input_format must be text"),
        ({"prompts": "/nowhere"}, "not a folder with prompts"),
        (
            {"task": "relevance"},
            r"the results: these are results, and .* To judge the passages in results, use task='context'",
        ),
        ({"depth": 0}, "depth=0 is not a whole number of 1 or more"),
        ({"task": "relevance", "rubric": RUBRIC}, "rubric=.* has no effect on the task relevance"),
        ({"task": "relevance", "system": "rag"}, "system='rag' has no effect on the task relevance"),
        ({"overlap": 3}, "overlap=3 has no effect on the task context"),
        ({"task": None, "rubric": RUBRIC, "depth": 5}, "depth=5 has no effect on a rubric"),
        ({"task": "claims"}, "no gold answers"),
    ],
    ids=str,
)
def test_wrong_arguments_are_errors_before_anything_is_asked(path: Path, arguments: Any, message: str) -> None:
    model = Toy()
    with pytest.raises(KaratError, match=message):
        karat.judge(RESULTS, **{"task": "context", "model": model, "verdicts": path, **arguments})
    assert model.asked == 0
    assert not path.exists()


def test_a_file_of_results_in_the_place_of_ground_truth_is_named(path: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f"{json.dumps(row)}\n" for row in RESULTS))
    with pytest.raises(KaratError, match=r"log\.jsonl: these are results, .*use task='context'"):
        karat.judge(log, {"q1": ["d1"]}, task="relevance", model=Toy(), verdicts=path)


def test_documents_are_judged_in_runs_and_by_their_texts(path: Path) -> None:
    truth: dict[str, Any] = {"q1": {"d1": 1}}
    with pytest.raises(KaratError, match=r"a judge reads the texts of the queries\. Pass queries: a file with ids and"):
        karat.judge(truth, task="relevance", model=Toy(), verdicts=path)
    with pytest.raises(KaratError, match="the unjudged documents are those of runs, and none is given"):
        karat.judge(truth, task="relevance", queries={}, corpus={}, model=Toy(), verdicts=path)


def test_several_systems_need_names(path: Path) -> None:
    with pytest.raises(KaratError, match="several systems have no names"):
        karat.judge(RESULTS, RESULTS, task="context", model=Toy(), verdicts=path)
    with pytest.raises(KaratError, match="one name is given for several systems"):
        karat.judge(RESULTS, RESULTS, task="context", model=Toy(), verdicts=path, system="a")


@pytest.mark.parametrize("name", ["tone, style", "tone (1)", "my tone", '"tone"', "Ton=é"])
def test_a_rubric_may_have_any_name_and_is_evaluated_without_naming_it(path: Path, name: str) -> None:
    judging = karat.judge(RESULTS, rubric={**RUBRIC, "name": name}, model=Toy(), verdicts=path)
    [measure] = judging.scores().means
    assert name in measure
    assert karat.evaluate_verdicts(path).means == {measure: 0.5} == karat.evaluate_verdicts(path, measure).means


@pytest.mark.parametrize("name", [" tone", "none", '"it\'s"'])
def test_a_rubric_that_no_measure_can_name_is_refused_before_anything_is_asked(path: Path, name: str) -> None:
    with pytest.raises(KaratError, match="cannot be the name of a rubric"):
        karat.judge(RESULTS, rubric={**RUBRIC, "name": name}, model=Toy(), verdicts=path)
    assert not path.exists()


def test_a_rubric_with_another_scale_is_refused_before_it_makes_the_file_unreadable(path: Path) -> None:
    karat.judge(RESULTS, rubric=RUBRIC, model=Toy(), verdicts=path)
    before, model = path.read_bytes(), Toy()
    with pytest.raises(KaratError, match="the task 'tone' already has another scale"):
        karat.judge(RESULTS, rubric={**RUBRIC, "scale": {"poor": 0, "good": 1}}, model=model, verdicts=path)
    assert (path.read_bytes(), model.asked) == (before, 0)
    karat.judge(RESULTS, rubric={**RUBRIC, "question": "Is it very polite?"}, model=model, verdicts=path)
    assert model.asked == len(RESULTS)
    assert karat.evaluate_verdicts(path).means == {"Correctness(task=tone)": 0.5}


@pytest.mark.parametrize(("first", "then"), [(None, "rag"), ("rag", None)])
def test_answers_with_and_without_the_name_of_a_system_are_not_mixed_in_one_file(
    path: Path, first: str | None, then: str | None
) -> None:
    karat.judge(RESULTS, task="context", model=Toy(), verdicts=path, system=first)
    before, model = path.read_bytes(), Toy()
    owners = {None: "all systems", "rag": "the system 'rag'"}
    with pytest.raises(KaratError, match=f"is in the file for {owners[first]}, and now for {owners[then]}"):
        karat.judge(RESULTS, task="faithfulness", model=model, verdicts=path, system=then)
    assert (path.read_bytes(), model.asked) == (before, 0)
    karat.judge(RESULTS, task="faithfulness", model=model, verdicts=path, system=first)
    assert len(karat.evaluate_verdicts(path).means) == 3


def test_a_system_is_evaluated_on_the_queries_that_it_answered(path: Path, tmp_path: Path) -> None:
    for name, rows in (("one", RESULTS), ("two", RESULTS[:1])):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    judging = karat.judge(tmp_path / "one.jsonl", tmp_path / "two.jsonl", task="nuggets", model=Toy(), verdicts=path)
    assert {name: each.queries for name, each in judging.task_scores().items()} == {"one": ("q1", "q2"), "two": ("q1",)}


def test_an_estimate_mentions_claims_only_if_they_are_extracted() -> None:
    notes = {task: karat.estimate_judging(RESULTS, task=task).notes for task in ("context", "nuggets")}
    assert not any("claims or nuggets" in note for note in notes["context"])
    assert any("claims or nuggets" in note for note in notes["nuggets"])


def test_notes_say_what_was_odd(path: Path) -> None:
    judging = karat.judge(RESULTS, task="nuggets", model=Toy(), verdicts=path, samples=2)
    assert any("no gold answers" in note for note in judging.notes)
    assert "2 samples with temperature 0 differ in the order of texts at most" in judging.notes


def test_notes_tell_queries_without_gold_answers_from_those_that_also_lack_passages() -> None:
    results = [*RESULTS, {"query": "q3", "answer": "No."}, {"query": "q4", "answer": "No.", "gold_answers": ["Yes."]}]
    found = karat.estimate_judging(results, task="nuggets")
    assert found.notes[0] == (
        "2 queries have no gold answers: nuggets are extracted from the first 100 passages that systems retrieved, so"
        " what none of them found does not count as missing"
    )
    assert found.notes[1] == "1 query has neither gold answers nor passages, from which nuggets could be extracted"
    assert "gold" not in karat.estimate_judging(results[3:], task="nuggets").notes[0]


def test_limits_of_tokens_say_that_a_function_may_exceed_them(path: Path) -> None:
    limits: dict[str, Any] = {"max_tokens_total": 10**6, "max_cost": 1.0, "price_in": 1, "price_out": 1}
    judging = karat.judge(RESULTS, task="context", model=Toy(), verdicts=path, **limits)
    assert judging.notes[-1] == (
        "max_tokens is not passed to a chat generator or a function, whose replies may be longer and exceed"
        " max_tokens_total and max_cost"
    )


def test_a_limit_stops_before_it_is_exceeded_and_bounds_say_what_is_missing(path: Path) -> None:
    judging = karat.judge(RESULTS, task="context", model=Toy(), verdicts=path, max_calls=1)
    assert (judging.usage.calls, judging.usage.not_asked) == (1, 2)
    assert "2 not asked" in str(judging)
    assert judging.scores("ContextRelevance").bounds("ContextRelevance").mean == (0.5, 1.0)
