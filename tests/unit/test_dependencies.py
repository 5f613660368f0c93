"""The page about dependencies lists what is declared, with the license that each package states."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distributions, metadata
from pathlib import Path

import pytest
from oldest_versions import oldest_versions

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\|(?: `[\w-]+` \|)? `([\w-]+)>=[\d.]+` \| (.*?) \|", PAGE, re.MULTILINE))
# The page is about the newest versions: earlier ones may have had another license.
OLDEST = {name: version.split(".") for name, version in oldest_versions().items()}
INSTALLED = {
    each.metadata["Name"]
    for each in distributions()
    if (oldest := OLDEST.get(each.metadata["Name"])) and each.version.split(".")[: len(oldest)] != oldest
}


def test_the_page_has_the_bound_of_every_dependency_and_the_extra_that_installs_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert ROWS.keys() == oldest_versions().keys()
    for requirement in project["dependencies"]:
        assert f"\n| `{requirement}` |" in PAGE
    for extra, requirements in project["optional-dependencies"].items():
        for requirement in requirements if extra != "all" else ():
            assert f"\n| `{extra}` | `{requirement}` |" in PAGE


@pytest.mark.parametrize("name", sorted(ROWS.keys() & INSTALLED))
def test_the_license_is_the_one_that_the_package_states(name: str) -> None:
    stated = metadata(name)
    texts = [text for key in ("License-Expression", "License", "Classifier") for text in stated.get_all(key) or ()]
    words = re.findall(r"Apache|MIT|BSD|MPL", ROWS[name])
    assert words
    assert all(any(word in text for text in texts) for word in words), texts
