"""Calls of functions that messages suggest; on the command line, they are whole commands that can be run."""

from __future__ import annotations

from typing import Any

from karat.errors import KaratError, MessagePart, Parameter, shown

_WIDTH = 1000  # characters of a value: whoever copies a call needs all of it


class SuggestedCall(Parameter):
    """A function that is to be called with some parameters; or the present call, with these parameters changed.

    On the command line, it is a command that reads a file, or the present command with these options changed.

    >>> print(SuggestedCall.again(fields={"truth": "gold"}))
    fields={'truth': 'gold'}
    >>> print(SuggestedCall.of("judge", "log.jsonl", task="context"))
    karat.judge(..., task='context')
    """

    __slots__ = ()

    @classmethod
    def of(cls, name: str, file: str = "", /, **parameters: Any) -> SuggestedCall:
        """A call of another function, with a file as its first argument."""
        return cls(name, (file, parameters))

    @classmethod
    def again(cls, **parameters: Any) -> SuggestedCall:
        """The present call with other parameters."""
        return cls.of("", **parameters)

    @classmethod
    def look(cls, file: str) -> tuple[MessagePart, ...]:
        """The sentence at the end of errors about a log that cannot be read."""
        return (" ", cls.of("look", file), " shows what is in it.")

    @classmethod
    def without_look(cls, error: KaratError) -> KaratError:
        """The same error without the sentence that `look` returns."""
        at = next((at for at, part in enumerate(error.hint_parts) if isinstance(part, cls) and part.name == "look"), 0)
        return error.but(hint=[*error.hint_parts[: at - 1], *error.hint_parts[at + 2 :]]) if at else error

    @property
    def file(self) -> str:
        """The file that another command reads."""
        return str(self.value[0])

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of parameters, by name."""
        return dict(self.value[1])

    def __str__(self) -> str:
        values = [f"{name}={shown(value, _WIDTH)}" for name, value in self.parameters.items()]
        return f"karat.{self.name}({', '.join(['...', *values])})" if self.name else " and ".join(values)
