"""Pipeline: components that are connected from output to input and run in order."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from typing import Any, TextIO

from karat.components.component import Input, inputs_of, may_modify_inputs, outputs_of
from karat.components.graph import Connection, Graph, check_input, checked_inputs
from karat.components.run_cache import cache_cleared, run_cache
from karat.components.serialization import (
    component_class,
    component_from_dict,
    component_to_dict,
    from_haystack,
)
from karat.errors import KaratError, Message, Parameter, Place, plural, require, safe_line, shown
from karat.errors.arguments import check_names

# One thread at a time: otherwise two threads could load the same model twice.
_WARM_UP = threading.Lock()


class Pipeline:
    """Components by name, connected from output to input.

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
        require(
            metadata is None or isinstance(metadata, Mapping), [Parameter("metadata", metadata), " is not a mapping"]
        )
        self.metadata = dict(metadata or {})
        self._graph = Graph()
        self._warm: list[Any] = []

    def add_component(self, name: str, instance: Any) -> None:
        """Add a component under a new name."""
        self._graph.add(name, instance)

    def get_component(self, name: str) -> Any:
        """The component with this name."""
        return self._graph.get(name)

    def connect(self, sender: str, receiver: str) -> Pipeline:
        """Connect an output to an input: `connect("cleaner.documents", "recall.retrieved_documents")`.

        If only one output fits only one input, the names of the components are enough. Returns the pipeline itself.
        """
        self._graph.connect(sender, receiver)
        return self

    def run(
        self, data: Mapping[str, Any] | None = None, include_outputs_from: Collection[str] | None = None
    ) -> dict[str, dict[str, Any]]:
        """Run every component once, in the order of the connections: `{name: {input: value}}` -> `{name: outputs}`.

        An input that several components have can be given once, without the name of a component: `{input: value}`.
        Outputs that are connected to another component are left out of the result, except for the components in
        `include_outputs_from`.
        """
        inputs = checked_inputs(self._graph, {} if data is None else data)
        included = _names(include_outputs_from)
        for name in included:
            self.get_component(name)
        self.warm_up()
        outputs: dict[str, dict[str, Any]] = {}
        with run_cache():
            for name in self._graph.order():
                instance = self._graph.components[name]
                received = {
                    socket: _received(connection, outputs[connection.sender], inputs_of(instance))
                    for socket, connection in self._graph.into(name).items()
                }
                outputs[name] = _run(name, instance, {**inputs.get(name, {}), **received})
        connected = {(connection.sender, connection.output) for connection in self._graph.connections}
        results = {
            name: {each: value for each, value in values.items() if name in included or (name, each) not in connected}
            for name, values in outputs.items()
        }
        return {name: values for name, values in results.items() if values}

    def warm_up(self) -> None:
        """Call `warm_up` of all components that have one, once per component. `run` does this itself."""
        with _WARM_UP:
            for instance in self._graph.components.values():
                if callable(warm_up := getattr(instance, "warm_up", None)) and not any(
                    instance is warm for warm in self._warm
                ):
                    warm_up()
                    self._warm.append(instance)

    def inputs(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The inputs that are not connected: `{name: {input: {"type", "is_mandatory"}}}`."""
        return {
            name: {
                key: {"type": socket.type, "is_mandatory": socket.mandatory}
                for key, socket in self._graph.open_inputs(name).items()
            }
            for name in self._graph.components
        }

    def outputs(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The outputs of all components: `{name: {output: {"type"}}}`."""
        return {
            name: {output: {"type": kind} for output, kind in outputs_of(instance).items()}
            for name, instance in self._graph.components.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """The pipeline as a dictionary, in the format of Haystack."""
        try:
            metadata = deepcopy(self.metadata)
        except Exception as error:  # objects may refuse to be copied in any way
            what: Message = [Parameter("metadata", self.metadata), f" cannot be copied: {type(error).__name__}"]
            raise KaratError(what) from None
        return {
            "metadata": metadata,
            "components": {name: component_to_dict(instance) for name, instance in self._graph.components.items()},
            "connections": [
                {"sender": f"{wire.sender}.{wire.output}", "receiver": f"{wire.receiver}.{wire.input}"}
                for wire in self._graph.connections
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, allowed_env_vars: Collection[str] = ()) -> Pipeline:
        """The pipeline from the dictionary that `to_dict` returned, of karat or of Haystack.

        Haystack's components are replaced by karat's of the same name. Only classes that are registered with
        `component` are instantiated. The dictionary can name an environment variable only if it is one that the
        component reads by default (HF_API_TOKEN and HF_TOKEN for SASEvaluator), or is in `allowed_env_vars`. A chat
        generator also needs this permission for its default key, if it has parameters that may change where the key is
        sent: the address of a server, a proxy, or any that karat does not know. `["*"]` allows all variables.
        """
        parts = {key: _part(data, key, kind) for key, kind in _PARTS.items()}
        pipeline = cls(parts["metadata"])
        for name, description in parts["components"].items():
            try:
                _part(description, "type", str)
                description = from_haystack(description)
                kind = component_class(description["type"])
                pipeline.add_component(name, component_from_dict(kind, description, allowed_env_vars))
            except KaratError as error:
                raise _with_component(error, name)  # noqa: B904  # it is the same error
        for connection in parts["connections"]:
            pipeline.connect(_part(connection, "sender", str), _part(connection, "receiver", str))
        return pipeline

    def dumps(self) -> str:
        """The pipeline as a JSON string, which `loads` reads."""
        try:
            return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise KaratError(
                f"the pipeline cannot be written as JSON: {error}",
                hint="The parameters of its components must be strings, numbers, or lists and mappings of these.",
            ) from None

    @classmethod
    def loads(cls, text: str | bytes, *, allowed_env_vars: Collection[str] = ()) -> Pipeline:
        """The pipeline from a JSON string that `dumps` returned. What it can do is limited as in `from_dict`."""
        try:
            data = json.loads(text, object_pairs_hook=_unique_keys)
        except KaratError:
            raise
        except (TypeError, ValueError, RecursionError) as error:
            raise KaratError(
                f"this is not a pipeline in JSON: {error}",
                hint="Pass the string that dumps returned. Use load for an open file, and from_dict for a dictionary."
                " Haystack writes YAML: pass yaml.safe_load(text) to from_dict.",
            ) from None
        return cls.from_dict(data, allowed_env_vars=allowed_env_vars)

    def dump(self, file: TextIO) -> None:
        """Write the pipeline to an open file as JSON."""
        _check_file(file, "write")
        file.write(self.dumps())

    @classmethod
    def load(cls, file: TextIO, *, allowed_env_vars: Collection[str] = ()) -> Pipeline:
        """Read a pipeline from an open file that `dump` wrote. What it can do is limited as in `from_dict`."""
        _check_file(file, "read")
        return cls.loads(file.read(), allowed_env_vars=allowed_env_vars)

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Pipeline) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # a pipeline is mutable

    def __repr__(self) -> str:
        lines = [safe_line(f"{name}: {type(instance).__name__}") for name, instance in self._graph.components.items()]
        head = f"<Pipeline of {plural(len(lines), 'component')}"
        return "\n  ".join([head, *lines, *(safe_line(str(each)) for each in self._graph.connections)]) + ">"


_PARTS = {"metadata": Mapping, "components": Mapping, "connections": list}
_OPTIONAL = ("metadata", "connections")


def _part(data: object, key: str, kind: type) -> Any:
    """A value of a pipeline's dictionary; an error if it is missing or has the wrong type."""
    form = 'A pipeline is {"components": {name: {"type", "init_parameters"}}, "connections": [{"sender", "receiver"}]}.'
    if not isinstance(data, Mapping):
        raise KaratError(f"{shown(data)} is not a mapping", hint=form)
    value = data.get(key)
    if value is None and key in _OPTIONAL:
        return [] if kind is list else {}
    if not isinstance(value, kind):
        wrong = "is missing" if value is None else f"has the wrong type: {shown(value)}"
        raise KaratError(f"{key} {wrong}", hint=form)
    return value


def _unique_keys(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object as a dictionary; a repeated key is an error, because json.loads would keep the last value only."""
    unique: dict[str, Any] = {}
    for key, value in pairs:
        require(key not in unique, f"the name {shown(key)} is used twice", "Give each component its own name.")
        unique[key] = value
    return unique


def _names(names: Collection[str] | None) -> Collection[str]:
    if isinstance(names, str):
        hint = f"Pass a set of names: {{{names!r}}}."
        raise KaratError([Parameter("include_outputs_from", names), " is a string"], hint=hint)
    return () if names is None else check_names("include_outputs_from", names, {"name"})


def _received(connection: Connection, outputs: dict[str, Any], sockets: dict[str, Input]) -> Any:
    """The value that a connection passes on, checked against the type of the input."""
    if connection.output not in outputs:
        raise KaratError(
            f"run did not return {connection.output}, which is connected to {connection.receiver}.{connection.input}",
            place=Place(f"component {connection.sender}"),
        )
    value = outputs[connection.output]
    if connection.input in sockets:
        check_input(value, sockets[connection.input], connection.input, connection.receiver)
    return value


def _run(name: str, instance: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    try:
        if may_modify_inputs(instance):
            with cache_cleared():
                outputs = instance.run(**{each: _copied_lists(value) for each, value in inputs.items()})
        else:
            outputs = instance.run(**inputs)
    except KaratError as error:
        raise _with_component(error, name)  # noqa: B904  # it is the same error
    except Exception as error:
        error.add_note(f"Raised by component {safe_line(name)} ({type(instance).__name__}).")
        raise
    if not isinstance(outputs, Mapping):
        what = f"run returned {shown(outputs)}, not a dictionary of outputs"
        raise KaratError(what, place=Place(f"component {name}"))
    return dict(outputs)


def _copied_lists(value: Any) -> Any:
    """A copy of a list, and of the lists in it, with the same elements; any other value unchanged."""
    if type(value) is not list:
        return value
    return [list(each) if type(each) is list else each for each in value]


def _check_file(file: object, method: str) -> None:
    hint = "Pass what open(path) returns."
    require(callable(getattr(file, method, None)), f"{shown(file)} is not an open file", hint)


def _with_component(error: KaratError, name: str) -> KaratError:
    """The same error, with the component in its place."""
    outer = f"component {name if isinstance(name, str) else shown(name)}"
    error.place = error.place.of(outer) if error.place else Place(outer)
    return error
