"""Faults are planted in the demo's data one by one: `karat check` finds exactly the planted one, with its line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from karat.cli import demo_data as demo
from karat.scores.finding_kinds import finding_kinds
from tests.end_to_end.in_process import run_here

TRUTH, RUN, OTHER, CORPUS, QUERIES, LOG = (
    "truth.qrels", "runs/bm25.trec", "runs/bm25-rm3.trec", "corpus.jsonl", "questions.jsonl", "log.jsonl"
)  # fmt: skip
RUNS = (TRUTH, RUN, OTHER, "-m", "nDCG@5")
ONE = (TRUTH, RUN, "-m", "nDCG@5", "--ignore", "K026")
"""relevant documents that a single run does not have are no surprise"""
ALL = (*RUNS, "--corpus", CORPUS, "--queries", QUERIES)
LOGS = (LOG, "--match", "prefix")
Record = dict[str, Any]
LAST = -1
"""the last line of a file; other negative numbers are those before it"""
Line = int | list[int] | None


@dataclass(frozen=True)
class Fault:
    """A fault, what plants it in a folder, and the findings about it: numbers with files and lines."""

    name: str
    plant: Callable[[Path], object]
    expected: dict[str, tuple[str, Line]]
    words: tuple[str, ...] = ALL


# What plants faults: functions of files, which are the same for all formats.


def with_lines(file: str, *lines: str) -> Callable[[Path], object]:
    """Append lines to a file."""
    return lambda folder: change(folder / file, lambda before: [*before, *lines])


def without(file: str, start: str) -> Callable[[Path], object]:
    """Remove the lines that begin with a text."""
    return lambda folder: change(folder / file, lambda lines: [line for line in lines if not line.startswith(start)])


def at_line(file: str, number: int, old: str, new: str) -> Callable[[Path], object]:
    """Change a text in one line."""

    def edit(lines: list[str]) -> list[str]:
        assert old in lines[number - 1]
        return [*lines[: number - 1], lines[number - 1].replace(old, new, 1), *lines[number:]]

    return lambda folder: change(folder / file, edit)


def in_columns(file: str, edit: Callable[[list[str]], list[str]]) -> Callable[[Path], object]:
    """Change the columns of every line."""
    return lambda folder: change(folder / file, lambda lines: [" ".join(edit(line.split())) for line in lines])


def in_record(number: int, **fields: Any) -> Callable[[Path], object]:
    """Change fields of a record in the log; a function gets the record."""

    def edit(lines: list[str]) -> list[str]:
        record = json.loads(lines[number - 1])
        record |= {name: value(record) if callable(value) else value for name, value in fields.items()}
        return [*lines[: number - 1], json.dumps(record), *lines[number:]]

    return lambda folder: change(folder / LOG, edit)


def change(file: Path, edit: Callable[[list[str]], list[str]]) -> None:
    write_lines(file, edit(file.read_text("utf-8").splitlines()))


def write_lines(file: Path, lines: Iterable[str]) -> None:
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def nothing(folder: Path) -> None:
    """The fault is on the command line."""


def write(file: str, content: str | bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())


def as_json(file: str, more: dict[str, dict[str, float]]) -> Callable[[Path], object]:
    """Write a file of TREC as JSON, with other entries for some queries."""

    def plant(folder: Path) -> None:
        data: dict[str, dict[str, float]] = {}
        for words in map(str.split, (folder / file).read_text().splitlines()):
            data.setdefault(words[0], {})[words[2]] = float(words[4] if len(words) == 6 else words[3])
        (folder / file).write_text(json.dumps(data | more))

    return plant


def both(*plants: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda folder: [plant(folder) for plant in plants]


def top_of(file: str, query: str, doc: str) -> Callable[[Path], object]:
    """Put a document at the top of a query, with the highest score."""

    def edit(lines: list[str]) -> list[str]:
        at = next(at for at, line in enumerate(lines) if line.startswith(f"{query} "))
        return [*lines[:at], f"{query} Q0 {doc} 0 999 x", *lines[at:]]

    return lambda folder: change(folder / file, edit)


def with_bytes(file: str, more: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_bytes((folder / file).read_bytes() + more)


def zeros(words: list[str]) -> list[str]:
    return [words[0].replace("q", "q0"), *words[1:]]


def capitals(words: list[str]) -> list[str]:
    return [words[0].upper(), *words[1:]]


def chunks(words: list[str]) -> list[str]:
    """The ids of chunks in place of those of documents."""
    return [*words[:2], f"{words[2]}#0", *words[3:]]


def zero_for(query: str) -> Callable[[list[str]], list[str]]:
    return lambda words: [*words[:3], "0"] if words[0] == query else words


def unjudged(lines: list[str]) -> list[str]:
    """A document of the corpus that nobody judged and no system retrieved in place of every third one."""
    judged = {tuple(line.split()[:3:2]) for line in demo.TRUTH.read_text().splitlines()}
    corpus = [each["id"] for each in demo.corpus()]
    changed = []
    for at, words in enumerate(map(str.split, lines)):
        free = [doc for doc in corpus if (words[0], doc) not in judged]
        changed.append(" ".join([*words[:2], free[at % len(free)] if at % 3 == 0 else words[2], *words[3:]]))
    return changed


def cut(lines: list[str]) -> list[str]:
    """The first five documents of each query, and for some only the first."""
    ranks: dict[str, int] = {}
    kept = []
    for line in lines:
        query = line.split()[0]
        ranks[query] = ranks.get(query, 0) + 1
        if ranks[query] <= (1 if query in ("q01", "q02", "q03") else 5):
            kept.append(line)
    return kept


def reranked(lines: list[str]) -> list[str]:
    """The ranks of each query from the last to the first, with the scores as they were."""
    by_query: dict[str, list[list[str]]] = {}
    for words in map(str.split, lines):
        by_query.setdefault(words[0], []).append(words)
    return [
        " ".join([*words[:3], str(len(rows) - at), *words[4:]])
        for rows in by_query.values()
        for at, words in enumerate(rows)
    ]


def first_passage(record: Record) -> str:
    return str(record["retrieved"][0]["content"])


def without_texts(record: Record) -> list[Record]:
    return [document | {"content": ""} for document in record["retrieved"]]


def first_twice(record: Record) -> list[Record]:
    first, *others = record["retrieved"]
    return [first, *others[:5], first | {"id": "gold-246::9"}, *others[5:]]


def asked_again(folder: Path) -> None:
    first = json.loads((folder / LOG).read_text("utf-8").splitlines()[0])
    with_lines(LOG, json.dumps(first | {"query": "q99"}))(folder)


FIRST = demo.corpus()[0]
ASKED = demo.questions()[0]


def document(name: str, text: str) -> str:
    return json.dumps({"id": name, "title": "", "content": text})


def question(name: str, text: str) -> str:
    return json.dumps({"query": name, "text": text})


FAULTS = [
    # What cannot be read.
    Fault("a run that does not exist", lambda folder: (folder / RUN).unlink(), {"K001": (RUN, None)}),
    Fault("ground truth that does not exist", lambda folder: (folder / TRUTH).unlink(), {"K001": (TRUTH, None)}),
    Fault("an empty run", write(RUN, ""), {"K001": (RUN, None)}),
    Fault("a compressed run that ends too early", write(RUN, b"\x1f\x8b\x08\x00damaged"), {"K001": (RUN, None)}),
    Fault("a corpus that is an image", write(CORPUS, b"\x89PNG\r\n\x1a\n\0\0"), {"K001": (CORPUS, None)}),
    Fault("a line of a run that ends too early", with_lines(RUN, "q50 Q0 gold-"), {"K002": (RUN, LAST)}),
    Fault("a judgment without a grade", with_lines(TRUTH, "q50 0 gold-001"), {"K002": (TRUTH, LAST)}),
    Fault("bytes that are not UTF-8", with_bytes(RUN, b"q50 Q0 gold-\xff 99 0.1 x\n"), {"K002": (RUN, LAST)}),
    Fault("invalid JSON in the corpus", with_lines(CORPUS, '{"id": "gold-'), {"K002": (CORPUS, LAST)}),
    Fault("a record of a log that ends too early", with_lines(LOG, '{"query": '), {"K002": (LOG, LAST)}, LOGS),
    Fault("a score that is NaN", with_lines(RUN, "q50 Q0 gold-001 99 nan x"), {"K003": (RUN, LAST)}),
    Fault("a score with a decimal comma", with_lines(RUN, "q50 Q0 gold-001 99 0,1 x"), {"K003": (RUN, LAST)}),
    Fault("a grade that is a word", with_lines(TRUTH, "q50 0 gold-001 high"), {"K003": (TRUTH, LAST)}),
    # Ground truth and runs.
    Fault("a second grade", with_lines(TRUTH, "q01 0 gold-002 0"), {"K004": (TRUTH, [1, LAST])}),
    Fault("a judgment twice", with_lines(TRUTH, "q01 0 gold-002 2"), {"K005": (TRUTH, [1, LAST])}),
    Fault("a document twice", with_lines(RUN, "q01 Q0 gold-003 99 0.1 x"), {"K006": (RUN, [1, LAST])}),
    Fault("zeros before ids of queries", in_columns(RUN, zeros), {"K010": (RUN, None)}, RUNS),
    Fault("another case in ids of queries", in_columns(RUN, capitals), {"K010": (RUN, None)}, RUNS),
    Fault("other ids of documents", in_columns(RUN, chunks), {"K011": (RUN, None)}, ONE),
    Fault("a judged document not in the corpus", with_lines(TRUTH, "q01 0 gold-999 0"), {"K012": (TRUTH, LAST)}),
    Fault("a retrieved one not in the corpus", with_lines(RUN, "q01 Q0 gold-999 99 0.1 x"), {"K013": (RUN, LAST)}),
    Fault(
        "a query not in the file of queries",
        with_lines(RUN, *(f"q99 Q0 gold-00{at} {at} {-at} x" for at in range(1, 8))),
        {"K014": (RUN, -7), "K023": (RUN, None)},
    ),
    Fault(
        "another case in an id of a document",
        at_line(RUN, 1, "gold-003", "GOLD-003"),
        {"K015": (RUN, 1)},
        (*RUNS, "--ignore", "K026"),
    ),
    Fault(
        "a judged id with another case",
        with_lines(TRUTH, "q01 0 GOLD-002 0"),
        {"K015": (TRUTH, LAST)},
        RUNS,
    ),
    Fault("a query that finds itself", with_lines(RUN, "q01 Q0 q01 99 0.1 x"), {"K016": (RUN, None)}, RUNS),
    Fault(
        "a retrieved document without a text",
        with_lines(RUN, "q01 Q0 gold-999 99 0.1 x"),
        {"K017": (RUN, None)},
        (*ALL, "--match", "content"),
    ),
    Fault(
        "a judged document without a text",
        with_lines(TRUTH, "q01 0 gold-999 0"),
        {"K018": (TRUTH, None)},
        (*ALL, "--match", "content"),
    ),
    Fault("a query without a positive grade", in_columns(TRUTH, zero_for("q05")), {"K020": (TRUTH, None)}),
    Fault("an empty ground truth", as_json(TRUTH, {"q05": {}}), {"K021": (TRUTH, None)}, (*ALL, "--ignore", "K027")),
    Fault("grades that are all equal", in_columns(TRUTH, lambda words: [*words[:3], "1"]), {"K022": (TRUTH, None)}),
    Fault("a query that is unknown", without(TRUTH, "q05 "), {"K023": (RUN, None)}, (TRUTH, RUN, "-m", "nDCG@5")),
    Fault("another question of the same id", with_lines(QUERIES, question("q01", "Why?")), {"K024": (QUERIES, LAST)}),
    Fault("a question twice", with_lines(QUERIES, question("q99", ASKED["text"])), {"K025": (QUERIES, [1, LAST])}),
    Fault("a relevant document that nobody finds", with_lines(TRUTH, "q01 0 gold-010 1"), {"K026": (TRUTH, None)}),
    Fault(
        "an unjudged document that all systems prefer",
        both(top_of(RUN, "q01", "gold-010"), top_of(OTHER, "q01", "gold-010")),
        {"K027": (TRUTH, None)},
    ),
    Fault("a query that was not answered", without(RUN, "q05 "), {"K030": (RUN, None)}),
    Fault("a query with no document", as_json(RUN, {"q05": {}}), {"K031": (RUN, None)}),
    Fault("documents that nobody judged", lambda folder: change(folder / RUN, unjudged), {"K032": (RUN, None)}, ONE),
    Fault("scores that are all equal", in_columns(RUN, lambda words: [*words[:4], "1", "x"]), {"K033": (RUN, None)}),
    Fault(
        "two scores that are too large for doubles",
        with_lines(RUN, *(f"q01 Q0 gold-0{doc} 0 {2**53 + at} x" for at, doc in enumerate((61, 26)))),
        {"K034": (RUN, None)},
    ),
    Fault(
        "lists that are cut at one document",
        lambda folder: change(folder / RUN, cut),
        {"K035": (RUN, None)},
        (*RUNS, "--ignore", "K026"),
    ),
    Fault("ranks in another order than scores", lambda folder: change(folder / RUN, reranked), {"K036": (RUN, 2)}),
    Fault("a cut-off that is too deep", nothing, {"K037": (RUN, None)}, (TRUTH, RUN, "-m", "R@100")),
    # The texts of documents.
    Fault("another text", with_lines(CORPUS, document(FIRST["id"], "Else.")), {"K040": (CORPUS, LAST)}),
    Fault("a document of the corpus twice", with_lines(CORPUS, json.dumps(FIRST)), {"K041": (CORPUS, LAST)}),
    Fault("a copy", with_lines(CORPUS, json.dumps(FIRST | {"id": "copy"})), {"K042": (CORPUS, [1, LAST])}),
    Fault("a document without a text", with_lines(CORPUS, document("gold-998", "")), {"K043": (CORPUS, LAST)}),
    Fault("a query without a text", with_lines(QUERIES, question("q99", " ")), {"K043": (QUERIES, LAST)}),
    # Logs.
    Fault("no list of what was retrieved", in_record(1, retrieved=None), {"K030": (LOG, 1)}, LOGS),
    Fault("nothing retrieved", in_record(1, retrieved=[]), {"K031": (LOG, 1)}, LOGS),
    Fault("nothing but empty texts", in_record(1, retrieved=without_texts), {"K050": (LOG, 1)}, LOGS),
    Fault("an answer that is a passage", in_record(1, answer=first_passage), {"K051": (LOG, 1)}, LOGS),
    Fault("gold answers in no passage", in_record(1, gold_answers=["eau de cologne"]), {"K052": (LOG, 1)}, LOGS),
    Fault("no answer", in_record(1, answer=None), {"K053": (LOG, 1)}, LOGS),
    Fault("no gold answer", in_record(1, gold_answers=None), {"K054": (LOG, 1)}, LOGS),
    Fault("nothing to evaluate", with_lines(LOG, '{"query": "q99"}'), {"K055": (LOG, LAST)}, LOGS),
    Fault("a passage twice", in_record(1, retrieved=first_twice), {"K056": (LOG, 1)}, LOGS),
    Fault("the same question twice", asked_again, {"K025": (LOG, LAST)}, LOGS),
    # Claims.
    Fault("a wrong claim", nothing, {"K060": (RUN, None)}, (TRUTH, RUN, "-m", "nDCG@5", "--claimed", "AP=0.1")),
]


def keys(folder: Path, words: tuple[str, ...]) -> set[tuple[str, str, str]]:
    """The findings of `karat check`: their numbers, files and lines."""
    done = run_here(folder, "check", *words, "--format", "json")
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert done.returncode == (found["errors"] > 0)
    return {(each["number"], each["source"], str(each.get("line"))) for each in found["findings"]}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's data without what `check` rightly warns about.

    These are judged documents only, which some system retrieves, and questions whose gold answer is in a passage.
    """
    folder = tmp_path_factory.mktemp("clean")
    (folder / "runs").mkdir()
    runs = {file: (demo.HERE / file).read_text().splitlines() for file in (RUN, OTHER)}
    truth = [line.split() for line in demo.TRUTH.read_text().splitlines()]
    retrieved = {(words[0], words[2]) for lines in runs.values() for words in map(str.split, lines)}
    relevant = {query for query, _, doc, grade in truth if grade != "0" and (query, doc) in retrieved}
    kept = [words for words in truth if words[0] in relevant and (words[0], words[2]) in retrieved]
    judged = {(words[0], words[2]) for words in kept}
    write_lines(folder / TRUTH, map(" ".join, kept))
    for file, lines in runs.items():
        write_lines(folder / file, (line for line in lines if tuple(line.split()[:3:2]) in judged))
    for file in (CORPUS, QUERIES):
        shutil.copy(demo.HERE / file, folder / file)
    log = demo.RESULTS.read_text("utf-8").splitlines()
    done = run_here(demo.HERE, "check", "results.jsonl", "--match", "prefix", "--format", "json")
    wrong = {finding["line"] for finding in json.loads(done.stdout)["findings"]}
    write_lines(folder / LOG, (line for number, line in enumerate(log, 1) if number not in wrong))
    return folder


@pytest.mark.parametrize("words", [RUNS, ALL, (*ALL, "--match", "content"), LOGS, (TRUTH, RUN)], ids=" ".join)
def test_nothing_is_found_where_nothing_is_wrong(clean: Path, words: tuple[str, ...]) -> None:
    assert keys(clean, (*words, "-m", "nDCG@5")) == set()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found_with_its_number_and_line_and_nothing_else_is(
    clean: Path, tmp_path: Path, fault: Fault
) -> None:
    folder = shutil.copytree(clean, tmp_path / "planted")
    fault.plant(folder)
    expected = set()
    for number, (file, line) in fault.expected.items():
        last = (folder / file).read_bytes().count(b"\n") if (folder / file).exists() else 0
        given = line if isinstance(line, list) else [line]
        lines = [last + 1 + each if each is not None and each < 0 else each for each in given]
        expected.add((number, file, str(lines if isinstance(line, list) else lines[0])))
    assert keys(folder, fault.words) == expected


def test_every_kind_has_a_planted_fault() -> None:
    planted = {number for fault in FAULTS for number in fault.expected}
    assert planted == {kind.number for kind in finding_kinds().values()}


def test_the_findings_on_the_data_of_the_demo_are_those_that_the_documentation_explains() -> None:
    words = ("check", "truth.qrels", "runs", "--corpus", CORPUS, "--queries", QUERIES, "--format", "json")
    done = run_here(demo.HERE, *words)
    assert done.returncode == 0
    page = (Path(__file__).parents[2] / "docs" / "check.md").read_text("utf-8")
    _, _, listed = page.partition("These are all findings about the demo's data, and they are true:\n\n")
    explained = [line.split()[1].rstrip(":") for line in listed.partition("\n\n")[0].splitlines() if line[:2] == "- "]
    assert sorted({finding["number"] for finding in json.loads(done.stdout)["findings"]}) == explained
