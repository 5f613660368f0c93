"""The grammar of measure names: `name(parameter=value, ...)@cutoff`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from karat.errors import KaratError, require, shown
from karat.registry.trec_eval_names import continues, read_parameters

Pairs = tuple[tuple[float, float], ...]
"""A mapping of numbers to numbers as a parameter has it: sorted, without numbers that map to themselves."""
Numbers = tuple[float, ...]
"""Numbers as a parameter has them: in ascending order."""
Value = str | int | float | bool | Pairs | Numbers | None

LONGEST_NAME = 1_000
"""The most characters that a name may have, parameters included."""

_QUOTED = r"""'[^']*+'|"[^"]*+\""""
# Quantifiers that never give back (`++`) keep the time proportional to the length.
_SHAPE = re.compile(
    r"\s*+(?P<name>[^\s()@,=]++)\s*+"
    rf"""(?:\((?P<parameters>(?:[^()'"]++|{_QUOTED})*+)\))?+\s*+"""
    r"(?:@\s*+(?P<cutoff>[^\s()@,=]++))?+\s*+"
)
# What is between commas outside of quotes and braces.
_PARAMETER = re.compile(rf"""(?:^|,)((?:[^,'"{{}}]++|{_QUOTED}|\{{(?:[^'"{{}}]++|{_QUOTED})*+\}}|[{{}}])*+)""")
_NAME = re.compile(
    r"""[^\s,(@]+(?:\s*\((?:[^)'"]|'[^']*'|"[^"]*"|['"])*\)?)?"""
    r"(?:\s*@\s*(?:[(\[][^()\[\]]*[)\]]|[^\s,]*))?[^\s,]*|[^\s,]+"
)
# Several cut-offs as Python writes them: P@(5, 10), P@[5, 10].
_CUTOFFS = re.compile(r"(.*@)\s*[(\[]([^()\[\]]*)[)\]]", re.DOTALL)
_SPECIAL = re.compile(r"[\s(){},=@'\"]")
NUMBER = r"(?:\d*+\.)?+\d+"
# What a list of cut-offs has in common, before its first number: `nDCG@`, `AP(rel=2)@`, `P_`, `rbp.`, `ndcg_at_`.
_BEFORE_NUMBER = re.compile(rf"(.*@|[^()@]+?[_.]){NUMBER}", re.DOTALL)
_HINT = "A measure is written name(parameter=value)@cutoff, for example nDCG@10 or AP(rel=2)@100."


class ParsedName(NamedTuple):
    """The parts of a measure's name, whether or not the measure exists."""

    name: str
    parameters: dict[str, str]
    cutoff: str | None


def parse_name(text: str) -> ParsedName:
    """Split a measure's name into its parts.

    >>> parse_name("nDCG(gain=exp, discount='jk')@10")
    ParsedName(name='nDCG', parameters={'gain': 'exp', 'discount': 'jk'}, cutoff='10')
    """
    check_length(text)
    if as_in_trec_eval := read_parameters(text.strip()):
        return ParsedName(*as_in_trec_eval, None)
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise KaratError(f"{shown(text)} is not a valid measure name", hint=_HINT)
    parameters: dict[str, str] = {}
    inside = shape["parameters"]
    for part in _PARAMETER.findall(inside) if inside and inside.strip() else []:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        value = unquote(value)
        require(
            name and equals and value, f"{shown(text)}: {shown(part.strip())} is not of the form parameter=value", _HINT
        )
        require(name not in parameters, f"{shown(text)} sets {name} twice", _HINT)
        parameters[name] = value
    return ParsedName(shape["name"], parameters, shape["cutoff"])


def check_length(text: str) -> None:
    """Refuse a name that is too long to be one: names may come from files, and are compared and printed."""
    if len(text) > LONGEST_NAME:
        what = f"{shown(text)} has {len(text):,} characters: a name has at most {LONGEST_NAME:,}, parameters included"
        raise KaratError(what)


def format_name(name: str, parameters: Iterable[tuple[str, Value]], cutoff: Value = None) -> str:
    """The name made of these parts; the inverse of `parse_name`.

    >>> format_name("AP", [("rel", 2.0)], 100)
    'AP(rel=2)@100'
    """
    inside = ", ".join(f"{key}={format_value(value)}" for key, value in parameters)
    return name + (f"({inside})" if inside else "") + ("" if cutoff is None else f"@{format_value(cutoff)}")


def format_value(value: Value) -> str:
    """A parameter's value as text: whole numbers without a fraction, and quotes if the text needs them.

    >>> format_value(90.0), format_value("::"), format_value(((1.0, 3.0), (2.0, 7.0))), format_value((0.5, 1.0))
    ('90', '::', '{1:3,2:7}', '{0.5,1}')
    """
    if isinstance(value, tuple):
        return f"{{{','.join(':'.join(map(format_value, _as_tuple(each))) for each in value)}}}"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    text = str(value)
    if not _SPECIAL.search(text):
        return text
    return f'"{text}"' if '"' not in text else f"'{text}'"


def _as_tuple(value: float | tuple[float, float]) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


def split_names(text: str) -> list[str]:
    """Several names in one text, separated by commas or spaces outside of parentheses; a list of cut-offs is several.

    >>> split_names("AP(rel=2, norm=found) nDCG@10,RR P_5,10 R@(5,10) ndcg.1=3,2=9")
    ['AP(rel=2, norm=found)', 'nDCG@10', 'RR', 'P_5', 'P_10', 'R@5', 'R@10', 'ndcg.1=3,2=9']
    """
    names: list[str] = []
    for name in _NAME.findall(text):
        if len(name) <= LONGEST_NAME and (listed := _CUTOFFS.fullmatch(name)):
            names += [f"{listed[1]}{cutoff}" for cutoff in re.split(r"[\s,]+", listed[2].strip(", \t\n"))]
            continue
        if names and len(names[-1]) <= LONGEST_NAME and continues(names[-1], name):
            names[-1] += f",{name}"
            continue
        is_number = names and len(names[-1]) <= LONGEST_NAME and re.fullmatch(NUMBER, name)
        before = _BEFORE_NUMBER.fullmatch(names[-1]) if is_number else None
        names.append(f"{before[1]}{name}" if before else name)
    return names


def unquote(value: str) -> str:
    """The text between quotes, or the text itself if it is not quoted."""
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value


def persistence(text: str, name: str, separator: str, number: str) -> str:
    """The 95 of rbp.95 and rbp@95, as ranx writes it, means 0.95; with a point it is neither ranx's nor trec_eval's."""
    stem = re.split(rf"[_.@]{NUMBER}$", name)[0]
    hint = f"Write {stem}.p={number if '.' in number else f'0.{number}'}, as in trec_eval."
    require(separator != "_" and "." not in number, f"{shown(text)} is not a name of trec_eval or ranx", hint)
    return f"0.{number}"
