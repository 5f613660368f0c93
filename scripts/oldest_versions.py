#!/usr/bin/env python3
"""Print the oldest version of each dependency of karat and of its extras, as constraints for pip.

Usage::

    python scripts/oldest_versions.py > constraints.txt
"""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def oldest_versions() -> dict[str, str]:
    """The lower bound of each package that karat or one of its extras needs."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    bounds = {}
    for requirement in chain(project["dependencies"], *project["optional-dependencies"].values()):
        if found := re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement):
            bounds[found[1]] = found[2]
        elif not requirement.startswith(f"{project['name']}["):
            raise ValueError(f"{PROJECT}: {requirement} does not have the form PACKAGE>=VERSION")
    return bounds


if __name__ == "__main__":
    print("\n".join(f"{name}=={version}" for name, version in oldest_versions().items()))
