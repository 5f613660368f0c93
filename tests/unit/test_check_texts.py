"""check(): ids that the corpus or the file of queries lacks, texts that contradict or repeat, and similar ids."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import Checked, Finding, KaratError, check
from karat.documents.normalization import normalized
from karat.evaluation.check.ids import case_matters, similar_ids
from karat.evaluation.check.similar_rows import folded_column
from karat.matching.id_differences import difference_between
from karat.reading.pairs.arrays import text_column

TEXT_KINDS = {"K001", "K002", "K010", "K012", "K013", "K014", "K015", "K024", "K025", "K040", "K041", "K042", "K043"}
"""the kinds of findings that are about texts and ids"""

CORPUS = {"d1": "Gold is soft.", "d2": "Iron is hard.", "d3": "Lead is heavy."}
QUERIES = {"q1": "How soft is gold?", "q2": "How hard is iron?"}
TRUTH = {"q1": {"d1": 1, "d2": 0}, "q2": {"d2": 2}}
RUN = {"q1": {"d1": 0.9, "d3": 0.5}, "q2": {"d2": 0.7, "d1": 0.1}}


def found(checked: Checked, kinds: Iterable[str] = TEXT_KINDS) -> list[tuple[str, str]]:
    """The findings of these kinds: their numbers and places."""
    wanted = {*kinds}
    return [(number(each), str(each.place)) for each in checked if number(each) in wanted]


def number(finding: Finding) -> str:
    assert finding.kind is not None
    return finding.kind.number


def only(checked: Checked, kind: str) -> Finding:
    [finding] = checked.only([kind], [])
    return finding


def lines(path: Path, records: Iterable[Any]) -> str:
    """A file of JSON lines; a text is a line as it is."""
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in records))
    return str(path)


def texts(path: Path, entries: Iterable[tuple[str, str]]) -> str:
    return lines(path, ({"_id": id_, "text": text} for id_, text in entries))


def qrels(path: Path, truth: Mapping[str, Mapping[str, int]]) -> str:
    rows = (f"{query} 0 {doc} {grade}\n" for query, docs in truth.items() for doc, grade in docs.items())
    path.write_text("".join(rows), encoding="utf-8")
    return str(path)


def trec(path: Path, run: Mapping[str, Mapping[str, float]]) -> str:
    rows = (f"{query} Q0 {doc} 1 {score} x\n" for query, docs in run.items() for doc, score in docs.items())
    path.write_text("".join(rows), encoding="utf-8")
    return str(path)


FORMS: dict[str, Callable[[Path, dict[str, str]], Any]] = {
    "a mapping": lambda _, entries: entries,
    "an iterator of pairs": lambda _, entries: iter([*entries.items()]),
    "a data frame": lambda _, entries: pd.DataFrame({"id": [*entries], "text": [*entries.values()]}),
    "JSON lines": lambda folder, entries: texts(folder / "texts.jsonl", entries.items()),
    "Parquet": lambda folder, entries: _parquet(folder / "texts.parquet", entries),
    "TSV without a header": lambda folder, entries: _tsv(folder / "texts.tsv", entries),
}


def _parquet(path: Path, entries: dict[str, str]) -> str:
    parquet.write_table(pa.table({"_id": [*entries], "text": [*entries.values()]}), path)
    return str(path)


def _tsv(path: Path, entries: dict[str, str]) -> str:
    path.write_text("".join(f"{id_}\t{text}\n" for id_, text in entries.items()))
    return str(path)


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_found_in_texts_that_fit(form: str, tmp_path: Path) -> None:
    (tmp_path / "queries").mkdir()
    queries, corpus = FORMS[form](tmp_path / "queries", QUERIES), FORMS[form](tmp_path, CORPUS)
    assert found(check(TRUTH, RUN, queries=queries, corpus=corpus)) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_text_is_found_in_texts_of_every_form(form: str, tmp_path: Path) -> None:
    (tmp_path / "queries").mkdir()
    queries = FORMS[form](tmp_path / "queries", {"q1": "How soft is gold?"})
    corpus = FORMS[form](tmp_path, {"d1": "Gold is soft.", "d2": "Iron is hard."})
    truth, run = qrels(tmp_path / "truth.qrels", TRUTH), trec(tmp_path / "run.trec", RUN)
    assert found(check(truth, run, queries=queries, corpus=corpus)) == [
        ("K013", f"{run}:2"), ("K014", f"{run}:3"), ("K014", f"{truth}:3"),
    ]  # fmt: skip


def test_a_judged_document_that_is_not_in_the_corpus_is_found_with_its_line(tmp_path: Path) -> None:
    truth = qrels(tmp_path / "truth.qrels", {"q1": {"d1": 1, "d9": 1}, "q2": {"d2": 1, "d9": 0, "d8": 1}})
    first, second = check(truth, corpus=CORPUS).only(["K012"], [])
    assert (str(first.place), str(second.place)) == (f"{truth}:2", f"{truth}:5")
    assert first.message == "document 'd9', judged for query q1, is not in the corpus"


def test_a_large_run_is_looked_up_in_the_corpus(tmp_path: Path) -> None:
    run = {f"q{at}": {f"doc{at}-{rank}": 100 - rank for rank in range(100)} for at in range(300)}
    corpus = {doc: f"the text of {doc}" for docs in run.values() for doc in docs if doc not in ("doc7-3", "doc299-99")}
    truth = {query: {next(iter(docs)): 1} for query, docs in run.items()}
    file = trec(tmp_path / "run.trec", run)
    assert found(check(truth, file, corpus=corpus)) == [("K013", f"{file}:704"), ("K013", f"{file}:30000")]


@pytest.mark.parametrize(
    ("judged", "known", "reason"),
    [
        ("{:03}", "{}", "zeros at the beginning of numbers: '001'"),
        ("DOC{}", "doc{}", "case: 'DOC1'"),
        ("{}.0", "{}", "a .0 at the end: '1.0'"),
        ("doc-{}", "{}", "the prefix 'doc-': 'doc-1'"),
        ("d{}", "d{}#0", "the suffix '#0': 'd1'"),
        ("caf\u00e9{}", "cafe\u0301{}", r"Unicode normalization: 'caf\xe91'"),
    ],
)
def test_if_nearly_all_ids_are_missing_one_finding_says_why(judged: str, known: str, reason: str) -> None:
    truth = {"q": {judged.format(at): 1 for at in range(1, 20)}}
    corpus = {known.format(at): f"text {at}" for at in range(1, 20)}
    finding = only(check(truth, corpus=corpus), "K012")
    assert finding.message == "100% of the judged documents are not in the corpus"
    assert finding.hint.startswith(f"Ids differ in {reason} in the ground truth is ")
    [finding] = check(truth, {"q": dict.fromkeys(truth["q"], 1.0)}, corpus=corpus).only(["K013"], [])
    assert reason in finding.hint


def test_queries_that_are_not_in_the_file_of_queries_are_found_in_ground_truth_and_run(tmp_path: Path) -> None:
    truth = qrels(tmp_path / "truth.qrels", {**TRUTH, "q7": {"d1": 1}})
    run = trec(tmp_path / "run.trec", {**RUN, "q8": {"d1": 1}})
    checked = check(truth, run, queries=QUERIES)
    assert found(checked, ["K014"]) == [("K014", f"{run}:5"), ("K014", f"{truth}:4")]
    assert [finding.queries for finding in checked.only(["K014"], [])] == [("q8",), ("q7",)]


def test_the_folder_of_a_data_set_is_checked_with_its_own_texts(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq7\td7\t1\n")
    assert found(check(tmp_path)) == []
    texts(tmp_path / "corpus.jsonl", CORPUS.items())
    texts(tmp_path / "queries.jsonl", QUERIES.items())
    line = f"{tmp_path / 'qrels' / 'test.tsv'}:3"
    assert found(check(tmp_path)) == [("K012", line), ("K014", line)]
    assert found(check(tmp_path, corpus={"d1": "Gold", "d7": "Tin"})) == [("K014", line)]


@pytest.mark.parametrize(
    ("match", "corpus"),
    [
        ("prefix", {"d1": "Gold is soft. Iron"}),
        ("prefix", {"d1::0": "Gold is soft.", "d1::1": "Iron"}),
        ("id(normalize=case)", {"D1": "Gold is soft.", "d1::0": "Iron"}),
    ],
)
def test_ids_are_looked_up_as_they_are_matched(match: str, corpus: dict[str, str]) -> None:
    assert found(check({"q": {"d1": 1}}, {"q": {"d1::0": 0.5}}, corpus=corpus, match=match), ["K012", "K013"]) == []


# Texts that contradict or repeat each other.


def test_an_id_with_two_texts_is_found_with_both_lines(tmp_path: Path) -> None:
    corpus = texts(tmp_path / "corpus.jsonl", [("d1", "Gold"), ("d2", "Iron"), ("d1", "Lead"), ("d1", "Gold")])
    checked = check(TRUTH, corpus=corpus, queries=texts(tmp_path / "queries.jsonl", [("q1", "a"), ("q1", "b")]))
    assert only(checked, "K040").message == f"document 'd1' has another text here than in {corpus}:1"
    assert str(only(checked, "K040").place) == f"{corpus}:3"
    assert str(only(checked, "K041").place) == f"{corpus}:4"
    assert str(only(checked, "K024").place) == f"{tmp_path / 'queries.jsonl'}:2"


def test_contradictions_between_two_files_are_found(tmp_path: Path) -> None:
    one, two = (texts(tmp_path / f"{text}.jsonl", [("d1", text), ("d2", "x")]) for text in ("Gold", "Lead"))
    assert found(check(TRUTH, corpus=[one, two]), ["K040", "K041"]) == [("K040", f"{two}:1"), ("K041", f"{two}:2")]


def test_the_title_is_a_part_of_the_text(tmp_path: Path) -> None:
    records = [{"_id": f"d{at}", "title": f"Part {at}", "text": "See there."} for at in range(3)]
    assert found(check(TRUTH, corpus=lines(tmp_path / "corpus.jsonl", records)), ["K042"]) == []
    records[2]["title"] = records[0]["title"]
    assert found(check(TRUTH, corpus=records), ["K042"]) == [("K042", "the corpus[0] and the corpus[2]")]


SAME = {"d1": "Gold is soft.", "d2": "Iron", "d3": "Gold is soft."}


@pytest.mark.parametrize(
    ("truth", "judged"),
    [
        ({"d2": 1}, ""),
        ({"d1": 1, "d3": 2}, ""),
        ({"d1": 0, "d3": 0}, ""),
        ({"d3": 1}, ", but 'd3' is relevant for query q, and 'd1' is not judged for it"),
        ({"d1": 1, "d3": 0}, ", but 'd1' is relevant for query q, and 'd3' is judged as not relevant"),
    ],
)
def test_documents_with_the_same_text_are_found_and_whether_one_is_judged_in_another_way(
    truth: dict[str, int], judged: str, tmp_path: Path
) -> None:
    corpus = texts(tmp_path / "corpus.jsonl", SAME.items())
    finding = only(check({"q": truth}, corpus=corpus), "K042")
    assert finding.message == f"documents 'd1' and 'd3' have the same text{judged}"
    assert str(finding.place) == f"{corpus}:1 and 3"


@pytest.mark.parametrize("options", [{"rel": 2}, {"measures": "P(rel=2)@10"}])
def test_grades_below_those_of_measures_are_not_relevant_in_documents_with_the_same_text(
    options: dict[str, Any],
) -> None:
    finding = only(check({"q": {"d1": 2, "d3": 1}}, corpus=SAME, **options), "K042")
    assert finding.message.endswith("'d3' is judged as not relevant")
    finding = only(check({"q": {"d1": 1, "d3": 1}}, corpus=SAME, **options), "K042")
    assert finding.message == "documents 'd1' and 'd3' have the same text"


def test_many_documents_with_the_same_text_are_one_finding() -> None:
    finding = only(check({"q": {"x": 1}}, corpus={f"d{at}": "n/a" for at in range(1000)}), "K042")
    assert (finding.message, finding.count) == ("documents 'd0', 'd1' and 998 others have the same text", 1000)


def test_queries_that_ask_the_same_are_found_and_whether_their_judgments_differ(tmp_path: Path) -> None:
    queries = texts(tmp_path / "queries.jsonl", [("q1", "How soft is gold?"), ("q2", " how soft is  gold?")])
    finding = only(check({"q1": {"d1": 1}, "q2": {"d1": 1}}, queries=queries), "K025")
    assert (finding.message, finding.queries) == ("queries 'q1' and 'q2' ask the same", ("q1", "q2"))
    assert str(finding.place) == f"{queries}:1 and 2"
    finding = only(check({"q1": {"d1": 1}, "q2": {"d1": 0.5}}, queries=queries), "K025")
    assert finding.message.endswith(
        "ask the same, with different judgments: document 'd1' has grade 1 for 'q1' and has grade 0.5 for 'q2'"
    )
    finding = only(check({"q1": {"d1": 1}, "x": {"d1": 0}}, queries=queries), "K025")
    assert finding.message.endswith("ask the same")


def test_documents_and_queries_without_a_text_are_found(tmp_path: Path) -> None:
    corpus = lines(tmp_path / "corpus.jsonl", [{"_id": "d1", "text": "x"}, {"_id": "d2", "text": " "}, {"_id": "d3"}])
    checked = check({"q1": {"d1": 1}}, corpus=corpus, queries=[("q1", None)])
    assert found(checked) == [("K043", f"{corpus}:2"), ("K043", f"{corpus}:3"), ("K043", "the queries[0]")]


# A match by texts reads the corpus, too.


def test_a_corpus_that_documents_are_matched_by_can_be_an_iterator() -> None:
    checked = check({"q": ["d1"]}, {"q": ["d1", "d2"]}, corpus=iter([*CORPUS.items()]), match="content", measures="AP")
    assert [number(finding) for finding in checked] == []


def test_a_contradiction_in_a_corpus_that_documents_are_matched_by_is_found_once() -> None:
    corpus = [("d1", "Gold"), ("d1", "Iron")]
    checked = check({"q": ["d1"]}, {"q": ["d1", "d2"]}, corpus=corpus, match="content", measures="AP")
    assert found(checked) == [("K040", "the corpus[1]")]


# Texts that cannot be read.


def test_lines_that_cannot_be_read_are_found_and_the_others_are_checked(tmp_path: Path) -> None:
    corpus = lines(
        tmp_path / "corpus.jsonl",
        [
            {"_id": "d1", "text": "x"},
            "nonsense",
            {"text": "no id"},
            {"_id": "d2", "text": 7},
            {"_id": "d2", "text": "x"},
        ],
    )
    assert found(check(TRUTH, corpus=corpus)) == [
        ("K002", f"{corpus}:2"), ("K002", f"{corpus}:3"), ("K002", f"{corpus}:4"), ("K042", f"{corpus}:1 and 5"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b'_id,text\nd1,x\nd2,y,z\nd3,"open\nd4,w\nd5,\xff\nd6,x\n', [3, 4, 6]),
        (b"d1\tx y\nd2\nd3\t\xff\nd6\tx y\n", [2, 3]),
    ],
)
def test_rows_of_a_table_that_cannot_be_read_are_found_and_the_others_are_checked(
    content: bytes, wrong: list[int], tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus.csv"
    corpus.write_bytes(content)
    checked = check({"q": {"d1": 1, "d6": 1}}, corpus=corpus)
    assert found(checked, ["K001", "K002", "K012"]) == [("K002", f"{corpus}:{line}") for line in wrong]
    assert only(checked, "K042").message == "documents 'd1' and 'd6' have the same text"


@pytest.mark.parametrize("content", ["", "{}", "q1 Q0 d1 1 0.5 x\n", '{"q1": {"d1": 1}}', '{"_id": "d1", "text": "x"'])
def test_a_corpus_that_cannot_be_read_is_found_and_no_document_is_said_to_be_missing(
    content: str, tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus.json"
    corpus.write_text(content)
    checked = check(TRUTH, RUN, corpus=corpus)
    assert [kind for kind, _ in found(checked)] == ["K001"]


def test_texts_are_checked_if_the_ground_truth_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty.qrels").touch()
    checked = check(tmp_path / "empty.qrels", corpus=SAME, queries={"q1": "a", "q2": "A"})
    assert [kind for kind, _ in found(checked)] == ["K001", "K025", "K042"]


# Ids that differ only in how they are written.


@pytest.mark.parametrize(
    ("queries", "run", "reason"),
    [
        (["q1", "q2"], ["Q1", "Q2"], "case: 'q1' in the ground truth is 'Q1' in the run"),
        (["1", "2"], ["1.0", "2.0"], "a .0 at the end: '1' in the ground truth is '1.0' in the run"),
        (["q 1", "q 2"], ["q 1 ", "q 2 "], "spaces: 'q 1' in the ground truth is 'q 1 ' in the run"),
        (["q1", "q2"], ["dev-q1", "dev-q2"], "the prefix 'dev-': 'q1' in the ground truth is 'dev-q1' in the run"),
        (["07", "08"], ["7", "8"], "zeros at the beginning of numbers: '07' in the ground truth is '7' in the run"),
        (["\u00e91"], ["e\u03011"], r"Unicode normalization: '\xe91' in the ground truth is 'e\u03011' in the run"),
    ],
)
def test_a_run_without_common_queries_is_one_finding_with_the_reason(
    queries: list[str], run: list[str], reason: str
) -> None:
    checked = check({query: {"d": 1} for query in queries}, {query: {"d": 1.0} for query in run})
    assert [number(finding) for finding in checked.errors] == ["K010"]
    assert only(checked, "K010").hint == f"Ids differ in {reason}. Write them alike."


def test_a_run_without_common_queries_has_no_other_findings(tmp_path: Path) -> None:
    run = trec(tmp_path / "run.trec", {"x": {"d1": 1}})
    assert [(number(each), str(each.place)) for each in check(TRUTH, run, measures="AP")] == [("K010", run)]


def test_a_judged_document_that_is_missing_while_a_similar_one_was_retrieved_is_found(tmp_path: Path) -> None:
    run = trec(tmp_path / "run.trec", {"q1": {"D1": 0.9, "d3": 0.5}, "q2": {"d2": 0.7, "D2": 0.1}})
    truth = {"q1": {"d1": 1}, "q2": {"d2": 1}}
    finding = only(check(truth, run), "K015")
    assert str(finding.place) == f"{run}:1"
    assert finding.message == (
        "document 'd1', judged for query q1, is missing from the run, which has 'D1': they differ only in case"
    )
    assert "--match 'id(normalize=case)'" in finding.hint
    assert found(check(truth, run, match="id(normalize=case)"), ["K015"]) == []


@pytest.mark.parametrize(
    ("judged", "retrieved"),
    [
        ("Caf\u00e9", "Cafe\u0301"), ("ﬁsh", "fish"), ("Straße", "STRASSE"), ("Doc\u00a01", "doc 1"), ("d1", "D1"),
        ("\u0130d", "i\u0307d"), ("\u13a0", "\uab70"), ("a\x0bb", "a b"),
    ],
)  # fmt: skip
def test_similar_ids_are_found_in_large_and_small_runs_alike(judged: str, retrieved: str, tmp_path: Path) -> None:
    others = {f"other{at}": 0.1 for at in range(30_000)}
    rows = [("q1", doc, score) for doc, score in {**others, retrieved: 0.5}.items()]
    frame = pd.DataFrame(rows, columns=["query", "doc", "score"])
    small = check({"q1": {judged: 1, "other1": 1}}, {"q1": {"other1": 0.9, retrieved: 0.5}})
    large = check({"q1": {judged: 1, "other1": 1}}, frame)
    assert only(small, "K015").message == only(large, "K015").message


def test_queries_of_the_run_that_are_similar_to_missing_ones_are_found(tmp_path: Path) -> None:
    run = trec(tmp_path / "run.trec", {"q1": {"d1": 1}, "Q2": {"d2": 1}})
    finding = only(check(TRUTH, run), "K015")
    assert (str(finding.place), finding.queries) == (f"{run}:2", ("q2",))


def test_similar_ids_in_the_ground_truth_are_found(tmp_path: Path) -> None:
    truth = qrels(tmp_path / "truth.qrels", {"q1": {"d1": 1, "D1": 0}, "Q1": {"d1": 1}, "q2": {"D1": 1}})
    checked = check(truth)
    assert found(checked) == [("K015", f"{truth}:2"), ("K015", f"{truth}:3")]
    assert [finding.message for finding in checked.only(["K015"], [])] == [
        "the documents 'd1' and 'D1', judged for query q1, differ only in case",
        "the queries 'q1' and 'Q1' differ only in case",
    ]


def test_ids_in_which_case_is_significant_are_not_similar() -> None:
    ids = ["dQw4w9WgXcQ", "aB3xYz", "Ab3xYz", "kLm9", "KLm9", "xYz0"]
    assert case_matters(ids)
    assert found(check({query: {"d": 1} for query in ids})) == []
    assert not case_matters(["MED-10", "d1", "PLAIN-2"])


# Hypothesis: any ids and texts.

IDS = st.text(st.sampled_from("aAbB12 .é\u0301#-"), min_size=1, max_size=4).filter(str.strip)
TEXTS = st.sampled_from(["", " ", "x", "X", "y", "\ud800"])


@given(
    st.lists(st.tuples(IDS, TEXTS), max_size=8),
    st.lists(st.tuples(IDS, TEXTS), max_size=8),
    st.dictionaries(IDS, st.dictionaries(IDS, st.integers(0, 2), max_size=3), max_size=4),
    st.dictionaries(IDS, st.dictionaries(IDS, st.floats(0, 1), max_size=3), max_size=4),
)
def test_whatever_ids_and_texts_are_checking_them_is_no_error(
    corpus: list[tuple[str, str]],
    queries: list[tuple[str, str]],
    truth: dict[str, dict[str, int]],
    run: dict[str, dict[str, float]],
) -> None:
    checked = check(truth, run, corpus=corpus, queries=queries)
    assert checked.to_text()
    assert json.dumps(checked.to_dict())


@given(st.dictionaries(IDS, st.integers(), min_size=2, max_size=8), st.data())
def test_a_repeated_text_is_found_wherever_it_is(texts_by_id: dict[str, int], data: st.DataObject) -> None:
    entries = [(id_, f"text {at}") for at, id_ in enumerate(texts_by_id)]
    assert found(check(TRUTH, corpus=entries), ["K040", "K041", "K042"]) == []
    one, other = data.draw(st.permutations([*texts_by_id]))[:2]
    same = [(id_, "the same" if id_ in (one, other) else text) for id_, text in entries]
    assert only(check(TRUTH, corpus=same), "K042").count == 2
    assert only(check(TRUTH, corpus=[*entries, (one, "another")]), "K040")
    assert only(check(TRUTH, corpus=[*entries, *entries[:1]]), "K041")


@given(st.lists(IDS, min_size=2, max_size=8, unique=True))
def test_similar_ids_are_those_that_are_the_same_once_folded(ids: list[str]) -> None:
    folds = ("unicode", "case", "space")
    pairs = list(similar_ids(ids, folds))
    assert len(pairs) == len(ids) - len({normalized(id_, folds) for id_ in ids})
    assert all(one != other and normalized(one, folds) == normalized(other, folds) for one, other in pairs)


@given(st.lists(IDS | st.text(st.characters()), max_size=8))
def test_columns_of_ids_are_folded_like_single_ids(ids: list[str]) -> None:
    expected = [normalized(id_, ("unicode", "case", "space")) for id_ in ids]
    assert folded_column(text_column(ids)).equals(text_column(expected))


FORMS_OF_IDS = [("q{}", "q{:05}"), ("q{}", "q{}.0"), ("q{}", "Q{}"), ("{}", "q-{}"), ("q{}", "q{}#0"), ("q{}", " q{}")]


@given(st.sets(st.integers(0, 999), min_size=2, max_size=20), st.sampled_from(FORMS_OF_IDS), st.booleans())
def test_one_difference_between_all_ids_is_found(numbers: set[int], forms: tuple[str, str], other_way: bool) -> None:
    sides = [[form.format(number) for number in numbers] for form in forms]
    ids, others = reversed(sides) if other_way else sides
    reason = difference_between(ids, others)
    assert reason is not None
    assert reason.found == len(numbers)
    assert reason.example[0] in ids
    assert reason.example[1] in others


def test_ids_that_look_alike_are_shown_as_they_are_encoded() -> None:
    composed, decomposed = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
    checked = check({"q": {composed: 1, "d1": 1}}, {"q": {decomposed: 0.5, "d1": 0.4}})
    assert r"'\xe9'" in only(checked, "K015").message
    assert r"'e\u0301'" in only(checked, "K015").message
    checked = check({"q": {composed: 1}}, {"q": {decomposed: 0.5}})
    assert r"the retrieved 'e\u0301' is then a hit for the gold '\xe9'" in only(checked, "K011").hint


@pytest.mark.parametrize(
    ("judged", "retrieved", "difference"),
    [("D{}", "d{}", "id(normalize=case)"), ("{}", "x-{}", "in the prefix 'x-'"), ("{}#0", "{}", "in the suffix '#0'")],
)
def test_if_no_judged_document_is_found_one_finding_says_what_all_ids_differ_in(
    judged: str, retrieved: str, difference: str
) -> None:
    numbers = range(100, 120)
    truth = {f"q{at}": {judged.format(number): 1 for number in numbers} for at in range(3)}
    run = {query: {retrieved.format(number): number for number in numbers} for query in truth}
    checked = check(truth, run, measures="AP")
    assert found(checked, {*TEXT_KINDS, "K011"}) == [("K011", "the run")]
    assert difference in only(checked, "K011").hint


def test_an_evaluation_says_why_no_query_is_in_both() -> None:
    from karat import evaluate

    with pytest.raises(KaratError, match=r"Ids differ in zeros at the beginning of numbers: '001'"):
        evaluate({"001": {"d": 1}}, {"1": {"d": 1}})


@pytest.mark.parametrize("content", ["corpus", "queries"])
def test_ids_that_may_be_in_rows_that_cannot_be_read_are_said_to_be_missing_from_the_others(
    tmp_path: Path, content: str
) -> None:
    known = [f"{content[0].replace('c', 'd')}{at}" for at in (1, 2)]
    entries = [json.dumps({"_id": known[0], "text": "a text"}), '{"_id": "' + known[1] + '", "text": "broken']
    path = lines(tmp_path / "texts.jsonl", entries)
    options: dict[str, Any] = {content: path}
    broken = check(TRUTH, **options)
    kind = "K012" if content == "corpus" else "K014"
    assert [number(each) for each in broken if number(each) in TEXT_KINDS] == ["K002", kind]
    assert only(broken, kind).message.endswith(f" is not in the rows of {path} that can be read")
    whole = lines(tmp_path / "texts.jsonl", entries[:1])
    options[content] = whole
    assert only(check(TRUTH, **options), kind).message.endswith(f" is not in {whole}")


@pytest.mark.parametrize("form", ["mapping", "list"])
def test_texts_with_faults_of_json_are_left_out_and_the_others_are_checked(tmp_path: Path, form: str) -> None:
    path = tmp_path / "corpus.json"
    if form == "mapping":
        path.write_text('{"d1": "one", "d2": {"text": "two", "year": NaN}, "d1": "two", "d3": ""}')
    else:
        rows = ['{"_id": "d1", "text": "one"}', '{"_id": "d2", "text": "two", "year": NaN}']
        rows += ['{"_id": "d4", "_id": "d1", "text": "two"}', '{"_id": "d3", "text": ""}']
        path.write_text(f"[{','.join(rows)}]")
    assert [number(each) for each in check({"q": {"d1": 1, "d3": 0}}, corpus=path)] == ["K002", "K002", "K043"]
