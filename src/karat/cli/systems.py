"""From the files that a command line names to Scores: runs and their truth, results, or scores that were saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from karat.cli.models import noted, with_static_model
from karat.comparison.alignment import check_system
from karat.errors import KaratError, shown
from karat.evaluation import DEFAULT_MEASURES, evaluate_results, evaluate_runs
from karat.matching.matchers import matcher_of
from karat.options import Duplicates, EvaluationOptions, Missing, Ties
from karat.output.progress import progress_bar
from karat.registry.names import split_names
from karat.scores import Scores
from karat.sources.results import is_results
from karat.sources.text_file import TextFile


@dataclass(frozen=True)
class How:
    """How systems are to be evaluated: the options of `karat evaluate`. Saved scores are taken as they are."""

    measures: Sequence[str] = ()
    match: str = "id"
    fields: Sequence[str] = ()
    missing: Missing = "zero"
    ties: Ties = "trec"
    duplicates: Duplicates = "error"
    ignore_identical_ids: bool = False
    rel: float | None = None
    saved: bool = field(default=False, kw_only=True)
    """whether a file may also hold scores that were saved"""
    strict: bool = field(default=True, kw_only=True)
    """whether options that change nothing, as all scores are saved, are refused"""
    says_fields: str = field(default="--field", kw_only=True)
    """where the fields are named, for messages"""

    @property
    def names(self) -> list[str]:
        """The measures asked for, one by one."""
        return [name for text in self.measures for name in split_names(text)]

    def options(self) -> EvaluationOptions:
        return {
            "ties": self.ties,
            "missing": self.missing,
            "duplicates": self.duplicates,
            "ignore_identical_ids": self.ignore_identical_ids,
            "match": matcher_of(self.match),
            "rel": self.rel,
        }


def named_system(systems: Sequence[str], given: str) -> str:
    """What a system is called that is named so, or by its file."""
    names = run_names(systems)
    for path, name in zip(systems, names, strict=True):
        if systems.count(path) == 1 and given in (path, PurePath(path).name) and given not in names:
            return name
    return check_system(names, given, "--baseline")


def load(paths: Sequence[str], how: How, baseline: str | None = None) -> dict[str, Scores]:
    """The scores of each system, by the name of its file.

    Where the first file is a truth, the others are runs for it; otherwise each is a system by itself. A baseline that
    is none of them is told before anything is evaluated.
    """
    names, notes = with_static_model(how.names)
    options = how.options()
    fields = fields_named(how.fields)
    first = TextFile(paths[0])
    if not how.saved and holds_scores(first.path):
        hint = "karat compare, diff and gate take them."
        raise KaratError("these are saved scores, not a truth or results", where=first.name, hint=hint)
    alone = (how.saved and is_saved(first.path)) or is_results(first)
    systems = paths if alone else paths[1:]
    if not systems:
        raise KaratError(
            "a truth alone cannot be evaluated",
            where=first.name,
            hint="Name a run after it; or give a file of results, one JSON object a line.",
        )
    if baseline is not None:
        named_system(systems, baseline)
    kept = [path for path in systems if how.saved and is_saved(path)]
    if len(kept) == len(systems):
        _refuse_unused(how)
    if alone:
        scores = {
            name: _by_itself(path if at else first, name, replace(how, measures=names), fields, options)
            for at, (name, path) in enumerate(zip(run_names(paths), paths, strict=True))
        }
        return noted(scores, notes)
    if fields:
        raise KaratError(
            f"{how.says_fields} is for results, one JSON object a line", where=first.name, hint="Leave it out."
        )
    by_name = dict(zip(run_names(systems), systems, strict=True))
    new = {name: path for name, path in by_name.items() if path not in kept}
    scores = {name: _chosen(Scores.load(path), names, path) for name, path in by_name.items() if path in kept}
    if new:
        with progress_bar("bytes") as progress:
            scores |= noted(evaluate_runs(first, new, names or DEFAULT_MEASURES, progress=progress, **options), notes)
    return {name: scores[name] for name in by_name}


def _refuse_unused(how: How) -> None:
    """Options of evaluation, where nothing is to be evaluated."""
    plain = How(how.measures)
    names = ("match", "fields", "missing", "ties", "duplicates", "ignore_identical_ids", "rel")
    unused = [name for name in names if getattr(how, name) != getattr(plain, name)]
    if unused and how.strict:
        option = {"fields": how.says_fields}.get(unused[0], f"--{unused[0].replace('_', '-')}")
        hint = f"Leave {option} out, or evaluate again."
        raise KaratError(f"saved scores are taken as they are, and {option} cannot change them", hint=hint)


def is_saved(path: str) -> bool:
    """Whether a file is meant for scores that were saved, as far as its name and its first line say."""
    if PurePath(path).suffix.lower() == ".json" and not holds_scores(path):
        # What is no object is no results either.
        return _first_line(path)[:1] in (b"", b"[")
    return PurePath(path).suffix.lower() == ".csv" or holds_scores(path)


def holds_scores(path: str) -> bool:
    """Whether it is JSON or Parquet of karat's own.

    Its JSON has its brace alone in the first line, where a line of results is a whole object; or, if somebody wrote it
    again, what no results have.
    """
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes[-2:]]
    packed = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:1] if packed else suffixes[-1:]) or [""]
    if suffix == [".json"]:
        first = _first_line(path)
        found = first == b"{" or (b'"means"' in first and b'"findings"' in first)
    else:
        found = suffix == [".parquet"]
    if found and packed:
        raise KaratError("saved scores are read as they were written, not packed", where=path, hint="Unpack it first.")
    return found


def _first_line(path: str) -> bytes:
    return next((line for _, line in TextFile(path).lines() if line), b"")


def _by_itself(
    source: TextFile | str, name: str, how: How, fields: dict[str, str], options: EvaluationOptions
) -> Scores:
    path = source if isinstance(source, str) else source.path
    if how.saved and is_saved(path):
        return _chosen(Scores.load(path), how.names, path)
    results = TextFile(source) if isinstance(source, str) else source
    if not is_results(results):
        hint = "Name the truth first, as karat compare TRUTH RUN RUN."
        raise KaratError(
            "this holds neither results nor saved scores; a run needs a truth", where=results.name, hint=hint
        )
    return evaluate_results(results, how.names or None, fields=fields, name=name, **options)


def _chosen(scores: Scores, names: Sequence[str], path: str) -> Scores:
    """Saved scores, of the measures that are asked for."""
    if not names:
        return scores
    try:
        return scores.only(names)
    except KaratError as error:
        raise KaratError(error.what, where=path, hint=error.hint) from None


def fields_named(given: Sequence[str]) -> dict[str, str]:
    """What results call their fields, from `retrieved=source_nodes`.

    >>> fields_named(["query=id", "retrieved=response.source_nodes"])
    {'query': 'id', 'retrieved': 'response.source_nodes'}
    """
    names: dict[str, str] = {}
    for text in given:
        role, equals, name = (part.strip() for part in text.partition("="))
        if not (role and equals and name) or names.get(role, name) != name:
            problem = "twice" if role in names else "is not NAME=THEIRS"
            raise KaratError(f"--field {shown(text)} {problem}", hint="Write --field retrieved=source_nodes.")
        names[role] = name
    return names


def run_names(paths: Sequence[str]) -> list[str]:
    """What to call each run: its file's name, and as much of the path as tells it from the others.

    >>> run_names(["runs/bm25.trec", "runs/dense.trec.gz"]), run_names(["a/run.txt", "b/run.txt"])
    (['bm25', 'dense'], ['a/run', 'b/run'])
    """
    parts = [_short(path).split("/") for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{path} ({at})" if paths.count(path) > 1 else path for at, path in enumerate(paths, 1)]


_KNOWN = {".gz", ".trec", ".run", ".txt", ".tsv", ".csv", ".res", ".out", ".json", ".jsonl", ".ndjson", ".parquet"}


def _short(path: str) -> str:
    if path == "-":
        return "stdin"
    pure = PurePath(path)
    while pure.suffix.lower() in _KNOWN and pure.stem:
        pure = pure.with_suffix("")
    return pure.as_posix()
