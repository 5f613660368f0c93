"""What is given to a pipeline, checked before anything runs: that it is there, known, and of its type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karat.components.component import Input, inputs_of, takes_anything
from karat.components.graph import Graph
from karat.components.types import find_mismatch, type_text
from karat.errors import KaratError, did_you_mean, list_hint, shown

_FORM = "Inputs go as {component: {input: value}}."


def checked_inputs(graph: Graph, data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The inputs of each component, if all is well with them."""
    by_component = _by_component(graph, data)
    for name, instance in graph.components.items():
        given, sockets, connected = by_component.get(name, {}), inputs_of(instance), graph.into(name)
        where = f"component {name}"
        for each, value in given.items():
            if each in connected:
                raise KaratError(f"{each} is given, and connected too: {connected[each]}", where=where)
            if each in sockets:
                check_input(value, sockets[each], each, name)
            elif not takes_anything(instance):
                hint = f"{did_you_mean(str(each), sockets)} It takes {', '.join(sockets) or 'none'}.".strip()
                raise KaratError(f"there is no input {shown(each)}", where=where, hint=hint)
        for each, socket in sockets.items():
            if socket.mandatory and each not in given and each not in connected:
                hint = f"Give it as {{{name!r}: {{{each!r}: ...}}}}, or connect an output to {name}.{each}."
                raise KaratError(f"the input {each} is missing", where=where, hint=hint)
    return by_component


def check_input(value: object, socket: Input, name: str, component: str) -> None:
    """Reject a value of the wrong type; the error names the part of the value that is wrong."""
    if value is not socket.default and (found := find_mismatch(value, socket.type)):
        hint = f"It must be {type_text(found.wanted)}. {list_hint(found.part)}".strip()
        raise KaratError(f"{name}{found.path} is {shown(found.part)}", where=f"component {component}", hint=hint)


def _by_component(graph: Graph, data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The inputs by component; what is given outside of one goes to all that have it."""
    if not isinstance(data, Mapping):
        raise KaratError(f"{shown(data)} are no inputs", hint=_FORM)
    named = {name: inputs for name, inputs in data.items() if name in graph.components}
    for name, inputs in named.items():
        if not isinstance(inputs, Mapping):
            raise KaratError(f"{shown(inputs)} are no inputs", where=f"component {name}", hint=_FORM)
    for name, value in data.items():
        if name not in graph.components:
            takers = [each for each in graph.components if name in graph.open_inputs(each)]
            if not takers:
                raise _nobody(name, graph)
            for taker in takers:
                named[taker] = {name: value, **named.get(taker, {})}
    return named


def _nobody(name: str, graph: Graph) -> KaratError:
    sockets = {socket for each in graph.components for socket in graph.open_inputs(each)}
    near = did_you_mean(str(name), [*graph.components, *sockets])
    return KaratError(
        f"there is no component {shown(name)}, and none has an input of that name",
        hint=f"{near} The components are {', '.join(graph.components) or 'none'}.".strip(),
    )
