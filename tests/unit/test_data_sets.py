"""Data sets of ir_datasets by name, with data sets that are registered here, so that nothing is downloaded."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ir_datasets
import pytest
from click.testing import CliRunner
from ir_datasets.formats import BaseQrels, BaseScoredDocs, GenericScoredDoc

from karat import KaratError, convert, evaluate
from karat.cli import program
from karat.errors.installing import pip_install

RUN = {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d3": 1.0}}


class Broken(BaseQrels):  # type: ignore[misc]  # ir_datasets has no types
    def qrels_iter(self) -> Iterator[Any]:
        raise ConnectionError("no network")


class Ranking(BaseScoredDocs):  # type: ignore[misc]
    def scoreddocs_iter(self) -> Iterator[Any]:
        return (GenericScoredDoc(query, doc, score) for query, docs in RUN.items() for doc, score in docs.items())


@pytest.fixture(scope="module", autouse=True)
def data_sets(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("data")
    (folder / "qrels").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n")
    (folder / "queries").write_text("q1\thow soft is gold\nq2\tiron\n")
    test = ir_datasets.create_dataset(queries_tsv=folder / "queries", qrels_trec=folder / "qrels")
    ir_datasets.registry.register("karat/test", ir_datasets.Dataset(test, Ranking()))
    ir_datasets.registry.register("karat", ir_datasets.create_dataset(queries_tsv=folder / "queries"))
    ir_datasets.registry.register("karat/broken", ir_datasets.Dataset(Broken()))


def test_the_qrels_of_a_data_set_are_ground_truth_and_its_scored_documents_a_run() -> None:
    assert evaluate("ir_datasets:karat/test", RUN, "RR").per_query == {"q1": {"RR": 0.5}, "q2": {"RR": 1.0}}
    assert evaluate("ir_datasets:karat/test", "ir_datasets:karat/test", "RR")["RR"] == 0.75


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("karat/tset", "ir_datasets:karat/tset: ir_datasets has no data set 'karat/tset'. Did you mean karat/test"),
        (
            "karat",
            "ir_datasets:karat: this data set has no qrels (ground truth). Its parts karat/test and karat/broken",
        ),
        ("karat/broken", "ir_datasets cannot read this data set: ConnectionError: no network. ir_datasets downloads"),
        ("", "ir_datasets has no data set ''"),
    ],
)
def test_a_data_set_that_cannot_be_read_is_an_error_that_says_why(name: str, message: str) -> None:
    with pytest.raises(KaratError) as raised:
        evaluate(f"ir_datasets:{name}", RUN, "RR")
    assert message in str(raised.value)


def test_a_data_set_without_the_package_is_an_error_that_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(KaratError, match=re.escape(f"need the package ir_datasets. {pip_install('ir-datasets')}")):
        evaluate("ir_datasets:karat/test", RUN, "RR")


def test_a_command_takes_the_ground_truth_and_the_query_texts_of_a_data_set(tmp_path: Path) -> None:
    run = tmp_path / "run.trec"
    run.write_text("".join(f"{q} Q0 {d} 0 {score} x\n" for q, docs in RUN.items() for d, score in docs.items()))
    name = "ir_datasets:karat/test"
    shown = CliRunner().invoke(program, ["evaluate", name, str(run), "-m", "RR", "--format", "csv"])
    assert (shown.exit_code, shown.stdout) == (0, "run,RR\nrun,0.75\n"), shown.output
    both = CliRunner().invoke(program, ["evaluate", name, str(run), name, "-m", "RR", "--format", "csv"])
    assert both.stdout == "run,RR\nrun,0.75\ntest,0.75\n", both.output
    column = CliRunner().invoke(program, ["evaluate", name, str(run), "--column", "doc=docno"])
    assert "docno" in str(column.exception), column.output
    by_length = CliRunner().invoke(
        program, ["evaluate", name, str(run), "-m", "RR", "--by", "length", "--queries", name]
    )
    assert by_length.exit_code == 0, by_length.output
    assert [line.split()[:3] for line in by_length.stdout.splitlines()[2:4]] == [
        ["1", "1", "1.0000"],
        ["4", "1", "0.5000*"],
    ]


def test_the_ground_truth_of_a_data_set_is_converted(tmp_path: Path) -> None:
    name = "ir_datasets:karat/test"
    assert convert(name, tmp_path / "truth.qrels").kind == "truth"
    assert evaluate(str(tmp_path / "truth.qrels"), RUN, "RR").means == evaluate(name, RUN, "RR").means
