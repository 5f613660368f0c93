"""Keeps keys out of messages, notes and files, also where a server repeats them."""

from __future__ import annotations

import os
import re

REPLACED = "[key]"

_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)  # of environment variables
_SHORTEST = 8  # characters; what is shorter may be a word of a text
_KEYS = re.compile(r"\b(?:sk|pk|rk|gsk|hf|xai)[-_][\w*.-]{8,}|(?i:\bbearer )[\w.~+/-]{16,}")


def without_secrets(text: str) -> str:
    """The message of an error, in which what is in the environment as a key, and what looks like one, is replaced.

    >>> without_secrets("Incorrect API key provided: sk-abc***********wxyz")
    'Incorrect API key provided: [key]'
    """
    secrets = {value.strip() for name, value in os.environ.items() if _NAMES.search(name) and is_secret(value.strip())}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, REPLACED)
    return _KEYS.sub(REPLACED, text)


def is_secret(key: str) -> bool:
    """Whether a key is long enough to be one, unlike `EMPTY` for a server that needs none."""
    return len(key) >= _SHORTEST
