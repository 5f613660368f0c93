"""The registry: how a measure is declared, and how it is found by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Literal, TypedDict, Unpack, overload

from karat.errors import KaratError, did_you_mean, require, shown
from karat.registry.measure import Combine, Definition, Effect, Function, Measure, Takes, build_measure
from karat.registry.names import Value, parse_name
from karat.registry.parameters import parameters_of

_definitions: dict[str, Definition] = {}
# Some names mean different measures for documents and for answers: F1 is F or TokenF1.
Subject = Literal["documents", "answers"]
_aliases: dict[Subject, dict[str, tuple[str, Mapping[str, str]]]] = {"documents": {}, "answers": {}}

# Measures of other libraries that karat does not have: the error names the library instead of a similar name.
_NOT_IN_KARAT = {
    "ir_measures": (
        "alpha_nDCG α-nDCG α_nDCG alpha-nDCG alpha_DCG α_DCG Compat ERR_IA nERR_IA NERR8 NERR9 NERR10 NERR11 NRBP nNRBP"
        " AP_IA MAP_IA P_IA StRecall INST INSQ BPM SDCG Accuracy SetRelP"
    ).split(),
    "trec_eval": (
        "11pt_avg Rprec_mult utility binG G ndcg_rel Rndcg relstring gm_bpref set_relative_P num_nonrel_judged_ret"
        " yaap prefs_simp prefs_pair prefs_avgjg prefs_simp_ret prefs_pair_ret prefs_num_prefs_poss qrels_jg"
        " map_avgjg P_avgjg Rprec_mult_avgjg runid"
    ).split(),
}


class Metadata(TypedDict, total=False):
    """The arguments of `register`: what is known about a measure besides its function."""

    name: str
    """the name, if it differs from the function's"""
    at: str
    """the parameter that is written after the `@`, if it is not `k`"""
    formula: str
    reference: str
    bounds: tuple[float, float]
    higher_is_better: bool
    combine: Combine
    """how the values of all queries are combined: `mean`, `sum` or `geometric`"""
    graded: bool
    """whether the measure uses the grades themselves, not only whether a document is relevant"""
    takes: Takes
    """the data it reads: `judged` documents, `spans` or `answers`"""
    aliases: tuple[str, ...]
    """other names. An alias may set parameters (`rbp(p=0.9)`). An alias that ends in `_` is followed by a number: the
    cut-off (`P_` accepts `P_5` and `P.5`), or the parameter marked with `?` (`rbp_(p=?)` accepts `rbp.95`)"""
    synonyms: Mapping[str, Mapping[str, tuple[str, str]]]
    """parameters of other libraries: maps each of their values to a parameter and its value here"""
    example_at: str
    """the cut-off that the error suggests if a required one is missing"""
    conflict: Callable[[Measure], str | None]
    """a function that describes what is wrong with a combination of parameters, or returns None"""
    unjudged: Callable[[Measure], Effect | None]
    """a function that returns how the value changes if an unjudged document is relevant, for `scores.bounds`:
    `monotone` if it never falls; `normalized` if it may fall, but not if a relevant document moves up, and if a
    relevant document below the cut-off never raises it; None if neither is certain"""


@overload
def register(function: Function, /) -> Measure: ...
@overload
def register(**metadata: Unpack[Metadata]) -> Callable[[Function], Measure]: ...
def register(
    function: Function | None = None, /, **metadata: Unpack[Metadata]
) -> Measure | Callable[[Function], Measure]:
    """Register a function `(judged, *, parameters) -> one value per query` as a measure.

    The keyword parameters of the function are the parameters of the measure; `k` is written after the `@`. `Metadata`
    lists the optional arguments.

    >>> @register
    ... def Top1(judged, *, rel: float = 1):
    ...     "1 if the first document is relevant, else 0."
    ...     return judged.found(1, rel) > 0
    >>> import karat
    >>> karat.evaluate({"q": {"a": 1}}, {"q": ["a", "b"]}, ["Top1"])["Top1"]
    1.0
    """

    def declare(function: Function) -> Measure:
        if isinstance(function, Measure):
            raise KaratError(f"{function} is already a measure", hint="Register a function.")
        parameters = parameters_of(function)
        complete = metadata.copy()
        complete.setdefault("name", function.__name__)
        if "k" in parameters:
            complete.setdefault("at", "k")
        definition = Definition(function=function, parameters=parameters, **complete)
        _add(definition)
        return Measure(definition.name, definition=definition)

    return declare if function is None else declare(function)


def definitions() -> list[Definition]:
    """Every registered measure, in the order of registration."""
    return list(_definitions.values())


def parse(text: str, subject: Subject = "documents") -> Measure:
    """The measure with this name, in karat's spelling or that of another library.

    A few names mean one measure for documents and another for answers; `subject` selects one of them. The error for an
    unknown name suggests similar ones.
    """
    found = _parse(text, subject)
    if found is None:
        raise _unknown(parse_name(text).name)
    return found


def meanings(text: str) -> list[Measure]:
    """All measures that a name can mean: none, one, or one for documents and one for answers, in this order."""
    found: list[Measure] = []
    for subject in _aliases:
        with suppress(KaratError):
            measure = _parse(text, subject)
            found += [] if measure is None else [measure]
    return list(dict.fromkeys(found))


def _parse(text: str, subject: Subject) -> Measure | None:
    """The measure with this name, with its parameters set; None if there is none."""
    # ranx writes the lowest relevant grade as a suffix: map@100-l2.
    level = re.fullmatch(r"(.+)-l(\d+)", text.strip())
    if level and text.strip() not in _definitions:
        measure = _parse(level[1], subject)
        return None if measure is None else measure(rel=level[2])
    name, given, cutoff = parse_name(text)
    found = _find(name, cutoff, subject)
    if found is None:
        return None
    definition, preset = found
    settings: dict[str, object] = {**preset, **given}
    if cutoff is not None:
        if definition.at is None:
            raise KaratError(f"{definition.name} takes no cut-off, but {shown(text)} has one")
        require(not {definition.at, "cutoff"} & given.keys(), f"{shown(text)} sets its cut-off twice")
        settings[definition.at] = cutoff
    return build_measure(definition, settings).check()


def unpickle_measure(name: str, settings: tuple[tuple[str, Value], ...], module: str) -> Measure:
    """The measure that was pickled, once the module that registers it is imported."""
    import_module(module)
    return Measure(name, settings, definition=_definitions[name])


def definitions_of(text: str) -> list[Definition]:
    """The definitions that a name stands for, ignoring its parameters: one, or one per subject."""
    name, _, cutoff = parse_name(text)
    found = [match[0] for subject in _aliases if (match := _find(name, cutoff, subject))]
    if not found:
        raise _unknown(name)
    return list({definition.name: definition for definition in found}.values())


def _find(name: str, cutoff: str | None, subject: Subject) -> tuple[Definition, dict[str, object]] | None:
    """The definition with this name, alias or alias with a number, and the parameters that the alias sets."""
    if name in _definitions:
        return _definitions[name], {}
    for aliases in (_aliases[subject], *_aliases.values()):
        if name in aliases:
            target, settings = aliases[name]
            return _definitions[target], dict(settings)
    return _with_suffix(name) if cutoff is None else None


def _with_suffix(name: str) -> tuple[Definition, dict[str, object]] | None:
    """The same for names of trec_eval and ranx that end in a number: P_5, ndcg_cut.10, rbp.95."""
    suffix = re.fullmatch(r"(.+?)([_.])(\d*\.?\d+)", name)
    if suffix is None or suffix[1] + "_" not in _aliases["documents"]:
        return None
    target, preset = _aliases["documents"][suffix[1] + "_"]
    definition, number = _definitions[target], suffix[3]
    slot = next((key for key, value in preset.items() if value == "?"), definition.at) or ""
    if definition.parameters[slot].kind is float and suffix[2] == "." and "." not in number:
        number = f"0.{number}"
    return definition, {**preset, slot: number}


def _unknown(name: str) -> KaratError:
    stem = re.sub(r"[_.]\d*\.?\d+$", "", name)
    for peer, names in _NOT_IN_KARAT.items():
        if name in names or stem in names:
            return KaratError(
                f"karat does not have the measure {name} of {peer}",
                hint="`karat measures` lists all measures, and `karat.register` adds your own.",
            )
    near = did_you_mean(name, [*_definitions, *(alias.rstrip("_") for known in _aliases.values() for alias in known)])
    return KaratError(f"unknown measure {shown(name)}", hint=f"{near} `karat measures` lists all measures.".strip())


def _add(definition: Definition) -> None:
    name, rename = definition.name, "Register yours with another name=."
    valid = re.fullmatch(r"\w[\w.+-]*", name) and name != "query"
    require(valid, f"{shown(name)} cannot be the name of a measure")
    known = _definitions.get(name)
    redefined = known is not None and _same_place(known.function, definition.function)
    require(known is None or redefined, f"a measure named {name} already exists", rename)
    own_aliases = _aliases["answers" if definition.takes == "answers" else "documents"]
    aliases = {}
    for text in definition.aliases:
        alias, settings, _ = parse_name(text)
        owner = alias if alias in _definitions else own_aliases.get(alias, (name,))[0]
        require(owner == name, f"{name}: the alias {alias} belongs to {owner}")
        aliases[alias] = (name, settings)
    if known is None:
        for others in _aliases.values():
            owner = others.get(name, (name,))[0]
            require(owner == name, f"{name} is an alias of {owner}", rename)
    _definitions[name] = definition
    own_aliases.update(aliases)


def _same_place(one: Function, other: Function) -> bool:
    """Whether it is the same function defined again, as when a notebook cell is run twice."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
