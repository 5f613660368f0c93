"""Compressed files are read as if they were not compressed, or are one clear error."""

from __future__ import annotations

import gzip
import io
import lzma
import re
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat import KaratError
from karat.reading.bytes import compression
from karat.reading.bytes.compression import MB
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.threads import ahead
from tests.block_size import block_size
from tests.compressions import COMPRESS

LINES = "".join(f"q{at // 10} Q0 d{at * 7919 % 10007} 1 {at} t\n" for at in range(5000)).encode()
SKIPPABLE = b"\x53\x2a\x4d\x18\x03\0\0\0abc"

Write = Callable[[bytes], str]
each = pytest.mark.parametrize("name", COMPRESS)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(data: bytes) -> str:
        (tmp_path / "file").write_bytes(data)
        return str(tmp_path / "file")

    return write


def content(path: str) -> bytes:
    return b"".join(bytes(block.data) for block in InputFile(path).blocks())


def error_in(path: str) -> KaratError:
    with pytest.raises(KaratError) as raised:
        content(path)
    assert str(raised.value.place) == path
    assert raised.value.hint
    return raised.value


@each
def test_the_content_is_the_same_in_every_way_of_reading(name: str, write: Write) -> None:
    path = write(COMPRESS[name](LINES))
    file = InputFile(path)
    assert content(path) == file.read_all() == LINES
    assert [line + b"\n" for _, line in file.lines()] == LINES.splitlines(keepends=True)
    assert file.start(50_000) == LINES[:50_000]
    assert file.first_byte() == b"q"
    assert file.lines_before(len(LINES)) == 5000
    with file.seekable() as stream:
        assert stream.seek(-10, 2) == len(LINES) - 10
        assert stream.read() == LINES[-10:]


def empty_parts(name: str, size: int) -> bytes:
    """So many bytes of parts with nothing in them."""
    part = SKIPPABLE[:4] + b"\0\0\0\0" if name in ("zstd", "lz4") else COMPRESS[name](b"")
    return part * (size // len(part))


@each
@pytest.mark.parametrize("is_first", [True, False])
def test_a_file_of_nothing_but_empty_parts_is_an_error_before_it_takes_long(
    name: str, is_first: bool, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "_READ", 16 << 10)
    monkeypatch.setattr(compression, "_OVERHEAD_CHECKED_FROM", 128 << 10)
    parts, run = empty_parts(name, 200 << 10), COMPRESS[name](b"q Q0 a 1 1 t\n")
    if is_first and name == "lz4":
        return  # such a file looks like zstd data
    error = error_in(write(parts + run if is_first else run + parts))
    assert re.fullmatch(rf"1\d\d\.\d kB of {name} data contain less than a quarter of that: .*", error.what)
    assert error.hint == "The file is damaged, or made to waste time. If it is neither, decompress it first."


@each
def test_files_of_many_parts_that_contain_something_are_read(
    name: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "_READ", 4 << 10)
    monkeypatch.setattr(compression, "_OVERHEAD_CHECKED_FROM", 8 << 10)
    compress = COMPRESS[name]
    hourly = [f"q{at} Q0 d{at * 7919} 1 {at} a-run\n".encode() * (1 + at % 7 * 10) for at in range(600)]
    with_empty = b"".join(compress(lines) + compress(b"") for lines in hourly)  # as by bgzip, which ends with one
    assert InputFile(write(with_empty)).read_all() == b"".join(hourly)
    random = Random(1).randbytes(64 << 10).replace(b"\0", b"x")  # which no compression makes smaller
    assert InputFile(write(b"".join(compress(random) for _ in range(3)))).read_all() == random * 3


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz"])
def test_padding_between_parts_may_be_long_and_cross_the_blocks_that_are_read(
    name: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "_READ", 1 << 10)
    part = COMPRESS[name](LINES[:2000])
    data = b"".join(part + bytes(length) for length in (0, 1, 5, 1023, 1024, 1025, 70_000))
    assert InputFile(write(data)).read_all() == LINES[:2000] * 7
    assert "damaged or cut short" in error_in(write(data + b"x")).what


@each
def test_any_name_is_right_and_standard_input_too(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = COMPRESS[name](b"q Q0 a 1 1 t\n")
    (tmp_path / "run.csv.gz").write_bytes(run)
    assert karat.evaluate({"q": ["a"]}, tmp_path / "run.csv.gz", "RR")["RR"] == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(run)))
    assert karat.evaluate({"q": ["a"]}, "-", "RR")["RR"] == 1


@each
def test_parts_after_each_other_are_read_to_the_end(name: str, write: Write) -> None:
    parts = [COMPRESS[name](part) for part in (LINES[:5], b"", LINES[5:70_001], LINES[70_001:], b"")]
    assert content(write(b"".join(parts))) == LINES


def test_thousands_of_short_members_are_read(write: Write) -> None:
    lines = LINES.splitlines(keepends=True)[:2000]
    assert content(write(b"".join(map(COMPRESS["gzip"], lines)))) == b"".join(lines)


def test_skippable_frames_are_skipped(write: Write) -> None:
    data = COMPRESS["zstd"](LINES)
    assert content(write(SKIPPABLE + SKIPPABLE + data + SKIPPABLE + data)) == 2 * LINES
    data = COMPRESS["lz4"](LINES)
    assert content(write(data + SKIPPABLE + data)) == 2 * LINES
    assert "the zstd data is damaged" in error_in(write(SKIPPABLE[:-1])).what
    assert "the zstd data is damaged" in error_in(write(SKIPPABLE + b"q Q0 a 1 1 t\n")).what


@each
def test_data_that_is_cut_short_is_an_error_that_names_the_compression(name: str, write: Write) -> None:
    data = COMPRESS[name](LINES)
    for cut in (8, 12, 30, len(data) // 2, len(data) - 1, len(data) + 8, len(data) + len(data) // 2):
        assert f"the {name} data is damaged or cut short" in error_in(write((data + data)[:cut])).what


@each
def test_damaged_data_is_the_right_content_or_an_error(name: str, write: Write) -> None:
    """What a change of a byte that has no meaning leaves as it was, such as the time in gzip data, is no damage."""
    data = COMPRESS[name](LINES)
    # As the programs write it, gzip, bzip2, xz and lz4 data has checksums. Arrow writes zstd and lz4 data without.
    has_checksum = name in ("gzip", "bzip2", "xz")
    random = Random(0)
    errors = 0
    for _ in range(20):
        at = random.randrange(12, len(data))
        changed = data[:at] + bytes([data[at] ^ random.randrange(1, 256)]) + data[at + 1 :]
        try:
            found = content(write(changed))
        except KaratError as error:
            errors += f"the {name} data is damaged or cut short" in error.what
        else:
            assert found == LINES or not has_checksum
    assert errors > (15 if has_checksum else 0)


@each
def test_what_comes_after_the_end_is_an_error_unless_it_is_zeros(name: str, write: Write) -> None:
    data = COMPRESS[name](LINES)
    assert f"the {name} data is damaged" in error_in(write(data + b"q Q0 a 1 1 t\n")).what
    if name in ("zstd", "lz4"):
        assert f"the {name} data is damaged" in error_in(write(data + bytes(512))).what
    else:
        assert content(write(data + bytes(100_000))) == LINES
        assert content(write(data + bytes(512) + data)) == 2 * LINES


@each
@pytest.mark.parametrize("outer", COMPRESS)
def test_files_that_are_compressed_twice_are_an_error(name: str, outer: str, write: Write) -> None:
    error = error_in(write(COMPRESS[outer](COMPRESS[name](LINES))))
    both = f" with {name}" if name == outer else f", with {name} and then with {outer}"
    assert error.what.removesuffix(", as ranx saves runs") == f"this file is compressed twice{both}"
    assert error.hint
    assert ('run.save("run.json")' in error.hint) == (name == outer == "lz4")


@each
def test_empty_content_is_an_empty_file(name: str, write: Write) -> None:
    path = write(COMPRESS[name](b""))
    assert content(path) == InputFile(path).start() == b""
    with pytest.raises(KaratError, match=r"empty|no lines|has no"):
        karat.evaluate({"q": ["a"]}, path)


@each
def test_a_bomb_is_an_error_before_it_fills_the_memory(
    name: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "_EXPANSION_CHECKED_FROM", 2 * MB)
    path = write(COMPRESS[name](b"\n" * 24 * MB))  # lz4 expands a byte to 255 at most
    tracemalloc.start()
    try:
        with (
            block_size(MB),
            pytest.raises(KaratError, match=rf"file: the {name} data expands to more than 200 times its size\."),
        ):
            sum(len(block.data) for block in InputFile(path).blocks())
        assert tracemalloc.get_traced_memory()[1] < 22 * MB
    finally:
        tracemalloc.stop()
    with pytest.raises(KaratError, match=f"the {name} data expands"):
        InputFile(path).read_all()


def test_xz_data_that_needs_too_much_memory_is_an_error(write: Write) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 29}]
    data = lzma.compress(b"", filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    # Compressing with such a dictionary would take as much memory: a header that asks for it is enough.
    with pytest.raises(KaratError, match="the xz data needs too much memory to be decompressed"):
        content(write(_header_of(filters) + data[-12:]))


def _header_of(filters: list[dict[str, int]]) -> bytes:
    compressor = lzma.LZMACompressor(filters=filters)
    return compressor.compress(b"q") + compressor.flush()


@pytest.mark.parametrize("text", [b"BZh1 0 a 1\n", b"BZh9 Q0 doc 1 1.5 t\n"])
def test_a_query_that_begins_like_bzip2_data_is_text(text: bytes, write: Write) -> None:
    assert content(write(text)) == text


@given(st.lists(st.integers(0, 6000)), st.sampled_from(sorted(COMPRESS)), st.integers(0, 20_000))
def test_any_number_of_bytes_can_be_read_at_a_time(sizes: list[int], name: str, at: int) -> None:
    packed = COMPRESS[name](LINES[:at]) + COMPRESS[name](LINES[at:20_000])
    with compression.decompressed(io.BufferedReader(io.BytesIO(packed)), "file") as stream:
        parts = [stream.read(size) for size in sizes]
        assert b"".join([*parts, stream.read()]) == LINES[:20_000]


# Decompressed ahead, in a thread


BITS = Random(0)
LONG = b"".join(b"%d Q0 %x 1 1 t\n" % (at, BITS.getrandbits(100)) for at in range(60_000))


@pytest.fixture
def no_threads_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


@pytest.mark.parametrize("name", ["gzip", "zstd"])
@pytest.mark.usefixtures("no_threads_left")
def test_long_files_are_read_whole_and_can_be_left_early(
    name: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(COMPRESS[name](LONG))
    started: list[Generator[bytes]] = []

    def spy(pieces: Generator[bytes], most: int) -> Generator[bytes]:
        started.append(pieces)
        return ahead(pieces, most)

    monkeypatch.setattr(compression, "ahead", spy)
    with InputFile(path)._opened() as (stream, _, _):
        assert stream.read(2 * MB) == LONG[: 2 * MB]
    assert content(path) == LONG
    assert started


@pytest.mark.parametrize("name", ["gzip", "zstd"])
@pytest.mark.usefixtures("no_threads_left")
def test_damage_far_behind_the_start_is_an_error_after_what_comes_before_it(name: str, write: Write) -> None:
    data = COMPRESS[name](LONG)
    path = write(data[:-20])
    read: list[int] = []
    with block_size(MB // 4), pytest.raises(KaratError, match=f"the {name} data is damaged or cut short"):
        read.extend(len(block.data) for block in InputFile(path).blocks())
    assert sum(read) > MB


@pytest.mark.usefixtures("no_threads_left")
def test_items_are_computed_ahead_in_order_and_not_more_than_a_few() -> None:
    computed: list[int] = []

    def numbers() -> Generator[int]:
        try:
            for at in range(10**9):
                computed.append(at)
                yield at
        finally:
            computed.append(-1)

    items = ahead(numbers(), 3)
    assert [next(items) for _ in range(50)] == list(range(50))
    items.close()
    assert computed[-1] == -1
    assert computed[:-1] == list(range(len(computed) - 1))
    assert 50 < len(computed) <= 50 + 3 + 1


@pytest.mark.usefixtures("no_threads_left")
def test_an_exception_in_the_thread_is_raised_in_its_turn() -> None:
    def failing() -> Generator[int]:
        yield 1
        yield 2
        raise KeyError("three")

    items = ahead(failing(), 9)
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(KeyError, match="three"):
        next(items)
    assert list(ahead((each for each in "abc"), 9)) == ["a", "b", "c"]


@pytest.mark.usefixtures("no_threads_left")
def test_a_short_file_starts_no_thread(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "ahead", None)
    assert content(write(gzip.compress(LINES))) == LINES


def test_gzip_bzip2_and_xz_are_decompressed_without_arrow(tmp_path: Path) -> None:
    for name in ("gzip", "bzip2", "xz"):
        (tmp_path / name).write_bytes(COMPRESS[name](b"q Q0 a 1 1 t\n"))
    program = (
        "import sys, karat\n"
        "for path in sys.argv[1:]: karat.evaluate({'q': ['a']}, path, 'RR')\n"
        "assert 'pyarrow' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program, *map(str, tmp_path.iterdir())], check=True)
