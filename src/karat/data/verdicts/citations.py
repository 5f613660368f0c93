"""The citations of answers, and what is known about their support."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from karat.data.judged import Floats, Ints
from karat.data.verdicts.labels import Against, Labels, Relation, highest_of

if TYPE_CHECKING:
    from karat.data.verdicts.verdicts import Verdicts


class Citations:
    """The sentences of each answer and their citations, with what is known about their support.

    `together` has a row per sentence: whether all passages that it cites support it together; 0 if it cites none.
    `alone` and `others` have a row per citation: whether the passage supports the sentence by itself, and whether the
    other cited passages do without it. A citation that points to no passage supports nothing. `valid` is 1 for a
    citation that points to a passage. All are unknown if the passages are.
    """

    def __init__(self, verdicts: Verdicts) -> None:
        n, sentences = len(verdicts.queries), verdicts._rows("sentences")
        self.sentence = np.searchsorted(sentences, verdicts.cite_sentence)
        """the row of each citation's sentence"""
        query, valid = verdicts.item_query[verdicts.cite_sentence], verdicts.cite_passage >= 0
        cited = np.bincount(self.sentence[valid], minlength=len(sentences))
        listed = verdicts.are_listed("passages")[query]
        self.valid = Labels(n, query, np.where(listed, valid, np.nan))

        def labels(against: Against, item: Ints, passage: Ints) -> Floats:
            values = verdicts._values("support", against, item, passage)
            return verdicts._assumed(Relation("support", "sentences", against), values)

        alone = labels("passage", verdicts.cite_sentence, verdicts.cite_passage)
        alone = np.where(valid, alone, np.where(listed, 0.0, np.nan))
        self.alone = Labels(n, query, alone)
        others = labels("others", verdicts.cite_sentence, verdicts.cite_passage)
        number_cited = cited[self.sentence]
        # Of two passages, the others are the other one alone; of one, none is left.
        others[number_cited < 2] = 0.0
        pairs = np.flatnonzero(valid & (number_cited == 2)).reshape(-1, 2)
        others[pairs] = alone[pairs[:, ::-1]]
        self.others = Labels(n, query, np.where(valid, others, 0.0))
        together = labels("cited", sentences, np.full(len(sentences), -1))
        only = highest_of(self.sentence, alone, len(sentences), empty=0.0)
        self.together = Labels(n, verdicts.item_query[sentences], np.where(cited < 2, only, together))
        self.best = self.together.with_values(only)
        """for each sentence, the highest support by a single passage that it cites"""
        single = verdicts._values("support", "passage", verdicts.cite_sentence, verdicts.cite_passage, contradicts=True)
        by_single = highest_of(self.sentence, np.where(valid, single, 0.0), len(sentences), empty=0.0)
        by_all = verdicts._values("support", "cited", sentences, np.full(len(sentences), -1), contradicts=True)
        self.contradicted = self.together.with_values(np.where(cited < 2, by_single, by_all))
        """for each sentence, 1 if the passages that it cites contradict it together"""

    def per_citation(self, values: Floats) -> Floats:
        """The mean of a value per citation, for each query: 0 without citations, and NaN without sentences."""
        labels = self.alone.with_values(values)
        uncited = (labels.count() == 0) & (self.together.count() > 0)
        return np.where(uncited, 0.0, labels.mean())
