"""What is in files that are not evaluated by themselves: saved scores, and labels of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karat.errors import enumeration, shown
from karat.errors.command_lines import quoted_word
from karat.evaluation.look.screen import FieldRead, Look
from karat.grounding.verdict_file.reading import read_verdict_records
from karat.reading.bytes.input_file import InputFile
from karat.scores.loading import read_scores


def look_at_scores(file: InputFile) -> Look:
    """The systems and measures in a file of saved scores."""
    systems = read_scores(file)
    queries = {query for scores in systems.values() for query in scores.queries}
    measures = dict.fromkeys(name for scores in systems.values() for name in scores.measures)
    names = {"systems": filter(None, systems), "measures": measures}
    path = quoted_word(file.path)
    commands = {
        "to compare them": f"karat compare {path}" if len(systems) > 1 else f"karat compare {path} OTHER",
        "to check them": f"karat gate {path} --min MEASURE=VALUE",
        "to show them": f"karat report {path} -o report.html",
    }
    counts = {"system": len(systems), "query": len(queries)}
    return Look(file.name, "saved scores", counts, read=_named(names), commands=commands)


def look_at_verdicts(file: InputFile) -> Look:
    """The tasks, systems and authors in a file of labels."""
    records = read_verdict_records(file)
    labels = records.labels
    tasks = dict.fromkeys([*labels.task.categories, *sorted(records.rubrics)])
    drawn = dict.fromkeys(query.recipe for query in records.drawn.values())
    names = {"tasks": tasks, "systems": records.systems, "authors": labels.by.categories, "samples": drawn}
    path = quoted_word(file.path)
    commands = {
        "to count them": f"karat verdicts {path}",
        "to evaluate answers with them": f"karat evaluate RESULTS --verdicts {path}",
    }
    return Look(file.name, "labels", {"label": len(labels)}, read=_named(names), commands=commands)


def _named(names: Mapping[str, Iterable[str]]) -> tuple[FieldRead, ...]:
    listed = {noun: [shown(name) for name in of_noun] for noun, of_noun in names.items()}
    return tuple(FieldRead(noun, "", enumeration(texts, "and")) for noun, texts in listed.items() if texts)
