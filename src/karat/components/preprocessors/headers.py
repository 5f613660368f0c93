"""Headers and footers: the phrases that all pages of a text share at their edges."""

from __future__ import annotations

import re
from collections.abc import Sequence


def without_headers_and_footers(text: str) -> str:
    """Without the longest phrase that starts all pages, and the longest that ends them.

    It is looked for in 300 characters of each page but the first and the last, which often have none, and removed
    wherever it is.
    """
    pages = text.split("\f")
    for edge in (slice(300), slice(-300, None)):
        repeated = _longest_shared_phrase([page[edge] for page in pages[1:-1] if page])
        if repeated.strip():
            pages = [page.replace(repeated, "") for page in pages]
    return "\f".join(pages)


def _longest_shared_phrase(texts: Sequence[str]) -> str:
    if len(texts) < 2:
        return ""
    shared = _phrases(texts[0])
    for text in set(texts):
        here = _phrases(text)
        shared = {phrase: None for phrase in shared if phrase in here}
        if not shared:
            return ""
    # Of phrases that are equally long the first one: a text is cleaned today as it was yesterday.
    return max(shared, key=len)


def _phrases(text: str) -> dict[str, None]:
    """All runs of 3 to 29 words, in order; words are parted by single blanks, and before line breaks and tabs."""
    gaps = [gap.span() for gap in re.finditer(r" |(?=[\n\t])", text)]
    starts = [0, *(end for _, end in gaps)]
    ends = [*(start for start, _ in gaps), len(text)]
    # The last of n words that start with word i is word i + n - 1.
    return {text[start:end]: None for n in range(3, 30) for start, end in zip(starts, ends[n - 1 :], strict=False)}
