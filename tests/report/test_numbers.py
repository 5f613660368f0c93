"""The numbers on the page are those that karat's tables print."""

from __future__ import annotations

import random

import numpy as np
import pytest
from playwright.sync_api import Page

from karat import Scores, compare
from karat.report import report_content
from karat.scores.combining import differences
from karat.scores.value_texts import cell_text, nonzero_text
from tests.report.conftest import OpenPage

# Ties of rounding, numbers that six digits would round twice, differences by rounding alone, and large ones.
TRICKY = [0.03125, 0.09375, -0.03125, 0.12344996, 0.00005, -0.00001, 0.1 + 0.2, 0.3, 1e-13, 123456.78905, 12.3456501]


def shown(page: Page, side: str) -> dict[str, str]:
    texts = "(rows, side) => rows.map((row) => ['a', `td.${side}`].map((cell) => row.querySelector(cell).textContent))"
    found = page.locator("table.queries tbody tr").evaluate_all(texts, side)
    return {query: text.lstrip("▲▼ ").removesuffix("better").removesuffix("worse").strip() for query, text in found}


@pytest.mark.parametrize("measure", ["latency", "num_ret"])
def test_values_and_changes_of_queries_are_rounded_as_in_tables(open_page: OpenPage, measure: str) -> None:
    chance = random.Random(5)
    values = [*TRICKY, *(chance.choice((1, -1)) * chance.random() / 10 ** chance.randint(0, 7) for _ in range(80))]
    if measure == "num_ret":
        values = [round(1e6 * value) for value in values]
    before, after = np.array(values, float), np.array(values[1:] + values[:1], float)
    queries = tuple(f"q{at}" for at in range(len(values)))
    systems = {"one": Scores(queries, {measure: before}), "two": Scores(queries, {measure: after})}
    page = open_page(report_content(systems))
    for side, column in (("a", before), ("b", after)):
        expected = [cell_text(value, measure).replace("-", "−") for value in column.tolist()]
        assert shown(page, side) == dict(zip(queries, expected, strict=True))
    changes = [nonzero_text(value, measure, "+").replace("-", "−") for value in differences(after, before).tolist()]
    assert shown(page, "change") == dict(zip(queries, changes, strict=True))


def test_the_table_has_the_numbers_of_the_comparison(open_page: OpenPage) -> None:
    chance = random.Random(5)
    queries = tuple(f"q{at}" for at in range(40))
    systems = {
        name: Scores(queries, {"num_ret": counts * 1000, "AP": counts / 2**20})
        for name in ("one", "two", "three")
        for counts in [np.array([float(chance.randint(0, 2**20)) for _ in queries])]
    }
    comparison = compare(systems, "one")
    page = open_page(report_content(comparison))
    cells = page.locator("table.results tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.cells].slice(1).map((cell) => cell.innerText.replaceAll('−', '-')))"
    )
    for (name, scores), row in zip(systems.items(), cells, strict=True):
        for measure, text in zip(scores.measures, row, strict=True):
            found = next(each for each in comparison.rows if (each.system, each.measure) == (name, measure))
            ends = [cell_text(end, measure) for end in (found.low, found.high)]
            assert cell_text(found.mean, measure) in text
            assert " – ".join(ends) in text
            if found.difference is not None:
                assert nonzero_text(found.difference, measure, "+") in text
