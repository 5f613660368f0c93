"""`karat demo`: the main job, on the data set that comes with karat."""

from __future__ import annotations

import typer

MEASURES = ("nDCG@10", "AP", "RR", "R@10")


def command() -> None:
    """Evaluate three retrieval systems on the data set shipped with karat."""
    from karat import demo
    from karat.cli.output import Request, deliver
    from karat.evaluate import evaluate_runs

    typer.echo(f"{len(demo.questions())} questions about gold, {len(demo.corpus())} passages, three systems:")
    typer.echo("  overlap    counts the words that question and passage share")
    typer.echo("  bm25       BM25, as it comes")
    typer.echo("  bm25-rm3   BM25 with stemming, weighted titles and relevance feedback")
    typer.echo()
    paths = {system: str(path) for system, path in demo.runs().items()}
    deliver(evaluate_runs(str(demo.TRUTH), paths, MEASURES), Request("table", None, False, 0.95))
    typer.echo()
    typer.echo("Try it yourself, then with your own files:")
    typer.echo(f"  cd {demo.HERE}")
    typer.echo("  karat evaluate truth.qrels runs/*.trec -m nDCG@10 -m 'AP(rel=2)' --ci")
    typer.echo("  karat evaluate truth.qrels runs/bm25.trec --per-query")
    typer.echo("  karat measures nDCG")
