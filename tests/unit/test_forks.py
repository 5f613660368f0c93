"""A process that was forked while another thread was at work does not wait for that thread."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# A thread is in the middle of a cached property; the child of a fork needs the same property of another object.
SCRIPT = """
import faulthandler, os, threading
from karat.data.caching import cached_property

started, done = threading.Event(), threading.Event()

class Value:
    def __init__(self, is_slow):
        self.is_slow = is_slow

    @cached_property
    def doubled(self):
        if self.is_slow:
            started.set()
            done.wait()
        return 42

slow = Value(True)
thread = threading.Thread(target=lambda: slow.doubled)
thread.start()
started.wait()
child = os.fork()
if not child:
    faulthandler.dump_traceback_later(10, exit=True)
    os._exit(0 if Value(False).doubled == 42 else 1)
_, status = os.waitpid(child, 0)
assert Value(False).doubled == 42  # nor does another thread wait
done.set()
thread.join()
assert slow.__dict__["doubled"] == 42
print("status", status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_forked_process_computes_a_property_that_another_thread_was_computing() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("status 0\n", "")
