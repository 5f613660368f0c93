"""`karat demo`: the main features, on the data set that is shipped with karat."""

from __future__ import annotations

import click

from karat.cli.parser import Command

MEASURES = ("nDCG@10", "AP", "RR", "R@10")
ANSWERS = ("EM(normalize=true)", "TokenF1", "TokenRecall", "Contains")
MATCHES = ("id", "content", "prefix", "chunk", "overlap", "overlap(threshold=0.3)")
EXPLAINED = "q06"

INTRODUCTION = """\
{questions} questions about gold, {passages} passages, three systems:
  overlap    counts the words that question and passage share
  bm25       BM25 with default settings
  bm25-rm3   BM25 with stemming, weighted titles and relevance feedback

"""
COMPARISON = """
Is bm25-rm3 really better than bm25, or is the difference due to chance? Compared query by query:

"""
CHUNKS = """
A RAG system splits the passages into chunks and logs each question with the chunks it retrieved: results.jsonl.
The judgments are about passages, not chunks, so the scores depend on what counts as a hit:

"""
ANSWERED = """
Its answers are whole sentences, and the gold answers are a few words. No answer is identical to a gold answer, but
some contain one:

"""
EXPLANATION = """
One of the questions, rank by rank: {question}

"""
NEXT = """
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


@click.command("demo", cls=Command)
def command() -> None:
    """Evaluate and compare three retrieval systems and a RAG system on the data set shipped with karat."""
    from dataclasses import replace

    from karat import demo
    from karat.cli.output import Output, print_scores
    from karat.cli.terminal import print_table, print_text
    from karat.comparison import compare
    from karat.evaluation import evaluate_results, evaluate_runs
    from karat.scores.summary import summary

    questions = {question["query"]: question["text"] for question in demo.questions()}
    print_text(INTRODUCTION.format(questions=len(questions), passages=len(demo.corpus())))
    paths = {system: str(path) for system, path in demo.runs().items()}
    runs = evaluate_runs(str(demo.TRUTH), paths, MEASURES)
    print_scores(runs, Output("table", None, level=0.95))
    print_text(COMPARISON)
    # The findings were just printed under the first table.
    two = {name: replace(runs[name], findings=()) for name in ("bm25", "bm25-rm3")}
    print_table(compare(two, "bm25", measures=["nDCG@10", "RR"]).table())
    print_text(CHUNKS)
    scores = {match: evaluate_results(demo.RESULTS, MEASURES, match=match) for match in MATCHES}
    table = summary(scores)
    # The rows are not ranked: no way of matching is better than another; they answer different questions.
    rows = tuple(tuple(replace(cell, mark=None) for cell in row) for row in table.rows)
    print_table(replace(table, header=("match", *table.header[1:]), rows=rows, notes=table.notes[:1]))
    print_text(ANSWERED)
    answers = evaluate_results(demo.RESULTS, ANSWERS)
    print_table(summary({"": answers}, 0.95))
    print_text(EXPLANATION.format(question=questions[EXPLAINED]))
    (ranks,) = scores["chunk"].explain(EXPLAINED, 6).tables()
    (golds,) = answers.explain(EXPLAINED).tables()
    print_table(ranks)
    print_text("\n")
    print_table(golds)
    print_text(NEXT.format(folder=demo.HERE, explained=EXPLAINED))
