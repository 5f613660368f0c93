"""The program `karat`, also started as `python -m karat`: it ends at a signal without a traceback, also in imports."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing would take time in which Ctrl-C is not handled yet
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and end the process with its status.

    The process ends without the cleanup of the interpreter, during which a signal could still print a traceback.
    """
    status: object = 2
    try:
        _handle_signals()
        import gc

        # Imports make many objects that stay; looking for garbage among them would take a tenth of the time.
        gc.set_threshold(100_000)
        from karat.cli import main as run

        run()
    except KeyboardInterrupt:  # before signals were handled
        os._exit(130)
    except SystemExit as end:
        status = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    from contextlib import suppress

    for stream in (sys.stdout, sys.stderr):
        # What karat prints is flushed at once, so this is what a library has printed.
        with suppress(OSError, AttributeError):
            stream.flush()
    os._exit(status if isinstance(status, int) else 0)


def _handle_signals() -> None:
    """End at Ctrl-C, SIGTERM and, on Windows, Ctrl-Break with the status that shells give to programs ended by them.

    An exception would not do: raised in an import or in a callback of a library, it can be ignored or replaced.
    """
    import signal

    # At Ctrl-Break, Windows ends a program without the cleanup below.
    of_windows = getattr(signal, "SIGBREAK", None)
    for number in filter(None, (signal.SIGINT, signal.SIGTERM, of_windows)):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup, or a job in the background of a script
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    for module, finish in (
        ("karat.output.files", "remove_drafts"),
        ("karat.output.progress", "remove_bar"),
        ("karat.grounding.judges.journal", "print_what_is_kept"),
    ):
        # While it is still being imported, there is nothing to do.
        getattr(sys.modules.get(module), finish, lambda: None)()
    os._exit(128 + number)


if __name__ == "__main__":
    main()
