"""Markdown tables, aligned so that they are readable in a terminal too, and the parts of files that scripts write."""

from collections.abc import Sequence
from pathlib import Path

END = "<!-- end -->"


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


def part_of(text: str, script: str) -> str:
    """The part of a text that a script writes, with the comments around it; empty if there is none."""
    _, begin, rest = text.partition(beginning(script))
    part, end, _ = rest.partition(END)
    return f"{begin}{part}{end}\n" if begin else ""


def replace_part(path: Path, script: str, new: str) -> None:
    """Write the part of a file that belongs to a script."""
    before, begin, rest = path.read_text("utf-8").partition(beginning(script))
    _, end, after = rest.partition(END)
    path.write_text(f"{before}{begin}{new}\n{end}{after}", "utf-8")


def beginning(script: str) -> str:
    return f"<!-- written by {script} -->\n"
