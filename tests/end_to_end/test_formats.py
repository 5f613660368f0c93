"""Ground truth and runs in any format give the same scores; what a file contains is told by its content."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from karat import KaratError, evaluate, evaluate_answers, evaluate_results
from tests.compressions import COMPRESS
from tests.end_to_end.in_process import run_here

TRUTH: dict[str, dict[str, float]] = {"q1": {"d1": 2, "d2": 0, "d3": 1}, "q2": {"d4": 1}, "q3": {"d1": 1, "d5": 3}}
RUN = {"q1": {"d3": 0.9, "d2": 0.8, "d1": 0.7}, "q2": {"d9": 3.0, "d4": 2.5}, "q3": {"d5": 1.0, "d7": 0.5}}
FORMATS = ("trec", "csv", "tsv", "json", "jsonl", "parquet", "feather", "array.json", "lists.jsonl")
MEASURES = ("nDCG@10", "AP", "RR")
RESULTS = [
    {"query": query, "truth": list(TRUTH[query]), "retrieved": list(RUN[query]), "gold_answers": ["a"], "answer": "a"}
    for query in RUN
]


def write(folder: Path, name: str, data: dict[str, dict[str, float]], number: str) -> None:
    """The same data in every format: `truth.csv`, `truth.parquet`, ..."""
    rows = [{"query": query, "doc": doc, number: value} for query, docs in data.items() for doc, value in docs.items()]
    frame = pd.DataFrame(rows)
    line = "{query} 0 {doc} {grade}\n" if number == "grade" else "{query} Q0 {doc} 1 {score} tag\n"
    texts = {
        "trec": "".join(line.format(**row) for row in rows),
        "csv": frame.to_csv(index=False),
        "tsv": frame.to_csv(index=False, sep="\t"),
        "json": json.dumps(data),
        "jsonl": "".join(f"{json.dumps(row)}\n" for row in rows),
        "array.json": json.dumps(rows, indent=1),
        "lists.jsonl": "".join(f"{json.dumps({'query': q, 'documents': docs})}\n" for q, docs in data.items()),
    }
    for suffix, text in texts.items():
        (folder / f"{name}.{suffix}").write_text(text)
    frame.to_parquet(folder / f"{name}.parquet")
    frame.to_feather(folder / f"{name}.feather")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formats")
    write(folder, "truth", TRUTH, "grade")
    write(folder, "run", RUN, "score")
    (folder / "results.jsonl").write_text("\n".join(map(json.dumps, RESULTS)))
    (folder / "results.json").write_text(json.dumps(RESULTS))
    pd.DataFrame(RESULTS).to_parquet(folder / "results.parquet")
    return folder


def good(folder: Path, *words: str) -> str:
    done = run_here(folder, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(folder: Path, *words: str) -> str:
    done = run_here(folder, *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    return done.stderr


@pytest.mark.parametrize(("truth", "run"), list(product(FORMATS, FORMATS)))
def test_every_combination_of_formats_gives_the_scores_of_trec_files(folder: Path, truth: str, run: str) -> None:
    expected = evaluate(TRUTH, RUN, MEASURES).per_query
    assert evaluate(folder / f"truth.{truth}", folder / f"run.{run}", MEASURES).per_query == expected


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_command_reads_ground_truth_and_runs_in_every_format(folder: Path, suffix: str) -> None:
    words = ("-m", "AP", "--per-query", "--format", "csv")
    expected = good(folder, "evaluate", "truth.trec", "run.trec", *words)
    assert good(folder, "evaluate", f"truth.{suffix}", "run.trec", *words) == expected
    assert good(folder, "evaluate", "truth.trec", f"run.{suffix}", *words).split()[1:] == expected.split()[1:]


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet"])
def test_results_are_read_in_every_format(folder: Path, suffix: str) -> None:
    path = folder / f"results.{suffix}"
    assert evaluate_results(path).per_query == evaluate_results(RESULTS).per_query
    assert evaluate_answers(path, path, fields={"gold_answers": "gold_answers"})["TokenF1"] == 1.0
    assert "RR" in good(folder, "evaluate", path.name, "-m", "RR")


def test_saved_scores_and_runs_in_json_are_told_apart(folder: Path) -> None:
    good(folder, "evaluate", "truth.trec", "run.trec", "-o", "saved.json")
    (folder / "scores.json").write_text(json.dumps({"q1": {"cost": 1.0}, "q2": {"cost": 2.0}}))
    (folder / "costs.json").write_text(json.dumps({"q1": {"cost": 3.0}, "q2": {"cost": 1.0}}))
    assert "cost" in good(folder, "compare", "scores.json", "costs.json")
    assert "run.csv" in good(folder, "compare", "truth.json", "run.json", "run.csv", "-m", "AP")
    assert "these are saved scores" in refused(folder, "evaluate", "saved.json")
    joined = good(folder, "evaluate", "truth.csv", "results.json", "-m", "AP")
    assert "results.json: the field 'truth' is not used: what is in truth.csv counts" in joined


def test_columns_are_named_for_all_files_or_for_one_side(folder: Path) -> None:
    pd.read_csv(folder / "run.csv").rename(columns={"doc": "x", "score": "s"}).to_csv(folder / "named.csv", index=False)
    expected = good(folder, "evaluate", "truth.csv", "run.csv", "-m", "AP").splitlines()[2]
    for side in ("", "run."):
        words = ("--column", f"{side}doc=x", "--column", f"{side}score=s")
        assert good(folder, "evaluate", "truth.trec", "named.csv", "-m", "AP", *words).splitlines()[2] == expected
    mistakes: list[tuple[tuple[str, ...], str]] = [
        (("--column", "doc=y"), "no file has a column 'y'"),
        (("--column", "truth.score=y"), "'score' is not a column of the truth"),
        (("--column", "doc"), "is not of the form ROLE=NAME"),
        (("--column", "doc=x", "--column", "doc=y"), "is given twice"),
        (("--input-format", "xml"), "xml is not a format"),
        (("--input-format", "gold=csv"), "'gold' is not one of truth, run, queries, corpus"),
        (("--input-format", "run=jsonl"), "run.csv: the file was to be read as JSON lines, but it looks like CSV"),
        (("--split", "dev"), "not the folder of a BEIR data set"),
    ]
    for given, message in mistakes:
        assert message in refused(folder, "evaluate", "truth.csv", "run.csv", *given)


def test_a_data_set_of_beir_is_ground_truth(folder: Path) -> None:
    qrels = folder / "scifact" / "qrels"
    qrels.mkdir(parents=True)
    (folder / "scifact" / "corpus.jsonl").write_text('{"_id": "d1", "text": "x"}\n')
    text = (folder / "truth.tsv").read_text().replace("query\tdoc\tgrade", "query-id\tcorpus-id\tscore")
    for split in ("dev", "train"):
        (qrels / f"{split}.tsv").write_text(text)
    expected = good(folder, "evaluate", "truth.csv", "run.csv", "-m", "AP").splitlines()[2]
    assert good(folder, "evaluate", "scifact", "run.csv", "-m", "AP", "--split", "dev").splitlines()[2] == expected
    assert "the splits dev and train" in refused(folder, "evaluate", "scifact", "run.csv")
    assert "gate passed" in good(folder, "gate", "scifact", "run.csv", "--min", "AP=0.1", "--split", "dev")


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_that_is_cut_short_is_one_error_in_every_format_and_compression(
    suffix: str, folder: Path, tmp_path: Path
) -> None:
    data = (folder / f"run.{suffix}").read_bytes()
    in_last_row = data.rindex(b"d7") + 1 if b"d7" in data else len(data) // 2
    cut = {"": data[:in_last_row]} | {f".{name}": compress(data)[:-9] for name, compress in COMPRESS.items()}
    for name, content in cut.items():
        path = tmp_path / f"run.{suffix}{name}"
        path.write_bytes(content)
        with pytest.raises(KaratError) as error:
            evaluate(TRUTH, path)
        assert str(error.value).startswith(str(path))
        if name:
            assert error.value.what.startswith(f"the {name[1:]} data is damaged or cut short")


@pytest.mark.parametrize("compress", COMPRESS.values(), ids=COMPRESS)
def test_the_ground_truth_of_a_data_set_of_beir_may_be_compressed(
    compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    (tmp_path / "scifact/qrels").mkdir(parents=True)
    rows = "query-id\tcorpus-id\tscore\nq1\td1\t1\n"
    (tmp_path / "scifact/qrels/dev.tsv.gz").write_bytes(compress(rows.encode()))
    (tmp_path / "run.trec").write_text("q1 Q0 d1 1 1 x\n")
    assert "RR        1.0000" in good(tmp_path, "evaluate", "scifact", "run.trec", "-m", "RR", "--split", "dev")


def test_a_response_of_elasticsearch_is_never_taken_for_results(tmp_path: Path) -> None:
    hit = {"_index": "i", "_id": "d1", "_score": 1.5}
    files = {
        "request": {"requests": [{"id": "q1", "request": {}, "ratings": [{"_id": "d1", "rating": 1}]}], "metric": {}},
        "response": {"rank_eval": {"metric_score": 1, "details": {"q1": {"hits": [{"hit": hit}]}}, "failures": {}}},
        "search": {"took": 3, "timed_out": False, "hits": {"total": {"value": 1}, "hits": [hit]}},
    }
    for name, value in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    request, response = (f"{name}.json: this is a {name} of Elasticsearch's _rank_eval" for name in list(files)[:2])
    search = "search.json: the response to a search does not name its query"
    for words, expected in (
        (("evaluate", "request.json", "response.json"), request),
        (("evaluate", "response.json", "request.json"), response),
        (("convert", "request.json", "out.qrels"), request),
        (("convert", "response.json", "out.trec", "--as", "run"), response),
        (("evaluate", "search.json", "search.json"), search),
    ):
        assert expected in refused(tmp_path, *words)


def test_a_name_that_contradicts_the_content_is_noted(folder: Path) -> None:
    (folder / "wrong.csv").write_bytes((folder / "run.jsonl").read_bytes())
    printed = good(folder, "evaluate", "truth.csv", "wrong.csv", "-m", "AP")
    assert "note: wrong.csv is read as JSON lines: its content is not CSV." in printed


def test_a_diff_says_once_how_each_file_was_read(folder: Path) -> None:
    (folder / "beir.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (folder / "qid.csv").write_text("qid,doc,score\nq1,d1,1\n")
    done = run_here(folder, "diff", "beir.tsv", "qid.csv", "run.trec", "-m", "RR")
    notes = [line for line in done.stdout.splitlines() if line.startswith("note: ")]
    assert [note.split(": ")[1] for note in notes] == ["beir.tsv", "qid.csv"]


def test_a_gate_reads_formats_and_columns_from_its_configuration(folder: Path) -> None:
    pd.read_csv(folder / "run.csv").rename(columns={"doc": "x"}).to_csv(folder / "gated.txt", index=False)
    config = '[gate]\ninput-format = {run = "csv"}\n[gate.column]\n"run.doc" = "x"\n[gate.min]\nAP = 0.1\n'
    (folder / "gate.toml").write_text(config)
    assert "gate passed" in good(folder, "gate", "truth.trec", "gated.txt", "--config", "gate.toml")
    for line, message in (("input-format = 1", "1 is not a format"), ('column = "x"', "'x' is not a table of column")):
        (folder / "wrong.toml").write_text(f"[gate]\n{line}\n")
        assert message in refused(folder, "gate", "truth.trec", "gated.txt", "--config", "wrong.toml")


def test_the_texts_of_queries_are_read_from_a_data_set_of_beir(folder: Path) -> None:
    (folder / "texts" / "qrels").mkdir(parents=True)
    texts = "".join(json.dumps({"_id": query, "text": "word " * len(docs)}) + "\n" for query, docs in TRUTH.items())
    (folder / "texts" / "queries.jsonl").write_text(texts)
    printed = good(folder, "evaluate", "truth.csv", "run.csv", "-m", "AP", "--by", "length", "--queries", "texts")
    assert "length" in printed


@pytest.mark.parametrize("suffix", ["trec", "csv", "tsv", "jsonl", "array.json", "parquet", "feather"])
def test_ground_truth_and_run_in_the_wrong_order_are_recognized(folder: Path, suffix: str) -> None:
    error = refused(folder, "evaluate", f"run.{suffix}", f"truth.{suffix}")
    assert "are ground truth and run in the wrong order?" in error


@pytest.mark.parametrize("number", ["rank", "position"])
def test_ranks_and_scores_are_not_ground_truth_unless_the_command_line_says_so(tmp_path: Path, number: str) -> None:
    (tmp_path / "a.csv").write_text(f"query,doc,{number},score\nq1,d1,1,2\n")
    assert "This looks like a run: are ground truth" in refused(tmp_path, "evaluate", "a.csv", "a.csv")
    good(tmp_path, "evaluate", "a.csv", "a.csv", "--column", "truth.grade=score")


def test_a_list_of_relevant_documents_is_not_a_run(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"query": "q1", "relevant": ["d1"]}\n')
    error = refused(tmp_path, "evaluate", str(folder / "truth.trec"), "a.jsonl")
    assert "no fields 'doc' and 'score'; the fields are 'query', 'relevant'. This looks like ground truth" in error
