"""The content of reports: what it says, what it contains, and that any scores have one."""

from __future__ import annotations

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from karat import KaratError, Scores, compare, evaluate, evaluate_results, evaluate_runs
from karat.cli import demo_data as demo
from karat.errors.installing import pip_install
from karat.report import Provenance, report_content, subject_of_systems
from karat.report.rendering import render_page

MADE = Provenance("karat report", created="2026-01-01T00:00:00+00:00")


def content_of(reported: Any, **arguments: Any) -> dict[str, Any]:
    content = report_content(reported, provenance=MADE, **arguments)
    found: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False))
    return found


def test_the_same_input_has_the_same_content() -> None:
    contents = [report_content(evaluate_runs(str(demo.TRUTH), demo_runs(), ["RR"]), provenance=MADE) for _ in "12"]
    assert json.dumps(contents[0]) == json.dumps(contents[1])


def scores_of(**systems: list[float]) -> dict[str, Scores]:
    """Scores of a measure that karat computes, without run data."""
    queries = tuple(f"q{at}" for at in range(len(next(iter(systems.values())))))
    return {name: Scores(queries, {"RR": np.array(values)}) for name, values in systems.items()}


def demo_runs() -> dict[str, str]:
    return {name: str(path) for name, path in demo.runs().items()}


def test_the_answer_names_the_best_system_and_whether_that_is_certain() -> None:
    better = [0.1 * (at % 5) for at in range(30)]
    best = [value + 0.3 + 0.01 * (at % 3) for at, value in enumerate(better)]
    first, limits = content_of(scores_of(one=better, two=best))["answer"]
    assert first.startswith("two is significantly better than one on RR, by 0.310")
    assert limits.startswith("With 30 queries, differences of 0.00")
    first, _ = content_of(scores_of(one=better, two=best, three=best[1:] + best[:1]))["answer"]
    assert first.startswith("two and three have the same and best mean RR, 0.510")


def test_the_answer_is_a_whole_sentence_whatever_the_systems_are_called() -> None:
    one = [0.1 * (at % 5) for at in range(30)]
    systems = scores_of(**{"v1. 0": one, "Dr. No. 2": [value + 0.3 + 0.01 * (at % 3) for at, value in enumerate(one)]})
    first = content_of(systems)["answer"][0]
    assert first.startswith("Dr. No. 2 is significantly better than v1. 0 on RR, by 0.310")
    assert first.endswith("(p < 0.0001, 30 queries).")


def test_the_answer_is_about_a_measure_that_was_compared() -> None:
    values = np.array([0.5, 0.25, 0.75])
    systems = {
        "one": Scores(("q", "r", "s"), {"RR": values, "AP": values}),
        "two": Scores(("q", "r", "s"), {"AP": values / 2}),
    }
    content = content_of(systems)
    assert [measure["name"] for measure in content["measures"]] == ["AP", "RR"]
    assert content["answer"][0].startswith("one has the best mean AP, 0.500")


def test_intervals_have_the_level_of_the_comparison_and_say_so() -> None:
    comparison = compare(scores_of(one=[0.1, 0.9, 0.5, 0.4], two=[0.9, 0.2, 0.6, 0.5]), level=0.8)
    content = content_of(comparison)
    assert content["table"]["level"] == 0.8
    assert "80% confidence interval" in content["charts"]["intervals"]["about"]


def test_the_answer_says_that_a_difference_may_be_due_to_chance() -> None:
    first, limits = content_of(scores_of(one=[0.1, 0.9, 0.5, 0.5], two=[0.9, 0.2, 0.6, 0.5]))["answer"]
    assert first.startswith("two has the best mean RR, 0.550")
    assert "Its advantage over one, 0.050, may be due to chance (p = " in first
    assert limits.startswith("4 queries are too few to tell such systems apart.")


@pytest.mark.parametrize(
    ("systems", "first", "limits"),
    [
        ({"one": [0.5, 0.25], "two": [0.5, 0.25]}, "Both systems have the same mean RR, 0.375, over 2 queries.", ""),
        (
            {"one": [0.5], "two": [1.0]},
            "Whether its advantage over one is due to chance cannot be tested.",
            "One query",
        ),
        ({"one": [0.5]}, "one has a mean RR of 0.500, over 1 query.", "One query says nothing"),
        ({"one": [0.5, math.nan, 0.25]}, ", over 2 of 3 queries.", ""),
        ({"one": [math.nan] * 3, "two": [math.nan] * 3}, "No query has a value for RR.", ""),
    ],
)
def test_the_answer_says_what_cannot_be_said(systems: dict[str, list[float]], first: str, limits: str) -> None:
    content = content_of(scores_of(**systems))
    assert first in content["answer"][0]
    assert limits in content["answer"][1]
    assert (
        "These scores come without the documents and answers that they are about, so the report shows neither."
        in content["answer"][1]
    )
    assert (content["lists"], content["golds"], content["answers"], content["moves"]) == (None, None, None, {})


def test_systems_that_cannot_be_compared_have_a_report_that_says_so() -> None:
    systems = {**scores_of(one=[0.1, 0.2]), "two": Scores(("q1", "q2", "q3"), {"RR": np.array([0.5, 0.5, 0.6])})}
    content = content_of(systems)
    assert content["queries"]["id"] == ["q0", "q1", "q2", "q3"]
    assert content["queries"]["values"] == [[[0.1, 0.2, None, None]], [[None, 0.5, 0.5, 0.6]]]
    assert content["table"]["missing"] == [2, 1]
    assert "The systems were not compared: the systems have different queries" in content["answer"][0]


def three_systems() -> dict[str, Scores]:
    low = [0.1 * (at % 5) for at in range(30)]
    return scores_of(
        low=low,
        high=[value + 0.3 + 0.01 * (at % 3) for at, value in enumerate(low)],
        middle=[value + 0.02 * (-1) ** at for at, value in enumerate(low)],
    )


def test_all_pairs_have_no_baseline_and_the_table_says_what_each_system_is_better_than() -> None:
    content = content_of(three_systems())
    assert content["baseline"] is None
    assert content["made"]["options"]["baseline"] == "none: all pairs are compared"
    cells = [row[0] for row in content["table"]["rows"]]
    assert [cell["better_than"] for cell in cells] == [[], [0, 2], []]
    assert {(cell["difference"], cell["p"], cell["against"]) for cell in cells} == {(None, None, None)}
    assert all(cell["low"] < cell["mean"] < cell["high"] for cell in cells)
    page = render_page(content)
    assert '<span class="tag">baseline</span>' not in page
    assert 'title="significantly better than low, middle"' in page
    assert "all pairs of systems are compared (Holm-corrected)." in page


def test_a_baseline_is_named_and_differences_are_from_it() -> None:
    content = content_of(compare(three_systems(), "middle"))
    assert (content["baseline"], content["made"]["options"]["baseline"]) == (2, "middle")
    assert [row[0]["against"] for row in content["table"]["rows"]] == [2, 2, None]
    page = render_page(content)
    assert page.count('<span class="tag">baseline</span>') == 1
    assert "difference from the baseline, <bdi>middle</bdi> (Holm-corrected)." in page


def test_the_difference_of_two_systems_is_from_the_first_which_is_no_baseline() -> None:
    systems = three_systems()
    content = content_of({name: systems[name] for name in ("low", "high")})
    assert content["baseline"] is None
    assert [row[0]["against"] for row in content["table"]["rows"]] == [None, 0]
    page = render_page(content)
    assert "difference from <bdi>low</bdi>." in page
    assert '<span class="tag">baseline</span>' not in page


def test_of_many_systems_all_pairs_are_compared_as_by_compare() -> None:
    systems = scores_of(**{f"s{at}": [at / 12 + place / 300 for place in range(20)] for at in range(12)})
    content = content_of(systems)
    assert content["baseline"] is None
    assert content["table"] == content_of(compare(systems))["table"]
    assert content["answer"] == content_of(compare(systems))["answer"]
    assert content["answer"][0].startswith("s11 has the best mean RR")
    page = render_page(content)
    assert page.count("all pairs of systems are compared (Holm-corrected).") == 1
    assert "</span> and 3 others</div>" in page  # of eleven, eight letters
    assert f'title="significantly better than {", ".join(f"s{at}" for at in range(11))}"' in page


def test_lists_have_the_first_documents_the_hits_and_the_ranks_of_relevant_ones_below() -> None:
    run = {f"d{at:03}": float(-at) for at in range(50)}
    scores = evaluate({"q": {"d001": 2, "d030": 1, "d003": 0, "absent": 1}}, {"q": run}, ["nDCG@10"], name="bm25")
    content = content_of(scores)
    ids = content["documents"]["id"]
    (shown,) = content["lists"][0]
    assert [ids[doc] for doc in shown["docs"]] == [f"d{at:03}" for at in range(20)]
    golds = [ids[doc] for doc in content["golds"][0]["docs"]]
    assert golds == ["d001", "d030", "absent", "d003"]
    assert content["golds"][0]["grades"] == [2, 1, 1, 0]
    assert (shown["total"], shown["below"]) == (50, [[31, 1]])
    assert shown["hits"] == [[1, 0, "same id", None], [3, 3, "same id", None]]
    assert content["queries"]["first"] == [[2]]
    assert (content["queries"]["unjudged"], content["table"]["unjudged"]) == ([[8]], [0.8])
    assert "Lists show the first 20 documents" in content["cut"][0]


def test_relevant_documents_are_those_that_the_measures_count() -> None:
    truth = {"q": {"good": 2, "fair": 1, "bad": 0, "pooled": -1}}
    run = {"q": ["fair", "pooled", "good", "bad"]}
    content = content_of(evaluate(truth, run, ["AP", "nDCG@5"], rel=2, name="one"))
    (golds,) = content["golds"]
    assert ([content["documents"]["id"][doc] for doc in golds["docs"]][:1], golds["relevant"]) == (["good"], 1)
    assert (golds["grades"], content["queries"]["first"]) == ([2, 1, 0, -1], [[3]])
    scored = {"q": [{"id": "a", "score": 0.25}, {"id": "b", "score": 0.0}]}
    (golds,) = content_of(evaluate(scored, {"q": ["b"]}, ["R", "nDCG@5"], name="one"))["golds"]
    assert (golds["grades"], golds["relevant"]) == ([0.25, 0], 2)


def test_saved_scores_beside_a_run_have_no_ranks_and_no_answers() -> None:
    record = {"query": "q", "truth": ["a"], "retrieved": ["a"], "gold_answers": ["x"], "answer": "x"}
    scores = evaluate_results([record], ["RR", "TokenF1"], match="content")
    content = content_of({"run": scores, "saved": scores.without_evidence()})
    assert content["queries"]["first"] == [[1], None]
    assert content["answers"]["predicted"] == [["x"], None]


def test_moves_are_those_of_diff() -> None:
    comparison = compare(evaluate_runs(str(demo.TRUTH), demo_runs(), ["nDCG@10", "RR"]), "bm25")
    content = content_of(comparison)
    of_pair = content["moves"]["1>2"]["nDCG@10"]
    before, after = comparison.systems["bm25"], comparison.systems["bm25-rm3"]
    from karat.analysis.diff import diff

    expected = diff(before, after, "nDCG@10", None)
    assert {content["queries"]["id"][int(place)] for place in of_pair} == {each.query for each in expected.queries}
    for place, moves in of_pair.items():
        golds = content["golds"][int(place)]["docs"]
        of_query = expected[content["queries"]["id"][int(place)]].moves
        assert [content["documents"]["id"][golds[move[0]]] for move in moves] == [move.gold for move in of_query]
        assert [move[3] for move in moves] == pytest.approx([move.contribution for move in of_query], rel=1e-5)


def test_contributions_add_up_to_the_difference_whatever_the_report_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.report.rankings._MOST_GOLDS", 2)
    systems = evaluate_runs(str(demo.TRUTH), demo_runs(), ["SetP", "AP"])
    content = content_of(compare(systems, "bm25"))
    assert set(content["moves"]) == {"1>0", "1>2", "0>2"}
    texts = set()
    for measure, queries in content["moves"]["1>0"].items():
        for place, moves in queries.items():
            before, after = (systems[name].column(measure)[int(place)] for name in ("bm25", "overlap"))
            assert math.fsum(move[3] for move in moves) == pytest.approx(after - before)
            texts |= {move[0] for move in moves if isinstance(move[0], str)}
    assert texts == {"other documents"}
    longer = evaluate_runs({"q": {"a": 1}}, {"one": {"q": ["a"]}, "two": {"q": ["a", "b"]}}, "SetP")
    assert content_of(longer)["moves"] == {
        "0>1": {"SetP": {"0": [["number of documents retrieved", None, None, -0.5]]}}
    }


def test_texts_come_from_files_and_the_report_says_which_are_missing(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "a", "title": "A", "text": "text of a"}\n')
    scores = evaluate({"q": {"a": 1}}, {"q": ["a", "b"]}, "RR", name="one")
    content = content_of(scores, queries={"q": "how?"}, corpus=corpus)
    assert content["documents"] == {"id": ["a", "b"], "title": ["A", None], "text": ["text of a", None]}
    assert content["queries"]["text"] == ["how?"]
    assert any("no text for 1 of 2 documents (b)" in finding for finding in content["findings"])


def test_texts_beyond_the_budget_are_those_of_the_smallest_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.report.budget._LEAST", 250)
    monkeypatch.setattr("karat.report.budget._PER_QUERY", 0)
    truth = {"calm": ["c" * 100], "moved": ["m" * 100]}
    runs = {"one": truth, "two": {"calm": truth["calm"], "moved": ["x" * 100, "m" * 100]}}
    content = content_of(evaluate_runs(truth, runs, "RR", match="content"))
    texts = [text for text in content["documents"]["text"] if text]
    assert sorted(text[0] for text in texts) == ["m", "x"]
    assert any("The texts of 1 document are left out" in sentence for sentence in content["cut"])


def test_questions_and_answers_beyond_the_budget_are_shortened_after_those_of_the_largest_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("karat.report.budget._LEAST", 3_800)
    monkeypatch.setattr("karat.report.budget._PER_QUERY", 0)
    queries = {"calm": "c" * 900, "moved": "m" * 900}
    gold = " ".join(["gold"] * 80)
    records = [{"query": query, "gold_answers": ["x", gold], "answer": gold} for query in queries]
    systems = {
        "one": evaluate_results(records, "TokenF1"),
        "two": evaluate_results([records[0], {**records[1], "answer": "tin"}], "TokenF1"),
    }
    content = content_of(systems, queries=queries)
    assert content["queries"]["text"] == ["c" * 200 + "…", queries["moved"]]
    answers = content["answers"]
    assert answers["gold"] == [["x", gold[:200] + "…"], ["x", gold]]
    assert answers["predicted"][1] == [gold[:200] + "…", "tin"]
    best, in_answer, in_gold = answers["shared"][0][0][0]
    assert (best, in_answer[-1][1], in_gold[-1][1]) == (1, 200, 200)
    sentences = "The texts of 1 query are shortened", "The answers to 1 query are shortened"
    assert [each for each in sentences if any(each in line for line in content["cut"])] == list(sentences)


def test_long_ids_are_shortened_only_if_all_of_them_are_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    long = [f"{'q' * 400}{at}{'z' * 400}" for at in range(2)]
    truth = {query: {"d" * 10_000: 1} for query in [*long, "short"]}
    scores = evaluate(truth, truth, "RR", name="one")
    assert content_of(scores)["queries"]["id"] == [*long, "short"]
    monkeypatch.setattr("karat.report.budget._IDS", 900)
    content = content_of(scores)
    assert content["queries"]["id"] == ["q" * 50 + "…" + "z" * 25 + f" ({at})" for at in (1, 2)] + ["short"]
    assert len(content["documents"]["id"][0]) < 100
    assert "The ids of 2 queries are shortened, and numbered to tell them apart." in content["cut"]


def test_a_very_long_text_is_cut_and_so_are_the_chunks_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.report.budget._LONGEST", 30)
    gold = "Gold is soft. " * 2 + "It melts at 1064 °C."
    record = {"query": "q", "truth": [gold], "retrieved": ["Gold is soft. Gold is soft. It melts", "1064 °C", "soft."]}
    content = content_of(evaluate_results([record], "RR", match="chunk", name="rag"))
    assert content["documents"]["text"][0] == gold[:30] + "…"
    assert [hit[3] for hit in content["lists"][0][0]["hits"]] == [[0, 30], None, [8, 13]]
    assert "The texts of 2 documents are cut after 30 characters." in content["cut"]


def test_values_of_too_many_systems_are_those_of_the_first_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.report.subject._MOST_VALUES", 5)
    runs = {"one": {"q": ["a"], "r": ["b"]}, "two": {"q": ["x", "a"], "r": ["b"]}}
    content = content_of(evaluate_runs(runs["one"], runs, ["RR", "P@1"]))
    assert content["queries"]["values"] == [[[1, 1], []], [[0.5, 1], []]]
    assert [bool(cell["p"]) for cell in content["table"]["rows"][1]] == [True, False]
    assert [cell["mean"] for cell in content["table"]["rows"][1]] == [0.75, 0.5]
    assert content["cut"] == [
        "Intervals, tests and the values of each query are shown for RR; a report of fewer systems or of other measures"
        " (`-m`) shows others."
    ]
    assert set(content["charts"]["intervals"]["rows"]["measure"]) == {"RR"}


def test_chunks_and_answers_are_located_in_the_texts_as_given() -> None:
    record = {"query": "q", "truth": ["Gold, they say,  is  soft!"], "retrieved": ["iron", "is SOFT"]}
    answered = {**record, "gold_answers": ["very hard", "quite soft"], "answer": "It is soft."}
    content = content_of(evaluate_results([answered], ["RR", "TokenF1"], match="chunk(normalize=all)", name="rag"))
    assert content["lists"][0][0]["hits"] == [[1, 0, "contained", [17, 25]]]
    assert content["documents"]["text"][0][17:25] == "is  soft"
    assert content["answers"] == {
        "gold": [["very hard", "quite soft"]],
        "predicted": [["It is soft."]],
        "shared": [[[[1, [[6, 11]], [[6, 10]]]]]],
    }


def test_very_long_ids_are_shortened_and_infinite_values_are_an_error() -> None:
    long = "q" * 10_000
    content = content_of(Scores((long, "r"), {"latency": np.array([2.5, 1.0])}, name="one"))
    assert content["queries"]["id"] == ["q" * 50 + "…" + "q" * 25 + " (1)", "r"]
    with pytest.raises(KaratError, match="one, query r: latency is inf, which is too large"):
        report_content(Scores(("q", "r"), {"latency": np.array([1.0, np.inf])}, name="one"))


def test_files_are_those_of_ground_truth_and_runs_not_systems_named_like_one(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"q": ["a"]}')
    systems = evaluate_runs(path, {"one": str(path), str(tmp_path / "run.json"): {"q": ["a"]}}, "RR")
    assert [file["name"] for file in content_of(systems)["made"]["files"]] == [str(path)]
    in_memory = evaluate({"q": ["a"]}, {"q": ["a"]}, "RR", name=str(path))
    assert content_of(in_memory)["made"]["files"] == []


def test_the_level_of_the_intervals_is_chosen_for_scores_and_part_of_a_comparison(tmp_path: Path) -> None:
    scores = evaluate({"q": ["a"], "r": ["b"]}, {"q": ["a"], "r": ["x"]}, "RR", name="one")
    page = scores.report(tmp_path / "report.html", level=0.9).read_text("utf-8")
    assert "Means with 90% confidence intervals" in page
    with pytest.raises(KaratError, match="a comparison has a level already"):
        compare({"one": scores, "two": scores}).report(tmp_path / "report.html", level=0.9)


def test_the_report_says_how_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"q": ["a"]}')
    made = content_of(evaluate({"q": ["a"]}, path, "RR", name="one"))["made"]
    assert made["files"][0]["bytes"] == 12
    assert made["files"][0]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert made["options"]["match"] == "id"
    assert (made["command"], made["created"]) == ("karat report", "2026-01-01T00:00:00+00:00")


def test_a_report_that_cannot_be_written_is_an_error_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = evaluate({"q": ["a"]}, {"q": ["a"]}, "RR")
    with pytest.raises(KaratError, match="cannot be written"):
        scores.report(tmp_path / "absent" / "report.html")
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("karat.report.rendering.find_spec", lambda name: None if name == "jinja2" else True)
    with pytest.raises(
        KaratError, match=re.escape(f"a report needs jinja2, which is not installed. Run {pip_install('report')}")
    ):
        scores.report(path)
    assert path.read_text() == "old"
    monkeypatch.undo()
    monkeypatch.setattr("karat.report.rendering.render_page", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        scores.report(path)
    assert path.read_text() == "old"


def test_one_system_and_a_comparison_write_the_same_page_again(tmp_path: Path) -> None:
    systems = evaluate_runs({"q": ["a"], "r": ["b"]}, {"one": {"q": ["a"]}, "two": {"r": ["b"]}}, "RR")
    for reported in (systems, systems["one"], compare(systems)):
        path = reported.report(tmp_path / "report.html", title="A title", by={"q": "x", "r": "y"})
        assert "<title>A title" in path.read_text("utf-8")


def test_long_names_of_systems_and_groups_are_shortened_everywhere() -> None:
    long = ["a" * 10_000, "b" * 10_000]
    truth = {f"q{at}": ["d"] for at in range(3)}
    systems = evaluate_runs(truth, {long[0]: truth, long[1]: {query: ["x"] for query in truth}}, "RR")
    content = content_of(
        subject_of_systems(systems, long[0]), by={"group": {query: "g" * 5_000 + query for query in truth}}
    )
    assert content["systems"] == [f"{letter * 50}…{letter * 25} ({at})" for at, letter in ((1, "a"), (2, "b"))]
    assert content["systems"][0] in content["answer"][0]
    assert content["made"]["options"]["baseline"] == content["systems"][0]
    assert "The names of 2 systems are shortened, and numbered to tell them apart." in content["cut"]
    assert content["queries"]["slices"]["group"] == content["queries"]["groups"]["group"]
    assert len(json.dumps(content)) < 40_000
