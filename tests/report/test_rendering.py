"""The page as text, before a browser reads it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import pytest

from karat.report.rendering import render_page
from tests.report import contents


def embedded(page: str) -> Any:
    found = re.search(
        r'<script type="application/json" id="content" data-encoding="(\w+)">(.*?)</script>', page, re.DOTALL
    )
    assert found
    encoding, data = found.groups()
    return json.loads(gzip.decompress(base64.b64decode(data)) if encoding == "gzip" else data)


def test_the_same_content_gives_the_same_page() -> None:
    assert render_page(contents.small()) == render_page(contents.small())


@pytest.mark.parametrize("queries", [3, 3000])
def test_the_content_is_embedded_once_and_whole_whether_compressed_or_not(queries: int) -> None:
    content = contents.small(queries)
    content["queries"]["text"][0] = "金 \ud800 is a lone surrogate"
    page = render_page(content)
    page.encode("utf-8")
    assert embedded(page) == content
    assert ('data-encoding="gzip"' in page) == (queries == 3000)


def test_a_hostile_content_adds_no_element_and_can_be_written_as_utf_8() -> None:
    def tags(page: str) -> list[str]:
        return re.findall(r"<[a-z!/][^\s>]*", page, re.IGNORECASE)

    hostile = render_page(contents.hostile())
    assert tags(hostile) == tags(render_page(contents.small()))
    assert embedded(hostile) == contents.hostile()
    assert "\u202e" not in hostile
    hostile.encode("utf-8")


def test_the_policy_allows_only_what_the_page_contains() -> None:
    page = render_page(contents.small())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert policy[1].startswith("default-src &#39;none&#39;; script-src &#39;sha256-")
    assert "unsafe" not in policy[1]
    assert not re.search(r"(src|href)=\"?(https?:)?//", page)


def test_infinite_means_and_means_without_intervals_are_shown() -> None:
    content = contents.small()
    content["table"]["rows"][0][0].update(mean="inf", high="inf")
    content["table"]["rows"][1][0].update(mean=None, low=None, high=None)
    page = render_page(content)
    assert "<strong>∞</strong>" in page
    assert "<strong>–</strong>" in page


def test_findings_options_and_code_read_as_people_write_them() -> None:
    content = contents.small()
    content["findings"] = ["missing queries score 0.", "bm25 has no texts.", "overlap: 1 query"]
    content["cut"] = ["`karat diff` shows <more>, and ` is a character."]
    content["made"]["options"] = {"force": False, "baseline": None, "level": 0.95}
    page = render_page(content)
    for finding in ("Missing queries score 0.", "bm25 has no texts.", "overlap: 1 query"):
        assert f"<li>{finding}</li>" in page
    assert "<code>karat diff</code> shows &lt;more&gt;, and ` is a character." in page
    for option in ("no", "none", "0.95"):
        assert f"<dd><bdi>{option}</bdi></dd>" in page


def test_a_file_without_a_hash_and_a_small_share_are_not_shown_as_nothing() -> None:
    content = contents.small()
    content["made"]["files"].append({"name": "s3://bucket/run.trec", "bytes": None, "sha256": None})
    content["table"]["unjudged"] = [0.004, 0, 0.38]
    page = render_page(content)
    assert "not hashed: not a local file that can be read again" in page
    shares = re.findall(r'class="share" data-value="0[.\d]*">([^<]*%)<', page)
    assert shares == ["&lt; 1%", "0%", "38%"]
