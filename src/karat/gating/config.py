"""Rules from a file: `[gate]` of karat.toml, or `[tool.karat.gate]` of a pyproject.toml."""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from karat.errors import KaratError, did_you_mean, shown
from karat.gating.rules import KINDS, Kind, Rule, refuse_repeats
from karat.matching.matchers import matcher_of
from karat.options import EVALUATION_OPTIONS, Correction, EvaluationOptions, Queries, Test
from karat.sources.records import field_names

_EVALUATION = {name.replace("_", "-"): option for name, option in EVALUATION_OPTIONS.items()}
_CHOICES: dict[str, tuple[str, ...]] = {
    "test": get_args(Test), "correction": get_args(Correction), "queries": get_args(Queries),
    **{name: option.choices for name, option in _EVALUATION.items() if option.choices},
}  # fmt: skip
_SWITCHES = ("significant", *(name for name, option in _EVALUATION.items() if option.default is False))
_NUMBERS = ("level", "rel")
_TEXTS = ("match", "baseline")
_KEYS = (*KINDS, *_CHOICES, *_SWITCHES, *_NUMBERS, *_TEXTS, "field")
_EXAMPLE = '"nDCG@10" = 0.6'
_QUOTES = f"A name with @, . or ( is written in quotes: {_EXAMPLE}."
_START = f"Begin with [gate.min] and a line such as {_EXAMPLE}."


class Options(EvaluationOptions, total=False):
    """What a file says of how to evaluate and how to test; what it leaves out is not here."""

    significant: bool
    test: Test
    correction: Correction
    level: float
    queries: Queries
    field: dict[str, str]


@dataclass(frozen=True)
class Config:
    """The rules of a file, its options, and the path of the baseline, as seen from where karat runs."""

    file: str
    rules: tuple[Rule, ...]
    options: Options = field(default_factory=Options)
    baseline: str | None = None
    table: str = "gate"


def find(folder: str | os.PathLike[str] = ".") -> Config | None:
    """The rules of a folder: its karat.toml, or else its pyproject.toml if that has any."""
    for name in ("karat.toml", "pyproject.toml"):
        path = Path(folder, name)
        if path.exists():
            head, data = _table(os.fspath(path))
            if data is not None or name == "karat.toml":
                return _config(os.fspath(path), head, data)
    return None


def read(path: str | os.PathLike[str]) -> Config:
    """The rules of a file that is there for them; every mistake in it is an error with file and key."""
    return _config(os.fspath(path), *_table(os.fspath(path)))


def _table(path: str) -> tuple[tuple[str, ...], object]:
    """The keys of the table with the rules, and the table; None where there is none."""
    tables = ("tool", "karat") if Path(path).name == "pyproject.toml" else ()
    data = _parsed(path)
    for at, name in enumerate(tables, 1):
        data = data.get(name, {})
        if not isinstance(data, dict):
            raise _error(path, tables[:at], f"{shown(data)} is no table")
    _refuse_unknown_tables(path, tables, data)
    return (*tables, "gate"), data.get("gate")


def _parsed(path: str) -> dict[str, Any]:
    """A file's TOML."""
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise KaratError("there is no such file", where=path) from None
    except IsADirectoryError:
        raise KaratError("this is a folder", where=path, hint="Name the karat.toml or pyproject.toml in it.") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise KaratError(f"cannot be read: {reason}", where=path) from None
    try:
        # Editors of Windows put a mark before the first letter.
        return tomllib.loads(raw.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise KaratError("this is not UTF-8", where=f"{path}:{line}", hint="Save the file as UTF-8.") from None
    except RecursionError:
        raise KaratError("this is nested too deeply", where=path, hint=_START) from None
    except ValueError as error:
        problem, _, place = str(error).partition(" (at ")
        line_number = re.match(r"line (\d+)", place)
        where = f"{path}:{line_number[1]}" if line_number else path
        # What tomllib expects after a name that should be in quotes.
        hint = _QUOTES if problem.startswith(("Expected", "Invalid")) else None
        raise KaratError(f"this is not TOML: {problem}", where=where, hint=hint) from None


def _refuse_unknown_tables(path: str, tables: tuple[str, ...], data: Mapping[str, Any]) -> None:
    """Beside [gate] there is nothing; rules are often written one level too high."""
    for key in data:
        if key == "gate":
            continue
        head = ".".join((*tables, "gate"))
        if key in _KEYS or key.replace("_", "-") in _KEYS:
            table = f"[{head}.{key.replace('_', '-')}]" if key.replace("_", "-") in KINDS else f"[{head}]"
            raise _error(
                path, (*tables, key), "this has no place here", f"Rules stand in [{head}]: write it in {table}."
            )
        near = did_you_mean(key, ["gate"])
        raise _error(path, (*tables, key), "there is no such key", f"{near} Rules stand in [{head}].".strip())


def _config(path: str, head: tuple[str, ...], data: object) -> Config:
    if data is None:
        name = ".".join(head)
        raise KaratError(f"there is no [{name}] in it", where=path, hint=_START.replace("gate", name))
    if not isinstance(data, dict):
        raise _error(path, head, f"{shown(data)} is no table", _START)
    options: dict[str, object] = {}
    for key, value in data.items():
        if key not in _KEYS:
            near = did_you_mean(key, _KEYS)
            raise _error(path, (*head, key), "there is no such key", f"{near} There are {', '.join(_KEYS)}.".strip())
        if key not in KINDS:
            options[key.replace("-", "_")] = _option(path, (*head, key), value)
    rules = [rule for kind in KINDS if kind in data for rule in _rules(path, (*head, kind), kind, data[kind])]
    refuse_repeats(rules)
    baseline = options.pop("baseline", None)
    beside = None if baseline is None else os.fspath(Path(path).parent / str(baseline))
    return Config(path, tuple(rules), cast("Options", options), beside, ".".join(head))


def _rules(path: str, keys: tuple[str, ...], kind: Kind, data: object) -> Iterable[Rule]:
    if not isinstance(data, dict):
        raise _error(path, keys, f"{shown(data)} is no table", f"Write a measure and its limit, as {_EXAMPLE}.")
    for measure, limit in data.items():
        if isinstance(limit, dict):
            raise _error(path, (*keys, measure), "this is a table, where a limit is due", _QUOTES)
        yield Rule(kind, measure, limit, _where(path, (*keys, measure)))


def _option(path: str, keys: tuple[str, ...], value: object) -> object:
    """The value of an option, if it can be one."""
    name = keys[-1]
    if name in _CHOICES:
        known = _CHOICES[name]
        if value not in known:
            near = did_you_mean(value, known) if isinstance(value, str) else ""
            raise _error(path, keys, f"{shown(value)} is not one of {', '.join(known)}", near)
    elif name in _SWITCHES:
        if not isinstance(value, bool):
            raise _error(
                path, keys, f"{shown(value)} is neither true nor false", "Write true or false, without quotes."
            )
    elif name in _NUMBERS:
        _refuse_wrong_number(path, keys, value)
    elif name == "field":
        _refuse_wrong_fields(path, keys, value)
    else:
        _refuse_wrong_text(path, keys, value)
    return value


def _refuse_wrong_number(path: str, keys: tuple[str, ...], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _error(path, keys, f"{shown(value)} is not a number")
    if keys[-1] == "level" and not 0 < value < 1:
        raise _error(path, keys, f"{shown(value)} is not between 0 and 1", "For 95% write 0.95.")
    if isinstance(value, float) and not math.isfinite(value):
        raise _error(path, keys, f"{shown(value)} is no grade", "Give a finite number, such as 2.")


def _refuse_wrong_fields(path: str, keys: tuple[str, ...], value: object) -> None:
    if not isinstance(value, dict):
        raise _error(path, keys, f"{shown(value)} is no table", 'Write what results call a field: retrieved = "nodes".')
    for role in value:
        try:
            field_names({role: value[role]})
        except KaratError as error:
            raise _error(path, (*keys, role), error.what, error.hint) from None


def _refuse_wrong_text(path: str, keys: tuple[str, ...], value: object) -> None:
    if not isinstance(value, str) or not value:
        raise _error(path, keys, f"{shown(value)} is no text", "Write it in quotes.")
    if keys[-1] == "match":
        try:
            matcher_of(value)
        except KaratError as error:
            raise _error(path, keys, error.what, error.hint) from None


def _error(path: str, keys: Iterable[str], what: str, hint: str | None = None) -> KaratError:
    return KaratError(what, where=_where(path, keys), hint=hint)


def _where(path: str, keys: Iterable[str]) -> str:
    """A file and a key, written as TOML writes it."""
    return f"{path}: " + ".".join(
        key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False) for key in keys
    )
