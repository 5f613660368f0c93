"""Finding: something noteworthy about the data, as a code, a message and a hint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from karat.errors import SENTENCE_ENDS, KaratError, Parameter, Place, enumeration, for_log, plural, printable, shortened
from karat.errors.arguments import as_count, check_names, check_text
from karat.scores.finding_kinds import FindingKind, finding_kinds

_NUMBERS = re.compile("([0-9]+)")


@dataclass(frozen=True)
class Finding:
    """Something noteworthy about the data that was evaluated.

    `code` identifies the kind of finding, `message` describes it, `count` is the number of queries or documents,
    `hint` says what to do, if anything, and `queries` lists the queries, if it is about queries. `topic` and `amount`
    are the message in two parts, so that the findings of several systems fit in one line. `place` is where it is in a
    file, if that is known. `cause` is the error whose words these are, if it is about one.

    >>> from karat import evaluate
    >>> scores = evaluate({"q1": {"d1": 1}, "q2": {"d2": 1}}, {"q1": {"d1": 0.9}}, "RR")
    >>> for finding in scores.findings:
    ...     print(finding.code, finding.count, finding.queries)
    missing-queries 1 ('q2',)
    """

    code: str
    message: str
    count: int
    hint: str = ""
    queries: tuple[str, ...] = ()
    topic: str = ""
    amount: str = ""
    place: Place | None = None
    cause: KaratError | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("code", "message", "hint", "topic", "amount"):
            check_text(f"the {name} of a finding", getattr(self, name))
        object.__setattr__(self, "queries", tuple(check_names("queries", self.queries, ("q1",))))
        if as_count(self.count) is None:
            raise KaratError([Parameter("count", self.count), " is not a number of queries or documents"])
        # The texts are for people, and name queries and documents, whose ids may be of any length. What a program reads
        # is in `queries`, unchanged.
        for name in ("message", "hint", "topic", "amount"):
            object.__setattr__(self, name, printable(shortened(getattr(self, name))))

    def __str__(self) -> str:
        stop = "" if self.message.endswith(SENTENCE_ENDS) else "."
        return for_log(f"{self.message}{stop} {self.hint}".rstrip())

    @property
    def kind(self) -> FindingKind | None:
        """What kind of finding it is, with its number; None for remarks, such as how a file was read."""
        return finding_kinds().get(self.code)

    @property
    def note(self) -> str:
        """What stands below scores, after the word `note`: the number of its kind, if it has one, and its text.

        >>> Finding("missing-queries", "1 query missing from the run (scored 0): q7", 1).note
        'K030: 1 query missing from the run (scored 0): q7.'
        """
        return numbered(str(self), self.code)

    def to_dict(self) -> dict[str, Any]:
        values = {**asdict(replace(self, cause=None)), "queries": list(self.queries)}
        del values["place"], values["cause"]  # only `check` knows them, and it shows places in its own way
        return values

    def spelled(self, spelling: Callable[[Parameter], str]) -> Finding:
        """The same finding, in which parameters are written in another way: the command line has options instead."""
        if self.cause is None:
            return self
        error = self.cause.but()
        error.spelling = spelling
        return replace(self, message=error.what, hint=error.hint or "")


def numbered(text: str, code: str) -> str:
    """A text about findings of one kind, after the number of the kind, if it has one."""
    kind = finding_kinds().get(code)
    return text if kind is None else f"{kind.number}: {text}"


def reading_finding(note: str, file: str | None = None) -> Finding:
    """A finding about how data was read. The words of a note about this file are its topic, and the file the amount.

    >>> reading_finding("a.csv: ids are numbers", "a.csv").topic
    'ids are numbers'
    """
    words = note.removeprefix(f"{file}: ")
    return Finding("reading", note, 0) if words == note else Finding("reading", note, 0, topic=words, amount=str(file))


def listed_files(files: Sequence[str]) -> str:
    """Files that a note is about, the first of many.

    >>> listed_files(["a.csv", "b.csv"]), listed_files(["a.csv", "b.csv", "c.csv", "d.csv"])
    ('a.csv and b.csv', 'a.csv, b.csv and 2 other files')
    """
    names = list(dict.fromkeys(files))
    return enumeration(names if len(names) <= 3 else [*names[:2], f"{len(names) - 2:,} other files"], "and")


def perhaps_documents(path: str, names: str) -> Finding:
    """The finding that a file, which is read as scores with these columns, may contain documents."""
    message = f"{path} is read as saved scores ({names}), not as documents"
    hint = "If these are documents, use --input-format json (in Python, evaluate them with evaluate_runs)."
    return Finding("perhaps-documents", message, 0, hint)


def hint_about_documents(findings: Iterable[Finding]) -> str:
    """What an error about scores adds if they may be documents; otherwise nothing."""
    return next((finding.hint for finding in findings if finding.code == "perhaps-documents"), "")


def finding_about_queries(
    code: str, queries: Sequence[str], what: str, hint: str = "", *, noun: str = "query", listed: int = 3
) -> Finding:
    """A finding about queries: how many there are, what is true of them, and the first ids.

    They are in the order of ids, with numbers in them by value, so that it does not depend on the order of the input.

    >>> finding_about_queries("missing-queries", ["q7"], "missing from the run (scored 0)").message
    '1 query missing from the run (scored 0): q7'
    """
    queries = in_order_of_ids(queries)
    more = len(queries) - listed
    ids = ", ".join(queries[:listed]) + (f" and {more:,} more" if more > 0 else "")
    return counted_finding(code, len(queries), noun, what, f": {ids}", hint, tuple(queries))


def counted_finding(
    code: str, count: int, noun: str, what: str, more: str = "", hint: str = "", queries: tuple[str, ...] = ()
) -> Finding:
    """A finding about a number of queries or documents."""
    _, nouns = plural(0, noun).split(" ", 1)
    return Finding(code, f"{plural(count, noun)} {what}{more}", count, hint, queries, f"{nouns} {what}", f"{count:,}")


def in_order_of_ids(queries: Sequence[str]) -> list[str]:
    """The ids of queries in their order, with numbers in them by value.

    >>> in_order_of_ids(["q10", "q2"])
    ['q2', 'q10']
    """
    return sorted(queries, key=_numbers_by_value)


def _numbers_by_value(name: str) -> tuple[list[tuple[str, int, str]], str]:
    """What names are sorted by: q2 stands before q10."""
    parts = _NUMBERS.split(name)
    numbers = [number.lstrip("0") for number in parts[1::2]] + [""]
    return [(text, len(number), number) for text, number in zip(parts[::2], numbers, strict=True)], name
