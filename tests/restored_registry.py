"""Removes the measures that tests and examples register."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from karat.registry import registry


@contextmanager
def restored_registry() -> Iterator[None]:
    """Remove the measures that are registered inside."""
    definitions = dict(registry._definitions)
    aliases = {subject: dict(names) for subject, names in registry._aliases.items()}
    yield
    for live, before in ((registry._definitions, definitions), (registry._aliases, aliases)):
        live.clear()
        live.update(before)  # type: ignore[arg-type]  # each is restored from its own copy
    registry._known_meanings.cache_clear()
