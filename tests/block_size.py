"""Small pieces: what only happens in large files, in small ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from karat.sources import text_file


@contextmanager
def block_size(size: int) -> Iterator[None]:
    """Cut every file in pieces of about so many bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_file, "BLOCK_SIZE", size)
        yield
