"""The evaluators as Haystack components: Haystack's pipelines connect, run, draw, save and load them.

Each component is a subclass of karat's evaluator of the same name, with the same parameters and results. MAP without a
`convention` is that of the installed Haystack. Import this module before you load a saved pipeline: Haystack only loads
components from modules that it trusts.
"""
# ruff: noqa: D101  # the components have the docstrings of the evaluators

import contextlib
import inspect
from collections.abc import Mapping
from functools import wraps
from typing import Any, TypeVar

from karat.components import evaluators
from karat.components.component import declared_outputs
from karat.components.evaluators.document_map import Convention
from karat.components.serialization import SerializableComponent
from karat.errors.installing import pip_install

try:
    from haystack import Document, component, default_from_dict
    from haystack.components.evaluators.document_map import DocumentMAPEvaluator as HaystackMAPEvaluator
    from haystack.components.evaluators.document_recall import RecallMode
except ModuleNotFoundError as error:
    if error.name != "haystack":
        raise
    raise ImportError(f"Haystack is not installed: {pip_install('haystack')}", name="haystack") from None

with contextlib.suppress(ImportError):  # older releases of Haystack load components from any module
    from haystack.core.serialization_security import allow_deserialization_module

    allow_deserialization_module(__name__)

__all__ = [
    "AnswerExactMatchEvaluator",
    "AnswerF1Evaluator",
    "AnswerMeasureEvaluator",
    "ContextRelevanceEvaluator",
    "DocumentMAPEvaluator",
    "DocumentMRREvaluator",
    "DocumentMeasureEvaluator",
    "DocumentNDCGEvaluator",
    "DocumentRecallEvaluator",
    "FaithfulnessEvaluator",
    "LLMEvaluator",
    "RecallMode",
    "SASEvaluator",
]

Evaluator = TypeVar("Evaluator")

_INPUT_TYPES = {
    "ground_truth_documents": list[list[Document]],
    "retrieved_documents": list[list[Document]],
    "ground_truth_answers": list[str],
    "predicted_answers": list[str],
}


def _haystack_component(cls: type[Evaluator]) -> type[Evaluator]:
    """Make a subclass of an evaluator a Haystack component, whose `run` declares Haystack's types.

    Static typing loses nothing: a type checker sees the subclasses below, with the constructors and results of the
    evaluators. Their `run` is declared for documents of any framework, so it accepts Haystack's.
    """
    subclass: Any = cls
    evaluator_run = subclass.run
    signature = inspect.signature(evaluator_run)
    parameters = [
        # Types, not strings: older releases of Haystack do not resolve annotations that are written as strings.
        parameter.replace(annotation=_INPUT_TYPES.get(parameter.name, parameter.annotation))
        for parameter in signature.parameters.values()
    ]
    signature = signature.replace(parameters=parameters, return_annotation=dict[str, Any])
    outputs = component.output_types(**declared_outputs(evaluator_run))

    @outputs
    @wraps(evaluator_run)
    def run(self: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        outputs: dict[str, Any] = evaluator_run(self, *args, **kwargs)
        return outputs

    subclass.run = run
    subclass.run.__signature__ = signature
    if evaluator_run_async := getattr(cls, "run_async", None):

        @outputs
        @wraps(evaluator_run_async)
        async def run_async(self: Any, **inputs: Any) -> dict[str, Any]:
            outputs: dict[str, Any] = await evaluator_run_async(self, **inputs)
            return outputs

        subclass.run_async = run_async
        subclass.run_async.__signature__ = signature
    subclass.from_dict = classmethod(_from_dict)
    subclass.__doc__ = subclass.__base__.__doc__
    # Without this, inspect.signature would show the `(*args, **kwargs)` of Haystack's metaclass.
    subclass.__signature__ = inspect.signature(subclass)
    made: type[Evaluator] = component(subclass)
    return made


def _from_dict(cls: type[SerializableComponent], data: dict[str, Any]) -> Any:
    return default_from_dict(cls, dict(cls._loaded(data)))


@_haystack_component
class AnswerExactMatchEvaluator(evaluators.AnswerExactMatchEvaluator): ...


@_haystack_component
class AnswerF1Evaluator(evaluators.AnswerF1Evaluator): ...


@_haystack_component
class AnswerMeasureEvaluator(evaluators.AnswerMeasureEvaluator): ...


def _installed_convention() -> Convention:
    """The convention of the MAP evaluator of the installed Haystack: `found` up to 3.0, `standard` since 3.1."""
    gold = [Document(content="Paris"), Document(content="Lyon")]
    score = HaystackMAPEvaluator().run(ground_truth_documents=[gold], retrieved_documents=[gold[:1]])["score"]
    return "found" if score == 1.0 else "standard"


@_haystack_component
class DocumentMAPEvaluator(evaluators.DocumentMAPEvaluator):
    default_convention = _installed_convention()

    def to_dict(self) -> dict[str, Any]:
        # Not super(): Haystack makes a new class of this one.
        data = evaluators.DocumentMAPEvaluator.to_dict(self)
        # Always saved, so that a pipeline gives the same scores with another release of Haystack.
        data["init_parameters"]["convention"] = self.convention
        return data


@_haystack_component
class DocumentMRREvaluator(evaluators.DocumentMRREvaluator): ...


@_haystack_component
class DocumentMeasureEvaluator(evaluators.DocumentMeasureEvaluator): ...


@_haystack_component
class DocumentNDCGEvaluator(evaluators.DocumentNDCGEvaluator): ...


@_haystack_component
class DocumentRecallEvaluator(evaluators.DocumentRecallEvaluator):
    @property  # type: ignore[override]  # Haystack's RecallMode, because programs compare the mode with it
    def mode(self) -> RecallMode:
        return self._mode

    @mode.setter
    def mode(self, mode: object) -> None:
        self._mode = RecallMode.from_str(str(mode))


def _declare_inputs(evaluator: object, types: Mapping[str, Any]) -> None:
    component.set_input_types(evaluator, **types)


def _generator_from_dict(description: dict[str, Any]) -> Any:
    from haystack.utils import deserialize_chatgenerator_inplace

    parameters = {"chat_generator": description}
    deserialize_chatgenerator_inplace(parameters)
    return parameters["chat_generator"]


def _haystack_component_with_model(cls: type[Evaluator]) -> type[Evaluator]:
    """The same for evaluators that ask a language model: Haystack knows their inputs, and loads chat generators."""
    subclass: Any = cls
    subclass._declare_inputs, subclass._generator_from_dict = _declare_inputs, staticmethod(_generator_from_dict)
    return _haystack_component(cls)


@_haystack_component_with_model
class ContextRelevanceEvaluator(evaluators.ContextRelevanceEvaluator): ...


@_haystack_component_with_model
class FaithfulnessEvaluator(evaluators.FaithfulnessEvaluator): ...


@_haystack_component_with_model
class LLMEvaluator(evaluators.LLMEvaluator): ...


@_haystack_component
class SASEvaluator(evaluators.SASEvaluator): ...
