"""Analyses of scores: the evidence for them, explain, diff, bounds and slices.

`diff` and `bounds` call the measure with a hypothetical `Judged`, so no measure is implemented twice. In `diff`,
judged documents move from their ranks in one run to those in the other, one at a time; the change of the score at each
step is the contribution of that document. In `bounds`, unjudged documents get grades from 0 to the highest one, in the
combinations that can be a minimum or a maximum.

`diff` works with your own measures too. For `bounds`, a measure must declare what happens if an unjudged document gets
a higher grade (`unjudged=` of `register`). Relevant documents have the highest grade here, all others 0:

    the score falls                            unjudged               what is computed, for u unjudged documents
    never                                      monotone               all of them relevant
    only for a document below the cut-off      monotone_above_cutoff  those above the cut-off relevant, those below
    at most for the first one, which sets      monotone_after_first   the lowest one relevant, all of them
    the scale
    for any document, which is one more        normalized             for each m up to u: the m topmost ones relevant,
    to find                                                           the m lowest

The last row means 2u scores of up to u relevant documents. Most of them need not be computed: a normalized measure has
a `normalizer`, the function that returns what its value is divided by. Neither the dividend nor the normalizer falls
with m, so the scores of two m limit those of all m in between: the lowest is at least the dividend at the smaller m,
divided by the normalizer at the larger one. Only stretches of m that could contain a lower or a higher score are
divided further. With up to 128 unjudged documents above the cut-off, this goes on until nothing is left, and the
bounds are exact. With more, it ends after 16 scores for the lowest value and 16 for the highest: what is left is a
safe outer bound, which is marked. A measure without a `normalizer`, such as IPrec, then has the bounds of its range.

Two measures may be highest at a grade in between, because the highest grade also raises what they are divided by: the
ideal DCG of nDCG, and the highest grade of the query in RBP. They have a function that finds the best grades
(`best_grades=`); a graded measure of the last two kinds without one has an outer bound. RBP is highest if all unjudged
documents have the highest grade that its query already has, or 1 if that is lower. For nDCG, Dinkelbach's method finds
the highest ratio of DCG to ideal DCG: for a given value v, DCG - v * ideal DCG is a sum over the grades of the query,
and for each grade the best number of documents that have at least this grade is found separately (the file of nDCG
says why they fit together). It takes a few steps, in time proportional to u times the number of different grades; if
that is above 2^16, the highest value is 1, an outer bound. No other grade is better, so the bounds are exact for all
grades from 0 to the highest. Property tests compare every variant with all assignments of the existing grades. The
lowest value needs no grade in between.
"""
