"""Keeps credentials in addresses out of whatever is shown or stored: messages, names of files, commands, reports."""

from __future__ import annotations

import re

_HIDDEN = "…"
# `user:password@`. A password may contain slashes, though they should be escaped; a number and a slash are a port.
_USER = re.compile(r"(?<=://)(?:[^/\s'\"]*@|[^/\s@:'\"[]+:(?!\d+/)[^\s'\"]*@)")
_SECRET_OPTION = re.compile(
    r"([?&](?:[\w.%-]*(?:signature|key|token|secret|passw|pwd|credential|auth)[\w.%-]*|sig|sas|code)=)[^&\s'\"#]+",
    re.IGNORECASE,
)


def without_credentials(text: str) -> str:
    """A text in which addresses have no credentials.

    >>> without_credentials("karat report s3://AKID:secret@bucket/run.trec 'https://host/run?v=1&sig=secret'")
    "karat report s3://bucket/run.trec 'https://host/run?v=1&sig=…'"
    """
    if "://" not in text:
        return text
    return _SECRET_OPTION.sub(rf"\1{_HIDDEN}", _USER.sub("", text))
