"""What several components of one run would each compute is computed once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Made = TypeVar("Made")

_memory: ContextVar[dict[Hashable, tuple[Any, Any]] | None] = ContextVar("karat_shared", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Inside, what `shared` makes is made once; it is forgotten at the end."""
    token = _memory.set({})
    try:
        yield
    finally:
        _memory.reset(token)


@contextmanager
def apart() -> Iterator[None]:
    """Inside, nothing is shared; afterwards, what was made before is forgotten, as it may not hold any more."""
    memory = _memory.get()
    token = _memory.set(None)
    try:
        yield
    finally:
        _memory.reset(token)
        if memory is not None:
            memory.clear()


def shared(make: Callable[..., Made], *objects: object, **settings: Hashable) -> Made:
    """`make(*objects, **settings)`; within one run the same for the same objects, told by identity, and settings.

    >>> with sharing():
    ...     numbers = [1, 2]
    ...     shared(sorted, numbers) is shared(sorted, numbers)
    True
    """
    memory = _memory.get()
    if memory is None:
        return make(*objects, **settings)
    name = (make, *map(id, objects), *sorted(settings.items()))
    if name not in memory:
        # The objects are kept as well: an object that is alive shares its identity with no other.
        memory[name] = (make(*objects, **settings), objects)
    made: Made = memory[name][0]
    return made
