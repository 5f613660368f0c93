"""The grammar of names: a written name parses to the same measure, and a wrong one is an error with suggestions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError
from karat.errors import nearest
from karat.measures import AP, Measure, definitions, nDCG, parse
from karat.registry.names import ParsedName, parse_name, split_names
from karat.registry.parameters import Parameter


def values_of(parameter: Parameter) -> st.SearchStrategy[Any]:
    """Any valid value of a parameter."""
    if parameter.choices:
        return st.sampled_from(parameter.choices)
    low, high = parameter.help.low, parameter.help.high
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


def test_names_in_one_string_are_split_outside_of_parentheses() -> None:
    assert split_names("AP(rel=2, norm=found) nDCG@10,RR\tP@5") == ["AP(rel=2, norm=found)", "nDCG@10", "RR", "P@5"]
    assert split_names("") == []


def test_similar_names_are_found_ignoring_case() -> None:
    assert nearest("NDGC", ["nDCG", "AP", "Bpref"]) == ["nDCG"]
    assert nearest("zzz", ["nDCG", "AP"]) == []
