"""`karat demo`: the main features, on the data set that is shipped with karat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from karat.cli.parser import Command
from karat.errors import KaratError, printable

if TYPE_CHECKING:
    from karat.scores import SystemScores

MEASURES = ("nDCG@10", "AP", "RR", "R@10")
ANSWERS = ("EM(normalize=true)", "TokenF1", "TokenRecall", "Contains")
GROUNDED = ("Faithfulness", "ContextRecall", "CitationRecall", "CitationPrecision", "NuggetRecall(kind=vital)",
            "Correctness")  # fmt: skip
MATCHES = ("id", "content", "prefix", "chunk", "overlap", "overlap(threshold=0.3)")
EXPLAINED = "q06"

INTRODUCTION = """\
{questions} questions about gold, {passages} passages, three systems:
  overlap    counts the words that question and passage share
  bm25       BM25 with default settings
  bm25-rm3   BM25 with stemming, weighted titles and relevance feedback
The files are in {folder}

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
GROUNDEDNESS = """
Another system writes its answers and cites passages: generated.jsonl. A person has labelled which passages support
which claim and sentence, and what is missing: verdicts.jsonl. Are the answers grounded, well cited and complete?

"""
NEXT = """
Try it yourself, then with your own files:
  cd {folder}
  karat check truth.qrels runs/*.trec --queries questions.jsonl --corpus corpus.jsonl
  karat evaluate truth.qrels runs/*.trec -m nDCG@10 -m "AP(rel=2)" --ci
  karat compare truth.qrels runs/*.trec --baseline bm25
  karat diff truth.qrels runs/bm25.trec runs/bm25-rm3.trec -m nDCG@10
  karat gate truth.qrels runs/bm25-rm3.trec --min nDCG@10=0.5 --baseline runs/bm25.trec --max-drop AP=0.01
  karat evaluate results.jsonl --match chunk --explain {explained}
  karat evaluate results.jsonl -m TokenF1 -m Contains --per-query
  karat evaluate generated.jsonl --verdicts verdicts.jsonl --author human:ann
  karat verdicts verdicts.jsonl
  karat report truth.qrels runs/*.trec --queries questions.jsonl --corpus corpus.jsonl --by length -o {report}
  karat measures nDCG
"""
REPORT = """
The report on the three systems, with charts and every question, is one page. Open it in a browser:
  {path}
"""
NO_REPORT = """
The report on the three systems was not written: {problem}
"""
REPORT_FILE = "karat-demo.html"


@click.command("demo", cls=Command, example="karat demo")
def command() -> None:
    """Evaluate and compare three retrieval systems and two RAG systems on the data set shipped with karat.

    The report of the three systems is written to karat-demo.html.
    """
    import sys
    from dataclasses import replace
    from pathlib import Path

    from karat.cli import demo_data as demo
    from karat.cli.output import Output, print_scores
    from karat.cli.terminal import print_table, print_text
    from karat.comparison import compare
    from karat.errors.command_lines import quoted_word
    from karat.evaluation import evaluate_results, evaluate_runs
    from karat.scores.summary import summary

    questions = {question["query"]: question["text"] for question in demo.questions()}
    corpus = demo.corpus()
    print_text(INTRODUCTION.format(questions=len(questions), passages=len(corpus), folder=demo.HERE))
    paths = {system: str(path) for system, path in demo.runs().items()}
    runs = evaluate_runs(str(demo.TRUTH), paths, MEASURES)
    print_scores(runs, Output(level=0.95))
    print_text(COMPARISON)
    # The findings were just printed under the first table.
    two = {name: replace(runs[name], findings=()) for name in ("bm25", "bm25-rm3")}
    print_table(compare(two, "bm25", measures=["nDCG@10", "RR"]).table())
    print_text(CHUNKS)
    scores = {match: evaluate_results(demo.RESULTS, MEASURES, match=match) for match in MATCHES}
    table = summary(scores)
    # The rows are not ranked: no way of matching is better than another; they answer different questions.
    rows = tuple(tuple(replace(cell, mark=None) for cell in row) for row in table.rows)
    header = ("match", *table.header[1:])
    print_table(replace(table, header=header, rows=rows, notes=table.notes[:1], narrower=None))
    print_text(ANSWERED)
    answers = evaluate_results(demo.RESULTS, ANSWERS)
    print_table(summary({"": answers}, 0.95))
    print_text(EXPLANATION.format(question=questions[EXPLAINED]))
    (ranks,) = scores["chunk"].explain(EXPLAINED, 6).tables()
    (golds,) = answers.explain(EXPLAINED).tables()
    print_table(ranks)
    print_text("\n")
    print_table(golds)
    print_text(GROUNDEDNESS)
    grounded = evaluate_results(demo.GENERATED, GROUNDED, verdicts=demo.VERDICTS, author="human:ann")
    print_table(summary({"": grounded}, 0.95))
    # The folder of the data may not be one to write to.
    report = "~/report.html" if sys.platform != "win32" else quoted_word(str(Path("report.html").resolve()))
    print_text(NEXT.format(folder=quoted_word(str(demo.HERE)), explained=EXPLAINED, report=report))
    print_text(_report(runs, questions, corpus))


def _report(runs: SystemScores, questions: Mapping[str, str], corpus: Sequence[Mapping[str, str]]) -> str:
    """Write the report into the current folder, and say where it is, or what prevents it."""
    from karat.cli import demo_data as demo
    from karat.report import Provenance, write_report

    files = (str(demo.TRUTH), *map(str, demo.runs().values()))
    try:
        path = write_report(
            runs,
            REPORT_FILE,
            queries=questions,
            corpus=corpus,
            by={"length": "length"},
            title="Questions about gold",
            provenance=Provenance("karat demo", files),
        )
    except KaratError as error:
        return NO_REPORT.format(problem=error)
    return REPORT.format(path=printable(str(path.resolve())))
