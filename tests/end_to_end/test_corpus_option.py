"""--queries and --corpus: the texts of queries and documents that are known by id only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.in_process import run_here

CORPUS = {"g1": "Gold is soft. It melts.", "g2": "Iron rusts.", "c1": "It melts.", "c2": "Iron", "x": "Zinc"}
FILES = ("truth.qrels", "run.trec")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "truth.qrels").write_text("q1 0 g1 1\nq2 0 g2 1\n")
    (tmp_path / "run.trec").write_text("q1 Q0 x 1 2 t\nq1 Q0 c1 2 1 t\nq2 Q0 c2 1 1 t\n")
    (tmp_path / "other.trec").write_text("q1 Q0 c1 1 2 t\nq2 Q0 x 1 1 t\n")
    (tmp_path / "queries.tsv").write_text("q1\thow soft is gold\nq2\twhat does rust\n")
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps({"_id": k, "text": v}) + "\n" for k, v in CORPUS.items()))
    return tmp_path


def good(folder: Path, *words: str) -> str:
    done = run_here(folder, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(folder: Path, *words: str) -> str:
    done = run_here(folder, *words)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


BY_TEXT = ("-m", "RR", "--match", "chunk", "--corpus")


def test_ids_are_matched_by_the_texts_of_a_corpus(folder: Path) -> None:
    scores = json.loads(good(folder, "evaluate", *FILES, *BY_TEXT, "corpus.jsonl", "--format", "json"))
    assert scores["means"] == {"RR": 0.75}
    assert "0.7500" in good(folder, "compare", *FILES, "other.trec", *BY_TEXT, "corpus.jsonl")
    assert "1 query better" in good(folder, "diff", *FILES, "other.trec", *BY_TEXT, "corpus.jsonl")
    assert "passed" in good(folder, "gate", *FILES, "--min", "RR=0.7", *BY_TEXT[2:], "corpus.jsonl")


def test_a_corpus_may_be_in_several_files_with_columns_of_any_name(folder: Path) -> None:
    (folder / "golds.csv").write_text("nr,body,de\ng1,Gold is soft. It melts.,Gold\ng2,Iron rusts.,Eisen\n")
    (folder / "rest.tsv").write_text("c1\tIt melts.\nc2\tIron\n")
    words = ("--corpus", "rest.tsv", "--column", "corpus.id=nr")
    out = good(folder, "evaluate", *FILES, *BY_TEXT, "golds.csv:body", *words)
    assert "0.7500" in out
    assert "note: golds.csv and rest.tsv: no text for 1 of 5 documents (x)." in out
    assert "note K017: 1 retrieved document without content (cannot match)." in out
    (folder / "golds.data").write_text('{"_id": "g1", "text": "Gold is soft. It melts."}\n')
    assert "golds.data" in refused(folder, "evaluate", *FILES, *BY_TEXT, "golds.data", "--input-format", "corpus=csv")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--match", "chunk"), "truth.qrels: a table contains only ids, so documents cannot be matched by content."),
        (("--corpus", "corpus.jsonl"), "the corpus has no effect if documents are matched by id. Match by content"),
        (("--match", "chunk", "--corpus", "no.jsonl"), "no.jsonl: no such file"),
        (
            ("--match", "chunk", "--corpus", "truth.qrels"),
            "truth.qrels: this is ground truth, not the",
        ),
        (
            ("--match", "chunk", "--corpus", "queries.tsv"),
            "queries.tsv: no text found for any of the 5 documents",
        ),
        (("--match", "chunk", "--corpus", "corpus.jsonl:body"), "corpus.jsonl: no column 'body'"),
        (("--column", "corpus.grade=x"), "'grade' is not a column of the corpus. Columns are id, text or title."),
        (("--queries", "queries.tsv"), "--queries is only used to group by length"),
    ],
)
def test_a_corpus_that_cannot_be_used_is_refused(folder: Path, words: tuple[str, ...], message: str) -> None:
    assert message in refused(folder, "evaluate", *FILES, *words)


def test_results_and_saved_scores_take_no_corpus(folder: Path) -> None:
    (folder / "results.jsonl").write_text('{"query": "q1", "truth": ["Gold is soft."], "retrieved": ["Gold"]}\n')
    message = "results.jsonl: --corpus is for ground truth and runs of ids; results contain their texts"
    assert message in refused(folder, "evaluate", "results.jsonl", *BY_TEXT, "corpus.jsonl")
    good(folder, "evaluate", *FILES, *BY_TEXT, "corpus.jsonl", "-o", "a.json")
    assert "--corpus has no effect on saved scores" in refused(
        folder, "compare", "a.json", "a.json", "--corpus", "corpus.jsonl"
    )


def test_an_output_cannot_be_the_corpus(folder: Path) -> None:
    assert "the output file is also an input" in refused(
        folder, "evaluate", *FILES, *BY_TEXT, "corpus.jsonl", "-o", "corpus.jsonl"
    )


def test_explain_shows_texts_whatever_documents_are_matched_by(folder: Path) -> None:
    words = ("--explain", "q1", "--queries", "queries.tsv", "--corpus", "corpus.jsonl", "-m", "RR")
    for match in ("id", "chunk"):
        out = good(folder, "evaluate", *FILES, *words, "--match", match)
        assert "c1: It melts." in out
        assert "query q1: how soft is gold" in out
    document = json.loads(good(folder, "evaluate", *FILES, *words, "--format", "json"))
    assert (document["text"], document["rows"][0]["text"]) == ("how soft is gold", "Zinc")
    assert "no.tsv: no such file" in refused(folder, "evaluate", *FILES, "--explain", "q1", "--queries", "no.tsv")
