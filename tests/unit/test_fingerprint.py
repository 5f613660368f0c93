"""Fingerprints: digests of ground truth, how they are saved, and the comparisons that they allow and refuse."""

from __future__ import annotations

import copy
import gc
import json
import math
import pickle
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat import Document, KaratError, Scores, compare, evaluate, evaluate_answers, evaluate_results, evaluate_runs
from karat.comparison.gate.gate import gate_by_rules
from karat.comparison.gate.rules import Rule
from karat.scores import SystemScores
from karat.scores.fingerprint import Fingerprint
from karat.testing import assert_scores

ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
grades = st.integers(-2, 4) | st.floats(-2, 4)
truths = st.dictionaries(ids, st.dictionaries(ids, grades, max_size=4), min_size=1, max_size=4)

RUN = {"q": ["a", "x"], "r": ["b"], "s": ["y"]}
TRUTH = {"q": {"a": 1, "b": 2}, "r": {"b": 1}, "s": {"c": 0}}


def fingerprint_of(scores: Scores) -> Fingerprint:
    assert scores.fingerprint is not None
    return scores.fingerprint


def digests(truth: Any, run: Any = None, measure: str = "R@5", **options: Any) -> dict[str, str]:
    """The digest of each query of a ground truth, as an evaluation records it."""
    if run is None:
        run = {query: [] for query in truth} if isinstance(truth, dict) else [[] for _ in truth]
    return dict(fingerprint_of(evaluate(truth, run, measure, **options)).truths["judged"])


# What a digest depends on.


def test_digests_never_change() -> None:
    """They are saved: if they changed, saved scores could not be compared with new ones."""
    truth = {"q": {"a": 1, "b": 2.5, "c": -1}, "empty": {}, "é\n": {"ü\u2028": 1e-300}, "big": {"x": 2**60}}
    assert digests(truth) == {
        "q": "798c61b456d9124a",
        "empty": "71857576257465c7",
        "é\n": "6c6332725a952a89",
        "big": "f9900f07d0831cdf",
    }
    scored = [[Document(id="a", content="x", score=0.5), Document(id="b", content="y", score=2)]]
    assert digests(scored, measure="nDCG") == {"0": "7c4e7065a87bf6ab"}
    answers = evaluate_answers({"q": ["9", "nine"], "none": ""}, {"q": "9"}, "EM")
    assert dict(fingerprint_of(answers).truths["answers"]) == {"q": "bd7355c262a479ff", "none": "2bcd6e25adce29a7"}
    spans = evaluate({"q": [("a", 0, 10), ("b", 5, 7)]}, {"q": [("a", 0, 5)]}, "SpanRecall")
    assert dict(fingerprint_of(spans).truths["spans"]) == {"q": "6091667503335d64"}


@given(truths, st.randoms(use_true_random=False))
def test_the_order_of_queries_and_documents_does_not_matter(truth: dict[str, dict[str, float]], chance: Any) -> None:
    queries = list(truth)
    chance.shuffle(queries)
    shuffled = {}
    for query in queries:
        documents = list(truth[query].items())
        chance.shuffle(documents)
        shuffled[query] = dict(documents)
    assert digests(shuffled) == digests(truth)


@given(truths, ids, grades, st.data())
def test_any_change_of_a_query_changes_its_digest_and_no_other(
    truth: dict[str, dict[str, float]], document: str, grade: float, data: st.DataObject
) -> None:
    query = data.draw(st.sampled_from(list(truth)))
    changed = {**truth, query: {**truth[query], document: grade}}
    if data.draw(st.booleans()) and truth[query]:
        removed = data.draw(st.sampled_from(list(truth[query])))
        changed[query] = {each: of for each, of in truth[query].items() if each != removed}
    before, after = digests(truth), digests(changed)
    assert (before.pop(query) == after.pop(query)) == (changed[query] == truth[query])
    assert before == after


@given(truths)
def test_the_form_of_the_ground_truth_does_not_matter(truth: dict[str, dict[str, float]]) -> None:
    expected = {query: found for query, found in digests(truth).items() if truth[query]}
    rows = [(query, doc, float(grade)) for query, docs in truth.items() for doc, grade in docs.items()]
    if rows:
        table = pa.table(dict(zip(("query", "doc", "grade"), map(list, zip(*rows, strict=True)), strict=True)))
        assert digests(table, {rows[0][0]: []}) == expected
    of_lists = digests({query: list(docs) for query, docs in truth.items()})
    assert of_lists == digests({query: dict.fromkeys(docs, 1) for query, docs in truth.items()})
    documents = {query: [Document(id=doc, content="?") for doc in docs] for query, docs in truth.items()}
    assert digests(documents) == of_lists


def test_a_file_has_the_digests_of_the_same_mapping(tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text("q 0 b 2\nr 0 b 1\nq 0 a 1\ns 0 c 0\n")
    assert digests(tmp_path / "truth.qrels", RUN) == digests(TRUTH)
    assert digests({query: {doc: float(grade) for doc, grade in docs.items()} for query, docs in TRUTH.items()}) == (
        digests(TRUTH)
    )
    assert digests({"q": {"a": 0}}) == digests({"q": {"a": -0.0}}) == digests({"q": {"a": np.int64(0)}})


def test_scores_of_gold_documents_are_grades_and_belong_to_the_digest() -> None:
    def of(*scores: float | None) -> dict[str, str]:
        return digests([[Document(id=str(at), content="x", score=score) for at, score in enumerate(scores)]])

    assert of(1, 2) != of(2, 1)
    assert of(1, 1) == of(None, None) == digests([["0", "1"]])


def test_what_is_matched_belongs_to_the_digest() -> None:
    one, other = ([[Document(id="a", content=text, meta={"page": 1})]] for text in ("x", "y"))
    assert digests(one) == digests(other)
    assert digests(one, match="meta.page") == digests(other, match="meta.page")
    assert digests(one, match="content") != digests(other, match="content")
    assert digests([["The Cat"]], match="content(normalize=case)") == digests(
        [["the cat"]], match="content(normalize=case)"
    )


def same(retrieved: Any, gold: Any) -> bool:
    return bool(retrieved == gold)


def test_documents_that_a_function_matches_are_identified_by_id_and_content() -> None:
    def of(*documents: Any) -> dict[str, str]:
        return digests([list(documents)], match=same)

    assert of("a", "b") == of("b", "a") == digests({"0": {"a": 1, "b": 1}}, match=same)
    assert len({str(of(*golds)) for golds in (["a"], ["b"], ["a", "b"], [Document(id="a", content="x")],
                                              [Document(id="a", content="y")], [SimpleNamespace()])}) == 6  # fmt: skip


def test_different_functions_of_the_same_name_are_a_note() -> None:
    truth, run = {"q": ["ab"]}, {"q": ["a"]}
    strict = evaluate(truth, run, "R", match=lambda one, other: one == other)
    loose = evaluate(truth, run, "R", match=lambda one, other: one[:1] == other[:1])
    assert compare({"A": strict, "B": strict}).notes == ()
    assert compare({"A": strict, "B": loose}).notes == ("A and B were matched by different functions named <lambda>.",)
    assert compare({"A": evaluate(truth, run, "R", match=same), "B": evaluate(truth, run, "R", match=same)}).notes == ()


def test_repeated_gold_answers_and_spans_change_nothing() -> None:
    def gold(*texts: str) -> str:
        return fingerprint_of(evaluate_answers({"q": list(texts)}, {"q": "x"}, "EM")).truths["answers"]["q"]

    def spans(*golds: tuple[str, int, int]) -> str:
        scores = evaluate({"other": [("z", 0, 1)], "q": list(golds)}, {"q": []}, "SpanRecall")
        return fingerprint_of(scores).truths["spans"]["q"]

    assert gold("x", "y") == gold("y", "x", "y")
    assert len({gold("x"), gold("y"), gold("x", "y"), gold(""), gold("x\ud800")}) == 5
    assert spans(("a", 0, 5), ("b", 0, 5)) == spans(("b", 0, 5), ("a", 0, 5), ("b", 0, 5))
    assert len({spans(("a", 0, 5)), spans(("b", 0, 5)), spans(("a", 0, 6)), spans(("a", 1, 5))}) == 4


# How fingerprints are kept.


def documents_and_answers(truth: str = "d", gold: str = "nine") -> Scores:
    record = {"query": "q", "truth": [truth], "retrieved": ["d"], "gold_answers": [gold], "answer": "nine"}
    return evaluate_results([record, {**record, "query": "r"}], ["RR", "EM"])


def saved_as(suffix: str) -> Callable[[Scores, Path], Scores]:
    def save_and_load(scores: Scores, folder: Path) -> Scores:
        path = folder / f"scores{suffix}"
        getattr(scores, f"to_{suffix[1:]}")(path)
        return Scores.load(path)

    return save_and_load


KEPT: dict[str, Callable[[Scores, Path], Scores]] = {
    "json": saved_as(".json"),
    "parquet": saved_as(".parquet"),
    "pickle": lambda scores, folder: pickle.loads(pickle.dumps(scores)),  # noqa: ARG005
    "deepcopy": lambda scores, folder: copy.deepcopy(scores),  # noqa: ARG005
    "without_evidence": lambda scores, folder: scores.without_evidence(),  # noqa: ARG005
    "only": lambda scores, folder: scores.only(scores.measures[:1]),  # noqa: ARG005
}


@pytest.mark.parametrize("way", KEPT)
@pytest.mark.parametrize("scores", [evaluate(TRUTH, RUN), documents_and_answers()], ids=["documents", "both"])
def test_a_fingerprint_is_kept(scores: Scores, way: str, tmp_path: Path) -> None:
    kept = fingerprint_of(KEPT[way](scores, tmp_path))
    assert kept == scores.fingerprint
    assert kept.match == "id"
    assert kept.options == {"ties": "trec", "missing": "zero", "duplicates": "error", "ignore_identical_ids": False}


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_each_system_in_a_file_has_its_own_fingerprint(suffix: str, tmp_path: Path) -> None:
    systems = SystemScores({"one": evaluate(TRUTH, RUN, "RR"), "two": evaluate({**TRUTH, "r": ["x"]}, RUN, "RR")})
    systems.save(tmp_path / f"both{suffix}")
    loaded = SystemScores.load(tmp_path / f"both{suffix}")
    assert [scores.fingerprint for scores in loaded.values()] == [scores.fingerprint for scores in systems.values()]
    with pytest.raises(KaratError, match="one and two were evaluated against different ground truth for 1 of 3"):
        loaded.compare()
    assert loaded.compare(force=True).notes


def test_rows_of_a_parquet_file_can_be_sorted_and_filtered(tmp_path: Path) -> None:
    table = evaluate(TRUTH, RUN, "RR").to_arrow()
    pq.write_table(table.take([2, 0]), tmp_path / "some.parquet")
    some = Scores.load(tmp_path / "some.parquet")
    assert some.queries == ("s", "q")
    assert compare({"some": some, "all": evaluate(TRUTH, RUN, "RR")}, common_queries=True).notes == (
        "all: 1 of 3 queries left out (not in all systems).",
    )


def test_rows_without_a_digest_have_no_fingerprint(tmp_path: Path) -> None:
    data = evaluate(TRUTH, RUN, "RR").to_dict()
    data["queries"].append({"query": "added", "RR": 1.0})
    (tmp_path / "scores.json").write_text(json.dumps(data))
    assert Scores.load(tmp_path / "scores.json").fingerprint is None


def test_a_damaged_fingerprint_in_a_parquet_file_is_an_error(tmp_path: Path) -> None:
    table = evaluate(TRUTH, RUN, "RR").to_arrow()
    about = table.schema.metadata[b"karat"].replace(b'"match": "id"', b'"match": 5')
    pq.write_table(table.replace_schema_metadata({b"karat": about}), tmp_path / "damaged.parquet")
    with pytest.raises(KaratError, match="its fingerprint is damaged"):
        Scores.load(tmp_path / "damaged.parquet")


def test_ground_truth_is_released_with_its_scores() -> None:
    gc.disable()  # a reference cycle would keep it in memory until the next collection
    try:
        scores = evaluate(TRUTH, RUN, "RR")
        assert scores.evidence is not None
        truth = weakref.ref(scores.evidence.truth)
        scores = scores.without_evidence()
        assert truth() is None
        assert list(fingerprint_of(scores).truths["judged"]) == list(TRUTH)
    finally:
        gc.enable()


def test_csv_files_and_scores_from_elsewhere_have_no_fingerprint(tmp_path: Path) -> None:
    assert saved_as(".csv")(evaluate(TRUTH, RUN), tmp_path).fingerprint is None
    assert "fingerprint" not in Scores(("q",), {"AP": np.ones(1)}).to_dict()


def test_only_the_digests_of_scored_queries_are_saved() -> None:
    scores = evaluate(TRUTH, {"q": ["a"]}, missing="skip")
    assert list(scores.to_dict()["fingerprint"]["truths"]["judged"]) == ["q"]
    assert list(evaluate(TRUTH, RUN).take([2, 0]).to_dict()["fingerprint"]["truths"]["judged"]) == ["s", "q"]


@pytest.mark.parametrize(
    "damaged",
    [
        5, "x", [], {}, {"karat": 1}, {"karat": "0", "match": 5}, {"karat": "0", "match": None, "options": []},
        {"karat": "0", "match": None, "options": {"ties": {}}}, {"karat": "0", "options": {}, "truths": {"judged": 5}},
        {"karat": "0", "options": {}, "truths": []}, {"karat": "0", "options": {}, "truths": {"judged": {"q": 5}}},
        {"karat": "0", "options": {}, "truths": {"judged": {"q": "0123456789abcdeg"}}},
        {"karat": "0", "options": {}, "truths": {"judged": {"q": "\x1b[2J" * 99}}},
    ],
)  # fmt: skip
def test_a_damaged_fingerprint_is_an_error_with_its_file(damaged: object, tmp_path: Path) -> None:
    scores = evaluate({"q": ["a"]}, {"q": ["a"]}, "RR")
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({**scores.to_dict(), "fingerprint": damaged}))
    with pytest.raises(KaratError, match="its fingerprint is damaged") as caught:
        Scores.load(path)
    assert str(caught.value.place) == str(path)
    assert "\x1b" not in str(caught.value)


# What is compared, and what is refused.


def refusal(one: Scores, other: Scores, **options: Any) -> str:
    """The message that refuses a comparison; and with force=True, the same is a note."""
    with pytest.raises(KaratError) as caught:
        compare({"one": one, "two": other}, **options)
    hint = "Evaluate both against the same ground truth with the same options, or compare them anyway: force=True"
    assert str(caught.value) == f"{caught.value.what}. {hint}."
    forced = compare({"one": one, "two": other}, force=True, **options)
    assert f"{caught.value.what}; compared anyway." in forced.notes
    assert f"note: {caught.value.what}; compared anyway." in str(forced)
    return caught.value.what


def test_runs_of_one_ground_truth_are_compared_without_a_note() -> None:
    assert compare(evaluate_runs(TRUTH, {"a": RUN, "b": RUN})).notes == ()
    assert compare({"a": evaluate(TRUTH, RUN), "b": evaluate(dict(reversed(TRUTH.items())), RUN)}).notes == ()
    options: Any = {"missing": "skip", "duplicates": "first"}
    assert compare({"a": evaluate(TRUTH, RUN), "b": evaluate(TRUTH, RUN, **options)}).notes == ()


@pytest.mark.parametrize(
    ("changed", "count"),
    [
        ({"q": {"a": 1, "b": 1}}, "1 of 3 queries (q)"),
        ({"q": {"a": 1}, "s": {"d": 0}}, "2 of 3 queries (q, s)"),
        ({"q": {}, "r": {}, "s": {}}, "3 of 3 queries (q, r, s)"),
    ],
)
@pytest.mark.parametrize("way", ["pickle", "json", "parquet"])
def test_different_ground_truths_are_refused(changed: Any, count: str, way: str, tmp_path: Path) -> None:
    one, two = (KEPT[way](evaluate(truth, RUN), tmp_path) for truth in (TRUTH, {**TRUTH, **changed}))
    assert refusal(one, two) == f"one and two were evaluated against different ground truth for {count}"


def test_many_different_queries_are_counted_and_three_are_named() -> None:
    queries = [f"q{at}" for at in range(2000)]
    one, two = (evaluate({query: [gold] for query in queries}, {"q1": ["a"]}, "RR") for gold in "ab")
    assert refusal(one, two).endswith("for 2,000 of 2,000 queries (q0, q1, q2, …)")


def test_only_common_queries_count() -> None:
    other = {"r": {"b": 1}, "q": {"a": 1, "b": 2}, "new": {"b": 7}}
    one, two = evaluate(TRUTH, RUN, "RR"), evaluate(other, RUN, "RR")
    assert "different" not in str(compare({"one": one, "two": two}, common_queries=True).notes)
    two = evaluate({**other, "r": {"b": 2}}, RUN, "RR")
    assert refusal(one, two, common_queries=True).endswith("different ground truth for 1 of 2 queries (r)")
    assert compare({"one": one.take([0]), "two": two.take([1])}).notes == ()


def test_different_matching_and_options_are_refused_and_named() -> None:
    truth = {"q": ["a", "b"]}
    by_id = evaluate(truth, {"q": ["a"]}, "RR")
    by_prefix = evaluate({"q": ["z"]}, {"q": ["a"]}, "RR", match="prefix")
    assert refusal(by_id, by_prefix) == "one and two were evaluated with match 'id' and 'prefix'"
    other = evaluate(truth, {"q": ["a"]}, "RR", ties="best", ignore_identical_ids=True)
    assert refusal(by_id, other) == (
        "one and two were evaluated with ties='trec' and 'best'; with ignore_identical_ids=False and True"
    )
    ninety, eighty = (evaluate(truth, {"q": ["a"]}, "RR", match=f"overlap(threshold={at})") for at in (0.9, 0.8))
    assert "with match 'overlap(threshold=0.9)' and 'overlap(threshold=0.8)'" in refusal(ninety, eighty)


def test_documents_and_answers_are_checked_for_their_own_measures() -> None:
    one, other_truth, other_gold = documents_and_answers(), documents_and_answers("e"), documents_and_answers(gold="x")
    assert "different ground truth for 2 of 2 queries (q, r)" in refusal(one, other_truth)
    assert "different gold answers for 2 of 2 questions (q, r)" in refusal(one, other_gold)
    assert compare({"one": one, "two": other_truth}, measures=["EM"]).notes == ()
    assert compare({"one": one, "two": other_gold}, measures=["RR"]).notes == ()
    answers = evaluate_answers({"q": "nine", "r": "nine"}, {"q": "nine", "r": "x"}, "EM")
    assert not [note for note in compare({"one": one, "two": answers}, measures=["EM"]).notes if "truth" in note]


def test_spans_are_checked_for_measures_of_spans() -> None:
    one, two = (evaluate({"q": [("a", 0, end)]}, {"q": [("a", 0, 5)]}, ["SpanRecall", "RR"]) for end in (10, 20))
    assert "different gold spans for 1 of 1 query (q)" in refusal(one, two)
    assert compare({"one": one, "two": two}, measures=["RR"]).notes == ()


def test_each_of_several_systems_is_checked() -> None:
    systems = {name: evaluate(TRUTH, RUN, "RR") for name in "abc"}
    systems["c"] = evaluate({**TRUTH, "r": {"b": 3}}, RUN, "RR")
    with pytest.raises(KaratError, match="a and c were evaluated against different ground truth"):
        compare(systems)
    with pytest.raises(KaratError, match="a and c were evaluated against different ground truth"):
        compare({**systems, "b": replace(systems["b"], fingerprint=None)}, "b")


def test_another_version_of_karat_is_a_note() -> None:
    scores = evaluate(TRUTH, RUN, "RR")
    old = replace(scores, fingerprint=replace(fingerprint_of(scores), version="0.0.9"))
    assert compare({"a": scores, "b": old, "c": scores}).notes == (
        f"evaluated with different versions of karat: a and c with {karat.__version__}; b with 0.0.9.",
    )


def test_scores_without_a_fingerprint_are_one_note() -> None:
    scores = evaluate(TRUTH, RUN, "RR")
    unknown = replace(scores, fingerprint=None)
    reason = "no fingerprint. Files that karat saves as JSON or Parquet have one."
    assert compare({"a": scores, "b": unknown}).notes == (
        f"warning: b may have been evaluated against another ground truth: its scores have {reason}",
    )
    assert compare({"a": unknown, "b": scores, "c": unknown}).notes == (
        f"warning: a and c may have been evaluated against another ground truth: their scores have {reason}",
    )
    assert compare({"a": unknown, "b": unknown}).notes == (
        f"warning: the systems may have been evaluated against different ground truths: their scores have {reason}",
    )


def test_measures_that_karat_does_not_know_need_no_fingerprint() -> None:
    latency = Scores(("q", "r"), {"latency": np.array([1.0, 2.0])})
    assert not any("fingerprint" in note for note in compare({"a": latency, "b": latency}).notes)


def test_an_unregistered_measure_is_checked_against_all_that_is_known() -> None:
    one, two = (evaluate({"q": {"a": grade}}, {"q": ["a"]}, "RR") for grade in (1, 2))
    one, two = (replace(each, values={"MyMeasure": np.ones(1)}) for each in (one, two))
    assert "different ground truth for 1 of 1 query (q)" in refusal(one, two)


def test_a_gate_refuses_a_baseline_with_another_ground_truth_unless_forced(tmp_path: Path) -> None:
    before, now = evaluate(TRUTH, RUN, "RR"), evaluate({**TRUTH, "r": {"b": 0}}, RUN, "RR")
    rules = [Rule("max-drop", "RR", 1)]
    what = "baseline and run were evaluated against different ground truth for 1 of 3 queries (r)"
    with pytest.raises(KaratError, match="different ground truth") as caught:
        gate_by_rules(now, rules, before)
    assert caught.value.what == what
    assert f"note: {what}; compared anyway." in gate_by_rules(now, rules, before, force=True).notes
    before.to_json(tmp_path / "baseline.json")
    with pytest.raises(KaratError, match="different ground truth"):
        assert_scores(now, max_drop={"RR": 1}, baseline=tmp_path / "baseline.json")
    assert assert_scores(now, max_drop={"RR": 1}, baseline=tmp_path / "baseline.json", force=True).passed


def test_a_gate_accepts_a_baseline_without_a_fingerprint_with_a_note() -> None:
    now = evaluate(TRUTH, RUN, "RR")
    found = gate_by_rules(now, [Rule("max-drop", "RR", 0)], replace(now, fingerprint=None))
    assert found.passed
    assert found.notes[-1].startswith("warning: baseline may have been evaluated against another ground truth")
    assert math.isclose(found.outcomes[0].drop or 0.0, 0.0)


def test_a_gate_without_a_comparison_does_not_look_at_fingerprints() -> None:
    assert gate_by_rules(Scores(("q",), {"RR": np.ones(1)}), [Rule("min", "RR", 1)]).notes == ("1 query",)
