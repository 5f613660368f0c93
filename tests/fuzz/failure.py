"""What a fuzzer reports: an input that broke a promise of karat."""

from __future__ import annotations

import linecache
import traceback
from dataclasses import dataclass

import karat
from karat.errors import KaratError

_SOURCE = karat.__path__[0]
_NOT_A_PATH = "expected str, bytes or os.PathLike object, not "  # Python's own sentence about the argument


@dataclass(frozen=True)
class Failure:
    """A broken promise, and how to see it again."""

    signature: str
    """equal for failures that probably have one cause, so that each cause is shown once"""
    text: str
    """what happened, and what to run to repeat it"""


class BoomError(Exception):
    """Raised by hostile objects: whoever passes such an object gets it back."""


def wrong_exception(error: BaseException) -> str | None:
    """What is wrong with an exception that a call raised; None if a call may raise it.

    Wrong calls raise KaratError, or TypeError or KeyError with a sentence. A TypeError that is raised by an operation,
    rather than by a `raise` in karat or by the call itself, comes from inside: its message is not about the argument.
    """
    if isinstance(error, KaratError | BoomError):
        return None
    if isinstance(error, TypeError) and str(error).startswith(_NOT_A_PATH):
        return None
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(_SOURCE)]
    if not inside or (isinstance(error, TypeError | KeyError) and _raises(frames[-1])):
        return None
    name = inside[-1].filename.removeprefix(_SOURCE).lstrip("/")
    return f"{type(error).__name__} at {name}:{inside[-1].lineno}"


def _raises(frame: traceback.FrameSummary) -> bool:
    """Whether the statement that raised is a `raise` in karat."""
    assert frame.lineno is not None
    line = linecache.getline(frame.filename, frame.lineno).strip()
    return frame.filename.startswith(_SOURCE) and line.startswith("raise ")


def told(error: BaseException) -> str:
    """The type of an exception and the beginning of its message, which may itself be hostile."""
    try:
        return f"{type(error).__name__}: {str(error)[:300]!r}"
    except Exception:
        return type(error).__name__
