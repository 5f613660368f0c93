"""Runs that ranx has saved as `.lz4` are read, or are one clear error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat import KaratError
from karat.sources.cbor import decode_cbor, is_cbor
from tests.compressions import COMPRESS
from tests.end_to_end.in_process import printed, run_here

RUN = {"q1": {"d1": 2.5, "d2": 1.0}, "q2": {"é": 0.5}}
# As ranx 0.3.21 writes it: Run(RUN).save("run.lz4").
FROM_RANX = bytes.fromhex(
    "04224d184040c03f0000008204224d1868402d000100f0237629000000c1a2627131a2626431fb400400010063626432"
    "fb3ff00c00f0007132a162c3a9fb3fe00000000000000000000000000000"
)


def twice(data: bytes) -> bytes:
    return COMPRESS["lz4"](COMPRESS["lz4"](data))


def test_a_run_that_ranx_has_saved_is_read(tmp_path: Path) -> None:
    (tmp_path / "bm25.lz4").write_bytes(FROM_RANX)
    truth = {"q1": {"d2": 1}, "q2": {"é": 1}}
    assert karat.evaluate(truth, tmp_path / "bm25.lz4", "RR").per_query == {"q1": {"RR": 0.5}, "q2": {"RR": 1}}
    assert karat.evaluate(truth, tmp_path / "bm25.lz4", "RR", run_format="json")["RR"] == 0.75
    (tmp_path / "truth.qrels").write_text("q1 0 d2 1\nq2 0 é 1\n")
    assert "0.7500" in printed(run_here(tmp_path, "evaluate", "truth.qrels", "bm25.lz4", "-m", "RR"))
    assert "0.7500" in printed(run_here(tmp_path, "evaluate", "truth.qrels", "-", "-m", "RR", stdin=FROM_RANX))
    printed(run_here(tmp_path, "convert", "bm25.lz4", "bm25.trec", "--as", "run"))
    assert (tmp_path / "bm25.trec").read_text().split()[:3] == ["q1", "Q0", "d1"]


def test_cbor_is_read_in_any_compression(tmp_path: Path) -> None:
    for pack in (bytes, twice, *COMPRESS.values()):
        (tmp_path / "run").write_bytes(pack(cbor2.dumps(RUN)))
        assert karat.evaluate({"q2": ["é"]}, tmp_path / "run", "RR")["RR"] == 1


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (cbor2.dumps(RUN)[:-3], "the CBOR data is damaged or cut short"),
        (cbor2.dumps(RUN) + b"\0", "the CBOR data is followed by other data"),
        (b"\xa2\x62q1\xa1\x61d\x01\x62q1\xa1\x61d\x02", "damaged or cut short .*Duplicate map key"),
        (b"\xa1\x62q1\xa2\x61d\x01\x61d\x02", "damaged or cut short .*Duplicate map key"),
        (b"\xa1\x62q1" + b"\xa1\x61d" * 100_000 + b"\x01", "damaged or cut short .*depth"),
        (b"\xa1\x62q1\xbb" + b"\xff" * 8, "damaged or cut short"),
        (b"\xa1\x62q1\xa1\x7b" + b"\xff" * 8, "damaged or cut short"),
        (b"\xa1\x62q1\xa1\x62\xff\xff\x01", "damaged or cut short"),
        (b"\xa1\x62q1\xa1\x41d\x01", "an id in the CBOR data is not text"),
        (cbor2.dumps({"q1": {}, "q2": 1}), "the CBOR data is not an object of queries"),
        (cbor2.dumps({"q1": {"d": "high"}}), "'high' is not a number"),
    ],
)
def test_damaged_cbor_is_an_error(data: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "run.lz4").write_bytes(twice(data))
    with pytest.raises(KaratError, match=problem) as raised:
        karat.evaluate({"q1": ["d"]}, tmp_path / "run.lz4")
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith(f"{tmp_path / 'run.lz4'}")


def test_without_cbor2_the_error_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.lz4").write_bytes(FROM_RANX)
    monkeypatch.setitem(sys.modules, "cbor2", None)
    with pytest.raises(KaratError, match=r"which needs the package cbor2\. pip install cbor2"):
        karat.evaluate({"q1": ["d1"]}, tmp_path / "run.lz4")


NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60)


@settings(max_examples=30)
@given(st.dictionaries(st.text(max_size=300), st.dictionaries(st.text(), NUMBERS)))
def test_mappings_are_recognized_and_decoded(run: dict[str, Any]) -> None:
    data = cbor2.dumps(run)
    assert is_cbor(data)
    assert decode_cbor(data, "here") == run


@given(st.text(max_size=20) | st.text("£°abc \n", max_size=20))
def test_text_is_not_taken_for_cbor(text: str) -> None:
    assert not is_cbor(text.encode())
    assert not is_cbor(b"\xa3abc 0 d1 1\n")  # in Latin-1
