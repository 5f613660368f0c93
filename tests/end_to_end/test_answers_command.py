"""Answers on the command line: `karat answers`, answers in results, and answer measures in `karat measures`."""

from __future__ import annotations

import csv
import doctest
import gzip
import io
import json
import re
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from karat import Scores, SystemScores, evaluate_answers, evaluate_results
from karat.cli import demo_data as demo
from karat.errors.installing import pip_install
from karat.evaluation import DEFAULT_ANSWER_MEASURES
from karat.registry.selection import default_measures
from tests.end_to_end.in_process import Done, plain_environment, run_here
from tests.end_to_end.pseudo_terminal import on_terminal
from tests.platforms import CLOSED_PIPE, KARAT

GOLD: dict[str, Any] = {"tower": "the Eiffel Tower", "nine": ["9", "nine"], "unsaid": "x", "größe": "北京"}
GOOD = {"tower": "Eiffel Tower in Paris", "nine": "Nine.", "größe": "北京"}
POOR = {"tower": "Paris", "nine": "9", "unsaid": "y", "größe": "東京"}
ASKED = ("-m", "EM,TokenF1", "-m", "Contains")
MEASURES = ("EM", "TokenF1", "Contains")
BOTH: list[dict[str, Any]] = [
    {"query": "both", "truth": ["a"], "retrieved": ["x", "a"], "gold_answers": ["p", "q"], "answer": "q"},
    {"query": "documents", "truth": ["a"], "retrieved": ["a"]},
    {"query": "answers", "gold_answers": ["p"], "answer": "r"},
]
SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".md": "markdown",
    ".markdown": "markdown", ".tex": "latex", ".latex": "latex", ".txt": "table",
}  # fmt: skip
MODEL_NOTE = "note: SAS uses wordllama (static embeddings, no download) because no model is given."


def installed(
    folder: Path, *words: str | Path, stdin: bytes = b"", environment: Mapping[str, str] = MappingProxyType({})
) -> Done:
    """Run the installed command in its own process."""
    done = subprocess.run(
        [KARAT, *map(str, words)],
        cwd=folder, input=stdin, capture_output=True, check=False, env=plain_environment(environment),
    )  # fmt: skip
    assert b"Traceback" not in done.stderr
    return Done(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def good(folder: Path, *words: str | Path, run: Callable[..., Done] = run_here) -> str:
    """The output of a command that succeeds; standard error may contain notes."""
    done = run(folder, *words)
    assert done.returncode == 0, done.stderr
    assert all(line.startswith(("note", "wrote ")) for line in done.stderr.splitlines())
    return done.stdout


def mistake(folder: Path, *words: str | Path, run: Callable[..., Done] = run_here) -> str:
    """The error of a command: one line on standard error and status 2, nothing printed, nothing written."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = run(folder, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("karat: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.strip().isprintable()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    return done.stderr


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=True), "utf-8")


def write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")


def table_rows(text: str, form: str) -> list[dict[str, Any]]:
    if form == "jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text), delimiter="," if form == "csv" else "\t"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, value in {"gold": GOLD, "good": GOOD, "poor": POOR}.items():
        write_json(tmp_path / f"{name}.json", value)
    write_lines(tmp_path / "results.jsonl", BOTH)
    write_lines(tmp_path / "answers.jsonl", BOTH[2:])
    return tmp_path


def expected(name: str = "good", **options: Any) -> Scores:
    return evaluate_answers(GOLD, {"good": GOOD, "poor": POOR}[name], MEASURES, name=name, **options)


# Formats.


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_formats_for_programs_contain_means_or_questions_to_the_last_digit(form: str, folder: Path) -> None:
    words = ("answers", "gold.json", "good.json", *ASKED, "--format", form)
    (row,) = table_rows(good(folder, *words), form)
    assert row["run"] == "good"
    assert {name: float(row[name]) for name in MEASURES} == expected().means
    rows = table_rows(good(folder, *words, "--per-query"), form)
    assert {row["query"]: {name: float(row[name]) for name in MEASURES} for row in rows} == expected().per_query


def test_json_contains_the_same_scores_as_python(folder: Path) -> None:
    whole = json.loads(good(folder, "answers", "gold.json", "good.json", *ASKED, "--format", "json"))
    assert whole == expected().to_dict()
    assert [finding["code"] for finding in whole["findings"]] == ["missing-answers"]


@pytest.mark.parametrize("form", ["table", "markdown", "latex"])
def test_formats_for_people_show_the_same_numbers_and_the_findings(form: str, folder: Path) -> None:
    done = run_here(folder, "answers", "gold.json", "good.json", *ASKED, "--format", form)
    assert (done.returncode, done.stderr) == (0, "")
    for name, mean in expected().means.items():
        assert re.search(rf"{name}\W+{mean:.4f}", done.stdout)
    assert "1 question without an answer (scored 0): unsaid" in done.stdout
    every = good(folder, "answers", "gold.json", "good.json", *ASKED, "--format", form, "--per-query")
    assert [query for query in (*GOLD, "all") if re.search(rf"(?m)^\W*{query}\b", every)] == [*GOLD, "all"]


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_findings_go_to_standard_error_if_the_format_contains_only_numbers(form: str, folder: Path) -> None:
    done = run_here(folder, "answers", "gold.json", "good.json", "--format", form)
    assert "note" not in done.stdout
    assert done.stderr.startswith("note K053: 1 question without an answer (scored 0): unsaid.")
    assert "--missing skip" in done.stderr


def test_the_default_measures_are_answer_measures(folder: Path) -> None:
    whole = json.loads(good(folder, "answers", "gold.json", "good.json", "--format", "json"))
    assert whole["means"] == evaluate_answers(GOLD, GOOD).means
    assert tuple(whole["means"]) == DEFAULT_ANSWER_MEASURES


def test_the_suffix_of_the_output_file_decides_the_format(folder: Path) -> None:
    words = ("answers", "gold.json", "good.json", "poor.json", *ASKED)
    printed = {form: good(folder, *words, "--format", form) for form in set(SUFFIXES.values())}
    assert len(set(printed.values())) == len(printed)
    for suffix, form in SUFFIXES.items():
        assert good(folder, *words, "-o", f"scores{suffix}") == ""
        assert (folder / f"scores{suffix}").read_text("utf-8") == printed[form]


def test_a_parquet_file_is_loaded_as_the_same_scores(folder: Path) -> None:
    good(folder, "answers", "gold.json", "good.json", *ASKED, "-o", "scores.parquet")
    assert Scores.load(folder / "scores.parquet").to_dict() == expected().to_dict()
    good(folder, "answers", "gold.json", "good.json", "poor.json", *ASKED, "-o", "scores.parquet")
    assert list(SystemScores.load(folder / "scores.parquet")) == ["good", "poor"]


def test_intervals_contain_their_values(folder: Path) -> None:
    words = ("answers", "gold.json", "good.json", *ASKED, "--ci")
    (row,) = table_rows(good(folder, *words, "--format", "csv"), "csv")
    for name, (low, high) in ((name, expected().interval(name)) for name in MEASURES):
        assert (float(row[f"{name} low"]), float(row[f"{name} high"])) == (low, high)
        assert low < float(row[name]) < high
    low, high = expected().interval("TokenF1")
    table = good(folder, *words)
    assert f"[{low:.4f}, {high:.4f}]" in table
    assert "95% confidence intervals" in table


def test_missing_skip_leaves_out_questions_without_an_answer(folder: Path) -> None:
    words = ("answers", "gold.json", "good.json", *ASKED, "--missing", "skip", "--format", "json")
    whole = json.loads(good(folder, *words))
    assert whole == expected(missing="skip").to_dict()
    assert [row["query"] for row in whole["queries"]] == ["tower", "nine", "größe"]
    assert whole["findings"][0]["message"] == "1 question without an answer (left out): unsaid"


def test_several_files_of_predictions_are_shown_in_one_table_by_file_name(folder: Path) -> None:
    words = ("answers", "gold.json", "poor.json", "good.json", *ASKED)
    rows = table_rows(good(folder, *words, "--format", "csv"), "csv")
    assert [row["run"] for row in rows] == ["poor", "good"]
    assert [float(row["TokenF1"]) for row in rows] == [expected(name)["TokenF1"] for name in ("poor", "good")]
    table = good(folder, *words)
    assert re.search(rf"(?m)^good .* {expected()['TokenF1']:.4f}\*", table)
    several = json.loads(good(folder, *words, "--format", "json"))
    assert several == {"runs": {name: expected(name).to_dict() for name in ("poor", "good")}}
    every = table_rows(good(folder, *words, "--format", "jsonl", "--per-query"), "jsonl")
    assert [(row["run"], row["query"]) for row in every] == [(run, query) for run in ("poor", "good") for query in GOLD]


def test_files_with_the_same_name_are_told_apart_by_their_folders(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        write_json(folder / name / "said.json", GOOD)
    text = good(folder, "answers", "gold.json", "one/said.json", "two/said.json", "-m", "EM", "--format", "csv")
    assert [line.split(",")[0] for line in text.splitlines()] == ["run", "one/said", "two/said"]


# Measures.


@pytest.mark.parametrize("words", [("-m", "EM", "-m", "TokenF1"), ("-m", "EM,TokenF1"), ("-m", "exact_match, F1")])
def test_measures_are_given_one_by_one_or_separated_by_commas(words: tuple[str, ...], folder: Path) -> None:
    text = good(folder, "answers", "gold.json", "good.json", *words, "--format", "csv")
    assert text.splitlines()[0] == "run,EM,TokenF1"


def test_f1_means_token_f1_and_measures_accept_parameters(folder: Path) -> None:
    words = ("-m", "F1", "-m", "EM(normalize=neutral),F1(normalize=false)")
    whole = json.loads(good(folder, "answers", "gold.json", "good.json", *words, "--format", "json"))
    names = ["TokenF1", "EM(normalize=neutral)", "TokenF1(normalize=false)"]
    assert whole["means"] == evaluate_answers(GOLD, GOOD, names).means
    assert list(whole["means"]) == names


def test_sas_without_a_model_uses_static_embeddings_and_prints_a_note(folder: Path) -> None:
    table = good(folder, "answers", "gold.json", "good.json", "poor.json", "-m", "SAS")
    assert table.count(MODEL_NOTE) == 1
    for form in ("csv", "jsonl"):
        done = run_here(folder, "answers", "gold.json", "good.json", "-m", "EM,sas", "--format", form)
        assert done.returncode == 0
        assert MODEL_NOTE not in done.stdout
        assert done.stderr.count(MODEL_NOTE) == 1
        (row,) = table_rows(done.stdout, form)
        scores = evaluate_answers(GOLD, GOOD, "SAS(model=wordllama)")
        assert float(row["SAS(model=wordllama)"]) == scores["SAS(model=wordllama)"]


def test_an_explanation_names_the_default_model_on_standard_error(folder: Path) -> None:
    for more in ([], ["--format", "json"], ["-o", "why.json"]):
        done = run_here(folder, "answers", "gold.json", "good.json", "-m", "SAS", "--explain", "nine", *more)
        assert done.returncode == 0
        assert "because no model is given" not in done.stdout
        assert done.stderr.count(MODEL_NOTE) == 1
    words = ("answers", "gold.json", "good.json", "-m", "SAS(model=wordllama)", "--explain", "nine")
    assert run_here(folder, *words).stderr == ""


def test_a_model_that_is_given_is_used_without_a_note(folder: Path) -> None:
    words = ("answers", "gold.json", "poor.json", "-m", "SAS(model=wordllama)", "--format")
    done = installed(folder, *words, "csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(good(folder, *words, "json"))["findings"] == []


def test_no_note_about_models_if_no_measure_needs_one(folder: Path) -> None:
    assert "model" not in good(folder, "answers", "gold.json", "good.json")


def without(folder: Path, package: str) -> Callable[..., Done]:
    """Run the command as if a package were not installed."""
    place = folder / "not-installed"
    place.mkdir()
    (place / f"{package}.py").write_text(f"raise ModuleNotFoundError({package!r}, name={package!r})\n")
    return partial(installed, environment={"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"})


def test_a_model_whose_extra_is_not_installed_is_an_error_that_names_the_extra(folder: Path) -> None:
    words = ("answers", "gold.json", "good.json", "-m", "SAS(model=someone/some-model)", "-o", "scores.csv")
    message = mistake(folder, *words, run=without(folder, "sentence_transformers"))
    assert "'someone/some-model'" in message
    assert pip_install("sas") in message
    assert "wordllama" in message


def test_control_characters_in_the_name_of_a_model_are_harmless(folder: Path) -> None:
    words = ("answers", "gold.json", "good.json", "-m", f"SAS(model=\x1b[31m{'x' * 900})")
    message = mistake(folder, *words, run=without(folder, "sentence_transformers"))
    assert r"'\x1b[31mxxx" in message
    assert len(message) < 700


def test_static_embeddings_that_are_not_installed_are_an_error_that_names_the_extra(folder: Path) -> None:
    message = mistake(folder, "answers", "gold.json", "good.json", "-m", "SAS", run=without(folder, "wordllama"))
    assert pip_install("static") in message


# Files and fields.


def test_fields_with_other_names_are_read_with_the_field_option(folder: Path) -> None:
    write_lines(folder / "theirs.jsonl", [{"nr": nr, "labels": ["a", "b"], "said": {"text": "b"}} for nr in (1, 2)])
    fields = ("--field", "query=nr", "--field", "gold_answers=labels", "--field", "answer=said.text")
    text = good(folder, "answers", "theirs.jsonl", "theirs.jsonl", *fields, "-m", "EM", "--format", "csv")
    assert text == "run,EM\ntheirs,1.0\n"


def test_a_file_with_one_record_is_read_with_the_field_option(folder: Path) -> None:
    write_lines(folder / "theirs.jsonl", [{"nr": 1, "labels": ["a", "b"], "said": {"text": "b"}}])
    fields = ("--field", "query=nr", "--field", "gold_answers=labels", "--field", "answer=said.text")
    text = good(folder, "answers", "theirs.jsonl", "theirs.jsonl", *fields, "-m", "EM", "--format", "csv")
    assert text == "run,EM\ntheirs,1.0\n"


@pytest.mark.parametrize("wrong", ["sad.text", "said.txt", "sad"])
def test_a_misspelt_field_of_a_file_with_one_record_is_an_error(wrong: str, folder: Path) -> None:
    write_json(folder / "theirs.json", {"nr": 1, "labels": ["a", "b"], "said": {"text": "b"}})
    fields = ("--field", "query=nr", "--field", "gold_answers=labels", "--field", f"answer={wrong}")
    message = mistake(folder, "answers", "theirs.json", "theirs.json", *fields)
    assert message.startswith(f"karat: theirs.json: no field '{wrong}'; the fields are 'nr', 'labels', 'said'.")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["query=id", "gold_answers=label", "answer=said"], "--field gold_answers=..."),
        (["query=id", "gold_answers=labels", "answer=say"], "--field answer=..."),
        (["query=key"], "--field query=..."),
        (["queries=id"], "'queries' is not a field"),
        (["query"], "is not of the form NAME=FIELD"),
        (["query=a", "query=b"], "twice"),
    ],
)
def test_a_wrong_field_option_is_an_error_with_a_hint(fields: list[str], message: str, folder: Path) -> None:
    write_lines(folder / "theirs.jsonl", [{"id": query, "labels": ["a"], "said": "a"} for query in "pq"])
    words = [word for field in fields for word in ("--field", field)]
    assert message in mistake(folder, "answers", "theirs.jsonl", "theirs.jsonl", *words)


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl", "json.gz", "squad.json"])
def test_all_file_formats_give_the_same_scores(name: str, folder: Path) -> None:
    rows = [(query, text) for query, golds in GOLD.items() for text in ([golds] if isinstance(golds, str) else golds)]
    qas = [{"id": query, "answers": [{"text": text} for at, text in rows if at == query]} for query in GOLD]
    files: dict[str, Callable[[], bytes]] = {
        "csv": lambda: "".join(f'{query},"{text}"\n' for query, text in [("query", "answer"), *rows]).encode(),
        "tsv": lambda: "".join(f"{query}\t{text}\n" for query, text in [("query", "answer"), *rows]).encode(),
        "jsonl": lambda: "".join(
            json.dumps({"query": query, "gold_answers": golds}) + "\n" for query, golds in GOLD.items()
        ).encode(),
        "json.gz": lambda: gzip.compress(json.dumps(GOLD).encode()),
        "squad.json": lambda: json.dumps({"data": [{"paragraphs": [{"qas": qas}]}]}).encode(),
    }
    (folder / f"truth.{name}").write_bytes(files[name]())
    text = good(folder, "answers", f"truth.{name}", "good.json", *ASKED, "--format", "json")
    assert json.loads(text) == expected().to_dict()


def test_standard_input_can_be_the_truth_or_the_predictions(folder: Path) -> None:
    as_truth = good(
        folder,
        "answers",
        "-",
        "good.json",
        *ASKED,
        "--format",
        "csv",
        run=partial(installed, stdin=json.dumps(GOLD).encode()),
    )
    as_predictions = good(
        folder,
        "answers",
        "gold.json",
        "-",
        *ASKED,
        "--format",
        "csv",
        run=partial(installed, stdin=json.dumps(GOOD).encode()),
    )
    assert as_truth == as_predictions.replace("stdin", "good")
    assert float(table_rows(as_predictions, "csv")[0]["TokenF1"]) == expected()["TokenF1"]


MISTAKES: dict[str, tuple[list[str], str]] = {
    "no predictions": (["gold.json"], "gold answers without predicted answers cannot be evaluated. Add a file of"
                       " predicted answers. Results that contain both are evaluated by `karat evaluate`."),
    "a missing truth": (["gld.json", "good.json"], "no such file. Did you mean gold.json"),
    "missing predictions": (["gold.json", "god.json"], "no such file. Did you mean good.json"),
    "one missing of several": (["gold.json", "good.json", "god.json"], "god.json: no such file"),
    "a folder": (["gold.json", "."], "."),
    "standard input twice": (["-", "-"], "read only once"),
    "standard input twice among several": (["gold.json", "-", "good.json", "-"], "read only once"),
    "an empty standard input": (["gold.json", "-"], "no predicted answers found"),
    "an empty truth": (["empty", "good.json"], "empty: no gold answers found"),
    "empty predictions": (["gold.json", "empty"], "empty: no predicted answers found"),
    "a broken truth": (["broken.json", "good.json"], "broken.json: not JSON"),
    "broken predictions": (["gold.json", "broken.json"], "broken.json: not JSON"),
    "binary data": (["gold.json", "binary"], "binary"),
    "a number as an answer": (["gold.json", "number.json"], "number.json, question nine: 9 is not text"),
    "a number as a gold answer": (["number.json", "good.json"], "number.json, question nine: 9 is not a gold answer"),
    "several predicted answers": (["gold.json", "gold.json"], "Pass one predicted answer per question"),
    "a document measure": (["gold.json", "good.json", "-m", "nDCG@10"], "nDCG@10 measures documents, not answers"),
    "one document measure": (["gold.json", "good.json", "-m", "EM,AP"], "`karat evaluate`"),
    "an unknown measure": (["gold.json", "good.json", "-m", "TokenF2"], "Did you mean TokenF1"),
    "an unknown measure like SAS": (["gold.json", "good.json", "-m", "SASS"], "Did you mean SAS?"),
    "an unknown parameter": (["gold.json", "good.json", "-m", "SAS(modle=wordllama)"], "Did you mean model?"),
    "a cut-off": (["gold.json", "good.json", "-m", "EM@3"], "EM takes no cut-off"),
    "no measure": (["gold.json", "good.json", "-m", ""], "'' is not a measure"),
    "an unknown question": (["gold.json", "good.json", "--explain", "towers"], "Did you mean tower?"),
    "an explanation as csv": (["gold.json", "good.json", "--explain", "tower", "--format", "csv"], "written as csv"),
    "an explanation of all": (["gold.json", "good.json", "--explain", "tower", "--per-query"], "shows one query"),
    "intervals of every question": (["gold.json", "good.json", "--ci", "--per-query", "--format", "csv"], "--ci"),
    "a question that nobody knows": (["gold.json", "good.json", "--explain", "\x1b[31m"], r"query '\x1b[31m'"),
    "no common question": (["gold.json", "others.json"], "Check that the question ids are spelled the same way in"
                           " both, and are in the same field or column."),
    "an unknown suffix": (["gold.json", "good.json", "-o", "scores.xlsx"], "--format json"),
    "the truth as output": (["gold.json", "good.json", "-o", "gold.json"], "gold.json: the output file is"),
    "a prediction as output": (["gold.json", "good.json", "-o", "good.json"], "good.json: the output file is"),
    "a link to an input as output": (["gold.json", "good.json", "-o", "link.csv"], "the output file is also an input"),
    "no folder for the output": (["gold.json", "good.json", "-o", "nowhere/s.csv"], "cannot be written"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_an_error_is_one_line_with_a_hint_and_nothing_is_written(name: str, folder: Path) -> None:
    (folder / "empty").touch()
    (folder / "broken.json").write_text('{"tower": "a",\n "nine": ')
    (folder / "binary").write_bytes(bytes(range(256)) * 10)
    write_json(folder / "number.json", {"nine": 9})
    write_json(folder / "others.json", {"q1": "x"})
    (folder / "link.csv").symlink_to("good.json")
    words, message = MISTAKES[name]
    assert message in mistake(folder, "answers", *words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "TRUTH is missing. Usage: karat answers [OPTIONS] TRUTH [PREDICTIONS...]"),
        (["gold.json", "good.json", "--missing", "never"], "--missing never is not one of zero, skip"),
        (["gold.json", "good.json", "--format", "xml"], "--format xml is not one of table, tsv, csv, json"),
    ],
)
def test_a_wrong_command_line_is_one_line_on_standard_error(words: list[str], message: str, folder: Path) -> None:
    assert message in mistake(folder, "answers", *words)


# Explanations.


def test_a_question_is_explained_gold_answer_by_gold_answer(folder: Path) -> None:
    shown = good(folder, "answers", "gold.json", "good.json", "-m", "EM(normalize=true)", "--explain", "nine")
    header, _, *rows = shown.splitlines()
    assert header.split() == ["answer", "EM(normalize=true)"]
    assert [row.split() for row in rows[:3]] == [["predicted", "Nine."], ["gold", "9", "0.0000"],
                                                 ["gold", "nine", "1.0000*"]]  # fmt: skip
    assert rows[3:] == ["* best in its column", "query nine: EM(normalize=true) 1.0000"]


def test_an_explanation_is_written_in_every_format_that_supports_it(folder: Path) -> None:
    words = ("answers", "gold.json", "good.json", *ASKED, "--explain", "nine")
    whole = json.loads(good(folder, *words, "--format", "json"))
    assert whole == expected().explain("nine").to_dict()
    assert [each["gold"] for each in whole["golds"]] == ["9", "nine"]
    drawn = good(folder, *words, "--format", "markdown")
    assert r"| gold | nine | 0.0000 | **1.0000**\* | **1.0000**\* |" in drawn.splitlines()
    for suffix, form in ((".json", "json"), (".md", "markdown"), (".tex", "latex"), (".txt", "table")):
        assert good(folder, *words, "-o", f"why{suffix}") == ""
        assert (folder / f"why{suffix}").read_text("utf-8") == good(folder, *words, "--format", form)


def test_the_explanation_of_a_question_without_an_answer_shows_none(folder: Path) -> None:
    words = ("answers", "gold.json", "good.json", "-m", "EM", "--explain", "unsaid")
    assert "predicted   (none)" in good(folder, *words)
    assert json.loads(good(folder, *words, "--format", "json"))["predicted"] is None


def test_the_error_for_a_skipped_question_does_not_claim_that_the_truth_lacks_it(folder: Path) -> None:
    message = mistake(folder, "answers", "gold.json", "good.json", "--missing", "skip", "--explain", "unsaid")
    assert message == "karat: query 'unsaid' was not evaluated: 1 question without an answer (left out): unsaid\n"


def test_explanations_of_several_files_are_titled_with_their_names(folder: Path) -> None:
    words = ("answers", "gold.json", "good.json", "poor.json", "-m", "EM", "--explain", "tower")
    lines = good(folder, *words).splitlines()
    assert [line for line in lines if line in ("good", "poor")] == ["good", "poor"]
    runs = json.loads(good(folder, *words, "--format", "json"))["runs"]
    assert {name: each["predicted"] for name, each in runs.items()} == {
        "good": "Eiffel Tower in Paris", "poor": "Paris",
    }  # fmt: skip


# Texts with markup and control characters.

HOSTILE = ["q\x1b[31m", "\x1b]0;title\x07", "\u202eright to left", "\u2066isolated", "\x9b2J", "a\rb", "[red]x[/red]"]
SENT = ("\x1b[31m", "\x1b]0;", "\x07", "\x9b", "\u202e", "\u2066", "a\rb")


@pytest.fixture
def hostile(folder: Path) -> Path:
    write_json(folder / "gold.json", {text: [text, "x"] for text in HOSTILE})
    write_json(folder / "good.json", {text: text for text in HOSTILE[1:]})
    write_json(folder / "bad.json", {HOSTILE[0]: 5})
    return folder


@pytest.mark.parametrize("form", ["table", "markdown", "latex"])
def test_hostile_texts_are_harmless_in_formats_for_people(form: str, hostile: Path) -> None:
    words = ("answers", "gold.json", "good.json", "-m", "EM", "--format", form)
    every = good(hostile, *words, "--per-query")
    texts = [every, *(good(hostile, *words, "--explain", text) for text in HOSTILE[:3])]
    for text in texts:
        assert text.replace("\n", "").isprintable()
    if form == "table":
        assert [line.split("  ")[0] for line in every.splitlines()[2:9]] == [
            r"q\x1b[31m", r"\x1b]0;title\x07", r"\u202eright to left", r"\u2066isolated", r"\x9b2J", r"a\rb",
            "[red]x[/red]",
        ]  # fmt: skip


@pytest.mark.parametrize("words", [["--per-query"], ["--explain", HOSTILE[1]], ["--explain", HOSTILE[4]]])
def test_hostile_texts_are_harmless_on_a_terminal(words: list[str], hostile: Path) -> None:
    status, shown = on_terminal(hostile, "answers", "gold.json", "good.json", "-m", "EM", *words)
    assert status == 0
    assert "1.0000" in shown
    for sent in SENT:
        assert sent not in shown


@pytest.mark.parametrize("mark", ["\u200e", "\u200f", "\u061c"])
def test_characters_that_change_the_writing_direction_are_shown_as_escapes(mark: str, folder: Path) -> None:
    write_json(folder / "gold.json", {f"{mark}q": f"{mark}a"})
    text = good(folder, "answers", "gold.json", "gold.json", "-m", "EM", "--explain", f"{mark}q")
    assert "1.0000" in text
    assert mark not in text
    assert f"\\u{ord(mark):04x}a" in text


def test_hostile_texts_in_errors_and_notes_are_harmless(hostile: Path) -> None:
    status, shown = on_terminal(hostile, "answers", "gold.json", "bad.json", errors=True)
    assert status == 2
    assert r"question q\x1b[31m: 5 is not text" in shown
    assert "\x1b[31m" not in shown
    done = run_here(hostile, "answers", "gold.json", "good.json", "--format", "csv")
    assert done.stderr.startswith(r"note K053: 1 question without an answer (scored 0): q\x1b[31m.")
    assert done.stderr.strip().isprintable()


def test_a_lone_surrogate_in_an_answer_is_written_alike_to_a_file_and_to_standard_output(folder: Path) -> None:
    write_json(folder / "gold.json", {"q": "a\ud800"})
    words = ("answers", "gold.json", "gold.json", "-m", "EM", "--explain", "q", "--format", "json")
    assert json.loads(good(folder, *words))["predicted"] == "a\ud800"
    good(folder, *words, "-o", "why.json")
    assert json.loads((folder / "why.json").read_text("utf-8"))["predicted"] == "a\ud800"
    for suffix, code in {"md": r"a\\ud800", "tex": r"a\textbackslash{}ud800", "txt": r"a\ud800"}.items():
        good(folder, *words[:-2], "-o", f"why.{suffix}")
        assert (folder / f"why.{suffix}").read_text("utf-8").count(code) == 2


def test_markup_in_the_name_of_a_file_is_harmless(folder: Path) -> None:
    for name in ("\x1b[31mx.json", "[bold red]x.json"):
        write_json(folder / name, GOOD)
    words = ("answers", "gold.json", "\x1b[31mx.json", "[bold red]x.json", "-m", "EM")
    for more in ([], ["--explain", "nine"], ["--format", "markdown"], ["--explain", "nine", "--format", "latex"]):
        text = good(folder, *words, *more)
        assert r"\x1b[31mx" in text.replace("\\\\", "\\").replace("\\[", "[").replace(r"\textbackslash{}", "\\")
        assert text.replace("\n", "").isprintable()


def test_hostile_texts_are_unchanged_in_formats_for_programs(hostile: Path) -> None:
    words = ("answers", "gold.json", "good.json", "-m", "EM", "--format")
    assert [row["query"] for row in json.loads(good(hostile, *words, "json"))["queries"]] == HOSTILE
    good(hostile, *words, "csv", "--per-query", "-o", "scores.csv")
    with (hostile / "scores.csv").open(encoding="utf-8", newline="") as file:
        assert [row["query"] for row in csv.DictReader(file)] == HOSTILE


def test_a_character_that_the_encoding_lacks_is_shown_as_an_escape(folder: Path) -> None:
    words = ("answers", "gold.json", "good.json", "-m", "EM", "--explain", "größe", "--format", "markdown")
    assert "| gold | 北京 | 1.0000 |" in good(folder, *words)
    done = installed(folder, *words, environment={"PYTHONIOENCODING": "ascii"})
    assert r"| gold | \u5317\u4eac | 1.0000 |" in done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("words", "questions"),
    [(["--per-query", "--format", "csv"], 20_000), (["--explain", "0"], 3), ([], 3)],
)  # fmt: skip
def test_a_closed_pipe_ends_the_command_quietly(words: list[str], questions: int, folder: Path) -> None:
    write_json(folder / "gold.json", {str(at): "a" for at in range(questions)})
    command = [str(KARAT), "answers", "gold.json", "gold.json", "-m", "EM", *words]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() in CLOSED_PIPE


# Results with answers.


def test_results_with_documents_and_answers_get_the_default_measures_of_both(folder: Path) -> None:
    whole = json.loads(good(folder, "evaluate", "results.jsonl", "--format", "json"))
    assert tuple(whole["means"]) == (*default_measures(2)[0], *DEFAULT_ANSWER_MEASURES)
    assert whole == evaluate_results(BOTH, name="results").to_dict()
    assert whole["queries"][1]["TokenF1"] is None
    assert whole["queries"][2]["RR"] is None


def test_results_get_the_measures_that_are_given(folder: Path) -> None:
    text = good(folder, "evaluate", "results.jsonl", "-m", "EM", "--per-query", "--format", "csv")
    assert text == "query,EM\nboth,1.0\nanswers,0.0\n"
    text = good(folder, "evaluate", "results.jsonl", "-m", "EM,RR", "--format", "csv")
    assert text == "run,EM,RR\nresults,0.5,0.75\n"


def test_results_with_only_answers_get_the_default_answer_measures(folder: Path) -> None:
    whole = json.loads(good(folder, "evaluate", "answers.jsonl", "--format", "json"))
    assert tuple(whole["means"]) == DEFAULT_ANSWER_MEASURES
    assert good(folder, "evaluate", "answers.jsonl", "-m", "F1", "--format", "csv") == "run,TokenF1\nanswers,0.0\n"
    assert "gold documents (truth)" in mistake(folder, "evaluate", "answers.jsonl", "-m", "RR")


def test_f1_is_ambiguous_if_results_contain_documents_and_answers(folder: Path) -> None:
    message = mistake(folder, "evaluate", "results.jsonl", "-m", "F1")
    assert "F of documents or TokenF1 of answers" in message
    assert "Write F or TokenF1." in message


def test_sas_of_results_uses_static_embeddings_and_prints_a_note(folder: Path) -> None:
    done = run_here(folder, "evaluate", "results.jsonl", "-m", "SAS", "--format", "csv")
    assert done.stdout.startswith("run,SAS(model=wordllama)\n")
    assert MODEL_NOTE in done.stderr


def test_documents_and_answers_of_a_query_are_explained_in_two_tables(folder: Path) -> None:
    words = ("evaluate", "results.jsonl", "-m", "RR,EM", "--explain")
    of_documents, of_answers = good(folder, *words, "both").split("\n\n")
    assert of_documents.startswith("rank")
    assert "query both: RR 0.5000, EM 1.0000" in of_documents
    assert [line.split()[:2] for line in of_answers.splitlines()[2:5]] == [["predicted", "q"], ["gold", "p"],
                                                                           ["gold", "q"]]  # fmt: skip
    drawn = good(folder, *words, "both", "--format", "markdown")
    assert drawn.count("\n| ---") == 2
    alone = {query: good(folder, *words, query) for query in ("documents", "answers")}
    assert "predicted" not in alone["documents"]
    assert "query documents: RR 1.0000, EM null" in alone["documents"]
    assert "rank" not in alone["answers"]
    assert "query answers: RR null, EM 0.0000" in alone["answers"]


def test_the_results_of_the_demo_contain_documents_and_answers(folder: Path) -> None:
    whole = json.loads(good(folder, "evaluate", demo.RESULTS, "--match", "prefix", "--format", "json"))
    assert tuple(whole["means"]) == (*default_measures(10)[0], *DEFAULT_ANSWER_MEASURES)
    assert len(whole["queries"]) == 50
    assert all(value is not None for row in whole["queries"] for value in row.values())
    assert 0 < whole["means"]["TokenF1"] < 1
    shown = good(folder, "evaluate", demo.RESULTS, "--match", "prefix", "--explain", "q01")
    assert "\n\n" in shown
    assert re.search(r"(?m)^predicted   \w", shown)


# Explanations of measures.


@pytest.mark.parametrize(("name", "expected"), [("EM", "EM(normalize=true)"), ("F1", "F1"), ("TokenF1", "SQuAD"),
                                            ("SAS", "wordllama"), ("sas", "semantic_answer_similarity")])  # fmt: skip
def test_a_measure_is_explained_and_its_example_runs(name: str, expected: str, folder: Path) -> None:
    text = good(folder, "measures", name)
    for word in (expected, "formula", "reference", "range", "also known as"):
        assert word in text
    report = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False)
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    results = runner.run(example, out=report.write)
    assert results.failed == 0, report.getvalue()
    assert results.attempted >= 2


@pytest.mark.parametrize("name", ["F1", "f1"])
def test_a_name_that_two_measures_share_explains_both(name: str, folder: Path) -> None:
    of_documents, of_answers = good(folder, "measures", "F"), good(folder, "measures", "TokenF1")
    assert good(folder, "measures", name) == f"{of_documents}\n{of_answers}"


def test_true_can_be_capitalised_as_in_python(folder: Path) -> None:
    for value in ("True", "TRUE", "true"):
        text = good(folder, "answers", "gold.json", "poor.json", "-m", f"EM(normalize={value})", "--format", "csv")
        assert text.splitlines()[0] == "run,EM(normalize=true)"


def test_an_answer_that_is_an_object_is_reported_with_a_hint_and_documents_are_scored(folder: Path) -> None:
    write_lines(folder / "objects.jsonl", [{**BOTH[0], "answer": {"text": "q"}}])
    done = run_here(folder, "evaluate", "objects.jsonl", "--format", "csv")
    assert done.returncode == 0
    assert done.stdout.startswith(f"run,{','.join(default_measures(2)[0])}\n")
    assert "note: answers not scored: objects.jsonl:1, answer: {'text': 'q'} is not text." in done.stderr
    assert "--field answer=answer.text" in done.stderr
    words = ("evaluate", "objects.jsonl", "-m", "EM")
    assert "--field answer=answer.text" in mistake(folder, *words)
    assert good(folder, *words, "--field", "answer=answer.text", "--format", "csv") == "run,EM\nobjects,1.0\n"


def test_answer_measures_are_listed_with_their_input(folder: Path) -> None:
    listed = good(folder, "measures")
    for name in ("EM", "TokenF1", "TokenPrecision", "TokenRecall", "RougeL", "Contains", "SAS"):
        assert re.search(rf"(?m)^{name}\s", listed)
        assert "karat answers" in good(folder, "measures", name)
    assert "karat answers" not in good(folder, "measures", "AP")


def test_the_help_of_the_command_lists_its_options(folder: Path) -> None:
    text = good(folder, "answers", "--help")
    assert "Usage: karat answers" in text
    for option in ("-m", "--field", "--explain", "--per-query", "--format", "-o", "--ci", "--missing"):
        assert re.search(rf"(?m)^  +(-\w, )?{option}\b", text)
