"""Preferences and judgment groups: agreement with slow definitions, and what files of judgments may contain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError, evaluate
from karat.compat.judgments import RankedJudgments, rank_run
from karat.compat.measures import Judgments, printed_measures
from karat.data.preferences import Preferences
from karat.measures import definitions, parse
from karat.ranking import judgment_groups
from karat.reading.bytes.input_file import InputFile
from tests import slow_preferences

DOCS = "abcdefg"
Row = tuple[str, str, str, str, float]
Run = dict[str, dict[str, float]]

LEVELS = st.sampled_from([0, 0, 1, 1, 2, 3.5, -1])


@st.composite
def judgments(draw: st.DrawFn, subgroups: int = 3) -> list[Row]:
    """Lines about two queries. A document has one level in all subgroups of a group, so they never contradict."""
    listed = draw(
        st.dictionaries(
            st.tuples(*map(st.sampled_from, (["q1", "q2"], ["g1", "g2", "g10"], range(subgroups), DOCS))), st.none(),
            min_size=1, max_size=25,
        )
    )  # fmt: skip
    levels = draw(st.fixed_dictionaries({row[:2] + row[3:]: LEVELS for row in listed}))
    rows = [(*row[:2], f"s{row[2]}", row[3], levels[row[:2] + row[3:]]) for row in listed]
    return draw(st.permutations(rows))


RUNS: st.SearchStrategy[Run] = st.fixed_dictionaries({
    query: st.dictionaries(st.sampled_from([*DOCS, "x", "y"]), st.sampled_from([1.0, 0.5, 0.25, -2.0]), min_size=1)
    for query in ("q1", "q2")
})  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("preferences")


def ranked(
    folder: Path, rows: Sequence[Row], run: Run, judgments: Judgments, depth: int | None = None
) -> RankedJudgments:
    columns = (0, 1, 2, 3, 4) if judgments == "prefs" else (0, 1, 3, 4)
    (folder / "truth").write_text("".join(" ".join(str(row[at]) for at in columns) + "\n" for row in rows))
    lines = (f"{query} Q0 {doc} 0 {score} t\n" for query, docs in run.items() for doc, score in docs.items())
    (folder / "run").write_text("".join(lines))
    return rank_run(InputFile.of(folder / "truth"), InputFile.of(folder / "run"), judgments, depth=depth)[0]


def groups_of(rows: Sequence[Row], query: str) -> list[slow_preferences.Group]:
    """The groups of a query and their subgroups, sorted by name."""
    mine = sorted(row for row in rows if row[0] == query)
    return [
        [{row[3]: row[4] for row in subgroup} for _, subgroup in groupby(group, lambda row: row[2])]
        for _, group in groupby(mine, lambda row: row[1])
    ]


@given(judgments(), RUNS, st.sampled_from([None, 1, 3]))
def test_every_measure_of_preferences_agrees_with_its_slow_definition(
    folder: Path, rows: list[Row], run: Run, depth: int | None
) -> None:
    found = ranked(folder, rows, run, "prefs", depth)
    columns = [column for column in printed_measures(["all_prefs"], judgments="prefs") if column.stem[:5] == "prefs"]
    assert len(columns) == 14
    for at, query in enumerate(found.judged.queries):
        docs = sorted(run[query], key=lambda doc: (-run[query][doc], doc))[:depth]
        expected = slow_preferences.values(groups_of(rows, query), docs)
        for column in columns:
            assert math.isclose(found.values(column)[at], expected[column.name], abs_tol=1e-12), (query, column.name)


@given(judgments(subgroups=1), RUNS)
def test_qrels_as_preferences_are_preferences_with_a_single_subgroup(folder: Path, rows: list[Row], run: Run) -> None:
    columns = printed_measures(["all_prefs"], judgments="prefs")[2:]
    both = [ranked(folder, rows, run, judgments) for judgments in ("prefs", "qrels_prefs")]
    for column in columns:
        of_prefs, of_qrels = (each.values(column).tolist() for each in both)
        assert of_prefs == of_qrels, column.name


@given(judgments(subgroups=1), RUNS, st.sampled_from([1, 2]))
def test_a_measure_by_group_is_the_mean_of_its_values_for_the_judgments_of_each_group(
    folder: Path, rows: list[Row], run: Run, level: int
) -> None:
    rows = [(*row[:4], math.trunc(row[4])) for row in rows]
    found = ranked(folder, rows, run, "qrels_jg")
    asked = ["map_avgjg", "P_avgjg.1,3", "Rprec_mult_avgjg.0.5,2"]
    for column in printed_measures(asked, judgments="qrels_jg", level=level):
        assert column.measure is not None
        for at, query in enumerate(found.judged.queries):
            of_groups = [
                evaluate({query: group[0]}, {query: run[query]}, [column.measure])[column.measure]
                for group in groups_of(rows, query)
            ]
            mean = sum(of_groups) / len(of_groups)
            assert math.isclose(found.values(column)[at], mean, abs_tol=1e-12), (query, column.name)


MEASURES = [
    parse(f"{each.name}(compared={compared})")
    for each in definitions()
    if each.takes == "preferences"
    for compared in each.parameters["compared"].choices or ()
]


@given(judgments(), RUNS)
def test_measures_of_preferences_stay_in_their_range_whatever_the_other_queries_are(
    folder: Path, rows: list[Row], run: Run
) -> None:
    assert len(MEASURES) == 17
    data = ranked(folder, rows, run, "prefs").data
    alone = {
        query: ranked(folder, [row for row in rows if row[0] == query], run, "prefs").data for query in data.queries
    }
    for measure in MEASURES:
        low, high = measure.definition.bounds
        values = measure.compute(data)
        assert np.isfinite(values).all(), measure
        assert ((low <= values) & (values <= high)).all(), measure
        for at, query in enumerate(data.queries):
            assert measure.compute(alone[query]).tolist() == [values[at]], measure


def test_a_run_in_the_order_of_the_levels_fulfills_all_preferences_and_its_reverse_fulfills_none() -> None:
    groups = {"q": [{"a": 3, "b": 2, "c": 1, "d": 0}, {"a": 1, "d": 0}]}
    for compared in ("all", "either", "both"):
        for name in ("PrefSimple", "PrefPair", "PrefGroup"):
            measure = parse(f"{name}(compared={compared})")
            assert measure.compute(Preferences.of(groups, {"q": list("abcd")})).tolist() == [1.0]
            assert measure.compute(Preferences.of(groups, {"q": list("dcba")})).tolist() == [0.0]


def test_contradicting_groups_fulfill_half_of_their_preferences() -> None:
    data = Preferences.of({"q": [{"a": 1, "b": 0}, {"a": 0, "b": 1}]}, {"q": ["b", "a"]})
    assert [parse(name).compute(data).tolist() for name in ("PrefSimple", "PrefPair", "PrefGroup")] == [[0.5]] * 3


def test_preferences_follow_from_those_of_several_subgroups(folder: Path) -> None:
    rows = [("q", "g", "s1", "a", 2), ("q", "g", "s1", "b", 1), ("q", "g", "s2", "b", 5), ("q", "g", "s2", "c", 4)]
    data = ranked(folder, rows, {"q": {"a": 1.0}}, "prefs").data
    assert parse("NumPrefs").compute(data).tolist() == [3.0]  # a to b, b to c, and a to c
    assert parse("NumPrefsFulfilled").compute(data).tolist() == [2.0]


def test_a_preference_in_several_subgroups_of_a_group_counts_once(folder: Path) -> None:
    rows = [("q", "g", subgroup, doc, level) for subgroup in ("s1", "s2") for doc, level in (("a", 2), ("b", 1))]
    assert parse("NumPrefs").compute(ranked(folder, rows, {"q": {"a": 1.0}}, "prefs").data).tolist() == [1.0]


def test_equal_scores_are_ordered_by_ascending_ids_for_preferences_and_by_descending_ids_for_measures_by_group(
    folder: Path,
) -> None:
    rows = [("q", "g", "s", "a", 1.0), ("q", "g", "s", "b", 0)]
    run = {"q": {"b": 1.0, "a": 1.0}}
    assert parse("PrefSimple").compute(ranked(folder, rows, run, "prefs").data).tolist() == [1.0]
    (column,) = printed_measures(["map_avgjg"], judgments="qrels_jg")
    assert ranked(folder, [(*row[:4], int(row[4])) for row in rows], run, "qrels_jg").values(column).tolist() == [0.5]


def test_ids_are_compared_as_their_utf_8_bytes(folder: Path) -> None:
    rows = [("ä", "ö", "s", "\U0001f600", 1), ("ä", "ö", "s", "\uffee", 0)]
    data = ranked(folder, rows, {"ä": {"\U0001f600": 1.0, "\uffee": 1.0}}, "prefs").data
    assert parse("PrefSimple").compute(data).tolist() == [0.0]


def test_too_many_preferences_for_the_memory_are_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("q", "g", "s1", doc, at) for at, doc in enumerate(DOCS)]
    monkeypatch.setattr(judgment_groups, "_MOST_PREFERENCES", 20)
    with pytest.raises(KaratError, match=r"query q: group 'g' has 21 preferences, more than 20\. Leave judgments out"):
        ranked(folder, rows, {"q": {"a": 1.0}}, "prefs")
    monkeypatch.setattr(judgment_groups, "_MOST_IN_SUBGROUPS", 6)
    with pytest.raises(KaratError, match="group 'g' has 7 documents in subgroups, more than 6"):
        ranked(folder, [*rows, ("q", "g", "s2", "a", 1)], {"q": {"a": 1.0}}, "prefs")
