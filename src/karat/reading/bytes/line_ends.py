"""Where lines end, and where the query changes, in a part of a file."""

from __future__ import annotations

from karat.reading.bytes.kinds import PEEK

LONGEST_LINE = 1 << 20  # of a TREC file


def last_change(data: bytearray) -> int:
    """The start of the last line whose first column differs from that of the line before it; 0 if there is none.

    Steps back in growing steps to a line with another query, then bisects: logarithmic in the lines of a query. Blank
    lines and comments belong to no query: if there is nothing else, it is the start of the last line.
    """
    high = _line_start(data, data.rfind(b"\n"))
    query = _first_token(data, high)
    step, low = 64, high
    while low > 0:
        low = _line_start(data, high - step)
        if _first_token(data, low) != query:
            break
        step *= 2
    else:
        return 0 if query and not query.startswith(b"#") else high
    while True:
        middle = _line_start(data, (low + high) // 2)
        if middle <= low:
            middle = data.find(b"\n", low, high) + 1
            if middle >= high:
                return high
        if _first_token(data, middle) == query:
            high = middle
        else:
            low = middle


def last_line_end(data: bytearray) -> int:
    """The start of the line after the last line end; 0 if there is none."""
    # A carriage return at the very end may be the first half of a line end.
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1


def _line_start(data: bytearray, at: int) -> int:
    return data.rfind(b"\n", 0, at) + 1 if at > 0 else 0


def _first_token(data: bytearray, line: int) -> bytes:
    tokens = bytes(data[line : line + PEEK]).split(b"\n", 1)[0].split(None, 1)
    return tokens[0] if tokens else b""


def lacks_line_end(data: bytes | bytearray) -> bool:
    """Whether no line ends in the last bytes, as many as the longest line may have."""
    tail = len(data) - LONGEST_LINE
    return tail >= 0 and max(data.rfind(b"\n", tail), data.rfind(b"\r", tail)) < 0


def count_line_ends(data: bytes | bytearray, size: int | None = None) -> int:
    r"""How many lines end in data, or in its first bytes; `\r\n` ends one line."""
    newlines, returns = (data.count(end, 0, size) for end in (b"\n", b"\r"))
    return newlines + returns - (data.count(b"\r\n", 0, size) if returns else 0)
