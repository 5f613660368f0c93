"""Span measures: how much of the text that answers a query is retrieved, counted in characters.

A character that is in several overlapping chunks counts once.
"""

from __future__ import annotations

from karat.data.judged import Floats, share
from karat.data.spans import Spans
from karat.measures.documents.declarations import K
from karat.registry import register

_SETS = "G the characters of the gold spans, C those of the first k retrieved spans"
_CHROMA = "Smith and Troynikov (2024), Evaluating Chunking Strategies for Retrieval, Chroma technical report"


@register(
    formula=f"SpanRecall@k = |G ∩ C| / |G|, {_SETS}",
    reference=_CHROMA,
    takes="spans",
)
def SpanRecall(spans: Spans, *, k: K | None = None) -> Floats:
    """Span recall: the share of the gold characters that are in the first k retrieved spans.

    >>> truth = {"q": [("a.txt", 0, 100)]}
    >>> evaluate(truth, {"q": [("a.txt", 0, 40), ("a.txt", 20, 60), ("b.txt", 0, 40)]}, ["SpanRecall"])["SpanRecall"]
    0.6
    """
    characters = spans.characters(k)
    return share(characters.both, characters.gold)


@register(
    formula=f"SpanPrecision@k = |G ∩ C| / |C|, {_SETS}",
    reference=f"{_CHROMA}, which counts a character each time it is retrieved",
    takes="spans",
)
def SpanPrecision(spans: Spans, *, k: K | None = None) -> Floats:
    """Span precision: the share of the characters in the first k retrieved spans that are gold.

    >>> truth = {"q": [("a.txt", 0, 50)]}
    >>> run = {"q": [("a.txt", 0, 40), ("a.txt", 20, 60), ("b.txt", 0, 40)]}
    >>> evaluate(truth, run, ["SpanPrecision"])["SpanPrecision"]
    0.5
    """
    characters = spans.characters(k)
    return share(characters.both, characters.retrieved)


@register(
    formula=f"SpanIoU@k = |G ∩ C| / |G ∪ C|, {_SETS}",
    reference=f"{_CHROMA}, which counts a character each time it is retrieved",
    takes="spans",
)
def SpanIoU(spans: Spans, *, k: K | None = None) -> Floats:
    """Span intersection over union of the gold and the retrieved characters. Also known as the Jaccard index.

    >>> evaluate({"q": [("a.txt", 0, 60)]}, {"q": [("a.txt", 30, 120)]}, ["SpanIoU"])["SpanIoU"]
    0.25
    """
    gold, retrieved, both = spans.characters(k)
    return share(both, gold + retrieved - both)
