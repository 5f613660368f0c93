"""How trec_eval writes the parameters of a measure: after a point, and in its output after an underscore.

A list of cut-offs stands for several measures (`P.5,10`), which `split_names` knows. These are one measure each:

    utility.2,-1,0,0    11pt_avg..25,.5,.75    set_F.0.5    ndcg.1=3,2=9    rbp.p=0.8
"""

from __future__ import annotations

import math
import re

from karat.errors import KaratError, shown

_LISTED = tuple("5 10 15 20 30 100 200 500 1000".split())
CUTOFFS = {
    "iprec_at_recall": tuple("0.00 0.10 0.20 0.30 0.40 0.50 0.60 0.70 0.80 0.90 1.00".split()),
    "P": _LISTED,
    "recall": _LISTED,
    "Rprec_mult": tuple("0.20 0.40 0.60 0.80 1.00 1.20 1.40 1.60 1.80 2.00".split()),
    "ndcg_cut": _LISTED,
    "map_cut": _LISTED,
    "relative_P": _LISTED,
    "success": ("1", "5", "10"),
    "unj": ("5", "10", "20"),
}
"""The cut-offs that trec_eval computes if it is given none."""

TEXTS = ("runid", "relstring")
"""what trec_eval prints as a text, not as a number"""

_OFFICIAL = "runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P"
_PREFERENCES = "runid num_q prefs_num_prefs_poss prefs_num_prefs_ful prefs_num_prefs_ful_ret prefs_simp prefs_pair"
NICKNAMES = {
    name: tuple(measures.split())
    for name, measures in {
        "official": _OFFICIAL,
        "set": "runid num_q num_ret num_rel num_rel_ret utility set_P set_recall set_relative_P set_map set_F",
        "all_trec": f"{_OFFICIAL} relstring recall infAP gm_bpref Rprec_mult utility 11pt_avg binG G ndcg ndcg_rel"
        " Rndcg ndcg_cut map_cut relative_P success set_P set_relative_P set_recall set_map set_F"
        " num_nonrel_judged_ret rbp rbp_resid unj",
        "prefs": f"{_PREFERENCES} prefs_avgjg",
        "all_prefs": f"{_PREFERENCES} prefs_avgjg prefs_avgjg_Rnonrel prefs_simp_ret prefs_pair_ret prefs_avgjg_ret"
        " prefs_avgjg_Rnonrel_ret prefs_simp_imp prefs_pair_imp prefs_avgjg_imp",
        "qrels_jg": "runid num_q map_avgjg P_avgjg Rprec_mult_avgjg",
    }.items()
}
"""The names of trec_eval for several measures, which are here in the order of its output."""

_NUMBER = r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?"
_PAIR = rf"(?:p|(?!-){_NUMBER})=[^\s()@,=]++"  # -1 stands for documents that are not judged, which have no gain
_WITH_PAIRS = "ndcg|ndcg_p|ndcg_rel|Rndcg|G|rbp|rbp_resid"
_WITH_NUMBERS = "utility|11pt_avg|set_F"
_PAIRS = re.compile(rf"({_WITH_PAIRS})[._]({_PAIR}(?:,{_PAIR})*+)")
_NUMBERS = re.compile(rf"({_WITH_NUMBERS})[._]({_NUMBER}(?:,{_NUMBER})*+)")
_LISTS = re.compile(rf"((?:{'|'.join(CUTOFFS)})(?:_avgjg)?|relstring)[._]({_NUMBER}(?:,{_NUMBER})*+)")
WITH_PARAMETERS = (*_WITH_PAIRS.split("|"), *_WITH_NUMBERS.split("|"))
"""the measures whose parameters are not cut-offs"""
_UTILITY = ("rel_ret", "nonrel_ret", "rel_not_ret", "nonrel_not_ret")


def read_parameters(text: str) -> tuple[str, dict[str, str]] | None:
    """The name of a measure in trec_eval, and its parameters as this measure has them here; None for other texts.

    >>> read_parameters("ndcg.1=3,2=9"), read_parameters("set_F_0.25"), read_parameters("P.5")
    (('ndcg', {'gains': '{1:3,2:9}'}), ('set_F', {'beta': '0.5'}), None)
    """
    if pairs := _PAIRS.fullmatch(text):
        return pairs[1], _named(dict(pair.split("=") for pair in pairs[2].split(",")))
    listed = _NUMBERS.fullmatch(text)
    if listed is None:
        return None
    name, numbers = listed[1], listed[2].split(",")
    if name == "11pt_avg":
        return name, {"points": f"{{{listed[2]}}}"}
    wanted = len(_UTILITY) if name == "utility" else 1
    if len(numbers) != wanted:
        hint = f"Write {'utility.1,-1,0,0' if name == 'utility' else 'set_F.0.5'}."
        raise KaratError(f"{shown(text)}: {name} has {wanted} parameter{'s' * (wanted > 1)}", hint=hint)
    if name == "utility":
        return name, dict(zip(_UTILITY, numbers, strict=True))
    weight = float(numbers[0])
    if weight < 0:
        raise KaratError(f"{shown(text)}: the parameter of {name} is negative", hint="Write set_F.0.5.")
    # trec_eval's x is the square of beta.
    return name, {"beta": repr(math.sqrt(weight))}


def as_argument(text: str) -> str:
    """A measure as trec_eval's option -m has it, with its parameters after a point; other texts as they are.

    >>> as_argument("P_5"), as_argument("rbp_p=0.8"), as_argument("set_P")
    ('P.5', 'rbp.p=0.8', 'set_P')
    """
    found = _LISTS.fullmatch(text) or _NUMBERS.fullmatch(text) or _PAIRS.fullmatch(text)
    return f"{found[1]}.{found[2]}" if found else text


def continues(name: str, part: str) -> bool:
    """Whether what follows a comma is one more parameter of this measure."""
    if _PAIRS.fullmatch(name):
        return re.fullmatch(_PAIR, part) is not None
    return _NUMBERS.fullmatch(name) is not None and re.fullmatch(_NUMBER, part) is not None


def _named(pairs: dict[str, str]) -> dict[str, str]:
    """The persistence p, and the gains of grades."""
    named = {"p": pairs.pop("p")} if "p" in pairs else {}
    return named | ({"gains": f"{{{','.join(f'{grade}:{gain}' for grade, gain in pairs.items())}}}"} if pairs else {})
