"""What is left out of a report so that it stays small: parts of texts, ids and values, of the largest changes last."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from karat.data.verdicts import SETS
from karat.errors import plural
from karat.report.rankings import Documents, Lists, clip
from karat.report.subject import LONG_NAME, ReportSubject, shortened_name

# Bytes of all texts: for a report of few queries, for each query, and at most.
_LEAST, _PER_QUERY, _MOST = 1_250_000, 1_000, 4_500_000
# The parts of it that questions, answers and labels have at most; documents have the rest.
_QUESTIONS, _ANSWERS, _LABELS = 0.25, 0.5, 0.4
# Characters: of any text; and of a question or an answer beyond the budget.
_LONGEST, _SHORT = 20_000, 200
# Bytes of the ids of queries, or of documents; beyond it, long ids are shortened.
_IDS = 2_500_000
_LONGEST_ID = 1_000  # characters of any id
_MOST_MISSES = 20  # queries whose labels do not fit, after which those of the others are not looked up
_MOST_GOLD_ANSWERS = 20
_FEWER_QUERIES = "a report of fewer queries has them whole."


class Budget:
    """The texts that a report can have; `cut` are sentences on what was left out.

    The texts of the queries that changed most are whole. Those of others are shortened, or left out.
    """

    def __init__(self, subject: ReportSubject) -> None:
        self._subject = subject
        self._bytes = min(_LEAST + _PER_QUERY * len(subject.queries), _MOST)
        self._left: float = self._bytes
        self.cut: list[str] = []

    def questions(self, texts: list[str | None]) -> list[str | None]:
        """The texts of queries."""
        kept = list(texts)
        left = available = min(self._bytes * _QUESTIONS, self._left)
        for place in self._subject.by_change.tolist():
            text = texts[place] or ""
            kept[place] = texts[place] if _size(text) <= left and len(text) <= _LONGEST else _shortened(text, _SHORT)
            left -= _size(kept[place] or "")
        self._left -= available - left
        count = sum(one != other for one, other in zip(texts, kept, strict=True))
        if count:
            self.cut.append(f"The texts of {plural(count, 'query')} are shortened; {_FEWER_QUERIES}")
        return kept

    def answers(self, answers: dict[str, Any] | None) -> dict[str, Any] | None:
        """The gold and predicted answers, with the words that they share."""
        if answers is None:
            return None
        golds = answers["gold"]
        pairs = zip(answers["predicted"], answers["shared"], strict=True)
        answered = [(texts, spans) for texts, spans in pairs if texts is not None]
        predicted, shared = [texts for texts, _ in answered], [spans for _, spans in answered]
        left = available = min(self._bytes * _ANSWERS, self._left)
        count = 0
        for place in self._subject.by_change.tolist():
            texts = [*(golds[place] or ()), *(text for row in predicted if (text := row[place]) is not None)]
            size = sum(map(_size, texts))
            if size > left or any(len(text) > _LONGEST for text in texts):
                count += 1
                size = self._shorten_answers(golds, predicted, shared, place)
            left -= size
        self._left -= available - left
        if count:
            self.cut.append(f"The answers to {plural(count, 'query')} are shortened; {_FEWER_QUERIES}")
        return answers

    def labels(self, labels_of: Callable[[int], list[Any]]) -> list[list[Any] | None]:
        """The labels of each query, with items and reasons: those of each system, or None if they are left out."""
        kept: list[list[Any] | None] = [None] * len(self._subject.queries)
        left = available = min(self._bytes * _LABELS, self._left)
        shortened = misses = 0
        for place in self._subject.by_change.tolist():
            if misses == _MOST_MISSES:
                break
            labels = labels_of(place)
            is_long = _json_size(labels) > left
            if is_long:
                labels = [None if items is None else _short_items(items) for items in labels]
            size = _json_size(labels)
            if size > left:
                misses += 1
                continue
            shortened += is_long
            kept[place] = labels
            left -= size
        self._left -= available - left
        if shortened:
            self.cut.append(
                f"The labels of {plural(shortened, 'query')} are without reasons, and their items shortened."
            )
        if left_out := kept.count(None):
            self.cut.append(
                f"The labels of {plural(left_out, 'query')} are left out, those of the queries that changed least;"
                " a report of fewer queries has them all."
            )
        return kept

    def documents(self, documents: Documents, lists: Lists | None, passages: Iterable[int] = ()) -> None:
        """The texts and the titles of documents: those of labelled passages, and of lists."""
        left = self._left
        long = [place for place, text in enumerate(documents.texts) if text is not None and len(text) > _LONGEST]
        for place in long:
            documents.texts[place] = _shortened(documents.texts[place] or "", _LONGEST)
        kept: set[int] = set()
        for document in dict.fromkeys([*passages, *(() if lists is None else _in_order(lists))]):
            size = _size(documents.texts[document] or "") + _size(documents.titles[document] or "")
            if size <= left:
                kept.add(document)
                left -= size
        dropped = documents.drop_texts(kept)
        if dropped:
            self.cut.append(
                f"The texts of {plural(dropped, 'document')} are left out, those of the queries that changed least;"
                " a report of fewer queries has them all."
            )
        if shortened := kept.intersection(long):
            if lists is not None:
                lists.clip_spans(shortened, _LONGEST)
            many = plural(len(shortened), "document")
            self.cut.append(f"The texts of {many} are cut after {_LONGEST:,} characters.")

    def ids(self, ids: Sequence[str | None], noun: str | None) -> list[str | None]:
        """The ids of queries or documents: very long ones are shortened, and all long ones if they are too much.

        Without a noun, the page does not show them.
        """
        longest = LONG_NAME if sum(_size(name or "") for name in ids) > _IDS else _LONGEST_ID
        long = [place for place, name in enumerate(ids) if name is not None and len(name) > longest]
        kept = list(ids)
        for place in long:
            kept[place] = f"{shortened_name(ids[place] or '')} ({place + 1})"
        if long and noun is not None:
            self.cut.append(f"The ids of {plural(len(long), noun)} are shortened, and numbered to tell them apart.")
        return kept

    def measures_with_values(self) -> int:
        """The number of measures whose values of each query are shown."""
        subject = self._subject
        count = len(subject.detailed)
        if count < len(subject.measures):
            shown = subject.primary if count == 1 else f"the first {count} measures"
            compared = subject.measures if subject.comparison is None else subject.comparison.measures
            what = "Intervals, tests and the values" if len(compared) <= count else "The values"
            self.cut.append(
                f"{what} of each query are shown for {shown}; a report of fewer systems or of other measures (`-m`)"
                " shows others."
            )
        return count

    def _shorten_answers(self, golds: Any, predicted: Any, shared: Any, place: int) -> int:
        """Shorten the answers to a query, and return what is left of them in bytes."""
        best = [row[place][0][0] for row in shared if row[place]]
        most = max(_MOST_GOLD_ANSWERS, *(at + 1 for at in best), 0)
        if golds[place] is not None:
            golds[place] = [_shortened(text, _SHORT) for text in golds[place][:most]]
        for row, spans in zip(predicted, shared, strict=True):
            if row[place] is not None:
                row[place] = _shortened(row[place], _SHORT)
            if spans[place]:
                spans[place] = [[at, *(clip(each, _SHORT) for each in of_texts)] for at, *of_texts in spans[place]]
        texts = [*(golds[place] or ()), *(row[place] or "" for row in predicted)]
        return sum(map(_size, texts))


def _in_order(lists: Lists) -> Iterator[int]:
    """The documents of the queries that have lists, those of the largest changes first."""
    for place in lists.listed:
        golds = lists.golds[place]
        yield from () if golds is None else golds.documents
        for row in lists.lists:
            yield from () if (shown := row[place]) is None else shown["docs"]


def _short_items(items: dict[str, Any]) -> dict[str, Any]:
    """The items of an answer without reasons and replies, and with the beginnings of long texts."""
    return {
        name: list(map(_short_item, value)) if name in (*SETS, "failures") else value for name, value in items.items()
    }


def _short_item(item: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in item.items() if key not in ("votes", "reply")}
    return kept if kept.get("text") is None else {**kept, "text": _shortened(kept["text"], _SHORT)}


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def _json_size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
