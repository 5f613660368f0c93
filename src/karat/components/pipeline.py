"""Pipeline: components by name, connected output to input, run in order."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from karat.components.component import Input, inputs_of, outputs_of, takes_anything
from karat.components.graph import Connection, Graph
from karat.components.serialization import component_class, component_from_dict, component_to_dict
from karat.components.sharing import forget, sharing
from karat.components.types import fits, type_text
from karat.errors import KaratError, shown
from karat.names import did_you_mean


class Pipeline:
    """Components by name, connected output to input.

    >>> from karat import Document, Pipeline
    >>> from karat.components.evaluators import DocumentMRREvaluator, DocumentRecallEvaluator
    >>> pipeline = Pipeline()
    >>> pipeline.add_component("recall", DocumentRecallEvaluator("multi_hit"))
    >>> pipeline.add_component("mrr", DocumentMRREvaluator())
    >>> lists = {"ground_truth_documents": [["Paris", "Lyon"]], "retrieved_documents": [["Rome", "Paris"]]}
    >>> result = pipeline.run({"recall": lists, "mrr": lists})
    >>> result["recall"]["score"], result["mrr"]["score"]
    (0.5, 0.5)
    """

    def __init__(self, metadata: Mapping[str, Any] | None = None) -> None:
        self.metadata = dict(metadata or {})
        self._graph = Graph()
        self._warm: set[str] = set()

    def add_component(self, name: str, instance: Any) -> None:
        """Put a component into the pipeline, under a name of its own."""
        self._graph.add(name, instance)

    def get_component(self, name: str) -> Any:
        """The component of a name."""
        return self._graph.get(name)

    def connect(self, sender: str, receiver: str) -> Pipeline:
        """Let an output be an input: `connect("cleaner.documents", "recall.retrieved_documents")`.

        Where only one output fits one input, the names of the components are enough. Returns the pipeline itself.
        """
        self._graph.connect(sender, receiver)
        return self

    def run(
        self, data: Mapping[str, Any] | None = None, include_outputs_from: Collection[str] = ()
    ) -> dict[str, dict[str, Any]]:
        """Run every component once, each after those it takes from: `{name: {input: value}}` -> `{name: outputs}`.

        An input that several components have can be given once, outside of their names: `{input: value}`. Outputs
        that another component took are left out of the result, but for components in `include_outputs_from`.
        """
        given = self._checked(self._by_component({} if data is None else data))
        for name in include_outputs_from:
            self.get_component(name)
        self.warm_up()
        made: dict[str, dict[str, Any]] = {}
        with sharing():
            for name in self._graph.order():
                instance = self._graph.components[name]
                taken = {
                    each: _taken(connection, made, inputs_of(instance))
                    for each, connection in self._graph.into(name).items()
                }
                made[name] = _run(name, instance, {**given.get(name, {}), **taken})
                if not getattr(instance, "only_reads", False):
                    # It may have changed lists in place, which others have seen as they were.
                    forget()
        passed_on = {(connection.sender, connection.output) for connection in self._graph.connections}
        results = {
            name: {
                output: value
                for output, value in made[name].items()
                if name in include_outputs_from or (name, output) not in passed_on
            }
            for name in made
        }
        return {name: outputs for name, outputs in results.items() if outputs}

    def warm_up(self) -> None:
        """Let components that have a `warm_up` load what they need; `run` does it, once."""
        for name, instance in self._graph.components.items():
            if name not in self._warm and callable(warm_up := getattr(instance, "warm_up", None)):
                warm_up()
            self._warm.add(name)

    def inputs(self) -> dict[str, dict[str, dict[str, Any]]]:
        """What each component still needs or takes: `{name: {input: {"type", "is_mandatory"}}}`."""
        return {
            name: {
                each: {"type": socket.type, "is_mandatory": socket.mandatory}
                for each, socket in self._graph.open_inputs(name).items()
            }
            for name in self._graph.components
        }

    def outputs(self) -> dict[str, dict[str, dict[str, Any]]]:
        """What each component returns: `{name: {output: {"type"}}}`."""
        return {
            name: {output: {"type": kind} for output, kind in outputs_of(instance).items()}
            for name, instance in self._graph.components.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """The pipeline as a dictionary, in Haystack's form."""
        return {
            "metadata": self.metadata,
            "components": {name: component_to_dict(instance) for name, instance in self._graph.components.items()},
            "connections": [
                {"sender": f"{each.sender}.{each.output}", "receiver": f"{each.receiver}.{each.input}"}
                for each in self._graph.connections
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Pipeline:
        """The pipeline of such a dictionary. Only classes registered with `component` are built."""
        parts = {key: _part(data, key, kind) for key, kind in _PARTS.items()}
        pipeline = cls(parts["metadata"])
        for name, description in parts["components"].items():
            try:
                kind = component_class(_part(description, "type", str))
                pipeline.add_component(name, component_from_dict(kind, description))
            except KaratError as error:
                raise _inside(name, error) from None
        for connection in parts["connections"]:
            pipeline.connect(_part(connection, "sender", str), _part(connection, "receiver", str))
        return pipeline

    def dumps(self) -> str:
        """The pipeline as JSON, which `loads` reads."""
        try:
            return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise KaratError(
                f"the pipeline cannot be written as JSON: {error}",
                mend="The parameters of its components must be text, numbers, lists and mappings of these.",
            ) from None

    @classmethod
    def loads(cls, text: str | bytes) -> Pipeline:
        """The pipeline that `dumps` wrote. A text from elsewhere can name only classes that are registered."""
        try:
            data = json.loads(text, object_pairs_hook=_without_repeats)
        except KaratError:
            raise
        except (TypeError, ValueError, RecursionError) as error:
            raise KaratError(f"this is no pipeline in JSON: {error}") from None
        return cls.from_dict(data)

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Pipeline) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # components can be added to it

    def __repr__(self) -> str:
        lines = [f"{name}: {type(instance).__name__}" for name, instance in self._graph.components.items()]
        return "\n  ".join([f"<Pipeline of {len(lines)} components", *lines, *map(str, self._graph.connections)]) + ">"

    def _by_component(self, data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """The inputs by component; what is given outside of one goes to all that have it."""
        if not isinstance(data, Mapping):
            raise KaratError(f"{shown(data)} are no inputs", mend="Inputs go as {component: {input: value}}.")
        named = {name: inputs for name, inputs in data.items() if name in self._graph.components}
        loose = {name: value for name, value in data.items() if name not in self._graph.components}
        for name, inputs in named.items():
            if not isinstance(inputs, Mapping):
                mend = "Inputs go as {component: {input: value}}."
                raise KaratError(f"{shown(inputs)} are no inputs", where=f"component {name}", mend=mend)
        for name, value in loose.items():
            takers = [each for each in self._graph.components if name in self._graph.open_inputs(each)]
            if not takers:
                sockets = {socket for each in self._graph.components for socket in self._graph.open_inputs(each)}
                has = (
                    f"The components are {', '.join(self._graph.components)}."
                    if self._graph.components
                    else "It is empty."
                )
                raise KaratError(
                    f"the pipeline has no component {shown(name)}, and none has an input of that name",
                    mend=f"{did_you_mean(str(name), [*self._graph.components, *sockets])} {has}".strip(),
                )
            for taker in takers:
                named[taker] = {name: value, **named.get(taker, {})}
        return named

    def _checked(self, data: dict[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        """The same inputs, if each is there, known and of its type."""
        for name, instance in self._graph.components.items():
            given, sockets = data.get(name, {}), inputs_of(instance)
            connected = self._graph.into(name)
            for each, value in given.items():
                if each in connected:
                    raise KaratError(
                        f"{each} is given, and connected too: {connected[each]}", where=f"component {name}"
                    )
                if each in sockets:
                    _check(value, sockets[each], each, name)
                elif not takes_anything(instance):
                    mend = f"{did_you_mean(str(each), sockets)} It takes {', '.join(sockets) or 'none'}.".strip()
                    raise KaratError(f"there is no input {shown(each)}", where=f"component {name}", mend=mend)
            for each, socket in sockets.items():
                if socket.mandatory and each not in given and each not in connected:
                    mend = f"Give it as {{{name!r}: {{{each!r}: ...}}}}, or connect an output to {name}.{each}."
                    raise KaratError(f"the input {each} is missing", where=f"component {name}", mend=mend)
        return data


_PARTS = {"metadata": Mapping, "components": Mapping, "connections": list}
_OPTIONAL = ("metadata", "connections")


def _part(data: object, key: str, kind: type) -> Any:
    """A part of a pipeline's dictionary, if it is of the right kind."""
    form = 'A pipeline is {"components": {name: {"type", "init_parameters"}}, "connections": [{"sender", "receiver"}]}.'
    if not isinstance(data, Mapping):
        raise KaratError(f"{shown(data)} is no part of a pipeline", mend=form)
    value = data.get(key)
    if value is None and key in _OPTIONAL:
        return kind() if kind is list else {}
    if not isinstance(value, kind):
        raise KaratError(f"{key} is missing" if value is None else f"{key} is {shown(value)}", mend=form)
    return value


def _without_repeats(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise KaratError(f"the name {shown(key)} is used twice", mend="Give each component a name of its own.")
        found[key] = value
    return found


def _check(value: object, socket: Input, name: str, component: str) -> None:
    if not fits(value, socket.type):
        raise KaratError(
            f"{name} is {shown(value)}, a {type(value).__name__}",
            where=f"component {component}",
            mend=f"It must be {type_text(socket.type)}.",
        )


def _taken(connection: Connection, made: dict[str, dict[str, Any]], sockets: dict[str, Input]) -> Any:
    outputs = made[connection.sender]
    if connection.output not in outputs:
        raise KaratError(
            f"run returned no {connection.output}, which {connection.receiver}.{connection.input} waits for",
            where=f"component {connection.sender}",
        )
    value = outputs[connection.output]
    if connection.input in sockets:
        _check(value, sockets[connection.input], connection.input, connection.receiver)
    return value


def _run(name: str, instance: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    try:
        outputs = instance.run(**inputs)
    except KaratError as error:
        raise _inside(name, error) from error
    except Exception as error:
        error.add_note(f"This came from component {name}, a {type(instance).__name__}.")
        raise
    if not isinstance(outputs, Mapping):
        raise KaratError(f"run returned {shown(outputs)}, not a dictionary of outputs", where=f"component {name}")
    return dict(outputs)


def _inside(name: str, error: KaratError) -> KaratError:
    """The same error, with the component it comes from."""
    where = f"component {name}" + (f", {error.where}" if error.where else "")
    return KaratError(error.what, where=where, mend=error.mend)
