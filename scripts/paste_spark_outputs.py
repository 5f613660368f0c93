#!/usr/bin/env python3
"""Run the examples in docs/ that need Spark and paste what they print below them; see paste_outputs.py.

Usage::

    .venv-spark/bin/python scripts/paste_spark_outputs.py [--check]
"""

from __future__ import annotations

import sys

from paste_outputs import ON_SPARK, PAGES, pasted
from up_to_date import main

PAGES_ON_SPARK = [page for page in PAGES if f" {ON_SPARK}\n" in page.read_text("utf-8")]

if __name__ == "__main__":
    pages = ((page, pasted(page, on_spark=True)) for page in PAGES_ON_SPARK)
    sys.exit(main(__file__, "Paste the outputs of examples that need Spark.", pages))
