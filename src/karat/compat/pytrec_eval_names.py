"""The names of measures as pytrec_eval reads them: those of trec_eval 9, with parameters as in `ndcg_cut_5,10`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from karat.compat.measures import OF_VERSION_9
from karat.errors import KaratError, did_you_mean, shown
from karat.errors.arguments import is_list_like
from karat.registry.trec_eval_names import CUTOFFS, NICKNAMES, WITH_PARAMETERS

SETS = {**NICKNAMES, "all_trec": OF_VERSION_9}
"""the names of several measures; of preferences, pytrec_eval has the names of the sets, but not the measures"""

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_WITH_PARAMETERS = re.compile(rf"({'|'.join(map(re.escape, OF_VERSION_9))})[._]({_NUMBER}(?:,{_NUMBER})*)")
_HINT = "pytrec_eval has the measures of trec_eval 9, such as map, P_5 and ndcg_cut_5,10; karat.evaluate has others."


class ArgumentTypeError(KaratError, TypeError):
    """A wrong argument, for which pytrec_eval raises a TypeError."""


def in_trec_eval(measures: Iterable[str]) -> list[str]:
    """Measures as trec_eval's option -m has them, each with all its parameters.

    As in pytrec_eval, parameters are sorted as texts, `P` with `P_5` is `P_5`, and what follows parameters is ignored;
    so are parameters of a measure that has none.

    >>> sorted(in_trec_eval({"P_5", "P.10,20", "P", "map_7"}))
    ['P.10,20,5', 'map']
    """
    if not is_list_like(measures):
        raise ArgumentTypeError(f"{shown(measures)} is not a set of names", place="measures", hint=_HINT)
    parameters: dict[str, set[str]] = {}
    for name in measures:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{shown(name)} is not the name of a measure", hint=_HINT)
        for measure in SETS.get(name, (name,)):
            stem, given = _parsed(measure)
            parameters.setdefault(stem, set()).update(given if stem in CUTOFFS or stem in WITH_PARAMETERS else ())
    return [f"{stem}.{','.join(sorted(given))}" if given else stem for stem, given in parameters.items()]


def _parsed(name: str) -> tuple[str, list[str]]:
    """The measure that a name is about, and its parameters."""
    if name in OF_VERSION_9:
        return name, []
    found = _WITH_PARAMETERS.match(name)
    if found is None:
        raise KaratError(
            f"unsupported measure {shown(name)}", hint=f"{did_you_mean(name, OF_VERSION_9)} {_HINT}".strip()
        )
    return found[1], found[2].split(",")
