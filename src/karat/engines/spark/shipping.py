"""Functions and errors between the driver and the executors of Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import karat
from karat.engines.spark.executor_python import ExecutorPython, python_failure, wrong_python
from karat.errors import KaratError, KaratTypeError, Message, MessagePart, Parameter, Place, shown
from karat.errors.suggestions import SuggestedCall

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JAVA_CLASS = re.compile(r"^[a-z]\w*(\.\w+)+: ")
_MARK = "karat cannot work in an executor: "
_CAUSE = "Caused by: "
_LOGS = "The logs of the executors tell more."
_MEMORY = f"Raise spark.executor.memoryOverhead: Python's memory is outside of Java's. {_LOGS}"

# The usual failures of a cluster: how Spark or Python words them, what to say, and a hint.
_CAUSES: list[tuple[str, str, Message]] = [
    (
        r"spark\.driver\.maxResultSize",
        "the scores of all queries are too large for the driver",
        [
            "Use ",
            Parameter("per_query_path"),
            " to write them to files from the executors, or raise spark.driver.maxResultSize.",
        ],
    ),
    (
        r"No space left on device",
        "no space is left on a disk",
        "Spark keeps data that it sorts or caches in spark.local.dir: make space there, or name a larger disk.",
    ),
    (
        r"ExecutorLostFailure \(executor (\S+) .*?\) Reason: (.*?)\.?$",
        r"executor \1 was lost, and tasks failed too often (\2)",
        "If it was killed, memory ran out: raise spark.executor.memoryOverhead, or spark.executor.memory. " + _LOGS,
    ),
    (
        r"Master removed our application",
        "the master ended the application, as its executors could not be started",
        "The logs of the workers tell why.",
    ),
    (
        r"java\.lang\.OutOfMemoryError: (.*)",
        r"Java ran out of memory (\1)",
        "Raise spark.executor.memory; in a local session, and if scores are collected, spark.driver.memory.",
    ),
    (r"^(?:MemoryError|numpy\S*MemoryError|pyarrow\.lib\.ArrowMemoryError)\b", "Python ran out of memory", _MEMORY),
    (r"Python worker exited unexpectedly", "a Python process of an executor was killed or crashed", _MEMORY),
    (
        r"InvalidClassException: .*serialVersionUID",
        "the driver and the cluster have different versions of Spark",
        "Install the pyspark of the cluster's version.",
    ),
    (
        r"(?:stopped SparkContext|SparkContext (?:was shut down|has been shutdown))",
        "the session was stopped while it was in use",
        "Somebody stopped it, or the cluster ended the application: the logs of the driver and the master tell why.",
    ),
]


def for_executors(function: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """A function that Spark can send to executors that may have another version of karat, or none.

    `function` returns an iterator. It is sent by value, and compares versions, for which it needs nothing of karat,
    before it unpickles and calls `function`. If they differ, it raises an exception that says which Python this is;
    `failure` finds it on the driver.
    """
    from pyspark import cloudpickle

    version, mark = karat.__version__, _MARK
    try:
        pickled = cloudpickle.dumps(function)
    except Exception as error:  # pickling may call anything
        what = f"a function or value cannot be sent to the executors of Spark: {error}"
        raise KaratError(what, hint="Pass functions and values that can be pickled.") from None

    def call(*arguments: Any) -> Iterator[Any]:
        import gc
        import json
        import pickle
        import platform
        import sys

        state = ""
        try:
            from karat import __version__ as version_here

            if version_here == version:
                loaded = pickle.loads(pickled)  # noqa: S301  # the driver sent it
            else:
                state = f"has karat {version_here}, while the driver has karat {version}"
        except ImportError as error:
            state = f"cannot import karat {version} ({error})"
        if state:
            python = [platform.node(), platform.python_version(), sys.executable]
            raise RuntimeError(mark + json.dumps({"what": f"an executor {state}", "python": python}))
        yield from loaded(*arguments)
        if not gc.get_freeze_count():
            # After each task, pyspark collects garbage. That takes 30 ms if it looks at all that was imported.
            gc.freeze()

    return call


def large_types(session: SparkSession) -> bool:
    """Whether a session has Arrow count the bytes of texts in 64 bits: then it refuses what comes back otherwise."""
    return str(session.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")) == "true"


def arrow_type(kind: pa.DataType, large: bool) -> pa.DataType:
    """The type of a column that an executor returns."""
    return {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(kind, kind) if large else kind


def error_text(error: KaratError) -> str:
    """An error as text, of which `error_from` makes the same error again."""
    sent = {
        "what": list(map(_sent_part, error.parts)),
        "place": error.place and _sent_place(error.place),
        "hint": list(map(_sent_part, error.hint_parts)),
        "type": "KaratTypeError" if isinstance(error, KaratTypeError) else "KaratError",
    }
    return json.dumps(sent, default=shown)


def error_from(text: str) -> KaratError:
    """The error that an executor sent as text."""
    sent = json.loads(text)
    of_type = KaratTypeError if sent["type"] == "KaratTypeError" else KaratError
    what, hint = (list(map(_received_part, sent[name])) for name in ("what", "hint"))
    return of_type(what, place=sent["place"] and _received_place(sent["place"]), hint=hint)


def _sent_part(part: MessagePart) -> str | dict[str, Any]:
    """A part of a message, as JSON has it."""
    if isinstance(part, str):
        return part
    if isinstance(part, Place):
        return {"place": _sent_place(part)}
    fields = {name: value for name, value in part._asdict().items() if value is not ...}
    return {"call" if isinstance(part, SuggestedCall) else "parameter": fields}


def _sent_place(place: Place) -> dict[str, Any]:
    return {**place._asdict(), "other": place.other and _sent_place(place.other)}


def _received_part(part: str | dict[str, Any]) -> MessagePart:
    if isinstance(part, str):
        return part
    if "call" in part:
        file, parameters = part["call"]["value"]
        return SuggestedCall.of(part["call"]["name"], file, **parameters)
    return _received_place(part["place"]) if "place" in part else Parameter(**part["parameter"])


def _received_place(fields: dict[str, Any]) -> Place:
    received: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
    other = received.pop("other")
    return Place(**received, other=other and _received_place(other))


def failure(error: Exception) -> KaratError:
    """What an exception of Spark says, without the traces of Java and Python."""
    lines = str(error).splitlines()
    for line in lines:
        if _MARK in line:
            sent = json.loads(line.split(_MARK, 1)[1])
            return wrong_python(sent["what"], ExecutorPython(*sent["python"]))
    of_python = _of_python(lines)
    if found := python_failure(lines, of_python, is_remote="connect" in type(error).__module__):
        return found
    for pattern, what, hint in _CAUSES:
        if match := next(filter(None, map(re.compile(pattern).search, lines)), None):
            return KaratError(match.expand(what), place="Spark", hint=hint)
    if of_python:
        return KaratError(f"a task failed: {of_python}", place="Spark", hint=_LOGS)
    return KaratError(message_of_java(error), place="Spark")


def message_of_java(error: Exception) -> str:
    """What an exception of Java says, in one line: its last cause, if it has one."""
    lines = [line.removeprefix(": ") for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("An error occurred while calling")]
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    (message,) = causes[-1:] or lines[:1] or [type(error).__name__]
    return _JAVA_CLASS.sub("", message)


def _of_python(lines: list[str]) -> str:
    """The message of the last Python traceback: the first line after it that is not indented."""
    traces = [at for at, line in enumerate(lines) if "Traceback (most recent call last)" in line] or [len(lines)]
    return next((line for line in lines[traces[-1] + 1 :] if not line.startswith(" ")), "")
