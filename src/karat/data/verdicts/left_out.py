"""Verdicts without some of their items, as one of several samples of a model sees them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from karat.data.judged import Ints, place_in_query
from karat.data.verdicts.verdicts import AGAINST, SETS, Verdicts

_SINGLE, _CITED, _OTHERS = map(AGAINST.index, ("passage", "cited", "others"))


def without_items(verdicts: Verdicts, items: Ints) -> Verdicts:
    """The same labels without those of some items and against them, and without citations of them.

    All items keep their positions, and those that are left out belong to no set. Passages below them move up.
    """
    is_out = np.zeros(len(verdicts.item_query) + 1, bool)  # the last one stands for no passage, which is -1
    is_out[items] = True
    cites = ~(is_out[verdicts.cite_sentence] | is_out[verdicts.cite_passage])
    lost = verdicts.cite_sentence[is_out[verdicts.cite_passage]]
    against, passage = verdicts.label_against, verdicts.label_passage
    number_lost = np.bincount(lost, minlength=len(verdicts.item_query))[verdicts.label_item]
    # Without a passage, what a sentence cites besides it is all that it cites.
    is_rest = (against == _OTHERS) & is_out[passage] & (number_lost == 1)
    is_about_lost = np.where(
        np.isin(against, (_CITED, _OTHERS)), number_lost > 0, (against == _SINGLE) & is_out[passage]
    )
    labels = ~is_out[verdicts.label_item] & (is_rest | ~is_about_lost)
    item_set, rank = np.where(is_out[:-1], -1, verdicts.item_set), verdicts.item_rank.copy()
    passages = np.flatnonzero(item_set == SETS.index("passages"))
    passages = passages[np.lexsort((rank[passages], verdicts.item_query[passages]))]
    rank[passages] = place_in_query(verdicts.item_query[passages])
    return replace(
        verdicts,
        item_set=item_set,
        item_rank=rank,
        cite_sentence=verdicts.cite_sentence[cites],
        cite_passage=verdicts.cite_passage[cites],
        label_task=verdicts.label_task[labels],
        label_item=verdicts.label_item[labels],
        label_against=np.where(is_rest, _CITED, against)[labels],
        label_passage=np.where(is_rest, -1, passage)[labels],
        label_value=verdicts.label_value[labels],
        _shared={},
    )
