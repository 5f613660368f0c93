"""Pipeline: components by name, connected output to input, run in order."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from typing import Any, TextIO

from karat.components.component import Input, inputs_of, only_reads, outputs_of
from karat.components.graph import Connection, Graph
from karat.components.inputs import check_input, checked_inputs
from karat.components.serialization import as_ours, component_class, component_from_dict, component_to_dict
from karat.components.sharing import apart, sharing
from karat.errors import KaratError, shown

# One at a time: a model that two threads load at once is loaded twice.
_WARMING = threading.Lock()


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
        if metadata is not None and not isinstance(metadata, Mapping):
            raise KaratError(f"the metadata of a pipeline maps names to values, and is not {shown(metadata)}")
        self.metadata = dict(metadata or {})
        self._graph = Graph()
        self._warm: list[Any] = []

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
        self, data: Mapping[str, Any] | None = None, include_outputs_from: Collection[str] | None = None
    ) -> dict[str, dict[str, Any]]:
        """Run every component once, each after those it takes from: `{name: {input: value}}` -> `{name: outputs}`.

        An input that several components have can be given once, outside of their names: `{input: value}`. Outputs
        that another component took are left out of the result, but for components in `include_outputs_from`.
        """
        given = checked_inputs(self._graph, {} if data is None else data)
        wanted = _names(include_outputs_from)
        for name in wanted:
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
        passed_on = {(connection.sender, connection.output) for connection in self._graph.connections}
        results = {
            name: {
                output: value
                for output, value in made[name].items()
                if name in wanted or (name, output) not in passed_on
            }
            for name in made
        }
        return {name: outputs for name, outputs in results.items() if outputs}

    def warm_up(self) -> None:
        """Let components that have a `warm_up` load what they need; `run` does it, once."""
        with _WARMING:
            for instance in self._graph.components.values():
                if callable(warm_up := getattr(instance, "warm_up", None)) and not any(
                    instance is warm for warm in self._warm
                ):
                    warm_up()
                    self._warm.append(instance)

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
            "metadata": deepcopy(self.metadata),
            "components": {name: component_to_dict(instance) for name, instance in self._graph.components.items()},
            "connections": [
                {"sender": f"{each.sender}.{each.output}", "receiver": f"{each.receiver}.{each.input}"}
                for each in self._graph.connections
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Pipeline:
        """The pipeline of such a dictionary; Haystack's evaluators become karat's of the same name.

        Only classes registered with `component` are built.
        """
        parts = {key: _part(data, key, kind) for key, kind in _PARTS.items()}
        pipeline = cls(parts["metadata"])
        for name, description in parts["components"].items():
            try:
                _part(description, "type", str)
                description = as_ours(description)
                kind = component_class(description["type"])
                pipeline.add_component(name, component_from_dict(kind, description))
            except KaratError as error:
                raise _inside(name, error)  # noqa: B904  # it is the same error
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
                hint="The parameters of its components must be text, numbers, lists and mappings of these.",
            ) from None

    @classmethod
    def loads(cls, text: str | bytes) -> Pipeline:
        """The pipeline that `dumps` wrote. A text from elsewhere can name only classes that are registered."""
        try:
            data = json.loads(text, object_pairs_hook=_without_repeats)
        except KaratError:
            raise
        except (TypeError, ValueError, RecursionError) as error:
            raise KaratError(
                f"this is no pipeline in JSON: {error}",
                hint="Give the text that dumps returned; load takes an open file, and from_dict a dictionary.",
            ) from None
        return cls.from_dict(data)

    def dump(self, file: TextIO) -> None:
        """Write the pipeline to an open file, as JSON."""
        file.write(self.dumps())

    @classmethod
    def load(cls, file: TextIO) -> Pipeline:
        """Read the pipeline from an open file that `dump` wrote."""
        return cls.loads(file.read())

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Pipeline) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # components can be added to it

    def __repr__(self) -> str:
        lines = [f"{name}: {type(instance).__name__}" for name, instance in self._graph.components.items()]
        head = f"<Pipeline of {len(lines)} component{'' if len(lines) == 1 else 's'}"
        return "\n  ".join([head, *lines, *map(str, self._graph.connections)]) + ">"


_PARTS = {"metadata": Mapping, "components": Mapping, "connections": list}
_OPTIONAL = ("metadata", "connections")


def _part(data: object, key: str, kind: type) -> Any:
    """A part of a pipeline's dictionary, if it is of the right kind."""
    form = 'A pipeline is {"components": {name: {"type", "init_parameters"}}, "connections": [{"sender", "receiver"}]}.'
    if not isinstance(data, Mapping):
        raise KaratError(f"{shown(data)} is no part of a pipeline", hint=form)
    value = data.get(key)
    if value is None and key in _OPTIONAL:
        return kind() if kind is list else {}
    if not isinstance(value, kind):
        raise KaratError(f"{key} is missing" if value is None else f"{key} is {shown(value)}", hint=form)
    return value


def _without_repeats(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise KaratError(f"the name {shown(key)} is used twice", hint="Give each component a name of its own.")
        found[key] = value
    return found


def _names(given: Collection[str] | None) -> Collection[str]:
    if isinstance(given, str):
        raise KaratError(f"include_outputs_from={given!r} is one text", hint=f"Give names: {{{given!r}}}.")
    return given or ()


def _taken(connection: Connection, made: dict[str, dict[str, Any]], sockets: dict[str, Input]) -> Any:
    outputs = made[connection.sender]
    if connection.output not in outputs:
        raise KaratError(
            f"run returned no {connection.output}, which {connection.receiver}.{connection.input} waits for",
            where=f"component {connection.sender}",
        )
    value = outputs[connection.output]
    if connection.input in sockets:
        check_input(value, sockets[connection.input], connection.input, connection.receiver)
    return value


def _run(name: str, instance: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    try:
        if only_reads(instance):
            outputs = instance.run(**inputs)
        else:
            # It may change what it is given: let these be lists of its own, and nobody rely on what was found in them.
            with apart():
                outputs = instance.run(**{each: _own_lists(value) for each, value in inputs.items()})
    except KaratError as error:
        raise _inside(name, error)  # noqa: B904  # it is the same error
    except Exception as error:
        error.add_note(f"This came from component {name}, a {type(instance).__name__}.")
        raise
    if not isinstance(outputs, Mapping):
        raise KaratError(f"run returned {shown(outputs)}, not a dictionary of outputs", where=f"component {name}")
    return dict(outputs)


def _own_lists(value: Any) -> Any:
    """A list, or a list of lists, as new lists of the same elements."""
    if type(value) is not list:
        return value
    return [list(each) if type(each) is list else each for each in value]


def _inside(name: str, error: KaratError) -> KaratError:
    """The same error, with the component it comes from."""
    error.where = f"component {name}" + (f", {error.where}" if error.where else "")
    return error
