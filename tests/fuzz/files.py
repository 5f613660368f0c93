"""Damaged files, read by the commands in this process."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from random import Random
from unittest.mock import patch

from karat.compat.trec_eval import MissingQueryError
from tests.block_size import block_size
from tests.end_to_end.in_process import run_here
from tests.fuzz.base_files import INPUTS, Input, files_in, write_base_files
from tests.fuzz.failure import Failure, told, wrong_exception
from tests.fuzz.mutations import TOKENS, damaged

_OPTIONS = (
    "--format json", "--format csv", "--format jsonl", "--format latex", "--format markdown", "--format tsv",
    "--per-query", "--ci", "--bounds", "--explain q1", "--digits 2", "--sort AP", "-m map", "-m P_5,10 -m ndcg_cut",
    "-m 'nDCG(gains={1:3})@5'",
    "--names asked", "--by relevant", "--missing skip", "--ties worst", "--ties input", "--duplicates first", "--rel 2",
    "--ignore-identical-ids", "--match prefix", "--match 'overlap(threshold=0.5)'", "--field query=id",
    "--test wilcoxon",
    "--test t", "--test tukey --permutations 50", "--test bootstrap", "--common-queries", "--force", "--detect 0.1",
    "--lower-is-better latency", "--baseline other", "--significant --level 0.9", "--query q1", "-n 0", "--losses",
    "-q", "-c", "-n", "-J", "-M 1", "-l 0", "-m set", "-m official", "-m P.3,x", "-m iprec_at_recall.0.5",
    "--trec-eval 9",
    "--safe-csv --format csv", "-o out.json", "-o out.csv", "-o out.parquet", "-o out.md", "--junit out.xml",
)  # fmt: skip
_OTHER_STATUS = {"check": {1}, "gate": {1}, "look": {1}, "trec": {MissingQueryError.exit_status}}
# TREC and CSV files are read in three ways: in plain Python, which is how the fuzzer reads them, and in these two.
READERS: Mapping[str, Callable[[], AbstractContextManager[object]]] = {
    "in small blocks": lambda: block_size(64),
    "in large blocks": lambda: patch("karat.reading.pairs.tables.SMALL_FILE", -1),
}
_FAILURES = Path("fuzz-failures").absolute()
prepare_files = cache(write_base_files)


def fuzz_file(random: Random, folder: Path, announce: Callable[[str], object]) -> tuple[str, Failure | None]:
    """The file that was damaged, and what went wrong with the command that read it."""
    files = prepare_files(folder)
    damage = random.choice(INPUTS)
    words = shlex.split(random.choice(damage.commands).replace("FILE", damage.read_as))
    for _ in range(random.choice((0, 0, 1, 2))):
        words += shlex.split(random.choice(_OPTIONS))
    if random.random() < 0.05:
        words[random.randrange(1, len(words))] = random.choice(TOKENS)
    content = damaged(files[damage.name], damage.kind, random)
    announce(f"karat {shlex.join(words)}, where {damage.damaged_name} is {content!r}")
    problem = _problem(folder, files, words, damage, content)
    if problem is None:
        return damage.name, None
    smaller = _shrunk(content, lambda less: (_problem(folder, files, words, damage, less) or ("",))[0] == problem[0])
    return damage.name, _failure(folder, damage, problem, words, smaller)


def _problem(
    folder: Path, files: Mapping[str, bytes], words: list[str], damage: Input, content: bytes
) -> tuple[str, str] | None:
    """A signature and an explanation of what is wrong with what the command did."""
    written = _write_damaged(folder, files, damage, content)
    for left in files_in(folder) - {*files, *written}:
        (folder / left).unlink()
    try:
        done = run_here(folder, *words)
    except Exception as error:
        wrong = wrong_exception(error) or type(error).__name__
        return f"{words[0]}: {wrong}", f"{wrong}: {told(error)}"
    created = files_in(folder) - {*files, *written}
    errors = done.stderr.splitlines()
    expected = {0, 2} | _OTHER_STATUS.get(words[0], set())
    broken = {
        "a draft was left": any(each.endswith(".part") for each in created),
        f"the exit status is {done.returncode}": done.returncode not in expected,
        "out of memory": "out of memory" in done.stderr,
        "an input was changed": any((folder / each).read_bytes() != files[each] for each in words if each in files),
    }
    if done.returncode == 2:
        broken["an error is not one line"] = len(errors) != 1 or not errors[0].startswith("karat: ")
        broken["an error is not printable"] = not done.stderr.rstrip("\n").isprintable()
        broken["an error is long"] = len(done.stderr) > 3100
        broken["a failed command wrote a file"] = bool(created)
        broken["a failed command printed something"] = bool(done.stdout)
    elif {"--format", "json"} <= {*words} and not {"--help", "csv", "jsonl", "latex", "markdown", "tsv"} & {*words}:
        broken["the output is not JSON"] = not _is_json(done.stdout) and not created
    if damage.kind in ("qrels", "trec") and not created:
        for reader, condition in READERS.items():
            with condition():
                other = run_here(folder, *words)
            # If a file has several errors, any of them may be found first.
            is_same = (other.returncode, other.stdout) == (done.returncode, done.stdout)
            broken[f"the outcome differs {reader}"] = not is_same
    found = [each for each, is_broken in broken.items() if is_broken]
    return (f"{words[0]}: {found[0]}", f"{'; '.join(found)}\n{done.stderr[:500]}") if found else None


def _write_damaged(folder: Path, files: Mapping[str, bytes], damage: Input, content: bytes) -> list[str]:
    """Write a damaged file, with the valid files of its folder beside it; the names of what was written."""
    of_folder, slash, _ = damage.name.partition("/")
    beside = {name for name in files if slash and name.startswith(f"{of_folder}/")} - {damage.name}
    contents = {damage.read_as + name.removeprefix(of_folder): files[name] for name in beside}
    contents[damage.damaged_name] = content
    for name, each in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(each)
    return list(contents)


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError):
        return False
    return True


def _shrunk(content: bytes, fails: Callable[[bytes], bool], attempts: int = 200) -> bytes:
    """A smaller content that still fails: without lines, or without pieces of them, as far as a few attempts go."""
    size = max(1, len(content) // 2)
    while size and attempts:
        start = 0
        while start < len(content) and attempts:
            attempts -= 1
            less = content[:start] + content[start + size :]
            if fails(less):
                content = less
            else:
                start += size
        size //= 2
    return content


def _failure(folder: Path, damage: Input, problem: tuple[str, str], words: list[str], content: bytes) -> Failure:
    """Save the damaged file beside the valid ones, and say how to repeat the command."""
    signature, explanation = problem
    saved = _FAILURES / re.sub(r"\W+", "-", signature).strip("-")
    saved.mkdir(parents=True, exist_ok=True)
    files = prepare_files(folder)
    for name, valid in files.items():
        (saved / name).parent.mkdir(parents=True, exist_ok=True)
        (saved / name).write_bytes(valid)
    _write_damaged(saved, files, damage, content)
    command = f"cd {shlex.quote(str(saved))} && karat {shlex.join(words)}"
    return Failure(signature, f"{explanation}\na damaged {damage.name}: {content[:200]!r}\n{command}")
