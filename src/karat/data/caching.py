"""`cached_property` without a lock, which a fork could leave locked forever.

That of Python 3.11 has one lock per class and property, which is held while a value is computed. If a thread computes
one at the moment of a fork, the child waits for that thread, which it does not have. Later versions of Python have no
such lock: at worst, two threads compute the same value.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:
    import functools
    from contextlib import nullcontext

    class cached_property(functools.cached_property):  # noqa: N801  # the name that everybody knows
        """A property that is computed once for each object."""

        def __init__(self, function: Any) -> None:
            super().__init__(function)
            self.lock = nullcontext()
