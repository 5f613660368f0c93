"""Scores of the files on a command line: runs and ground truth, results, or saved scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from karat.cli.models import with_findings, with_static_model
from karat.comparison.alignment import check_system
from karat.errors import KaratError, require, shown
from karat.evaluation import DEFAULT_MEASURES, evaluate_results, evaluate_runs
from karat.matching.matchers import matcher_of
from karat.options import EVALUATION_OPTIONS
from karat.output.progress import progress_bar
from karat.registry.selection import listed_measures
from karat.scores import Scores
from karat.sources.results import is_results
from karat.sources.text_file import TextFile


@dataclass(frozen=True)
class Evaluation:
    """How the command line asks to evaluate systems. Saved scores are used as they are."""

    measures: Sequence[str]
    options: Mapping[str, Any]
    """the options of `EVALUATION_OPTIONS`, by name"""
    fields: Sequence[str] = ()
    accepts_saved: bool = False
    """whether a file may also contain saved scores"""
    rejects_unused_options: bool = True
    """whether options that change nothing, because all scores are saved, are an error"""
    field_option: str = "--field"
    """where the fields are given, for messages"""

    @property
    def measure_names(self) -> list[str]:
        """The measures, one by one."""
        return [str(name) for name in listed_measures(self.measures)]


def system_name(systems: Sequence[str], given: str) -> str:
    """The name of a system that is given by this name or by its file."""
    names = run_names(systems)
    for path, name in zip(systems, names, strict=True):
        if systems.count(path) == 1 and given in (path, PurePath(path).name) and given not in names:
            return name
    return check_system(names, given, "--baseline")


def load_systems(paths: Sequence[str], evaluation: Evaluation, baseline: str | None = None) -> dict[str, Scores]:
    """The scores of each system, by the name of its file.

    If the first file is ground truth, the others are runs; otherwise each file is a system. An unknown baseline is
    reported before anything is evaluated.
    """
    names, findings = with_static_model(evaluation.measure_names)
    options: Any = {**evaluation.options, "match": matcher_of(evaluation.options["match"])}
    fields = parse_fields(evaluation.fields)
    first = TextFile(paths[0])
    if not evaluation.accepts_saved and contains_scores(first.path):
        hint = "Saved scores are read by karat compare, diff and gate."
        raise KaratError("these are saved scores, not ground truth or results", where=first.name, hint=hint)
    saved = [path for path in paths if evaluation.accepts_saved and is_saved_scores(path)]
    without_truth = paths[0] in saved or is_results(first)
    systems = paths if without_truth else paths[1:]
    hint = "Add a run after it, or name a results file (one JSON object per line)."
    require(systems, "this file is read as ground truth, but no run was given", hint, where=first.name)
    if baseline is not None:
        system_name(systems, baseline)
    if all(path in saved for path in systems):
        _reject_unused_options(evaluation)
    by_name = dict(zip(run_names(systems), systems, strict=True))
    scores = {name: _load_saved(path, names) for name, path in by_name.items() if path in saved}
    new = {name: path for name, path in by_name.items() if path not in saved}
    if without_truth:
        for name, path in new.items():
            results = first if name == next(iter(by_name)) else TextFile(path)
            scores[name] = _evaluate_results(results, names, fields=fields, name=name, **options)
        return with_findings({name: scores[name] for name in by_name}, findings)
    option = evaluation.field_option
    require(not fields, f"{option} applies to results, one JSON object per line", "Leave it out.", where=first.name)
    if new:
        with progress_bar("bytes") as progress:
            evaluated = evaluate_runs(first, new, names or DEFAULT_MEASURES, progress=progress, **options)
        scores |= with_findings(evaluated, findings)
    return {name: scores[name] for name in by_name}


def _reject_unused_options(evaluation: Evaluation) -> None:
    """Reject options of an evaluation if all scores are saved."""
    changed = [f"--{name.replace('_', '-')}" for name, option in EVALUATION_OPTIONS.items()
               if evaluation.options[name] != option.default]  # fmt: skip
    unused = [*changed, *([evaluation.field_option] if evaluation.fields else [])]
    if unused and evaluation.rejects_unused_options:
        hint = f"Leave {unused[0]} out, or evaluate the run again."
        raise KaratError(f"{unused[0]} has no effect on saved scores", hint=hint)


def is_saved_scores(path: str) -> bool:
    """Whether a file seems to contain saved scores, judging by its name and its first line."""
    if PurePath(path).suffix.lower() == ".json" and not contains_scores(path):
        # An empty file or a JSON array cannot be results either; loading it as scores gives the better error.
        return _first_line(path)[:1] in (b"", b"[")
    return PurePath(path).suffix.lower() == ".csv" or contains_scores(path)


def contains_scores(path: str) -> bool:
    """Whether a file is JSON or Parquet as karat writes it.

    karat's JSON has a brace alone in its first line, whereas a line of results is a whole object. JSON that was
    reformatted is recognized by keys that results do not have.
    """
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes[-2:]]
    compressed = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:1] if compressed else suffixes[-1:]) or [""]
    if suffix == [".json"]:
        first = _first_line(path)
        found = first == b"{" or (b'"means"' in first and b'"findings"' in first)
    else:
        found = suffix == [".parquet"]
    require(not (found and compressed), "saved scores cannot be compressed", "Decompress the file first.", where=path)
    return found


def _first_line(path: str) -> bytes:
    return next((line for _, line in TextFile(path).lines() if line), b"")


def _evaluate_results(results: TextFile, names: Sequence[str], **options: Any) -> Scores:
    hint = "Name the ground truth first, as in karat compare TRUTH RUN RUN."
    what = "this file contains neither results nor saved scores, and a run needs ground truth"
    require(is_results(results), what, hint, where=results.name)
    return evaluate_results(results, names or None, **options)


def _load_saved(path: str, names: Sequence[str]) -> Scores:
    """Saved scores, reduced to these measures if any are named."""
    scores = Scores.load(path)
    if not names:
        return scores
    try:
        return scores.only(names)
    except KaratError as error:
        raise KaratError(error.what, where=path, hint=error.hint) from None


def parse_fields(given: Sequence[str]) -> dict[str, str]:
    """The names of fields in results files, from texts such as `retrieved=source_nodes`.

    >>> parse_fields(["query=id", "retrieved=response.source_nodes"])
    {'query': 'id', 'retrieved': 'response.source_nodes'}
    """
    names: dict[str, str] = {}
    for text in given:
        role, equals, name = (part.strip() for part in text.partition("="))
        if not (role and equals and name) or names.get(role, name) != name:
            problem = "is given twice" if role in names else "is not of the form NAME=FIELD"
            raise KaratError(f"--field {shown(text)} {problem}", hint="Write --field retrieved=source_nodes.")
        names[role] = name
    return names


def run_names(paths: Sequence[str]) -> list[str]:
    """A name for each run: the name of its file, with as many folders as it takes to tell the runs apart.

    >>> run_names(["runs/bm25.trec", "runs/dense.trec.gz"]), run_names(["a/run.txt", "b/run.txt"])
    (['bm25', 'dense'], ['a/run', 'b/run'])
    """
    parts = [_without_suffix(path).split("/") for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{path} ({at})" if paths.count(path) > 1 else path for at, path in enumerate(paths, 1)]


_SUFFIXES = {".gz", ".trec", ".run", ".txt", ".tsv", ".csv", ".res", ".out", ".json", ".jsonl", ".ndjson", ".parquet"}


def _without_suffix(path: str) -> str:
    if path == "-":
        return "stdin"
    pure = PurePath(path)
    while pure.suffix.lower() in _SUFFIXES and pure.stem:
        pure = pure.with_suffix("")
    return pure.as_posix()
