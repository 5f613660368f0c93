"""The pooled metrics: computed by hand, against their plain definitions, and with invalid input."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from karat import Document, KaratError, evaluate
from karat.matching import chunk, overlap
from karat.pooled import RetrievalNDCGAny, RetrievalRecall, RetrievalRecallAll, is_chunk_from_original

METRICS: list[type[Any]] = [RetrievalRecall, RetrievalRecallAll, RetrievalNDCGAny]
each_metric = pytest.mark.parametrize("metric", METRICS)
CALLED = {RetrievalRecall: "Recall", RetrievalRecallAll: "Recall_all", RetrievalNDCGAny: "NDCG_any"}
GOLD = "Gold is a soft metal. It melts at 1064 °C."
IRON = "Iron rusts in the rain."


def scores(metric: type[Any], golds: list[Any], retrieved: list[Any], k_list: Any, **options: Any) -> Any:
    return metric(**options).calculate_metric_scores(golds, retrieved, k_list)


# By hand.


def test_recall_is_the_share_of_the_golds_in_the_top_k() -> None:
    golds = [["a", "b", "c", "d"], ["e"], ["f"]]
    retrieved = [["x", "a", "c", "y", "b"], ["e", "x"], ["x", "y", "z"]]
    pooled, each = scores(RetrievalRecall, golds, retrieved, [1, 3, 5])
    assert each == [
        {"Recall@1": 0 / 4, "Recall@3": 2 / 4, "Recall@5": 3 / 4},
        {"Recall@1": 1.0, "Recall@3": 1.0, "Recall@5": 1.0},
        {"Recall@1": 0.0, "Recall@3": 0.0, "Recall@5": 0.0},
    ]
    # (0 + 1 + 0) / 3 = 0.33333…, (0.5 + 1 + 0) / 3 = 0.5, (0.75 + 1 + 0) / 3 = 0.58333…, to four digits.
    assert pooled == {"Recall@1": 0.3333, "Recall@3": 0.5, "Recall@5": 0.5833}


def test_recall_compares_sets_of_exact_texts() -> None:
    # The gold set is {a, b}, the top 3 as a set is {a}: one half, however often a is retrieved.
    _, each = scores(RetrievalRecall, [["a", "b", "a"]], [["a", "a", "a"]], [3])
    assert each == [{"Recall@3": 0.5}]
    # A part of a text, or one that differs in case or in white space, is another text.
    for text in (GOLD[:-1], GOLD.upper(), f" {GOLD}", "Gold"):
        assert scores(RetrievalRecall, [[GOLD]], [[text]], [1])[0] == {"Recall@1": 0.0}


def test_recall_all_requires_a_chunk_of_every_gold() -> None:
    golds = [[GOLD, IRON], [GOLD]]
    retrieved = [["soft metal", "It melts", "rusts in"], ["1064 °C", "blue"]]
    pooled, each = scores(RetrievalRecallAll, golds, retrieved, [1, 2, 3])
    # Two chunks of gold are not one of iron: all golds are found at rank 3 only.
    assert each == [
        {"Recall_all@1": 0.0, "Recall_all@2": 0.0, "Recall_all@3": 1.0},
        {"Recall_all@1": 1.0, "Recall_all@2": 1.0, "Recall_all@3": 1.0},
    ]
    assert pooled == {"Recall_all@1": 0.5, "Recall_all@2": 0.5, "Recall_all@3": 1.0}


def test_in_recall_all_a_chunk_finds_every_gold_that_contains_it_and_repeated_golds_count_once() -> None:
    golds = [[GOLD, f"Metals. {GOLD}", GOLD]]
    assert scores(RetrievalRecallAll, golds, [["It melts"]], [1])[0] == {"Recall_all@1": 1.0}


def test_ndcg_any_uses_the_discount_of_jarvelin_and_kekalainen() -> None:
    retrieved = [["blue", "soft metal", "green", "It melts", "1064"]]
    pooled, each = scores(RetrievalNDCGAny, [[GOLD, IRON]], retrieved, [1, 2, 3, 4, 5])
    # Relevances 0 1 0 1 1. DCG@k: 0; 1/log2(2) = 1; 1; 1 + 1/log2(4) = 1.5; 1.5 + 1/log2(5) = 1.930677.
    # The ideal 1 1 1 0 0: 1; 1 + 1/log2(2) = 2; 2 + 1/log2(3) = 2.630930; the same; the same.
    assert list(each[0].values()) == pytest.approx(
        [0, 1 / 2, 1 / 2.63092975, 1.5 / 2.63092975, 1.93067656 / 2.63092975]
    )
    assert pooled == {
        "NDCG_any@1": 0.0,
        "NDCG_any@2": 0.5,
        "NDCG_any@3": 0.3801,
        "NDCG_any@4": 0.5701,
        "NDCG_any@5": 0.7338,
    }


def test_the_ideal_of_ndcg_any_sorts_the_whole_list_not_only_the_top_k() -> None:
    # Relevances 0 0 1, at k = 2: nothing was gained, and 1 could have been.
    assert scores(RetrievalNDCGAny, [[GOLD]], [["x", "y", "soft"]], [2])[0] == {"NDCG_any@2": 0.0}
    # Relevances 1 0 1, at k = 1: 1 of 1.
    assert scores(RetrievalNDCGAny, [[GOLD]], [["Gold", "y", "soft"]], [1])[0] == {"NDCG_any@1": 1.0}
    # At k = 2 only 1 of 1 + 1/log2(2) = 2.
    assert scores(RetrievalNDCGAny, [[GOLD]], [["Gold", "y", "soft"]], [2])[0] == {"NDCG_any@2": 0.5}


def test_ndcg_any_counts_each_relevant_chunk_once_regardless_of_its_gold() -> None:
    # A chunk of two golds is as relevant as one of one, and two chunks of one gold are both relevant.
    assert scores(RetrievalNDCGAny, [[GOLD, f"Metals. {GOLD}"]], [["soft", "x"]], [2])[0] == {"NDCG_any@2": 1.0}
    assert scores(RetrievalNDCGAny, [[GOLD]], [["soft", "soft", "x"]], [2])[0] == {"NDCG_any@2": 1.0}


# Against the plain definitions.


def discounted(relevances: list[int], k: int) -> float:
    return sum(rel / (1 if rank == 1 else math.log2(rank)) for rank, rel in enumerate(relevances[:k], 1))


def plainly(metric: type[Any], golds: list[str], retrieved: list[str], k: int) -> float:
    if not golds:
        return 0.0
    if metric is RetrievalRecall:
        return len(set(golds) & set(retrieved[:k])) / len(set(golds))
    if metric is RetrievalRecallAll:
        return float(all(any(is_chunk_from_original(text, gold) for text in retrieved[:k]) for gold in golds))
    relevances = [int(any(is_chunk_from_original(text, gold) for gold in golds)) for text in retrieved]
    ideal = discounted(sorted(relevances, reverse=True), k)
    return discounted(relevances, k) / ideal if ideal else 0.0


TEXTS = st.sampled_from(
    [
        "a",
        "ab",
        "abc",
        "b",
        "bc",
        "user: b",
        "user: ",
        "Date: a",
        "Date: 1\na",
        'a"b',
        'a\\"b',
        "x",
        "é",
        "\\u00e9",
        "a\0b",
    ]
)
EXAMPLES = st.lists(st.tuples(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=7)), min_size=1, max_size=4)
K_LISTS = st.lists(st.integers(1, 9), min_size=1, max_size=4)


@each_metric
@given(examples=EXAMPLES, k_list=K_LISTS)
@example(examples=[([], [])], k_list=[1])
@example(examples=[(["a"], []), ([], ["a"])], k_list=[3, 1, 3])
def test_each_metric_equals_its_plain_definition(
    metric: type[Any], examples: list[tuple[list[str], list[str]]], k_list: list[int]
) -> None:
    golds, retrieved = [gold for gold, _ in examples], [found for _, found in examples]
    pooled, each = scores(metric, golds, retrieved, k_list)
    keys = [f"{CALLED[metric]}@{k}" for k in sorted(set(k_list))]
    assert list(pooled) == keys
    assert [list(one) for one in each] == [keys] * len(examples)
    for k, key in zip(sorted(set(k_list)), keys, strict=True):
        wanted = [plainly(metric, gold, found, k) for gold, found in examples]
        assert [one[key] for one in each] == pytest.approx(wanted, abs=1e-12)
        assert all(0 <= one[key] <= 1 for one in each)
        assert pooled[key] == round(math.fsum(one[key] for one in each) / len(each), 4)


@given(examples=EXAMPLES, k=st.integers(1, 9))
def test_each_metric_is_a_measure_of_the_registry(examples: list[tuple[list[str], list[str]]], k: int) -> None:
    golds, retrieved = [gold for gold, _ in examples], [found for _, found in examples]
    measures: dict[type[Any], str] = {
        RetrievalRecall: f"R@{k}",
        RetrievalRecallAll: f"RecallAll@{k}",
        RetrievalNDCGAny: f"nDCG(discount=jk, ideal=retrieved, credit=rank)@{k}",
    }
    for metric, measure in measures.items():
        _, each = scores(metric, golds, retrieved, [k])
        values = evaluate(golds, retrieved, measure, match=metric().match).column(measure).tolist()
        assert [value for one in each for value in one.values()] == pytest.approx(values, abs=1e-12)


# Each rule of the specification.


@each_metric
def test_the_default_has_four_cut_offs(metric: type[Any]) -> None:
    pooled, each = metric().calculate_metric_scores([["a"]], [["a"]])
    assert list(pooled) == [f"{CALLED[metric]}@{k}" for k in (1, 5, 10, 20)]
    assert list(each[0]) == list(pooled)


@each_metric
@pytest.mark.parametrize("k_list", [[5, 1, 5], (1, 5), {5, 1}, iter([1, 5, 1]), np.array([5, 1]), range(1, 6, 4)])
def test_cut_offs_are_sorted_and_repeats_are_dropped(metric: type[Any], k_list: Any) -> None:
    if not isinstance(k_list, list | tuple | set | np.ndarray | range):
        k_list = iter([1, 5, 1])  # one that no test has used up
    pooled, each = metric().calculate_metric_scores([["a"]], [["a"]], k_list=k_list)
    assert list(pooled) == list(each[0]) == [f"{CALLED[metric]}@1", f"{CALLED[metric]}@5"]


@each_metric
def test_means_are_rounded_and_values_of_examples_are_not(metric: type[Any]) -> None:
    golds = [["a", "b", "c"]] * 3
    pooled, each = scores(metric, golds, [["x", "a"], ["a", "b"], ["a", "b", "c"]], [2])
    (name,) = pooled
    mean = sum(one[name] for one in each) / 3
    assert pooled[name] == round(mean, 4)
    if metric is RetrievalRecall:
        assert [one[name] for one in each] == [1 / 3, 2 / 3, 2 / 3]
        assert pooled[name] == 0.5556


@each_metric
def test_an_example_without_golds_scores_0_and_counts_in_the_mean(metric: type[Any]) -> None:
    pooled, each = scores(metric, [["a"], []], [["a"], ["a"]], [1])
    assert [list(one.values()) for one in each] == [[1.0], [0.0]]
    assert list(pooled.values()) == [0.5]


@each_metric
def test_an_example_that_retrieved_nothing_scores_0(metric: type[Any]) -> None:
    _, each = scores(metric, [["a"], ["b"]], [[], ["b"]], [1, 3])
    assert [set(one.values()) for one in each] == [{0.0}, {1.0}]


@each_metric
def test_results_are_plain_numbers(metric: type[Any]) -> None:
    pooled, each = scores(metric, [["a"], ["b"]], [["a", "b"], ["a", "b"]], [1, 2])
    assert {type(value) for value in [*pooled.values(), *each[0].values()]} == {float}
    assert type(pooled) is dict
    assert type(each) is list
    json.dumps([pooled, each])


@each_metric
def test_the_second_argument_has_another_name(metric: type[Any]) -> None:
    golds, retrieved = [["a", "b"]], [["x", "b", "a"]]
    by_place = metric().calculate_metric_scores(golds, retrieved, [1, 2, 3])
    assert metric().calculate_metric_scores(golds, retrieved_chunks=retrieved, k_list=[1, 2, 3]) == by_place
    assert metric().calculate_metric_scores(gold_docs=golds, retrieved_docs=retrieved, k_list=[1, 2, 3]) == by_place
    with pytest.raises(KaratError, match="retrieved_docs and retrieved_chunks are both given"):
        metric().calculate_metric_scores(golds, retrieved, retrieved_chunks=retrieved)
    with pytest.raises(KaratError, match="neither retrieved_docs nor retrieved_chunks is given"):
        metric().calculate_metric_scores(golds)


@each_metric
def test_a_global_configuration_is_accepted(metric: type[Any]) -> None:
    for made in (metric(), metric(None), metric(global_config=None), metric(global_config=object())):
        assert set(made.calculate_metric_scores([["a"]], [["a"]], [1])[0].values()) == {1.0}


@each_metric
def test_short_lists_give_one_warning_per_call(metric: type[Any], caplog: pytest.LogCaptureFixture) -> None:
    golds, retrieved = [["a"]] * 3, [["a", "b"], ["a"], ["a", "b", "c"]]
    with caplog.at_level(logging.WARNING):
        metric().calculate_metric_scores(golds, retrieved, [1, 2, 3])
    (message,) = caplog.messages
    assert "2 of 3 examples retrieved fewer than 3 documents" in message
    metric().calculate_metric_scores(golds, retrieved, [3])
    assert len(caplog.messages) == 2


@each_metric
def test_lists_that_are_long_enough_give_no_warning(metric: type[Any], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        metric().calculate_metric_scores([["a"], ["b"]], [["a", "b"], ["b", "c"]], [1, 2])
    assert not caplog.records


@each_metric
def test_problems_with_golds_are_in_the_same_warning(metric: type[Any], caplog: pytest.LogCaptureFixture) -> None:
    golds: list[Any] = [[], ["a", None], ["b"]]
    with caplog.at_level(logging.WARNING):
        metric().calculate_metric_scores(golds, [["a"], ["a"], []], [5])
    (message,) = caplog.messages
    assert "1 query with empty ground truth (scored 0): 0." in message
    assert "1 judged document without content (cannot match)." in message
    assert "3 of 3 examples retrieved fewer than 5 documents" in message


def begins_alike(retrieved: str, gold: str) -> bool:
    return retrieved[0].lower() == gold[0].lower()


@each_metric
@pytest.mark.parametrize(
    ("match", "hit"),
    [
        ("content", False),
        ("content(normalize=all)", False),
        ("chunk", False),
        ("chunk(normalize=case+space)", True),
        (chunk(normalize=("case", "space")), True),
        ("fuzzy", True),
        ("overlap(threshold=0.2)", True),
        (overlap(0.9), False),
        (begins_alike, True),
    ],
)
def test_every_metric_takes_match(metric: type[Any], match: Any, hit: bool) -> None:
    made = metric(match=match)
    pooled, _ = made.calculate_metric_scores([[GOLD]], [["x", "GOLD IS A  SOFT METAL"]], [1, 2])
    assert [value > 0 for value in pooled.values()] == [False, hit]


def test_each_metric_has_a_default_match() -> None:
    assert [str(metric().match) for metric in METRICS] == ["content", "chunk", "chunk"]
    # The default is `is_chunk_from_original`, where a bare prefix is not a chunk; `match="chunk"` keeps it.
    assert scores(RetrievalRecallAll, [["user: "]], [["user: "]], [1])[0] == {"Recall_all@1": 0.0}
    assert scores(RetrievalRecallAll, [["user: "]], [["user: "]], [1], match="chunk")[0] == {"Recall_all@1": 1.0}
    # Recall by chunks, and all-or-nothing by exact texts.
    assert scores(RetrievalRecall, [[GOLD, IRON]], [["soft", "metal"]], [2], match="chunk")[0] == {"Recall@2": 0.5}
    assert scores(RetrievalRecallAll, [[GOLD]], [["soft"]], [1], match="content")[0] == {"Recall_all@1": 0.0}
    assert scores(RetrievalRecall, [["d1", "d2"]], [["d1::3"]], [1], match="prefix")[0] == {"Recall@1": 0.5}


@each_metric
def test_documents_can_be_given_instead_of_texts(metric: type[Any]) -> None:
    golds, retrieved = [[Document(GOLD, score=3), Document(IRON, score=0)]], [[Document(IRON), Document(GOLD)]]
    # Every gold is simply relevant, whatever its score: one of two is found at rank 1.
    at_1 = {RetrievalRecall: 0.5, RetrievalRecallAll: 0.0, RetrievalNDCGAny: 1.0}[metric]
    assert list(scores(metric, golds, retrieved, [1, 2])[0].values()) == [at_1, 1.0]


@each_metric
@pytest.mark.parametrize(
    ("golds", "retrieved", "wrong"),
    [
        ([], [], "gold_docs has length 0 and retrieved_docs has length 0"),
        ([["a"]], [], "gold_docs has length 1 and retrieved_docs has length 0"),
        ([["a"], ["b"]], [["a"]], "gold_docs has length 2 and retrieved_docs has length 1"),
        ("ab", [["a"]], "gold_docs: 'ab' is not a list"),
        (["a"], [["a"]], r"gold_docs, query 0: 'a' is not a list"),
        ([["a"], None], [["a"], ["a"]], r"gold_docs, query 1: None is not a list"),
        ([["a"]], ["a"], r"retrieved_docs, query 0: 'a' is not a list"),
        ([["a"]], {"a": ["a"]}, "retrieved_docs: .* is not a list"),
        ([["a"]], [{"a": 1}], r"retrieved_docs, query 0: .* is not a list"),
        ([["a"]], [{"a"}], r"retrieved_docs, query 0: .* is not a list"),
        ([["a"]], [[5.5]], "retrieved_docs, query 0: 5.5 is not a document"),
        ([[object()]], [["a"]], "gold_docs, query 0: .* is not a document"),
    ],
)
def test_inputs_that_are_not_one_list_of_documents_per_example_are_rejected(
    metric: type[Any], golds: Any, retrieved: Any, wrong: str
) -> None:
    with pytest.raises(ValueError, match=wrong) as raised:
        metric().calculate_metric_scores(golds, retrieved, [1])
    assert isinstance(raised.value, KaratError)


@each_metric
@pytest.mark.parametrize("k_list", [[], [0], [-1], [1.5], ["5"], "5", 5, None, [True], [None], [1, [2]]])
def test_invalid_cut_offs_are_rejected(metric: type[Any], k_list: Any) -> None:
    with pytest.raises(KaratError, match="Pass positive whole numbers"):
        metric().calculate_metric_scores([["a"]], [["a"]], k_list)


@each_metric
@pytest.mark.parametrize("match", ["chunks", 5, "fuzzy(threshold=0.9)"])
def test_an_invalid_match_is_rejected_when_a_metric_is_created(metric: type[Any], match: Any) -> None:
    with pytest.raises(KaratError):
        metric(match=match)


# Chunks and their originals.


@pytest.mark.parametrize(
    ("text", "original", "is_chunk"),
    [
        ("soft metal", GOLD, True),
        (GOLD, GOLD, True),
        (GOLD + " ", GOLD, False),
        ("Soft metal", GOLD, False),
        ("soft  metal", GOLD, False),
        # A line with a date is removed only if it is the first line.
        ("Date: 2024-05-01\nsoft metal", GOLD, True),
        ("Date: soft metal", GOLD, False),
        ("Date: 2024-05-01\nDate: 2024\nsoft metal", GOLD, False),
        ("soft metal\nDate: 2024-05-01", GOLD, False),
        ("date: 2024-05-01\nsoft metal", GOLD, False),
        ("Date:2024-05-01\nsoft metal", GOLD, False),
        (" Date: 2024-05-01\nsoft metal", GOLD, False),
        ("Date: 1", "Date: 1", False),
        # The speaker is removed, and nothing else: later colons stay.
        ("user: soft metal", GOLD, True),
        ("assistant: soft metal", GOLD, True),
        ("Date: 2024-05-01\nassistant: soft metal", GOLD, True),
        ("user: he said: soft metal", GOLD, False),
        ("user: he said: hello", "Then he said: hello.", True),
        ("user: assistant: soft metal", GOLD, False),
        ("system: soft metal", GOLD, False),
        ("User: soft metal", GOLD, False),
        ("user:soft metal", GOLD, False),
        ("assistant: user: x", "user: x", True),
        # Unchanged, or escaped as in JSON.
        ('say "hi"\n\tnow', r"they say \"hi\"\n\tnow, or so", True),
        ("Größe", r"die Gr\u00f6\u00dfe", True),
        ('Größe "M"', r"die Größe \"M\"", True),
        ("back\\slash", r"a back\\slash", True),
        ("\0", r"a \u0000 b", True),
        (r"say \"hi\"", 'say "hi"', False),
        ("\ud83d\ude00", "\\ud83d\\ude00", True),
        # An empty text is not a chunk of any text.
        ("", GOLD, False),
        ("", "", False),
        (" ", GOLD, False),
        ("\n\t", "a\n\tb", False),
        ("user: ", "user: x", False),
        ("Date: 2024-05-01\n", GOLD, False),
        ("Date: 2024-05-01\nuser:  ", GOLD + "  ", False),
        ("a", "", False),
    ],
)
def test_a_chunk_is_from_its_original(text: str, original: str, is_chunk: bool) -> None:
    assert is_chunk_from_original(text, original) is is_chunk


def test_with_a_threshold_similar_text_matches_too() -> None:
    near = "Gold is a soft mettal. It melts at 1064"
    assert not is_chunk_from_original(near, GOLD)
    assert is_chunk_from_original(near, GOLD, threshold=90)
    assert not is_chunk_from_original(near, GOLD, threshold=100)
    assert is_chunk_from_original(f"Date: 2024\nuser: {near}", GOLD, threshold=90)
    assert is_chunk_from_original("GOLD IS  A SOFT METAL", GOLD, threshold=100)
    # A text of eleven characters matches only an equal one.
    assert is_chunk_from_original("it melts at", "It Melts At", threshold=100)
    assert not is_chunk_from_original("it melts at", "It Melts At!", threshold=0)
    assert not is_chunk_from_original("IT MELTS AT", "so it melts at", threshold=0)
    assert is_chunk_from_original("IT MELTS AT ", "it  melts at", threshold=100)
    assert not is_chunk_from_original("user: ", "user: ", threshold=0)


@pytest.mark.parametrize(
    ("text", "original", "threshold", "wrong"),
    [
        (None, GOLD, None, "None is not text"),
        (GOLD, 5, None, "5 is not text"),
        (Document(GOLD), GOLD, None, "is not text"),
        (GOLD, GOLD, 900, "is not a number between 0 and 100"),
        (GOLD, GOLD, -1, "is not a number between 0 and 100"),
        (GOLD, GOLD, "high", "is not a number between 0 and 100"),
        (GOLD, GOLD, 0.9, "It is a percentage, from 0 to 100"),
    ],
)
def test_an_invalid_chunk_or_threshold_is_rejected(text: Any, original: Any, threshold: Any, wrong: str) -> None:
    with pytest.raises(KaratError, match=wrong):
        is_chunk_from_original(text, original, threshold)


PIECES = st.lists(
    st.sampled_from(["Date: 1\n", "user: ", "assistant: ", "a", "b", " ", "\n", '"', "é", "\\", ": "])
).map("".join)


def slowly(text: str, original: str) -> bool:
    lines = text.split("\n")
    if lines[0].startswith("Date: "):
        text = "\n".join(lines[1:])
    for speaker in ("user: ", "assistant: "):
        if text.startswith(speaker):
            text = text.removeprefix(speaker)
            break
    forms = (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    return bool(text.strip()) and any(form in original for form in forms)


@given(text=PIECES, original=PIECES, as_json=st.booleans(), around=st.booleans())
def test_is_chunk_from_original_follows_its_specification(
    text: str, original: str, as_json: bool, around: bool
) -> None:
    if around:
        original += text.removeprefix("user: ")
    if as_json:
        original = json.dumps(original)
    assert is_chunk_from_original(text, original) == slowly(text, original)


def test_a_megabyte_is_searched_fast() -> None:
    original = "Gold is soft. " * 70_000 + "It melts."
    made: Callable[..., Any] = RetrievalRecallAll().calculate_metric_scores
    pooled, _ = made([[original, "Iron"]], [["soft. It melts", original[1:], "Iron"]], [2, 3])
    assert pooled == {"Recall_all@2": 0.0, "Recall_all@3": 1.0}
