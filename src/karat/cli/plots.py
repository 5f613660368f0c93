"""`--plot FILE`: a plot of the systems of a command, written to a file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from karat.cli.terminal import print_error
from karat.errors import printable, require
from karat.options import Names, PlotKind

if TYPE_CHECKING:
    from karat.cli.slices import Grouping
    from karat.comparison import Comparison
    from karat.scores import Scores


@dataclass(frozen=True)
class PlotFile:
    """The file to write a plot to, and its kind if that is given."""

    file: str
    kind: PlotKind | None
    names: Names = "canonical"
    """how measures are named"""

    @property
    def needs_run_data(self) -> bool:
        """Whether the plot shows more than scores."""
        from karat.plots.kinds import KINDS

        return self.kind is not None and KINDS[self.kind].needs == "run data"

    def save(
        self,
        default: PlotKind,
        systems: Mapping[str, Scores],
        grouping: Grouping | None = None,
        comparison: Comparison | None = None,
    ) -> None:
        """Write the plot: of groups of queries if there are some and no other kind is given."""
        from karat.cli.slices import naming_options
        from karat.plots.files import write_plot
        from karat.plots.kinds import MAX_PAIRS, Subject, draw, pairs_of

        kind = self.kind or ("slices" if grouping is not None else default)
        groups: dict[str, object] = {}
        if grouping is not None:
            texts = grouping.texts(query for scores in systems.values() for query in scores.queries)
            groups = {"by": grouping.by, "queries": texts}
        pairs = pairs_of(systems, None, None) if comparison is None else comparison.pairs()
        if self.kind is None and kind == "differences" and len(pairs) > MAX_PAIRS:
            kind = "intervals"
        level = 0.95 if comparison is None else comparison.method.level
        with nullcontext() if grouping is None else naming_options(grouping):
            chart = draw(kind, Subject(systems, None, pairs, comparison, groups, level, self.names))
        write_plot(chart, self.file)
        if comparison is None:  # a comparison has notes itself
            for pair, note in chart.panel_notes.items():
                print_error(printable(f"note: {self.file}: {pair}, {note}.") + "\n")


def plot_file(given: Mapping[str, Any]) -> PlotFile | None:
    """What `--plot` and `--plot-kind` ask for; what cannot be written is an error before any work is done."""
    file, kind = given["plot"], given["plot_kind"]
    if file is None:
        require(kind is None, "--plot-kind is only used with --plot", "Add --plot FILE, or leave --plot-kind out.")
        return None
    from karat.plots.files import check_installed, check_suffix

    check_suffix(file)
    check_installed()
    hint = "Add --by, such as --by queries.csv:language."
    require(kind != "slices" or given.get("by") is not None, "--plot-kind slices needs groups of queries", hint)
    return PlotFile(file, kind, given.get("names", "canonical"))
