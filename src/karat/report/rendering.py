"""The page: content rendered into one HTML file that loads nothing and runs nothing but its own scripts."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from karat.comparison.sentences import p_text
from karat.comparison.tables import letter
from karat.errors import KaratError, enumeration, plural, printable, size_text
from karat.errors.arguments import check_text
from karat.errors.installing import pip_install
from karat.output.files import check_writable, write_text
from karat.report.chart_library import chart_library
from karat.report.content import report_content
from karat.report.plots.axes import unit
from karat.report.provenance import Provenance
from karat.report.subject import Reported
from karat.scores.value_texts import cell_text, nonzero_text

_PACKAGES = {"jinja2": "jinja2", "vl_convert": "vl-convert-python"}
"""what a report needs: modules, and the packages that they are from"""
_PAGE = Path(__file__).parent / "page"
# In reading order; together they are one script.
_SCRIPTS = (
    "elements.js", "content.js", "state.js", "selection.js", "table.js", "chart-data.js", "axes.js", "charts.js",
    "queries.js", "lists.js", "answers.js", "verdicts.js", "query.js", "export.js", "keys.js", "main.js",
)  # fmt: skip
# Systems that a cell names by their letters, and by their names where the pointer is.
_MOST_LETTERS, _MOST_NAMES = 8, 30
_COMPRESS_ABOVE = 300_000  # bytes of JSON
_LEVEL = 6  # the highest level takes more than twice as long, and saves less than 2%


def write_report(
    reported: Reported,
    path: str | os.PathLike[str],
    *,
    queries: Any = None,
    corpus: Any = None,
    by: Mapping[str, Any] = MappingProxyType({}),
    title: str = "",
    provenance: Provenance | None = None,
) -> Path:
    """Write a report: `report_content` documents the arguments. What prevents it is an error before any work."""
    check_report(path)
    check_text("title", title)
    content = report_content(reported, queries=queries, corpus=corpus, by=by, title=title, provenance=provenance)
    write_text(render_page(content), path)
    return Path(path)


def check_report(path: str | os.PathLike[str]) -> None:
    """Raise the error that writing a report would raise, as far as it can be known before any work."""
    missing = [package for module, package in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        what = f"a report needs {enumeration(missing, 'and')}, which {verb} not installed"
        raise KaratError(what, hint=f"Run {pip_install('report')}.")
    check_writable(path)


def render_page(content: Mapping[str, Any]) -> str:
    """The report as one HTML file; the same content gives the same text."""
    styles = (_PAGE / "page.css").read_text("utf-8")
    script = "\n".join((_PAGE / name).read_text("utf-8") for name in _SCRIPTS)
    library = chart_library() if content.get("charts") else ""
    data, encoding = _embedded(content)
    scripts = " ".join(_hash(text) for text in (script, library) if text)
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src {_hash(styles)}; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )
    template = _environment().get_template("page.html.jinja")
    page = template.render(
        content=content,
        policy=policy,
        styles=styles,
        script=script,
        library=library,
        data=data,
        encoding=encoding,
        table=_table(content),
        facts=_facts(content),
        letters=_letters(content),
        reference=_reference(content),
        has_intervals=any(cell.get("low") is not None for row in content["table"]["rows"] for cell in row),
        bounded=any(cell.get("bounds") for row in content["table"]["rows"] for cell in row),
    )
    return str(page)


def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Whatever the template prints is shown as it is, so that it can neither reorder nor hide its neighbours.
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.filters["bytes"] = size_text
    environment.filters["lines"] = str.splitlines
    environment.filters["paragraphs"] = _paragraphs
    environment.filters["code_parts"] = lambda text: re.split("`([^`]+)`", text)
    environment.filters["option"] = _option
    environment.filters["sentence"] = _sentence
    return environment


def _embedded(content: Mapping[str, Any]) -> tuple[str, str]:
    """The content as JSON that cannot end the element that contains it, and how it is encoded."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    if len(text) <= _COMPRESS_ABOVE:
        return text.replace("<", "\\u003c").replace(">", "\\u003e"), "json"
    # Compressed, UTF-8 is smaller than escapes. Lone surrogates, which it does not have, stay escapes.
    encoded = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")
    return base64.b64encode(gzip.compress(encoded, _LEVEL, mtime=0)).decode("ascii"), "gzip"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _reference(content: Mapping[str, Any]) -> int | None:
    """The system that differences are shown from; None if there are none."""
    references = (cell.get("against") for row in content["table"]["rows"] for cell in row)
    return next((system for system in references if system is not None), None)


def _letters(content: Mapping[str, Any]) -> list[str]:
    """The letter of each system, if cells name systems by their letters."""
    named = any(cell.get("better_than") is not None for row in content["table"]["rows"] for cell in row)
    return [letter(at) for at in range(len(content["systems"]))] if named else []


def _facts(content: Mapping[str, Any]) -> list[str]:
    counts = {
        "query": len(content["queries"]["id"]),
        "system": len(content["systems"]),
        "measure": len(content["measures"]),
    }
    return [plural(count, noun) for noun, count in counts.items()]


def _table(content: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """The cells of the table as texts, with the places of their intervals on the scale of their column in percent."""
    rows = content["table"]["rows"]
    scales = _scales(content)
    return [
        [
            _cell(cell, measure["name"], scale, content)
            for cell, measure, scale in zip(row, content["measures"], scales, strict=True)
        ]
        for row in rows
    ]


def _scales(content: Mapping[str, Any]) -> list[tuple[float, float] | None]:
    """The scale of each measure: that of its column or, where measures are rows, of all rows in its unit."""
    columns = list(zip(*content["table"]["rows"], strict=True))
    if not content["table"]["by_measure"]:
        return [_scale(cells) for cells in columns]
    names = [measure["name"] for measure in content["measures"]]
    unit_of = [unit(name, _finite(cells)) for name, cells in zip(names, columns, strict=True)]
    alike = {
        each: [cell for at, cells in enumerate(columns) if unit_of[at] == each for cell in cells] for each in unit_of
    }
    scales = {each: _scale(cells) if each else (0.0, 1.0) for each, cells in alike.items()}
    return [scales[each] for each in unit_of]


def _cell(
    cell: Mapping[str, Any], measure: str, scale: tuple[float, float] | None, content: Mapping[str, Any]
) -> dict[str, Any]:
    mean, low, high, difference = (_number(cell.get(key)) for key in ("mean", "low", "high", "difference"))
    drawn = None
    if scale is not None and None not in (mean, low, high):
        places = (_percent(value, scale) for value in (low, mean, high) if value is not None)
        drawn = dict(zip(("low", "mean", "high"), places, strict=True))
    against = cell.get("against")
    return {
        "value": "" if mean is None else mean,
        "text": _text(cell.get("mean"), measure),
        "interval": None if low is None or high is None else f"{_text(low, measure)} – {_text(high, measure)}",
        "bounds": None if not cell.get("bounds") else " – ".join(_text(end, measure) for end in cell["bounds"]),
        "drawn": drawn,
        "best": bool(cell.get("best")),
        "difference": None if difference is None else nonzero_text(difference, measure, "+").replace("-", "−"),
        "p": None if cell.get("p") is None else p_text(cell["p"], content["table"]["alpha"], named=True),
        "significant": cell.get("significant"),
        "against": None if against is None else content["systems"][against],
        **_better_than(sorted(cell.get("better_than") or ()), content["systems"]),
    }


def _better_than(beaten: Sequence[int], systems: Sequence[str]) -> dict[str, Any]:
    """The systems that one is significantly better than: the letters and the names of the first of them."""
    letters = [letter(at) for at in beaten[:_MOST_LETTERS]]
    names = [systems[at] for at in beaten[:_MOST_NAMES]]
    return {
        "better_than": letters,
        "better_others": _others(len(beaten) - len(letters)),
        "better_names": ", ".join(names) + _others(len(beaten) - len(names)),
    }


def _others(count: int) -> str:
    return f" and {plural(count, 'other')}" if count > 0 else ""


def _scale(cells: Sequence[Mapping[str, Any]]) -> tuple[float, float] | None:
    """What the left and right end of a column stand for, with a margin; None if nothing can be drawn."""
    finite = _finite(cells)
    if not finite:
        return None
    low, high = min(finite), max(finite)
    margin = (high - low) * 0.06 or 0.5
    return low - margin, high + margin


def _finite(cells: Iterable[Mapping[str, Any]]) -> list[float]:
    """The means of some cells and the ends of their intervals."""
    values = [_number(cell.get(key)) for cell in cells for key in ("mean", "low", "high")]
    return [value for value in values if value is not None and abs(value) != float("inf")]


def _percent(value: float, scale: tuple[float, float]) -> float:
    low, high = scale
    return round(100 * min(max((value - low) / (high - low), 0.0), 1.0), 2)


def _number(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]  # a number, "inf" or "-inf"


def _text(value: object, measure: str) -> str:
    number = _number(value)
    if number is not None and abs(number) == float("inf"):
        return "∞" if number > 0 else "−∞"
    return cell_text(number, measure)


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a docstring, each on one line."""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]


def _option(value: object) -> object:
    """The value of an option as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else value


def _sentence(finding: str, content: Mapping[str, Any]) -> str:
    """A finding, which begins in lower case after `note:`, as a sentence, unless it begins with a name."""
    word = finding.split(maxsplit=1)[0] if finding.strip() else ""
    is_name = word in (*content["systems"], *content["queries"]["id"])
    return finding if is_name or not word.isalpha() else finding[0].upper() + finding[1:]
