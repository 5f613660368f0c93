"""The grammar of names: a written name parses to the same measure, and a wrong one is an error with suggestions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError
from karat.comparison.gate.rules import Rule
from karat.errors import nearest
from karat.matching import matcher_of
from karat.measures import AP, Measure, definitions, meanings, nDCG, parse
from karat.registry.names import ParsedName, parse_name, split_names
from karat.registry.parameters import MeasureParameter
from karat.registry.selection import select_measures


def values_of(parameter: MeasureParameter) -> st.SearchStrategy[Any]:
    """Any valid value of a parameter."""
    if parameter.choices:
        return st.sampled_from(parameter.choices)
    if parameter.kind is bool:
        return st.booleans()
    if parameter.kind is tuple:
        numbers = st.floats(allow_nan=False, allow_infinity=False)
        return st.dictionaries(numbers, numbers, max_size=4)
    low, high = parameter.help.low, parameter.help.high
    if parameter.kind is list:
        return st.lists(st.floats(low, high), min_size=1, max_size=4)
    if parameter.kind is int:
        return st.integers(int(low or 0), 10**9)
    open_end = parameter.help.exclusive
    return st.floats(low, high, allow_nan=False, allow_infinity=False, exclude_min=open_end and low is not None,
                     exclude_max=open_end and high is not None)  # fmt: skip


@st.composite
def measures(draw: st.DrawFn) -> Measure:
    definition = draw(st.sampled_from(definitions()))
    settings = {name: draw(values_of(parameter)) for name, parameter in definition.parameters.items()}
    return Measure(definition.name, definition=definition)(**settings)


@given(measures())
def test_parsing_the_name_of_a_measure_returns_the_measure(measure: Measure) -> None:
    try:
        measure.check()
    except KaratError:
        with pytest.raises(KaratError):
            parse(str(measure))
        return
    assert parse(str(measure)) == measure
    assert str(parse(str(measure))) == str(measure)
    assert hash(parse(str(measure))) == hash(measure)


def test_a_name_is_split_into_name_parameters_and_cutoff() -> None:
    parts = ParsedName("nDCG", {"gain": "exp", "discount": "jk"}, "10")
    assert parse_name(" nDCG ( gain = exp , discount='jk' ) @ 10 ") == parts
    assert parse_name("AP()") == ParsedName("AP", {}, None)


@pytest.mark.parametrize(
    "text", ["", " ", "nDCG@", "nDCG(", "nDCG)", "@10", "nDCG@10@5", "AP(rel)", "AP(rel=)", "AP(=2)", "AP(rel=2,)",
             "a b", "AP(rel=1, rel=2)", "AP(rel=(1))", "nDCG@10 x", "\x00"]
)  # fmt: skip
def test_an_invalid_name_is_an_error_that_shows_the_grammar(text: str) -> None:
    with pytest.raises(KaratError, match=r"nDCG@10|unknown measure"):
        parse(text)


@given(st.text(max_size=30))
def test_any_text_is_a_measure_or_a_clear_error(text: str) -> None:
    try:
        measure = parse(text)
    except KaratError:
        return
    assert parse(str(measure)) == measure


def test_names_omit_defaults_and_write_numbers_in_their_short_form() -> None:
    assert str(parse("AP(rel=1, norm=relevant)@100")) == "AP@100"
    assert str(parse("AP(rel=2.0)")) == "AP(rel=2)"
    assert str(parse("P(rel=1.5)@5")) == "P(rel=1.5)@5"
    assert str(parse("IPrec@0.10")) == "IPrec@0.1"
    assert str(parse("RBP(p=8e-1)")) == "RBP"


def test_parameters_are_in_declaration_order_however_they_were_given() -> None:
    assert parse("nDCG(discount=jk, gain=exp)@5") == parse("nDCG(gain=exp, discount=jk)@5")
    assert str(parse("nDCG(discount=jk, gain=exp)@5")) == "nDCG(gain=exp, discount=jk)@5"


def test_measures_built_in_python_equal_those_parsed_from_names() -> None:
    assert nDCG @ 10 == parse("nDCG@10")
    assert AP(rel=2) @ 100 == parse("AP(rel=2)@100")
    assert AP(rel=2)(norm="found") == parse("AP(rel=2, norm=found)")
    assert {nDCG @ 10: 1}[parse("ndcg_cut_10")] == 1


@given(st.lists(measures()), st.sampled_from([",", ", ", " ", " , "]))
def test_names_joined_to_one_text_are_split_into_the_same_names(listed: list[Measure], separator: str) -> None:
    names = list(map(str, listed))
    assert split_names(separator.join(names)) == names


@given(st.text(max_size=40) | st.text(" ,@()_.{}:='\"15nDCGAPrel", max_size=30))
def test_any_text_selects_measures_or_is_a_clear_error(text: str) -> None:
    with suppress(KaratError):
        for measure, names in select_measures(text).items():
            assert parse(str(measure)) == measure
            assert [parse(name) for name in names] == [measure] * len(names)


def test_names_in_one_string_are_split_outside_of_parentheses() -> None:
    assert split_names("AP(rel=2, norm=found) nDCG@10,RR\tP@5") == ["AP(rel=2, norm=found)", "nDCG@10", "RR", "P@5"]
    assert split_names("") == []
    assert split_names("AP (rel=2) nDCG @ 10, P@5") == ["AP (rel=2)", "nDCG @ 10", "P@5"]
    assert split_names("(AP )x") == ["(AP", ")x"]


LISTS = {
    "nDCG@1,5,10": ["nDCG@1", "nDCG@5", "nDCG@10"],
    "nDCG@1, 5 AP": ["nDCG@1", "nDCG@5", "AP"],
    "nDCG@1,5,AP": ["nDCG@1", "nDCG@5", "AP"],
    "P_5,10": ["P@5", "P@10"],
    "P.5,10,AP": ["P@5", "P@10", "AP"],
    "ndcg_cut.5,10": ["nDCG@5", "nDCG@10"],
    "ndcg_at_1,3": ["nDCG@1", "nDCG@3"],
    "AP(rel=2)@10,100": ["AP(rel=2)@10", "AP(rel=2)@100"],
    "nDCG(gains={1:2,3:4})@1,5": ["nDCG(gains={1:2,3:4})@1", "nDCG(gains={1:2,3:4})@5"],
    "P@(5,10)": ["P@5", "P@10"],
    "P@[5, 10]": ["P@5", "P@10"],
    "P @ (5, 10) AP": ["P@5", "P@10", "AP"],
    "AP(rel=2)@(10,100)": ["AP(rel=2)@10", "AP(rel=2)@100"],
    "IPrec@(0.1,0.2),P@(5,)": ["IPrec@0.1", "IPrec@0.2", "P@5"],
    "rbp.80,95": ["RBP", "RBP(p=0.95)"],
    "iprec_at_recall_0.10,0.20": ["IPrec@0.1", "IPrec@0.2"],
    "iprec_at_recall..10,.20": ["IPrec@0.1", "IPrec@0.2"],
}


@pytest.mark.parametrize(("text", "selected"), LISTS.items())
def test_a_list_of_cutoffs_is_several_measures_in_every_spelling_and_collection(text: str, selected: list[str]) -> None:
    collections: list[Any] = [text, [text], (text,), {text}, iter([text]), (each for each in [text]), {text: 1}]
    for given_measures in collections:
        assert list(map(str, select_measures(given_measures))) == selected
    assert list(map(str, select_measures([text, "RR", nDCG @ 7]))) == [*selected, "RR", "nDCG@7"]


def test_the_measures_of_a_set_are_in_the_order_of_their_names() -> None:
    names = {"recip_rank", "map", "P_5,10", "bpref", "ndcg_cut.5"}
    expected = ["P@5", "P@10", "Bpref", "AP", "nDCG@5", "RR"]
    assert list(map(str, select_measures(names))) == list(map(str, select_measures(frozenset(names)))) == expected


def test_the_names_that_trec_eval_uses_for_several_cutoffs_are_those_measures() -> None:
    cutoffs = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    assert list(select_measures("ndcg_cut")) == [nDCG @ k for k in cutoffs]
    assert list(select_measures({"map_cut"})) == [AP @ k for k in cutoffs]
    assert list(select_measures("map_cut(rel=2)")) == [AP(rel=2) @ k for k in cutoffs]
    assert list(select_measures("map_cut", rel=2)) == [AP(rel=2) @ k for k in cutoffs]
    assert [str(measure) for measure in select_measures("iprec_at_recall")][:3] == ["IPrec@0", "IPrec@0.1", "IPrec@0.2"]
    official = list(map(str, select_measures("official")))
    assert official[:9] == ["NumQ", "NumRet", "NumRel", "NumRelRet", "AP", "GMAP", "Rprec", "Bpref", "RR"]
    assert official[9:] == [f"IPrec@{k / 10:g}" for k in range(11)] + [f"P@{k}" for k in cutoffs]


@pytest.mark.parametrize(("text", "number"), [("nDCG@1,5", 2), ("ndcg_cut", 9), ("AP RR", 2), ("P@(5,10)", 2)])
def test_several_measures_where_one_is_needed_are_an_error_that_names_one_of_them(text: str, number: int) -> None:
    with pytest.raises(
        KaratError, match=rf"stands for {number} measures, but one is needed\. Name one of them, such as"
    ):
        parse(text)


@pytest.mark.parametrize("measures", [[""], ["AP", ""], [" , "], ("",)])
def test_an_empty_name_is_an_error(measures: Any) -> None:
    with pytest.raises(KaratError, match="is not a measure"):
        select_measures(measures)


def test_gains_are_a_mapping_in_a_name_and_in_python() -> None:
    measure = nDCG(gains={2: 3, 0: 0, 1: 0.5}) @ 10
    assert str(measure) == "nDCG(gains={1:0.5,2:3})@10"
    for text in (
        "nDCG(gains={0:0,1:0.5,2:3})@10",
        "nDCG( gains = { 2 : 3, 1: .5 } )@10",
        "ndcg(gains='{1:0.5,2:3}')@10",
    ):
        assert parse(text) == measure
    assert parse("nDCG(gains={1:1,2:2})") == parse("nDCG(gains={})") == nDCG
    for wrong in ("{1}", "{1:a}", "{1:2,1:3}", "{1:nan}", "1:2", "{1:2:3}", "{,}", "{1:2", "2"):
        with pytest.raises(KaratError, match=r"a mapping of numbers, such as \{1:1,2:3\}|not a valid|parameter=value"):
            parse(f"nDCG(gains={wrong})@10")
    with pytest.raises(KaratError, match="leave one of them out"):
        parse("nDCG(gain=exp, gains={1:2})")


def test_the_cutoff_after_the_at_sign_counts_if_there_is_another_one() -> None:
    assert parse("P(cutoff=5)@10") == parse("P(k=5)@10") == parse("P@5")(k=10) == parse("P@10")


def test_a_hint_never_proposes_the_name_that_was_refused() -> None:
    assert nearest("nDCG", ["nDCG", "ndcg", "DCG"]) == ["ndcg", "DCG"]
    assert nearest("nDCG", ["nDCG"]) == []


def test_similar_names_are_found_ignoring_case() -> None:
    assert nearest("NDGC", ["nDCG", "AP", "Bpref"]) == ["nDCG"]
    assert nearest("zzz", ["nDCG", "AP"]) == []


LONG = {
    "commas": "AP(" + 20_000 * ",",
    "closed": "AP(" + 20_000 * "," + ")",
    "parameters": f"AP({', '.join(f'a{at}=1' for at in range(20_000))})",
    "braces": "nDCG(gains=" + 20_000 * "{" + ")",
    "mapping": f"nDCG(gains={{{','.join(f'{at}:1' for at in range(20_000))}}})",
    "quotes": "AP(rel=" + 10_000 * "'\"" + ")",
    "parentheses": "AP" + 100_000 * "(" + 100_000 * ")",
    "spaces": "AP" + 20_000 * " " + "x",
    "levels": "map" + 20_000 * "-l1",
    "digits": "AP@" + 20_000 * "9",
    "number": "P_" + 20_000 * "1" + "x",
    "suffixes": "P" + 20_000 * "_at_5",
    "name": 1_000_000 * "x",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_name_that_is_too_long_is_an_error_that_shows_its_beginning(text: str) -> None:
    with pytest.raises(KaratError, match="a name has at most 1,000, parameters included") as caught:
        parse(text)
    assert len(str(caught.value)) < 200
    assert meanings(text) == []
    with pytest.raises(KaratError):
        select_measures(text)
    with pytest.raises(KaratError, match="at most 1,000"):
        matcher_of(text)
    # In a file, it may be the name of a column that another tool wrote.
    assert Rule("min", text, 0.5).measure == text


def test_a_measure_whose_name_would_be_too_long_to_parse_is_an_error() -> None:
    gains = {grade: grade + 1 for grade in range(1_000)}
    with pytest.raises(KaratError, match=r"'nDCG\(gains=.* has 7,796 characters: a name has at most 1,000"):
        nDCG(gains=gains)


def test_a_list_of_many_names_is_not_too_long() -> None:
    names = [f"P@{cutoff}" for cutoff in range(1, 500)]
    assert list(map(str, select_measures(",".join(names)))) == names


def test_of_several_suffixes_for_the_relevant_grade_the_last_one_counts() -> None:
    assert parse("map@100-l1-l3-l2") == AP(rel=2) @ 100
    assert parse("map" + 300 * "-l2") == AP(rel=2)


@given(st.lists(st.text("ab=:.,{}'\"", min_size=1, max_size=5), min_size=1, max_size=4))
def test_only_commas_outside_of_quotes_and_braces_separate_parameters(values: list[str]) -> None:
    quoted = [f"'{value}'" if "'" not in value else f'"{value}"' for value in values if not {"'", '"'} <= set(value)]
    inside = ", ".join(f"p{at}={value}" for at, value in enumerate(quoted))
    expected = {f"p{at}": value[1:-1] for at, value in enumerate(quoted)}
    assert parse_name(f"AP({inside})").parameters == expected
    assert parse_name("AP(gains={1:2,3:4}, rel={5,6})").parameters == {"gains": "{1:2,3:4}", "rel": "{5,6}"}
    assert parse_name("AP(gains={1, rel=2}, k=}3)").parameters == {"gains": "{1, rel=2}", "k": "}3"}
    # A brace in quotes is text, and no character is left out.
    assert parse_name("AP(gains={'1':2,'3':4}, rel='{')").parameters == {"gains": "{'1':2,'3':4}", "rel": "{"}
    assert parse_name("""AP(gains={"},k=1")""").parameters == {"gains": """{"},k=1\""""}


@pytest.mark.parametrize(
    "name", ["AP\0", "AP\ud800", "\u202eAP@10", "P@1e999", "AP@" + 900 * "9", "ERR(max_grade=1e400)"]
)
def test_names_with_hostile_characters_and_numbers_are_errors(name: str) -> None:
    with pytest.raises(KaratError) as caught:
        parse(name)
    str(caught.value).encode()


def test_very_long_names_have_no_suggestions() -> None:
    assert nearest(1_000_000 * "x", ["AP", 999_999 * "x"]) == []
    assert nearest("nDGC", ["nDCG", 1_000_000 * "x"]) == ["nDCG"]
