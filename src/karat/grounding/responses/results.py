"""Responses in results: one record per query, with the answer and what was retrieved; or in submissions to TREC RAG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from karat.documents.fields import as_text, document_field
from karat.errors import KaratError, Place
from karat.grounding.responses.responses import Passage, Response, Responses
from karat.grounding.responses.trec_rag import is_trec_rag, read_trec_rag
from karat.grounding.verdict_file.records import IMPLIED
from karat.options import Order
from karat.reading.records.generated import GeneratedResults
from karat.reading.records.joining import NOTHING_JOINED, JoinedSources, joined
from karat.reading.records.paths import Record
from karat.reading.records.results import HINT_ON_ANSWERS, Results, WantedResults, results_of
from karat.reading.records.sources import RecordSource, read_records
from karat.reading.texts.texts import read_texts


def read_responses(
    source: Any,
    *,
    system: str | None = None,
    queries: Any = None,
    corpus: Any = None,
    fields: Mapping[str, str] | None = None,
    needed: Collection[str] = ("answer",),
    format: str | None = None,  # noqa: A002
    records: str | None = None,
    order: Order | None = None,
    joins: JoinedSources = NOTHING_JOINED,
) -> Responses:
    """Read generated answers from results or from a submission to TREC RAG: a file, a list of records, a data frame.

    `queries` and `corpus` are the texts of questions, and of passages that are known by id only. Results must have the
    `needed` fields. `records` is the path of results inside an object, `joins` are gold and answers that are elsewhere.

    >>> results = [{"query": "q1", "retrieved": ["Gold is soft."], "answer": "It is soft [1]."}]
    >>> [response] = read_responses(results).responses
    >>> response.sentences, response.passages
    ((Sentence(text='It is soft [1].', cites=('p1',)),), (Passage(id='p1', rank=1, text='Gold is soft.'),))
    """

    def read(log: RecordSource) -> Responses:
        source = joined(log, joins, fields, ["answer"])
        if _is_submission(source.records):
            return _responses_of_submission(source, system)
        return _responses_of_results(source, system, fields, needed, order, has_corpus=corpus is not None)

    return _with_texts(read_records(source, fields, format, read, HINT_ON_ANSWERS, records), queries, corpus)


def read_labelled_results(
    source: Any,
    *,
    wanted: WantedResults,
    system: str | None = None,
    fields: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002
    records: str | None = None,
) -> tuple[Results, Responses]:
    """Read results whose answers are labelled: their documents and answers, as `read_results`, and their responses."""

    def read(log: RecordSource) -> tuple[Results, Responses]:
        source = wanted.joined(log, fields)
        if _is_submission(source.records):
            responses = _responses_of_submission(source, system)
            _check_one_run(responses, source.name)
            questions = {each.query: each.question for each in responses.responses if each.question != each.query}
            answers = {each.query: each.answer or "" for each in responses.responses}
            golds = {each.query: each.gold_answers for each in responses.responses if each.gold_answers is not None}
            of_answers = (golds, answers if golds else {})
            return Results(source.name, tuple(answers), {}, {}, *of_answers, questions=questions), responses
        kept: list[tuple[Place, Record]] = []
        copied = replace(source, records=_copy_records(source.records, kept))
        results = results_of(copied, fields, wanted, labelled=True)
        kept_source = replace(source, records=kept)
        return results, _responses_of_results(kept_source, system, fields, (), wanted.order, has_corpus=False)

    return read_records(source, fields, format, read, HINT_ON_ANSWERS, records)


def _responses_of_submission(source: RecordSource, system: str | None) -> Responses:
    responses = read_trec_rag(source.records, system)
    return replace(responses, notes=(*source.notes, *responses.notes))


def _check_one_run(responses: Responses, name: str) -> None:
    if len(responses.systems) > 1:
        hint = "Write the responses of each run to a file of its own."
        runs = ", ".join(map(str, responses.systems))
        raise KaratError(f"this file has responses of several runs: {runs}", place=name, hint=hint)


def _copy_records(
    records: Iterable[tuple[Place, Record]], kept: list[tuple[Place, Record]]
) -> Iterator[tuple[Place, Record]]:
    """The records, each of which is also added to a list when it is read."""
    for record in records:
        kept.append(record)
        yield record


def _is_submission(records: Iterable[tuple[Place, Record]]) -> bool:
    """Whether the first record is one of a submission to TREC RAG."""
    return any(is_trec_rag(record) for _, record in islice(records, 1))


def _responses_of_results(
    source: RecordSource,
    system: str | None,
    fields: Mapping[str, str] | None,
    needed: Collection[str],
    order: Order | None,
    *,
    has_corpus: bool,
) -> Responses:
    name = source.name
    results = GeneratedResults(source, fields, needed, order)
    are_ids = has_corpus or strings_are_ids(results.documents())
    responses = []
    fault: KaratError | None = None
    for query, question, retrieved, gold, answer in results:
        try:
            documents = [*ids_and_texts(retrieved or (), Place(name, query=query), are_ids)]
        except KaratError as error:
            fault = fault or error  # but the fields of a later record may be at fault too
            continue
        by_rank, passages = _passages(documents)
        answer = (answer or "") if results.has_answers else None
        about = query, system, question or query, answer, passages
        ranking = tuple(by_rank) if len(by_rank) > len(passages) else None
        responses.append(Response(*about, gold, knows_passages=retrieved is not None, ranking=ranking))
    if fault:
        raise fault
    no_answers = None if results.has_answers else results.missing("answer")
    return Responses(tuple(responses), (system,), (*source.notes, *results.notes), no_answers)


def strings_are_ids(retrieved: Iterable[Any]) -> bool:
    """Whether passages that are strings are ids: they are texts if any of them has more than one word."""
    has_strings = False
    for document in chain.from_iterable(retrieved):
        if isinstance(document, str):
            has_strings = True
            if len(document.split(maxsplit=1)) > 1:
                return False
    return has_strings


def ids_and_texts(retrieved: Any, place: Place, are_ids: bool) -> Iterator[tuple[str | None, str | None]]:
    """The id and the text of each document by rank, as far as they are known. Strings may be ids, or texts."""
    if isinstance(retrieved, Mapping):
        scores = [(score, as_text(doc, "id", place)) for doc, score in retrieved.items()]
        yield from ((doc, None) for _, doc in sorted(scores, reverse=True))
        return
    for at, document in enumerate(retrieved):
        of_passage = place.inside(f"passage {at + 1}")
        if isinstance(document, str):
            yield (document, None) if are_ids else (None, document)
        elif isinstance(document, int):
            yield as_text(document, "id", of_passage), None
        elif isinstance(document, list | tuple):
            hint = "Write each passage as a text, or as an object with an id and a content."
            raise KaratError("a span of a document has no text that could be labelled", place=of_passage, hint=hint)
        else:
            name, content = document_field(document, "id"), document_field(document, "content")
            yield (
                None if name is None else as_text(name, "id", of_passage) or None,
                None if content is None else as_text(content, "content", of_passage),
            )


def _passages(documents: Sequence[tuple[str | None, str | None]]) -> tuple[list[str], tuple[Passage, ...]]:
    """The id of the passage at each rank, and the passages, each once.

    A document without an id is named after its rank. If two different texts have one id, as chunks of a document may
    have, the second one is `id#2`.
    """
    names = {name for name, _ in documents}
    passages: dict[str, Passage] = {}
    known: dict[tuple[str | None, str | None], str] = {}
    copies: Counter[str] = Counter()
    by_rank = []
    for rank, (name, text) in enumerate(documents, 1):
        passage = known.get((name, text)) if name else None
        if passage is None:
            passage = wanted = name or f"p{rank}"
            while passage in passages or passage in IMPLIED or (passage != name and passage in names):
                copies[wanted] += 1
                passage = f"{wanted}#{copies[wanted] + 1}"
            passages[passage] = Passage(passage, rank, text)
            known[name, text] = passage
        by_rank.append(passage)
    return by_rank, tuple(passages.values())


def _with_texts(responses: Responses, queries: Any, corpus: Any) -> Responses:
    """The same responses with the texts of questions, and of passages that are known by id only."""
    completed, notes = responses.responses, list(responses.notes)
    if queries is not None:
        questions = read_texts(queries, {response.query for response in completed}, "queries")
        notes += questions.notes
        completed = [
            replace(response, question=questions[response.query].text) if response.query in questions else response
            for response in completed
        ]
    passages = chain.from_iterable(response.passages for response in completed)
    wanted = {passage.id for passage in passages if passage.text is None} if corpus is not None else {}
    if wanted:
        texts = read_texts(corpus, wanted, "corpus")
        notes += texts.notes

        def with_text(passage: Passage) -> Passage:
            is_read = passage.text is None and passage.id in texts
            return replace(passage, text=texts[passage.id].text) if is_read else passage

        completed = [replace(each, passages=tuple(map(with_text, each.passages))) for each in completed]
    return replace(responses, responses=tuple(completed), notes=tuple(notes))
