"""Create the environment of the benchmark: karat from this folder, and the peers that exist for this platform.

    python3 benchmarks/install.py .venv-bench

Running it again updates the environment. A peer without a build for this platform is reported and left out; its rows
in the results say so. Wheels in ../shared/peers are used if that folder exists.
"""

import subprocess
import sys
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
LOCAL_WHEELS = REPOSITORY.parent / "shared" / "peers"
PEERS = {
    "ranx": ["ranx>=0.3.21,<0.4"],
    "haystack-ai": ["haystack-ai>=3.1,<4"],
    "rapidfuzz": ["rapidfuzz>=3.9,<4"],
    # Not a peer: it opens reports in a browser.
    "playwright": ["playwright>=1.50,<2"],
    "rouge-score": ["rouge-score>=0.1.2,<0.2"],
    # Only wheels: the source package downloads trec_eval's code while it builds.
    "pytrec-eval-terrier": ["--only-binary=pytrec-eval-terrier", "pytrec-eval-terrier>=0.5.6,<0.6"],
    "ir-measures": ["--only-binary=pytrec-eval-terrier", "ir-measures>=0.4.3,<0.5"],
}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / ".venv-bench")
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True, clear=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if LOCAL_WHEELS.exists():
        pip.append(f"--find-links={LOCAL_WHEELS}")
    subprocess.run([*pip, "--editable", f"{REPOSITORY}[chunks,llm,static,report]"], check=True)
    for peer, requirement in PEERS.items():
        done = subprocess.run([*pip, *requirement], stderr=subprocess.PIPE, text=True)
        if "No matching distribution" in done.stderr or "ResolutionImpossible" in done.stderr:
            print(f"{peer}: no build for this platform, left out of the benchmark", file=sys.stderr)
        elif done.returncode:
            sys.exit(f"{peer} could not be installed:\n{done.stderr}")


if __name__ == "__main__":
    main()
