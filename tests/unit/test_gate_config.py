"""Rules from karat.toml and pyproject.toml: every mistake is an error with file and key."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError
from karat.gating.config import Config, find, read
from karat.gating.rules import Rule, refuse_unknown_measures, with_threshold

WHOLE = """\
[gate]
significant = true
test = "t"
correction = "bh"
level = 0.9
queries = "common"
match = "fuzzy(threshold=85)"
rel = 2
missing = "skip"
ties = "input"
duplicates = "first"
ignore-identical-ids = true
baseline = "old/baseline.parquet"
[gate.min]
"nDCG@10" = 0.6
RR = 0
[gate.max]
"Unjudged@10" = 0.2
[gate.max-drop]
AP = 0.01
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(text: str | bytes, name: str = "karat.toml") -> Config:
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    return read(name)


def mistake(text: str | bytes, name: str = "karat.toml") -> str:
    with pytest.raises(KaratError) as caught:
        written(text, name)
    return str(caught.value)


def test_everything_that_can_be_said_is_read(here: Path) -> None:
    config = written(WHOLE)
    assert config.rules == (
        Rule("min", "nDCG@10", 0.6, 'karat.toml: gate.min."nDCG@10"'),
        Rule("min", "RR", 0, "karat.toml: gate.min.RR"),
        Rule("max", "Unjudged@10", 0.2, 'karat.toml: gate.max."Unjudged@10"'),
        Rule("max-drop", "AP", 0.01, "karat.toml: gate.max-drop.AP"),
    )
    assert config.options == {
        "significant": True, "test": "t", "correction": "bh", "level": 0.9, "queries": "common",
        "match": "fuzzy(threshold=85)", "rel": 2, "missing": "skip", "ties": "input", "duplicates": "first",
        "ignore_identical_ids": True,
    }  # fmt: skip
    assert config.baseline == "old/baseline.parquet"


def test_what_is_not_said_is_left_open(here: Path) -> None:
    config = written("[gate.min]\nAP = 0.1\n")
    assert (config.options, config.baseline) == ({}, None)
    assert written("[gate]\n").rules == ()


def test_a_pyproject_has_the_same_under_its_own_table(here: Path) -> None:
    config = written('[project]\nname = "x"\n' + WHOLE.replace("[gate", "[tool.karat.gate"), "pyproject.toml")
    assert config.rules[0] == Rule("min", "nDCG@10", 0.6, 'pyproject.toml: tool.karat.gate.min."nDCG@10"')
    assert config.options["level"] == 0.9


def test_the_baseline_is_relative_to_the_file_that_names_it(here: Path) -> None:
    (here / "ci").mkdir()
    assert written(WHOLE, "ci/rules.toml").baseline == "ci/old/baseline.parquet"
    absolute = written(f'[gate]\nbaseline = "{here}/x.parquet"\n')
    assert absolute.baseline == f"{here}/x.parquet"


def test_karat_toml_comes_before_pyproject_and_neither_is_needed(here: Path) -> None:
    assert find() is None
    Path("pyproject.toml").write_text('[project]\nname = "x"\n[tool.ruff]\nline-length = 120\n')
    assert find() is None
    Path("pyproject.toml").write_text("[tool.karat.gate.min]\nAP = 0.1\n")
    found = find()
    assert found is not None
    assert found.file == "pyproject.toml"
    Path("karat.toml").write_text("[gate.min]\nAP = 0.2\n")
    found = find()
    assert found is not None
    assert (found.file, found.rules[0].limit) == ("karat.toml", 0.2)


def test_a_file_without_rules_that_was_named_is_an_error(here: Path) -> None:
    says = mistake('[project]\nname = "x"\n', "pyproject.toml")
    assert says.startswith("pyproject.toml: there is no [tool.karat.gate] in it. Begin with [tool.karat.gate.min]")
    for empty in ("", "\n# nothing\n", "\ufeff"):
        assert mistake(empty).startswith("karat.toml: there is no [gate] in it. Begin with [gate.min]")
    with pytest.raises(KaratError, match=r"there is no \[gate\] in it"):
        find()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[gate.min]\n"nDCG@10" = "high"', "karat.toml: gate.min.\"nDCG@10\": 'high' is not a number. A limit is"),
        ("[gate.min]\nAP = true", "karat.toml: gate.min.AP: True is not a number"),
        ("[gate.min]\nAP = [0.1]", "karat.toml: gate.min.AP: [0.1] is not a number"),
        ("[gate.min]\nAP = nan", "karat.toml: gate.min.AP: nan is no limit"),
        ("[gate.max]\nNumRet = inf", "karat.toml: gate.max.NumRet: inf is no limit"),
        (f"[gate.max]\nNumRet = 1{'0' * 400}", "karat.toml: gate.max.NumRet: 1"),
        ("[gate.min]\nAP = 2020-01-01", "karat.toml: gate.min.AP: datetime.date(2020, 1, 1) is not a number"),
        ("[gate.min]\nAP = 60", "karat.toml: gate.min.AP: a limit of 60 is out of range: AP goes from 0 to 1"),
        ("[gate.max-drop]\nAP = -0.1", "karat.toml: gate.max-drop.AP: a drop of -0.1 is no drop"),
        ("[gate.min]\nP.5 = 0.1", "karat.toml: gate.min.P: this is a table, where a limit is due. A name with @, . or"),
        ("[gate.min]\nAP = 0.1\nmap = 0.2", "karat.toml: gate.min.map: map has a min of 0.1 and 0.2, twice: AP and"),
        ("[gate]\nmin = 0.5", "karat.toml: gate.min: 0.5 is no table. Write a measure and its limit"),
        ("[[gate.min]]\nAP = 0.5", "karat.toml: gate.min: [{'AP': 0.5}] is no table"),
        ("gate = 0.5", "karat.toml: gate: 0.5 is no table"),
        ("[gate]\ntest = 'tt'", "karat.toml: gate.test: 'tt' is not one of randomization, t, wilcoxon"),
        ("[gate]\ncorrection = 'hulm'", "'hulm' is not one of holm, bonferroni, bh, none. Did you mean holm?"),
        ("[gate]\ncorrection = ['holm']", "karat.toml: gate.correction: ['holm'] is not one of"),
        ("[gate]\nqueries = 1", "karat.toml: gate.queries: 1 is not one of same, common"),
        ("[gate]\nties = 'none'", "karat.toml: gate.ties: 'none' is not one of trec"),
        ("[gate]\nmissing = true", "karat.toml: gate.missing: True is not one of zero, skip"),
        ("[gate]\nduplicates = 'last'", "karat.toml: gate.duplicates: 'last' is not one of error, first"),
        ("[gate]\nsignificant = 'true'", "karat.toml: gate.significant: 'true' is neither true nor false. Write true"),
        ("[gate]\nignore-identical-ids = 1", "karat.toml: gate.ignore-identical-ids: 1 is neither true nor false"),
        ("[gate]\nlevel = 95", "karat.toml: gate.level: 95 is not between 0 and 1. For 95% write 0.95."),
        ("[gate]\nlevel = nan", "karat.toml: gate.level: nan is not between 0 and 1"),
        ("[gate]\nlevel = '0.9'", "karat.toml: gate.level: '0.9' is not a number"),
        ("[gate]\nrel = false", "karat.toml: gate.rel: False is not a number"),
        ("[gate]\nrel = inf", "karat.toml: gate.rel: inf is no grade"),
        ("[gate]\nmatch = 'fuzy'", "karat.toml: gate.match: "),
        ("[gate]\nmatch = 1", "karat.toml: gate.match: 1 is no text"),
        ("[gate]\nbaseline = ''", "karat.toml: gate.baseline: '' is no text"),
        ("[gate]\nbaseline = ['a']", "karat.toml: gate.baseline: ['a'] is no text"),
        ("[gate]\nmax_drop = {AP = 0.1}", "karat.toml: gate.max_drop: there is no such key. Did you mean max-drop?"),
        ("[gate]\nsignificance = true", "karat.toml: gate.significance: there is no such key. Did you mean"),
        ("[gate]\n'a b\\n' = 1", 'karat.toml: gate."a b\\\\n": there is no such key'),
        ("[min]\nAP = 0.1", "karat.toml: min: this has no place here. Rules stand in [gate]: write it in [gate.min]."),
        ("[max_drop]\nAP = 0.1", "Rules stand in [gate]: write it in [gate.max-drop]."),
        ("level = 0.9", "karat.toml: level: this has no place here. Rules stand in [gate]: write it in [gate]."),
        ("[gates]\n", "karat.toml: gates: there is no such key. Did you mean gate?"),
        ("[report]\n", "karat.toml: report: there is no such key. Rules stand in [gate]."),
        ("[tool.karat.gate.min]\nAP = 1", "karat.toml: tool: there is no such key. Rules stand in [gate]."),
        ("[gate.min]\nnDCG@10 = 0.6", "karat.toml:2: this is not TOML: "),
        ("[gate.min]\nAP = 0.1\nAP = 0.2\n", "karat.toml:3: this is not TOML: "),
        ("[gate", "karat.toml"),
        ("[gate.min]\nAP = " + "1" * 5000, "karat.toml: this is not TOML: "),
        ("[gate]\nmin = " + "[" * 5000, "karat.toml: this is nested too deeply"),
        (b"[gate]\n\ntest = '\xff'", "karat.toml:3: this is not UTF-8. Save the file as UTF-8."),
        (b"\xff\xfe[\x00g\x00", "karat.toml:1: this is not UTF-8"),
    ],
)  # fmt: skip
def test_a_mistake_names_file_and_key(here: Path, text: str | bytes, says: str) -> None:
    assert says in mistake(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tool = 1", "pyproject.toml: tool: 1 is no table"),
        ("[tool]\nkarat = []", "pyproject.toml: tool.karat: [] is no table"),
        ("[tool.karat.min]\nAP = 0.1", "pyproject.toml: tool.karat.min: this has no place here. Rules stand in"
         " [tool.karat.gate]: write it in [tool.karat.gate.min]."),
        ("[tool.karat.gat]", "pyproject.toml: tool.karat.gat: there is no such key. Did you mean gate?"),
        ("[tool.karat]\ngate = 1", "pyproject.toml: tool.karat.gate: 1 is no table"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_pyproject_names_its_key_also_where_nobody_named_the_file(
    here: Path, text: str, says: str
) -> None:
    assert says in mistake(text, "pyproject.toml")
    with pytest.raises(KaratError) as caught:
        find()
    assert says in str(caught.value)


def test_a_name_that_toml_would_take_apart_gets_the_mend(here: Path) -> None:
    assert mistake("[gate.min]\nnDCG@10 = 0.6").endswith('is written in quotes: "nDCG@10" = 0.6.')


def test_what_is_no_file_is_said(here: Path) -> None:
    with pytest.raises(KaratError, match=r"karat\.toml: there is no such file"):
        read("karat.toml")
    with pytest.raises(KaratError, match="this is a folder"):
        read(here)
    with pytest.raises(KaratError, match="cannot be read"):
        read("a\0b")
    (here / "karat.toml").mkdir()
    with pytest.raises(KaratError, match="this is a folder"):
        find()


def test_a_mark_before_the_first_letter_and_windows_lines_do_no_harm(here: Path) -> None:
    assert written(b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode()).rules == written(WHOLE).rules


def test_an_unknown_measure_is_named_with_file_and_key_when_it_is_asked_for(here: Path) -> None:
    config = written('[gate.min]\n"nDGC@10" = 0.6\n')
    with pytest.raises(KaratError) as caught:
        refuse_unknown_measures(config.rules)
    assert str(caught.value).startswith("karat.toml: gate.min.\"nDGC@10\": unknown measure 'nDGC'. Did you mean nDCG")


def test_a_threshold_is_set_where_a_rule_names_none() -> None:
    rules = [Rule("min", "AP", 0.1), Rule("min", "P(rel=1)@5", 0.1), Rule("min", "EM", 0.1), Rule("min", "my own", 3)]
    assert [rule.measure for rule in with_threshold(rules, 2)] == ["AP(rel=2)", "P@5", "EM", "my own"]
    assert with_threshold(rules, None) == tuple(rules)
    with pytest.raises(KaratError, match="here: F1 is F of documents and TokenF1 of answers"):
        with_threshold([Rule("min", "F1", 0.1, "here")], 2)


HEADS = ("[gate]", "[gate.min]", "[gate.max-drop]", "[min]", "[[gate.max]]", "[tool.karat.gate]", "gate.min.AP = 1")
KEYS = ("AP", '"nDCG@10"', "nDCG@10", "P.5", "level", "test", "rel", "match", "baseline", "significant", '""', "é")
VALUES = ("0.5", "1e400", "-1", "nan", "true", '"t"', '"id"', "[]", "{a = 1}", "2020-01-01", "", '"\\u0000"')
lines = st.sampled_from(HEADS) | st.builds(" = ".join, st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)))


@given(st.lists(lines, max_size=6).map("\n".join) | st.text(max_size=20))
def test_any_text_is_rules_or_a_mistake_with_its_file(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "karat.toml")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            where: str | None = read(path).file
        except KaratError as error:
            where = error.where
        assert str(where).startswith(str(path))


def test_what_results_call_their_fields_stands_there_too(here: Path) -> None:
    fields = '[gate.min]\nRR = 0.1\n[gate.field]\nretrieved = "source_nodes"\n'
    assert written(fields).options == {"field": {"retrieved": "source_nodes"}}
    assert mistake("[gate]\nfield = 3\n").startswith("karat.toml: gate.field: 3 is no table")
    wrong = mistake('[gate.field]\nretreived = "x"\n')
    assert wrong.startswith("karat.toml: gate.field.retreived: 'retreived' is no field of results. Did you mean")
    assert mistake("[gate.field]\nretrieved = 3\n").startswith("karat.toml: gate.field.retrieved: 3 is not the name")


def test_a_mistake_in_toml_that_quotes_cannot_mend_is_told_without_them(here: Path) -> None:
    assert "in quotes" in mistake("[gate.min]\nnDCG@10 = 0.6\n")
    assert "in quotes" not in mistake("[gate.min]\nAP = 1\nAP = 1\n")
