"""The registry: how a measure is declared, and how it is found by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from importlib import import_module
from typing import NamedTuple, TypedDict, Unpack, overload

from karat.errors import KaratError, Parameter, did_you_mean, require, shown
from karat.errors.arguments import check_text
from karat.registry.measure import (
    BestGrades,
    Combine,
    Definition,
    Effect,
    Function,
    LabelRelation,
    Measure,
    Subject,
    Takes,
    build_measure,
)
from karat.registry.names import LONGEST_NAME, NUMBER, Value, check_length, parse_name, persistence
from karat.registry.parameters import JUDGED_ONLY, REQUIRED, parameters_of
from karat.registry.peers import NAMES_OF_SEVERAL, IrMeasure, by_name, expand_names, not_in_karat

_definitions: dict[str, Definition] = {}
# Some names mean different measures for documents and for answers: F1 is F or TokenF1.
_aliases: dict[Subject, dict[str, tuple[str, Mapping[str, str]]]] = {
    "documents": {}, "preferences": {}, "answers": {}, "verdicts": {},
}  # fmt: skip
_LEVEL = re.compile(r"(.+)-l(\d+)")


class Metadata(TypedDict, total=False):
    """The arguments of `register`: what is known about a measure besides its function."""

    name: str
    at: str
    formula: str
    reference: str
    bounds: tuple[float, float]
    higher_is_better: bool
    combine: Combine
    graded: bool
    takes: Takes
    aliases: tuple[str, ...]
    synonyms: Mapping[str, Mapping[str, tuple[str, str]]]
    example_at: str
    conflict: Callable[[Measure], str | None]
    unjudged: Callable[[Measure], Effect | None]
    normalizer: Function
    best_grades: BestGrades
    labels: Callable[[Measure], Mapping[LabelRelation, int]]


@overload
def register(function: Function, /) -> Measure: ...
@overload
def register(**metadata: Unpack[Metadata]) -> Callable[[Function], Measure]: ...
def register(
    function: Function | None = None, /, **metadata: Unpack[Metadata]
) -> Measure | Callable[[Function], Measure]:
    """Register a function `(judged, *, parameters) -> one value per query` as a measure.

    The keyword parameters of the function are the parameters of the measure; `k` is written after the `@`. All
    arguments are optional:

    - `name`, if it differs from the function's, and `at`, the parameter after the `@`, if it is not `k`.
    - `formula`, `reference`, `bounds` (the range), `higher_is_better`, and how values of queries are combined
      (`combine`): by `"mean"`, `"sum"` or `"geometric"`.
    - `graded`: whether the measure uses the grades themselves, not only whether a document is relevant.
    - `takes`: `"judged"` documents, the `"pool"` of all, `"spans"`, `"preferences"`, `"answers"` or `"verdicts"`.
    - `aliases`: other names. An alias may set parameters (`rbp(p=0.9)`). One that ends in `_` is followed by a number:
      the cut-off (`P_` accepts `P_5` and `P.5`), or the parameter marked with `?` (`rbp_(p=?)` accepts `rbp.95`). One
      with an `@` is used only with a cut-off (`precision@k`), which may also be a parameter (`rbp(p=?)@p`).
    - `synonyms`: parameters of other libraries: maps each of their values to a parameter and its value here.
    - `example_at`: the cut-off in the error about a missing one.
    - `conflict`: a function that describes what is wrong with a combination of parameters, or returns None.
    - `unjudged`: a function that returns how the value changes if an unjudged document gets a higher grade, for
      `scores.bounds`: `"monotone"` if it never falls; `"monotone_above_cutoff"` if it falls only for a document below
      the cut-off; `"monotone_after_first"` if it falls only for the first document that is found relevant, if at all;
      `"normalized"` if it may fall, but not if a relevant document moves up, and if a relevant document below the
      cut-off never raises it; None if none of these is certain. The lowest value of a graded measure of the last two
      kinds must be one of grades that are 0 or the highest.
    - `normalizer`, of a `"normalized"` measure: a function with the same arguments that returns what the value is
      divided by; neither this nor the dividend falls if one more document is relevant. Without it, bounds of more than
      128 unjudged documents are those of the measure.
    - `best_grades`, of a graded measure that a higher grade may lower: a function that returns how many of the topmost
      unjudged documents of each query have a grade above 0 where the value is highest, and all these grades. Its
      arguments: queries without these documents, which ranks have one (a row per query), their highest grade, and the
      parameters. Without it, the highest value is that of the measure.
    - `labels`, of a measure of verdicts: a function that returns the relations it reads, each with the direction in
      which the value goes if a label rises (1 never down, -1 never up, 0 either). Without it, missing labels give the
      bounds of the measure.

    >>> @register
    ... def Top1(judged, *, rel: float = 1):
    ...     "1 if the first document is relevant, else 0."
    ...     return judged.found(1, rel) > 0
    >>> import karat
    >>> karat.evaluate({"q": {"a": 1}}, {"q": ["a", "b"]}, ["Top1"])["Top1"]
    1.0
    """
    return partial(_registered, metadata) if function is None else _registered(metadata, function)


def _registered(metadata: Metadata, function: Function) -> Measure:
    if isinstance(function, Measure):
        raise KaratError(f"{function} is already a measure", hint="Register a function.")
    named = callable(function) and isinstance(getattr(function, "__name__", None), str)
    require(named, f"{shown(function)} is not a function", "Register a function of judged documents.")
    parameters = parameters_of(function)
    complete = metadata.copy()
    if complete.get("takes", "judged") == "judged":
        parameters = {**parameters, JUDGED_ONLY.name: parameters.get(JUDGED_ONLY.name, JUDGED_ONLY)}
    complete.setdefault("name", function.__name__)
    for option in ("conflict", "unjudged", "normalizer", "best_grades", "labels"):
        if option in complete and not callable(complete[option]):
            hint = 'Pass a function, for example unjudged=lambda measure: "monotone".'
            raise KaratError([Parameter(option, complete[option]), " is not a function"], hint=hint)
    if "k" in parameters:
        complete.setdefault("at", "k")
    definition = Definition(function=function, parameters=parameters, **complete)
    add_definition(definition)
    return Measure(definition.name, definition=definition)


def definitions() -> list[Definition]:
    """Every registered measure, in the order of registration.

    >>> [each.name for each in definitions() if each.reference.startswith("Moffat")]
    ['RBP', 'RBPResidual']
    """
    return list(_definitions.values())


def parse(text: str | IrMeasure, subject: Subject = "documents") -> Measure:
    """The measure with this name, in karat's spelling or that of another library, or a measure of ir_measures.

    A few names mean one measure for documents and another for answers; `subject` selects one of them. The error for an
    unknown name suggests similar ones.

    >>> parse("ndcg_cut_10"), parse("nDCG(gain=exp)@5").get("gain"), parse("MRR@10").cutoff
    (Measure('nDCG@10'), 'exp', 10)
    """
    text = by_name(text)
    if not isinstance(text, str):
        raise KaratError(f"{shown(text)} is not the name of a measure")
    if not isinstance(subject, str) or subject not in _aliases:
        raise KaratError([Parameter("subject", subject), f" is not one of {', '.join(_aliases)}"])
    return _parse_known(str.__str__(text), subject)


@lru_cache(maxsize=1024)  # a program that evaluates again and again names the same measures each time
def _parse_known(text: str, subject: Subject) -> Measure:
    check_single(text)
    measure = _parse(text, subject)
    if measure is None:
        raise _unknown(parse_name(text).name)
    return measure


def several_measures(text: str) -> list[str]:
    """The names of the measures, if a text stands for several: `nDCG@1,5`, `ndcg_cut`; otherwise none."""
    names = expand_names(text) if len(text) <= LONGEST_NAME else []
    return names if len(names) > 1 and all(map(meanings, names)) else []


def check_single(text: str) -> None:
    """Refuse a text that stands for several measures where one is needed."""
    names = several_measures(text)
    what = f"{shown(text)} stands for {len(names)} measures, but one is needed"
    require(not names, what, f"Name one of them, such as {names[0]}." if names else None)


def meanings(text: str) -> list[Measure]:
    """All measures that a name can mean: none, one, or one for documents and one for answers, in this order.

    >>> meanings("F1")
    [Measure('F'), Measure('TokenF1')]
    """
    check_text("the name of a measure", text)
    return list(_known_meanings(text))


@lru_cache(maxsize=1024)  # a table asks for the same few names in every cell
def _known_meanings(text: str) -> tuple[Measure, ...]:
    measures: dict[Measure, None] = {}
    for subject in _aliases:
        with suppress(KaratError):
            if (measure := _parse(text, subject)) is not None:
                measures[measure] = None
    return tuple(measures)


def _parse(text: str, subject: Subject) -> Measure | None:
    """The measure with this name, with its parameters set; None if there is none."""
    check_length(text)
    # ranx writes the lowest relevant grade as a suffix: map@100-l2. Of several, the last one counts.
    rel: str | None = None
    while (level := _LEVEL.fullmatch(text.strip())) and text.strip() not in _definitions:
        text, rel = level[1], rel or level[2]
    measure = _parse_without_level(text, subject)
    return measure if measure is None or rel is None else measure(rel=rel)


def _parse_without_level(text: str, subject: Subject) -> Measure | None:
    name, parameters, cutoff = parse_name(text)
    meaning = _find(name, cutoff, subject)
    if meaning is None:
        return None
    definition, preset, number, separator = meaning
    settings: dict[str, object] = {**preset, **parameters}
    if number:
        slot = next((key for key in preset if settings[key] == "?"), definition.at)
        if slot is None:
            raise KaratError(f"{definition.name} takes no cut-off, but {shown(text)} has one")
        if slot == definition.at:  # as in ir_measures, and in Python: in P(cutoff=5) @ 10, the second one counts
            settings.pop("cutoff", None)
        settings[slot] = persistence(text, name, separator, number) if slot == "p" else number
    return build_measure(definition, settings).check()


def unpickle_measure(name: str, settings: tuple[tuple[str, Value], ...], module: str) -> Measure:
    """The measure that was pickled, once the module that registers it is imported."""
    import_module(module)
    return Measure(name, settings, definition=_definitions[name])


def definitions_of(text: str) -> list[Definition]:
    """The definitions that a name stands for, ignoring its parameters: one, one per subject, or those of a list."""
    all_matches: dict[str, Definition] = {}
    for single in expand_names(text) or [text]:
        name, _, cutoff = parse_name(single)
        matches = [meaning.definition for subject in _aliases if (meaning := _find(name, cutoff, subject))]
        if not matches:
            raise _unknown(name)
        all_matches |= {definition.name: definition for definition in matches}
    return list(all_matches.values())


def is_name_of_measure(text: str) -> bool:
    """Whether a name stands for a measure, perhaps with parameters that it lacks.

    >>> is_name_of_measure("precision"), is_name_of_measure("P"), is_name_of_measure("politeness")
    (True, True, False)
    """
    try:
        return bool(definitions_of(text))
    except KaratError:
        return False


class _Meaning(NamedTuple):
    """What a name stands for: a definition, the parameters that an alias sets, and the number written in the name."""

    definition: Definition
    preset: Mapping[str, str]
    number: str = ""
    separator: str = ""


def _find(name: str, cutoff: str | None, subject: Subject) -> _Meaning | None:
    """What a name stands for; its number follows the `@` or ends the name: P_5, ndcg_cut.10, rbp.95, ndcg_at_10."""
    if cutoff is not None:
        meaning = _look_up(name, subject, f"{name}@")
        return meaning and meaning._replace(number=cutoff, separator="@")
    meaning = _look_up(name, subject)
    suffix = re.fullmatch(rf"(.+?)(_at_|[_.])({NUMBER})", name)
    if meaning or not suffix:
        return meaning
    stem, separator, number = suffix.groups()
    if separator == "_at_":
        return _find(stem, number, subject)
    meaning = _look_up(f"{stem}_", subject)
    return meaning and meaning._replace(number=number, separator=separator)


def _look_up(name: str, subject: Subject, with_cutoff: str = "") -> _Meaning | None:
    """What exactly this name or alias stands for, or an alias that is used only with a cut-off."""
    if name in _definitions:
        return _Meaning(_definitions[name], {})
    for aliases in (_aliases[subject], *_aliases.values()):
        if known := aliases.get(with_cutoff, aliases.get(name)):
            target, settings = known
            return _Meaning(_definitions[target], settings)
    return None


def _unknown(name: str) -> KaratError:
    if re.fullmatch(NUMBER, name):
        hint = "Cut-offs are listed after a measure: nDCG@5,10."
        return KaratError(f"{name} is a number, not a measure", hint=hint)
    elsewhere = not_in_karat(name)
    if elsewhere is not None:
        return KaratError(elsewhere[0], hint=elsewhere[1])
    stem, _, number = name.partition("_")
    if stem in _definitions and _definitions[stem].at == "k" and number.isdecimal():
        return KaratError(f"unknown measure {shown(name)}", hint=f"Write {stem}@{number}.")
    near = did_you_mean(name, [*_names_to_suggest(), *NAMES_OF_SEVERAL])
    return KaratError(f"unknown measure {shown(name)}", hint=f"{near} `karat measures` lists all measures.".strip())


def _names_to_suggest() -> Iterator[str]:
    """The names and aliases that can be used as they are: those that need a number have one."""
    own: dict[str, tuple[str, Mapping[str, str]]] = {name: (name, {}) for name in _definitions}
    for name, (target, preset) in (item for known in (own, *_aliases.values()) for item in known.items()):
        definition = _definitions[target]
        needs_cutoff = definition.at is not None and definition.parameters[definition.at].default is REQUIRED
        if name.endswith(("_", "@")):
            yield from [] if "?" in preset.values() else [f"{name}{definition.example_at}"]
        else:
            yield f"{name}@{definition.example_at}" if needs_cutoff else name


def add_definition(definition: Definition) -> None:
    """Make a measure known by its name and its aliases."""
    name, rename = check_text("name", definition.name), "Register yours with another name=."
    valid = re.fullmatch(r"\w[\w.+-]*", name) and not re.fullmatch(NUMBER, name)
    valid = valid and name not in {"query", *NAMES_OF_SEVERAL}
    require(valid, f"{shown(name)} cannot be the name of a measure")
    known = _definitions.get(name)
    redefined = known is not None and _same_place(known.function, definition.function)
    require(known is None or redefined, f"a measure named {name} already exists", rename)
    own_aliases = _aliases[definition.subject]
    aliases = {}
    for text in definition.aliases:
        alias, settings, cutoff = parse_name(text)
        alias += "" if cutoff is None else "@"
        owner = alias if alias in _definitions else own_aliases.get(alias, (name,))[0]
        require(owner == name, f"{name}: the alias {alias} belongs to {owner}")
        aliases[alias] = (name, settings)
    if known is None:
        for others in _aliases.values():
            owner = others.get(name, (name,))[0]
            require(owner == name, f"{name} is an alias of {owner}", rename)
    _definitions[name] = definition
    own_aliases.update(aliases)
    _parse_known.cache_clear()
    _known_meanings.cache_clear()


def _same_place(one: Function, other: Function) -> bool:
    """Whether it is the same function defined again, as when a notebook cell is run twice."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
