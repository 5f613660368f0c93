#!/usr/bin/env python3
"""Build karat as it is published, install it in a new environment, and run it there, far from the source code.

The tests use an editable installation, which works even if a file is missing from the package. So this script checks

* that the wheel, which is built from the source distribution, contains exactly the files of ``src/karat``;
* that karat, installed from the wheel with nothing but its dependencies, can be imported, knows its version, runs the
  demo, and evaluates files;
* that it writes the report of the demo as soon as the extra ``report`` is installed.

Usage::

    python scripts/check_wheel.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

HOME = Path(__file__).parents[1]
# The first folder of the source distribution is named after the release.
IN_SDIST = ("src/karat/", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore")
IN_DIST_INFO = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        builder, user = folder / "builder", folder / "user"
        for environment in (builder, user):
            venv.create(environment, with_pip=True)
        run(folder, builder / "bin/python", "-m", "pip", "install", "--quiet", "build")
        run(folder, builder / "bin/python", "-m", "build", "--outdir", folder / "dist", HOME)
        (sdist,) = (folder / "dist").glob("*.tar.gz")
        (wheel,) = (folder / "dist").glob("*.whl")
        check_contents(sdist, wheel)
        run(folder, user / "bin/python", "-m", "pip", "install", "--quiet", wheel)
        check_installation(folder, user, wheel.name.split("-")[1])
        run(folder, user / "bin/python", "-m", "pip", "install", "--quiet", f"{wheel}[report]")
        check_report(folder, user)
    print("the wheel contains every file of the package, and runs in a new environment")


def check_contents(sdist: Path, wheel: Path) -> None:
    """Compare the files of the distributions with those of the repository."""
    with tarfile.open(sdist) as files:
        unexpected = {name.split("/", 1)[1] for name in files.getnames()}
    unexpected = {name for name in unexpected if not name.startswith(IN_SDIST)}
    expect(not unexpected, f"{sdist.name} also contains {sorted(unexpected)}")
    package = HOME / "src/karat"
    expected = {str(path.relative_to(HOME / "src")) for path in package.rglob("*") if path.is_file()}
    expected = {name for name in expected if "__pycache__" not in name}
    names = set(zipfile.ZipFile(wheel).namelist())
    metadata = {name for name in names if ".dist-info/" in name}
    expect(names - metadata == expected, f"files that differ: {sorted((names - metadata) ^ expected)}")
    also = {name.split("/", 1)[1] for name in metadata} ^ IN_DIST_INFO
    expect(not also, f"metadata that differs: {sorted(also)}")


def check_installation(folder: Path, environment: Path, version: str) -> None:
    """Use karat from a folder that has nothing to do with its source code."""
    python, karat = environment / "bin/python", environment / "bin/karat"
    place = run(folder, python, "-W", "error", "-c", "import karat; print(karat.__file__, karat.__version__)")
    expect(place.startswith(str(environment.resolve())) and place.split()[-1] == version, f"imported {place}")
    expect(run(folder, karat, "--version") == f"karat {version}\n", "karat --version shows another version")
    printed = run(folder, karat, "demo")
    expect("bm25-rm3 is significantly better than bm25" in printed, "the demo is not complete")
    expect('pip install "karat-eval[report]"' in printed, "the demo does not say how to get its report")
    data = Path(place.split()[0]).parent / "cli" / "demo_data"
    scores = run(folder, python, "-m", "karat", "evaluate", data / "truth.qrels", data / "runs/bm25.trec", "-m", "AP")
    expect("bm25" in scores, f"karat evaluate printed {scores}")
    run(folder, python, "-m", "pip", "check")


def check_report(folder: Path, environment: Path) -> None:
    """Write the page of the demo, whose styles, scripts and template are files of the package."""
    page = folder / "karat-demo.html"
    expect(str(page.resolve()) in run(folder, environment / "bin/karat", "demo"), "the demo does not name its report")
    text = page.read_text("utf-8")
    expect(text.startswith("<!doctype html>") and "vegaEmbed" in text, "the report of the demo is not complete")


def run(folder: Path, *words: str | Path) -> str:
    """The output of a command, whose errors are shown; without the variables that would lead Python to the source."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, words)), cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    expect(done.returncode == 0, f"{' '.join(map(str, words))} failed:\n{done.stdout}")
    return done.stdout


def expect(condition: bool, problem: str) -> None:
    if not condition:
        sys.exit(f"check_wheel: {problem}")


if __name__ == "__main__":
    main()
