"""`--records` is where the records of results are inside an object, for every command that reads results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.in_process import good, mistake, printed, run_here

RECORDS = ("--records", "run.items")
ITEMS: list[dict[str, Any]] = [
    {"query": f"q{at}", "truth": ["d1"], "retrieved": ["d2", "d1"], "answer": "Soft.", "gold_answers": ["Soft."]}
    for at in range(3)
]
# Without the path, it is not known which of the two lists has the records.
LOG = {"run": {"items": ITEMS}, "before": [{"query": "q0", "retrieved": ["d3"], "truth": ["d1"]}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("log.json", "other.json"):
        (tmp_path / name).write_text(json.dumps(LOG), "utf-8")
    return tmp_path


def test_commands_that_read_results_take_the_path_of_the_records(folder: Path) -> None:
    assert "RR        0.5000" in good(folder, "evaluate", "log.json", *RECORDS, "-m", "RR", "-m", "nDCG@10")
    assert "0.5000" in printed(run_here(folder, "compare", "log.json", "other.json", *RECORDS, "-m", "RR"))
    assert "gate passed" in good(folder, "gate", "log.json", *RECORDS, "--min", "RR=0.4")
    printed(run_here(folder, "diff", "log.json", "other.json", *RECORDS, "-m", "RR"))
    printed(run_here(folder, "report", "log.json", *RECORDS, "-m", "RR", "-o", "report.html"))
    assert "3" in good(folder, "judge", "log.json", *RECORDS, "--task", "answer_relevance", "--estimate")
    template = ("verdicts", "template", "log.json", *RECORDS, "--task", "correctness", "-o", "sheet.csv")
    assert "3 labels to give, about 3 queries" in run_here(folder, *template).stderr


def test_a_gate_takes_the_path_from_its_configuration_file(folder: Path) -> None:
    (folder / "karat.toml").write_text('[gate]\nrecords = "run.items"\n[gate.min]\nRR = 0.4\n', "utf-8")
    assert "gate passed" in good(folder, "gate", "log.json")
    (folder / "karat.toml").write_text("[gate]\nrecords = 3\n[gate.min]\nRR = 0.4\n", "utf-8")
    assert "karat.toml, gate.records: 3 is not a string" in mistake(folder, "gate", "log.json")


def test_a_path_that_leads_to_no_records_is_an_error(folder: Path) -> None:
    assert "there are no records in run.rows" in mistake(folder, "evaluate", "log.json", "--records", "run.rows")
    assert "the path of the records is empty" in mistake(folder, "evaluate", "log.json", "--records", "")
    assert "use --records run.items." in mistake(folder, "evaluate", "log.json", "--field", "records=run.items")
