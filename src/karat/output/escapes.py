"""Whether a terminal reads escape sequences, which colour a text and move the cursor."""

from __future__ import annotations

import sys
from typing import TextIO

_VIRTUAL_TERMINAL = 4  # ENABLE_VIRTUAL_TERMINAL_PROCESSING


def reads_escapes(stream: TextIO) -> bool:
    """Whether the terminal of a stream reads escape sequences.

    A console of Windows does so only if it is told to, and shows them as they are if it is too old.
    """
    if sys.platform != "win32":
        return True
    import ctypes
    import msvcrt

    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # something else that says that it is a terminal
        return True
    handle, mode = ctypes.c_void_p(msvcrt.get_osfhandle(descriptor)), ctypes.c_uint32()
    kernel = ctypes.windll.kernel32
    if not kernel.GetConsoleMode(handle, ctypes.byref(mode)):
        return False
    return bool(mode.value & _VIRTUAL_TERMINAL or kernel.SetConsoleMode(handle, mode.value | _VIRTUAL_TERMINAL))
