"""check(): of very many findings of one kind about one file, the first are listed and the others are counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import Checked, Finding, KaratError, check
from karat.errors import Place
from karat.evaluation.check.many_findings import Found, Others, first_findings
from tests.standard_input import piped

MOST, MANY = 5, 12
TEXTS = {f"d{at}": f"the text of {at}" for at in range(MANY)}
TRUTH = {"q": {**{f"d{at}": at % 2 for at in range(MANY)}, "hit": 0}}


@pytest.fixture(autouse=True)
def few_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("evaluation.check.many_findings", "reading.bytes.rejected_rows"):
        monkeypatch.setattr(f"karat.{module}.MOST_ERRORS", MOST)
    for module in ("ranking.ranker", "reading.pairs.tables"):
        monkeypatch.setattr(f"karat.{module}.MOST_ERRORS", MOST)


def run_of(lines: Iterable[str]) -> Callable[[Path], Checked]:
    def checked(folder: Path) -> Checked:
        (folder / "run.trec").write_text("\n".join(lines))
        return check(TRUTH, folder / "run.trec", corpus=TEXTS)

    return checked


def truth_of(lines: Iterable[str]) -> Callable[[Path], Checked]:
    def checked(folder: Path) -> Checked:
        (folder / "truth.qrels").write_text("\n".join(lines))
        return check(folder / "truth.qrels", corpus=TEXTS)

    return checked


def corpus_of(entries: Iterable[tuple[str, str]]) -> Callable[[Path], Checked]:
    def checked(folder: Path) -> Checked:
        lines = (json.dumps({"_id": id_, "text": text}) for id_, text in entries)
        (folder / "corpus.jsonl").write_text("\n".join(lines))
        return check(TRUTH, corpus=folder / "corpus.jsonl")

    return checked


GOOD = [f"q Q0 {doc} 1 {100 - at} t" for at, doc in enumerate(TEXTS)]
JUDGED = [f"q 0 {doc} {at % 2}" for at, doc in enumerate(TEXTS)]
KINDS: dict[str, Callable[[Path], Checked]] = {
    "K002": run_of([*GOOD, *["q Q0"] * MANY]),
    "K003": run_of([*GOOD, *(f"q Q0 x{at} 1 nan t" for at in range(MANY))]),
    "K004": truth_of([*JUDGED, *(f"q 0 {doc} 7" for doc in TEXTS)]),
    "K005": truth_of([*JUDGED, *JUDGED]),
    "K006": run_of([*GOOD, *GOOD]),
    "K012": truth_of([*JUDGED, *(f"q 0 x{at} 1" for at in range(MANY))]),
    "K013": run_of([*GOOD, *(f"q Q0 x{at} 1 0.{50 + at} t" for at in range(MANY))]),
    "K015": run_of([*(line.replace(" d", " D") for line in GOOD), "q Q0 hit 1 0 t"]),
    "K040": corpus_of([*TEXTS.items(), *((id_, f"not {text}") for id_, text in TEXTS.items())]),
    "K041": corpus_of([*TEXTS.items(), *TEXTS.items()]),
    "K043": corpus_of([*TEXTS.items(), *((f"x{at}", "") for at in range(MANY))]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_of_many_findings_of_every_kind_the_first_are_listed_and_one_counts_the_others(
    tmp_path: Path, kind: str
) -> None:
    *listed, last = KINDS[kind](tmp_path).only([kind], [])
    assert len(listed) == MOST
    assert (last.message, last.count) == (f"and {MANY - MOST} more", MANY - MOST)
    assert not any(each.message.startswith("and ") for each in listed)


def test_rows_that_are_wrong_in_two_ways_are_counted_apart(tmp_path: Path) -> None:
    wrong = [*(f"q Q0 x{at} 1 nan t" for at in range(MANY)), *["q Q0"] * (MANY + 1)]
    found = run_of([*GOOD, *wrong])(tmp_path)
    for kind, many in (("K002", MANY + 1), ("K003", MANY)):
        *listed, last = found.only([kind], [])
        assert [each.place and each.place.line for each in listed] == [
            13 + at + (MANY if kind == "K002" else 0) for at in range(MOST)
        ]
        assert last.message == f"and {many - MOST} more"


def test_texts_in_two_files_are_one_group(tmp_path: Path) -> None:
    for name in "ab":
        lines = (json.dumps({"_id": f"{name}{at}", "text": f"text {at}"}) for at in range(MANY))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    found = check(TRUTH, corpus=[str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]).only(["K042"], [])
    assert len(found) == MOST + 1
    assert str(found[0].place) == f"{tmp_path}/a.jsonl:1 and {tmp_path}/b.jsonl:1"
    assert len(str(found).splitlines()) == 3 + 1 + 1 + 1  # the first, the others, the hint, the summary
    record = found.to_dict()["findings"][0]
    assert (record["source"], record["line"]) == (f"{tmp_path}/a.jsonl", 1)
    assert record["other"] == f"{tmp_path}/b.jsonl:1"


FINDINGS = st.builds(
    lambda code, source, count: Finding(code, "x", count, place=source and Place(source)),
    st.sampled_from(["empty-lines", "unreadable-row"]),
    st.sampled_from([None, "a", "b"]),
    st.integers(0, 3),
)
OTHERS = st.builds(Others, st.sampled_from(["empty-lines", "unreadable-row"]), st.sampled_from("ab"), st.integers(0, 9))


@given(st.lists(FINDINGS | OTHERS, max_size=60))
def test_no_finding_is_lost(found: list[Found]) -> None:
    total: Counter[tuple[str, str | None]] = Counter()
    for each in found:
        if isinstance(each, Others):
            total[each.code, each.source] += each.number
        else:
            total[each.code, each.place and each.place.source] += each.count or 1
    counted: Counter[tuple[str, str | None]] = Counter()
    listed: Counter[tuple[str, str | None]] = Counter()
    for finding in first_findings(found):
        about = finding.code, finding.place and finding.place.source
        counted[about] += finding.count or 1
        listed[about] += finding.message == "x"
    assert counted == +total
    assert max(listed.values(), default=0) <= MOST


# Names


@pytest.mark.parametrize("wrong", ["truth", "run"])
def test_findings_that_are_only_counted_name_standard_input_as_the_listed_ones_do(wrong: str) -> None:
    rows = {"truth": ["q 0 d1 0", *["q 0 d2 x"] * MANY], "run": [*GOOD, *["q Q0 x 1 nan t"] * MANY]}[wrong]
    with piped("\n".join(rows).encode()):
        checked = check("-") if wrong == "truth" else check(TRUTH, "-")
    assert {finding.place.source for finding in checked if finding.place} == {"standard input"}


# The same run twice


@pytest.mark.parametrize("other", ["{}", "./{}", "linked.trec", "../{folder}/{}"])
def test_a_run_that_is_given_twice_is_an_error_that_names_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.trec").write_text("\n".join(GOOD))
    (tmp_path / "linked.trec").symlink_to("run.trec")
    other = other.format("run.trec", folder=tmp_path.name)
    with pytest.raises(KaratError, match="this file is given twice") as raised:
        check(TRUTH, "run.trec", Path(other) if other == "run.trec" else other)
    assert str(raised.value.place) == other
    assert other == "run.trec" or raised.value.what.endswith(": also as run.trec")


def test_two_runs_in_memory_are_two_systems() -> None:
    run = {"q": {"d1": 0.5}}
    assert {str(each.place) for each in check(TRUTH, run, run).only(["K037"], [])} == {"run 1", "run 2"}
