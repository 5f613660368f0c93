"""Small pieces: what only happens in large files, in small ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from karat.sources import text_file as pieces


@contextmanager
def pieces_of(size: int) -> Iterator[None]:
    """Cut every file in pieces of about so many bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE", size)
        yield
