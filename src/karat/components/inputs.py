"""The inputs of a pipeline's run, checked before any component runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karat.components.component import Input, accepts_any_input, inputs_of, unknown_input
from karat.components.graph import Graph
from karat.components.types import check_type
from karat.errors import KaratError, Place, did_you_mean, shown

_FORM = "Pass inputs as {component: {input: value}}."


def checked_inputs(graph: Graph, data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The inputs by component; missing inputs, unknown inputs and values of the wrong type are errors."""
    by_component = _by_component(graph, data)
    for name, instance in graph.components.items():
        given, sockets, connected = by_component.get(name, {}), inputs_of(instance), graph.into(name)
        place = Place(f"component {name}")
        for each, value in given.items():
            if each in connected:
                raise KaratError(f"the input {each} is both given and connected: {connected[each]}", place=place)
            if each in sockets:
                check_input(value, sockets[each], each, name)
            elif not accepts_any_input(instance):
                raise unknown_input(each, sockets, place)
        for each, socket in sockets.items():
            if socket.mandatory and each not in given and each not in connected:
                hint = f"Pass {{{name!r}: {{{each!r}: ...}}}}, or connect an output to {name}.{each}."
                raise KaratError(f"the input {each} is missing", place=place, hint=hint)
    return by_component


def check_input(value: object, socket: Input, name: str, component: str) -> None:
    """Reject a value of the wrong type; the error names the part of the value that is wrong."""
    if value is not socket.default:
        check_type(value, socket.type, name, Place(f"component {component}"))


def _by_component(graph: Graph, data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The inputs by component; an input that is given without a component goes to every component that has it."""
    if not isinstance(data, Mapping):
        raise KaratError(f"{shown(data)} is not a mapping of inputs", hint=_FORM)
    by_component = {name: inputs for name, inputs in data.items() if name in graph.components}
    for name, inputs in by_component.items():
        if not isinstance(inputs, Mapping):
            raise KaratError(
                f"{shown(inputs)} is not a mapping of inputs", place=Place(f"component {name}"), hint=_FORM
            )
    for name, value in data.items():
        if name not in graph.components:
            receivers = [each for each in graph.components if name in graph.open_inputs(each)]
            if not receivers:
                raise _unknown_name(name, graph)
            for receiver in receivers:
                by_component[receiver] = {name: value, **by_component.get(receiver, {})}
    return by_component


def _unknown_name(name: str, graph: Graph) -> KaratError:
    sockets = {socket for each in graph.components for socket in graph.open_inputs(each)}
    near = did_you_mean(name, [*graph.components, *sockets])
    return KaratError(
        f"{shown(name)} is neither a component nor an input",
        hint=f"{near} The components are {', '.join(graph.components) or 'none'}.".strip(),
    )
