"""Remote files are read from a real S3 server, or are one clear error that keeps secrets."""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import karat
from karat import KaratError, convert
from karat.errors import Parameter, shown
from karat.errors.credentials import without_credentials
from karat.reading.bytes import compression, remote
from karat.reading.bytes.arrow_file import ArrowFile
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.part_files import DESCRIPTION
from karat.reading.bytes.remote import RemotePath
from karat.reading.pairs.files import Reading
from karat.reading.pairs.paths import expand
from karat.reading.pairs.range_plan import plan_ranges
from karat.reading.texts.entries import Text
from karat.reading.texts.texts import read_texts
from tests.block_size import block_size
from tests.compressions import COMPRESS
from tests.end_to_end.in_process import printed, run_here
from tests.stored_scores import store
from tests.unit.test_document_parts import MEASURES, evaluate_in_ranges, outcome

QRELS, RUN = b"q1 0 a 1\nq2 0 b 1\n", b"q1 Q0 a 1 2 t\nq2 Q0 x 1 2 t\nq2 Q0 b 2 1 t\n"
MB = 1 << 20

Put = Callable[[str, bytes], str]


SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print("{}:{}".format(*server.get_host_and_port()), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server on this computer."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.kill()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    monkeypatch.setattr(remote, "_ATTEMPTS", 1)
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{server}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key-of-the-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="module")
def bucket(server: str) -> Any:
    system = fs.S3FileSystem(
        access_key="a",
        secret_key="b",
        region="us-east-1",
        scheme="http",
        endpoint_override=server,
        allow_bucket_creation=True,
    )
    system.create_dir("bucket")
    return system


@pytest.fixture
def put(bucket: Any) -> Put:
    def put(key: str, data: bytes) -> str:
        with bucket.open_output_stream(f"bucket/{key}") as file:
            file.write(data)
        return f"s3://bucket/{key}"

    return put


def error_in(uri: str) -> KaratError:
    with pytest.raises(KaratError) as raised:
        karat.evaluate({"q1": ["a"]}, uri)
    return raised.value


@pytest.mark.parametrize("pack", [bytes, *COMPRESS.values()], ids=["plain", *COMPRESS])
def test_ground_truth_and_runs_are_read_from_s3(pack: Callable[[bytes], bytes], put: Put) -> None:
    truth, run = put("truth.qrels", pack(QRELS)), put("folder with spaces/run é#1%20.trec", pack(RUN))
    assert karat.evaluate(truth, run, "RR")["RR"] == 0.75


@pytest.mark.parametrize("scheme", ["s3a", "s3n", "S3A"])
def test_the_spellings_of_spark_name_the_same_files(scheme: str, put: Put) -> None:
    run = put("spelled/run.trec", RUN).replace("s3://", f"{scheme}://")
    assert karat.evaluate(put("spelled/truth.qrels", QRELS), run, "RR")["RR"] == 0.75


def test_every_way_of_reading_works_on_remote_files(put: Put) -> None:
    file = InputFile(put("run", RUN))
    assert file.start(5) == RUN[:5]
    assert file.read_all() == b"".join(bytes(block.data) for block in file.blocks()) == RUN
    assert len(list(file.lines())) == 3
    with file.seekable() as stream:
        stream.seek(-4, 2)
        assert stream.read() == RUN[-4:]


def test_results_answers_and_lines_that_are_not_grouped_are_read_from_s3(put: Put) -> None:
    line = b'{"query": "q", "truth": ["a"], "retrieved": ["a"], "gold_answers": "x", "answer": "x"}\n'
    uri = put("results.jsonl", line)
    assert karat.evaluate_results(uri, "RR")["RR"] == 1
    assert karat.evaluate_answers(uri, uri, "EM")["EM"] == 1
    lines = b"".join(b"q%d Q0 d%d 1 %d t\n" % (at % 2, at, -at) for at in range(60_000))
    assert karat.evaluate({"q1": ["d1"]}, put("mixed", lines), "RR")["RR"] == 1


def test_runs_are_converted_and_texts_are_read_from_s3(put: Put, tmp_path: Path) -> None:
    convert(put("convert/run.trec", b"q1 Q0 d1 1 2.5 x\n"), tmp_path / "run.csv")
    assert (tmp_path / "run.csv").read_text() == "query,doc,score\nq1,d1,2.5\n"
    queries = put("convert/queries.tsv", b"q1\thow soft\n")
    assert read_texts(queries, ["q1"], "queries")["q1"] == Text("how soft")


def test_large_files_are_read_in_parts(put: Put) -> None:
    uri = put("large", b"".join(b"q%d Q0 document 1 1 t\n" % at for at in range(200_000)))
    tracemalloc.start()
    try:
        with block_size(MB):
            assert sum(len(block.data) for block in InputFile(uri).blocks()) > 4 * MB
        assert tracemalloc.get_traced_memory()[1] < 4 * MB
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("tiny_ranges")
@pytest.mark.parametrize("path", ["s3://bucket/ranges/", "s3://bucket/ranges/*.trec", "s3a://bucket/ranges/1.trec"])
def test_a_run_on_s3_is_divided_into_ranges(path: str, put: Put, tmp_path: Path) -> None:
    truth, run = put("truth of ranges", QRELS), tmp_path / "run.trec"
    lines = [b"q1 Q0 a 1 2 t\n", b"q1 Q0 c 1 1 t\n", b"q2 Q0 x 1 2 t\n", b"q2 Q0 b 2 1 t\n", b"q3 Q0 b 2 1 t\n"]
    put("ranges/1.trec", b"".join(lines[:3]))
    put("ranges/2.trec", b"".join(lines[3:]))
    run.write_bytes(b"".join(lines[:3] if path.endswith("1.trec") else lines))
    assert len(plan_ranges(path, Reading("score"), 4).ranges) >= 4
    found = outcome(lambda: evaluate_in_ranges(truth, path, 4))
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES))


def test_a_row_of_a_run_on_s3_that_is_wrong_is_named_by_its_line(put: Put) -> None:
    truth, run = put("truth of ranges", QRELS), put("wrong.trec", RUN + b"q3 Q0 c 1 x t\n")
    found = outcome(lambda: evaluate_in_ranges(truth, run, 4))
    assert "s3://bucket/wrong.trec:4: score 'x' is not a number" in found
    for path in ("s3://bucket/no such run", "s3://bucket/none/*.trec"):
        assert outcome(partial(evaluate_in_ranges, truth, path, 4)) == str(error_in(path))


def test_a_file_on_s3_that_is_written_after_it_was_divided_is_an_error(put: Put) -> None:
    (first, *_) = plan_ranges(put("changed.trec", RUN), Reading("score"), 2).ranges
    put("changed.trec", RUN + RUN)
    with pytest.raises(KaratError, match=r"changed\.trec: the file was changed while it was evaluated"):
        first.check_version(first.path)


def test_the_endpoint_can_be_part_of_the_uri(put: Put, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put("truth.qrels", QRELS)
    options = f"?endpoint_override={server}&scheme=http&region=us-east-1"
    path = f"s3://bucket/truth.qrels{options}"
    assert InputFile(path).read_all() == QRELS  # the environment names it, too
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    assert InputFile(f"s3://user:password@bucket/truth.qrels{options}").read_all() == QRELS
    assert InputFile(path).name == "s3://bucket/truth.qrels"
    monkeypatch.setenv("KARAT_ENDPOINTS", f"minio.example:9000, {server}/")
    assert InputFile(path).read_all() == QRELS


@pytest.mark.parametrize(
    "path",
    [
        "s3://bucket/run?endpoint_override=stranger.example",
        "s3a://bucket/run?region=eu-west-1&endpoint_override=https://stranger.example/",
        "s3://bucket/*?endpoint_override=stranger.example",
        "s3://AKID@bucket/run?endpoint_override=stranger.example",
        "gs://bucket/run?endpoint_override=stranger.example&scheme=http",
        "gs://bucket/run?endpoint%5Foverride=stranger.example",
        "gs://bucket/run?x*=1&endpoint_override=stranger.example",
    ],
)
def test_a_path_does_not_decide_which_server_gets_the_credentials_of_the_session(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KARAT_ENDPOINTS", "example,other.example")
    error = error_in(path)
    assert error.what == "this path would send your credentials to the server 'stranger.example'"
    assert error.hint == "If you trust it, set the environment variable KARAT_ENDPOINTS=stranger.example."


def test_options_of_a_path_that_could_hide_a_server_are_errors() -> None:
    error = error_in("gs://bucket/run?endpoint_override=&endpoint_override=stranger.example")
    assert str(error).startswith("gs://bucket/run: an option is given twice.")
    error = error_in("s3://bucket/run?region=stranger.example%23")
    assert str(error) == "s3://bucket/run: 'stranger.example#' is not a region. For example eu-west-1."


@pytest.mark.parametrize("key", ["bucket/none.trec", "no-bucket/run.trec"])
def test_a_remote_file_that_is_not_there_is_an_error(key: str) -> None:
    error = error_in(f"s3://{key}")
    assert (error.what, str(error.place)) == ("no such file", f"s3://{key}")
    assert error_in("s3://bucket").what == "this is a folder, not a file"


def test_a_server_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KARAT_ENDPOINTS", "127.0.0.1:9")
    error = error_in("s3://bucket/run?endpoint_override=127.0.0.1:9&scheme=http")
    assert str(error) == (
        "s3://bucket/run: the server cannot be reached. Check the network and, if one is set, the endpoint."
    )


def test_wrong_credentials_are_an_error_that_does_not_show_them(put: Put, server: str) -> None:
    put("run.trec", RUN)
    address, kind = f"http://{server}/moto-api/reset-auth", {"Content-Type": "text/plain"}
    check, release = (Request(address, calls, kind, method="POST") for calls in (b"0", b"1000000"))
    urlopen(check).close()
    try:
        errors = [error_in("s3://bucket/run.trec"), error_in("s3://AKID:hush%2Fhush@bucket/run.trec")]
    finally:
        urlopen(release).close()
    for error in errors:
        assert error.what in ("permission denied", "the credentials are not valid")
        assert str(error.place) == "s3://bucket/run.trec"
        assert "AWS_ACCESS_KEY_ID" in str(error)
        assert "hush" not in str(error)


def test_credentials_are_never_shown() -> None:
    uri = "s3://AKID:hush@bucket/key?region=eu-west-1"
    assert RemotePath.of(uri).name == InputFile(uri).name == "s3://bucket/key"
    assert "hush" not in str(KaratError(f"{uri} is wrong", place=uri, hint=f"Not {uri}."))
    assert "hush" not in str(RemotePath.of(uri).error(OSError("invalid: hush of AKID")))
    assert "hush" not in str(error_in("gopher://AKID:hush@bucket/key"))


SECRET = "s3://AKID:hush%2Fhush@bucket"


@pytest.mark.parametrize(
    "line",
    [
        f"evaluate {SECRET}/truth.qrels {SECRET}/run.trec {SECRET}/other.trec -m RR --format json",
        f"evaluate {SECRET}/truth.qrels {SECRET}/run.trec -m RR -m nDCG -o out.json",
        f"evaluate {SECRET}/truth.qrels {SECRET}/run.trec -m RR -o out.parquet",
        f"evaluate {SECRET}/truth.qrels {SECRET}/run.trec {SECRET}/run.trec -m RR --ci",
        f"evaluate {SECRET}/truth.qrels {SECRET}/run.trec -m RR --explain q1",
        f"evaluate {SECRET}/results.jsonl -m RR -o out.json",
        f"compare {SECRET}/truth.qrels {SECRET}/run.trec {SECRET}/other.trec -m RR --format json",
        f"compare {SECRET}/truth.qrels {SECRET}/run.trec {SECRET}/none.trec -m RR",
        f"compare {SECRET}/saved.json {SECRET}/truth.qrels -m RR",
        f"diff {SECRET}/truth.qrels {SECRET}/run.trec {SECRET}/other.trec -m RR",
        f"bounds {SECRET}/truth.qrels {SECRET}/run.trec -m RR",
        f"convert {SECRET}/run.trec run.csv",
        f"convert {SECRET}/run.trec {SECRET}/run.csv",
        f"gate {SECRET}/truth.qrels {SECRET}/run.trec --baseline {SECRET}/saved.json --max-drop RR=1 --junit junit.xml"
        " -o gate.json --report report.html",
        f"gate {SECRET}/truth.qrels {SECRET}/run.trec --baseline {SECRET}/none.json --max-drop RR=1",
        f"gate {SECRET}/truth.qrels {SECRET}/run.trec --baseline {SECRET}/saved.json --min RR=1",
        f"report {SECRET}/truth.qrels {SECRET}/run.trec {SECRET}/other.trec?region=us-east-1 -m RR -o report.html"
        f" --queries {SECRET}/queries.tsv",
        f"report {SECRET}/saved.json -o report.html",
        f"judge {SECRET}/results.jsonl --task correctness --estimate",
        f"judge {SECRET}/none.jsonl --task correctness --estimate",
        f"verdicts template {SECRET}/generated.jsonl --task correctness -o sheet.csv",
    ],
)
def test_no_command_shows_or_stores_credentials_in_a_path(line: str, put: Put, tmp_path: Path) -> None:
    saved = karat.evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"], "q2": ["b"]}, "RR").to_json().encode()
    results = b'{"query": "q", "truth": ["a"], "retrieved": ["a"]}\n'
    files = {"truth.qrels": QRELS, "run.trec": RUN, "other.trec": RUN, "saved.json": saved, "results.jsonl": results}
    generated = b'{"query": "q", "answer": "a", "gold_answers": ["a"], "retrieved": ["a"]}\n'
    for name, data in {**files, "generated.jsonl": generated, "queries.tsv": b"q1\thow soft\n"}.items():
        put(name, data)
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    done = run_here(tmp_path, *line.split(), environment={**os.environ, **github})
    written = [path.read_bytes() for path in tmp_path.iterdir()]
    assert done.returncode < 3
    assert written or done.stdout or done.stderr
    for text in (done.stdout.encode(), done.stderr.encode(), *written):
        assert b"hush" not in text
        assert b"AKID" not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://AKID:hu/sh+x@bucket/run", "s3://bucket/run"),
        ("s3://AKID:hu@sh@bucket/run", "s3://bucket/run"),
        ("cat s3://A:hush@b/x 's3://B:hush@c/y z'", "cat s3://b/x 's3://c/y z'"),
        ("https://h/run?X-Amz-Date=1&X-Amz-Signature=hush&X-Amz-Credential=hush", "https://h/run?X-Amz-Date=1&X-Amz-Signature=…&X-Amz-Credential=…"),
        ("https://h/c/run?sv=1&sig=hush%3D#top", "https://h/c/run?sv=1&sig=…#top"),
        ("s3://bucket/run?access_key=hush&secret_key=hush&region=eu", "s3://bucket/run?access_key=…&secret_key=…&region=eu"),
        ("hdfs://host:8020/a@b", "hdfs://host:8020/a@b"),
        ("s3://bucket/mail@example.org", "s3://bucket/mail@example.org"),
        ("a/b?token=1", "a/b?token=1"),
    ],
)  # fmt: skip
def test_credentials_in_addresses_are_recognized_in_all_spellings(text: str, shown: str) -> None:
    assert without_credentials(text) == shown
    error = KaratError("wrong", place=text, hint=text)
    assert str(error) == f"{shown}: wrong. {shown}"
    assert repr(error) == f"KaratError({str(error)!r})"


def test_credentials_are_not_shown_in_part_if_a_message_is_cut() -> None:
    uri = f"s3://AKID:{'hush' * 300}@bucket/run"
    for message in (shown(uri), shown([uri]), str(KaratError(uri)), str(KaratError([Parameter("corpus", uri)]))):
        assert "hush" not in message


def test_a_secret_with_a_slash_is_not_taken_for_a_bucket() -> None:
    remote = RemotePath.of("s3://AKID:hu/sh@bucket/run")
    assert (remote.user, remote.path, remote.name) == ("AKID:hu/sh@", "bucket/run", "s3://bucket/run")
    assert "hu/sh" not in str(remote.error(OSError("invalid: hu/sh")))


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        (
            "https://example.org/run.trec",
            r"example.org/run.trec: https:// is not read\. Download the file first",
        ),
        ("gopher://example.org/run", r"gopher:// is not read\. Remote paths begin with s3://, gs:// or hdfs://"),
        ("s3://", "the path is empty"),
        ("s3://bucket/run?regoin=x", "regoin is not an option of s3://. Did you mean region"),
        ("hdfs://127.0.0.1:9/run", "hdfs://127.0.0.1:9/run: cannot be read: "),
        ("abfs://container@account/run", "abfs:// is not read"),
        ("s3://bucket/run?scheme=ftp", "cannot be read"),
    ],
)
def test_uris_that_cannot_be_read_are_an_error(uri: str, message: str) -> None:
    error = str(error_in(uri))
    assert re.search(message, error)
    assert "\n" not in error


def test_the_format_is_known_by_the_name_without_options(put: Put) -> None:
    put("run.csv", b"query,doc,score\nq1,a,2\n")
    assert karat.evaluate({"q1": ["a"]}, "s3://bucket/run.csv?region=us-east-1", "RR")["RR"] == 1


def test_part_files_in_a_remote_folder_are_one_table(put: Put) -> None:
    for at in (1, 2):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"query": [f"q{at}"], "doc": ["a"], "score": [1.0]}), sink)
        put(f"dense/part-{at}.parquet", bytes(sink.getvalue()))
    put("dense/_SUCCESS", b"")
    for uri in ("s3://bucket/dense/", "s3://bucket/dense/*.parquet?region=us-east-1"):
        assert expand(uri) == [uri]
        assert karat.evaluate({"q1": ["a"], "q2": ["a"]}, uri, "RR")["RR"] == 1


def test_saved_scores_are_read_from_s3(put: Put, tmp_path: Path) -> None:
    systems = karat.evaluate_runs({"q1": ["a"], "q2": ["a"]}, {"one": {"q1": ["a"]}, "two": {"q2": ["x", "a"]}}, "RR")
    systems.save(tmp_path / "saved.parquet")
    parquet = put("saved.parquet", (tmp_path / "saved.parquet").read_bytes())
    lines = put("saved.csv", COMPRESS["gzip"](systems.to_csv(per_query=True).encode()))
    for uri in (parquet, lines):
        assert karat.SystemScores.load(uri).means == systems.means
        rules = ("--max-drop", "RR=1", "--baseline", f"{uri}:two")
        assert "one" in printed(run_here(tmp_path, "compare", uri, environment=dict(os.environ)))
        assert run_here(tmp_path, "gate", f"{uri}:one", *rules, environment=dict(os.environ)).returncode == 0
    one = put("one.json", systems["one"].to_json().encode())
    assert list(karat.SystemScores.load(put("bm25.csv", b"query,RR\nq1,1\n"))) == ["bm25"]
    (tmp_path / "karat.toml").write_text(f'[gate]\nbaseline = "{one}"\n[gate.max-drop]\nRR = 0\n')
    assert run_here(tmp_path, "gate", f"{parquet}:two", environment=dict(os.environ)).returncode == 1
    with pytest.raises(KaratError, match=r"s3://bucket/none\.json: no such file"):
        karat.Scores.load("s3://bucket/none.json")


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_only_the_needed_columns_of_a_remote_table_are_fetched(
    kind: str, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 15_000
    noise = random.Random(1).randbytes(200 * rows)
    columns = {
        "query": [f"q{at // 1000}" for at in range(rows)],
        "text": [noise[200 * at : 200 * at + 200] for at in range(rows)],
        "doc": [f"d{at % 1000}" for at in range(rows)],
        "score": [float(-at) for at in range(rows)],
    }
    file = io.BytesIO()
    if kind == "parquet":
        pq.write_table(pa.table(columns), file, row_group_size=5_000)
    else:
        feather.write_feather(pa.table(columns), file, compression="uncompressed", chunksize=5_000)
    uri = put(f"large.{kind}", file.getvalue())
    assert len(file.getvalue()) > 3_000_000
    fetched = 0

    class Counted:
        closed = False

        def __init__(self, native: Any) -> None:
            self.native = native

        def __getattr__(self, name: str) -> Any:
            if name not in ("seek", "tell", "size", "close", "readable", "seekable"):
                raise AttributeError(name)  # such as readinto, which would not be counted
            return getattr(self.native, name)

        def read(self, size: int) -> bytes:
            nonlocal fetched
            fetched += size
            return bytes(self.native.read(size))

    opener = RemotePath.opener
    with monkeypatch.context() as patch:
        patch.setattr(RemotePath, "opener", lambda path: lambda: pa.PythonFile(Counted(opener(path)()), "r"))
        assert karat.evaluate({"q7": ["d3"]}, uri, "RR")["RR"] == 0.25
    assert fetched < 2_000_000


def test_a_remote_table_that_vanishes_is_not_called_damaged(put: Put, bucket: Any) -> None:
    sink = pa.BufferOutputStream()
    table = pa.table({"query": ["q1", "q2"] * 100, "doc": [f"d{at}" for at in range(200)], "score": [1.0] * 200})
    pq.write_table(table, sink, row_group_size=10)
    file = ArrowFile(InputFile(put("gone.parquet", bytes(sink.getvalue()))), "parquet")

    def read() -> None:
        with file.opened() as opened:
            native = opened()
            bucket.delete_file("bucket/gone.parquet")
            pq.ParquetFile(native)

    with pytest.raises(KaratError, match=r"s3://bucket/gone\.parquet: (no such file|cannot be read: )"):
        read()


def test_a_damaged_remote_table_is_an_error(put: Put) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"query": ["q1"], "doc": ["a"], "score": [1.0]}), sink)
    assert "the Parquet data is damaged or cut short" in error_in(put("cut.parquet", bytes(sink.getvalue())[:-9])).what


def test_a_uri_of_a_local_file_is_its_path(tmp_path: Path) -> None:
    (tmp_path / "run 1.trec").write_bytes(RUN)
    uri = (tmp_path / "run 1.trec").as_uri()
    assert karat.evaluate({"q1": ["a"]}, uri, "RR")["RR"] == 1
    assert expand(uri) == [str(tmp_path / "run 1.trec")]
    assert error_in("file://other/run").what == "this file is on another computer"


def test_a_read_that_fails_in_the_middle_is_not_taken_for_damage(
    put: Put, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"".join(b"%d Q0 d%d 1 1 t\n" % (at, at * 7919 % 1009) for at in range(150_000))
    for name in ("gzip", "zstd"):
        uri = put(f"run.{name}", COMPRESS[name](data))
        monkeypatch.setattr(compression, "_READ", 64 << 10)
        blocks = None
        with block_size(64 << 10):
            blocks = InputFile(uri).blocks()
            next(blocks)
            bucket.delete_file(f"bucket/run.{name}")
            with pytest.raises(KaratError, match=r"no such file|cannot be read"):
                list(blocks)


# Patterns and folders


def test_scores_in_a_remote_folder_are_loaded(put: Put, tmp_path: Path) -> None:
    stored = store(karat.evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["x", "a"], "r": ["b"]}, "RR"), tmp_path / "s")
    for path in (tmp_path / "s").iterdir():
        if path.name != DESCRIPTION:
            put(f"scores/{path.name}", path.read_bytes())
    with pytest.raises(KaratError, match=r"^s3://bucket/scores/: this folder has no _karat\.json"):
        karat.Scores.load("s3://key:secret@bucket/scores/")
    put(f"scores/{DESCRIPTION}", (tmp_path / "s" / DESCRIPTION).read_bytes())
    assert karat.Scores.load("s3://bucket/scores/").to_json() == stored.load().to_json()
    for uri in ("s3a://bucket/scores", "s3://bucket/scores/"):
        assert replace(stored, path=uri).load()["RR"] == 0.75


def test_patterns_and_folders_are_lists_of_remote_files(put: Put) -> None:
    for key in ("runs/b.trec", "runs/a.trec", "runs/a.txt", "runs/_SUCCESS", "runs/more/c.trec", "runs/part-1"):
        put(key, b"" if key in ("runs/_SUCCESS", "runs/part-1") else RUN)
    assert expand("s3://bucket/runs/*.trec") == ["s3://bucket/runs/a.trec", "s3://bucket/runs/b.trec"]
    assert expand("s3://bucket/runs/?.t[r]ec") == ["s3://bucket/runs/a.trec", "s3://bucket/runs/b.trec"]
    assert expand("s3://bucket/*/m*/*") == ["s3://bucket/runs/more/c.trec"]
    assert expand("s3://bucket/runs/")[:2] == ["s3://bucket/runs/a.trec", "s3://bucket/runs/a.txt"]
    assert len(expand("s3://bucket/runs/")) == 3
    assert expand("s3://bucket/runs/a.trec") == ["s3://bucket/runs/a.trec"]
    assert expand("s3://k:s@bucket/runs/b*?region=us-east-1") == ["s3://k:s@bucket/runs/b.trec?region=us-east-1"]


def test_a_remote_pattern_that_matches_nothing_is_an_error() -> None:
    for uri, what in {
        "s3://bucket/none/*": "no file matches this pattern",
        "s3://bucket/none/": "this folder has no files",
        "s3://*/x": "the name of a bucket cannot be a pattern",
        "s3://k:s@bucket/*?endpoint_override=127.0.0.1:9&scheme=http": "the server cannot be reached",
    }.items():
        with pytest.raises(KaratError, match=what):
            expand(uri)


def test_remote_files_are_not_written(tmp_path: Path) -> None:
    scores = karat.evaluate({"q1": ["a"]}, {"q1": ["a"]})
    with pytest.raises(KaratError, match=r"s3://bucket/scores.json: remote files are read but not written"):
        scores.to_json("s3://user:hush@bucket/scores.json")
