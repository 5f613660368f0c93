"""Verdict records made at random, and what they say about each query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from tests.slow_verdicts import SCALES, Key, SlowQuery

Record = dict[str, Any]

SETS: dict[str, tuple[str, Record]] = {
    "claims": ("c", {"type": "claim", "of": "answer", "system": "a"}),
    "gold_claims": ("g", {"type": "claim", "of": "gold"}),
    "sentences": ("s", {"type": "sentence", "of": "answer", "system": "a"}),
    "nuggets": ("n", {"type": "nugget"}),
    "passages": ("p", {"type": "passage", "system": "a"}),
}
_EMPTY = {
    "answer": ("claims", "sentences"),
    "gold": ("gold_claims",),
    "question": ("nuggets",),
    "context": ("passages",),
}
RUBRIC = {"record": "task", "name": "tone", "scale": {"rude": -1, "neutral": 0, "polite": 3}}


def random_query(
    random: Random, query: str, sizes: Mapping[str, int], known: float, left_out: float = 0.1
) -> tuple[list[Record], SlowQuery]:
    """The records of a query with so many items of each set, in any order.

    `known` is the share of its labels that are known, and `left_out` that of the items with nothing to judge.
    """
    items = {
        name: [{"query": query, "id": f"{letter}{at}", **fields} for at in range(sizes[name])]
        for name, (letter, fields) in SETS.items()
    }
    _add_details(random, items)
    records = [item for each in items.values() for item in each]
    listed = {name for name, each in items.items() if each}
    for implied, emptied in _EMPTY.items():
        if random.random() < 0.5:
            listed |= set(emptied)
            records.append(_verdict(query, "support", implied, state="nothing_to_judge"))
    dropped = [item["id"] for item in records if "id" in item and random.random() < left_out]
    records += [_verdict(query, "support", each, against="context", state="nothing_to_judge") for each in dropped]
    kept = {name: [_without(item, dropped) for item in items[name] if item["id"] not in dropped] for name in listed}
    if "passages" in kept:
        kept["passages"].sort(key=lambda item: item["rank"])
    labels: dict[Key, float] = {}
    failed: set[Key] = set()
    replaced: list[Record] = []
    for task, item, against in _relations(items):
        if item in dropped and against == "context":
            continue
        label, other = random.choices(list(SCALES[task]), k=2)
        written = random.sample(sorted(against), len(against)) if isinstance(against, frozenset) else against
        if random.random() < known:
            labels[task, item, against] = SCALES[task][label]
            records.append(_verdict(query, task, item, written, label))
            if random.random() < 0.1:
                replaced.append(_verdict(query, task, item, written, other))
        elif random.random() < 0.5:
            failed.add((task, item, against))
            records.append(_verdict(query, task, item, written, state="failed"))
    random.shuffle(records)
    return replaced + records, SlowQuery(kept, labels, frozenset(failed))


def _add_details(random: Random, items: dict[str, list[Record]]) -> None:
    passages = items["passages"]
    for rank, passage in zip(random.sample(range(1, 9), len(passages)), passages, strict=True):
        passage["rank"] = rank
    for nugget in items["nuggets"]:
        nugget |= random.choice([{"importance": "vital"}, {"importance": "okay"}, {}])
    citable = [passage["id"] for passage in passages] * 3 + ["[7]", "s0", "nowhere"]
    for sentence in items["sentences"]:
        sentence["cites"] = random.choices(citable, k=random.choice([0, 1, 2, 3, 4]))


def _without(item: Record, dropped: list[str]) -> Record:
    """An item without citations of passages that are left out."""
    return {**item, "cites": [each for each in item.get("cites", ()) if each[0] != "p" or each not in dropped]}


def _relations(items: Mapping[str, list[Record]]) -> Iterator[Key]:
    """All labels that measures read."""
    passages = [passage["id"] for passage in items["passages"]]
    for name, against in (("claims", "gold"), ("gold_claims", "answer"), ("nuggets", "answer")):
        yield from (("support", item["id"], against) for item in items[name])
    for at, item in enumerate(items["claims"] + items["gold_claims"] + items["nuggets"] + items["sentences"]):
        if at % 2:
            yield "support", item["id"], "context"
        subsets = {frozenset([passage]) for passage in passages}
        if cited := frozenset(item.get("cites", ())) & frozenset(passages):
            subsets |= {cited, *(cited - {each} for each in cited if len(cited) > 1)}
        yield from (("support", item["id"], subset) for subset in sorted(subsets, key=sorted))
    yield from (("relevance", passage, None) for passage in passages)
    yield from ((task, "answer", None) for task in ("correctness", "tone", "abstention"))
    yield "abstention", "gold", None


def _verdict(query: str, task: str, item: str, against: Any = None, label: str | None = None, **more: Any) -> Record:
    system = {} if item[0] in "gnq" else {"system": "a"}
    return {"query": query, **system, "task": task, "item": item, "against": against, "label": label, **more}


def labelled_by_several(random: Random) -> list[Record]:
    """Records of a few queries, labelled by people, or by a model in several samples, with everything that may be odd.

    There may be labels of documents, failed labels with the errors of their calls, items that were removed, and texts
    that have changed since.
    """
    authors = random.choice([["human"], ["human:b", "human:a", "human:c"], ["model"], ["model", "human:a"]])
    samples = random.choice([1, 1, 3])
    has_rubric = random.random() < 0.9
    records: list[Record] = [RUBRIC] if has_rubric else []
    for number in random.sample(range(20), random.randint(0, 6)):
        query = f"q{number}"
        sizes = {name: random.choice([0, 0, 1, 2, 3]) for name in SETS}
        found, _ = random_query(random, query, sizes, random.choice([0.0, 0.5, 0.9, 1.0]), random.choice([0.0, 0.2]))
        items = [each for each in found if "task" not in each]
        labels = [each for each in found if "task" in each and (has_rubric or each["task"] != "tone")]
        _change_items(random, items)
        records += items
        for author in authors:
            for sample in range(1 if author.startswith("human") else samples):
                chosen = [each for each in labels if random.random() < 0.9]
                records += [{**each, "by": author, "sample": sample, **_odd(random)} for each in chosen]
        if random.random() < 0.2:
            document = {"query": query, "type": "document", "item": "d1", "task": "relevance", "label": 2}
            records.append({**document, "by": random.choice(authors)})
        gone = [{"record": "item", **each, "removed": True} for each in items if random.random() < 0.05]
        records += gone
    records += [
        {"record": "call", "key": f"k{at}", "state": random.choice(["failed", "done"]), "error": f"error {at % 2}."}
        for at in range(3)
    ]
    return [each if each.get("state") == "failed" else {**each, "call": None} for each in records]


def _change_items(random: Random, items: list[Record]) -> None:
    for item in items:
        if random.random() < 0.5:
            item["text"] = random.choice(["Gold is soft.", "Iron rusts."])
        if random.random() < 0.1:
            item["digest"] = random.choice(["5fd496ce85ce7540", "0123456789abcdef"])


def _odd(random: Random) -> Record:
    digest = {"digest": "5fd496ce85ce7540"} if random.random() < 0.05 else {}
    return {"call": f"k{random.randrange(4)}", **digest}
