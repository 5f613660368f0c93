"""Removal of headers and footers: phrases that are repeated at the start or end of all pages."""

from __future__ import annotations

import re
from collections.abc import Sequence


def without_headers_and_footers(text: str) -> str:
    """Remove the longest phrase that all pages share in their first 300 characters, and in their last 300.

    The first and the last page often have no header or footer. They are not searched, but the phrase is removed from
    them too.
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
    # If several phrases are longest, take the first, so that every process gives the same result.
    return max(shared, key=len)


def _phrases(text: str) -> dict[str, None]:
    """All sequences of 3 to 29 words, in order; words end at each space, and before each line break or tab."""
    gaps = [gap.span() for gap in re.finditer(r" |(?=[\n\t])", text)]
    starts = [0, *(end for _, end in gaps)]
    ends = [*(start for start, _ in gaps), len(text)]
    # The last of n words that start with word i is word i + n - 1.
    return {text[start:end]: None for n in range(3, 30) for start, end in zip(starts, ends[n - 1 :], strict=False)}
