"""Conversion between formats: what is written is read back as the same data."""

from __future__ import annotations

import math
from tempfile import TemporaryDirectory
from typing import Any, get_args

import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from karat import convert, evaluate
from karat.options import Ties

FORMATS = ("trec", "parquet", "feather")
RUN = {"q1": {"d1": 1.5, "d2": 2.0, "d3": 1.5}, "q2": {"d9": -0.25}}
MEASURES = ["nDCG", "AP", "RR", "P@2"]

without_blanks = st.text("ab019.-=,;:'\"\\éß日#\u200b", min_size=1, max_size=3).filter(lambda text: text[0] != "#")
any_ids = st.text("ab 01,;:'\"\\é\n\r\t日#=", min_size=1, max_size=3)
scores = st.one_of(st.sampled_from([0.0, -0.0, 1.0, 2.5]), st.floats(allow_nan=False, allow_infinity=False))


def mappings(ids: st.SearchStrategy[str], numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    return st.dictionaries(ids, st.dictionaries(ids, numbers, min_size=1, max_size=5), min_size=1, max_size=4)


def values(truth: Any, run: Any, ties: Ties) -> dict[str, list[float]]:
    """The score of each query and measure."""
    scores_of_run = evaluate(truth, run, MEASURES, ties=ties)
    return {measure: scores_of_run.values[measure].tolist() for measure in scores_of_run.measures}


@settings(max_examples=40)
@given(data=st.data(), first=st.sampled_from(FORMATS), second=st.sampled_from(FORMATS))
def test_a_converted_run_and_ground_truth_have_the_same_scores(data: st.DataObject, first: str, second: str) -> None:
    ids = without_blanks if "trec" in (first, second) else any_ids
    run = data.draw(mappings(ids, scores), label="run")
    truth = data.draw(mappings(ids, st.floats(-2, 4)), label="truth")
    for query, docs in run.items():  # some documents of the run are judged
        truth.setdefault(query, {}).update(dict.fromkeys(list(docs)[::2], 0.5))
    with TemporaryDirectory() as folder:
        for kind, mapping in (("run", run), ("truth", truth)):
            convert(mapping, f"{folder}/{kind}1.{first}", kind=kind)
            convert(f"{folder}/{kind}1.{first}", f"{folder}/{kind}2.{second}", kind=kind)
        for ties in get_args(Ties):
            assert values(f"{folder}/truth2.{second}", f"{folder}/run2.{second}", ties) == values(truth, run, ties)


@settings(max_examples=30)
@given(numbers=st.lists(st.floats(allow_nan=False), min_size=1, max_size=20), form=st.sampled_from(FORMATS))
def test_numbers_are_read_back_to_the_last_bit(numbers: list[float], form: str) -> None:
    finite = [number for number in numbers if math.isfinite(number) or not form.startswith("json")]
    run = {"q": {f"d{at}": number for at, number in enumerate(finite)}} if finite else RUN
    with TemporaryDirectory() as folder:
        convert(run, f"{folder}/run.{form}", kind="run")
        convert(f"{folder}/run.{form}", f"{folder}/again.parquet", kind="run")
        read = pq.read_table(f"{folder}/again.parquet")
    wanted = [(query, doc, number.hex()) for query, docs in run.items() for doc, number in docs.items()]
    assert [(row["query"], row["doc"], row["score"].hex()) for row in read.to_pylist()] == wanted
