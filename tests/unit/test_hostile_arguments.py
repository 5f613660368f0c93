"""Wrong arguments of public functions are errors with a sentence, and numbers of every type are numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import karat
from karat import Document, KaratError, Scores
from karat.comparison.gate import Rule, gate_by_rules
from karat.components.evaluators import DocumentMRREvaluator, SASEvaluator
from karat.components.preprocessors import DocumentCleaner
from karat.dataclasses import ByteStream, SparseEmbedding
from karat.errors import shown
from karat.pooled import RetrievalRecall
from karat.testing import assert_scores

TRUTH = {"q": {"a": 1, "b": 0}, "r": {"c": 2}}
RUN = {"q": {"a": 0.5, "x": 0.4}, "r": {"y": 1.0, "c": 0.5}}
SCORES = karat.evaluate(TRUTH, RUN, ["AP", "RR"])
SYSTEMS = karat.evaluate_runs(TRUTH, {"one": RUN, "two": {"q": ["x", "a"], "r": ["c"]}}, ["AP", "RR"])
COMPARISON = SYSTEMS.compare()


class Unprintable:
    """An object that cannot be shown, compared or used as a condition."""

    def __repr__(self) -> str:
        raise AssertionError

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    def __bool__(self) -> bool:
        raise AssertionError

    __str__ = __repr__
    __hash__ = None  # type: ignore[assignment]  # it cannot be hashed


def pipeline() -> karat.Pipeline:
    pipeline = karat.Pipeline()
    pipeline.add_component("clean", DocumentCleaner())
    return pipeline


def document_with(**fields: Any) -> Document:
    """A document whose fields were replaced after it was made, when they are not checked."""
    document = Document("a")
    for name, value in fields.items():
        setattr(document, name, value)
    return document


def containing_itself() -> list[Any]:
    itself: list[Any] = []
    itself.append(itself)
    return itself


def nested() -> list[Any]:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


WRONG: dict[str, Any] = {
    "a data frame": pd.DataFrame({"a": [1, 2]}),
    "an Arrow table": pa.table({"a": [1, 2]}),
    "an array": np.eye(2),
    "5,000 digits": 10**5000,
    "a fraction of 5,000 digits": Fraction(10**5000, 3),
    "a signalling NaN": Decimal("sNaN"),
    "pandas' NA": pd.NA,
    "a complex number": 1j,
    "bytes": b"AP",
    "a list that contains itself": containing_itself(),
    "a list nested 100,000 deep": nested(),
    "an object that cannot be shown": Unprintable(),
    "a mapping of mixed keys": {1: 1, "a": 2, None: 3},
}
Call = Callable[[Any], object]
CALLS: dict[str, Call] = {
    "measures of evaluate": lambda x: karat.evaluate(TRUTH, RUN, x),
    "a measure in a list": lambda x: karat.evaluate(TRUTH, RUN, ["AP", x]),
    "truth": lambda x: karat.evaluate({"q": x}, RUN),
    "run": lambda x: karat.evaluate(TRUTH, x),
    "a grade": lambda x: karat.evaluate({"q": {"a": x}}, RUN),
    "name": lambda x: karat.evaluate(TRUTH, RUN, name=x),
    "rel": lambda x: karat.evaluate(TRUTH, RUN, rel=x),
    "ties": lambda x: karat.evaluate(TRUTH, RUN, ties=x),
    "match": lambda x: karat.evaluate(TRUTH, RUN, match=x),
    "ignore_identical_ids": lambda x: karat.evaluate(TRUTH, RUN, ignore_identical_ids=x),
    "truth_columns": lambda x: karat.evaluate(TRUTH, RUN, truth_columns={"doc": x}),
    "progress": lambda x: karat.evaluate(TRUTH, RUN, progress=x),
    "runs": lambda x: karat.evaluate_runs(TRUTH, x),
    "fields": lambda x: karat.evaluate_answers({"q": "a"}, {"q": "a"}, fields=x),
    "parse": karat.parse,
    "subject": lambda x: karat.parse("AP", subject=x),
    "register": lambda x: karat.register(x),
    "the parameter of a measure": lambda x: karat.measures.RBP(p=x),
    "a cut-off": lambda x: karat.measures.nDCG @ x,
    "a column": lambda x: SCORES[x],
    "level": lambda x: SCORES.intervals(x),
    "resamples": lambda x: SCORES.intervals(resamples=x),
    "seed": lambda x: SCORES.intervals(seed=x if x is not WRONG["5,000 digits"] else -1),  # any integer is a seed
    "max_grade": lambda x: SCORES.bounds("AP", x),
    "query": lambda x: SCORES.explain(x),
    "k": lambda x: SCORES.explain("q", x if x is not WRONG["5,000 digits"] else -1),
    "bins": lambda x: SCORES.slices([1, 2], bins=x),
    "rows": lambda x: SCORES.take(x),
    "digits": lambda x: SCORES.table(digits=x),
    "the path of an output": lambda x: SCORES.to_json(x),
    "the path of saved scores": Scores.load,
    "lower_is_better": lambda x: karat.compare(SYSTEMS, lower_is_better=x),
    "per_query": lambda x: SYSTEMS.to_csv(per_query=x),
    "safe": lambda x: SCORES.to_csv(safe=x),
    "baseline": lambda x: karat.compare(SYSTEMS, x),
    "force": lambda x: karat.compare(SYSTEMS, force=x),
    "detect": lambda x: karat.compare(SYSTEMS, detect=x),
    "equivalence": lambda x: karat.compare(SYSTEMS, equivalence=x),
    "the margin of a measure": lambda x: karat.compare(SYSTEMS, equivalence={"AP": x}),
    "system": lambda x: COMPARISON.row("AP", x),
    "n": lambda x: COMPARISON.diff("AP", x if x is not WRONG["5,000 digits"] else -1),
    "losses": lambda x: COMPARISON.diff("AP", losses=x),
    "delimiter": lambda x: COMPARISON.to_csv(delimiter=x),
    "queries of scores": lambda x: Scores(x, {"AP": np.zeros(2)}),
    "values of scores": lambda x: Scores(("q", "r"), {"AP": x}),
    "count of a finding": lambda x: karat.Finding("code", "message", x if x is not WRONG["5,000 digits"] else -1),
    "limit": lambda x: Rule("min", "latency", x),
    "kind": lambda x: Rule(x, "AP", 0.5),
    "significant": lambda x: gate_by_rules(SCORES, [Rule("max-drop", "AP", 0.5)], SCORES, significant=x),
    "min": lambda x: assert_scores(SCORES, min=x),
    "config": lambda x: assert_scores(SCORES, config=x),
    "a component": lambda x: pipeline().get_component(x),
    "the inputs of a component": lambda x: pipeline().run({"clean": x}),
    "the inputs of a pipeline": lambda x: pipeline().run(x),
    "the file of a saved pipeline": karat.Pipeline.load,
    "the file to save a pipeline in": lambda x: pipeline().dump(x),
    "the class of a component": lambda x: karat.default_from_dict(x, {}),
    "the content of a document to clean": lambda x: DocumentCleaner().run([document_with(content=x)]),
    "unicode_normalization": lambda x: DocumentCleaner(unicode_normalization=x),
    "min_content_length": lambda x: DocumentCleaner(min_content_length=x if x is not WRONG["5,000 digits"] else -1),
    "batch_size": lambda x: SASEvaluator(batch_size=x if x is not WRONG["5,000 digits"] else -1),
    "content": Document,
    "data of a ByteStream": lambda x: ByteStream(x if not isinstance(x, bytes) else "text"),  # type: ignore[arg-type]
    "encoding": lambda x: ByteStream.from_string("a", x),
    "indices": lambda x: SparseEmbedding(x, [0.5, 0.5, 0.5, 0.5]),
    "k_list": lambda x: RetrievalRecall().calculate_metric_scores([["a"]], [["a"]], x),
    "retrieved_chunks": lambda x: RetrievalRecall().calculate_metric_scores([["a"]], retrieved_chunks=x),
    "retrieved_documents": lambda x: DocumentMRREvaluator().run([[Document("a")]], x),
}


@pytest.mark.parametrize("parameter", CALLS)
def test_a_wrong_argument_is_an_error_in_one_short_line(parameter: str) -> None:
    for kind, value in WRONG.items():
        with pytest.raises((KaratError, TypeError)) as caught:
            pytest.fail(f"{kind} was accepted: {shown(CALLS[parameter](value))}")
        assert isinstance(caught.value, KaratError), f"{kind}: {caught.value!r}"
        message = str(caught.value)
        assert "\n" not in message, kind
        assert len(message.encode()) < 1000, kind


NUMBERS = {
    "Fraction": Fraction(1, 2),
    "Decimal": Decimal("0.5"),
    "NumPy float": np.float32(0.5),
    "array without dimensions": np.array(0.5),
}


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_every_type_are_numbers_and_give_plain_floats(number: Any) -> None:
    expected = SCORES.interval("AP", 0.5)
    assert SCORES.interval("AP", number) == expected
    assert {type(end) for end in SCORES.interval("AP", number)} == {float}
    method = karat.compare(SYSTEMS, level=number, detect=number).method
    assert (method.level, method.detect) == (0.5, 0.5)
    assert {type(method.level), type(method.detect)} == {float}
    assert karat.evaluate(TRUTH, RUN, "AP", rel=number).means == karat.evaluate(TRUTH, RUN, "AP", rel=0.5).means
    assert karat.measures.RBP(p=number) == karat.measures.RBP(p=0.5)
    assert type(Rule("min", "AP", number).limit) is float
    assert SCORES.bounds("AP", number * 4).mean == SCORES.bounds("AP", 2).mean


def test_whole_numbers_of_numpy_are_counts() -> None:
    numbers: list[Any] = [np.int64(2), np.array(2), np.uint8(2)]
    for two in numbers:
        assert SCORES.to_latex(digits=two) == SCORES.to_latex(digits=2)
        assert str(SCORES.explain("q", two)) == str(SCORES.explain("q", 2))
        assert str(COMPARISON.diff("AP", two)) == str(COMPARISON.diff("AP", 2))


def test_switches_are_booleans_also_those_of_numpy_and_0_and_1() -> None:
    run: Any = {"q": ["q", "a"], "r": ["c"]}
    no: list[Any] = [False, 0, np.bool_(False), np.array(False), np.int64(0)]
    yes: list[Any] = [True, 1, np.bool_(True), np.array(True), np.int64(1)]
    assert {karat.evaluate(TRUTH, run, "RR", ignore_identical_ids=each)["RR"] for each in no} == {0.75}
    assert {karat.evaluate(TRUTH, run, "RR", ignore_identical_ids=each)["RR"] for each in yes} == {1.0}
    with pytest.raises(KaratError, match="ignore_identical_ids='no' is neither True nor False"):
        karat.evaluate(TRUTH, RUN, "AP", ignore_identical_ids="no")  # type: ignore[arg-type]


def test_more_resamples_than_memory_can_hold_are_refused() -> None:
    with pytest.raises(KaratError, match="at most 10,000,000"):
        SCORES.intervals(resamples=10**30)


@pytest.mark.parametrize("path", ["a\0b.json", "\ud800.json"])
def test_a_path_that_no_file_can_have_is_an_error(path: str) -> None:
    for call in (Scores.load, SCORES.save, SCORES.to_csv):
        with pytest.raises(KaratError, match="not the name of a file"):
            call(path)


def test_scores_can_be_made_of_lists() -> None:
    columns: Any = {"latency": [1, 3]}
    scores = Scores(("q", "r"), columns, lower_is_better=frozenset(["latency"]))
    assert (scores["latency"], scores.queries, scores.higher_is_better("latency")) == (2.0, ("q", "r"), False)
    with pytest.raises(KaratError, match=r"latency has values of shape \(1,\) for 2 queries"):
        Scores(("q", "r"), {"latency": np.array([1.0])})


def test_documents_with_arrays_and_data_frames_in_their_metadata_are_compared() -> None:
    def document(number: int) -> Document:
        array, frame = np.array([1, number]), pd.DataFrame({"a": [1, number]})
        return Document("a", meta={"array": array, "inner": [array], "frame": frame})

    assert document(1) == document(1)
    assert document(1) != document(2)
    assert document(1) != Document("a", meta={"array": np.array([1])})


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_a_document_can_be_shown_whatever_its_fields_are(value: Any) -> None:
    for field in ("meta", "score"):
        assert repr(document_with(**{field: value})).startswith(f"Document(content='a', {field}=")


def test_a_document_whose_metadata_cannot_be_copied_is_not_cleaned() -> None:
    with pytest.raises(KaratError, match=r"documents\[0\]: the text of a Document cannot be replaced"):
        DocumentCleaner().run([document_with(meta={"a": nested()})])


def test_documents_with_arrays_in_their_metadata_are_evaluated() -> None:
    documents = [[Document("a", id="1", meta={"vector": np.array([1.0, 2.0])})]]
    for match in ("content", "id", lambda retrieved, gold: retrieved.content == gold.content):
        assert karat.evaluate(documents, documents, "R", match=match)["R"] == 1.0


def test_names_with_lone_surrogates_are_printed_and_saved(tmp_path: Path) -> None:
    scores = karat.SystemScores({"\ud800": Scores(("q",), {"\udfff": np.array([0.5])})})
    assert "\\ud800" in str(scores)
    for suffix in ("json", "csv"):
        scores.save(tmp_path / f"scores.{suffix}")
    assert karat.SystemScores.load(tmp_path / "scores.json").means == {"\ud800": {"\udfff": 0.5}}
    with pytest.raises(KaratError, match="not valid Unicode"):
        scores.save(tmp_path / "scores.parquet")


def test_scores_that_json_cannot_contain_are_an_error() -> None:
    with pytest.raises(KaratError, match="JSON cannot contain infinite numbers"):
        Scores(("q", "r"), {"NumRet": np.array([1.7e308, 1.7e308])}).to_json()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10**5000, "a number with thousands of digits"),
        (pd.DataFrame({"a": [1]}), "an object of type DataFrame"),
        (Unprintable(), "an object of type Unprintable"),
        ([0] * 10**6, f"{str([0] * 30)[:59]}…"),
    ],
    ids=["digits", "frame", "unprintable", "list"],
)
def test_values_in_messages_are_short_whatever_they_are(value: object, text: str) -> None:
    assert shown(value) == text


def test_long_names_in_messages_are_cut() -> None:
    error = KaratError("a" * 5000, place="b" * 5000, hint="c" * 5000)
    assert len(str(error)) < 3100
    with pytest.raises(KaratError, match=r"^[^…]*: document d+…d+ is judged twice for query q\. Keep one"):
        karat.evaluate([("q", "d" * 5000, 1), ("q", "d" * 5000, 1)], {"q": ["a"]})


def test_mappings_of_any_class_are_mappings() -> None:
    truth: Mapping[str, Any] = MappingProxyType({"q": MappingProxyType({"a": 1})})
    assert karat.evaluate(truth, MappingProxyType({"q": ("a",)}), "R")["R"] == 1.0
