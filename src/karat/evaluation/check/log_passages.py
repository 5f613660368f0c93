"""What is wrong with the passages of a log, and with answers and gold answers that are compared with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from karat.data.answers import Answers
from karat.documents.normalization import normalized
from karat.documents.words import tokens
from karat.errors import enumeration, shown
from karat.evaluation.check.log_records import LogRecord, Passage, ReadLog
from karat.registry.selection import select_measures
from karat.scores.finding import Finding

_RECORDS = 1_000  # whose texts are compared at a time
_LONGEST_NAME = 3
"""words; a longer gold answer is usually in words of its own"""
_SHORTEST_COPY = 4
"""words; a shorter passage may be a title, which can be the answer"""
_ALIKE = 2
"""how many times longer one of two texts can be that differ only in case, punctuation and articles"""
_JUDGMENTS = {"yes", "no", "true", "false", "none", "unknown"}
_SAME_TEXT = ("unicode", "space")


def check_passages(log: ReadLog) -> Iterator[Finding]:
    """What is wrong with the passages of each record, if any record has some."""
    if not log.has("retrieved"):
        return
    for record in log.records:
        yield from _check_texts(record)
        yield from _check_repeated(record)
    records = iter(log.records)
    while batch := list(islice(records, _RECORDS)):
        yield from _copied_answers(batch)
        yield from _golds_in_no_passage(batch)


def _check_texts(record: LogRecord) -> Iterator[Finding]:
    """No passages, and passages without a text."""
    query = shown(record.query)
    is_read = record.lacks("retrieved") or "retrieved" in record.values
    if not record.present or not is_read:
        return
    empty = [rank for rank, passage in enumerate(record.passages, 1) if _is_empty(passage)]
    if not record.values.get("retrieved"):
        what, hint = f"no documents were retrieved for query {query}", "Did the search fail, or was it not logged?"
        yield record.finding(_without_documents(record), what, hint)
    elif empty and len(empty) == len(record.passages):
        what = f"all documents retrieved for query {query} are empty texts"
        yield record.finding("empty-contexts", what, "Were the texts not logged?")
    elif empty:
        what = f"{_passages(empty)} of query {query} {'has' if len(empty) == 1 else 'have'} no text"
        yield record.finding("empty-text", what, "Was a field not read, or did an extraction fail?")


def _without_documents(record: LogRecord) -> str:
    """The kind of the finding that nothing was retrieved: where gold documents are known, that of an evaluation."""
    if "truth" not in record.values:
        return "empty-contexts"
    return "missing-queries" if record.lacks("retrieved") else "nothing-retrieved"


def _is_empty(passage: Passage) -> bool:
    id_, text = passage
    return not (text if text is not None else id_ or "").strip()


def _check_repeated(record: LogRecord) -> Iterator[Finding]:
    """Passages with the same text; of those that are known by their ids only, the same ids."""
    ranks: dict[tuple[bool, str], list[int]] = {}
    for rank, (id_, text) in enumerate(record.passages, 1):
        same = (id_ or "") if text is None else normalized(text, _SAME_TEXT)
        if same:
            ranks.setdefault((text is None, same), []).append(rank)
    for (is_id, same), of_text in ranks.items():
        if len(of_text) > 1:
            what = f"are the same document, {shown(same)}" if is_id else f"have the same text, {shown(same)}"
            what = f"{_passages(of_text)} of query {shown(record.query)} {what}"
            yield record.finding("repeated-passages", what, "The second one takes the place of other evidence.")


def _copied_answers(records: Sequence[LogRecord]) -> Iterator[Finding]:
    """Answers that equal a passage, as the measure EM(normalize=true) compares them."""
    pairs = [
        (record, rank, text, answer)
        for record in records
        if len(tokens(answer := record.values.get("answer") or "")) >= _SHORTEST_COPY
        for rank, (_, text) in enumerate(record.passages, 1)
        if text is not None and len(answer) <= _ALIKE * len(text) and len(text) <= _ALIKE * len(answer)
    ]
    are_equal = _measured("EM(normalize=true)", (([text], answer) for _, _, text, answer in pairs))
    seen: set[LogRecord] = set()
    for (record, rank, _, _), is_equal in zip(pairs, are_equal, strict=True):
        if is_equal and record not in seen:
            seen.add(record)
            what = f"the answer to {shown(record.query)} is passage {rank}, word for word"
            yield record.finding("answer-is-passage", what, "Was the right field logged as the answer?")


def _golds_in_no_passage(records: Sequence[LogRecord]) -> Iterator[Finding]:
    """Gold answers that are in no passage, neither as they are (Contains) nor with their words apart (TokenRecall)."""
    expected = [record for record in records if record.texts and _are_names(record.values.get("gold_answers") or ())]
    for record in _without_gold(_without_gold(expected, "TokenRecall"), "Contains"):
        golds = enumeration([shown(gold) for gold in record.values["gold_answers"][:3]], "or")
        what = f"no passage of query {shown(record.query)} contains the gold answer {golds}"
        yield record.finding("gold-in-no-passage", what, "Did the search fail, or were passages cut?")


def _without_gold(records: Sequence[LogRecord], measure: str) -> list[LogRecord]:
    """The records none of whose passages has a gold answer, by a measure of answers."""
    pairs = ((record.values["gold_answers"], text) for record in records for text in record.texts or ())
    found = iter(_measured(measure, pairs))
    return [record for record in records if not any(list(islice(found, len(record.passages))))]


def _are_names(golds: Sequence[str]) -> bool:
    """Whether gold answers are names or terms, which a text that answers the question has word for word.

    Yes and no, numbers, the letters of choices and whole phrases are usually worded in another way there.
    """
    return bool(golds) and all(map(_is_name, golds))


def _is_name(gold: str) -> bool:
    words = tokens(gold)
    has_digit = any(map(str.isdigit, gold))
    is_judgment = len(words) == 1 and (len(words[0]) == 1 or words[0].casefold() in _JUDGMENTS)
    return 0 < len(words) <= _LONGEST_NAME and not has_digit and not is_judgment


def _measured(name: str, pairs: Iterable[tuple[Sequence[str], str]]) -> list[bool]:
    """Whether a measure of answers is 1 for each of some texts, given the texts that they are compared with."""
    golds: list[Sequence[str]] = []
    predicted: list[str] = []
    for texts, text in pairs:
        golds.append(texts)
        predicted.append(text)
    [measure] = select_measures([name], subjects=("answers",))
    answers = Answers(tuple(map(str, range(len(golds)))), golds, predicted)
    return [value == 1 for value in measure.compute(answers).tolist()]


def _passages(ranks: Sequence[int]) -> str:
    """Passages at some ranks.

    >>> _passages([2]), _passages([2, 4])
    ('passage 2', 'passages 2 and 4')
    """
    return f"passage{'s' if len(ranks) > 1 else ''} {enumeration([*map(str, ranks)], 'and')}"
