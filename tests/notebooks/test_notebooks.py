"""The notebooks in examples/ run without a network, and show what is stored in them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from base64 import b64decode, b64encode
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from paste_outputs import ROOT
from run_notebooks import NOTEBOOKS, PICTURE, as_text, canonical, error, executed, problems

from tests.end_to_end.test_readme import headings

OFFLINE = Path(__file__).parent / "offline"
NO_NETWORK = ["unshare", "--map-root-user", "--net"]  # Linux: no process gets out, whatever it is written in
OF_THE_MACHINE = (
    r"/(home|root|tmp|Users|usr|var)/|\b[A-Z]:\\|site-packages|\b0x[0-9a-f]{6,}|\b20\d\d-\d\d-\d\d\b|\d\d:\d\d"
)

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture
def offline(tmp_path: Path) -> dict[str, str]:
    """Environment variables with which Python processes have no network."""
    return {"PYTHONPATH": str(OFFLINE), "NETWORK_LOG": str(tmp_path / "network.log")}


def read(path: Path) -> NotebookNode:
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def html(path: Path) -> str:
    """All tables and pictures that a notebook shows."""
    outputs = [output for cell in read(path).cells for output in cell.get("outputs", ())]
    return "\n".join(output.data.get("text/html", "") for output in outputs if "data" in output)


def test_notebooks_run_without_a_network_and_show_what_is_stored(offline: dict[str, str]) -> None:
    script = [sys.executable, str(ROOT / "scripts" / "run_notebooks.py"), "--check"]
    can_unshare = sys.platform == "linux" and subprocess.run([*NO_NETWORK, "true"], capture_output=True).returncode == 0
    command = [*NO_NETWORK, *script] if can_unshare else script
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **offline})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not Path(offline["NETWORK_LOG"]).exists(), "something tried to use the network"


def test_a_notebook_that_needs_the_network_is_noticed(offline: dict[str, str], tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=1)")
    path = written(tmp_path, nbformat.v4.new_notebook(cells=[cell]))
    now = executed(path, offline)
    assert (
        error(path, now) == "n.ipynb, cell 1 (In [1]): OSError: there is no network here: socket.getaddrinfo 192.0.2.1"
    )
    assert Path(offline["NETWORK_LOG"]).read_text("utf-8") == "socket.getaddrinfo 192.0.2.1\n"


def test_the_readme_leads_to_the_first_of_four_notebooks_and_each_to_the_next() -> None:
    names = [path.name for path in NOTEBOOKS]
    assert [name[:2] for name in names] == ["1-", "2-", "3-", "4-"]
    assert f"](examples/{names[0]})" in (ROOT / "README.md").read_text("utf-8")
    for path, following in pairwise(NOTEBOOKS):
        assert f"]({following.name})" in read(path).cells[-1].source


@each_notebook
def test_a_notebook_is_short_and_ends_with_links_to_the_documentation(path: Path) -> None:
    cells = read(path).cells
    assert 8 <= len(cells) <= 15
    assert cells[0].source.startswith(f"# {path.name[0]}. ")
    assert "](../docs/" in cells[-1].source


@each_notebook
def test_links_of_a_notebook_lead_to_files_and_headings_that_exist(path: Path) -> None:
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    for target in re.findall(r"\]\(([^):]+)\)", text):
        file, _, heading = target.partition("#")
        linked = path.parent / file
        assert linked.is_file(), target
        assert not heading or heading in headings(linked), target


@each_notebook
def test_a_notebook_has_pictures_that_need_neither_scripts_nor_a_network(path: Path) -> None:
    shown = html(path)
    pictures = PICTURE.findall(shown)
    assert pictures
    for picture in pictures:
        urls = re.findall(r'\bhttps?://[^"\s]+', b64decode(picture).decode())
        assert set(urls) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names, not places
    rest = PICTURE.sub("", shown)
    assert not re.search(r"<(script|link|iframe|object|style)\b|\bsrc=|\bhref=|://", rest)


@each_notebook
def test_a_notebook_shows_no_errors_or_warnings_and_nothing_of_the_machine(path: Path) -> None:
    outputs = [output for cell in read(path).cells for output in cell.get("outputs", ())]
    assert {(output.output_type, output.get("name")) for output in outputs} <= {
        ("stream", "stdout"),
        ("display_data", None),
        ("execute_result", None),
    }
    for text in (PICTURE.sub("", str(dict(output))) for output in outputs):
        assert not re.search(OF_THE_MACHINE, text)
        assert str(ROOT) not in text


@each_notebook
def test_a_notebook_imports_only_karat_and_the_standard_library(path: Path) -> None:
    code = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code")
    tree = ast.parse(re.sub(r"^!.*$", "", code, flags=re.MULTILINE))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= {"karat", *sys.stdlib_module_names}


def notebook_with(*outputs: NotebookNode, **metadata: object) -> NotebookNode:
    """A notebook with one cell, `gold()`, that shows these outputs."""
    cell = nbformat.v4.new_code_cell("gold()", id="gold", outputs=list(outputs), metadata=metadata, execution_count=7)
    return canonical(nbformat.v4.new_notebook(cells=[cell], metadata=metadata))


def shows(text: str, name: str = "stdout") -> NotebookNode:
    output: NotebookNode = nbformat.v4.new_output("stream", name=name, text=text)
    return output


def displays(html: str, text: str = "a text") -> NotebookNode:
    output: NotebookNode = nbformat.v4.new_output("display_data", {"text/html": html, "text/plain": text})
    return output


def image(content: str, description: str = "A chart.") -> NotebookNode:
    data = b64encode(content.encode()).decode()
    return displays(f'<img alt="{description}" src="data:image/svg+xml;base64,{data}">')


def written(folder: Path, notebook: NotebookNode) -> Path:
    path = folder / "n.ipynb"
    path.write_text(as_text(notebook), "utf-8")
    return path


def test_an_output_that_is_out_of_date_is_reported_with_its_notebook_and_cell(tmp_path: Path) -> None:
    path = written(tmp_path, notebook_with(shows("Au 1064 °C\n")))
    assert problems(path, notebook_with(shows("Au 1064 °C\n"))) == []
    assert problems(path, notebook_with(shows("Au 1065 °C\n"))) == [
        "n.ipynb, cell 1 (In [1]): the output is not the one that is stored",
        "    stored: 'stdout: Au 1064 °C\\n'",
        "    now:    'stdout: Au 1065 °C\\n'",
    ]
    assert problems(path, notebook_with())[2:] == ["    now:    ''"]


def test_a_picture_may_be_drawn_with_other_fonts_but_must_be_there_and_show_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, notebook_with(image("<svg >one</svg>")))
    assert problems(path, notebook_with(image("<svg >other</svg>"))) == []
    assert problems(path, notebook_with(image("")))[2].endswith("""alt="A chart." src="no picture">'""")
    assert len(problems(path, notebook_with(image("<svg >one</svg>", "Another chart.")))) == 3


def test_a_notebook_that_another_program_has_written_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, now := notebook_with(shows("gold\n")))
    path.write_text(path.read_text("utf-8").replace('"metadata": {}', '"metadata": {"scrolled": true}'), "utf-8")
    assert problems(path, now) == ["n.ipynb: not in the form in which notebooks are stored"]


def test_what_depends_on_the_machine_or_on_chance_is_not_stored() -> None:
    times = {
        "execution": {"iopub.execute_input": "2026-01-01T10:00:00Z"},
        "language_info": {"name": "python", "version": "3.14.1"},
    }
    bar = displays("", "")  # a progress bar that was removed
    stored = as_text(notebook_with(shows("a\r\n"), bar, shows("b\n"), displays("<b>c</b>"), **times))
    assert stored == as_text(notebook_with(shows("a\nb\n"), displays("<b>c</b>", "another text")))
    assert '"id": "gold"' in stored


def test_only_the_first_exception_is_reported(tmp_path: Path) -> None:
    raised = [nbformat.v4.new_output("error", ename="KaratError", evalue=text, traceback=[]) for text in ("one", "two")]
    path = written(tmp_path, now := notebook_with(*raised))
    assert problems(path, now) == ["n.ipynb, cell 1 (In [1]): KaratError: one"]
