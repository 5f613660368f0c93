"""Submissions to the RAG track of TREC: one JSON object per topic, with an answer in sentences and their citations.

    {"run_id": "r", "topic_id": "1", "references": ["d7", "d3"], "answer": [{"text": "It is soft.", "citations": [0]}]}

Since 2025, `run_id`, `narrative_id` and `narrative` are in an object `metadata`. Citations are positions in
`references`, from 0, or ids of documents in it. Other tracks call the answer `responses`, and may give citations with
scores, as `{document: score}`. A citation that points to no reference is invalid, and kept as it was written. A record
has `gold_answers` if they were joined to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karat.documents.answer import as_gold_answers
from karat.documents.ids import identifier, reject_lone_surrogates
from karat.errors import KaratError, Message, Place, plural, require, shown
from karat.errors.suggestions import SuggestedCall
from karat.grounding.responses.responses import Passage, Response, Responses, Sentence, has_text
from karat.reading.records.paths import Record

_TOPIC = ("topic_id", "narrative_id", "request_id")
_QUESTION = ("topic", "narrative", "title", "problem_statement")
_ANSWER = ("answer", "responses")
_SENTENCE = 'A sentence is an object such as {"text": "...", "citations": [0, 1]}.'


def is_trec_rag(record: Record) -> bool:
    """Whether a record is an answer submitted to TREC RAG, which has references and an answer in sentences."""
    metadata = record.get("metadata")
    has_topic = isinstance(metadata, Mapping) and any(name in metadata for name in _TOPIC)
    in_sentences = any(isinstance(record.get(name), list) for name in _ANSWER)
    return "references" in record and (in_sentences or has_topic or "response_length" in record)


def no_gold_error(name: str) -> KaratError:
    """The error for a submission that is to be evaluated without labels and gold."""
    judge = {"task": "support", "corpus": "CORPUS", "model": "NAME", "verdicts": "verdicts.jsonl"}
    hint: Message = [
        "Its citations can be checked without gold: ", SuggestedCall.again(measures="CitationValid"),
        ". A language model can judge its answers: ", SuggestedCall.of("judge", name, **judge), ".",
        *SuggestedCall.look(name),
    ]  # fmt: skip
    return KaratError("a submission to TREC RAG has no gold", place=name, hint=hint)


def paths_in_submission(record: Record) -> dict[str, str]:
    """Where a record has what is read from it.

    >>> paths_in_submission({"topic_id": "1", "references": [], "answer": [], "metadata": {"topic": "How soft?"}})
    {'query': 'topic_id', 'retrieved': 'references', 'answer': 'answer', 'question': 'metadata.topic'}
    """
    metadata = record.get("metadata")
    inside = metadata if isinstance(metadata, Mapping) else {}
    names = {"query": _TOPIC, "retrieved": ("references",), "answer": _ANSWER, "question": _QUESTION}
    paths = {
        field: [name for name in of_field if record.get(name) is not None]
        + [f"metadata.{name}" for name in of_field if inside.get(name) is not None]
        for field, of_field in names.items()
    }
    return {field: found[0] for field, found in paths.items() if found}


def read_trec_rag(records: Iterable[tuple[Place, Record]], system: str | None = None) -> Responses:
    """The responses of a submission, each record of which has its place; `system` names those without a `run_id`."""
    responses: dict[tuple[str, str | None], tuple[Place, Response]] = {}
    empty = 0
    for place, record in records:
        response = _response(record, place, system)
        key = response.query, response.system
        if key in responses:
            earlier, _ = responses[key]
            what = f"topic {shown(response.query)} was already in "
            raise KaratError([what, earlier], place=place, hint="Keep one answer per topic and run.")
        responses[key] = place, response
        empty += len(record.get("answer", record.get("responses"))) - len(response.sentences)
    notes = (f"{plural(empty, 'sentence')} without a letter or a digit left out",) if empty else ()
    systems = tuple(dict.fromkeys(system for _, system in responses))
    return Responses(tuple(response for _, response in responses.values()), systems, notes)


def _response(record: Record, place: Place, system: str | None) -> Response:
    metadata = record.get("metadata", {})
    hint = 'Write an object such as {"run_id": "...", "narrative_id": "..."}.'
    require(isinstance(metadata, Mapping), f"metadata {shown(metadata)} is not an object", hint, place=place)
    query = _first({**metadata, **record}, _TOPIC)
    if query is None:
        what = f"there is no topic: none of the fields {', '.join(_TOPIC)}"
        raise KaratError(what, place=place, hint="Add topic_id, or narrative_id in metadata.")
    query = identifier(query, place.inside("topic"))
    run = _first({**metadata, **record}, ("run_id",))
    run = system if run is None else identifier(run, place.inside("run_id"))
    question = _first({**metadata, **record}, _QUESTION)
    references = _references(record, place)
    sentences = _sentences(record, references, place)
    ranks: dict[str, int] = {}
    for rank, reference in enumerate(references, 1):
        ranks.setdefault(reference, rank)
    reject_lone_surrogates([query, run or "", *references], place)
    return Response(
        query,
        run,
        question if isinstance(question, str) and question.strip() else query,
        " ".join(sentence.text for sentence in sentences),
        tuple(Passage(reference, rank) for reference, rank in ranks.items()),
        None if (gold := record.get("gold_answers")) is None else as_gold_answers(gold, place.inside("gold_answers")),
        written_sentences=tuple(sentence for sentence in sentences if has_text(sentence.text)),
    )


def _first(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)


def _references(record: Record, place: Place) -> list[str]:
    references = record.get("references")
    hint = "References are a list of ids of documents."
    if not isinstance(references, list):
        what = "there are no references" if references is None else f"references {shown(references)} are not a list"
        raise KaratError(what, place=place, hint=f'{hint} Write "references": [] if there are none.')
    for at, reference in enumerate(references):
        of_reference = place.inside(f"references[{at}]")
        require(isinstance(reference, str) and reference, f"{shown(reference)} is not an id", hint, place=of_reference)
    return references


def _sentences(record: Record, references: list[str], place: Place) -> list[Sentence]:
    name = next((name for name in _ANSWER if name in record), "answer")
    answer = record.get(name)
    if not isinstance(answer, list):
        what = "there is no answer" if answer is None else f"{name} {shown(answer)} is not a list of sentences"
        raise KaratError(what, place=place, hint=_SENTENCE)
    sentences = []
    for at, sentence in enumerate(answer):
        of_sentence = place.inside(f"{name}[{at}]")
        require(isinstance(sentence, Mapping), f"{shown(sentence)} is not a sentence", _SENTENCE, place=of_sentence)
        text = sentence.get("text")
        require(isinstance(text, str), f"the text is {shown(text)}, which is not text", _SENTENCE, place=of_sentence)
        sentences.append(Sentence(text, _cites(sentence, references, of_sentence)))
    return sentences


def _cites(sentence: Record, references: list[str], place: Place) -> tuple[str, ...]:
    citations = sentence.get("citations")
    if not isinstance(citations, list | Mapping):
        what = "there are no citations" if citations is None else f"citations {shown(citations)} are not a list"
        hint = "Citations are a list of positions in references, from 0. Write [] if there are none."
        raise KaratError(what, place=place, hint=hint)
    known = frozenset(references)
    cites: dict[str, None] = {}
    for at, citation in enumerate(citations):
        if isinstance(citation, int) and not isinstance(citation, bool):
            cites[references[citation] if 0 <= citation < len(references) else f"[{citation}]"] = None
        elif isinstance(citation, str) and citation:
            cites[citation if citation in known else f"[{citation}]"] = None
        else:
            hint = "A citation is a position in references, from 0, or the id of a document in it."
            raise KaratError(f"{shown(citation)} is not a citation", place=place.inside(f"citations[{at}]"), hint=hint)
    return tuple(cites)
