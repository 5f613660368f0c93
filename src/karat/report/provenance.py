"""How a report was made: the command, the files with their hashes, versions, options and the seed."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from karat import __version__
from karat.grounding.verdict_file.calls import Call, count_calls
from karat.report.subject import ReportSubject
from karat.scores.fingerprint import Fingerprint
from karat.stats import SEED

_PACKAGES = ("numpy", "pyarrow", "rapidfuzz", "sentence-transformers", "altair", "vl-convert-python", "jinja2")
_BLOCK = 1 << 20


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
            "command": self.command,
            "created": created,
            "karat": __version__,
            "python": platform.python_version(),
            "packages": dict(_versions(_PACKAGES)),
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
    found: list[Sequence[Call]] = []
    for scores in subject.systems.values():
        of_answers = () if scores.verdicts is None else scores.verdicts.selected.records.calls
        grades = None if scores.evidence is None else scores.evidence.truth.labels
        for calls in (of_answers, () if grades is None else grades.calls):
            if calls not in found:
                found.append(calls)
    return [call for calls in found for call in calls]


def _versions(packages: Iterable[str]) -> Iterable[tuple[str, str]]:
    for package in packages:
        try:
            yield package, metadata.version(package)
        except metadata.PackageNotFoundError:
            continue


def _file(name: str) -> dict[str, Any]:
    """The size and the hash of a file; both are None for what cannot be read again, such as a pipe or a folder."""
    size = digest = None
    try:
        if os.path.isfile(name):
            found = hashlib.sha256()
            size = 0
            with open(name, "rb") as file:
                while block := file.read(_BLOCK):
                    size += len(block)
                    found.update(block)
            digest = found.hexdigest()
    except OSError:
        size = digest = None
    return {"name": name, "bytes": size, "sha256": digest}


def _evaluation_options(subject: ReportSubject) -> dict[str, Any]:
    """The match and the options of the evaluation, if all systems have the same."""
    prints: list[Fingerprint] = [each.fingerprint for each in subject.systems.values() if each.fingerprint is not None]
    found: dict[str, Any] = {}
    for option in ("match", *dict.fromkeys(name for each in prints for name in each.options)):
        values = {each.match if option == "match" else each.options.get(option) for each in prints}
        if len(values) == 1 and (value := values.pop()) is not None:
            found[option] = value
    return found


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
