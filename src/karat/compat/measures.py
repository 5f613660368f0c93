"""trec_eval's measures by its own names, in its own order: each is a measure of karat under the name it prints.

What a measure of karat is called in trec_eval, and how its parameters are written there, is decided by the registry.
Here is what only trec_eval has: the order, which cut-offs are sorted and how they are printed, what is a text, and
which measures are averaged over judgment groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from karat.errors import KaratError, did_you_mean, enumeration, require, shown
from karat.registry.trec_eval_names import CUTOFFS, NICKNAMES, WITH_PARAMETERS, as_argument, read_parameters

if TYPE_CHECKING:
    from karat.data.judged import Floats
    from karat.registry import Combine, Measure
    from karat.registry.measure import Data

Version = Literal[9, 10]

_LENGTH = "10"  # of relstring

Judgments = Literal["qrels", "qrels_jg", "prefs", "qrels_prefs"]
"""the formats of judgments, as in trec_eval's option -R"""

MEASURES = (*NICKNAMES["all_trec"][:-3], "yaap", *NICKNAMES["all_trec"][-3:])
"""all measures of qrels, in the order in which trec_eval prints them"""
OF_JUDGMENTS: Mapping[Judgments, tuple[str, ...]] = {
    "qrels": MEASURES,
    "qrels_jg": NICKNAMES["qrels_jg"],
    "prefs": NICKNAMES["all_prefs"],
    "qrels_prefs": NICKNAMES["all_prefs"],
}
"""the measures of each format of judgments, in the same order"""
ONLY_IN_VERSION_10 = ("rbp", "rbp_resid", "unj")
OF_VERSION_9 = tuple(name for name in MEASURES if name not in (*ONLY_IN_VERSION_10, "yaap"))
"""the measures that pytrec_eval has"""

# The measures whose cut-offs are shares, which are printed with two digits.
_SHARES = ("iprec_at_recall", "Rprec_mult")

_BY_GROUP = "_avgjg"
"""what follows the name of a measure in that of its mean over judgment groups"""
_SETS = {"qrels": "official", "qrels_jg": "qrels_jg", "prefs": "prefs", "qrels_prefs": "prefs"}


@dataclass(frozen=True)
class PrintedMeasure:
    """A line of trec_eval's output: the name in it, and the measure that has the value."""

    name: str
    """with its parameters, as in `P_5`"""
    stem: str
    """without them"""
    measure: Measure | None = None
    """None for a text"""
    length: int = 0
    """of relstring"""

    @property
    def combine(self) -> Combine | None:
        """How the values of queries are combined; None for a text."""
        return None if self.measure is None else self.measure.definition.combine

    def values(self, data: Data) -> Floats:
        """What trec_eval adds up, for each query; for a geometric mean, these are logarithms."""
        from karat.registry.combining import before_mean

        if self.measure is None:
            raise KaratError(f"{self.name} is a text")
        return before_mean(self.measure.compute(data), self.measure.definition.combine)


def printed_measures(
    asked: Iterable[str],
    *,
    level: float = 1,
    version: Version = 10,
    collection: int = 0,
    judgments: Judgments = "qrels",
) -> list[PrintedMeasure]:
    """The measures that trec_eval computes for the values of its option -m, in its order.

    Each of `asked` is a measure, a measure with parameters, or the nickname of several measures. `level` is the lowest
    relevant grade, `collection` the number of documents in the collection, and `judgments` the format of the judgments.

    >>> [printed.name for printed in printed_measures(["set_F.0.5", "P.7,3", "map"])]
    ['map', 'P_3', 'P_7', 'set_F_0.5']
    """
    parameters: dict[str, str | None] = {}
    for text in asked:
        stem, point, given = text.partition(".")
        names = NICKNAMES.get(stem, (stem,))
        _check(text, stem, names, version, judgments)
        require(given or not point, f"{shown(text)} lacks parameters after the point", f"Write {stem}.")
        takes = _without_groups(stem) in CUTOFFS or stem in WITH_PARAMETERS or stem == "relstring"
        require(takes or not given, f"{shown(text)}: {stem} takes no parameters", f"Write {stem}.")
        for name in names if version == 10 else (name for name in names if name not in ONLY_IN_VERSION_10):
            if parameters.get(name) is None:  # of several lists of parameters, the first one counts
                parameters[name] = given or None

    def measure(name: str) -> Measure:
        return _measure(name, level, version, collection)

    ordered = [stem for stem in OF_JUDGMENTS[judgments] if stem in parameters]
    return [printed for stem in ordered for printed in _printed(stem, parameters[stem], measure)]


def _check(text: str, asked: str, names: Sequence[str], version: Version, judgments: Judgments) -> None:
    """Reject a measure that trec_eval, or this version of it, does not have, or that needs other judgments."""
    known = OF_JUDGMENTS[judgments]
    if not set(names) <= set(known):
        formats = [name for name in OF_JUDGMENTS if set(names) <= set(OF_JUDGMENTS[name])]
        if not formats:
            near = did_you_mean(asked, [*known, *NICKNAMES]) or f"It has {', '.join(known)}."
            hint = near if (argument := as_argument(text)) == text else f"Write -m {argument}."
            raise KaratError(f"trec_eval has no measure {shown(text)}", hint=hint)
        hint = f"Use -R {enumeration(formats, 'or')}, or measures of {judgments}, such as -m {_SETS[judgments]}."
        raise KaratError(f"{asked} is not computed from judgments in the format {judgments}", hint=hint)
    if version == 9 and len(names) == 1 and names[0] in ONLY_IN_VERSION_10:
        raise KaratError(f"trec_eval 9 has no measure {names[0]}", hint="trec_eval 10 has it.")


def _printed(stem: str, given: str | None, measure: Callable[[str], Measure]) -> list[PrintedMeasure]:
    """The lines of a measure, with these parameters or its own."""
    if stem == "runid":
        return [PrintedMeasure(stem, stem)]
    if stem == "relstring":
        length = _whole(stem, given or _LENGTH)
        return [PrintedMeasure(f"{stem}_{given}" if given else stem, stem, length=length)]
    base = _without_groups(stem)
    if base in CUTOFFS:
        read = _share if base in _SHARES else _whole
        cutoffs = sorted(read(stem, text) for text in (given.split(",") if given else CUTOFFS[base]))
        for cutoff, following in pairwise(cutoffs):
            require(cutoff != following, f"{stem} has the cut-off {cutoff} twice", "Leave one of them out.")
        digits = ".2f" if base in _SHARES else ""
        return [PrintedMeasure(f"{stem}_{cutoff:{digits}}", stem, measure(f"{base}_{cutoff}")) for cutoff in cutoffs]
    if given is None:
        return [PrintedMeasure(stem, stem, measure(base))]
    require(read_parameters(f"{stem}.{given}"), f"{shown(given)} is not a list of parameters of {stem}", _example(stem))
    return [PrintedMeasure(f"{stem}_{given}", stem, measure(f"{stem}.{given}"))]


def _without_groups(stem: str) -> str:
    """The name of the measure that is averaged over judgment groups: `map` of `map_avgjg`; other names as they are."""
    return stem.removesuffix(_BY_GROUP) if stem in OF_JUDGMENTS["qrels_jg"] else stem


def _example(stem: str) -> str:
    examples = {"utility": "1,-1,0,0", "11pt_avg": "0.2,0.5,0.8", "set_F": "0.5", "rbp": "p=0.8", "rbp_resid": "p=0.8"}
    return f"Write -m {stem}.{examples.get(stem, '1=3.5,2=9')}."


def _whole(stem: str, text: str) -> int:
    """A cut-off: a fraction is cut off, as in trec_eval."""
    number = _number(stem, text)
    require(1 <= number < 2**31, f"{shown(text)} is not a cut-off of {stem}: cut-offs are between 1 and {2**31 - 1}")
    return math.trunc(number)


def _share(stem: str, text: str) -> float:
    number = _number(stem, text)
    require(number >= 0, f"{shown(text)} is not a cut-off of {stem}: cut-offs are 0 or more")
    return number


def _number(stem: str, text: str) -> float:
    try:
        if "_" in text:
            raise ValueError
        number = float(text)
    except ValueError:
        number = math.nan
    require(math.isfinite(number), f"{shown(text)} is not a cut-off of {stem}", "Cut-offs are numbers: -m P.5,10.")
    return number


def _measure(name: str, level: float, version: Version, collection: int) -> Measure:
    from karat.measures import parse
    from karat.registry.selection import with_level

    measure = with_level(parse(name), level)
    known = measure.definition.parameters
    if version == 9 and "rounding" in known:
        measure = measure(rounding="trec_eval_9")
    return measure(collection=collection) if "collection" in known else measure
