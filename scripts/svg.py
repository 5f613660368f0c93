"""SVG text, for the scripts that draw pictures."""

from __future__ import annotations

from html import escape

FONT = 'font-family="system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif"'


def text(
    x: float, y: float, content: str, size: int, *, bold: bool = False, anchor: str = "start", fill: str = "#222222"
) -> str:
    """A text element."""
    left, top = (str(value) if isinstance(value, int) else f"{value:.1f}" for value in (x, y))
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{left}" y="{top}" {FONT} font-size="{size}"{weight} text-anchor="{anchor}" fill="{fill}">'
        f"{escape(content)}</text>"
    )
