#!/usr/bin/env python3
"""Write the end of docs/check.md: all kinds of findings, as `karat check --explain` shows them.

Usage::

    python scripts/list_findings.py            # write the page
    python scripts/list_findings.py --check    # write nothing; exit 1 if it is not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

from up_to_date import main

from karat.scores.finding_kinds import finding_kinds

PAGE = Path(__file__).resolve().parent.parent / "docs" / "check.md"
HEADING = "## All findings\n"


def page() -> str:
    before, heading, _ = PAGE.read_text("utf-8").partition(HEADING)
    if not heading:
        raise RuntimeError(f"{PAGE} has no line {HEADING!r}")
    kinds = finding_kinds().values()
    return "\n".join([before + HEADING, *(f"### {kind}\n" for kind in kinds)])


if __name__ == "__main__":
    sys.exit(main(__file__, "Write the kinds of findings in docs/check.md.", [(PAGE, page())]))
