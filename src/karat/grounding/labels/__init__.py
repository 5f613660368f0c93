"""Labels: which of them count, what several say together, and the Verdicts of a system that they become.

A label says something about texts: its item, what the item was compared with, and, for a claim, the answer that it is
from. One module decides what is evaluated, which is what results bring or else what the files have, and for each label
whether it is about that, by digests. Of several labels about the same subject by the same author, `counting.py`
decides which one counts, and `votes.py` what several people, or several samples of a model, say together. Evaluation,
summaries, agreement, explanations, the report, sheets and judges ask there.
"""
