"""Corrections of p-values for multiple comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate


def corrected(p: Sequence[float | None], method: str) -> list[float | None]:
    """The p-values corrected by `holm`, `bonferroni`, `bh` or `none`, in the order given.

    With m comparisons and their p-values in rising order, k = 1, …, m:

    - bonferroni: m p
    - holm (Holm 1979): the maximum of (m - j + 1) p_j over j <= k; controls the same error rate with more power
    - bh (Benjamini and Hochberg 1995): the minimum of (m / j) p_j over j >= k; controls the false discovery rate

    None (nothing was tested) stays None and does not count as a comparison. Results are between the raw p and 1.

    >>> corrected([0.01, None, 0.04, 0.03], "holm")
    [0.03, None, 0.06, 0.06]
    """
    rising = sorted((value, at) for at, value in enumerate(p) if value is not None)
    result: list[float | None] = list(p)
    for (_, at), value in zip(rising, _METHODS[method]([value for value, _ in rising]), strict=True):
        result[at] = min(1.0, value)
    return result


def _holm(rising: list[float]) -> list[float]:
    return list(accumulate(((len(rising) - k) * value for k, value in enumerate(rising)), max))


def _bonferroni(rising: list[float]) -> list[float]:
    return [len(rising) * value for value in rising]


def _benjamini_hochberg(rising: list[float]) -> list[float]:
    m = len(rising)
    # m / k is computed first, because p * m / m may round to less than p.
    falling = [value * (m / k) for k, value in enumerate(rising, 1)][::-1]
    return list(accumulate(falling, min))[::-1]


_METHODS: dict[str, Callable[[list[float]], list[float]]] = {
    "holm": _holm,
    "bonferroni": _bonferroni,
    "bh": _benjamini_hochberg,
    "none": list,
}
