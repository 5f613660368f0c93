"""Which Python the executors run, for the error if a task fails because it is not like the driver's."""

from __future__ import annotations

import json
import platform
import re
import sys
from typing import Any, NamedTuple

import karat
from karat.errors import KaratError

_CANNOT_START = re.compile(r'Cannot run program "(.+?)".*?: (?:error=\d+, )?(.+)')
_HOST = re.compile(r"\(TID \d+\) \((\S+) executor \S+\): ")
_OTHER_VERSION = re.compile(r"\[PYTHON_VERSION_MISMATCH\].*?: (\d+\.\d+) ")
_NO_MODULE = re.compile(r"^ModuleNotFoundError: (No module named .+)")

# Run as a program: what pyspark itself runs in an executor fails there.
_FACTS = "import json, platform, sys; sys.stdin.read(); "
_FACTS += "print(json.dumps([platform.node(), platform.python_version(), sys.executable]))"
_TASKS = 16  # so many of them ask for the Python of their executors, at most
_SECONDS = 20  # after which the Python of the executors stays unknown: they may all be busy, or gone


class ExecutorPython(NamedTuple):
    """The Python of an executor, as far as it is known."""

    host: str = ""
    version: str = ""
    path: str = ""

    def __str__(self) -> str:
        details = ", ".join(filter(None, [self.path, self.host and f"on {self.host}"]))
        return f"Python {self.version}".rstrip() + (f" ({details})" if details else "")


def wrong_python(what: str, python: ExecutorPython | None, *, can_install: bool = True) -> KaratError:
    """The error about an executor that cannot do the work, because of the Python that it runs."""
    version, parts = platform.python_version(), platform.python_version_tuple()
    runs = f"it runs {python}, and " if python else ""
    install = f"Install karat {karat.__version__} and what the evaluation needs there, or set" if can_install else "Set"
    wanted = f"a Python {parts[0]}.{parts[1]} that has karat {karat.__version__} on all machines"
    hint = f"{install} PYSPARK_PYTHON (or spark.pyspark.python) to {wanted}, before the session starts."
    return KaratError(f"{what}: {runs}the driver runs Python {version} ({sys.executable})", place="Spark", hint=hint)


def python_failure(lines: list[str], last: str, is_remote: bool) -> KaratError | None:
    """The error for an exception of Spark, if the Python of an executor is its cause.

    `lines` are what the exception says, `last` the last line of the trace of Python in it. In most cases pyspark has
    failed before it called a function of karat, so that another task has to find out which Python that was. A
    session of Spark Connect (`is_remote`) cannot start such a task.
    """
    if module := _NO_MODULE.match(last):
        return wrong_python(f"an executor cannot import a module ({module[1]})", _python_of_executors(is_remote))
    for line in lines:
        if other := _OTHER_VERSION.search(line):
            what = "an executor has another version of Python than the driver"
            python = _python_of_executors(is_remote, other[1]) or ExecutorPython(version=other[1])
            return wrong_python(what, python, can_install=False)
        if program := _CANNOT_START.search(line):
            found = _HOST.search(line)
            on_host = f" on {found[1]}" if found else ""
            what = f"an executor{on_host} cannot start its Python, {program[1]} ({program[2]})"
            return wrong_python(what, None, can_install=False)
    return None


def _python_of_executors(is_remote: bool, version: str = "") -> ExecutorPython | None:
    """The Python of the executors, of this version if some differ; None if they do not answer."""
    if is_remote:
        return None
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None:
        return None
    try:
        pythons = sorted(set(_asked(context)))
    except Exception:  # of Java, of a session that was stopped, or because there is no answer in time
        return ExecutorPython(path=context.pythonExec)
    driver = [platform.python_version(), sys.executable]
    others = [each for each in pythons if list(each[1:]) != driver]
    return next(
        (each for each in pythons if version and each.version.startswith(f"{version}.")), (others or pythons)[0]
    )


def _asked(context: Any) -> list[ExecutorPython]:
    """What the Python of the executors says in some tasks. Java starts it, and nothing of pyspark."""
    numbers, command = context._jvm.java.util.ArrayList(), context._jvm.java.util.ArrayList()
    tasks = max(1, min(context.defaultParallelism, _TASKS))
    for number in range(tasks):
        numbers.add(number)
    for word in (context.pythonExec, "-c", _FACTS):
        command.add(word)
    started = context._jsc.parallelize(numbers, tasks).pipe(command).collectAsync()
    try:
        lines = started.get(_SECONDS, context._jvm.java.util.concurrent.TimeUnit.SECONDS)
    finally:
        started.cancel(True)
    return [ExecutorPython(*json.loads(line)) for line in lines]
