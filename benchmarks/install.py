"""Set up the environment of the benchmark: karat as it stands here, and the peers that this platform has.

    python3 benchmarks/install.py .venv-bench

Run again, it brings the environment up to date. A peer without a build for this platform is named and left out;
run.py says so in its row.
"""

import subprocess
import sys
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PEERS = {
    "ranx": ["ranx>=0.3.21,<0.4"],
    "haystack-ai": ["haystack-ai>=3.1,<4"],
    "rapidfuzz": ["rapidfuzz>=3.9,<4"],
    "rouge-score": ["rouge-score>=0.1.2,<0.2"],
    # Its source package fetches trec_eval's code while it builds: a wheel, or nothing.
    "pytrec-eval-terrier": ["--only-binary=pytrec-eval-terrier", "pytrec-eval-terrier>=0.5.7,<0.6"],
    "ir-measures": ["--only-binary=pytrec-eval-terrier", "ir-measures>=0.4.3,<0.5"],
}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / ".venv-bench")
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True, clear=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--editable", f"{REPOSITORY}[chunks,static]"], check=True)
    for peer, requirement in PEERS.items():
        done = subprocess.run([*pip, *requirement], stderr=subprocess.PIPE, text=True)
        if "No matching distribution" in done.stderr or "ResolutionImpossible" in done.stderr:
            print(f"{peer}: no build for this platform, left out of the benchmark", file=sys.stderr)
        elif done.returncode:
            sys.exit(f"{peer} could not be installed:\n{done.stderr}")


if __name__ == "__main__":
    main()
