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
    items = _random_items(random, query, sizes)
    records = [item for each in items.values() for item in each]
    listed = {name for name, each in items.items() if each}
    for implied, emptied in _EMPTY.items():
        if random.random() < 0.5:
            listed |= set(emptied)
            records.append(_verdict(query, "support", implied, state="nothing_to_judge"))
    dropped = [item["id"] for item in records if "id" in item and random.random() < left_out]
    records += [_verdict(query, "support", each, against="context", state="nothing_to_judge") for each in dropped]
    kept = _kept(items, listed, dropped)
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


def random_samples(
    random: Random, query: str, sizes: Mapping[str, int], known: float, left_out: float, samples: int
) -> tuple[list[Record], list[SlowQuery]]:
    """The records of a query that a model labelled in several samples, which see nothing to judge in other items."""
    items = _random_items(random, query, sizes)
    set_of = {item["id"]: name for name, each in items.items() for item in each}
    labels: list[dict[Key, float | None]] = [{} for _ in range(samples)]
    nothing: list[set[str]] = [set() for _ in range(samples)]
    records = [item for each in items.values() for item in each]
    for sample in range(samples):
        nothing[sample] = {each for each in [*set_of, *_EMPTY] if random.random() < left_out}
        emptied = {name for implied in nothing[sample] & _EMPTY.keys() for name in _EMPTY[implied]}
        found = [
            _verdict(query, "support", each, against="context", state="nothing_to_judge") for each in nothing[sample]
        ]
        for task, item, against in _relations(items):
            is_emptied = set_of.get(item) in emptied or ("passages" in emptied and isinstance(against, frozenset))
            if (item in nothing[sample] and against == "context") or (is_emptied and random.random() < 0.9):
                continue
            label, written = (
                random.choice(list(SCALES[task])),
                sorted(against) if isinstance(against, frozenset) else against,
            )
            if random.random() < known:
                labels[sample][task, item, against] = SCALES[task][label]
                found.append(_verdict(query, task, item, written, label))
            elif random.random() < 0.5:
                labels[sample][task, item, against] = None
                found.append(_verdict(query, task, item, written, state="failed"))
        records += [{**each, "by": "model", "sample": sample} for each in found]
    dropped = _dropped_of_samples(items, labels, nothing)
    listed = {name for name, each in items.items() if each}
    listed |= {
        name for implied, emptied in _EMPTY.items() for name in emptied if any(implied in each for each in nothing)
    }
    random.shuffle(records)
    return records, [
        SlowQuery(
            _kept(items, listed, gone),
            {key: value for key, value in own.items() if value is not None},
            frozenset(key for key, value in own.items() if value is None),
        )
        for own, gone in zip(labels, dropped, strict=True)
    ]


def _dropped_of_samples(
    items: Mapping[str, list[Record]], labels: list[dict[Key, float | None]], nothing: list[set[str]]
) -> list[list[str]]:
    """The items that each sample leaves out: by the majority of the samples, or on its own."""
    numbers = range(len(labels))
    saying = {
        item["id"]: {at for at in numbers if item["id"] in nothing[at]} for each in items.values() for item in each
    }
    judging = {
        item: {at for at in numbers for key, value in labels[at].items() if key[1] == item and value is not None}
        for item in saying
    }
    everywhere = {item for item in saying if 2 * len(saying[item]) > len(saying[item] | judging[item])}
    dropped = [everywhere | {item for item in saying if at in saying[item]} for at in numbers]
    used = [[key for key in own if not everywhere & {key[1], *_passages(key)}] for own in labels]
    for implied, sets in _EMPTY.items():
        for name in sets:
            members = {item["id"] for item in items[name]} - everywhere
            seeing = {at for at in numbers if any(members & {key[1], *_passages(key)} for key in used[at])}
            none = {at for at in numbers if implied in nothing[at]} - seeing
            for at in (none | seeing if 2 * len(none) > len(none | seeing) else none) if seeing else ():
                dropped[at] |= members
    return [sorted(each) for each in dropped]


def _passages(key: Key) -> frozenset[str]:
    """The passages that a label is against."""
    return key[2] if isinstance(key[2], frozenset) else frozenset()


def _random_items(random: Random, query: str, sizes: Mapping[str, int]) -> dict[str, list[Record]]:
    items = {
        name: [{"query": query, "id": f"{letter}{at}", **fields} for at in range(sizes[name])]
        for name, (letter, fields) in SETS.items()
    }
    _add_details(random, items)
    return items


def _kept(items: Mapping[str, list[Record]], listed: set[str], dropped: list[str]) -> dict[str, list[Record]]:
    """The items of the sets that are known, without those that are left out; passages by rank."""
    kept = {name: [_without(item, dropped) for item in items[name] if item["id"] not in dropped] for name in listed}
    if "passages" in kept:
        kept["passages"].sort(key=lambda item: item["rank"])
    return kept


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
    yield from ((task, "answer", None) for task in ("correctness", "tone", "answer_relevance", "abstention"))
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
