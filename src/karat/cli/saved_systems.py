"""Systems in files of saved scores: all of a file, or the one that `FILE:NAME` names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karat.cli.files import split_system
from karat.errors import KaratError, did_you_mean, enumeration, require, shown
from karat.reading.bytes.input_file import InputFile
from karat.scores import Scores
from karat.scores.loading import read_scores


def saved_system(path: str, file: InputFile) -> Scores:
    """The only system in a file of saved scores, or one of them if the path is `FILE:NAME`."""
    systems = read_saved(path, file)
    if len(systems) > 1:
        raise several_systems(list(systems), path)
    return next(iter(systems.values()))


def several_systems(names: Sequence[str], path: str) -> KaratError:
    """The error for a file with several systems where one is needed."""
    what = f"one system is needed, and this file contains {enumeration(names, 'and')}"
    file = "Save it as a file, and write FILE" if path == "-" else f"Write {path}"
    return KaratError(what, place=InputFile(path).name, hint=f"{file}:{names[0]} for one of them.")


def read_saved(path: str, file: InputFile) -> Mapping[str, Scores]:
    """The saved scores of each system in a file, or of one of them if the path is `FILE:NAME`."""
    name = split_system(path)[1]
    systems = read_scores(file)
    if name is None:
        return systems
    near = did_you_mean(name, systems)
    hint = f"{near} The systems are {enumeration(list(systems), 'and')}.".strip()
    require(name in systems, f"no system is called {shown(name)}", hint, place=file.name)
    return {name: systems[name]}


def select_saved(scores: Scores, names: Sequence[str], path: str) -> Scores:
    """Saved scores, reduced to these measures if any are named."""
    try:
        return scores.only(names) if names else scores
    except KaratError as error:
        raise error.but(place=path) from None
