"""Markdown tables, aligned so that they are readable in a terminal too."""

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in (head, rule, *rows)
    )


def verdict(reached: bool | None) -> str:
    """The last cell of a row: whether its target was reached."""
    return "not measured" if reached is None else "yes" if reached else "no"
