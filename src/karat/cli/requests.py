"""What the options of a command ask for: how systems are evaluated and compared, and what is shown besides scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from karat.cli.inputs import check_texts, parse_inputs
from karat.cli.label_options import LabelOptions, check_not_author
from karat.cli.reports import Report, TextSources
from karat.cli.slices import Grouping, read_grouping
from karat.cli.systems import Evaluation, SystemFiles
from karat.options import EVALUATION_OPTIONS

if TYPE_CHECKING:
    from karat.comparison import Method
    from karat.report.subject import Reported
    from karat.scores import Scores

Given = Mapping[str, Any]
"""the options of a command line by the names that `karat.cli.options` gives them; not every command has all of them"""


@dataclass(frozen=True)
class Request:
    """How systems are evaluated, and what is shown about them besides scores: texts, groups of queries, a report."""

    evaluation: Evaluation
    texts: TextSources
    grouping: Grouping | None
    page: Report | None

    @classmethod
    def of(cls, given: Given, *, shows_texts: bool = False, **others: Any) -> Request:
        """What options ask for; what cannot be done is an error before any work. `others` are those of `Evaluation`."""
        inputs = parse_inputs(given["formats"], given["columns"], given["split"])
        texts = TextSources(inputs.texts("queries", given.get("queries", ())), inputs.texts("corpus", given["corpus"]))
        by, report = given.get("by"), given.get("report")
        are_shown = shows_texts or report is not None or given.get("explain") is not None
        check_not_author(by, given)
        grouping = read_grouping(by, texts.queries_to_group(by, are_shown))
        page = None if report is None else Report(report, texts, grouping, given.get("title", ""))
        if page is not None:
            page.check()
        check_texts(texts.queries, "queries")
        check_texts(texts.corpus, "corpus")
        labels = LabelOptions.of(given)
        evaluation = Evaluation(
            given.get("measures", ()),
            {name: given[name] for name in EVALUATION_OPTIONS},
            given["fields"],
            inputs,
            texts.corpus_to_match(given["match"], are_shown),
            labels,
            lower_is_better=given.get("lower_is_better", ()),
            force=given.get("force", False),
            **others,
        )
        return cls(evaluation, texts, grouping, page)

    def check_groups(self, systems: Mapping[str, Scores]) -> None:
        """Raise what prevents the grouping of queries, if they are to be grouped, before systems are compared."""
        if self.grouping is not None:
            self.grouping.check(systems)

    def save_report(self, reported: Reported, files: SystemFiles) -> None:
        """Write the report, if there is to be one."""
        if self.page is not None:
            self.page.save(reported, files)


def method_of(given: Given) -> Method:
    """The method of a comparison that options ask for."""
    from karat.cli.options import COMPARISON_OPTIONS
    from karat.comparison import choose_method
    from karat.comparison.margins import parse_margins

    options = {name: given[name] for name in COMPARISON_OPTIONS}
    return choose_method(**{**options, "equivalence": parse_margins(options["equivalence"])})
