"""The graph of a pipeline: components by name, the connections between them, and checks of their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from karat.components.component import Input, accepts_any_input, inputs_of, is_component, outputs_of, unknown_input
from karat.components.types import check_type, compatible, type_text
from karat.errors import KaratError, Place, did_you_mean, require, safe_line, shown

_FORM = "Pass inputs as {component: {input: value}}."


class Connection(NamedTuple):
    """An output of one component that is connected to an input of another."""

    sender: str
    output: str
    receiver: str
    input: str

    def __str__(self) -> str:
        return safe_line(f"{self.sender}.{self.output} -> {self.receiver}.{self.input}")


class Graph:
    """Components by name, and the connections between them, without cycles."""

    def __init__(self) -> None:
        self.components: dict[str, Any] = {}
        self.connections: list[Connection] = []
        self._into: dict[str, dict[str, Connection]] = {}

    def add(self, name: str, instance: Any) -> None:
        """Add a component under a new name."""
        require(
            isinstance(name, str) and name and "." not in name,
            f"{shown(name)} is not a valid name of a component",
            "A name is a string without dots.",
        )
        if name in self.components:
            cls = type(self.components[name]).__name__
            raise KaratError(f"a component named {name} ({cls}) already exists", hint="Choose another name.")
        if isinstance(instance, type):
            cls = instance.__name__
            raise KaratError(f"{cls} is a class, not an instance", place=name, hint=f"Create an instance: {cls}(...).")
        if not is_component(instance):
            hint = "Decorate its class with @component."
            if hasattr(instance, "__haystack_input__"):
                hint = "It belongs to Haystack: add it to a haystack.Pipeline, or use karat.components.evaluators."
            kind = type(instance)
            what = shown(instance) if kind.__module__ == "builtins" else kind.__name__
            raise KaratError(f"{what} is not a component", place=name, hint=hint)
        self.components[name] = instance

    def get(self, name: str) -> Any:
        """The component with this name."""
        if not isinstance(name, str) or name not in self.components:
            names = f"The components are {', '.join(self.components)}." if self.components else "The pipeline is empty."
            raise KaratError(
                f"no component is named {shown(name)}",
                hint=f"{did_you_mean(name, self.components)} {names}".strip(),
            )
        return self.components[name]

    def connect(self, sender: str, receiver: str) -> None:
        """Connect an output to an input, both given as `component.socket`, or as `component` if only one pair fits."""
        for name in (sender, receiver):
            require(isinstance(name, str), f"{shown(name)} is not a socket", 'Write a socket as "component.socket".')
        from_name, _, output = sender.partition(".")
        to_name, _, wanted = receiver.partition(".")
        if self.into(to_name).get(wanted) == (from_name, output, to_name, wanted):
            return
        outputs = _candidates(outputs_of(self.get(from_name)), output, from_name, "output")
        inputs = _candidates(self.open_inputs(to_name, wanted), wanted, to_name, "input")
        pairs = [(one, other) for one in outputs for other in inputs if compatible(outputs[one], inputs[other].type)]
        if len(pairs) > 1:
            # If several pairs fit, sockets with equal names are connected.
            pairs = [pair for pair in pairs if pair[0] == pair[1]] or pairs
        if len(pairs) != 1:
            raise _cannot_connect(sender, receiver, outputs, inputs, pairs)
        connection = Connection(from_name, pairs[0][0], to_name, pairs[0][1])
        if cycle := self._cycle(from_name, to_name):
            hint = "Each component of a pipeline runs once, after the components it is connected to."
            raise KaratError(f"{connection} would create a cycle: {' -> '.join(cycle)}", hint=hint)
        self._into.setdefault(to_name, {})[connection.input] = connection
        self.connections.append(connection)

    def order(self) -> list[str]:
        """The names of the components, each after the components whose outputs it receives."""
        return list(TopologicalSorter(self._senders()).static_order())

    def _senders(self) -> dict[str, list[str]]:
        return {name: [connection.sender for connection in self.into(name).values()] for name in self.components}

    def _cycle(self, sender: str, receiver: str) -> list[str]:
        """The path from a component to itself that a new connection would close; empty if there is none."""
        senders = self._senders()
        senders[receiver].append(sender)
        try:
            TopologicalSorter(senders).prepare()
        except CycleError as error:
            names = error.args[1][1:]  # begins and ends with the same name
            at = names.index(sender) + 1
            return [sender, *names[at:], *names[:at]]
        return []

    def into(self, name: str) -> dict[str, Connection]:
        """The connections into a component, by input."""
        return self._into.get(name, {})

    def open_inputs(self, name: str, wanted: str = "") -> dict[str, Input]:
        """The inputs of a component that are not connected.

        `wanted` is an input to include if `run` accepts any input; it is an error if it is connected.
        """
        inputs = inputs_of(self.get(name))
        if wanted and wanted not in inputs and accepts_any_input(self.components[name]):
            inputs[wanted] = Input(Any, False)
        connected = self.into(name)
        if wanted in connected:
            raise KaratError(f"{name}.{wanted} is already connected: {connected[wanted]}")
        return {each: socket for each, socket in inputs.items() if each not in connected}


def checked_inputs(graph: Graph, data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The inputs by component; missing inputs, unknown inputs and values of the wrong type are errors."""
    by_component = _by_component(graph, data)
    for name, instance in graph.components.items():
        values, sockets, connected = by_component.get(name, {}), inputs_of(instance), graph.into(name)
        place = Place(f"component {name}")
        for key, value in values.items():
            if key in connected:
                raise KaratError(f"the input {key} is both given and connected: {connected[key]}", place=place)
            if key in sockets:
                check_input(value, sockets[key], key, name)
            elif not accepts_any_input(instance):
                raise unknown_input(key, sockets, place)
        for key, socket in sockets.items():
            if socket.mandatory and key not in values and key not in connected:
                hint = f"Pass {{{name!r}: {{{key!r}: ...}}}}, or connect an output to {name}.{key}."
                raise KaratError(f"the input {key} is missing", place=place, hint=hint)
    return by_component


def check_input(value: object, socket: Input, name: str, component: str) -> None:
    """Reject a value of the wrong type; the error names the part of the value that is wrong."""
    if value is not socket.default:
        check_type(value, socket.type, name, Place(f"component {component}"))


def _candidates(sockets: dict[str, Any], wanted: str, name: str, kind: str) -> dict[str, Any]:
    """The sockets that can be connected: the named one, or all if none is named."""
    if not wanted:
        return sockets
    if wanted not in sockets:
        names = f"The {kind}s are {', '.join(sockets)}." if sockets else f"It declares no {kind}s."
        hint = f"{did_you_mean(wanted, sockets)} {names}".strip()
        raise KaratError(f"{name} has no {kind} {shown(wanted)}", hint=hint)
    return {wanted: sockets[wanted]}


def _cannot_connect(
    sender: str, receiver: str, outputs: dict[str, Any], inputs: dict[str, Input], pairs: list[tuple[str, str]]
) -> KaratError:
    if pairs:
        ways = ", ".join(f"{output} -> {wanted}" for output, wanted in pairs)
        hint = "Name the output and the input: name.output, name.input."
        return KaratError(f"{sender} can be connected to {receiver} in several ways: {ways}", hint=hint)
    sent = ", ".join(f"{name} is {type_text(kind)}" for name, kind in outputs.items()) or "none declared"
    wanted = ", ".join(f"{name} is {type_text(socket.type)}" for name, socket in inputs.items()) or "none free"
    return KaratError(f"{sender} cannot be connected to {receiver}", hint=f"Outputs: {sent}. Inputs: {wanted}.")


def _by_component(graph: Graph, data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The inputs by component; an input that is given without a component goes to every component that has it."""
    if not isinstance(data, Mapping):
        raise KaratError(f"{shown(data)} is not a mapping of inputs", hint=_FORM)
    by_component = {name: inputs for name, inputs in data.items() if name in graph.components}
    for name, inputs in by_component.items():
        if not isinstance(inputs, Mapping):
            place = Place(f"component {name}")
            raise KaratError(f"{shown(inputs)} is not a mapping of inputs", place=place, hint=_FORM)
    for name, value in data.items():
        if name not in graph.components:
            receivers = [each for each in graph.components if name in graph.open_inputs(each)]
            if not receivers:
                sockets = {socket for component in graph.components for socket in graph.open_inputs(component)}
                near = did_you_mean(name, [*graph.components, *sockets])
                hint = f"{near} The components are {', '.join(graph.components) or 'none'}.".strip()
                raise KaratError(f"{shown(name)} is neither a component nor an input", hint=hint)
            for receiver in receivers:
                by_component[receiver] = {name: value, **by_component.get(receiver, {})}
    return by_component
