"""Sheets about documents of runs, which people grade as a model does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from karat.errors import KaratError, plural
from karat.grounding.labels.recipes import WantedLabel
from karat.grounding.responses.responses import Response
from karat.grounding.sheets.sheet_rows import SheetRow
from karat.grounding.sheets.sheets import Sheet, sheet_of_rows
from karat.grounding.verdict_file.drawn import draw, drawn_queries
from karat.grounding.verdict_file.records import Item
from karat.grounding.verdict_file.tasks import BUILT_IN
from karat.options import RELEVANCE
from karat.reading.texts.texts import FoundTexts, read_texts


def sheet_of_documents(
    documents: Mapping[str, Sequence[str]],
    population: Collection[str],
    queries: object,
    corpus: object,
    *,
    sample: int | None = None,
    seed: int = 0,
) -> Sheet:
    """The sheet for the relevance of documents, by query; `queries` and `corpus` have the texts.

    A `sample` is of so many queries of the whole `population`, in some of which there may be nothing to label.

    >>> sheet_of_documents({"q1": ["d1", "d2"]}, ["q1"], {"q1": "How soft?"}, {"d1": "Very.", "d2": "No."}).labels
    2
    """
    drawn = {}
    if sample is not None:
        drawn = drawn_queries(draw(population, sample, seed), population, None, RELEVANCE, seed)
    pairs = [(query, name) for query in (drawn or documents) for name in documents.get(query, ())]
    if not pairs:
        which = "of the drawn queries " if drawn else ""
        raise KaratError(f"there is nothing to label: all documents {which}in the top ranks are judged")
    wanted = [{*ids} for ids in zip(*pairs, strict=True)]
    texts = read_texts(queries, wanted[0], "queries"), read_texts(corpus, wanted[1], "corpus")
    rows = [_row(*pair, *texts) for pair in pairs if _has_texts(*pair, *texts)]
    if not rows:
        raise KaratError("there is nothing to label: no document has a text that people could read")
    sheet = sheet_of_rows(RELEVANCE, BUILT_IN[RELEVANCE], rows, drawn)
    notes = [note for found in texts for note in found.notes]
    if without := len(pairs) - len(rows):
        notes.append(f"{plural(without, 'document')} left out: the text of the query or the document is unknown")
    if drawn and (nothing := len(drawn.keys() - documents.keys())):
        notes.append(f"{plural(nothing, 'drawn query')} left out, whose documents in the top ranks are all judged")
    return replace(sheet, notes=(*sheet.notes, *notes))


def _has_texts(query: str, document: str, queries: FoundTexts, corpus: FoundTexts) -> bool:
    return query in queries and document in corpus


def _row(query: str, document: str, queries: FoundTexts, corpus: FoundTexts) -> SheetRow:
    response = Response(query, None, queries[query].text, None, knows_passages=False)
    item = Item(query, document, "document", text=corpus[document].text)
    return SheetRow(response, item, WantedLabel(RELEVANCE, item, "question"), corpus[document].title)
