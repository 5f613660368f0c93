"""Scores that somebody claims: how they are written, and when a number that was computed is the claimed one.

Claims are texts such as `nDCG@10=0.4123`, a mapping of measures to numbers, a mapping of runs to such mappings, or a
file. A file is one of these:

- JSON: `{"nDCG@10": 0.4123}`, or `{"run": {"nDCG@10": 0.4123}}`; or scores that karat saved, of which the means count;
- a table with a header, as CSV or TSV: a column per measure, and a column `run` if it has several rows;
- lines of a measure and a number, as trec_eval prints them: `map all 0.2734`. Lines about single queries do not count.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import PurePath
from typing import Any

from karat.errors import KaratError, Parameter, Place, did_you_mean, enumeration, require, shown
from karat.errors.arguments import as_number, check_path, is_list_like
from karat.output.delimited import unguarded
from karat.reading.bytes.delimited_text import likely_separator, parsed_rows, row_error
from karat.reading.bytes.file_objects import FileSource, is_file_object
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.bytes.json_decoding import decode_json
from karat.reading.bytes.names import without_suffixes
from karat.reading.columns import check_unique
from karat.reading.columns.spellings import find_column
from karat.registry import Measure
from karat.registry.selection import select_measures
from karat.registry.trec_eval_names import TEXTS

Claimed = Mapping[str, Any] | FileSource | Iterable[FileSource]
"""claims as they may be given: see the top of this module"""

_HINT = "Write a claim as nDCG@10=0.4123, or name a file of claimed scores."
_FILE_HINT = (
    'Claimed scores are JSON such as {"nDCG@10": 0.4123}, a table with a column for each measure, or lines such as'
    " nDCG@10 0.4123."
)
_NUMBER_HINT = "Write a number, such as 0.4123 or 41.23%."
_LONGEST = 100  # characters of a number
_START = 1 << 16  # characters
_LARGEST = 300  # exponent of ten
_FINEST = Decimal("1e-6")
"""smaller differences are those of single precision, and of the order in which values are added up"""
_COARSEST = Decimal("0.1")
"""a share that is written as 1 or 0 is not any share that can be rounded to it"""
_BETWEEN = "\t ,;:="
"""what may stand between a measure and a number"""


@dataclass(frozen=True)
class ClaimedScore:
    """The score that somebody claims for a run."""

    name: str
    """the measure, as it was written"""
    measure: Measure
    text: str
    """the number, as it was written"""
    value: float
    unit: float
    """the unit of the last digit"""
    is_percent: bool = False

    @property
    def decimals(self) -> int:
        """How many digits after the point the value has."""
        return max(0, -Decimal(repr(self.unit)).adjusted())

    def agrees(self, value: float | None) -> bool:
        """Whether a value, rounded to as many digits, is the claimed one.

        >>> claim = claimed_score("AP", "0.4123")
        >>> claim.agrees(0.41234), claim.agrees(0.41225), claim.agrees(0.41236)
        (True, True, False)
        """
        # The allowance is for values in the middle of two roundings.
        return value is not None and abs(value - self.value) <= self.unit / 2 * (1 + 1e-6) + 1e-15 * abs(value)

    def is_cut_off(self, value: float) -> bool:
        """Whether a value is the claimed one if its further digits are left out, not rounded."""
        return self.unit > float(_FINEST) and 0 <= value - self.value < self.unit * (1 - 1e-6)


def claimed_score(name: str, number: Any, rel: float | None = None, place: Place | None = None) -> ClaimedScore:
    """A claim, from the name of a measure and a number; a text keeps the digits that were written."""
    what = f"{shown(number)}, which is claimed for {shown(name)}, is not a number"
    value = as_number(number)
    is_number = value is not None and math.isfinite(value)
    text = number.strip() if isinstance(number, str) else f"{number}" if is_number else ""
    written = _decimal(text.removesuffix("%"))
    if written is None:
        raise KaratError(what, hint=_NUMBER_HINT, place=place)
    try:
        measure, *others = select_measures(name, rel)
        require(not others, f"{shown(name)} are several measures", "Claim a number for each of them.")
        what = f"claims of {measure} are not checked"
        hint = "It depends on more than the judged documents of each query."
        require(measure.definition.takes == "judged", what, hint)
    except KaratError as error:
        raise error.but(place=error.place or place) from None
    low, high = measure.definition.bounds
    is_share = (low, high) == (0, 1)
    is_percent = text.endswith("%") or (is_share and 1 < written <= 100)
    unit = Decimal((0, (1,), int(written.as_tuple().exponent)))
    if is_percent:
        written, unit = written / 100, unit / 100
    hint = f"{measure} is between {low:g} and {high:g}."
    require(low <= written <= high, f"{text}, which is claimed for {name}, is out of range", hint, place=place)
    unit = max(min(unit, _COARSEST) if is_share else unit, _FINEST * max(Decimal(1), abs(written)))
    return ClaimedScore(name.strip(), measure, text, float(written), float(unit), is_percent)


def _decimal(text: str) -> Decimal | None:
    """A number with the digits that are written; None for a text that is not a number, or not one of a score."""
    try:
        number = Decimal("" if "_" in text or len(text) > _LONGEST else text.strip())
    except InvalidOperation:
        return None
    exponent = number.as_tuple().exponent
    return number if isinstance(exponent, int) and max(abs(exponent), abs(number.adjusted())) < _LARGEST else None


def read_claims(claimed: Any, runs: Collection[str], rel: float | None) -> dict[str, tuple[ClaimedScore, ...]]:
    """The claims about each run, by its name in messages. Claims about runs that are not checked are left out."""
    if claimed is None:
        return {}
    require(runs, [Parameter("claimed"), " scores are those of a run, and there is none"], "Name the run.")
    texts = [claimed] if is_file(claimed) else claimed
    if isinstance(claimed, Mapping):
        by_run = _of_mapping(claimed, rel, None)
    else:
        require(is_list_like(texts), [Parameter("claimed", claimed), " are not claimed scores"], _HINT)
        by_run = {}
        for text in texts:
            for run, claims in _of_text(text, rel).items():
                by_run[run] = (*by_run.get(run, ()), *claims)
    require(any(by_run.values()), "no scores are claimed", _HINT)
    return {run: _claims_of(run, by_run, runs) for run in runs}


_ByRun = dict[str | None, tuple[ClaimedScore, ...]]
"""claims by the names of runs as they were claimed; None without a name"""


def _claims_of(run: str, by_run: _ByRun, runs: Collection[str]) -> tuple[ClaimedScore, ...]:
    """The claims about a run: those with its name; of a single run, also those with no name or with the only name."""
    names = [name for name in by_run if name is not None]
    unnamed = by_run.get(None, ())
    several = len(runs) > 1
    hint = 'Claim them by run: {"run": {"nDCG@10": 0.4123}}, in a file or in Python.'
    require(not (several and unnamed), "scores are claimed without a run, and several runs are checked", hint)
    stem = PurePath(without_suffixes(run)).name
    name = next((name for name in (run, stem) if name in names), None)
    if not several and len(names) < 2:
        return (*unnamed, *(claim for name in names for claim in by_run[name]))
    if name is None:
        hint = did_you_mean(stem, names) or f"Scores are claimed for {enumeration(names[:5], 'and')}."
        raise KaratError(f"no scores are claimed for {stem}", hint=hint)
    return (*unnamed, *by_run[name])


def _of_text(text: Any, rel: float | None) -> _ByRun:
    """A claim that is written as a text, or the claims in a file."""
    if is_file_object(text):
        return _of_file(InputFile.of(text), rel)
    path = check_path(text, "claimed")
    name, equals, number = (part.strip() for part in path.rpartition("="))
    if not equals or os.path.exists(path):
        require(equals or os.path.exists(path) or not _is_measure(path), f"{shown(path)} has no number", _HINT)
        return _of_file(InputFile.of(path), rel)
    require(name and number, [Parameter("claimed", path), " is not of the form MEASURE=NUMBER"], _HINT)
    try:
        return {None: (claimed_score(name, number, rel),)}
    except KaratError as error:
        raise error.but(what=[Parameter("claimed", path), ": ", *error.parts]) from None


def _is_measure(text: str) -> bool:
    try:
        return bool(select_measures(text))
    except KaratError:
        return False


def _of_mapping(data: Mapping[Any, Any], rel: float | None, place: Place | None) -> _ByRun:
    """Claims by measure, or by run and measure; or the means in scores that karat saved."""
    if isinstance(data.get("runs"), Mapping):
        data = data["runs"]
    if isinstance(data.get("means"), Mapping):
        data = data["means"]
    by_run: dict[str | None, list[ClaimedScore]] = {}
    for name, value in data.items():
        require(isinstance(name, str), f"{shown(name)} is not the name of a measure or a run", _HINT, place=place)
        if isinstance(value, Mapping):
            means = value["means"] if isinstance(value.get("means"), Mapping) else value
            run, claims = name, means.items()
        else:
            run, claims = None, [(name, value)]
        for measure, number in claims:
            require(isinstance(measure, str), f"{shown(measure)} is not the name of a measure", _HINT, place=place)
            if number is not None:  # as karat writes a measure without a value
                by_run.setdefault(run, []).append(claimed_score(measure, number, rel, place))
    return {run: tuple(claims) for run, claims in by_run.items()}


def _of_file(file: InputFile, rel: float | None) -> _ByRun:
    first = file.first_byte()
    require(first, "the file is empty", _FILE_HINT, place=file.name)
    data = file.read_all()
    if first == b"{":
        claims = _of_mapping(decode_json(data, file.name, _FILE_HINT), rel, Place(file.name))
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise KaratError("this is not UTF-8", place=file.name, hint="Save the file as UTF-8.") from None
        claims = _of_lines(text, rel, file.name)
    require(claims, "the file claims no scores", _FILE_HINT, place=file.name)
    return claims


def _of_lines(text: str, rel: float | None, path: str) -> _ByRun:
    """The claims in a table with a header, or in lines of a measure and a number."""
    separator = likely_separator(text[:_START], lambda names: find_column(names, "system") is not None)
    try:
        rows = list(parsed_rows(text, separator))
    except csv.Error as error:
        raise row_error(error, separator, Place(path, error.args[1] + 1), _FILE_HINT) from None
    header = rows[0].cells if rows else []
    if find_column(header, "system") or (len(rows) > 1 and all(map(_is_measure, header))):
        return _of_table(unguarded([row.cells for row in rows]), [row.line + 1 for row in rows], rel, path)
    claims = []
    for row, line in enumerate(text.splitlines(), 1):
        place = Place(path, row)
        cells = [cell.strip() for cell in line.split("\t")] if line.count("\t") == 2 else line.split()
        if len(cells) == 3 and (cells[1] == "all" or "\t" in line):  # as trec_eval prints them
            if cells[1] == "all" and cells[0] not in TEXTS:
                claims.append(claimed_score(cells[0], cells[2], rel, place))
        elif cells:
            before, number = _last_word(line.strip())
            require(before, f"{shown(line)} is not a measure and a number", _FILE_HINT, place=place)
            claims.append(claimed_score(before, number, rel, place))
    return {None: tuple(claims)} if claims else {}


def _last_word(line: str) -> tuple[str, str]:
    """What stands before the last word of a line, and this word."""
    at = max(map(line.rfind, _BETWEEN))
    return line[: at + 1].rstrip(_BETWEEN), line[at + 1 :]


def _of_table(rows: Sequence[Sequence[str]], lines: Sequence[int], rel: float | None, path: str) -> _ByRun:
    header, *body = rows
    check_unique(header, header, Place(path, lines[0]))
    run = find_column(header, "system")
    several = "the table has several rows, and no column run"
    require(run is not None or len(body) == 1, several, "Add a column run with the name of each run.", place=path)
    by_run: _ByRun = {}
    for cells, line in zip(body, lines[1:], strict=True):
        place = Place(path, line)
        what = f"this line has {len(cells)} columns, but the header has {len(header)}"
        require(len(cells) == len(header), what, place=place)
        named = dict(zip(header, map(str.strip, cells), strict=True))
        name = None if run is None else named.pop(run)
        require(name not in by_run, f"run {name} appears twice", "Keep one of the rows.", place=place)
        by_run[name] = tuple(claimed_score(each, text, rel, place) for each, text in named.items() if text)
    return by_run
