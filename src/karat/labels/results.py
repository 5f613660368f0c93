"""Responses in results: one record per query, with the answer and what was retrieved; or in submissions to TREC RAG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from karat.documents.fields import as_text, document_field
from karat.errors import KaratError
from karat.labels.citations import cited_passages, find_citations
from karat.labels.records import IMPLIED
from karat.labels.responses import Passage, Response, Responses, Sentence
from karat.labels.sentences import sentence_spans
from karat.labels.trec_rag import is_trec_rag, read_trec_rag
from karat.sources.generated import generated_results
from karat.sources.records import Record
from karat.sources.result_fields import Part
from karat.sources.results import HINT_ON_ANSWERS, Results, read_records, results_of
from karat.sources.texts import read_texts


def read_responses(
    source: Any,
    *,
    system: str | None = None,
    queries: Any = None,
    corpus: Any = None,
    fields: Mapping[str, str] | None = None,
    needed: Collection[str] = ("answer",),
    format: str | None = None,  # noqa: A002
) -> Responses:
    """Read generated answers from results or from a submission to TREC RAG: a file, a list of records, a data frame.

    `queries` and `corpus` are the texts of questions, and of passages that are known by id only. Results must have the
    `needed` fields.

    >>> results = [{"query": "q1", "retrieved": ["Gold is soft."], "answer": "It is soft [1]."}]
    >>> [response] = read_responses(results).responses
    >>> response.sentences, response.passages
    ((Sentence(text='It is soft [1].', cites=('p1',)),), (Passage(id='p1', rank=1, text='Gold is soft.'),))
    """

    def read(name: str, records: Iterable[tuple[str, Record]]) -> Responses:
        is_submission, records = _is_submission(records)
        if is_submission:
            return read_trec_rag(records, system)
        return _of_results(name, records, system, fields, needed, has_corpus=corpus is not None)

    return _with_texts(read_records(source, fields, format, read, HINT_ON_ANSWERS), queries, corpus)


def read_labelled_results(
    source: Any,
    *,
    system: str | None = None,
    fields: Mapping[str, str] | None = None,
    required: Collection[Part] = (),
    optional: Collection[Part] = (),
    format: str | None = None,  # noqa: A002
) -> tuple[Results, Responses]:
    """Read results whose answers are labelled: their documents and answers, as `read_results`, and their responses."""

    def read(name: str, records: Iterable[tuple[str, Record]]) -> tuple[Results, Responses]:
        is_submission, records = _is_submission(records)
        if is_submission:
            responses = _of_one_run(read_trec_rag(records, system), name)
            questions = {each.query: each.question for each in responses.responses if each.question != each.query}
            queries = tuple(each.query for each in responses.responses)
            return Results(name, queries, {}, {}, {}, {}, questions=questions), responses
        kept: list[tuple[str, Record]] = []
        results = results_of(name, _kept(records, kept), fields, required, optional, labelled=True)
        return results, _of_results(name, kept, system, fields, (), has_corpus=False)

    return read_records(source, fields, format, read, HINT_ON_ANSWERS)


def _of_one_run(responses: Responses, name: str) -> Responses:
    runs = dict.fromkeys(str(each.system) for each in responses.responses)
    if len(runs) > 1:
        hint = "Write the responses of each run to a file of its own."
        raise KaratError(f"this file has responses of several runs: {', '.join(runs)}", where=name, hint=hint)
    return responses


def _kept(records: Iterable[tuple[str, Record]], kept: list[tuple[str, Record]]) -> Iterator[tuple[str, Record]]:
    """The records, each of which is also added to a list when it is read."""
    for each in records:
        kept.append(each)
        yield each


def _is_submission(records: Iterable[tuple[str, Record]]) -> tuple[bool, Iterator[tuple[str, Record]]]:
    """Whether the first record is one of a submission to TREC RAG; and all records."""
    records = iter(records)
    first = next(records, None)
    return (False, records) if first is None else (is_trec_rag(first[1]), chain([first], records))


def _of_results(
    name: str,
    records: Iterable[tuple[str, Record]],
    system: str | None,
    fields: Mapping[str, str] | None,
    needed: Collection[str],
    has_corpus: bool,
) -> Responses:
    results, no_answers = generated_results(name, records, fields, needed)
    strings_are_ids = has_corpus or _are_ids(results.run.values())
    responses = []
    for query in results.queries:
        documents = _documents(results.run.get(query, ()), f"{name}, query {query}", strings_are_ids)
        by_rank, passages = _passages(list(documents))
        answer = None if no_answers else results.answers.get(query, "")
        question = results.questions.get(query, query)
        gold = results.gold_answers.get(query)
        responses.append(Response(query, system, question, answer, _sentences(answer or "", by_rank), passages, gold))
    return Responses(tuple(responses), results.notes, no_answers)


def _sentences(answer: str, passages: Sequence[str]) -> tuple[Sentence, ...]:
    """The sentences of an answer, without those that have neither a letter nor a digit."""
    citations = find_citations(answer, passages)
    found, at = [], 0
    for start, end in sentence_spans(answer, citations):
        first = at
        while at < len(citations) and citations[at].start < end:
            at += 1
        if any(map(str.isalnum, answer[start:end])):
            found.append(Sentence(answer[start:end], cited_passages(citations[first:at])))
    return tuple(found)


def _are_ids(retrieved: Iterable[Any]) -> bool:
    """Whether passages that are strings are ids: they are texts if any of them has more than one word."""
    strings = [each for documents in retrieved for each in documents if isinstance(each, str)]
    return bool(strings) and not any(len(each.split()) > 1 for each in strings)


def _documents(retrieved: Any, where: str, strings_are_ids: bool) -> Iterator[tuple[str | None, str | None]]:
    """The id and the text of each document by rank, as far as they are known."""
    if isinstance(retrieved, Mapping):
        for doc in sorted(retrieved, key=lambda doc: (retrieved[doc], doc), reverse=True):
            yield doc, None
        return
    for at, document in enumerate(retrieved):
        place = f"{where}, passage {at + 1}"
        if isinstance(document, str):
            yield (document, None) if strings_are_ids else (None, document)
        elif isinstance(document, int):
            yield as_text(document, "id", place), None
        elif isinstance(document, list | tuple):
            hint = "Write each passage as a text, or as an object with an id and a content."
            raise KaratError("a span of a document has no text that could be labelled", where=place, hint=hint)
        else:
            name, content = document_field(document, "id"), document_field(document, "content")
            yield (
                None if name is None else as_text(name, "id", place) or None,
                None if content is None else as_text(content, "content", place),
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
        found = known.get((name, text)) if name else None
        if found is None:
            found = wanted = name or f"p{rank}"
            while found in passages or found in IMPLIED or (found != name and found in names):
                copies[wanted] += 1
                found = f"{wanted}#{copies[wanted] + 1}"
            passages[found] = Passage(found, rank, text)
            known[name, text] = found
        by_rank.append(found)
    return by_rank, tuple(passages.values())


def _with_texts(responses: Responses, queries: Any, corpus: Any) -> Responses:
    """The same responses with the texts of questions, and of passages that are known by id only."""
    found, notes = responses.responses, list(responses.notes)
    if queries is not None:
        texts = read_texts(queries, {each.query for each in found}, "queries")
        notes += texts.notes
        found = tuple(replace(each, question=texts[each.query].text) if each.query in texts else each for each in found)
    wanted = {passage.id for each in found for passage in each.passages if passage.text is None}
    if corpus is not None and wanted:
        texts = read_texts(corpus, wanted, "corpus")
        notes += texts.notes
        found = tuple(
            replace(
                each,
                passages=tuple(
                    replace(passage, text=texts[passage.id].text)
                    if passage.text is None and passage.id in texts
                    else passage
                    for passage in each.passages
                ),
            )
            for each in found
        )
    return replace(responses, responses=found, notes=tuple(notes))
