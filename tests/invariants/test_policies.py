"""What the code base promises about itself: import directions, a light start, typed and documented public names."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import karat

SOURCE = Path(karat.__file__).parent

# The path: each layer knows those before it. What stands right of the core never stands left of it.
LAYERS = {
    "names": {"errors"},
    "parameters": {"errors", "names"},
    "inputs": {"errors"},
    "measure": {"errors", "names", "parameters", "registry"},
    "registry": {"errors", "measure", "names", "parameters"},
    "judged": set(),
    "spans": {"judged"},
    "measures": {"answers", "errors", "measure", "names", "parameters", "registry", "judged", "measures", "spans"},
    "document": {"errors", "names"},
    "arrays": {"judged"},
    "hashing": {"arrays", "judged", "sources"},
    "normalization": {"errors", "names"},
    "key": {"document", "normalization"},
    "sources": {"arrays", "errors", "key", "names", "document", "hashing", "inputs", "judged", "sources",
                "spans"},
    "matching": {"arrays", "document", "errors", "hashing", "judged", "key", "names", "normalization", "parameters",
                 "sources", "words"},
    "ties": {"arrays", "judged", "options", "sources"},
    "ranking": {"arrays", "document", "errors", "hashing", "judged", "options", "sources", "ties", "matching"},
    "words": set(),
    "progress": set(),
    "answers": {"errors", "inputs", "judged", "measure", "normalization", "parameters", "progress", "registry",
                "words"},
    "stats": {"judged"},
    "combining": {"judged", "measure", "measures"},
    "intervals": {"combining", "judged", "measure", "stats"},
    "tables": {"errors"},
}  # fmt: skip
CORE = set(
    "answers arrays bounds changes combining comparison document errors evaluation evidence explain"
    " exports files findings gating hashing inputs intervals judged key matching measure measures names normalization"
    " options parameters progress ranking registry scores slices sources spans stats summary tables testing ties"
    " words".split()
)


LAYERS |= {"pooled": CORE, "components": CORE, "integrations": CORE | {"components"}}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """The parts of karat that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "karat":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("karat.")}
    return found


def part(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_path(path: Path) -> None:
    allowed = LAYERS.get(part(path))
    if allowed is not None:
        assert imports(path) <= allowed | {part(path)}
    elif part(path) in CORE:
        assert imports(path) <= CORE


def test_importing_karat_loads_nothing_heavy() -> None:
    code = "import sys, karat; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    for heavy in ("numpy", "pyarrow", "scipy", "rich", "typer", "pandas"):
        assert f"'{heavy}'" not in loaded


def test_evaluating_mappings_and_lists_loads_numpy_alone() -> None:
    code = "import sys, karat; karat.evaluate({'q': ['a']}, {'q': ['a']}, 'R'); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "'numpy'" in loaded
    for heavy in ("pyarrow", "scipy", "rich", "typer", "pandas", "rapidfuzz"):
        assert f"'{heavy}'" not in loaded


def test_asking_for_help_loads_no_numbers_and_no_tables() -> None:
    code = "import sys; sys.argv = ['karat', '--help']\nimport atexit\n" \
        "atexit.register(lambda: print(sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr))\n" \
        "from karat.cli import main; main()"  # fmt: skip
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stderr
    for heavy in ("numpy", "pyarrow", "scipy", "rich"):
        assert f"'{heavy}'" not in loaded


def test_scipy_is_only_used_inside_stats() -> None:
    for path in modules():
        if part(path) != "stats":
            assert "scipy" not in path.read_text("utf-8"), path


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_has_one_subject(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 350
    assert path.stem not in {"utils", "helpers", "common", "misc", "base"}
    assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), "a module says what it is for"


def test_the_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "py.typed").is_file()
