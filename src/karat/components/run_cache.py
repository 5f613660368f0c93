"""A cache that lasts for one run of a pipeline, so that its components do not compute the same thing twice."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Result = TypeVar("Result")

_cache: ContextVar[dict[Hashable, tuple[Any, Any]] | None] = ContextVar("karat_run_cache", default=None)


@contextmanager
def run_cache() -> Iterator[None]:
    """Inside this context, `cached` computes each result once. The cache is discarded at the end."""
    token = _cache.set({})
    try:
        yield
    finally:
        _cache.reset(token)


@contextmanager
def cache_cleared() -> Iterator[None]:
    """Inside this context, nothing is cached. Afterwards the cache is empty, because inputs may have been modified."""
    cache = _cache.get()
    token = _cache.set(None)
    try:
        yield
    finally:
        _cache.reset(token)
        if cache is not None:
            cache.clear()


def cached(compute: Callable[..., Result], *objects: object, **settings: Hashable) -> Result:
    """`compute(*objects, **settings)`, from the cache if the same call was made before in this run.

    Objects are compared by identity, settings by value. Outside of a run, nothing is cached.

    >>> with run_cache():
    ...     numbers = [1, 2]
    ...     cached(sorted, numbers) is cached(sorted, numbers)
    True
    """
    cache = _cache.get()
    if cache is None:
        return compute(*objects, **settings)
    key = (compute, *map(id, objects), *sorted(settings.items()))
    if key not in cache:
        # The objects are stored too: as long as they are alive, no other object gets the same id.
        cache[key] = (compute(*objects, **settings), objects)
    result: Result = cache[key][0]
    return result
