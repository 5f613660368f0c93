"""The generated answers of the demo data set and the labels about them agree with each other and with its passages."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import Any

import pytest

from karat.cli import demo_data as demo
from karat.grounding.responses.responses import items_of
from karat.grounding.responses.results import read_responses
from karat.grounding.verdict_file.records import read_item, text_digest

Record = dict[str, Any]


def read(path: Any) -> list[Record]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


RESULTS = {line["query"]: line for line in read(demo.GENERATED)}
RECORDS = read(demo.VERDICTS)
ITEMS = {query: [each for each in RECORDS if each["record"] == "item" and each["query"] == query] for query in RESULTS}
VERDICTS = [each for each in RECORDS if each["record"] == "verdict"]
SUPPORT = {"none": 0.0, "partial": 0.5, "full": 1.0}
SCALES: dict[str, set[str | int]] = {
    "support": set(SUPPORT),
    "relevance": {0, 1, 2, 3},
    "correctness": {"incorrect", "partial", "correct"},
    "abstention": {"answered", "refused"},
}
FOUND = ("sentence", "passage")  # types of items that results have; people write the others
POINT_TO_NO_PASSAGE = {"q20": ["[7]"], "q50": ["[6]"]}  # on purpose
WITHOUT_CLAIMS = {"q12", "q34", "q40"}  # two refusals, and one whose claims are unknown on purpose
NOT_LABELLED = {("q15", "a4", "gold-051"), ("q28", "gold-215"), ("q28", "gold-217")}  # on purpose


def of_type(query: str, kind: str, of: str | None = None) -> list[Record]:
    return [item for item in ITEMS[query] if item["type"] == kind and item.get("of") == of]


def passages(query: str) -> list[str]:
    return [passage["id"] for passage in RESULTS[query]["retrieved"]]


def test_each_question_has_an_answer_and_its_gold_answers() -> None:
    assert [(line["query"], line["question"], line["gold_answers"]) for line in RESULTS.values()] == [
        (question["query"], question["text"], question["gold_answers"]) for question in demo.questions()
    ]
    assert all(line["answer"].strip() for line in RESULTS.values())


def test_passages_are_the_first_ones_of_a_run_whole() -> None:
    content = {passage["id"]: passage["content"] for passage in demo.corpus()}
    runs: dict[str, dict[str, list[str]]] = {}
    for system, path in demo.runs().items():
        for row in path.read_text("utf-8").splitlines():
            query, _, passage, *_ = row.split()
            runs.setdefault(system, {}).setdefault(query, []).append(passage)
    for query, line in RESULTS.items():
        ids = passages(query)
        assert ids in [runs[system][query][: len(ids)] for system in ("bm25", "bm25-rm3")]
        assert len(ids) in (4, 5)
        assert [passage["content"] for passage in line["retrieved"]] == [content[name] for name in ids]


def test_sentences_are_the_answer_and_cite_what_it_cites() -> None:
    for query, line in RESULTS.items():
        sentences = of_type(query, "sentence", "answer")
        assert [item["id"] for item in sentences] == [f"s{at + 1}" for at in range(len(sentences))]
        assert " ".join(item["text"] for item in sentences) == line["answer"]
        names = {str(rank): name for rank, name in enumerate(passages(query), start=1)}
        wrong: list[str] = []
        for item in sentences:
            numbers = [n.strip() for group in re.findall(r"\[(.*?)\]", item["text"]) for n in group.split(",")]
            assert item.get("cites", []) == list(dict.fromkeys(names.get(number, f"[{number}]") for number in numbers))
            wrong += [f"[{number}]" for number in numbers if number not in names]
        assert wrong == POINT_TO_NO_PASSAGE.get(query, [])


def test_labels_are_about_the_sentences_and_passages_that_karat_finds_in_the_results() -> None:
    for response in read_responses(demo.GENERATED, system="generated").responses:
        items = {each["id"]: read_item(each, "") for each in ITEMS[response.query] if each["type"] in FOUND}
        found = {item.id: item for item in items_of(response)}
        assert items == {
            name: item._replace(text=items[name].text, digest=text_digest(item.text or ""))
            for name, item in found.items()
        }


def test_passages_of_the_labels_are_those_of_the_results() -> None:
    for query, line in RESULTS.items():
        items = of_type(query, "passage")
        assert [(item["id"], item["rank"]) for item in items] == [(n, at + 1) for at, n in enumerate(passages(query))]
        texts = [line["answer"], "\n".join(sorted(line["gold_answers"]))]
        texts += [passage["content"] for passage in line["retrieved"]]
        texts += [item["text"] for item in ITEMS[query] if "text" in item]
        digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts]
        assert [item["digest"] for item in ITEMS[query]] == digests


def test_ids_are_unique_within_a_question() -> None:
    for query, items in ITEMS.items():
        assert max(Counter(item["id"] for item in items).values()) == 1, query


def test_labels_are_about_items_of_their_question_and_on_the_scale() -> None:
    for verdict in VERDICTS:
        query = verdict["query"]
        assert verdict["item"] in {item["id"] for item in ITEMS[query]} | {"answer"}
        against = verdict.get("against", [])
        assert against in ("answer", "gold", "question") or set(against) <= set(passages(query))
        if "state" in verdict:
            assert verdict["label"] is None
            assert verdict["state"] in ("failed", "nothing_to_judge")
        else:
            assert verdict["label"] in SCALES[verdict["task"]]


def keys(verdicts: list[Record]) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for each in verdicts:
        against = each.get("against", "")
        # Citations may be labelled in any order, other pairs have one passage.
        names = "+".join(sorted(against)) if isinstance(against, list) else against
        found[each["query"], each["item"], each["task"], names] += 1
    return found


def test_the_first_person_labelled_everything_once_except_what_is_left_out_on_purpose() -> None:
    expected: set[tuple[str, ...]] = set()
    for query in RESULTS:
        ids = passages(query)
        expected |= {(query, "answer", task, "") for task in ("correctness", "abstention")}
        expected |= {(query, name, "relevance", "question") for name in ids if (query, name) not in NOT_LABELLED}
        claims, golds = of_type(query, "claim", "answer"), of_type(query, "claim", "gold")
        assert golds
        assert bool(claims) == (query not in WITHOUT_CLAIMS)
        for item in [*claims, *golds, *of_type(query, "nugget")]:
            expected.add((query, item["id"], "support", "gold" if item in claims else "answer"))
            expected |= {(query, item["id"], "support", n) for n in ids if (query, item["id"], n) not in NOT_LABELLED}
        for item in of_type(query, "sentence", "answer"):
            cited = [name for name in item.get("cites", []) if name in ids]
            for some in [cited, *([name] for name in cited), *([o for o in cited if o != n] for n in cited)]:
                if some:
                    expected.add((query, item["id"], "support", "+".join(sorted(some))))
    first = [each for each in VERDICTS if each["by"] == "human:ann" and each.get("state") != "nothing_to_judge"]
    assert keys(first) == Counter(expected)


def test_nothing_to_judge_are_the_refusals_and_a_courtesy() -> None:
    nothing = [(each["query"], each["item"]) for each in VERDICTS if each.get("state") == "nothing_to_judge"]
    assert nothing == [("q12", "answer"), ("q12", "s1"), ("q34", "answer"), ("q34", "s1"), ("q49", "s1")]
    refused = {each["query"] for each in VERDICTS if each["label"] == "refused"}
    assert refused == {"q12", "q34"}


def test_the_second_person_labelled_some_of_the_same_and_sometimes_disagrees() -> None:
    first, second = (
        {
            (each["query"], each["item"], each["task"], str(each.get("against"))): each["label"]
            for each in VERDICTS
            if each["by"] == by
        }
        for by in ("human:ann", "human:ben")
    )
    assert set(second) <= set(first)
    assert len({query for query, *_ in second}) == 11
    disagree = sum(first[key] != label for key, label in second.items())
    assert 0.05 < disagree / len(second) < 0.25


def test_more_passages_never_support_a_sentence_less() -> None:
    by_sentence: dict[tuple[str, ...], list[tuple[set[str], float]]] = {}
    for each in VERDICTS:
        if each["task"] == "support" and isinstance(each.get("against"), list):
            sentence = (each["by"], each["query"], each["item"])
            by_sentence.setdefault(sentence, []).append((set(each["against"]), SUPPORT[each["label"]]))
    for key, labels in by_sentence.items():
        for some, low in labels:
            assert all(high >= low for more, high in labels if more > some), key


@pytest.mark.parametrize("person", ["human:ann", "human:ben"])
def test_reasons_are_whole_sentences(person: str) -> None:
    reasons = [each["why"] for each in VERDICTS if each["by"] == person and "why" in each]
    assert len(reasons) > 10
    assert all(re.fullmatch(r"[A-Z0-9].*[.]", reason) for reason in reasons)
