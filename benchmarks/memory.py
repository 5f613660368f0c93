"""The largest memory of a process so far."""

import re
import resource
import sys
from pathlib import Path


def peak_bytes(process: int | str = "self") -> int:
    """The largest resident memory of a process on Linux: of this one, or of another by its number.

    Not that of getrusage, which also counts what the process that started this one had at that time.
    """
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def peak_mb() -> float:
    """That of this process, in megabytes, on Linux and macOS."""
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return peak_bytes() / 1e6
