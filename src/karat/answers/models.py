"""Models that say how near two texts are in meaning: static embeddings, bi-encoders and cross-encoders."""

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

from karat.errors import KaratError, shown
from karat.judged import Floats

DEFAULT_MODEL = "sentence-transformers/paraphrase-multilingual-mpnet-base-v2"
STATIC = "wordllama"
BATCH = 32

Pairs = Sequence[tuple[str, str]]
"""A gold answer and the predicted one, neither of them blank."""

_TOKENS = 65_536
_WAIT = 10  # seconds until a server that does not answer is given up
_STATIC_INSTEAD = f'Or take model="{STATIC}", which needs no download (pip install "karat[static]").'
_WIDTH = 200  # of a model's name in a message


class Model(Protocol):
    """What compares texts."""

    def __call__(self, pairs: Pairs, batch_size: int) -> Floats:
        """How near the two texts of each pair are: each pair by itself, whatever stands beside it."""


def loaded(model: str, device: str | None = None, token: str | None = None) -> Model:
    """The model of a name, ready to compare; the last two are kept.

    `wordllama` are the static embeddings that come with the package of that name. Anything else is a model of
    sentence-transformers: a folder, or a name on the Hugging Face hub, which is downloaded if it is not here already.
    """
    if not isinstance(model, str) or not model.strip():
        raise KaratError(f"{shown(model)} is not the name of a model", hint=f'Give one as text, such as "{STATIC}".')
    return _static() if model == STATIC else _sentence_transformer(model, device, token)


def _by_cosine(encode: Callable[[list[str], int], Floats]) -> Model:
    """A model that makes a vector of each text."""

    def compare(pairs: Pairs, batch_size: int) -> Floats:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = np.asarray(encode(texts, batch_size), np.float64)
        place = {text: at for at, text in enumerate(texts)}
        gold, predicted = (vectors[[place[pair[side]] for pair in pairs]] for side in (0, 1))
        lengths = np.linalg.norm(gold, axis=1) * np.linalg.norm(predicted, axis=1)
        cosines = np.array([one == other for one, other in pairs], np.float64)
        # The same text is as near as can be, whatever rounding says; to a vector of zeros nothing else is near.
        other = (lengths != 0) & (cosines == 0)
        np.divide((gold * predicted).sum(axis=1), lengths, out=cosines, where=other)
        return cosines

    return compare


@cache
def _static() -> Model:
    """Wordllama: the vector of a text is the mean of those of its tokens, which ship with the package."""
    try:
        with _logging_as_it_is():
            import wordllama
    except ModuleNotFoundError as error:
        if error.name != STATIC:
            raise
        raise KaratError(f'model="{STATIC}" needs wordllama', hint='pip install "karat[static]"') from None
    # Its loader looks for the tokenizer in a folder that its package does not have, and then downloads it.
    inside = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=inside, disable_download=True)
    tokenizer, vectors = model.tokenizer, model.embedding
    tokenizer.no_padding()

    def encode(texts: list[str], _: int) -> Floats:
        encoded = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return np.stack([_mean(vectors, np.asarray(each.ids, np.int64)) for each in encoded])

    return _by_cosine(encode)


@contextmanager
def _logging_as_it_is() -> Iterator[None]:
    """Wordllama sets up the logging of the whole program when it is imported."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _mean(vectors: Floats, tokens: Any) -> Floats:
    """The mean of the vectors of these tokens, a stretch at a time: a text may be a whole book."""
    total = np.zeros(vectors.shape[1])
    for start in range(0, len(tokens), _TOKENS):
        total += vectors[tokens[start : start + _TOKENS]].sum(axis=0, dtype=np.float64)
    return total / max(len(tokens), 1)


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
            hint=f'Install it (pip install "karat[sas]"). {_STATIC_INSTEAD}',
        ) from None

    def load(here: bool) -> Model:
        if not sys.stderr or not sys.stderr.isatty():
            # A bar for each model that is loaded, in the log of every build.
            transformers.utils.logging.disable_progress_bar()
        options = {"device": device, "token": token, "local_files_only": here, "trust_remote_code": False}
        if not _is_cross_encoder(name, token, here):
            return _bi_encoder(sentence_transformers.SentenceTransformer(name, **options))
        return _cross_encoder(sentence_transformers.CrossEncoder(name, **options), name)

    if os.path.isdir(name):
        return _explained(lambda: load(here=True), name)
    try:
        # What is here already is taken as it is: nobody is asked, and the scores of yesterday stay the same.
        return load(here=True)
    except OSError:
        _refuse_unreachable(name, token)
        return _explained(lambda: load(here=False), name)


def _is_cross_encoder(name: str, token: str | None, here: bool) -> bool:
    """Whether a model takes two texts at once and gives a score, as far as its configuration says."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(name, token=token, local_files_only=here, trust_remote_code=False)
    except ValueError:  # a model that transformers does not know; sentence-transformers may
        return False
    return any(kind.endswith("ForSequenceClassification") for kind in config.architectures or ())


def _refuse_unreachable(name: str, token: str | None) -> None:
    """Ask once whether there is such a model: the hub's own loader tries for minutes."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    local = "give the path of a folder that holds it"
    try:
        HfApi(token=token).model_info(name, timeout=_WAIT)
    except HFValidationError:
        raise KaratError(f"there is no folder {shown(name)}", hint=f"Name a model, or {local}.") from None
    except RepositoryNotFoundError:
        hint = f"Is it spelt right? A private one needs a token (HF_TOKEN); or {local}. {_STATIC_INSTEAD}"
        raise KaratError(f"there is no model {shown(name, _WIDTH)} on the Hugging Face hub", hint=hint) from None
    except Exception as error:
        # Whichever library it uses today to get there.
        raise KaratError(
            f"the model {shown(name, _WIDTH)} is not on this machine, and cannot be downloaded"
            f" ({str(error).partition(chr(10))[0].strip()[:100] or type(error).__name__})",
            hint=f"Download it where there is a network (hf download {name}), or {local}. {_STATIC_INSTEAD}",
        ) from None


def _explained(load: Callable[[], Model], name: str) -> Model:
    """What went wrong, in one line: a model can be broken in many ways."""
    try:
        return load()
    except KaratError:
        raise
    except Exception as error:
        why = str(error).partition("\n")[0].strip() or type(error).__name__
        hint = "karat runs no code that comes with a model." if "trust_remote_code" in str(error) else None
        raise KaratError(f"the model {shown(name, _WIDTH)} cannot be loaded: {why}", hint=hint) from error


def _bi_encoder(model: Any) -> Model:
    def encode(texts: list[str], batch_size: int) -> Floats:
        vectors: Floats = model.encode(texts, batch_size=batch_size, show_progress_bar=False, convert_to_numpy=True)
        return vectors

    return _by_cosine(encode)


def _cross_encoder(model: Any, name: str) -> Model:
    from torch import nn

    if model.num_labels != 1:
        raise KaratError(
            f"{shown(name)} sorts pairs into {model.num_labels} classes",
            hint="Take a cross-encoder that gives one score, such as cross-encoder/stsb-roberta-base.",
        )
    # Some give their score as it comes, any number. Which is which is the model's to say, and not the batch's.
    activation = nn.Sigmoid() if isinstance(model.activation_fn, nn.Identity) else model.activation_fn

    def compare(pairs: Pairs, batch_size: int) -> Floats:
        scores = model.predict(
            [(predicted, gold) for gold, predicted in pairs],
            batch_size=batch_size,
            activation_fn=activation,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(scores, np.float64)

    return compare
