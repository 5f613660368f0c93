"""How hints say that an extra is installed: by the name on the package index, or from the checkout."""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path

import pytest

from karat.errors.installing import DISTRIBUTION, pip_install

ROOT = Path(__file__).parents[2]


class Installed:
    """A distribution as `importlib.metadata` describes it."""

    def __init__(self, origin: str | None) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.origin


def hint_of(monkeypatch: pytest.MonkeyPatch, origin: str | None) -> str:
    monkeypatch.setattr(metadata, "distribution", lambda name: {DISTRIBUTION: Installed(origin)}[name])
    return pip_install("llm")


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "{}",
        "not JSON",
        json.dumps({"url": "file:///karat", "dir_info": {}}),
        json.dumps({"url": "https://x/y.whl"}),
    ],
)
def test_an_extra_is_installed_by_the_name_on_the_package_index(
    monkeypatch: pytest.MonkeyPatch, origin: str | None
) -> None:
    assert hint_of(monkeypatch, origin) == 'pip install "karat-eval[llm]"'


def test_in_a_checkout_that_is_installed_with_e_the_extra_is_installed_from_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    origin = json.dumps({"url": "file:///karat", "dir_info": {"editable": True}})
    assert hint_of(monkeypatch, origin) == 'pip install -e ".[llm]"'


def test_where_karat_is_not_installed_the_name_on_the_package_index_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert pip_install("llm") == 'pip install "karat-eval[llm]"'


OTHER_PROJECT = re.compile(r"pip install .?karat(?!-eval|_eval)(?![\w/.-])|\bkarat\[")
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("*.toml"), *ROOT.glob("docs/*.md"), *ROOT.glob("s*/**/*.py")]


def test_no_page_or_hint_tells_people_to_install_the_other_project() -> None:
    assert OTHER_PROJECT.search('pip install "karat[llm]"')
    assert len(PAGES) > 100
    assert [str(path) for path in PAGES if OTHER_PROJECT.search(path.read_text("utf-8"))] == []
