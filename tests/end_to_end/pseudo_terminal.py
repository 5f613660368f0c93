"""Runs the installed command on a terminal of a given width."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.in_process import plain_environment
from tests.platforms import KARAT


def on_terminal(
    folder: Path, *words: str, columns: int = 200, errors: bool = False, **environment: str
) -> tuple[int, str]:
    """The status, and what a terminal of this width receives on standard output, or on standard error."""
    if sys.platform == "win32":
        pytest.skip("Windows has no pseudo-terminals of this kind")
    import fcntl
    import pty
    import select
    import struct
    import termios

    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        [KARAT, *words], cwd=folder, stdin=child, stdout=subprocess.DEVNULL if errors else child,
        stderr=child if errors else subprocess.DEVNULL, env=plain_environment(environment),
        start_new_session=True,
    )  # fmt: skip
    os.close(child)
    shown = b""
    while select.select([parent], [], [], 60)[0]:
        try:
            block = os.read(parent, 65536)
        except OSError:
            break
        if not block:
            break
        shown += block
    os.close(parent)
    return process.wait(), shown.decode(errors="replace").replace("\r\n", "\n")
