"""Scores of the files on a command line: runs and ground truth, results, or saved scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from karat.cli.files import named_with_others, split_system
from karat.cli.inputs import Inputs, Side
from karat.cli.saved_systems import read_saved, select_saved, several_systems
from karat.cli.settings import Settings, with_findings, with_static_model
from karat.errors import KaratError, did_you_mean, require, shown
from karat.evaluation import DEFAULT_MEASURES, evaluate_runs
from karat.evaluation.reading import no_run_error
from karat.evaluation.results import LogArguments, evaluate_logs
from karat.matching.matchers import matcher_of
from karat.options import EVALUATION_OPTIONS, UNKNOWN_LABELS
from karat.output.progress import progress_bar
from karat.reading.bytes.input_file import InputFile
from karat.reading.columns import absence, plain_names
from karat.reading.contents.contents import Content, content_if_not_run, content_of, first_is_truth
from karat.reading.contents.samples import sample
from karat.reading.pairs.any_source import read_truth
from karat.reading.pairs.data_sets import is_data_set, named_data_set, qrels_of_split
from karat.reading.pairs.paths import name_of_file, run_names
from karat.reading.records.gold import is_gold
from karat.registry.selection import default_measures_among
from karat.scores import Finding, Scores
from karat.scores.columns import with_lower_is_better
from karat.scores.finding import hint_about_documents, reading_finding

_MAYBE_SCORES: tuple[Content, ...] = ("documents or scores", "nothing")


@dataclass(frozen=True)
class System:
    """A system on a command line: its name, its file, and its scores if they are saved."""

    name: str
    path: str
    saved: Scores | None = None


class SystemFiles:
    """The systems in the files of a command line. Saved scores are read at once; runs are evaluated by `load`.

    If the first file is ground truth, the others are runs, or results to which it is joined, as if it was named with
    `--truth`; otherwise each file is a system, or contains several.
    """

    def __init__(
        self,
        paths: Sequence[str],
        inputs: Inputs,
        settings: Settings,
        opened: Mapping[str, InputFile] = MappingProxyType({}),
    ) -> None:
        self.inputs, self.settings = inputs, settings
        self.options: Any = {**settings.options, "match": matcher_of(settings.options["match"])}
        paths = [*([] if inputs.truth is None else [inputs.truth]), *paths]
        if inputs.split is not None or is_data_set(paths[0]):
            paths = [qrels_of_split(paths[0], inputs.split), *paths[1:]]
        self.opened = {path: opened[path] if path in opened else InputFile(split_system(path)[0]) for path in paths}
        self.first = self.opened[paths[0]]
        contents = contents_of([self.opened[path] for path in paths], inputs)
        if contents == ["nothing"] and not inputs.accepts_saved:
            contents = ["results"]  # whoever reads them says that there are none
        self.without_truth = not self._first_is_truth(paths, contents)
        if (named := named_with_others(paths[0])) and not self.without_truth:
            what = "ground truth comes first, and it is one file, but this stands for several files"
            raise KaratError(what, place=named, hint=f"Name one of them, such as {paths[0]}.")
        self.files = paths if self.without_truth else paths[1:]
        is_log = ("results", "records") if inputs.truth is not None else ("results",)
        self.results = [
            path
            for path, content in zip(paths, contents, strict=True)
            if path in self.files and (self.without_truth or content in is_log)
        ]
        saved = self._saved(paths, contents)
        # Verdicts may have rubrics, and results may have numbers, whose names are those of measures.
        if not saved and not inputs.verdicts and not self.results:
            settings.check_measures()
        if not self.files:
            raise no_run_error(self.first, inputs.formats.get("truth"))
        self.systems = self._named_systems(saved)
        if len(saved) == len(self.files):
            self._reject_unused_options()
        self._check_columns(path for path in paths if path not in saved and not named_data_set(path))

    def _first_is_truth(self, paths: Sequence[str], contents: Sequence[Content]) -> bool:
        """Whether the first file is ground truth: that of `--truth`, or one that results can be joined to."""
        inputs, (_, *others) = self.inputs, contents
        if inputs.truth is not None:
            file = self.opened[paths[1]]
            is_twice = len(others) > 1 and others[0] != "scores" and is_gold(file, inputs.fields)
            require(not is_twice, "ground truth is given twice", "Leave out this file or --truth.", place=file.name)
            return True
        return is_truth_of_others(self.first, contents, inputs)

    def _saved(self, paths: Sequence[str], contents: Sequence[Content]) -> list[str]:
        """The files that contain saved scores; an error for files that do not fit the others."""
        saved = []
        for path, content in zip(paths, contents, strict=True):
            if path not in self.files:
                continue
            if content == "verdicts":
                hint = f"Evaluate the results with them: karat evaluate results.jsonl --verdicts {path}."
                raise KaratError("these are labels of answers", place=self.opened[path].name, hint=hint)
            if content == "scores" or (content in _MAYBE_SCORES and self.without_truth):
                what = "these are saved scores, not ground truth, a run or results"
                hint = "Saved scores are read by karat compare, diff, gate and report."
                require(self.inputs.accepts_saved or content == "nothing", what, hint, place=path)
                saved.append(path)
            elif self.without_truth and content == "documents":
                what = "this file contains neither results nor saved scores, and a run needs ground truth"
                raise KaratError(what, place=self.opened[path].name, hint="Name the ground truth before the runs.")
        return saved if self.inputs.accepts_saved else []

    def _named_systems(self, saved: Collection[str]) -> list[System]:
        """The systems in files. A file with several systems names them; otherwise a system is named after its file."""
        labels = iter(run_names([file for file in self.files if split_system(file)[1] is None] or [""]))
        systems: list[tuple[str, System]] = []
        for path in self.files:
            file, chosen = split_system(path)
            label = next(labels) if chosen is None else name_of_file(file)
            content = read_saved(path, self.opened[path]) if path in saved else {chosen or "": None}
            for name, scores in content.items():
                systems.append((label, System(label if len(content) == 1 and chosen is None else name, path, scores)))
        times = Counter(system.name for _, system in systems)
        named = [
            replace(system, name=f"{label}:{system.name}")
            if times[system.name] > 1 and system.name != label
            else system
            for label, system in systems
        ]
        times = Counter(system.name for system in named)
        return [
            replace(system, name=f"{system.name} ({at})") if times[system.name] > 1 else system
            for at, system in enumerate(named, 1)
        ]

    @property
    def hint_about_documents(self) -> str:
        """What an error adds if a file that is read as saved scores may contain documents."""
        saved = [system.saved for system in self.systems if system.saved is not None]
        return hint_about_documents(finding for scores in saved for finding in scores.findings)

    def _check_columns(self, paths: Iterable[str]) -> None:
        """Reject the name of a column that no file has."""
        names = [name for name in self.inputs.for_any_file() if not name.isdigit()]
        if not names:
            return
        existing = dict.fromkeys(column for path in paths for column in sample(self.opened[path]).names)
        for name in names:
            if name not in existing:
                columns = f"The columns are {', '.join(map(shown, existing))}." if existing else ""
                hint = f"{did_you_mean(name, existing)} {columns}".strip()
                raise KaratError(f"no file has a column {shown(name)}", place="--column", hint=hint or None)

    def _fields_of(self, path: str) -> tuple[dict[str, str], list[Finding]]:
        """The names of fields for a results file, without those that only other files have, and notes on these."""
        names = {each: sample(self.opened[each]).names for each in self.files} if self.inputs.fields else {}
        fields: dict[str, str] = {}
        notes = []
        for role, name in self.inputs.fields.items():
            having = {each for each, of_file in names.items() if name.partition(".")[0] in of_file}
            if path in having or not having:
                fields[role] = name
            else:
                file = self.opened[path].name
                notes.append(reading_finding(f"{file}: {absence(name, 'field')}", file))
        return fields, notes

    def name(self, text: str) -> str:
        """The name of the system that is called this, or whose file is, or that is this `FILE:NAME`."""
        names = [system.name for system in self.systems]
        in_file = [
            system.name
            for system in self.systems
            if text in (system.path, PurePath(system.path).name) or (system.path, system.name) == split_system(text)
        ]
        if text not in names and len(in_file) == 1:
            return in_file[0]
        from karat.comparison.alignment import check_system

        return check_system(names, text, "baseline")

    def require_one_per_file(self) -> None:
        """Reject a file with several systems."""
        for path in self.files:
            names = [system.name for system in self.systems if system.path == path]
            if len(names) > self.files.count(path):
                raise several_systems(names, path)

    def with_measures(self, measures: Sequence[str]) -> SystemFiles:
        """The same systems, to be loaded with other measures."""
        other = copy(self)
        other.settings = replace(self.settings, measures=measures)
        return other

    def saved_measures(self) -> list[str]:
        """The measures that all saved scores have; none if there are no saved scores."""
        saved = [system.saved for system in self.systems if system.saved is not None]
        return [name for name in saved[0].measures if all(name in each.values for each in saved)] if saved else []

    def load(self) -> dict[str, Scores]:
        """The scores of each system, reduced to the measures of the command line if it names any."""
        saved = {each.name: each.saved for each in self.systems if each.saved is not None}
        lower = self.settings.lower_is_better
        hint = "Of karat's own measures, it is known which values are better."
        what = "--lower-is-better applies to saved scores and to numbers of a log"
        require(saved or self.results or not lower, what, hint)
        names, findings = with_static_model(self.settings.names({name for each in saved.values() for name in each}))
        paths = {system.name: system.path for system in self.systems}
        new = {name: path for name, path in paths.items() if name not in saved}
        # The names of numbers in results may contain anything, so texts with names are passed on as they are.
        texts = names if findings else self.settings.measures
        logs = {name: path for name, path in new.items() if path in self.results}
        runs = {name: path for name, path in new.items() if name not in logs}
        # Systems of one command have the same measures by default.
        of_documents = DEFAULT_MEASURES if runs else default_measures_among(self.saved_measures())
        evaluated = self._evaluated_results(logs, texts, of_documents)
        directed = with_lower_is_better({**saved, **evaluated}, lower) if lower else {**saved, **evaluated}
        scores = {name: select_saved(directed[name], names, paths[name]) for name in saved}
        scores = with_findings({**directed, **scores}, findings if self.without_truth or logs else ())
        if not self.without_truth:
            self._check_options_of_results()
            if runs:
                scores |= with_findings(self._evaluated_runs(runs, names), findings)
            if not new:
                scores = self._checked_by_truth(scores)
        return {system.name: scores[system.name] for system in self.systems}

    def _check_options_of_results(self) -> None:
        """Reject options that are about results if there are none."""
        inputs, place = self.inputs, self.first.name
        options = {
            "--order is about the lists of results, and runs are ranked by score": inputs.order,
            f"{inputs.field_option} applies to results, one JSON object per line": inputs.fields,
            "--records applies to results, which are records": inputs.records,
            "--answers are joined to results, and these are ground truth and runs": inputs.answers,
        }
        for what, value in options.items():
            require(self.results or not value, what, "Leave it out.", place=place)

    def _evaluated_results(
        self, paths: Mapping[str, str], measures: Sequence[str], of_documents: Sequence[str] | None
    ) -> dict[str, Scores]:
        """The scores of results, by the name of the system; `of_documents` are the measures of saved scores."""
        inputs = self.inputs
        what = "--corpus is for ground truth and runs of ids; results contain their texts"
        corpus = inputs.corpus_to_match(self.settings.options["match"])
        require(not corpus or not paths or not self.without_truth, what, "Leave it out.", place=self.first.name)
        others: dict[str, Any] = inputs.joined(None if self.without_truth else self.first) if paths else {}
        others |= {**inputs.labels, "unknown": inputs.unknown} if inputs.verdicts else {}
        fields = {name: self._fields_of(path) for name, path in paths.items()}
        logs = {name: (self.opened[path], fields[name][0]) for name, path in paths.items()}
        arguments = LogArguments(
            input_format=inputs.formats.get("truth" if self.without_truth else "run"),
            order=inputs.order,
            records=inputs.records,
            corpus=corpus or None,
            correct=inputs.correct,
            **others,
            options=self.options,
        )
        evaluated = evaluate_logs(logs, measures or None, arguments, of_documents) if logs else {}
        return {
            name: replace(scores, findings=(*fields[name][1], *scores.findings)) for name, scores in evaluated.items()
        }

    def _evaluated_runs(self, paths: Mapping[str, str], measures: Sequence[str]) -> Mapping[str, Scores]:
        """The scores of runs, by the name of the system."""
        inputs = self.inputs
        what = "--unknown is about labels of answers, and these are ground truth and runs"
        require(inputs.unknown == UNKNOWN_LABELS.default, what, "Leave it out.")
        truth = inputs.described(self.first, "truth")
        runs = {name: inputs.described(self.opened[path], "run") for name, path in paths.items()}
        options: Any = {**self.options, **inputs.labels, "correct": inputs.correct}
        options["corpus"] = inputs.corpus_to_match(self.settings.options["match"]) or None
        with progress_bar("bytes") as progress:
            return evaluate_runs(truth, runs, measures or DEFAULT_MEASURES, progress=progress, **options)

    def _checked_by_truth(self, scores: Mapping[str, Scores]) -> dict[str, Scores]:
        """Saved scores, after checking that the ground truth, though not needed, is the one they were made with."""
        from karat.comparison.alignment import check_given_truth

        digests = read_truth(self.inputs.described(self.first, "truth")).digests
        checked: dict[str, Scores] = {}
        for name, saved in scores.items():
            notes = check_given_truth(name, saved, digests, self.first.name, self.inputs.force)
            checked |= with_findings({name: saved}, [Finding("other-truth", note, 0) for note in notes])
        return checked

    def _reject_unused_options(self) -> None:
        """Reject options of an evaluation if all scores are saved."""
        inputs, options = self.inputs, self.settings.options
        changed = {
            f"--{name.replace('_', '-')}": options[name] != option.default
            for name, option in EVALUATION_OPTIONS.items()
        } | {
            inputs.field_option: inputs.fields, "--records": inputs.records is not None,
            "--input-format": inputs.formats, "--column": inputs.columns,
            "--split": inputs.split is not None, "--corpus": inputs.corpus_to_match(options["match"]),
            "--verdicts": inputs.verdicts, "--order": inputs.order, "--answers": inputs.answers,
        }  # fmt: skip
        unused = [option for option, is_changed in changed.items() if is_changed]
        if unused and self.settings.rejects_unused_options:
            hint = f"Leave {unused[0]} out, or evaluate the run again. {self.hint_about_documents}".strip()
            raise KaratError(f"{unused[0]} has no effect on saved scores", hint=hint)


def contents_of(files: Sequence[InputFile], inputs: Inputs) -> list[Content]:
    """What the files of a command line contain, the first of which is that of `--truth`, if there is one."""
    is_joined = inputs.truth is not None or inputs.answers is not None
    contents = []
    for at, file in enumerate(files):
        side: Side = "run" if at else "truth"
        doc = plain_names(inputs.columns.get(side)).get("doc")
        may_be_run = len(files) > 1 and (at == 0 or not is_joined)
        content = content_of if may_be_run else content_if_not_run
        contents.append(content(file, inputs.formats.get(side), inputs.fields, doc, inputs.records))
    return contents


def is_truth_of_others(first: InputFile, contents: Sequence[Content], inputs: Inputs) -> bool:
    """Whether the first file is ground truth for runs, or gold for results, judging by what all files contain."""
    content, *others = contents
    is_joined = "results" in others and content not in ("verdicts", *_MAYBE_SCORES)
    return first_is_truth(contents, inputs.accepts_saved) or (is_joined and is_gold(first, inputs.fields))
