"""The rules and options of a gate from a file: `[gate]` of karat.toml, or `[tool.karat.gate]` of pyproject.toml."""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from karat.comparison import choose_method
from karat.comparison.gate.rules import KINDS, Kind, Rule, check_unique, example_limit, rules_of
from karat.errors import KaratError, NoSuchFileError, Parameter, Place, did_you_mean, require, shown
from karat.errors.arguments import as_number, check_path, is_remote
from karat.matching.matchers import matcher_of
from karat.options import (
    EVALUATION_OPTIONS,
    Correction,
    GateOptions,
    GateUnknown,
    Order,
    RankingOptions,
    Test,
    find_choice,
)
from karat.reading.bytes.kinds import PEEK, check_is_text
from karat.reading.pairs.data_sets import named_data_set
from karat.reading.records.records import field_names

_EVALUATION = {name.replace("_", "-"): option for name, option in EVALUATION_OPTIONS.items()}
_CHOICES: dict[str, tuple[str, ...]] = {
    "test": get_args(Test), "correction": get_args(Correction), "unknown": get_args(GateUnknown),
    "order": get_args(Order),
    **{name: option.choices for name, option in _EVALUATION.items() if option.choices},
}  # fmt: skip
_SWITCHES = (
    "significant",
    "common-queries",
    "correct",
    *(name for name, option in _EVALUATION.items() if option.default is False),
)
_NUMBERS = ("level", "rel")
_TEXTS = ("match", "baseline", "split", "report", "author", "records", "truth", "answers")
_FILES = ("queries", "corpus", "verdicts")
_INPUT_VALUES = {"input-format": "a format", "column": "a table of column names"}
_KEYS = (
    *KINDS, *_CHOICES, *_SWITCHES, *_NUMBERS, *_TEXTS, *_FILES, "lower-is-better", "field", "input-format", "column",
)  # fmt: skip
_LARGEST = 4 << 20  # bytes


def _example(kind: Kind = "min") -> str:
    return f'"nDCG@10" = {example_limit(kind)}'


def _quotes_hint(kind: Kind = "min") -> str:
    return f"Put names that contain @, . or ( in quotes: {_example(kind)}."


_START_HINT = f"Start with [gate.min] and a line such as {_example()}."


class Options(RankingOptions, GateOptions, total=False):
    """The options that a file sets."""

    match: str
    field: dict[str, str]
    records: str
    input_format: str | dict[str, str]
    column: dict[str, str]
    split: str
    report: str
    queries: list[str]
    corpus: list[str]
    verdicts: list[str]
    author: str
    order: Order
    truth: str
    answers: str


@dataclass(frozen=True)
class Config:
    """The rules and options of a file, and the path of its baseline; paths are relative to the working directory."""

    file: str
    rules: tuple[Rule, ...]
    options: Options = field(default_factory=Options)
    baseline: str | None = None
    table: str = "gate"

    @property
    def gate_options(self) -> GateOptions:
        """The options of the gate itself, without those of the evaluation."""
        names = GateOptions.__annotations__
        return cast("GateOptions", {name: value for name, value in self.options.items() if name in names})

    @contextmanager
    def naming_keys(self, options: Collection[str]) -> Iterator[None]:
        """Let errors about these options, which the file sets, name the file and its keys."""
        try:
            yield
        except KaratError as error:
            if error.parameter in options:
                error.place, error.spelling = error.place or self.place, _as_key
            raise

    @property
    def place(self) -> Place:
        """The table of the file."""
        return Place(self.file, field=self.table)


def find_config() -> Config | None:
    """The config of this folder: its karat.toml, or else its pyproject.toml if it has a `[tool.karat.gate]` table."""
    for name in ("karat.toml", "pyproject.toml"):
        if os.path.exists(name):
            head, data = _table(name)
            if data is not None or name == "karat.toml":
                return _config(name, head, data)
    return None


def read_config(path: str | os.PathLike[str]) -> Config:
    """The config in a file; an error names the file and the key."""
    file = check_path(path, "config")
    return _config(file, *_table(file))


def _table(path: str) -> tuple[tuple[str, ...], object]:
    """The keys that lead to the gate table, and the table; None if the file does not have it."""
    parents = ("tool", "karat") if Path(path).name == "pyproject.toml" else ()
    data = _parse(path)
    for at, name in enumerate(parents, 1):
        data = data.get(name, {})
        require(isinstance(data, dict), f"{shown(data)} is not a table", place=_where(path, parents[:at]))
    _check_top_level(path, parents, data)
    return (*parents, "gate"), data.get("gate")


def _parse(path: str) -> dict[str, Any]:
    """The content of a TOML file."""
    require(path, "the name of the configuration file is empty", "Name a karat.toml or pyproject.toml.")
    try:
        with open(path, "rb") as file:
            raw = file.read(_LARGEST + 1)
    except FileNotFoundError:
        raise NoSuchFileError(path) from None
    except (OSError, ValueError) as error:
        if os.path.isdir(path):  # opening it is another error on Windows
            hint = "Name the karat.toml or pyproject.toml in it."
            raise KaratError("this is a folder, not a file", place=path, hint=hint) from None
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise KaratError(f"cannot be read: {reason}", place=path) from None
    check_is_text(raw[:PEEK], path, "TOML is read here")
    require(len(raw) <= _LARGEST, f"the file is larger than {_LARGEST >> 20} MB", _START_HINT, place=path)
    if raw.lstrip()[:1] == b"{":
        raise KaratError("this file is JSON; TOML is read here", place=path, hint=_START_HINT)
    try:
        # Editors on Windows may write a byte order mark.
        return tomllib.loads(raw.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise KaratError("the file is not UTF-8", place=Place(path, line), hint="Save the file as UTF-8.") from None
    except RecursionError:
        raise KaratError("tables are nested too deeply", place=path, hint=_START_HINT) from None
    except ValueError as error:
        problem, _, position = str(error).partition(" (at ")
        line_number = re.match(r"line (\d+)", position)
        place = Place(path, int(line_number[1]) if line_number else None)
        # tomllib's message for a name that needs quotes begins with one of these words.
        needs_quotes = problem.startswith(("Expected", "Invalid"))
        too_long = problem.startswith("Exceeds the limit")  # Python's message for an integer of thousands of digits
        what = "a number has thousands of digits" if too_long else f"this is not valid TOML: {problem}"
        raise KaratError(what, place=place, hint=_quotes_hint() if needs_quotes else None) from None


def _check_top_level(path: str, parents: tuple[str, ...], data: Mapping[str, Any]) -> None:
    """Reject all keys but `gate`, with a hint for rules and options that are written one level too high."""
    head = ".".join((*parents, "gate"))
    for key in data:
        place, name = _where(path, (*parents, key)), key.replace("_", "-")
        if name in _KEYS:
            table = f"{head}.{name}" if name in KINDS else head
            raise KaratError("this key belongs in another table", place=place, hint=f"Write it in [{table}].")
        hint = f"{did_you_mean(key, ['gate'])} Rules belong in [{head}].".strip()
        require(key == "gate", "unknown key", hint, place=place)


def _config(path: str, head: tuple[str, ...], data: object) -> Config:
    table = ".".join(head)
    require(data is not None, f"there is no [{table}] table", _START_HINT.replace("gate", table), place=path)
    if not isinstance(data, dict):
        raise KaratError(f"{shown(data)} is not a table", place=_where(path, head), hint=_START_HINT)
    options: dict[str, Any] = {}
    for key, value in data.items():
        place = _where(path, (*head, key))
        hint = f"{did_you_mean(key, _KEYS)} The keys are {', '.join(_KEYS)}.".strip()
        require(key != "force", "unknown key", "Use --force on the command line, for one run.", place=place)
        require(key in _KEYS, "unknown key", hint, place=place)
        if key in KINDS:
            continue
        if key == "field":
            _check_fields(value, path, (*head, key))
        elif key in ("input-format", "column"):
            is_table = isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
            valid = is_table or (key == "input-format" and isinstance(value, str))
            hint = 'Write "csv", or { run = "csv" }.' if key == "input-format" else 'Write { doc = "docno" }.'
            require(valid, f"{shown(value)} is not {_INPUT_VALUES[key]}", hint, place=place)
        elif key == "lower-is-better":
            valid = isinstance(value, list) and all(isinstance(each, str) for each in value)
            require(valid, f"{shown(value)} is not a list of names", 'Write ["latency"].', place=place)
        elif key in _FILES:
            value = [value] if isinstance(value, str) else value
            valid = isinstance(value, list) and value and all(isinstance(each, str) and each for each in value)
            hint = f'Write "{key}.jsonl", or a list of files.'
            require(valid, f"{shown(value)} is not the name of a file", hint, place=place)
            value = [_relative_to(path, each) for each in value]
        else:
            _check_option(key, value, place)
        options[key.replace("-", "_")] = value
    with _errors_at(_where(path, head)):
        choose_method(**{name: value for name, value in options.items() if name in ("test", "correction")})
    rules = [rule for kind in KINDS if kind in data for rule in _rules(path, (*head, kind), kind, data[kind])]
    check_unique(rules)
    for name in ("baseline", "report", "truth", "answers"):
        if name in options:
            options[name] = _relative_to(path, str(options[name]))
    _check_report(path, options.get("report"), _where(path, (*head, "report")))
    baseline = options.pop("baseline", None)
    return Config(path, tuple(rules), cast("Options", options), baseline, table)


def _relative_to(config: str, file: str) -> str:
    """A file that a configuration file names, relative to its own folder."""
    return file if is_remote(file) or named_data_set(file) else os.fspath(Path(config).parent / file)


def _check_report(config: str, report: str | None, place: Place) -> None:
    """Reject a report that is not a page in the folder of the configuration file, which someone else may have written.

    It would replace whatever is there, also where a link leads to.
    """
    if report is None or is_remote(report):
        return  # remote files are never written
    folder, target = Path(os.path.realpath(Path(config).parent)), Path(os.path.realpath(report))
    hint = "Name another one, or use --report on the command line."
    inside = target.is_relative_to(folder)
    require(inside, "this file is not in the folder of the configuration file", hint, place=place)
    require(
        target.suffix.lower() in (".html", ".htm"), "the name of this file does not end in .html", hint, place=place
    )


def _rules(path: str, keys: tuple[str, ...], kind: Kind, data: object) -> Iterable[Rule]:
    if not isinstance(data, dict):
        hint = f"Write a measure and its limit, for example {_example(kind)}."
        raise KaratError(f"{shown(data)} is not a table", place=_where(path, keys), hint=hint)
    for measure, limit in data.items():
        place = _where(path, (*keys, measure))
        require(not isinstance(limit, dict), "this is a table, not a limit", _quotes_hint(kind), place=place)
        yield from rules_of(kind, measure, limit, place)


def _check_option(name: str, value: object, place: Place) -> None:
    """Check the value of an option."""
    if name in _CHOICES:
        known = _CHOICES[name]
        near = did_you_mean(value, known)
        is_known = find_choice(name, value, known) is not None
        require(is_known, f"{shown(value)} is not one of {', '.join(known)}", near, place=place)
    elif name in _SWITCHES:
        hint = "Write true or false, without quotes."
        require(isinstance(value, bool), f"{shown(value)} is neither true nor false", hint, place=place)
    elif name in _NUMBERS:
        number = as_number(value)
        if number is None:
            raise KaratError(f"{shown(value)} is not a number", place=place)
        if name == "level":
            require(0 < number < 1, f"{shown(value)} is not between 0 and 1", "For 95%, write 0.95.", place=place)
        require(math.isfinite(number), f"{shown(value)} is not a finite number", place=place)
    else:
        if not isinstance(value, str):
            raise KaratError(f"{shown(value)} is not a string", place=place, hint="Write it in quotes.")
        require(value, "the value is empty", place=place)
        if name == "match":
            with _errors_at(place):
                matcher_of(value)


def _check_fields(value: object, path: str, keys: tuple[str, ...]) -> None:
    """Check the table that maps the fields karat reads to the names they have in results."""
    if not isinstance(value, dict):
        hint = 'Write karat\'s field name and yours, such as retrieved = "nodes".'
        raise KaratError(f"{shown(value)} is not a table", place=_where(path, keys), hint=hint)
    for role, name in value.items():
        with _errors_at(_where(path, (*keys, role))):
            field_names({role: name})


@contextmanager
def _errors_at(place: Place) -> Iterator[None]:
    """Give errors a place in the file, and let them spell parameters as keys."""
    try:
        yield
    except KaratError as error:
        error.place, error.spelling = place, _as_key
        raise


def _as_key(parameter: Parameter) -> str:
    """A parameter as it is written in the file."""
    value = f" = {json.dumps(parameter.value, ensure_ascii=False, default=shown)}" if parameter.has_value else ""
    return f"{parameter.name.replace('_', '-')}{value}"


def _where(path: str, keys: Iterable[str]) -> Place:
    """A file and a key, with the quotes that TOML needs."""
    quoted = (key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False) for key in keys)
    return Place(path, field=".".join(quoted))
