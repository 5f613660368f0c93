"""Scores that other tools computed: tables with a query column and columns of numbers, in every command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from karat import KaratError, Scores, SystemScores, compare, evaluate_runs
from karat.comparison.gate.gate import gate_by_rules
from karat.comparison.gate.rules import rules_from_limits
from karat.testing import assert_scores
from tests.end_to_end.in_process import Done, printed, refused, run_here

OLD: dict[str, list[object]] = {
    "query_id": ["q1", "q2", "q3", "q4", "q5", "q6"],
    "faithfulness": [0.9, 0.5, 1.0, 0.8, 0.7, 0.6],
    "latency (ms)": [120, 300, 80, 95, 100, 100],
    "answer relevancy": [0.7, None, 0.9, 0.9, 0.5, 0.5],
    "passed": [True, False, True, True, True, True],
    "comment": ["fine", "slow", None, None, None, "good, mostly"],
}
NEW = {**OLD, "faithfulness": [0.9, 0.6, 1.0, 0.9, 0.8, 0.7], "latency (ms)": [20, 30, 8, 9, 10, 10]}
LOWER = ("--lower-is-better", "latency (ms)")

Karat = Callable[..., Done]


@pytest.fixture
def karat(tmp_path: Path) -> Karat:
    for name, columns in (("old", OLD), ("new", NEW)):
        frame = pd.DataFrame(columns)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        frame.to_csv(tmp_path / f"{name}.tsv", sep="\t")
        frame.to_parquet(tmp_path / f"{name}.parquet")
        frame.to_feather(tmp_path / f"{name}.feather")
        frame.to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True)
        frame.to_json(tmp_path / f"{name}.json", orient="records", indent=1)
    return lambda *words: run_here(tmp_path, *words)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "jsonl", "parquet", "feather"])
def test_a_table_of_any_format_has_measures_of_its_own_names(karat: Karat, tmp_path: Path, suffix: str) -> None:
    scores = Scores.load(tmp_path / f"old.{suffix}")
    assert scores.measures == ("faithfulness", "latency (ms)", "answer relevancy", "passed")
    assert scores.queries == tuple(OLD["query_id"])
    assert scores["faithfulness"] == pytest.approx(0.75)
    assert scores["passed"] == pytest.approx(5 / 6)
    assert scores.nulls("answer relevancy") == 1
    assert "comment" in str(scores.findings[-1])
    rest = ("-m", "faithfulness", "-m", "latency (ms)", *LOWER, "--format", "csv")
    expected = printed(karat("compare", "old.csv", "new.csv", *rest))
    assert printed(karat("compare", f"old.{suffix}", f"new.{suffix}", *rest)) == expected


def test_what_is_not_a_score_is_named(karat: Karat) -> None:
    out = printed(karat("compare", "old.tsv", "new.tsv", "-m", "passed"))
    assert "note: columns without numbers are ignored: comment." in out
    assert "passed is not a registered measure, so higher values are assumed to be better" in out
    assert "--lower-is-better" in out


def test_lower_values_can_be_better_in_a_comparison(karat: Karat) -> None:
    asked = ("compare", "old.csv", "new.csv", "--baseline", "old", "-m", "latency (ms)", "--test", "wilcoxon")
    assert "new is significantly worse" not in (out := printed(karat(*asked, *LOWER)))
    assert out.splitlines()[-1].startswith("new is significantly better than old on latency (ms)")
    assert "6/0/0" in out
    assert "registered" not in out
    undeclared = printed(karat(*asked))
    assert undeclared.splitlines()[-1].startswith("old is significantly better than new on latency (ms)")
    assert "0/0/6" in undeclared
    assert r"\textbf{14.5000}" in printed(karat(*asked, *LOWER, "--format", "latex"))


def test_lower_values_can_be_better_in_a_diff(karat: Karat) -> None:
    asked = ("diff", "old.csv", "new.csv", "-m", "latency (ms)")
    assert "6 queries better, 0 the same, 0 worse" in printed(karat(*asked, *LOWER))
    assert "0 queries better, 0 the same, 6 worse" in printed(karat(*asked))
    assert printed(karat(*asked, *LOWER, "--losses", "--format", "csv")).splitlines()[1:] == []


def test_a_gate_checks_columns_by_their_names_and_direction(karat: Karat, tmp_path: Path) -> None:
    rules = ("--min", "faithfulness=0.7", "--max", "latency (ms)=50", "--max-drop", "latency (ms)=10")
    assert karat("gate", "new.csv", *rules, "--baseline", "old.csv", *LOWER).returncode == 0
    failed = karat("gate", "old.csv", *rules, "--baseline", "new.csv", *LOWER)
    assert failed.returncode == 1
    assert "at most 10.0000 above 14.5000: rose by 118.0000" in failed.stdout
    assert "fell by 118.0000" in karat("gate", "new.csv", *rules, "--baseline", "old.csv").stdout
    (tmp_path / "karat.toml").write_text(
        '[gate]\nlower-is-better = ["latency (ms)"]\n[gate.max-drop]\n"latency (ms)" = 1\n'
    )
    assert karat("gate", "new.csv", "--baseline", "old.csv").returncode == 0
    assert karat("gate", "old.csv", "--baseline", "new.csv").returncode == 1
    (tmp_path / "karat.toml").write_text('[gate]\nlower-is-better = "latency"\n[gate.min]\npassed = 0\n')
    assert "'latency' is not a list of names" in refused(karat("gate", "new.csv"))


def test_a_wrong_name_is_refused_with_the_columns(karat: Karat, tmp_path: Path) -> None:
    error = refused(karat("compare", "old.csv", "new.csv", "--lower-is-better", "latency"))
    assert "Did you mean latency (ms)? The measures are faithfulness, latency (ms)," in error
    assert "Did you mean faithfulness?" in refused(karat("compare", "old.csv", "new.csv", "-m", "faithfullness"))
    (tmp_path / "ranked.csv").write_text("query,RR\nq1,1\n")
    error = refused(karat("compare", "ranked.csv", "ranked.csv", "--lower-is-better", "RR"))
    assert "higher values of this measure are better" in error
    (tmp_path / "t.qrels").write_text("q1 0 a 1\n")
    (tmp_path / "r.trec").write_text("q1 Q0 a 1 1 t\n")
    error = refused(karat("compare", "t.qrels", "r.trec", "r.trec", "--lower-is-better", "RR"))
    assert "--lower-is-better applies to saved scores" in error


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["s.csv", "s.tsv", "scores"])
def test_the_content_decides_on_the_separator(karat: Karat, tmp_path: Path, name: str, mark: str) -> None:
    (tmp_path / name).write_text(f'query{mark}"nDCG(gains={{1:1,2:3}})@10"{mark}cost\nq1{mark}0.5{mark}2\n')
    scores = Scores.load(tmp_path / name)
    assert scores.per_query == {"q1": {"nDCG(gains={1:1,2:3})@10": 0.5, "cost": 2}}
    assert "cost" in printed(karat("compare", name, name))


def test_numbers_with_a_decimal_comma_are_an_error(karat: Karat, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("query;AP;cost\nq1;0,5;2\n")
    assert refused(karat("compare", "s.csv", "s.csv")) == (
        "karat: s.csv:2, column 'AP': '0,5' is not a number. Write numbers with a decimal point.\n"
    )


def test_a_gate_reads_columns_also_after_ground_truth(karat: Karat, tmp_path: Path) -> None:
    (tmp_path / "t.qrels").write_text("q1 0 a 1\n")
    assert karat("gate", "t.qrels", "new.csv", "--max", "latency (ms)=50").returncode == 0
    assert karat("gate", "t.qrels", "old.csv", "--max", "latency (ms)=50").returncode == 1
    assert "Did you mean faithfulness?" in refused(karat("gate", "t.qrels", "old.csv", "--min", "faithfullness=0"))


def test_a_gate_says_where_a_wrong_direction_was_given(karat: Karat, tmp_path: Path) -> None:
    words = ("gate", "old.csv", "--min", "passed=0")
    error = refused(karat(*words, "--lower-is-better", "latency"))
    assert "karat: --lower-is-better latency is not a measure of the scores. Did you mean latency (ms)?" in error
    (tmp_path / "karat.toml").write_text('[gate]\nlower-is-better = ["latency"]\n')
    assert 'karat.toml, gate: lower-is-better = "latency" is not a measure' in refused(karat(*words))
    assert "karat: --lower-is-better speed" in refused(karat(*words, "--lower-is-better", "speed"))


def test_a_run_and_a_file_with_more_columns_are_compared_on_what_they_share(karat: Karat, tmp_path: Path) -> None:
    (tmp_path / "t.qrels").write_text("q1 0 a 1\nq2 0 a 1\n")
    (tmp_path / "r.trec").write_text("q1 Q0 a 1 1 t\nq2 Q0 b 1 1 t\n")
    (tmp_path / "s.csv").write_text("query,RR,latency\nq1,1,20\nq2,0.5,30\n")
    out = printed(karat("compare", "t.qrels", "r.trec", "s.csv"))
    assert "s: latency left out (not in all systems)." in out


def test_a_file_that_is_not_scores_is_not_read_as_scores(karat: Karat, tmp_path: Path) -> None:
    (tmp_path / "t.qrels").write_text("q1 0 a 1\n")
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\n")
    (tmp_path / "results.jsonl").write_text('{"query": "q1", "truth": ["a"], "retrieved": ["a"], "latency": 3}\n')
    (tmp_path / "other.jsonl").write_text('{"query": "q1", "gold_ids": ["a"], "found_ids": ["a"], "latency": 3}\n')
    assert "RR " in printed(karat("compare", "results.jsonl", "results.jsonl", "-m", "RR"))
    assert "nDCG@10" in printed(karat("compare", "qrels.tsv", "qrels.tsv", "qrels.tsv"))
    assert "no fields 'truth' and 'retrieved'" in refused(karat("compare", "other.jsonl", "other.jsonl", "-m", "RR"))
    for name in ("old.csv", "old.tsv", "old.parquet"):
        for files in ([name], ["t.qrels", name]):
            error = refused(karat("evaluate", *files))
            assert f"{name}: these are saved scores" in error
            assert "Saved scores are read by karat compare, diff, gate and report." in error


@pytest.mark.parametrize("command", ["compare", "evaluate"])
def test_a_corpus_is_documents_and_the_error_names_it(karat: Karat, tmp_path: Path, command: str) -> None:
    """Beside a text, `_id` is the id of a document, not of a query."""
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "title": "Gold", "text": "Gold is soft."}\n')
    (tmp_path / "run.trec").write_text("q1 Q0 d1 1 1.5 tag\n")
    message = refused(karat(command, "corpus.jsonl", "run.trec"))
    assert "corpus.jsonl:1: no fields 'doc' and 'grade'; the fields are '_id', 'title', 'text'" in message


# In Python


def test_directions_are_declared_in_python_and_saved_with_the_scores(karat: Karat, tmp_path: Path) -> None:
    old, new = (Scores.load(tmp_path / f"{name}.csv") for name in ("old", "new"))
    found = compare({"old": old, "new": new}, "old", measures="latency (ms)", lower_is_better=["latency (ms)"])
    assert found.row("latency (ms)").is_improvement
    assert found.row("latency (ms)").wins == 6
    assert not compare({"old": old, "new": new}, measures=["latency (ms)"]).row("latency (ms)").is_improvement
    known = Scores.load(tmp_path / "new.csv", lower_is_better=["latency (ms)"])
    for suffix in (".json", ".parquet"):
        known.save(tmp_path / f"known{suffix}")
        loaded = Scores.load(tmp_path / f"known{suffix}")
        assert loaded.lower_is_better == {"latency (ms)"}
        assert compare({"old": old, "new": loaded}).row("latency (ms)").is_improvement
    both = SystemScores({"old": old, "new": known})
    assert list(both.sorted("latency (ms)")) == ["new", "old"]
    assert "14.5000*" in str(both)
    assert gate_by_rules(known, rules_from_limits(max_drop={"latency (ms)": 0}), old).passed
    assert_scores(new, max_drop={"latency (ms)": 0}, baseline=old, lower_is_better=["latency (ms)"])
    with pytest.raises(KaratError, match="Did you mean latency"):
        SystemScores.load(tmp_path / "new.csv", lower_is_better="latency")


@pytest.mark.parametrize("name", ["query", "Query ID", "qid", "question-id", "question", "id", "user_input"])
def test_the_query_column_may_have_several_names(tmp_path: Path, name: str) -> None:
    (tmp_path / "s.csv").write_text(f"{name},cost\nq1,1\nq2,2\n")
    assert Scores.load(tmp_path / "s.csv").per_query == {"q1": {"cost": 1.0}, "q2": {"cost": 2.0}}


def test_ids_that_are_numbers_are_text(tmp_path: Path) -> None:
    pd.DataFrame({"id": [1.0, 2.0], "cost": [1, 2]}).to_parquet(tmp_path / "s.parquet")
    assert Scores.load(tmp_path / "s.parquet").queries == ("1", "2")
    (tmp_path / "s.json").write_text(json.dumps({"1": {"cost": 1}, "2": {"cost": None}}))
    assert Scores.load(tmp_path / "s.json").per_query == {"1": {"cost": 1.0}, "2": {"cost": None}}


def test_a_text_column_with_a_few_numbers_is_ignored_and_a_number_column_with_a_text_is_an_error(
    tmp_path: Path,
) -> None:
    (tmp_path / "s.csv").write_text("query,answer,cost\nq1,42,1\nq2,Paris,2\nq3,Rome,3\n")
    assert Scores.load(tmp_path / "s.csv").measures == ("cost",)
    (tmp_path / "s.csv").write_text("query,cost\nq1,1\nq2,free\nq3,3\n")
    with pytest.raises(KaratError, match=r"s\.csv:3, column 'cost': 'free' is not a number. Leave the cell empty"):
        Scores.load(tmp_path / "s.csv")


@pytest.mark.parametrize(
    "name",
    ["a,b", "cost=usd", "f(x", "latency @ p95", "faithfulness@5", "x, y", "'quoted'", "42", "größe", "nDCG@x", "a:b"],
)
def test_a_column_is_named_exactly_whatever_it_contains(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame({"query": ["q1", "q2"], name: [1, 2], "other": [3, 4]})
    frame.to_csv(tmp_path / "s.csv", index=False)
    frame.assign(**{name: [2, 2]}).to_json(tmp_path / "t.json", orient="records")
    out = printed(run_here(tmp_path, "compare", "s.csv", "t.json", "-m", name, "--lower-is-better", name))
    assert f"\n{name} " in out
    assert "other" not in out
    assert f"{name}: s 1.5000, t 2.0000" in printed(run_here(tmp_path, "diff", "s.csv", "t.json", "-m", name))
    rules = ("--max", f"{name}=1.5", "--max-drop", f"{name}=0", "--baseline", "t.json", "--lower-is-better", name)
    assert run_here(tmp_path, "gate", "s.csv", *rules).returncode == 0
    scores = {each: Scores.load(tmp_path / each).only([name]) for each in ("s.csv", "t.json")}
    assert compare(scores, measures=name).measures == compare(scores, measures=[name]).measures == (name,)


def test_a_note_says_that_a_json_object_which_may_be_documents_is_read_as_scores(tmp_path: Path) -> None:
    for name, measure in (("documents", "d"), ("scores", "ndcg_cut_")):
        rows = {f"q{query}": {f"{measure}{at}": (query + at) % 3 / 2 for at in (1, 2)} for query in range(4)}
        for number in (1, 2):
            (tmp_path / f"{name}{number}.json").write_text(json.dumps(rows))
    note = "documents1.json is read as saved scores (d1, d2), not as documents"
    assert note in printed(run_here(tmp_path, "compare", "documents1.json", "documents2.json"))
    assert "is read as saved scores" not in printed(run_here(tmp_path, "compare", "scores1.json", "scores2.json"))
    evaluated = printed(run_here(tmp_path, "compare", *["documents1.json"] * 3, "--input-format", "json"))
    assert "nDCG@10" in evaluated
    assert "is read as saved scores" not in evaluated


DOCUMENTS = {
    "truth.json": {f"q{query}": {f"d{at}": query * at % 3 for at in (1, 2, 3)} for query in range(1, 5)},
    "one.json": {f"q{query}": {f"d{at}": query + at for at in (1, 2, 3)} for query in range(1, 5)},
    "two.json": {f"q{query}": {f"d{at}": query - at for at in (1, 2, 3)} for query in range(1, 5)},
}
AS_DOCUMENTS = "If these are documents, use --input-format json (in Python, evaluate them with evaluate_runs)."


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Ground truth and runs in which every query has the same documents, as re-rankers return them."""
    for name, content in DOCUMENTS.items():
        (tmp_path / name).write_text(json.dumps(content))
    rows = ((query, doc, grade) for query, docs in DOCUMENTS["truth.json"].items() for doc, grade in docs.items())
    (tmp_path / "truth.qrels").write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in rows))
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "compare truth.json one.json two.json -m P@2",
        "compare truth.json one.json two.json --rel 2",
        "report truth.json one.json two.json -m P@2 -o page.html",
        "gate truth.json one.json --min P@2=0.1",
        "gate one.json --min P@2=0.1",
        "gate truth.json one.json --baseline two.json --max-drop P@2=1",
        "gate truth.qrels one.json --baseline two.json --max-drop P@2=1",
        "diff truth.json one.json two.json -m P@2",
    ],
)
def test_the_error_about_documents_that_are_read_as_scores_names_an_option_that_works(
    documents: Path, words: str
) -> None:
    assert AS_DOCUMENTS in refused(run_here(documents, *words.split()))
    if words.startswith("gate one.json"):
        return  # a run needs ground truth, whatever its format
    option = ("--input-format", "run=json" if "truth.qrels" in words else "json")
    assert "P@2" in printed(run_here(documents, *words.split(), *option)) or "report" in words or "--rel" in words


def test_the_error_about_documents_that_are_loaded_as_scores_names_the_function_that_evaluates_them(
    documents: Path,
) -> None:
    paths = {name: documents / f"{name}.json" for name in ("one", "two")}
    for use in (
        lambda: Scores.load(paths["one"])["P@2"],
        lambda: compare(paths, measures="P@2"),
        lambda: assert_scores(paths["one"], min={"P@2": 0.1}),
    ):
        with pytest.raises(
            KaratError, match=r"these scores have no 'P@2'.*in Python, evaluate them with evaluate_runs"
        ):
            use()
    assert evaluate_runs(documents / "truth.json", paths, "P@2").measures == ("P@2",)
