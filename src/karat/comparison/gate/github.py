"""A gate in GitHub Actions: an annotation per failed rule, and the table in the summary of the step."""

from __future__ import annotations

from collections.abc import Mapping

from karat.comparison.gate.outcomes import NAME, Gate
from karat.errors import printable
from karat.output.github import workflow_command

_SUMMARY = "GITHUB_STEP_SUMMARY"


def in_github(environment: Mapping[str, str]) -> bool:
    """Whether this runs in a step of GitHub Actions."""
    return environment.get("GITHUB_ACTIONS") == "true"


def workflow_commands(gate: Gate) -> str:
    """A workflow command per failed rule, which GitHub shows as an annotation."""
    return "".join(workflow_command("error", outcome.sentence, {"title": NAME}) for outcome in gate.failed)


def step_summary(environment: Mapping[str, str]) -> dict[str, str]:
    """The file to which a step of GitHub Actions appends its summary, by the name of the variable that names it."""
    path = environment.get(_SUMMARY) if in_github(environment) else None
    return {_SUMMARY: path} if path else {}


def append_summary(gate: Gate, environment: Mapping[str, str]) -> str | None:
    """Append the table to GitHub's step summary; if that fails, return a note, since it must not fail the gate."""
    for path in step_summary(environment).values():
        try:
            with open(path, "a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(f"{gate.to_markdown()}\n")
        except OSError as error:
            return f"note: cannot write the step summary: {printable(f'{path}: {error.strerror or error}')}"
    return None
