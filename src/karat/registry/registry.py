"""Measures by name: how one is declared and found."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Literal, TypedDict, Unpack, overload

from karat.errors import KaratError, did_you_mean, shown
from karat.registry.measure import Combine, Definition, Effect, Function, Measure, Takes, measure_of
from karat.registry.names import Value, spelling
from karat.registry.parameters import parameters_of

_definitions: dict[str, Definition] = {}
# Where answers are evaluated, F1 is another measure than where documents are.
Subject = Literal["documents", "answers"]
_aliases: dict[Subject, dict[str, tuple[str, Mapping[str, str]]]] = {"documents": {}, "answers": {}}

# Names that users know from a peer and that karat does not have: said plainly instead of guessed at.
_ELSEWHERE = {
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


class About(TypedDict, total=False):
    """What can be said of a measure when it is registered."""

    name: str
    """its name, if it is not the function's"""
    at: str
    """the parameter that follows the `@`, if it is not `k`"""
    formula: str
    reference: str
    bounds: tuple[float, float]
    higher_is_better: bool
    combine: Combine
    """how the values of the queries become one: `mean`, `sum` or `geometric`"""
    graded: bool
    """whether grades count as they are, and not only as relevant or not"""
    takes: Takes
    """what it is computed from: `judged` documents, `spans` of them, or `answers`"""
    aliases: tuple[str, ...]
    """other names; one may set parameters (`rbp(p=0.9)`); one that ends in `_` takes a number, which is the cut-off
    (`P_` accepts `P_5` and `P.5`) or the parameter marked `?` (`rbp_(p=?)` accepts `rbp.95`)"""
    synonyms: Mapping[str, Mapping[str, tuple[str, str]]]
    """parameters under a peer's name: what each of its values sets"""
    example_at: str
    """a cut-off to suggest where one is needed and none is given"""
    forbids: Callable[[Measure], str | None]
    """what is wrong with a combination of parameters that makes no sense"""
    unjudged: Callable[[Measure], Effect | None]
    """how the value changes if an unjudged document turns out to be relevant, which `scores.bounds` relies on:
    it never falls (`monotone`); or it may fall, but never if a relevant document moves up, and a relevant document
    below the cut-off never raises it (`normalised`); None if neither is certain"""


@overload
def register(function: Function, /) -> Measure: ...
@overload
def register(**about: Unpack[About]) -> Callable[[Function], Measure]: ...
def register(function: Function | None = None, /, **about: Unpack[About]) -> Measure | Callable[[Function], Measure]:
    """Make a function `(judged, *, parameters) -> one value per query` a measure, found by its name.

    The keyword parameters of the function are the measure's; `k` is what follows the `@`. `About` says what else
    can be told.

    >>> @register
    ... def Top1(judged, *, rel: float = 1):
    ...     "1 where the first document is relevant."
    ...     return judged.found(1, rel) > 0
    >>> import karat
    >>> karat.evaluate({"q": {"a": 1}}, {"q": ["a", "b"]}, ["Top1"])["Top1"]
    1.0
    """

    def declare(function: Function) -> Measure:
        if isinstance(function, Measure):
            raise KaratError(f"{function} is a measure already", hint="Register a function.")
        parameters = parameters_of(function)
        told = about.copy()
        told.setdefault("name", function.__name__)
        if "k" in parameters:
            told.setdefault("at", "k")
        definition = Definition(function=function, parameters=parameters, **told)
        _admit(definition)
        return Measure(definition.name, definition=definition)

    return declare if function is None else declare(function)


def definitions() -> list[Definition]:
    """Every registered measure, in the order of registration."""
    return list(_definitions.values())


def parse(text: str, subject: Subject = "documents") -> Measure:
    """The measure of this name, in karat's spelling or a peer's; if there is none, the error suggests similar names.

    Some names mean one measure of documents and another one of answers; the subject says which is wanted.
    """
    found = _parsed(text, subject)
    if found is None:
        raise _unknown(spelling(text).name)
    return found


def meanings(text: str) -> list[Measure]:
    """The measures that this name can mean: none, one, or one of documents and one of answers, in this order."""
    found: list[Measure] = []
    for subject in _aliases:
        with suppress(KaratError):
            measure = _parsed(text, subject)
            found += [] if measure is None else [measure]
    return list(dict.fromkeys(found))


def _parsed(text: str, subject: Subject) -> Measure | None:
    """The measure of a name with its parameters set; None if no measure has this name."""
    # ranx's way to say from which grade on a document is relevant: map@100-l2.
    level = re.fullmatch(r"(.+)-l(\d+)", text.strip())
    if level and text.strip() not in _definitions:
        measure = _parsed(level[1], subject)
        return None if measure is None else measure(rel=level[2])
    name, given, cutoff = spelling(text)
    found = _find(name, cutoff, subject)
    if found is None:
        return None
    definition, preset = found
    settings: dict[str, object] = {**preset, **given}
    if cutoff is not None:
        if definition.at is None:
            raise KaratError(f"{definition.name} takes no cut-off, but {shown(text)} gives one")
        if definition.at in given or "cutoff" in given:
            raise KaratError(f"{shown(text)} gives its cut-off twice")
        settings[definition.at] = cutoff
    return measure_of(definition, settings).check()


def restored(name: str, settings: tuple[tuple[str, Value], ...], module: str) -> Measure:
    """A measure that was pickled: the module that registers it is imported first."""
    import_module(module)
    return Measure(name, settings, definition=_definitions[name])


def definitions_of(text: str) -> list[Definition]:
    """The definitions behind a name, whatever parameters it gives or leaves open: one, or one of each subject."""
    name, _, cutoff = spelling(text)
    found = [match[0] for subject in _aliases if (match := _find(name, cutoff, subject))]
    if not found:
        raise _unknown(name)
    return list({definition.name: definition for definition in found}.values())


def _find(name: str, cutoff: str | None, subject: Subject) -> tuple[Definition, dict[str, object]] | None:
    """A definition by its own name, by an alias, or by one with a number in it; and what that sets."""
    if name in _definitions:
        return _definitions[name], {}
    for aliases in (_aliases[subject], *_aliases.values()):
        if name in aliases:
            target, settings = aliases[name]
            return _definitions[target], dict(settings)
    return _with_suffix(name) if cutoff is None else None


def _with_suffix(name: str) -> tuple[Definition, dict[str, object]] | None:
    """trec_eval's and ranx's spellings, where a number is part of the name: P_5, ndcg_cut.10, rbp.95."""
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
    for peer, names in _ELSEWHERE.items():
        if name in names or stem in names:
            return KaratError(
                f"karat has no {name}; {peer} has it",
                hint="`karat measures` lists what karat has, and `karat.register` adds your own.",
            )
    near = did_you_mean(name, [*_definitions, *(alias.rstrip("_") for known in _aliases.values() for alias in known)])
    return KaratError(f"there is no measure {shown(name)}", hint=f"{near} `karat measures` lists them all.".strip())


def _admit(definition: Definition) -> None:
    name = definition.name
    if not re.fullmatch(r"\w[\w.+-]*", name) or name == "query":
        raise KaratError(f"{shown(name)} cannot be the name of a measure")
    known = _definitions.get(name)
    if known is not None and not _same_place(known.function, definition.function):
        raise KaratError(f"there is a measure {name} already", hint="Register yours with another name=.")
    others = _aliases["answers" if definition.takes == "answers" else "documents"]
    aliases = {}
    for text in definition.aliases:
        alias, settings, _ = spelling(text)
        taken = _definitions.get(alias)
        if (taken and taken.name != name) or (alias in others and others[alias][0] != name):
            raise KaratError(f"{name}: the alias {alias} is taken by another measure")
        aliases[alias] = (name, settings)
    for taken_by in (known_as[name][0] for known_as in _aliases.values() if known is None and name in known_as):
        raise KaratError(f"{name} is another name of {taken_by}", hint="Register yours with another name=.")
    _definitions[name] = definition
    others.update(aliases)


def _same_place(one: Function, other: Function) -> bool:
    """Is it the same function, run again, as a notebook's cell is?"""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
