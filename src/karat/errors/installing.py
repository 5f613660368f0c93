"""How a missing part of karat is installed, for the hints of errors."""

from __future__ import annotations

DISTRIBUTION = "karat-eval"
"""The name on the package index, where `karat` is another project."""


def pip_install(extra: str) -> str:
    """The command that installs an extra: of the distribution, or of the checkout that karat is imported from.

    >>> pip_install("llm")  # doctest: +SKIP
    'pip install "karat-eval[llm]"'
    """
    return f'pip install -e ".[{extra}]"' if _is_editable() else f'pip install "{DISTRIBUTION}[{extra}]"'


def _is_editable() -> bool:
    """Whether karat was installed with `pip install -e`."""
    import json
    from importlib import metadata

    try:
        origin = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
        return origin is not None and bool(json.loads(origin).get("dir_info", {}).get("editable"))
    except (metadata.PackageNotFoundError, OSError, ValueError):
        return False  # karat is imported from a folder that is not installed
