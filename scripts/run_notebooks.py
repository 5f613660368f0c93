#!/usr/bin/env python3
"""Run the notebooks in ``examples/`` and store what their cells show.

- Each notebook runs from top to bottom in an empty folder, in a kernel without settings of the user.
- A notebook is stored in one form, whatever program edited it last: cells keep their ids, and nothing is stored that
  depends on the machine or the time. A table or a picture is stored as HTML, without a text that takes its place.
- Where texts are in a picture depends on the fonts of the machine, so ``--check`` compares what a picture is said to
  show, and that it is there.

Usage::

    python scripts/run_notebooks.py            # update the notebooks
    python scripts/run_notebooks.py --check    # write nothing; exit 1 if an output is not the one that is stored
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from paste_outputs import CHANGE_OUTPUT
from traitlets.config import Config

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
PICTURE = re.compile(r'src="data:image/svg\+xml;base64,([^"]*)"')
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
SECONDS = 120  # for a cell
SHOWN = 60  # characters on each side of the place where two outputs differ


def executed(path: Path, environment: Mapping[str, str] | None = None) -> NotebookNode:
    """A notebook with the outputs of its cells as they are now; the environment is added to that of this process."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="karat-") as temporary:
        folder = Path(temporary, "work")
        folder.mkdir()
        # Windows has no sockets that are files.
        transport = "tcp" if os.name == "nt" else "ipc"
        config = Config({"KernelManager": {"transport": transport, "connection_file": f"{temporary}/kernel.json"}})
        client = NotebookClient(
            notebook, timeout=SECONDS, kernel_name="python3", allow_errors=True, record_timing=False, config=config
        )
        client.execute(cwd=str(folder), env=kernel_environment(Path(temporary), environment or {}))
    return canonical(notebook)


def kernel_environment(temporary: Path, more: Mapping[str, str]) -> dict[str, str]:
    """The environment of a kernel, in which the command karat is found and nothing changes what it prints."""
    return {
        **{name: value for name, value in os.environ.items() if name not in (*CHANGE_OUTPUT, "COLORTERM", "NO_COLOR")},
        "IPYTHONDIR": str(temporary / "ipython"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONUTF8": "1",
        "TERM": "xterm",
        "TMPDIR": str(temporary),
        **more,
    }


def canonical(notebook: NotebookNode) -> NotebookNode:
    """A notebook without anything that depends on the machine, the time, or the program that wrote it."""
    count = 0
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = list(joined(each for each in map(canonical_output, cell.outputs) if not is_empty(each)))
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = count
    return notebook


def joined(outputs: Iterable[NotebookNode]) -> Iterator[NotebookNode]:
    """The outputs, with texts of one stream that follow each other as one output: how many there are is chance."""
    last: NotebookNode | None = None
    for output in outputs:
        if last is not None and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
            continue
        if last is not None:
            yield last
        last = output
    if last is not None:
        yield last


def canonical_output(output: NotebookNode) -> NotebookNode:
    if output.output_type == "stream":
        output.text = output.text.replace("\r\n", "\n")  # a command that runs in a terminal ends lines like this
    elif "data" in output:
        output.metadata = NotebookNode()
        if output.data.get("text/html"):
            output.data.pop("text/plain", None)
    return output


def is_empty(output: NotebookNode) -> bool:
    """Whether an output shows nothing, such as a progress bar that was removed; whether there was one is chance."""
    return not any(output.data.values()) if "data" in output else output.get("text") == ""


def as_text(notebook: NotebookNode) -> str:
    """The notebook as it is written to its file."""
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook)
    return text.rstrip("\n") + "\n"


def problems(path: Path, now: NotebookNode) -> list[str]:
    """What is wrong with a stored notebook, given what its cells show now."""
    if failure := error(path, now):
        return [failure]
    stored = nbformat.read(path, as_version=4)
    lines = differences(path, stored, now)
    if not lines and path.read_text("utf-8") != as_text(canonical(stored)):
        return [f"{path.name}: not in the form in which notebooks are stored"]
    return lines


def error(path: Path, notebook: NotebookNode) -> str | None:
    """The first exception that a cell has raised; those of later cells may be its consequences."""
    for number, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                return f"{place(path, number, cell)}: {output.ename}: {output.evalue}"
    return None


def differences(path: Path, stored: NotebookNode, now: NotebookNode) -> list[str]:
    """The cells whose outputs are not those that are stored, each with the place where they differ."""
    lines = []
    for number, (old, new) in enumerate(zip(stored.cells, now.cells, strict=True), 1):
        before, after = ("\n".join(map(shown, cell.get("outputs", ()))) for cell in (old, new))
        if before != after:
            pairs = enumerate(zip(before, after, strict=False))
            at = next((at for at, (one, other) in pairs if one != other), min(len(before), len(after)))
            around = slice(max(0, at - SHOWN), at + SHOWN)
            lines.append(f"{place(path, number, new)}: the output is not the one that is stored")
            lines += [f"    stored: {before[around]!r}", f"    now:    {after[around]!r}"]
    return lines


def place(path: Path, number: int, cell: NotebookNode) -> str:
    """How a message names a cell: by its number, and by what the notebook shows beside it."""
    return f"{path.name}, cell {number} (In [{cell.execution_count}])"


def shown(output: NotebookNode) -> str:
    """An output as text: its kind and what it contains, with a word in the place of each picture."""
    if output.output_type == "stream":
        return f"{output.name}: {output.text}"
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    content = "\n".join(f"{kind}: {output.data[kind]}" for kind in sorted(output.data))
    return PICTURE.sub(lambda found: 'src="picture"' if is_picture(found[1]) else 'src="no picture"', content)


def is_picture(data: str) -> bool:
    return b64decode(data).startswith(b"<svg ")


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the notebooks in examples/ and store what their cells show.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if an output differs")
    check: bool = parser.parse_args().check
    status = 0
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for path, notebook in zip(NOTEBOOKS, threads.map(executed, NOTEBOOKS), strict=True):
            failure = error(path, notebook)
            lines = problems(path, notebook) if check else [failure] if failure else []
            if lines:
                print(*lines, sep="\n", file=sys.stderr)
                status = 1
            elif not check:
                path.write_text(as_text(notebook), "utf-8", newline="\n")
    if check and status:
        print(f"if this is as it should be, run {Path(__file__).name}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
