"""What is left out of a report so that it stays small: the texts of the queries that changed least."""

from __future__ import annotations

from karat.errors import plural
from karat.report.documents import Documents
from karat.report.rankings import Lists
from karat.report.subject import ReportSubject

# Bytes of the texts of documents: for a report of few queries, for each query, and at most.
_LEAST, _PER_QUERY, _MOST = 2_000_000, 1_000, 4_500_000


def keep_texts(subject: ReportSubject, documents: Documents, lists: Lists | None) -> list[str]:
    """Drop texts beyond the budget, those of the largest changes last; sentences on what was dropped."""
    if lists is None:
        return []
    budget = min(_LEAST + _PER_QUERY * len(subject.queries), _MOST)
    kept: dict[int, None] = {}
    for place in lists.listed:
        golds = lists.golds[place]
        of_query = [] if golds is None else list(golds.documents)
        for row in lists.lists:
            of_query += [] if (shown := row[place]) is None else shown["docs"]
        for document in of_query:
            text = documents.texts[document]
            if text is None or document in kept:
                continue
            size = len(text.encode(errors="surrogatepass"))
            if size <= budget:
                kept[document] = None
                budget -= size
    dropped = documents.drop_texts(kept)
    if not dropped:
        return []
    return [
        f"The texts of {plural(dropped, 'document')} are left out, those of the queries that changed least;"
        " a report of fewer queries has them all."
    ]
