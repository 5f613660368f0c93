"""The columns of tables of queries and of documents: the id, the text and the title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from karat.errors import KaratError, Place, did_you_mean, enumeration, shown
from karat.sources.columns import MAX_LISTED, IfPresent
from karat.sources.spellings import TextRole, find_column


class TextColumns(NamedTuple):
    """The columns or fields of a table of queries or documents: the id, the text and, if there is one, the title."""

    id: str
    text: str
    title: str | None
    guessed: tuple[str, ...] = ()
    """what was not given, and has another name than in BEIR's files"""

    @property
    def names(self) -> list[str]:
        return [self.id, self.text, *([] if self.title is None else [self.title])]

    def notes(self, place: Place | str) -> tuple[str, ...]:
        """What was guessed about the columns: one sentence, or none."""
        return (f"{place}: {' and '.join(self.guessed)}",) if self.guessed else ()


def text_columns(
    names: Sequence[str], content: Literal["queries", "corpus"], given: Mapping[str, str] | None, place: Place | str
) -> TextColumns:
    """The columns of a table of queries, or of the documents of a corpus; `given` are names by role.

    >>> text_columns(["docno", "body"], "corpus", None, "corpus.csv").notes("corpus.csv")
    ("corpus.csv: ids are read from the column 'docno' and texts from 'body'",)
    """
    roles: tuple[TextRole, TextRole] = ("query_id", "query_text") if content == "queries" else ("doc_id", "doc_text")
    chosen = {
        role: name
        for role, name in (given or {}).items()
        if not isinstance(name, IfPresent) or name.partition(".")[0] in names
    }
    others = [chosen[role] for role in ("text", "title") if role in chosen]
    id_name = chosen["id"] if "id" in chosen else find_column(names, roles[0], others)
    text = chosen["text"] if "text" in chosen else find_column(names, roles[1], [id_name, chosen.get("title")])
    missing = [role for role, name in (("id", id_name), ("text", text)) if name is None]
    missing += [role for role, name in chosen.items() if name and name.partition(".")[0] not in names]
    if missing or id_name is None or text is None:
        listed = ", ".join(map(shown, names[:MAX_LISTED])) or "none"
        of = enumeration([f"{shown(chosen[role])}" if role in chosen else f"of {role}s" for role in missing], "and")
        near = " ".join(filter(None, (did_you_mean(chosen[role], names) for role in missing if role in chosen)))
        options = " ".join(f"--column {content}.{role}=NAME" for role in missing)
        hint = f"{near} The columns are {listed}. If yours have other names, use {options} (in Python, rename them)."
        raise KaratError(f"no column {of}", place=place, hint=hint.strip())
    title = chosen.get("title")
    if title is None and content == "corpus":
        title = find_column(names, "title", [id_name, text])
    guessed = []
    if "id" not in chosen and id_name not in ("_id", "id", "query"):
        guessed.append(f"ids are read from the column {shown(id_name)}")
    if "text" not in chosen and text not in ("text", "content"):
        guessed.append(f"texts {'' if guessed else 'are read '}from {'' if guessed else 'the column '}{shown(text)}")
    return TextColumns(id_name, text, title, tuple(guessed))
