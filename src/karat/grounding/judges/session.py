"""The one path to a model and to the verdict file, for judges and for evaluators that ask a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from karat.errors import KaratError, Place, enumeration, require
from karat.grounding.judges.asking import Asker
from karat.grounding.judges.budget import CallBudget, Prices
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.model import MODEL_HINT, RecordedModel, language_model, model_name
from karat.grounding.judges.options import JudgeOptions
from karat.grounding.judges.requests import LanguageModel, ModelSettings


@contextmanager
def open_asker(options: JudgeOptions, path: str | None) -> Iterator[Asker]:
    """A model that can be asked, with a verdict file that its replies are added to; without one, they are not kept."""
    require(options.replay or options.model is not None, "no model is given", MODEL_HINT)
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(path, replay=options.replay, retry_failed=options.retry_failed))
        model: LanguageModel
        if options.replay:
            model = RecordedModel(_replayed_name(options, journal))
        else:
            model = language_model(
                options.model, base_url=options.base_url, api_key_env=options.api_key_env, timeout=options.timeout
            )
            stack.callback(model.close)
        budget = CallBudget(
            max_calls=options.max_calls,
            max_tokens=options.max_tokens_total,
            max_cost=options.max_cost,
            prices=Prices.of(options.price_in, options.price_out),
        )
        settings = model_settings(options, model.name)
        yield Asker(model, settings, journal, concurrency=options.concurrency, timeout=options.timeout, budget=budget)


def model_settings(options: JudgeOptions, name: str) -> ModelSettings:
    """The settings that a model with this name is asked with."""
    return ModelSettings(name, options.temperature, options.seed, options.max_tokens)


def _replayed_name(options: JudgeOptions, journal: Journal) -> str:
    """The model whose replies are read from a file: the given one, or the only one."""
    if options.model is not None:
        return model_name(options.model)
    if len(journal.models) == 1:
        return journal.models[0]
    if not journal.models:
        hint = "Judge without replay first."
        raise KaratError("the file has no replies of a model", place=Place(journal.path), hint=hint)
    hint = f"Name the model whose replies are wanted: {enumeration(journal.models, 'or')}."
    raise KaratError("the file has replies of several models", place=Place(journal.path), hint=hint)
