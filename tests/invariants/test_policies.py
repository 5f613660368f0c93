"""What the code base promises about itself: import directions, a light start, typed and documented public names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Literal, NamedTuple

import click
import pytest

import karat
from karat.cli import program
from karat.cli.files import FileType
from karat.cli.parser import Command

SOURCE = Path(karat.__file__).parent

# The modules that have the public names of karat.
HOMES = {**karat._HOMES, **karat._MODULES}

# What each folder, and each module at the top, imports when it is imported; in the order in which data flows.
MAY_IMPORT = {
    "errors": "",
    "data.caching": "",
    "options": "errors",
    "data": "data.caching errors",
    "documents": "errors",
    "dataclasses": "documents",
    "output": "errors",
    "reading.bytes": "errors",
    "reading.columns": "errors",
    "reading": "data.caching data documents errors options reading.bytes reading.columns",
    "registry": "data.caching errors",
    "matching": "data.caching data documents errors output reading registry",
    "ranking": "data documents errors matching options reading reading.bytes",
    "measures": "data.caching data documents errors output registry",
    "grounding": "data.caching data documents errors measures options output reading reading.bytes registry",
    "reading.conversion": "data errors output reading reading.bytes",
    "stats": "data.caching data",
    "scores": "data.caching data errors measures options output reading.bytes reading.columns registry stats",
    "analysis": "data.caching data documents errors grounding matching measures options output ranking reading"
    " reading.bytes registry scores stats",
    "evaluation": "data.caching analysis data documents errors grounding matching options output ranking reading"
    " reading.bytes reading.columns registry scores",
    "comparison": "data.caching data errors options output reading.bytes registry scores stats",
    "comparison.gate": "comparison errors matching measures options output reading reading.bytes registry scores stats",
    "report.plots": "analysis comparison errors measures options output registry scores",
    "report": "data.caching analysis comparison data documents errors evaluation grounding matching measures output"
    " reading registry report.plots scores stats",
    "testing": "comparison.gate errors options reading.bytes scores",
    "pooled": "errors evaluation matching measures reading scores",
    "grounding.judges": "errors grounding options output reading reading.bytes",
    "components": "data documents errors evaluation grounding grounding.judges matching measures output reading scores",
    "integrations": "components errors",
    "compat": "data.caching data errors matching ranking reading reading.bytes registry",
    "engines": "data.caching data documents errors evaluation matching options output reading reading.bytes"
    " reading.columns registry scores",
    "cli": "data.caching analysis comparison comparison.gate compat engines errors evaluation grounding"
    " grounding.judges matching measures options output reading reading.bytes reading.columns reading.conversion"
    " registry report report.plots scores",
    "__init__": "",
    "__main__": "cli",
}
# What it may import besides when a function is called, or for type checkers alone.
WHEN_CALLED = {
    "reading": "output",
    "scores": "analysis comparison report report.plots",
    "comparison": "analysis report.plots",
    "grounding.judges": "analysis evaluation registry scores",
    "compat": "evaluation measures",
    "__init__": "analysis cli comparison comparison.gate components data documents errors evaluation grounding"
    " grounding.judges measures reading.conversion registry scores",
}


class Import(NamedTuple):
    """An import of a part of karat: of which module, and when it happens."""

    module: str
    when: Literal["imported", "called"]

    @property
    def room(self) -> str:
        return room(self.module.removeprefix("karat."))


@cache
def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes() -> list[tuple[Path, ast.AST]]:
    """All that is in the modules, each with the path of its module."""
    return [(path, node) for path in modules() for node in ast.walk(parsed(path))]


@cache
def imports(path: Path) -> list[Import]:
    """The parts of karat that a module imports; what is for type checkers alone counts as imported when called."""
    return list(_imports(parsed(path), "imported"))


def _imports(tree: ast.AST, when: Literal["imported", "called"]) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        deferred = isinstance(node, ast.FunctionDef | ast.Lambda) or (
            isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        )
        if isinstance(node, ast.ImportFrom) and node.module == "karat":
            names = [alias.name for alias in node.names if alias.name != "__version__"]
            yield from (Import(HOMES.get(name, f"karat.{name}"), when) for name in names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("karat."):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield Import(inner if is_module(inner) else node.module, when)
        elif isinstance(node, ast.Import):
            yield from (Import(alias.name, when) for alias in node.names if alias.name.startswith("karat."))
        yield from _imports(node, "called" if deferred else when)


@cache
def is_module(name: str) -> bool:
    path = SOURCE.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def module_name(path: Path) -> str:
    return ".".join(["karat", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")


def room(module: str) -> str:
    """The folder, or the part of one that has imports of its own in the list, that a module belongs to."""
    two = ".".join(module.split(".")[:2])
    return two if two in MAY_IMPORT else module.split(".")[0]


def room_of(path: Path) -> str:
    return room(".".join(path.relative_to(SOURCE).with_suffix("").parts))


def place(path: Path, node: ast.expr | ast.stmt | None = None) -> str:
    """How a failed test names a module, or a line of it."""
    name = path.relative_to(SOURCE).as_posix()
    return name if node is None else f"{name}:{node.lineno}"


def assert_none(offenders: Iterable[str]) -> None:
    """Fail if something breaks a rule, naming all that does; pytest would show only the first item of a list."""
    __tracebackhide__ = True
    assert not (names := list(offenders)), "\n".join(["", *names])


def test_a_module_imports_only_what_its_folder_may_import() -> None:
    forbidden = []
    for path in modules():
        own = room_of(path)
        allowed = {own, *MAY_IMPORT[own].split()}
        later = allowed | set(WHEN_CALLED.get(own, "").split())
        forbidden += [
            f"{place(path)} imports {found.module} when {found.when}"
            for found in imports(path)
            if found.room not in (allowed if found.when == "imported" else later)
        ]
    assert_none(forbidden)


def test_the_lists_name_every_folder_and_nothing_that_is_not_imported() -> None:
    used: dict[str, set[str]] = {room_of(path): set() for path in modules()}
    for path in modules():
        used[room_of(path)] |= {found.room for found in imports(path)} - {room_of(path)}
    listed = {name: {*MAY_IMPORT[name].split(), *WHEN_CALLED.get(name, "").split()} for name in MAY_IMPORT}
    assert listed == used


def test_the_architecture_page_shows_these_lists() -> None:
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text("utf-8")
    table = re.findall(r"^\| `([\w.]+)` \|[^|]*\|([^|]*)\|$", page, re.MULTILINE)
    shown = {name: set(allowed.split()) for name, allowed in table}
    assert shown == {name: set(allowed.split()) for name, allowed in MAY_IMPORT.items() if "__" not in name}


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_a_page_for_contributors_names_files_that_exist(page: str) -> None:
    root = SOURCE.parents[1]
    names = re.findall(r"`(\w+/[\w/]+\.\w+)`", (root / page).read_text("utf-8"))
    assert_none(name for name in names if not any((folder / name).exists() for folder in (SOURCE, root)))


def test_what_a_folder_says_about_itself_names_files_that_exist() -> None:
    assert_none(
        f"{place(path)} names {name}"
        for path in sorted(SOURCE.rglob("__init__.py"))
        for name in re.findall(r"`(\w+\.py)`", ast.get_docstring(parsed(path)) or "")
        if not (path.parent / name).exists() and not (SOURCE / name).exists()
    )


def test_folders_do_not_import_each_other_in_a_cycle() -> None:
    list(TopologicalSorter({name: allowed.split() for name, allowed in MAY_IMPORT.items()}).static_order())


def test_modules_do_not_import_each_other_in_a_cycle() -> None:
    graph = {
        module_name(path): {found.module for found in imports(path) if found.when == "imported"} for path in modules()
    }
    list(TopologicalSorter(graph).static_order())


def test_no_two_classes_have_the_same_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in modules():
        # The components for Haystack have the names of the evaluators that they are made of.
        if room_of(path) != "integrations":
            for node in parsed(path).body:
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, []).append(module_name(path))
    assert_none(f"{name}: {', '.join(places)}" for name, places in homes.items() if len(places) > 1)


def test_the_top_of_the_house_has_at_most_25_rooms() -> None:
    rooms = {room(module_name(path).removeprefix("karat.")).split(".")[0] for path in modules()}
    assert len(rooms - {"karat", "__init__", "__main__"}) <= 25


def test_cached_properties_have_no_lock() -> None:
    names = [
        f"{place(path)}: {alias.name}"
        for path, node in nodes()
        if isinstance(node, ast.ImportFrom) and node.module == "functools" and path.name != "caching.py"
        for alias in node.names
    ]
    assert_none(name for name in names if name.endswith("cached_property"))  # but from karat.data.caching


def test_no_function_has_more_than_60_lines() -> None:
    assert_none(
        place(path, node)
        for path, node in nodes()
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 60
    )


def test_what_is_public_can_be_found_and_exists() -> None:
    assert dir(karat) == sorted(karat.__all__)
    for name in karat.__all__:
        assert getattr(karat, name) is not None


def test_importing_karat_loads_nothing_heavy() -> None:
    code = "import sys, karat; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    for heavy in ("numpy", "pyarrow", "scipy", "rich", "click", "typer", "pydantic", "pandas"):
        assert f"'{heavy}'" not in loaded


def test_evaluating_mappings_and_lists_loads_only_numpy() -> None:
    code = "import sys, karat; karat.evaluate({'q': ['a']}, {'q': ['a']}, 'R'); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "'numpy'" in loaded
    for heavy in ("pyarrow", "scipy", "rich", "click", "typer", "pydantic", "pandas", "rapidfuzz"):
        assert f"'{heavy}'" not in loaded


def test_help_loads_neither_numpy_nor_rich() -> None:
    code = "import sys; sys.argv = ['karat', '--help']\nimport atexit\n" \
        "atexit.register(lambda: print(sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr))\n" \
        "from karat.cli import main; main()"  # fmt: skip
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stderr
    for heavy in ("numpy", "pyarrow", "scipy", "rich", "typer", "pydantic"):
        assert f"'{heavy}'" not in loaded


def test_spark_is_only_used_inside_its_folder() -> None:
    others = (path for path in modules() if room_of(path) != "engines")
    assert_none(place(path) for path in others if "pyspark" in path.read_text("utf-8"))


# The distribution that an import comes from, if it has another name.
DISTRIBUTIONS = {
    "haystack": "haystack-ai", "huggingface_hub": "sentence-transformers", "torch": "sentence-transformers",
    "transformers": "sentence-transformers", "vl_convert": "vl-convert-python",
}  # fmt: skip
# polars is used for its own frames, and so by nobody who does not have it.
NOT_DECLARED = {"", "karat", "polars", "_typeshed"}


def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    imported = set[str]()
    for _, node in nodes():
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        imported |= {name.partition(".")[0] for name in names}
    project = tomllib.loads((SOURCE.parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [
        requirement
        for name, extra in project["optional-dependencies"].items()
        if name != "all"
        for requirement in extra
    ]
    declared = {re.split(r"[^\w-]", requirement)[0] for requirement in [*project["dependencies"], *extras]}
    foreign = imported - sys.stdlib_module_names - NOT_DECLARED
    assert {DISTRIBUTIONS.get(name, name).replace("_", "-") for name in foreign} == {
        name.replace("_", "-") for name in declared
    }


def test_a_file_has_one_subject() -> None:
    numbers = {path: len(path.read_text("utf-8").splitlines()) for path in modules()}
    too_long = [f"{place(path)} has {lines} lines" for path, lines in numbers.items() if lines > 350]
    names = {"utils", "helpers", "common", "misc", "base"}
    unnamed = [f"{place(path)}: its name says nothing" for path in modules() if path.stem in names]
    silent = [f"{place(path)} has no docstring" for path in modules() if not ast.get_docstring(parsed(path))]
    assert_none([*too_long, *unnamed, *silent])


def test_the_package_declares_that_it_is_typed() -> None:
    assert (SOURCE / "py.typed").is_file()


# Parameters of commands that take text that is not the name of a file. The names of systems and measures are not files.
NOT_FILES = {
    "--api-key-env", "--author", "--base-url", "--input-format", "--column", "--split", "--baseline of compare",
    "--equivalence", "--explain", "--field", "--lower-is-better", "--master", "--match", "--max", "--max-drop",
    "--ignore", "--records", "--select",
    "--measure", "--non-inferior",
    "--model", "--baseline of report", "--by of import", "--min", "--order", "--per-query-path", "--query", "--sort",
    "--system", "--tag", "--task", "--title", "NAME",
}  # fmt: skip


def commands(group: click.Group = program) -> list[tuple[str, click.Command]]:
    context = click.Context(group)
    found = [(name, command) for name in group.list_commands(context) if (command := group.get_command(context, name))]
    groups = [command for _, command in found if isinstance(command, click.Group)]
    inner = [each for command in groups for each in commands(command)]
    return [*((name, command) for name, command in found if command not in groups), *inner]


def test_every_parameter_that_takes_text_says_whether_it_names_a_file() -> None:
    """Inputs are protected only if they are declared: with `type=FileToRead()`, `ColumnToRead()` or `FileToWrite()`."""
    undeclared = set()
    for command, parameter in ((name, each) for name, of in commands() for each in of.params):
        name = max(parameter.opts, key=len) if isinstance(parameter, click.Option) else str(parameter.metavar)
        takes_text = isinstance(parameter.type, click.types.StringParamType) and "|" not in str(parameter.metavar)
        if takes_text and not isinstance(parameter.type, FileType) and not {name, f"{name} of {command}"} & NOT_FILES:
            undeclared.add(f"{name} of {command}")
    assert undeclared == set()


def test_every_command_checks_the_files_that_its_parameters_name() -> None:
    assert all(isinstance(command, Command) for _, command in commands())


# Where something is written, besides the places through which everything else is written.
WRITERS = {
    "output/files.py": "files, completely or not at all",
    "output/appended_file.py": "a file that only grows, chunk by chunk",
    "grounding/judges/journal.py": "a verdict file, through output/appended_file.py",
    "grounding/judges/asking.py": "a journal",
    "grounding/judges/plans.py": "a journal",
    "cli/terminal.py": "standard output and standard error, harmless on a terminal and in a log",
    "cli/parser.py": "the text of --help, which cli/terminal.py prints",
    "output/progress.py": "the sequence that removes an interrupted progress bar",
    "comparison/gate/github.py": "GitHub's step summary, which other steps append to as well",
    "components/pipeline.py": "a file that the caller has opened",
    "engines/spark/stored.py": "a new folder, in any file system of Spark; its description comes last",
    "reading/bytes/temporary_parts.py": "a temporary file without a name",
    "documents/attachments.py": "a file, with the errors of Haystack's ByteStream.to_file",
}


def test_files_and_standard_streams_are_written_in_one_place() -> None:
    """What is written elsewhere could destroy a file if it is interrupted, or control a terminal."""
    assert_none(
        f"{place(path, node)}: {ast.unparse(node)}"
        for path, node in nodes()
        if isinstance(node, ast.Call) and writes(node) and place(path) not in WRITERS
    )


def writes(call: ast.Call) -> bool:
    """Whether a call writes into a file or a stream, judging by its name and, if it opens a file, by the mode."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name == "write_text":
        return not isinstance(call.func, ast.Name)  # Path.write_text, not the function
    if name == "open":
        text = ast.unparse(call)
        return "devnull" not in text and bool(re.search(r"""['"][rbt]*[wax+]""", text))
    return name in ("write", "writelines", "write_bytes", "mkstemp")


def test_words_of_commands_are_quoted_in_one_place() -> None:
    """Elsewhere, they would get the quotes of one system on all of them."""
    assert_none(
        place(path, node)
        for path, node in nodes()
        if isinstance(node, ast.Import)
        and "shlex" in {name.name for name in node.names}
        and place(path) != "errors/command_lines.py"
    )


# Texts of errors are for people: what code decides on is in the place, the parts or the type of an error.
READING_TEXT = {"startswith", "endswith", "partition", "rpartition", "split", "removeprefix", "removesuffix", "replace",
                "find", "index", "count", "match", "search", "fullmatch", "sub", "splitlines"}  # fmt: skip


def is_text_of_error(node: ast.AST) -> bool:
    """Whether an expression is `error.what` or `error.hint`, perhaps with a default, or the text of its place."""
    if isinstance(node, ast.BoolOp):
        return any(map(is_text_of_error, node.values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
        return any(isinstance(each, ast.Attribute) and each.attr == "place" for each in node.args)
    return isinstance(node, ast.Attribute) and node.attr in ("what", "hint")


def test_the_text_of_an_error_is_never_parsed_or_compared() -> None:
    found = []
    for path, node in nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READING_TEXT:
            texts: list[ast.AST] = [node.func.value, *node.args]
        elif isinstance(node, ast.Compare):
            texts = [node.left, *node.comparators]
        elif isinstance(node, ast.Subscript):
            texts = [node.value]
        else:
            continue
        found += [place(path, node) for text in texts if is_text_of_error(text)]
    assert_none(found)


def test_a_condition_is_not_a_statement() -> None:
    assert_none(
        place(path, node) for path, node in nodes() if isinstance(node, ast.Expr) and isinstance(node.value, ast.BoolOp)
    )
