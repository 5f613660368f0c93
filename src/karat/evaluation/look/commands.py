"""Commands that can be run next, with the options by which the files were read; or calls, if they are not files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from karat.errors import shown
from karat.errors.command_lines import command_line
from karat.evaluation.reading import ReadingOptions
from karat.reading.bytes.input_file import InputFile
from karat.reading.columns import IfPresent
from karat.reading.records.joining import JoinedSources

_LONGEST = 1000  # characters of a value: whoever copies a call needs all of it


def path_of(source: Any) -> str | None:
    """The path of a file; None for anything else."""
    if isinstance(source, InputFile):
        return source.path
    return os.fsdecode(source) if isinstance(source, str | os.PathLike) else None


@dataclass(frozen=True)
class LookOptions:
    """How files are read: what the caller says about them."""

    inputs: ReadingOptions
    fields: Mapping[str, str] = field(default_factory=dict)
    input_format: str | None = None
    records: str | None = None
    truth: Any = None
    """gold that is elsewhere"""
    answers: Any = None

    @property
    def joins(self) -> JoinedSources:
        """What is joined to a log."""
        inputs = self.inputs
        about = inputs.truth_columns, inputs.truth_format, inputs.split
        return JoinedSources.of(self.truth, self.answers, self.fields, *about)

    def command(self, name: str, files: Sequence[str], **options: Any) -> str:
        """A command that reads these files in the same way; a list is an option that is repeated."""
        words = [*files, *self._words()]
        for option, value in options.items():
            for each in value if isinstance(value, list | tuple) else [value]:
                words += [f"--{option}"] if each is True else [f"--{option}", str(each)]
        return command_line(["karat", name, *words])

    def call(self, name: str, **options: Any) -> str:
        """A call of a function that reads a log in the same way."""
        about = {"fields": dict(self.fields), "input_format": self.input_format, "records": self.records}
        about |= {side: path_of(source) or "..." for side, source in self._joined.items() if source is not None}
        given = (f"{option}={shown(value, _LONGEST)}" for option, value in {**about, **options}.items() if value)
        return f"karat.{name}({', '.join(['log', *given])})"

    @property
    def _joined(self) -> dict[str, Any]:
        return {"truth": self.truth, "answers": self.answers}

    def _words(self) -> list[str]:
        inputs = self.inputs
        columns: dict[str, None] = {}
        for side, names in (("truth", inputs.truth_columns), ("run", inputs.run_columns)):
            for role, name in (names or {}).items():
                columns[f"{role}={name.name}" if isinstance(name, IfPresent) else f"{side}.{role}={name}"] = None
        formats = [("truth=", inputs.truth_format), ("run=", inputs.run_format), ("", self.input_format)]
        if inputs.truth_format == inputs.run_format is not None:
            formats = [("", inputs.truth_format)]
        options: dict[str, Iterable[str | None]] = {
            "--field": [f"{name}={path}" for name, path in self.fields.items()],
            "--records": [self.records],
            "--column": columns,
            "--input-format": [f"{side}{form}" for side, form in formats if form],
            "--split": [inputs.split],
            "--truth": [path_of(self.truth)],
            "--answers": [path_of(self.answers)],
        }
        return [word for option, values in options.items() for value in values if value for word in (option, value)]
