"""Words in a picture, for the scripts that draw."""

from __future__ import annotations

from html import escape

FONT = 'font-family="system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif"'


def text(
    x: float, y: float, words: str, size: int, *, bold: bool = False, anchor: str = "start", fill: str = "#222222"
) -> str:
    """Some words at a place."""
    across, down = (str(place) if isinstance(place, int) else f"{place:.1f}" for place in (x, y))
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{across}" y="{down}" {FONT} font-size="{size}"{weight} text-anchor="{anchor}" fill="{fill}">'
        f"{escape(words)}</text>"
    )
