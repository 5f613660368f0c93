"""Make the real peers available to the parity tests: pytrec-eval-terrier, ir-measures and cwl-eval.

    .venv/bin/python tests/parity/install_peers.py

Where the package index has a wheel of pytrec-eval-terrier for this machine, pip installs all three. Linux on ARM
has none, and the source package fetches trec_eval's code while it builds. There the x86-64 wheel is prepared
under .peers/ with an x86-64 Python to run it in, both unpacked without touching the system, and qemu runs them.
Where that fails too, one line says what the tests will skip: they must still run.
"""

import importlib.metadata
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

EMULATED = Path(__file__).resolve().parents[2] / ".peers" / "x86_64"
QEMU = "qemu-x86_64-static"

TREC_EVAL = "pytrec-eval-terrier>=0.5.7,<0.6"
PURE_PYTHON = ("ir-measures>=0.4.3,<0.5", "cwl-eval>=1.0.12,<2")


def main() -> None:
    if not has("pytrec-eval-terrier") and not EMULATED.exists():
        provide_trec_eval()
    missing = [requirement for requirement in PURE_PYTHON if not has(requirement.split(">")[0])]
    if missing:
        # ir-measures asks for pytrec-eval-terrier, but its ERR needs perl only; cwl-eval needs numpy, as karat.
        attempt("ERR and RBP", lambda: pip("install", "--no-deps", *missing))


def has(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def provide_trec_eval() -> None:
    name = TREC_EVAL.split(">")[0]
    try:
        pip("install", f"--only-binary={name}", TREC_EVAL)
    except subprocess.CalledProcessError as no_wheel:
        if platform.system() != "Linux" or platform.machine() not in ("aarch64", "arm64"):
            skipped("trec_eval", last_line(no_wheel))
        elif missing := [tool for tool in ("apt-get", "dpkg-deb") if not shutil.which(tool)]:
            skipped("trec_eval", f"no wheel for this machine, and no {' and '.join(missing)} to emulate one")
        else:
            attempt("trec_eval", prepare_emulated)


def attempt(what: str, install: Callable[[], None]) -> None:
    try:
        install()
    except Exception as failure:  # whatever it is, the other tests must run
        skipped(what, last_line(failure))


def skipped(what: str, why: str) -> None:
    print(f"install_peers: the parity tests of {what} will be skipped: {why}", file=sys.stderr)


def last_line(failure: Exception) -> str:
    said = (failure.stderr or failure.stdout or "") if isinstance(failure, subprocess.CalledProcessError) else ""
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith(("WARNING", "W:"))]
    return lines[-1].strip() if lines else str(failure) or repr(failure)


def prepare_emulated() -> None:
    """Build aside, try it, then rename, so that what stands under .peers/ is whole."""
    EMULATED.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=EMULATED.parent, prefix="making-") as folder:
        making = Path(folder) / EMULATED.name
        root = making / "root"
        root.mkdir(parents=True)
        for package in download_debian_packages(Path(folder) / "apt"):
            command("dpkg-deb", "--extract", str(package), str(root))
        link_loader(root)
        wheel_of_trec_eval(root, making / "site", Path(folder) / "wheel")
        command(*emulated_command(making), given="")  # a trial; it also fills Python's cache for later starts
        try:
            making.rename(EMULATED)
        except OSError:
            if not EMULATED.exists():  # else another process was faster
                raise


def emulated_command(folder: Path) -> list[str]:
    """The command that runs emulated_trec_eval.py in the x86-64 Python of that folder."""
    root = folder / "root"
    libraries = f"{root}/lib/x86_64-linux-gnu:{root}/usr/lib/x86_64-linux-gnu"
    python = next((root / "usr/bin").glob("python3.*[0-9]"))
    qemu = shutil.which(QEMU) or str(root / "usr/bin" / QEMU)
    script = Path(__file__).with_name("emulated_trec_eval.py")
    inside = ["-E", f"LD_LIBRARY_PATH={libraries}", "-E", f"PYTHONPATH={folder / 'site'}"]
    # Without its bytecode cache the emulated Python takes ten seconds to start instead of two.
    outside = ["-U", "PYTHONHOME", "-U", "PYTHONDONTWRITEBYTECODE", "-U", "PYTHONPYCACHEPREFIX"]
    return [qemu, "-L", str(root), *inside, *outside, str(python), "-S", str(script)]


def download_debian_packages(folder: Path) -> list[Path]:
    """An x86-64 Python with all that it needs, through an apt state of our own; and qemu where it is missing."""
    native = command("dpkg", "--print-architecture").strip()
    architectures = "amd64" if shutil.which(QEMU) else f"amd64,{native}"
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    apt = [
        "apt-get", "--quiet", "--option", "APT::Architecture=amd64",
        "--option", f"APT::Architectures={architectures}",
        "--option", f"Dir::State={folder}",
        "--option", f"Dir::State::lists={folder}/lists",
        "--option", f"Dir::State::status={folder}/status",
        "--option", f"Dir::Cache={folder}/cache",
        "--option", "APT::Sandbox::User=",
        "--option", "APT::Update::Error-Mode=any",
    ]  # fmt: skip
    command(*apt, "update")
    command(*apt, "install", "--yes", "--download-only", "--no-install-recommends", "python3", "libstdc++6")
    packages = list((folder / "cache/archives").glob("*.deb"))
    if not shutil.which(QEMU):
        command(*apt, "download", f"qemu-user-static:{native}", cwd=folder)
        packages += folder.glob("qemu-user-static_*.deb")
    return packages


def link_loader(root: Path) -> None:
    """Debian links the loader by an absolute path, which leads out of our root."""
    loader = next(path for path in root.glob("**/ld-linux-x86-64.so.2") if not path.is_symlink())
    link = root / "lib64" / loader.name
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(Path("..") / loader.relative_to(root))


def wheel_of_trec_eval(root: Path, site: Path, folder: Path) -> None:
    version = next((root / "usr/bin").glob("python3.*[0-9]")).name.removeprefix("python")
    platforms = [f"--platform=manylinux_2_{glibc}_x86_64" for glibc in (17, 24, 28)]
    wanted = ("--only-binary=:all:", *platforms, "--python-version", version, "--no-deps")
    pip("download", "--dest", str(folder), *wanted, TREC_EVAL)
    shutil.unpack_archive(next(folder.glob("*.whl")), site, format="zip")


def pip(*arguments: str) -> None:
    command(sys.executable, "-m", "pip", "--disable-pip-version-check", arguments[0], "--quiet", *arguments[1:])


def command(*words: str, given: str | None = None, cwd: Path | None = None) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, input=given, cwd=cwd).stdout


if __name__ == "__main__":
    main()
