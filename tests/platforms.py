"""Systems that tests run on, and what some of them lack."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

KARAT = Path(sysconfig.get_path("scripts"), "karat.exe" if sys.platform == "win32" else "karat")
"""the installed command"""

on_posix = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no signals between processes, named pipes, file modes or /dev"
)
PIPES = ("-",) if sys.platform == "win32" else ("-", "/dev/stdin", "/dev/fd/0")
"""the names of standard input"""
CLOSED_PIPE = (0, -13, 128 + 13)
"""the statuses of a program that ends quietly because nobody reads its output; 13 is SIGPIPE"""
