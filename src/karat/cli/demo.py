"""`karat demo`: the main job, on the data set that comes with karat."""

from __future__ import annotations

MEASURES = ("nDCG@10", "AP", "RR", "R@10")

BEFORE = """\
{questions} questions about gold, {passages} passages, three systems:
  overlap    counts the words that question and passage share
  bm25       BM25, as it comes
  bm25-rm3   BM25 with stemming, weighted titles and relevance feedback

"""
AFTER = """
Try it yourself, then with your own files:
  cd {folder}
  karat evaluate truth.qrels runs/*.trec -m nDCG@10 -m 'AP(rel=2)' --ci
  karat evaluate truth.qrels runs/bm25.trec --per-query
  karat measures nDCG
"""


def command() -> None:
    """Evaluate three retrieval systems on the data set shipped with karat."""
    from karat import demo
    from karat.cli.output import Request, deliver
    from karat.cli.screen import say
    from karat.evaluation import evaluate_runs

    say(BEFORE.format(questions=len(demo.questions()), passages=len(demo.corpus())))
    paths = {system: str(path) for system, path in demo.runs().items()}
    deliver(evaluate_runs(str(demo.TRUTH), paths, MEASURES), Request("table", None, False, 0.95))
    say(AFTER.format(folder=demo.HERE))
