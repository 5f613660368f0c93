"""Fingerprint: what scores were evaluated against, saved with them, and how two of them differ."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from karat import __version__
from karat.errors import KaratError, Place, first_few, plural, shown

# The kinds of data that measures read: how the gold data of each is called, and what it is given for.
_GOLD = {
    "judged": ("ground truth", "query"), "answers": ("gold answers", "question"), "spans": ("gold spans", "query"),
    "verdicts": ("nuggets and gold claims", "question"),
}  # fmt: skip
# The options that change the values of queries, and for which kinds. `missing` and `duplicates` only decide which
# queries and runs are accepted, and `rel` is in the names of the measures.
_CHANGES_VALUES = {"ties": {"judged"}, "ignore_identical_ids": {"judged", "spans"}, "author": {"verdicts"}}
_DIGEST = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True)
class Fingerprint:
    """What scores were evaluated against.

    `truths` contains a digest of each query's ground truth, for each kind of data that the measures read: `judged`
    documents, gold `answers`, gold `spans`, and the nuggets and gold claims that `verdicts` are about. `match` is None
    if no documents were evaluated. `version` is that of karat.

    >>> from karat import evaluate
    >>> fingerprint = evaluate({"q": {"a": 1}}, {"q": ["a"]}, "RR").fingerprint
    >>> fingerprint.match, fingerprint.truths["judged"]["q"]
    ('id', 'c018efb3f1a328ac')
    """

    truths: Mapping[str, Mapping[str, str]] = field(repr=False)
    match: str | None = None
    options: Mapping[str, str | bool] = field(default_factory=dict)
    version: str = __version__

    def computed(self) -> Fingerprint:
        """The fingerprint with all digests computed, so that it does not need the ground truth anymore."""
        return replace(self, truths={kind: dict(digests) for kind, digests in self.truths.items()})

    def differences(self, other: Fingerprint, queries: Sequence[str], kinds: Collection[str]) -> list[str]:
        """What differs from another fingerprint for these queries and measures of these kinds of data, in words."""
        same_match = "judged" not in kinds or None in (self.match, other.match) or self.match == other.match
        # Digests of judged documents depend on the key that is matched, so those of different matches always differ.
        comparable = [kind for kind in _GOLD if kind in kinds and (same_match or kind != "judged")]
        texts = [text for kind in comparable if (text := self._changed_truths(other, queries, kind))]
        if not same_match:
            texts.append(f"with match {shown(self.match)} and {shown(other.match)}")
        for option, concerned in _CHANGES_VALUES.items():
            values = [each.options[option] for each in (self, other) if option in each.options]
            if concerned & set(kinds) and len(values) == 2 and values[0] != values[1]:
                texts.append(f"with {option}={shown(values[0])} and {shown(values[1])}")
        return texts

    def _changed_truths(self, other: Fingerprint, queries: Sequence[str], kind: str) -> str:
        mine, theirs = self.truths.get(kind, {}), other.truths.get(kind, {})
        if mine is theirs:
            return ""
        changed = [each for each in queries if each in mine and each in theirs and mine[each] != theirs[each]]
        if not changed:
            return ""
        gold, noun = _GOLD[kind]
        count = f"{len(changed):,} of {plural(len(queries), noun)}"
        labels = [each.options.get("grades_by") for each in (self, other)] if kind == "judged" else []
        with_labels = " and ".join(f"labels by {by}" if by else "no labels" for by in labels) if any(labels) else ""
        return f"against different {gold} for {count} ({first_few(changed)}){with_labels and f', with {with_labels}'}"

    def to_dict(self, queries: Iterable[str]) -> dict[str, Any]:
        """`{"karat": version, "match", "options", "truths": {kind: {query: digest}}}`, for these queries."""
        names = list(queries)
        truths = {
            kind: {query: digests[query] for query in names if query in digests}
            for kind, digests in self.truths.items()
        }
        return {"karat": self.version, "match": self.match, "options": dict(self.options), "truths": truths}

    @classmethod
    def from_dict(cls, data: Any, queries: Iterable[str], place: Place | str) -> Fingerprint | None:
        """The fingerprint from what `to_dict` returned; `place` is the file it is from, for errors.

        None if a query has no digest: then its row was not saved together with the fingerprint.
        """
        about = data if isinstance(data, dict) else {}
        version, match, options, truths = (about.get(name) for name in ("karat", "match", "options", "truths"))
        if not (
            isinstance(version, str)
            and isinstance(match, str | None)
            and isinstance(options, dict)
            and all(isinstance(value, str | bool) for value in options.values())
            and isinstance(truths, dict)
            and all(map(_are_digests, truths.values()))
        ):
            raise KaratError("its fingerprint is damaged", place=place, hint="Save the scores again.")
        options = {"author" if name == "by" else name: value for name, value in options.items()}  # `by` in karat 0.1.0
        has_all = set().union(*truths.values()).issuperset(queries)
        return cls(truths, match, options, version) if has_all else None


def _are_digests(data: object) -> bool:
    """Whether this is a mapping of queries to digests."""
    digests = data.values() if isinstance(data, dict) else [None]
    return all(isinstance(digest, str) and _DIGEST.fullmatch(digest) for digest in digests)


def merged_fingerprint(parts: Sequence[Fingerprint | None]) -> Fingerprint | None:
    """The fingerprint of scores of documents and of answers in one table; None if a part has none."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return Fingerprint(
        {kind: digests for part in known for kind, digests in part.truths.items()},
        next((part.match for part in known if part.match is not None), None),
        {option: value for part in known for option, value in part.options.items()},
    )
