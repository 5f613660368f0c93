"""How a report was made: the command, the files with their hashes, versions, options and the seed."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from karat import __version__
from karat.errors.credentials import without_credentials
from karat.grounding.verdict_file.call_counts import count_calls
from karat.grounding.verdict_file.records import Call
from karat.report.subject import ReportSubject
from karat.stats import SEED

_PACKAGES = ("numpy", "pyarrow", "rapidfuzz", "sentence-transformers", "altair", "vl-convert-python", "jinja2")


@dataclass(frozen=True)
class Provenance:
    """How a report was made, as far as its caller knows: the command line and the files, and the options by name."""

    command: str = ""
    files: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    created: str | None = None
    """the time, now if not given"""

    def to_dict(self, subject: ReportSubject) -> dict[str, Any]:
        created = self.created or datetime.now(UTC).isoformat(timespec="seconds")
        method = None if subject.comparison is None else subject.comparison.method
        return {
            "command": without_credentials(self.command),
            "created": created,
            "karat": __version__,
            "python": platform.python_version(),
            "packages": _versions(),
            "files": [_file(name) for name in dict.fromkeys(self.files or _run_files(subject))],
            "calls": [asdict(each) for each in count_calls(_calls(subject))],
            "options": {**_evaluation_options(subject), **_method_options(subject), **self.options},
            "seed": SEED if method is None else method.seed,
        }


def _run_files(subject: ReportSubject) -> list[str]:
    """The files that the systems were read from, as far as the scores know them."""
    evidence = [scores.evidence for scores in subject.systems.values() if scores.evidence is not None]
    return [file for each in evidence for file in each.files]


def _calls(subject: ReportSubject) -> list[Call]:
    """The calls to models in verdict files; those of a file that several systems were read from count once."""
    files: list[Sequence[Call]] = []
    for records in subject.verdict_files:
        if records.calls not in files:
            files.append(records.calls)
    return [call for calls in files for call in calls]


def _versions() -> dict[str, str]:
    """The versions of the packages that are installed."""
    versions = {}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


def _file(name: str) -> dict[str, Any]:
    """The size and the hash of a file; both are None for what cannot be read again, such as a pipe or a folder."""
    with suppress(OSError):
        if os.path.isfile(name):
            with open(name, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                return {"name": name, "bytes": file.tell(), "sha256": digest}
    return {"name": without_credentials(name), "bytes": None, "sha256": None}


def _evaluation_options(subject: ReportSubject) -> dict[str, Any]:
    """The match and the options of the evaluation, if all systems have the same."""
    prints = [scores.fingerprint for scores in subject.systems.values() if scores.fingerprint is not None]
    common: dict[str, Any] = {}
    for option in ("match", *dict.fromkeys(name for each in prints for name in each.options)):
        values = {each.match if option == "match" else each.options.get(option) for each in prints}
        if len(values) == 1 and (value := values.pop()) is not None:
            common[option] = value
    return common


def _method_options(subject: ReportSubject) -> dict[str, Any]:
    """The options of the comparison; without one, the level of the intervals."""
    if subject.comparison is None:
        return {"level": subject.level}
    method = subject.comparison.method
    options = {
        "baseline": "none: all pairs are compared" if subject.baseline is None else subject.names[subject.baseline],
        **{field.name: getattr(method, field.name) for field in fields(method) if field.name != "seed"},
    }
    if isinstance(method.equivalence, Mapping):
        options["equivalence"] = ", ".join(f"{measure}={margin:g}" for measure, margin in method.equivalence.items())
    unused = [] if method.test in ("randomization", "tukey") else ["permutations"]
    return {name: value for name, value in options.items() if value is not None and name not in unused}
