"""Models that score how similar two texts are in meaning: static embeddings, bi-encoders and cross-encoders."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from karat.data.judged import Floats
from karat.errors import KaratError, require, shown
from karat.errors.installing import pip_install
from karat.measures.answers.similarity import STATIC

TextPairs = Sequence[tuple[str, str]]
"""Pairs of a gold answer and the predicted one, neither of them blank."""

_TOKENS = 65_536  # added up at a time
_TIMEOUT = 10  # seconds
_WIDTH = 200  # of a model name in a message


class Model(Protocol):
    """A function that compares texts."""

    def __call__(self, pairs: TextPairs, batch_size: int) -> Floats:
        """The similarity of each pair, independent of the other pairs in its batch."""


def load_model(model: str, device: str | None = None, token: str | None = None) -> Model:
    """Load a model by its name; the last two sentence-transformers models stay in memory.

    `wordllama` selects the static embeddings of the wordllama package. Any other name is a sentence-transformers
    model: a folder, or a name on the Hugging Face hub, which is downloaded unless it is already on this machine.
    """
    require(
        isinstance(model, str) and model.strip(),
        f"{shown(model)} is not the name of a model",
        f'Pass a string, such as "{STATIC}".',
    )
    return _static() if model == STATIC else _sentence_transformer(model, device, token)


def _by_cosine(encode: Callable[[list[str], int], Floats]) -> Model:
    """A model that compares the vectors of two texts."""

    def compare(pairs: TextPairs, batch_size: int) -> Floats:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = np.asarray(encode(texts, batch_size), np.float64)
        place = {text: at for at, text in enumerate(texts)}
        gold, predicted = (vectors[[place[pair[side]] for pair in pairs]] for side in (0, 1))
        lengths = np.linalg.norm(gold, axis=1) * np.linalg.norm(predicted, axis=1)
        cosines = np.array([one == other for one, other in pairs], np.float64)
        # Equal texts have similarity 1 despite rounding errors; a vector of zeros has similarity 0 to any other text.
        computed = (lengths != 0) & (cosines == 0)
        np.divide((gold * predicted).sum(axis=1), lengths, out=cosines, where=computed)
        return cosines

    return compare


@cache
def _static() -> Model:
    """Wordllama: the vector of a text is the mean of its tokens' vectors, which are part of the package."""
    try:
        with _logging_unchanged():
            import wordllama
    except ModuleNotFoundError as error:
        if error.name != STATIC:
            raise
        raise KaratError(f'model="{STATIC}" needs wordllama', hint=pip_install("static")) from None
    # Without cache_dir, its loader looks for the tokenizer in a folder that does not exist, and then downloads it.
    inside = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=inside, disable_download=True)
    tokenizer, vectors = model.tokenizer, model.embedding
    tokenizer.no_padding()

    def encode(texts: list[str], _: int) -> Floats:
        encoded = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return np.stack([_mean(vectors, np.asarray(each.ids, np.int64)) for each in encoded])

    return _by_cosine(encode)


@contextmanager
def _logging_unchanged() -> Iterator[None]:
    """Undo the changes of importing wordllama, which configures the logging of the whole program."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _mean(vectors: Floats, tokens: Any) -> Floats:
    """The mean of the vectors of these tokens, added up in parts, because a text may be a whole book."""
    total = np.zeros(vectors.shape[1])
    for start in range(0, len(tokens), _TOKENS):
        total += vectors[tokens[start : start + _TOKENS]].sum(axis=0, dtype=np.float64)
    return total / max(len(tokens), 1)


def _static_instead() -> str:
    return f'Or use model="{STATIC}", which needs no download ({pip_install("static")}).'


@lru_cache(maxsize=2)
def _sentence_transformer(name: str, device: str | None, token: str | None) -> Model:
    try:
        import sentence_transformers
        import transformers
    except ModuleNotFoundError as error:
        if error.name not in ("sentence_transformers", "transformers"):
            raise
        raise KaratError(
            f"the model {shown(name, _WIDTH)} needs sentence-transformers",
            hint=f"Install it ({pip_install('sas')}). {_static_instead()}",
        ) from None

    def load(local: bool) -> Model:
        if not sys.stderr or not sys.stderr.isatty():
            # Without this, the log of every build has a progress bar for each model.
            transformers.utils.logging.disable_progress_bar()
        options = {"device": device, "token": token, "local_files_only": local, "trust_remote_code": False}
        if not _is_cross_encoder(name, token, local):
            return _bi_encoder(sentence_transformers.SentenceTransformer(name, **options))
        return _cross_encoder(sentence_transformers.CrossEncoder(name, **options), name)

    if os.path.isdir(name):
        return _load_or_explain(lambda: load(local=True), name)
    try:
        # A model that was downloaded before is used without asking the hub, so that scores stay the same.
        return load(local=True)
    except OSError:
        _check_hub(name, token)
        return _load_or_explain(lambda: load(local=False), name)


def _is_cross_encoder(name: str, token: str | None, local: bool) -> bool:
    """Whether a model takes two texts at once and returns a score, according to its configuration."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(name, token=token, local_files_only=local, trust_remote_code=False)
    except ValueError:  # transformers does not know the model, but sentence-transformers may
        return False
    return any(kind.endswith("ForSequenceClassification") for kind in config.architectures or ())


def _check_hub(name: str, token: str | None) -> None:
    """Raise an error if the hub cannot deliver the model: its own loader would retry for minutes."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    local_folder = "use the path of a local folder"
    try:
        HfApi(token=token).model_info(name, timeout=_TIMEOUT)
    except HFValidationError:
        raise KaratError(f"no such folder: {shown(name)}", hint=f"Name a model, or {local_folder}.") from None
    except RepositoryNotFoundError:
        hint = f"Check its spelling, set HF_TOKEN if it is private, or {local_folder}. {_static_instead()}"
        raise KaratError(f"the Hugging Face hub has no model {shown(name, _WIDTH)}", hint=hint) from None
    except Exception as error:  # of whichever HTTP library the hub's client uses
        raise KaratError(
            f"the model {shown(name, _WIDTH)} is not on this machine and cannot be downloaded"
            f" ({str(error).partition(chr(10))[0].strip()[:100] or type(error).__name__})",
            hint=f"Download it on a machine with network access (hf download {name}), or {local_folder}."
            f" {_static_instead()}",
        ) from None


def _load_or_explain(load: Callable[[], Model], name: str) -> Model:
    """Load a model; if that fails for any reason, raise a one-line error."""
    try:
        return load()
    except KaratError:
        raise
    except Exception as error:
        why = str(error).partition("\n")[0].strip() or type(error).__name__
        hint = "karat does not run code that comes with a model." if "trust_remote_code" in str(error) else None
        raise KaratError(f"the model {shown(name, _WIDTH)} cannot be loaded: {why}", hint=hint) from error


def _bi_encoder(model: Any) -> Model:
    def encode(texts: list[str], batch_size: int) -> Floats:
        vectors: Floats = model.encode(texts, batch_size=batch_size, show_progress_bar=False, convert_to_numpy=True)
        return vectors

    return _by_cosine(encode)


def _cross_encoder(model: Any, name: str) -> Model:
    from torch import nn

    require(
        model.num_labels == 1,
        f"the model {shown(name)} is a classifier with {model.num_labels} classes",
        "Use a cross-encoder that returns one score, such as cross-encoder/stsb-roberta-base.",
    )
    # Some models return unbounded scores. The configuration of a model says so; the scores of a batch may not show it.
    activation = nn.Sigmoid() if isinstance(model.activation_fn, nn.Identity) else model.activation_fn

    def compare(pairs: TextPairs, batch_size: int) -> Floats:
        scores = model.predict(
            [(predicted, gold) for gold, predicted in pairs],
            batch_size=batch_size,
            activation_fn=activation,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(scores, np.float64)

    return compare
