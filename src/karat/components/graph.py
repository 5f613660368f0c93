"""The graph of a pipeline: components by name, and which output of one is an input of another."""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from karat.components.component import Input, inputs_of, is_component, outputs_of, takes_anything
from karat.components.types import compatible, type_text
from karat.errors import KaratError, did_you_mean, shown


class Connection(NamedTuple):
    """An output of one component that is an input of another."""

    sender: str
    output: str
    receiver: str
    input: str

    def __str__(self) -> str:
        return f"{self.sender}.{self.output} -> {self.receiver}.{self.input}"


class Graph:
    """Components by name, and the connections between them; there is never a circle in it."""

    def __init__(self) -> None:
        self.components: dict[str, Any] = {}
        self.connections: list[Connection] = []
        self._into: dict[str, dict[str, Connection]] = {}
        self._out_of: dict[str, list[Connection]] = {}

    def add(self, name: str, instance: Any) -> None:
        """Put a component in, under a name of its own."""
        if not isinstance(name, str) or not name or "." in name:
            raise KaratError(
                f"{shown(name)} cannot name a component", hint="A name is text, without a dot: that leads to sockets."
            )
        if name in self.components:
            kind = type(self.components[name]).__name__
            raise KaratError(f"there is a component {name} already, a {kind}", hint="Give each a name of its own.")
        if isinstance(instance, type):
            raise KaratError(f"{instance.__name__} is a class", where=name, hint=f"Make one: {instance.__name__}(...).")
        if not is_component(instance):
            hint = "Write @component above its class."
            if hasattr(instance, "__haystack_input__"):
                hint = "It is Haystack's: karat.integrations.haystack has evaluators for a haystack.Pipeline."
            cls = type(instance)
            what = shown(instance) if cls.__module__ == "builtins" else cls.__name__
            raise KaratError(f"{what} is no component", where=name, hint=hint)
        self.components[name] = instance

    def get(self, name: str) -> Any:
        """The component of a name."""
        if name not in self.components:
            has = f"The pipeline has {', '.join(self.components)}." if self.components else "The pipeline is empty."
            raise KaratError(
                f"there is no component {shown(name)}", hint=f"{did_you_mean(str(name), self.components)} {has}".strip()
            )
        return self.components[name]

    def connect(self, sender: str, receiver: str) -> None:
        """Let an output be an input, both written `component.socket`, or `component` where only one pair fits."""
        for name in (sender, receiver):
            if not isinstance(name, str):
                raise KaratError(f"{shown(name)} is no socket", hint="A socket is written component.socket.")
        from_name, _, output = sender.partition(".")
        to_name, _, wanted = receiver.partition(".")
        if self.into(to_name).get(wanted) == (from_name, output, to_name, wanted):
            return
        outputs = _meant(outputs_of(self.get(from_name)), output, from_name, "output")
        inputs = _meant(self.open_inputs(to_name, wanted), wanted, to_name, "input")
        pairs = [(one, other) for one in outputs for other in inputs if compatible(outputs[one], inputs[other].type)]
        if len(pairs) > 1:
            # Of several that fit, the one whose names agree is meant.
            pairs = [pair for pair in pairs if pair[0] == pair[1]] or pairs
        if len(pairs) != 1:
            raise _cannot_connect(sender, receiver, outputs, inputs, pairs)
        connection = Connection(from_name, pairs[0][0], to_name, pairs[0][1])
        if path := self._path(to_name, from_name):
            raise KaratError(
                f"{connection} would close a circle: {' -> '.join([from_name, *path])}",
                hint="The components of a pipeline run one after the other.",
            )
        self._into.setdefault(to_name, {})[connection.input] = connection
        self._out_of.setdefault(from_name, []).append(connection)
        self.connections.append(connection)

    def order(self) -> list[str]:
        """The components, each after those it takes from."""
        before = {name: [each.sender for each in self.into(name).values()] for name in self.components}
        return list(TopologicalSorter(before).static_order())

    def into(self, name: str) -> dict[str, Connection]:
        """The connections that lead into a component, by input."""
        return self._into.get(name, {})

    def open_inputs(self, name: str, asked: str = "") -> dict[str, Input]:
        """The inputs of a component that no other component fills."""
        inputs = inputs_of(self.get(name))
        if asked and asked not in inputs and takes_anything(self.components[name]):
            inputs[asked] = Input(Any, False)
        filled = self.into(name)
        if asked in filled:
            raise KaratError(f"{name}.{asked} is connected already: {filled[asked]}")
        return {each: socket for each, socket in inputs.items() if each not in filled}

    def _path(self, start: str, end: str) -> list[str]:
        """A way along the connections from one component to another, both included; empty if there is none."""
        came_from = {start: start}
        waiting = [start]
        while waiting and end not in came_from:
            here = waiting.pop()
            for connection in self._out_of.get(here, []):
                if connection.receiver not in came_from:
                    came_from[connection.receiver] = here
                    waiting.append(connection.receiver)
        if end not in came_from:
            return []
        path = [end]
        while path[-1] != start:
            path.append(came_from[path[-1]])
        return path[::-1]


def _meant(sockets: dict[str, Any], asked: str, name: str, what: str) -> dict[str, Any]:
    """The sockets that may be meant: the one that was named, or all."""
    if not asked:
        return sockets
    if asked not in sockets:
        has = f"It has {', '.join(sockets)}." if sockets else f"It declares no {what}s."
        raise KaratError(f"{name} has no {what} {shown(asked)}", hint=f"{did_you_mean(asked, sockets)} {has}".strip())
    return {asked: sockets[asked]}


def _cannot_connect(
    sender: str, receiver: str, outputs: dict[str, Any], inputs: dict[str, Input], pairs: list[tuple[str, str]]
) -> KaratError:
    if pairs:
        ways = ", ".join(f"{output} -> {wanted}" for output, wanted in pairs)
        return KaratError(
            f"{sender} fits {receiver} in several ways: {ways}", hint="Name both: name.output, name.input."
        )
    ours = ", ".join(f"{name} is {type_text(kind)}" for name, kind in outputs.items()) or "it declares no outputs"
    theirs = ", ".join(f"{name} is {type_text(socket.type)}" for name, socket in inputs.items()) or "no input is free"
    return KaratError(f"{sender} does not fit {receiver}", hint=f"Out comes: {ours}. In goes: {theirs}.")
