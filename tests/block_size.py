"""Read small files in small blocks, to test what otherwise only happens with large files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from karat.reading.bytes import input_file
from karat.reading.pairs import tables


@contextmanager
def block_size(size: int) -> Iterator[None]:
    """Read every file in blocks of about this many bytes, as if it were large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(input_file, "BLOCK_SIZE", size)
        patch.setattr(tables, "SMALL_FILE", -1)
        yield
