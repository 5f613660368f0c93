"""Command line of the scripts that generate files: write the files, or report those that are not up to date."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path


def main(script: str, description: str, files: Iterable[tuple[Path, str]]) -> int:
    """Write the files, or with --check compare them; return the exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    check: bool = parser.parse_args().check
    status = 0
    for path, text in files:
        data = text.encode("utf-8")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        elif not path.is_file() or path.read_bytes() != data:
            print(f"{path}: not up to date; run {Path(script).name}", file=sys.stderr)
            status = 1
    return status
