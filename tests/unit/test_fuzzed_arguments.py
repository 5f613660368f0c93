"""Wrong arguments that the fuzzers found: each is an error with a sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pytest

from karat import EvaluationRunResult, KaratError, Pipeline, evaluate, evaluate_answers
from karat.components.preprocessors import DocumentCleaner
from karat.matching import chunk, fuzzy, prefix

FRAME = pd.DataFrame({"a": [1, 2]})
SCORES = evaluate({"q": ["a"]}, {"q": ["a"]}, "AP")
PIPELINE = Pipeline()
PIPELINE.add_component("cleaner", DocumentCleaner())
SAVED = PIPELINE.to_dict()
RESULT = EvaluationRunResult("run", {"question": ["a"]}, {"em": {"score": 1.0, "individual_scores": [1]}})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: chunk(normalize=FRAME), "is not a normalization"),  # type: ignore[arg-type]
        (lambda: fuzzy(85, normalize=10**5000), "a number with thousands of digits is not a normalization"),  # type: ignore[arg-type]
        (lambda: prefix("#", normalize=np.array("case")), "is not a normalization"),  # type: ignore[arg-type]
        (lambda: SCORES.intervals(measures=FRAME), "is not a measure"),  # type: ignore[arg-type]
        (lambda: SCORES.intervals(measures=3), "3 is not a measure"),  # type: ignore[arg-type]
        (lambda: DocumentCleaner(remove_empty_lines=FRAME), "is neither True nor False"),  # type: ignore[arg-type]
        (lambda: Pipeline().run({}, include_outputs_from=3), "include_outputs_from=3 is not a list of names"),  # type: ignore[arg-type]
        (lambda: Pipeline(metadata={"a": memoryview(b"")}).to_dict(), "cannot be copied: TypeError"),
        (lambda: Pipeline.from_dict(SAVED, allowed_env_vars=3), "allowed_env_vars=3 is not a list of names"),  # type: ignore[arg-type]
        (lambda: RESULT.detailed_report(FRAME), "unknown output_format"),  # type: ignore[arg-type]
        (lambda: RESULT.detailed_report("csv", csv_file=np.array(["a", "b"])), "is not a path"),  # type: ignore[arg-type]
        (lambda: evaluate(pd.DataFrame({len: ["a"]}), {"q": ["a"]}, "AP"), "cannot be read as a table"),
        (lambda: evaluate(FRAME, {"q": ["a"]}, "AP", truth_columns={pd.NA: "a"}), "is not one of the columns"),  # type: ignore[dict-item]
        (lambda: evaluate(pl.DataFrame({"\0": ["q"]}), {"q": ["a"]}, "AP"), "contains a NUL character"),
        (lambda: evaluate_answers(pl.DataFrame({"\0": ["q"]}), {"q": "a"}), "contains a NUL character"),
        (lambda: evaluate({"q": [FRAME.rename(columns={"a": "score"}), "d"]}, {"q": ["d"]}, "nDCG"), "is not a number"),
        (lambda: evaluate_answers([{"query": "q", 10**5000: "a"}], ["b"], "F1"), "no field .gold_answers."),
    ],
)
def test_a_wrong_argument_is_an_error_with_a_sentence(call: Callable[[], object], message: str) -> None:
    with pytest.raises(KaratError, match=message):
        call()
