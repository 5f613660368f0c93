"""Rules from karat.toml and pyproject.toml: every error names the file and the key."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError
from karat.comparison.gate.config import Config, find_config, read_config
from karat.comparison.gate.rules import Rule, check_measures, with_relevance_threshold
from karat.errors import Place

WHOLE = """\
[gate]
significant = true
test = "t"
correction = "bh"
level = 0.9
common-queries = true
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


def config_from(text: str | bytes, name: str = "karat.toml") -> Config:
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_config(name)


def error_from(text: str | bytes, name: str = "karat.toml") -> str:
    with pytest.raises(KaratError) as caught:
        config_from(text, name)
    return str(caught.value)


def test_all_options_and_rules_are_read(here: Path) -> None:
    config = config_from(WHOLE)
    assert config.rules == (
        Rule("min", "nDCG@10", 0.6),
        Rule("min", "RR", 0),
        Rule("max", "Unjudged@10", 0.2),
        Rule("max-drop", "AP", 0.01),
    )
    assert [str(rule.origin) for rule in config.rules] == [
        'karat.toml, gate.min."nDCG@10"',
        "karat.toml, gate.min.RR",
        'karat.toml, gate.max."Unjudged@10"',
        "karat.toml, gate.max-drop.AP",
    ]
    assert config.options == {
        "significant": True, "test": "t", "correction": "bh", "level": 0.9, "common_queries": True,
        "match": "fuzzy(threshold=85)", "rel": 2, "missing": "skip", "ties": "input", "duplicates": "first",
        "ignore_identical_ids": True,
    }  # fmt: skip
    assert config.baseline == "old/baseline.parquet"


def test_options_that_a_file_does_not_set_are_absent(here: Path) -> None:
    config = config_from("[gate.min]\nAP = 0.1\n")
    assert (config.options, config.baseline) == ({}, None)
    assert config_from("[gate]\n").rules == ()


def test_pyproject_toml_has_the_same_content_in_tool_karat_gate(here: Path) -> None:
    config = config_from('[project]\nname = "x"\n' + WHOLE.replace("[gate", "[tool.karat.gate"), "pyproject.toml")
    assert config.rules[0] == Rule("min", "nDCG@10", 0.6)
    assert str(config.rules[0].origin) == 'pyproject.toml, tool.karat.gate.min."nDCG@10"'
    assert config.options["level"] == 0.9


def test_the_files_of_a_report_are_relative_to_the_file_that_names_them(here: Path) -> None:
    (here / "ci").mkdir()
    text = '[gate]\nreport = "r.html"\nqueries = ["q.csv:title", "s3://b/q.csv"]\ncorpus = "ir_datasets:x"\n'
    assert config_from(text, "ci/rules.toml").options == {
        "report": "ci/r.html",
        "queries": ["ci/q.csv:title", "s3://b/q.csv"],
        "corpus": ["ir_datasets:x"],
    }


def test_the_baseline_is_relative_to_the_file_that_names_it(here: Path) -> None:
    (here / "ci").mkdir()
    assert config_from(WHOLE, "ci/rules.toml").baseline == "ci/old/baseline.parquet"
    absolute = config_from(f'[gate]\nbaseline = "{here}/x.parquet"\n')
    assert absolute.baseline == f"{here}/x.parquet"


def test_karat_toml_takes_precedence_over_pyproject_toml_and_both_are_optional(here: Path) -> None:
    assert find_config() is None
    Path("pyproject.toml").write_text('[project]\nname = "x"\n[tool.ruff]\nline-length = 120\n')
    assert find_config() is None
    Path("pyproject.toml").write_text("[tool.karat.gate.min]\nAP = 0.1\n")
    found = find_config()
    assert found is not None
    assert found.file == "pyproject.toml"
    Path("karat.toml").write_text("[gate.min]\nAP = 0.2\n")
    found = find_config()
    assert found is not None
    assert (found.file, found.rules[0].limit) == ("karat.toml", 0.2)


def test_a_file_without_a_gate_table_is_an_error(here: Path) -> None:
    message = error_from('[project]\nname = "x"\n', "pyproject.toml")
    assert message.startswith("pyproject.toml: there is no [tool.karat.gate] table. Start with [tool.karat.gate.min]")
    for empty in ("", "\n# nothing\n", "\ufeff"):
        assert error_from(empty).startswith("karat.toml: there is no [gate] table. Start with [gate.min]")
    with pytest.raises(KaratError, match=r"there is no \[gate\] table"):
        find_config()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[gate.min]\n"nDCG@10" = "high"', "karat.toml, gate.min.\"nDCG@10\": 'high' is not a number. Use a limit"),
        ("[gate.min]\nAP = true", "karat.toml, gate.min.AP: True is not a number"),
        ("[gate.min]\nAP = [0.1]", "karat.toml, gate.min.AP: [0.1] is not a number"),
        ("[gate.min]\nAP = nan", "karat.toml, gate.min.AP: nan is not a finite number"),
        ("[gate.max]\nNumRet = inf", "karat.toml, gate.max.NumRet: inf is not a finite number"),
        (f"[gate.max]\nNumRet = 1{'0' * 400}", "karat.toml, gate.max.NumRet: 1"),
        ("[gate.min]\nAP = 2020-01-01", "karat.toml, gate.min.AP: datetime.date(2020, 1, 1) is not a number"),
        ("[gate.min]\nAP = 60", "karat.toml, gate.min.AP: a limit of 60 is out of range: AP is between 0 and 1"),
        ("[gate.max-drop]\nAP = -0.1", "karat.toml, gate.max-drop.AP: a max-drop of -0.1 is negative"),
        ("[gate.min]\nP.5 = 0.1", "karat.toml, gate.min.P: this is a table, not a limit. Put names that contain @"),
        ("[gate.min]\nAP = 0.1\nmap = 0.2", "karat.toml, gate.min.map: map has two min limits, 0.1 and 0.2 (AP and"),
        ("[gate]\nmin = 0.5", "karat.toml, gate.min: 0.5 is not a table. Write a measure and its limit"),
        ("[[gate.min]]\nAP = 0.5", "karat.toml, gate.min: [{'AP': 0.5}] is not a table"),
        ("gate = 0.5", "karat.toml, gate: 0.5 is not a table"),
        ("[gate]\ntest = 'tukey'\ncorrection = 'bonferroni'", 'karat.toml, gate: correction = "bonferroni" has no'),
        ("[gate]\ntest = 'tt'", "karat.toml, gate.test: 'tt' is not one of randomization, t, wilcoxon"),
        ("[gate]\ncorrection = 'hulm'", "'hulm' is not one of holm, bonferroni, bh, none. Did you mean holm?"),
        ("[gate]\ncorrection = ['holm']", "karat.toml, gate.correction: ['holm'] is not one of"),
        ("[gate]\ncommon-queries = 1", "karat.toml, gate.common-queries: 1 is neither true nor false"),
        ("[gate]\nties = 'none'", "karat.toml, gate.ties: 'none' is not one of trec"),
        ("[gate]\nmissing = true", "karat.toml, gate.missing: True is not one of zero, skip"),
        ("[gate]\nduplicates = 'last'", "karat.toml, gate.duplicates: 'last' is not one of error, first"),
        ("[gate]\nsignificant = 'true'", "karat.toml, gate.significant: 'true' is neither true nor false. Write true"),
        ("[gate]\nignore-identical-ids = 1", "karat.toml, gate.ignore-identical-ids: 1 is neither true nor false"),
        ("[gate]\nlevel = 95", "karat.toml, gate.level: 95 is not between 0 and 1. For 95%, write 0.95."),
        ("[gate]\nlevel = nan", "karat.toml, gate.level: nan is not between 0 and 1"),
        ("[gate]\nlevel = '0.9'", "karat.toml, gate.level: '0.9' is not a number"),
        ("[gate]\nrel = false", "karat.toml, gate.rel: False is not a number"),
        ("[gate]\nrel = inf", "karat.toml, gate.rel: inf is not a finite number"),
        ("[gate]\nmatch = 'fuzy'", "karat.toml, gate.match: "),
        ("[gate]\nmatch = 1", "karat.toml, gate.match: 1 is not a string"),
        ("[gate]\nbaseline = ''", "karat.toml, gate.baseline: the value is empty"),
        ("[gate]\nqueries = [1]", "karat.toml, gate.queries: [1] is not the name of a file. Write"),
        ("[gate]\ncorpus = []", "karat.toml, gate.corpus: [] is not the name of a file. Write"),
        ("[gate]\nbaseline = ['a']", "karat.toml, gate.baseline: ['a'] is not a string"),
        ("[gate]\nmax_drop = {AP = 0.1}", "karat.toml, gate.max_drop: unknown key. Did you mean max-drop?"),
        ("[gate]\nsignificance = true", "karat.toml, gate.significance: unknown key. Did you mean"),
        ("[gate]\n'a b\\n' = 1", 'karat.toml, gate."a b\\\\n": unknown key'),
        ("[min]\nAP = 0.1", "karat.toml, min: this key belongs in another table. Write it in [gate.min]."),
        ("[max_drop]\nAP = 0.1", "this key belongs in another table. Write it in [gate.max-drop]."),
        ("level = 0.9", "karat.toml, level: this key belongs in another table. Write it in [gate]."),
        ("[gates]\n", "karat.toml, gates: unknown key. Did you mean gate?"),
        ("[other]\n", "karat.toml, other: unknown key. Rules belong in [gate]."),
        ("[tool.karat.gate.min]\nAP = 1", "karat.toml, tool: unknown key. Rules belong in [gate]."),
        ("[gate.min]\nnDCG@10 = 0.6", "karat.toml:2: this is not valid TOML: "),
        ("[gate.min]\nAP = 0.1\nAP = 0.2\n", "karat.toml:3: this is not valid TOML: "),
        ("[gate", "karat.toml"),
        ("[gate.min]\nAP = " + "1" * 5000, "karat.toml: a number has thousands of digits"),
        ("[gate]\nrel = 0x" + "f" * 5000, "gate.rel: a number with thousands of digits is not a finite number"),
        ("[gate]\nlevel = 1979-05-27", "karat.toml, gate.level: datetime.date(1979, 5, 27) is not a number"),
        ("[gate]\nmin = " + "[" * 5000, "karat.toml: tables are nested too deeply"),
        (b"[gate]\n\ntest = '\xff'", "karat.toml:3: the file is not UTF-8. Save the file as UTF-8."),
        (b"\xff\xfe[\x00g\x00", "karat.toml: this file is text in UTF-16; TOML is read here"),
        (b"PK\x03\x04", "karat.toml: this file is a ZIP archive; TOML is read here"),
        ('{"gate": {}}', "karat.toml: this file is JSON; TOML is read here. Start with [gate.min]"),
    ],
)  # fmt: skip
def test_an_error_names_the_file_and_the_key(here: Path, text: str | bytes, message: str) -> None:
    assert message in error_from(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tool = 1", "pyproject.toml, tool: 1 is not a table"),
        ("[tool]\nkarat = []", "pyproject.toml, tool.karat: [] is not a table"),
        ("[tool.karat.min]\nAP = 0.1", "pyproject.toml, tool.karat.min: this key belongs in another table. Write it"
         " in [tool.karat.gate.min]."),
        ("[tool.karat.gat]", "pyproject.toml, tool.karat.gat: unknown key. Did you mean gate?"),
        ("[tool.karat]\ngate = 1", "pyproject.toml, tool.karat.gate: 1 is not a table"),
    ],
)  # fmt: skip
def test_an_error_in_pyproject_toml_names_the_key_also_if_the_file_was_found_automatically(
    here: Path, text: str, message: str
) -> None:
    assert message in error_from(text, "pyproject.toml")
    with pytest.raises(KaratError) as caught:
        find_config()
    assert message in str(caught.value)


def test_a_name_that_needs_quotes_in_toml_is_an_error_with_a_hint(here: Path) -> None:
    assert error_from("[gate.min]\nnDCG@10 = 0.6").endswith('in quotes: "nDCG@10" = 0.6.')


def test_a_missing_file_and_a_folder_are_errors(here: Path) -> None:
    with pytest.raises(KaratError, match=r"karat\.toml: no such file"):
        read_config("karat.toml")
    with pytest.raises(KaratError, match="this is a folder"):
        read_config(here)
    with pytest.raises(KaratError, match="is not the name of a file"):
        read_config("a\0b")
    (here / "karat.toml").mkdir()
    with pytest.raises(KaratError, match="this is a folder"):
        find_config()


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(here: Path) -> None:
    assert config_from(b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode()).rules == config_from(WHOLE).rules


def test_check_measures_names_an_unknown_measure_with_file_and_key(here: Path) -> None:
    config = config_from('[gate.min]\n"nDGC@10" = 0.6\n')
    with pytest.raises(KaratError) as caught:
        check_measures(config.rules)
    assert str(caught.value).startswith("karat.toml, gate.min.\"nDGC@10\": unknown measure 'nDGC'. Did you mean nDCG")


def test_the_relevance_threshold_is_set_in_rules_that_do_not_set_it() -> None:
    rules = [Rule("min", "AP", 0.1), Rule("min", "P(rel=1)@5", 0.1), Rule("min", "EM", 0.1), Rule("min", "my own", 3)]
    assert [rule.measure for rule in with_relevance_threshold(rules, 2)] == ["AP(rel=2)", "P@5", "EM", "my own"]
    assert with_relevance_threshold(rules, None) == tuple(rules)
    with pytest.raises(KaratError, match="here: F1 is ambiguous: it can mean F of documents or TokenF1"):
        with_relevance_threshold([Rule("min", "F1", 0.1, Place("here"))], 2)


HEADS = ("[gate]", "[gate.min]", "[gate.max-drop]", "[min]", "[[gate.max]]", "[tool.karat.gate]", "gate.min.AP = 1")
KEYS = ("AP", '"nDCG@10"', "nDCG@10", "P.5", "level", "test", "rel", "match", "baseline", "significant", '""', "é")
VALUES = ("0.5", "1e400", "-1", "nan", "true", '"t"', '"id"', "[]", "{a = 1}", "2020-01-01", "", '"\\u0000"')
lines = st.sampled_from(HEADS) | st.builds(" = ".join, st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)))


@given(st.lists(lines, max_size=6).map("\n".join) | st.text(max_size=20))
def test_any_text_is_read_or_is_an_error_that_names_the_file(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "karat.toml")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            place: str | None = read_config(path).file
        except KaratError as error:
            place = str(error.place)
        assert str(place).startswith(str(path))


def test_the_names_of_fields_in_results_are_read(here: Path) -> None:
    fields = '[gate.min]\nRR = 0.1\n[gate.field]\nretrieved = "source_nodes"\n'
    assert config_from(fields).options == {"field": {"retrieved": "source_nodes"}}
    assert error_from("[gate]\nfield = 3\n").startswith("karat.toml, gate.field: 3 is not a table")
    wrong = error_from('[gate.field]\nretreived = "x"\n')
    assert wrong.startswith("karat.toml, gate.field.retreived: 'retreived' is not a field of results. Did you mean")
    assert error_from("[gate.field]\nretrieved = 3\n").startswith("karat.toml, gate.field.retrieved: 3 is not the name")


def test_the_hint_about_quotes_is_given_only_if_quotes_would_help(here: Path) -> None:
    assert "in quotes" in error_from("[gate.min]\nnDCG@10 = 0.6\n")
    assert "in quotes" not in error_from("[gate.min]\nAP = 1\nAP = 1\n")
