"""Sessions of Spark: the caller's, or one of karat's own; and the progress of their jobs."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import tempfile
import threading
import uuid
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from karat.engines.spark.shipping import failure
from karat.errors import KaratError, Parameter, shown
from karat.errors.installing import pip_install
from karat.output.progress import ShowProgress, progress_bar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS = 0.2  # between two looks at the progress
_SECONDS_TO_ANSWER = 5  # for a master, which Spark gives at least a minute


@contextmanager
def spark_session(session: Any = None, *sources: Any, master: str | None = None) -> Iterator[SparkSession]:
    """The session that is given, that of the DataFrames among the sources, the active one, or a new one.

    Without `master`, that of a new session is Spark's own setting (of spark-submit, or spark.master in the folder
    SPARK_CONF_DIR), or else all cores of this machine. Its executors run the driver's Python, unless
    spark.pyspark.python or PYSPARK_PYTHON names another one. A new session is stopped at the end, and writes nothing
    to the terminal; other sessions stay as they are.
    """
    check_installed()
    from pyspark.sql import DataFrame, SparkSession

    if session is not None and not hasattr(session, "createDataFrame"):
        raise KaratError([Parameter("session", session), " is not a session of Spark"], hint="Pass a SparkSession.")
    of_frames = [source.sparkSession for source in sources if isinstance(source, DataFrame)]
    existing = session or next(iter(of_frames), None) or (None if master else SparkSession.getActiveSession())
    if existing is not None:
        yield existing
        return
    with _without_log_of_py4j():
        with quiet():
            created = _new_session(master)
        try:
            yield created
        finally:
            created.stop()


def check_installed() -> None:
    """An error if pyspark, or what it needs, cannot be imported."""
    with quiet():
        try:
            import pandas  # noqa: F401  # pyspark needs it on the driver
            import pyspark.sql
        except ImportError as error:
            raise KaratError(f"Spark cannot be used: {error}", hint=f"Run: {pip_install('spark')}") from None
    version = pyspark.__version__
    if int(version.split(".")[0]) < 4:
        raise KaratError(
            f"pyspark {version} is too old: karat needs pyspark 4 or newer", hint=f"Run: {pip_install('spark')}"
        )


@contextmanager
def quiet() -> Iterator[None]:
    """Without pyspark's warning about versions of pandas that it does not fully support: karat does not use it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


@contextmanager
def _without_log_of_py4j() -> Iterator[None]:
    """Without the traces that py4j writes, also to the root logger, if Ctrl-C interrupts a call of Java."""

    def of_others(record: logging.LogRecord) -> bool:
        return record.module not in ("java_gateway", "clientserver")

    loggers = [logging.getLogger(), logging.getLogger("py4j.clientserver")]
    for logger in loggers:
        logger.addFilter(of_others)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(of_others)


@contextmanager
def job_progress(session: SparkSession, wanted: bool) -> Iterator[None]:
    """Show the progress of the jobs that are started meanwhile, as tasks, on a terminal."""
    context = _context(session) if wanted else None
    if context is None:
        yield
        return
    with progress_bar("tasks") as show:
        if show is None:
            yield
            return
        with _job_group(context) as group:
            ended = threading.Event()
            tracker = context.statusTracker()
            before = set(tracker.getJobIdsForGroup(group))
            thread = threading.Thread(target=_poll, args=(tracker, group, before, show, ended), daemon=True)
            thread.start()
            try:
                yield
            finally:
                ended.set()
                thread.join()


def _poll(tracker: Any, group: str, before: set[int], show: ShowProgress, ended: threading.Event) -> None:
    while not ended.wait(_SECONDS):
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group) if job not in before]
        stages = {stage for job in jobs if job for stage in job.stageIds}
        infos = [info for info in map(tracker.getStageInfo, stages) if info]
        show(sum(info.numCompletedTasks for info in infos), sum(info.numTasks for info in infos))


@contextmanager
def _job_group(context: Any) -> Iterator[str]:
    """The group of the jobs of this thread: a notebook has one, through which it cancels them; otherwise a new one."""
    key = "spark.jobGroup.id"
    if group := context.getLocalProperty(key):
        yield group
        return
    group = f"karat-{uuid.uuid4()}"
    context.setLocalProperty(key, group)
    try:
        yield group
    finally:
        context.setLocalProperty(key, None)


def _context(session: SparkSession) -> Any:
    """The SparkContext of a session; a session of Spark Connect has none."""
    try:
        return session.sparkContext
    except Exception:  # it differs between releases which one is raised
        return None


def _new_session(master: str | None) -> SparkSession:
    if master is not None and master.startswith("sc://"):
        hint = "In Python, evaluate takes a session of Spark Connect: session=SparkSession.builder.remote(...)."
        raise KaratError(f"{shown(master)} is a server of Spark Connect, which is not a master", hint=hint)
    _check_java()
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf().setAppName("karat")
    conf.setAll([("spark.ui.enabled", "false"), ("spark.ui.showConsoleProgress", "false")])
    if master:
        conf.setMaster(master)
    with tempfile.TemporaryFile() as log:
        try:
            # A process has one Java process, which outlives its sessions. Its log is nothing for the terminal.
            gateway = SparkContext._gateway or launch_gateway(conf, {"stderr": log})
            # Java knows Spark's settings, and sets local[*] where they name no master.
            settings = SparkConf(_jvm=gateway.jvm)
            master = master or str(settings.get("spark.master", "local[*]"))
            if master.startswith("spark://"):
                _check_answer(master, gateway.jvm)
            context = SparkContext(conf=conf.setMaster(master), gateway=gateway)
            # Left alone, executors run any python3, and spark.pyspark.python is a setting of spark-submit only.
            chosen = settings.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
            context.pythonExec = str(chosen or sys.executable or context.pythonExec)
            return SparkSession(context)
        except KaratError:
            raise
        except Exception as error:
            log.seek(0)
            what = _reason(error, log.read().decode("utf-8", "replace"))
            with_master = f" with master {shown(master)}" if master else ""
            raise KaratError(f"Spark cannot be started{with_master}: {what}") from None


def _check_answer(master: str, jvm: Any) -> None:
    """An error if no master of a standalone cluster answers: Spark itself would try for a minute or more.

    The question is the first one that Spark asks a master: whether it is one. A master without free cores answers too.
    """
    spark = jvm.org.apache.spark
    conf, security = spark.SparkConf(), spark.SecurityManager
    for setting in ("lookupTimeout", "askTimeout", "io.connectionTimeout", "io.connectionCreationTimeout"):
        conf.set(f"spark.rpc.{setting}", f"{_SECONDS_TO_ANSWER}s")
    try:
        addresses = list(map(spark.rpc.RpcAddress.fromSparkURL, spark.util.Utils.parseStandaloneMasterUrls(master)))
        defaults = [getattr(security, f"$lessinit$greater$default${position}")() for position in (2, 3)]
        environment = spark.rpc.RpcEnv.create("karat", "localhost", 0, conf, security(conf, *defaults), True)
    except Exception:  # Spark says itself what is wrong with the address; another release may lack one of these names
        return
    pool = ThreadPoolExecutor(len(addresses))  # of several masters, one is active, and others may be gone
    try:
        asked = [pool.submit(environment.setupEndpointRef, address, "Master") for address in addresses]
        if all(answer.exception() for answer in as_completed(asked)):
            raise _no_answer(master, asked[0].exception())
    finally:
        environment.shutdown()
        pool.shutdown(wait=False)


def _no_answer(master: str, error: Any) -> KaratError:
    """The error for a master that does not answer, or is something else."""
    reasons = {
        "UnknownHostException": "its host is unknown",
        "TimeoutException": f"no answer in {_SECONDS_TO_ANSWER} seconds",
        "Connection refused": "connection refused",
        "Too large frame": "something else answers",
    }
    text = str(error)
    reason = next((reason for part, reason in reasons.items() if part in text), failure(error).what)
    what = f"Spark cannot be started with master {shown(master)}: no Spark master answers there ({reason})"
    hint = "Start it, or check the address: the web page of a master shows it as spark://HOST:PORT."
    return KaratError(what, hint=hint)


def _reason(error: Exception, log: str) -> str:
    """Why Spark could not be started, from the exception or from what Java wrote."""
    # The second is an exception that follows from the first, whose log is not here if Java was running already.
    if "All masters are unresponsive" in log or "stopped SparkContext" in str(error):
        return "no master answers there"
    if "UnsupportedClassVersionError" in log:
        return "this Java is too old, and Spark needs Java 17 or newer"
    message = re.search(r'^Exception in thread "main" \S+: (.*)', log, re.MULTILINE)
    return message[1] if message else failure(error).what


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    # The name of the program ends with .exe on Windows.
    if not shutil.which("java", path=os.path.join(home, "bin") if home else None):
        what = f"JAVA_HOME is {home}, which contains no Java" if home else "Java was not found"
        raise KaratError(what, place="Spark", hint="Spark needs Java 17 or newer: install it, or set JAVA_HOME.")
