"""Writing a report to a file, completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from karat.errors import KaratError, enumeration
from karat.errors.arguments import check_text
from karat.errors.installing import pip_install
from karat.output.files import check_writable, write_text
from karat.report.content import report_content
from karat.report.provenance import Provenance
from karat.report.rendering import render_page
from karat.report.subject import Reported

_MODULES = {"jinja2": "jinja2", "vl_convert": "vl-convert-python"}


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
    missing = [package for module, package in _MODULES.items() if find_spec(module) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        what = f"a report needs {enumeration(missing, 'and')}, which {verb} not installed"
        raise KaratError(what, hint=f"Run {pip_install('report')}.")
    check_writable(path)
