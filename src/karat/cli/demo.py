"""`karat demo`: the main job, on the data set that comes with karat."""

from __future__ import annotations

MEASURES = ("nDCG@10", "AP", "RR", "R@10")
ANSWERS = ("EM(normalize=true)", "TokenF1", "TokenRecall", "Contains")
MATCHES = ("id", "content", "prefix", "chunk", "overlap", "overlap(threshold=0.3)")
EXPLAINED = "q06"

BEFORE = """\
{questions} questions about gold, {passages} passages, three systems:
  overlap    counts the words that question and passage share
  bm25       BM25, as it comes
  bm25-rm3   BM25 with stemming, weighted titles and relevance feedback

"""
BETTER = """
Is bm25-rm3 really better than bm25, or only on these questions? Query by query:

"""
CHUNKS = """
A RAG system cuts the passages into chunks, and logs each question with what it retrieved: results.jsonl.
Its chunks are no passages, so the score depends on what counts as a hit:

"""
SAID = """
Its answer is the sentence that fits best. Gold answers are a few words: hardly one is met, but some are in there:

"""
ONE = """
One of the questions, rank by rank: {question}

"""
AFTER = """
Try it yourself, then with your own files:
  cd {folder}
  karat evaluate truth.qrels runs/*.trec -m nDCG@10 -m 'AP(rel=2)' --ci
  karat compare truth.qrels runs/*.trec --baseline bm25
  karat diff truth.qrels runs/bm25.trec runs/bm25-rm3.trec -m nDCG@10
  karat gate truth.qrels runs/bm25-rm3.trec --min nDCG@10=0.5 --baseline runs/bm25.trec --max-drop AP=0.01
  karat evaluate results.jsonl --match chunk --explain {explained}
  karat evaluate results.jsonl -m TokenF1 -m Contains --per-query
  karat measures nDCG
"""


def command() -> None:
    """Evaluate and compare three retrieval systems, and a RAG system's answers, on the data set shipped with karat."""
    from dataclasses import replace

    from karat import demo
    from karat.cli.output import Request, deliver
    from karat.cli.terminal import say, show
    from karat.comparison import compare
    from karat.evaluation import evaluate_results, evaluate_runs
    from karat.scores.summary import by_measure, by_system

    questions = {question["query"]: question["text"] for question in demo.questions()}
    say(BEFORE.format(questions=len(questions), passages=len(demo.corpus())))
    paths = {system: str(path) for system, path in demo.runs().items()}
    runs = evaluate_runs(str(demo.TRUTH), paths, MEASURES)
    deliver(runs, Request("table", None, False, 0.95))
    say(BETTER)
    # What was noticed in the runs has just been said.
    two = {name: replace(runs[name], findings=()) for name in ("bm25", "bm25-rm3")}
    show(compare(two, "bm25", measures=["nDCG@10", "RR"]).table())
    say(CHUNKS)
    scores = {match: evaluate_results(demo.RESULTS, MEASURES, match=match) for match in MATCHES}
    table = by_system(scores)
    # No choice is better than another: they answer different questions.
    rows = tuple(tuple(replace(cell, best=False) for cell in row) for row in table.rows)
    show(replace(table, header=("match", *table.header[1:]), rows=rows, notes=table.notes[:1]))
    say(SAID)
    answers = evaluate_results(demo.RESULTS, ANSWERS)
    show(by_measure({"": answers}, 0.95))
    say(ONE.format(question=questions[EXPLAINED]))
    (ranks,) = scores["chunk"].explain(EXPLAINED, 6).tables()
    (golds,) = answers.explain(EXPLAINED).tables()
    show(ranks)
    say("\n")
    show(golds)
    say(AFTER.format(folder=demo.HERE, explained=EXPLAINED))
