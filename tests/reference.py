"""Every retrieval measure for one query, as a slow and simple reference for the vectorised measures.

It is written from the published definitions and shares no code with the library, so that a mistake goes unnoticed
only if it is made twice.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Query:
    """One ranked list and its truth.

    `ranks[i]` lists the golds (indices into `grades`) that the item at rank i+1 contains; empty if it is unjudged.
    `grades` has the grade of every judged document, retrieved or not.
    """

    ranks: list[list[int]]
    grades: list[float]


def reference(name: str, query: Query, **parameters: object) -> float:
    """The value of the measure for the query; parameters are those of the measure's name.

    >>> reference("P", Query(ranks=[[0], [], [1]], grades=[1, 0]), k=2)
    0.5
    """
    if parameters.pop("judged_only", False):
        query = without_unjudged(query)
    return MEASURES[name](query, **parameters)


def without_unjudged(query: Query) -> Query:
    """The query without ranks that have no judged document; a negative grade is not a judgment."""
    judged = [[gold for gold in golds if query.grades[gold] >= 0] for golds in query.ranks]
    return Query([golds for golds in judged if golds], query.grades)


# The three views. Raw is `query.ranks` itself; the other two have one grade (or None) for each rank.


def by_gold(query: Query) -> list[float | None]:
    """Going down the ranks, each is credited with the gold of the highest grade in it that has no credit yet.

    Of equal grades, the lower index is credited, which may change the credit of later ranks.
    """
    credited: set[int] = set()
    view: list[float | None] = []
    for golds in query.ranks:
        chosen: int | None = None
        for gold in sorted(golds):
            if gold not in credited and (chosen is None or query.grades[gold] > query.grades[chosen]):
                chosen = gold
        if chosen is None:
            view.append(None)
        else:
            credited.add(chosen)
            view.append(query.grades[chosen])
    return view


def by_rank(query: Query) -> list[float | None]:
    """Each rank has the highest grade in it, whether or not that gold was at an earlier rank."""
    return [max((query.grades[gold] for gold in golds), default=None) for golds in query.ranks]


def view_of(query: Query, credit: str) -> list[float | None]:
    if credit == "gold":
        return by_gold(query)
    if credit == "rank":
        return by_rank(query)
    raise ValueError(f"credit {credit!r}")


# Counting


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def is_relevant(grade: float | None, rel: float) -> bool:
    return grade is not None and grade >= rel


def is_nonrelevant(grade: float | None, rel: float) -> bool:
    return grade is not None and 0 <= grade < rel


def count_relevant(view: list[float | None], rel: float) -> int:
    return sum(1 for grade in view if is_relevant(grade, rel))


def is_judged(query: Query, golds: list[int]) -> bool:
    return any(query.grades[gold] >= 0 for gold in golds)


# Sets and cut-offs


def num_q(query: Query) -> float:
    return 1.0


def num_ret(query: Query) -> float:
    return float(len(query.ranks))


def num_rel(query: Query, rel: float = 1) -> float:
    return float(sum(1 for grade in query.grades if grade >= rel))


def num_rel_ret(query: Query, k: int | None = None, rel: float = 1) -> float:
    found: set[int] = set()
    for golds in query.ranks[:k]:
        for gold in golds:
            if query.grades[gold] >= rel:
                found.add(gold)
    return float(len(found))


def precision(query: Query, k: int, rel: float = 1) -> float:
    return share(count_relevant(by_rank(query)[:k], rel), k)


def num_nonrel_ret(query: Query, rel: float = 1) -> float:
    return float(len({gold for golds in query.ranks for gold in golds if is_nonrelevant(query.grades[gold], rel)}))


def utility(
    query: Query,
    rel: float = 1,
    rel_ret: float = 1,
    nonrel_ret: float = -1,
    rel_not_ret: float = 0,
    nonrel_not_ret: float = 0,
    collection: int = 0,
) -> float:
    hits = count_relevant(by_gold(query), rel)
    others, lost = len(query.ranks) - hits, num_rel(query, rel) - hits
    rest = collection - hits - others - lost
    return rel_ret * hits + nonrel_ret * others + rel_not_ret * lost + nonrel_not_ret * rest


def recall(query: Query, k: int | None = None, rel: float = 1) -> float:
    return share(num_rel_ret(query, k, rel), num_rel(query, rel))


def f_measure(query: Query, k: int | None = None, beta: float = 1, rel: float = 1) -> float:
    p = precision(query, len(query.ranks) if k is None else k, rel)
    r = recall(query, k, rel)
    return share((1 + beta**2) * p * r, beta**2 * p + r)


def success(query: Query, k: int | None = None, rel: float = 1) -> float:
    return 1.0 if num_rel_ret(query, k, rel) > 0 else 0.0


def recall_all(query: Query, k: int | None = None, rel: float = 1) -> float:
    relevant = num_rel(query, rel)
    return 1.0 if relevant > 0 and num_rel_ret(query, k, rel) == relevant else 0.0


def set_precision(query: Query, k: int | None = None, rel: float = 1, relative: bool = False) -> float:
    query = Query(query.ranks[:k], query.grades)
    if relative:
        return share(count_relevant(by_gold(query), rel), min(len(query.ranks), num_rel(query, rel)))
    return precision(query, len(query.ranks), rel)


def set_recall(query: Query, k: int | None = None, rel: float = 1) -> float:
    return recall(query, k, rel)


def set_f(query: Query, beta: float = 1, rel: float = 1) -> float:
    return f_measure(query, None, beta, rel)


def set_ap(query: Query, rel: float = 1) -> float:
    found = count_relevant(by_gold(query), rel)
    return share(found**2, len(query.ranks) * num_rel(query, rel))


def r_precision(query: Query, rel: float = 1, mult: float = 1) -> float:
    return precision(query, math.trunc(mult * num_rel(query, rel) + 0.9), rel)


def relative_p(query: Query, k: int, rel: float = 1) -> float:
    return share(count_relevant(by_gold(query)[:k], rel), min(k, num_rel(query, rel)))


def judged(query: Query, k: int | None = None) -> float:
    seen = query.ranks[:k]
    return share(sum(1 for golds in seen if is_judged(query, golds)), len(seen))


def unjudged(query: Query, k: int) -> float:
    count = sum(1 for golds in query.ranks[:k] if not is_judged(query, golds))
    return share(count, k)


# Ranks of the relevant documents


def reciprocal_rank(query: Query, k: int | None = None, rel: float = 1) -> float:
    for rank, grade in enumerate(by_gold(query)[:k], start=1):
        if is_relevant(grade, rel):
            return 1 / rank
    return 0.0


def average_precision(
    query: Query, k: int | None = None, norm: str = "relevant", credit: str = "gold", rel: float = 1
) -> float:
    if credit == "rank" and norm != "found":
        raise ValueError("credit=rank needs norm=found")
    found = 0
    total = 0.0
    for rank, grade in enumerate(view_of(query, credit)[:k], start=1):
        if is_relevant(grade, rel):
            found += 1
            total += found / rank
    relevant = num_rel(query, rel)
    if norm == "relevant":
        return share(total, relevant)
    if norm == "found":
        return share(total, found)
    if norm == "min":
        return share(total, relevant if k is None else min(relevant, k))
    raise ValueError(f"norm {norm!r}")


def geometric_ap(query: Query, k: int | None = None, rel: float = 1) -> float:
    """For one query, GMAP is AP; only the mean over queries differs."""
    return average_precision(query, k=k, rel=rel)


def interpolated_precision(query: Query, recall: float, rel: float = 1, rounding: str = "nearest") -> float:
    wanted = recall * num_rel(query, rel)
    needed = lround(wanted) if rounding == "nearest" else math.trunc(wanted + 0.9)
    found = 0
    best = 0.0
    for rank, grade in enumerate(by_gold(query), start=1):
        if is_relevant(grade, rel):
            found += 1
        if found >= needed:
            best = max(best, found / rank)
    return best


def lround(value: float) -> int:
    """The nearest integer, half away from zero, exactly (value + 0.5 would round again)."""
    whole = math.floor(abs(value))
    if abs(value) - whole >= 0.5:
        whole += 1
    return whole if value >= 0 else -whole


def mean_interpolated_precision(
    query: Query,
    points: tuple[float, ...] = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1),
    rel: float = 1,
    rounding: str = "nearest",
) -> float:
    return sum(interpolated_precision(query, point, rel, rounding) for point in points) / len(points)


def yaap(query: Query, rel: float = 1) -> float:
    relevant = num_rel(query, rel)
    total = average_precision(query, rel=rel) * relevant
    return math.log((1 + total) / (1 + relevant - total))


def bpref(query: Query, rel: float = 1) -> float:
    relevant = num_rel(query, rel)
    nonrelevant = sum(1 for grade in query.grades if is_nonrelevant(grade, rel))
    above = 0
    total = 0.0
    for grade in by_gold(query):
        if is_relevant(grade, rel):
            total += 1 - share(min(above, relevant), min(nonrelevant, relevant))
        elif is_nonrelevant(grade, rel):
            above += 1
    return share(total, relevant)


def inferred_ap(query: Query, rel: float = 1) -> float:
    epsilon = 0.00001
    relevant_above = nonrelevant_above = pooled_above = 0
    total = 0.0
    for j, grade in enumerate(by_gold(query)):
        if grade is None:
            continue
        if is_relevant(grade, rel):
            if j == 0:
                total += 1
            else:
                in_pool = (relevant_above + nonrelevant_above + pooled_above) / j
                judged_above = relevant_above + nonrelevant_above
                chance = (relevant_above + epsilon) / (judged_above + 2 * epsilon)
                total += 1 / (j + 1) + j / (j + 1) * in_pool * chance
            relevant_above += 1
        elif is_nonrelevant(grade, rel):
            nonrelevant_above += 1
        else:
            pooled_above += 1
    return share(total, num_rel(query, rel))


# Graded gains


def gain_of(grade: float | None, gain: str, rel: float) -> float:
    if grade is None or grade <= 0 or grade < rel:
        return 0.0
    if gain == "linear":
        return grade
    if gain == "exp":
        return float(2**grade) - 1
    raise ValueError(f"gain {gain!r}")


def with_gains(query: Query, gains: dict[float, float], rel: float) -> tuple[Query, float]:
    """The query with gains as its grades, and the lowest grade that then has a gain."""
    if not gains:
        return query, rel
    return Query(query.ranks, [gains.get(grade, grade) if grade >= rel else 0 for grade in query.grades]), 0


def discount_at(rank: int, discount: str) -> float:
    if discount == "log2":
        return 1 / math.log2(rank + 1)
    if discount == "jk":
        return 1.0 if rank == 1 else 1 / math.log2(rank)
    raise ValueError(f"discount {discount!r}")


def discounted(gains: list[float], discount: str) -> float:
    return sum(gain * discount_at(rank, discount) for rank, gain in enumerate(gains, start=1))


def dcg(
    query: Query,
    k: int | None = None,
    gain: str = "linear",
    discount: str = "log2",
    credit: str = "gold",
    rel: float = 0,
    gains: tuple[tuple[float, float], ...] = (),
) -> float:
    query, rel = with_gains(query, dict(gains), rel)
    values = [gain_of(grade, gain, rel) for grade in view_of(query, credit)]
    return discounted(values[:k], discount)


def ndcg(
    query: Query,
    k: int | None = None,
    gain: str = "linear",
    discount: str = "log2",
    ideal: str = "truth",
    credit: str = "gold",
    rel: float = 0,
    gains: tuple[tuple[float, float], ...] = (),
) -> float:
    query, rel = with_gains(query, dict(gains), rel)
    if credit == "rank" and ideal != "retrieved":
        raise ValueError("credit=rank needs ideal=retrieved")
    grades: list[float | None]
    if ideal == "truth":
        grades = list(query.grades)
    elif ideal == "retrieved":
        grades = view_of(query, credit)
    else:
        raise ValueError(f"ideal {ideal!r}")
    best = sorted((gain_of(grade, gain, rel) for grade in grades), reverse=True)
    return share(dcg(query, k, gain, discount, credit, rel), discounted(best[:k], discount))


def gains_by_rank(query: Query, gains: tuple[tuple[float, float], ...]) -> tuple[list[float], list[float]]:
    """The gain at each rank, and those of the ideal ranking as far as they are positive."""
    query, _ = with_gains(query, dict(gains), 0)
    best = sorted((gain for gain in query.grades if gain > 0), reverse=True)
    return [gain_of(grade, "linear", 0) for grade in by_gold(query)], best


def binary_g(query: Query, rel: float = 1) -> float:
    total, others = 0.0, 0
    for grade in by_gold(query):
        if is_relevant(grade, rel):
            total += 1 / math.log2(2 + others)
        else:
            others += 1
    return share(total, num_rel(query, rel))


def normalized_gain(query: Query, gains: tuple[tuple[float, float], ...] = ()) -> float:
    actual, best = gains_by_rank(query, gains)
    total = cost = seen = 0.0
    for at, gain in enumerate(actual):
        cost += max(1.0, best[at] if at < len(best) else 0.0)
        seen += gain
        total += gain / math.log2(2 + cost - seen) if gain else 0.0
    return share(total, sum(best))


def ndcg_at(actual: list[float], best: list[float], rank: int) -> float:
    return discounted(actual[:rank], "log2") / discounted(best[:rank], "log2")


def ndcg_at_relevant(query: Query, gains: tuple[tuple[float, float], ...] = ()) -> float:
    actual, best = gains_by_rank(query, gains)
    if not best:
        return 0.0
    found = [ndcg_at(actual, best, rank) for rank, gain in enumerate(actual, start=1) if gain > 0]
    lost = len(best) - len(found)
    return (sum(found) + lost * ndcg_at(actual, best, max(len(actual), len(best)))) / len(best)


def ndcg_at_levels(query: Query, rel: float = 1, gains: tuple[tuple[float, float], ...] = ()) -> float:
    actual, best = gains_by_rank(query, gains)
    if not best or not num_rel(query, rel):
        return 0.0
    ranks = [rank for rank in range(1, len(best) + 1) if rank == len(best) or best[rank] != best[rank - 1]]
    if len(actual) >= len(best) + 2:
        ranks.append(len(actual))
    return sum(ndcg_at(actual, best, rank) for rank in ranks) / len(ranks)


def rank_biased_precision(query: Query, k: int | None = None, p: float = 0.8, rel: float | None = None) -> float:
    scale = max([1.0, *query.grades])
    total = 0.0
    for rank, grade in enumerate(by_gold(query)[:k], start=1):
        gain = gain_of(grade, "linear", 0) / scale if rel is None else float(is_relevant(grade, rel))
        total += gain * p ** (rank - 1)
    return (1 - p) * total


def rank_biased_residual(query: Query, p: float = 0.8) -> float:
    """As in trec_eval: 0 if every rank is judged, although ranks below could still add p^n."""
    unjudged_ranks = [rank for rank, golds in enumerate(query.ranks, start=1) if not is_judged(query, golds)]
    if not unjudged_ranks:
        return 0.0
    return float(p ** len(query.ranks)) + (1 - p) * sum(p ** (rank - 1) for rank in unjudged_ranks)


def expected_reciprocal_rank(query: Query, k: int | None = None, max_grade: float = 4) -> float:
    if any(grade > max_grade for grade in query.grades):
        raise ValueError(f"a grade is above max_grade {max_grade}")
    still_reading = 1.0
    total = 0.0
    for rank, grade in enumerate(by_gold(query)[:k], start=1):
        stops = gain_of(grade, "exp", 0) / 2**max_grade
        total += still_reading * stops / rank
        still_reading *= 1 - stops
    return total


MEASURES: dict[str, Callable[..., float]] = {
    "P": precision,
    "R": recall,
    "F": f_measure,
    "Success": success,
    "RecallAll": recall_all,
    "RR": reciprocal_rank,
    "AP": average_precision,
    "nDCG": ndcg,
    "DCG": dcg,
    "Rprec": r_precision,
    "relative_P": relative_p,
    "Bpref": bpref,
    "infAP": inferred_ap,
    "IPrec": interpolated_precision,
    "RBP": rank_biased_precision,
    "RBPResidual": rank_biased_residual,
    "ERR": expected_reciprocal_rank,
    "SetP": set_precision,
    "SetR": set_recall,
    "SetF": set_f,
    "SetAP": set_ap,
    "GMAP": geometric_ap,
    "Judged": judged,
    "Unjudged": unjudged,
    "NumRet": num_ret,
    "NumRel": num_rel,
    "NumRelRet": num_rel_ret,
    "NumNonrelRet": num_nonrel_ret,
    "Utility": utility,
    "IPrecAvg": mean_interpolated_precision,
    "YAAP": yaap,
    "GMBpref": bpref,
    "binG": binary_g,
    "G": normalized_gain,
    "nDCG_rel": ndcg_at_relevant,
    "RnDCG": ndcg_at_levels,
    "NumQ": num_q,
}
