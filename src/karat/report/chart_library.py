"""The chart library of a page: vl-convert bundles it, which takes seconds, so the result is kept in a cache folder."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from karat.errors import KaratError
from karat.errors.installing import pip_install
from karat.output.files import write_chunks

_PACKAGE = "vl-convert-python"
_SNIPPET = "window.vegaEmbed = vegaEmbed;"
"""what the page needs of Vega, Vega-Lite and Vega-Embed"""


@cache
def chart_library() -> str:
    """The JavaScript that draws charts, from the cache if it is there and whole; otherwise it is made and cached."""
    try:
        import vl_convert
    except ImportError:
        raise KaratError("a report with charts needs vl-convert-python", hint=pip_install("report")) from None
    folder = _cache_folder()
    name = f"vega-{version(_PACKAGE)}-{hashlib.sha256(_SNIPPET.encode()).hexdigest()[:16]}.js"
    cached = None if folder is None else _read(folder / name)
    if cached is not None:
        return cached
    library = str(vl_convert.javascript_bundle(_SNIPPET))
    if folder is not None:
        _write(folder / name, library)
    return library


def _cache_folder() -> Path | None:
    """Where files that can be made again are kept; None if this user has no such folder."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):  # the specification says that other values are ignored
        return Path(given) / "karat"
    with suppress(RuntimeError):  # there is no home folder
        of_user = Path.home() / {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache")
        return of_user / "karat"
    return None


def _read(path: Path) -> str | None:
    """A library that was written before; None if there is none, or if it is damaged."""
    with suppress(OSError):
        digest, _, library = path.read_bytes().partition(b"\n")
        if digest == hashlib.sha256(library).hexdigest().encode():
            return library.decode()
    return None


def _write(path: Path, library: str) -> None:
    """Write the digest of a library and the library, if that is possible: a report does not need the cache."""
    content = library.encode()
    digest = hashlib.sha256(content).hexdigest().encode()
    with suppress(OSError, KaratError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_chunks(path, [digest, b"\n", content])
