"""The texts of queries and of documents that are known by id only, from any source.

Of a source with millions of texts, only those that are wanted are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from karat.errors import KaratError, Message, Place, first_few, plural, shown
from karat.reading.texts.entries import NOUNS, EntryReader, Text
from karat.reading.texts.text_files import Content


@dataclass(frozen=True, eq=False)
class FoundTexts(Mapping[str, Text]):
    """Texts by id. `missing` are the wanted ids that have none; the notes say so, and what was guessed."""

    by_id: Mapping[str, Text]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def notes_on(self, shown: Collection[str]) -> tuple[str, ...]:
        """The notes, without that on missing texts unless one of these ids is missing."""
        is_about_them = not self.missing or any(each in self.missing for each in shown)
        return self.notes if is_about_them else self.notes[:-1]

    def __getitem__(self, wanted: str) -> Text:
        return self.by_id[wanted]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_id)

    def __len__(self) -> int:
        return len(self.by_id)


def read_texts(source: Any, wanted: Collection[str], content: Content = "corpus") -> FoundTexts:
    """The texts of the wanted ids: a mapping of ids to `Text`, with the ids that have no text, and notes.

    `source` is a file of any format (also compressed, remote or open), the folder of a BEIR data set, or
    `ir_datasets:NAME`; a mapping of ids to texts, records or documents; a data frame; a list or an iterator of records,
    documents or `(id, text)`; or a list of files. A `DescribedFile` is a file whose columns (`id`, `text`, `title`) or
    format are known. It is read once, in parts, and only the wanted texts are kept.

    An id with two different texts is an error, and so is a source that has none of the wanted ids, and one that is a
    run, ground truth or results.

    >>> texts = read_texts([{"_id": "d1", "title": "Gold", "text": "Gold is soft."}], ["d1", "d2"])
    >>> texts["d1"]
    Text(text='Gold is soft.', title='Gold')
    >>> texts.missing, texts.notes
    (('d2',), ('the corpus: no text for 1 of 2 documents (d2)',))
    """
    reader = EntryReader(content, frozenset(wanted))
    texts: dict[str, Text] = {}
    places: dict[str, Place] = {}
    empty: set[str] = set()
    for id_, text, place in reader.entries(source):
        if text is None:
            empty.add(id_)
        elif texts.setdefault(id_, text) != text:
            what, hint = other_text(content, id_, places[id_]), f"Give each {NOUNS[content]} one text."
            raise KaratError(what, place=place, hint=hint)
        else:
            places.setdefault(id_, place)
    missing, name, notes = tuple(sorted({*wanted} - texts.keys())), reader.name, [*reader.notes]
    if missing and not texts and not empty:
        raise no_texts(name, content, missing, len(missing), reader.examples)
    if missing:
        notes.append(missing_texts(name, content, missing, len(missing), len({*wanted})))
    return FoundTexts(dict(sorted(texts.items())), missing, tuple(notes))


def other_text(content: Content, id_: str, before: Place) -> Message:
    """What is wrong if an id has another text at an earlier place."""
    return [f"{NOUNS[content]} {shown(id_)} has another text here than in ", before]


def no_texts(name: str, content: Content, missing: Sequence[str], count: int, examples: Sequence[str]) -> KaratError:
    """The error if a source has none of the wanted ids; `missing` are at least some of them, `examples` of its own."""
    which, hint = f"{NOUNS[content]} {shown(missing[0])}", ""
    if count > 1:
        which, hint = f"any of the {plural(count, NOUNS[content])}", f"Their ids are {first_few(missing)}"
    if examples:
        hint = f"{hint}; the" if hint else "The"
        hint = f"{hint} texts have the ids {first_few(examples)}."
    return KaratError(f"no text found for {which}", place=name, hint=hint or None)


def missing_texts(name: str, content: Content, missing: Sequence[str], count: int, wanted: int) -> str:
    """The note on ids without a text; `missing` are at least some of them."""
    return f"{name}: no text for {count:,} of {plural(wanted, NOUNS[content])} ({first_few(missing)})"
