"""Install the real peers for the parity tests: pytrec-eval-terrier, ir-measures and cwl-eval.

    .venv/bin/python tests/parity/install_peers.py

pip installs all three if there is a wheel of pytrec-eval-terrier for this machine, on the package index or in
../shared/peers. The index has none for Linux on ARM, and the source package downloads trec_eval's code while it
builds. In that case the x86-64 wheel and an x86-64 Python are unpacked under .peers/, without touching the system, and
run in qemu. If that fails too, one line names the tests that will be skipped, and all other tests still run.
"""

import importlib.metadata
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
EMULATED = REPOSITORY / ".peers" / "x86_64"
LOCAL_WHEELS = REPOSITORY.parent / "shared" / "peers"
"""Wheels that the package index lacks; the folder need not exist."""
SERVICE = Path(__file__).with_name("trec_eval_service.py")
QEMU = "qemu-x86_64-static"

TREC_EVAL = "pytrec-eval-terrier>=0.5.6,<0.6"
PURE_PYTHON = ("ir-measures>=0.4.3,<0.5", "cwl-eval>=1.0.12,<2")


def main() -> None:
    if not has("pytrec-eval-terrier") and (LOCAL_WHEELS.exists() or not EMULATED.exists()):
        provide_trec_eval()
    missing = [requirement for requirement in PURE_PYTHON if not has(requirement.split(">")[0])]
    if missing:
        # --no-deps: ir-measures depends on pytrec-eval-terrier, but its ERR only needs perl.
        attempt("ERR and RBP", lambda: pip("install", "--no-deps", *missing))


def has(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def provide_trec_eval() -> None:
    name = TREC_EVAL.split(">")[0]
    local = [f"--find-links={LOCAL_WHEELS}"] if LOCAL_WHEELS.exists() else []
    try:
        pip("install", f"--only-binary={name}", *local, TREC_EVAL)
    except subprocess.CalledProcessError as no_wheel:
        if EMULATED.exists():
            return
        if platform.system() != "Linux" or platform.machine() not in ("aarch64", "arm64"):
            skipped("trec_eval", last_line(no_wheel))
        elif missing := [tool for tool in ("apt-get", "dpkg-deb") if not shutil.which(tool)]:
            skipped(
                "trec_eval", f"no wheel for this machine, and no {' and '.join(missing)} to prepare an emulated one"
            )
        else:
            attempt("trec_eval", prepare_emulated)


def attempt(what: str, install: Callable[[], None]) -> None:
    try:
        install()
    except Exception as failure:  # the other tests must run in any case
        skipped(what, last_line(failure))


def skipped(what: str, why: str) -> None:
    print(f"install_peers: the parity tests of {what} will be skipped: {why}", file=sys.stderr)


def last_line(failure: Exception) -> str:
    output = (failure.stderr or failure.stdout or "") if isinstance(failure, subprocess.CalledProcessError) else ""
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith(("WARNING", "W:"))]
    return lines[-1].strip() if lines else str(failure) or repr(failure)


def prepare_emulated() -> None:
    """Prepare a temporary folder, try it, then rename it, so that a folder under .peers/ is always complete."""
    EMULATED.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=EMULATED.parent, prefix="making-") as folder:
        making = Path(folder) / EMULATED.name
        root = making / "root"
        root.mkdir(parents=True)
        for package in download_debian_packages(Path(folder) / "apt"):
            command("dpkg-deb", "--extract", str(package), str(root))
        link_loader(root)
        wheel_of_trec_eval(root, making / "site", Path(folder) / "wheel")
        command(*emulated_command(making), given="")  # a trial run, which also fills Python's bytecode cache
        try:
            making.rename(EMULATED)
        except OSError:
            if not EMULATED.exists():  # otherwise another process was faster
                raise


def trec_eval_command() -> list[str] | None:
    """The command that starts trec_eval_service.py, natively if possible; None if nothing is installed."""
    if has("pytrec-eval-terrier"):
        return [sys.executable, str(SERVICE), "--fork"]
    return emulated_command(EMULATED) if EMULATED.exists() else None


def emulated_command(folder: Path) -> list[str]:
    """The command that starts trec_eval_service.py in the x86-64 Python of a folder."""
    root = folder / "root"
    libraries = f"{root}/lib/x86_64-linux-gnu:{root}/usr/lib/x86_64-linux-gnu"
    python = next((root / "usr/bin").glob("python3.*[0-9]"))
    qemu = shutil.which(QEMU) or str(root / "usr/bin" / QEMU)
    inside = ["-E", f"LD_LIBRARY_PATH={libraries}", "-E", f"PYTHONPATH={folder / 'site'}"]
    # Without its bytecode cache the emulated Python takes ten seconds to start instead of two.
    outside = ["-U", "PYTHONHOME", "-U", "PYTHONDONTWRITEBYTECODE", "-U", "PYTHONPYCACHEPREFIX"]
    return [qemu, "-L", str(root), *inside, *outside, str(python), "-S", str(SERVICE)]


def download_debian_packages(folder: Path) -> list[Path]:
    """Download an x86-64 Python and its dependencies, with a separate apt state, and qemu if it is not installed."""
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
    """Replace Debian's link to the loader: it is absolute, which points outside of our root."""
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
