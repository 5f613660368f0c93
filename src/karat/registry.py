"""Measures by name: how one is declared, found, given its parameters and computed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from karat.errors import KaratError, shown
from karat.names import Value, did_you_mean, spelled, spelling
from karat.parameters import REQUIRED, Parameter, parameters_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from karat.judged import Judged
    from karat.spans import Spans

Combine = Literal["mean", "sum", "geometric"]
Takes = Literal["judged", "spans"]
Function = Callable[..., "NDArray[Any]"]


@dataclass(frozen=True)
class Definition:
    """All there is to know about a measure, whatever its parameters are set to."""

    name: str
    function: Function
    parameters: Mapping[str, Parameter]
    at: str | None = None
    formula: str = ""
    reference: str = ""
    bounds: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    combine: Combine = "mean"
    graded: bool = False
    takes: Takes = "judged"
    aliases: tuple[str, ...] = ()
    synonyms: Mapping[str, Mapping[str, tuple[str, str]]] = field(default_factory=dict)
    example_at: str = "10"
    forbids: Callable[[Measure], str | None] = lambda _: None

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def details(self) -> str:
        """What the docstring says after its first line and before its example."""
        rest = (inspect.getdoc(self.function) or "").partition("\n")[2]
        return rest.partition(">>>")[0].strip()

    @property
    def example(self) -> str:
        """The example of the docstring, which runs as a test."""
        doc = inspect.getdoc(self.function) or ""
        start = doc.find(">>>")
        return doc[start:].strip() if start >= 0 else ""


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters set. Its text is its name everywhere, and reads back as itself.

    >>> from karat.measures import AP, parse
    >>> str(AP(rel=2) @ 100), parse("AP(rel=2)@100") == AP(rel=2) @ 100
    ('AP(rel=2)@100', True)
    """

    name: str
    settings: tuple[tuple[str, Value], ...] = ()
    definition: Definition = field(compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        at = self.definition.at
        cutoff = dict(self.settings).get(at) if at else None
        return spelled(self.name, [(key, value) for key, value in self.settings if key != at or cutoff is None], cutoff)

    def __repr__(self) -> str:
        return f"Measure({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled and copied by its name, and by the module that registers it."""
        return _restored, (self.name, self.settings, self.definition.function.__module__)

    def __call__(self, **settings: object) -> Measure:
        """The same measure with these parameters set."""
        return _measure(self.definition, {**dict(self.settings), **settings})

    def __matmul__(self, cutoff: float) -> Measure:
        """The same measure with a cut-off: `nDCG @ 10`."""
        if self.definition.at is None:
            raise KaratError(f"{self.name} takes no cut-off")
        return self(**{self.definition.at: cutoff})

    @property
    def cutoff(self) -> int | None:
        """The rank at which this measure stops reading, if it does."""
        k = dict(self.settings).get("k")
        return k if isinstance(k, int) else None

    def get(self, parameter: str) -> Value:
        """The value of a parameter: as set, or its default; None where the measure has no such one."""
        known = self.definition.parameters.get(parameter)
        default = None if known is None or known.default is REQUIRED else known.default
        return dict(self.settings).get(parameter, default)

    def check(self) -> Measure:
        """This measure, if nothing it needs is left open and its parameters go together."""
        for parameter in self.definition.parameters.values():
            if parameter.default is REQUIRED and parameter.name not in dict(self.settings):
                at = parameter.name == self.definition.at
                example = f"{self.name}@{self.definition.example_at}" if at else f"{parameter.name}=..."
                raise KaratError(f"{self.name} needs {'a cut-off' if at else parameter.name}", mend=f"Write {example}.")
        wrong = self.definition.forbids(self)
        if wrong:
            raise KaratError(f"{self}: {wrong}")
        return self

    def compute(self, data: Judged | Spans) -> NDArray[np.float64]:
        """One value per query; NaN where a value is null."""
        import numpy as np

        from karat.spans import Spans

        takes, given = self.definition.takes, "spans" if isinstance(data, Spans) else "judged"
        if takes != given:
            names = {"judged": "judged documents", "spans": "spans, (document, start, end)"}
            raise KaratError(f"{self.name} takes {names[takes]}; it was given {names[given]}")
        values = np.asarray(self.check().definition.function(data, **dict(self.settings)), np.float64)
        if values.shape != (len(data.queries),):
            raise KaratError(
                f"{self} returned an array of shape {values.shape} for {len(data.queries)} queries",
                mend="A measure returns one value per query.",
            )
        return values


_definitions: dict[str, Definition] = {}
_aliases: dict[str, tuple[str, Mapping[str, str]]] = {}

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
    """what it is computed from: `judged` documents, or `spans` of them"""
    aliases: tuple[str, ...]
    """other names; one may set parameters (`rbp(p=0.9)`); one that ends in `_` takes a number, which is the cut-off
    (`P_` accepts `P_5` and `P.5`) or the parameter marked `?` (`rbp_(p=?)` accepts `rbp.95`)"""
    synonyms: Mapping[str, Mapping[str, tuple[str, str]]]
    """parameters under a peer's name: what each of its values sets"""
    example_at: str
    """a cut-off to suggest where one is needed and none is given"""
    forbids: Callable[[Measure], str | None]
    """what is wrong with a combination of parameters that makes no sense"""


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
            raise KaratError(f"{function} is a measure already", mend="Register a function.")
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


def lookup(text: str) -> Measure:
    """The measure of this name, in our spelling or in a peer's; the error names the nearest ones."""
    # ranx's way to say from which grade on a document is relevant: map@100-l2.
    level = re.fullmatch(r"(.+)-l(\d+)", text.strip())
    if level and text.strip() not in _definitions:
        return lookup(level[1])(rel=level[2])
    name, given, cutoff = spelling(text)
    definition, preset = _find(name, cutoff)
    settings_given: dict[str, object] = {**preset, **given}
    if cutoff is not None:
        if definition.at is None:
            raise KaratError(f"{definition.name} takes no cut-off, but {shown(text)} gives one")
        if definition.at in given or "cutoff" in given:
            raise KaratError(f"{shown(text)} gives its cut-off twice")
        settings_given[definition.at] = cutoff
    return _measure(definition, settings_given).check()


def _restored(name: str, settings: tuple[tuple[str, Value], ...], module: str) -> Measure:
    """The measure of a name; where nobody has asked for its module yet, the module is imported first."""
    import_module(module)
    return Measure(name, settings, definition=_definitions[name])


def definition_of(text: str) -> Definition:
    """The definition behind a name, whatever parameters it gives or leaves open."""
    name, _, cutoff = spelling(text)
    return _find(name, cutoff)[0]


def _find(name: str, cutoff: str | None) -> tuple[Definition, dict[str, object]]:
    """A definition by its own name, by an alias, or by one with a number in it; and what that sets."""
    if name in _definitions:
        return _definitions[name], {}
    if name in _aliases:
        target, settings = _aliases[name]
        return _definitions[target], dict(settings)
    found = _with_suffix(name) if cutoff is None else None
    if found is None:
        raise _unknown(name)
    return found


def _measure(definition: Definition, settings: Mapping[str, object]) -> Measure:
    """A measure from its settings: checked, converted, defaults left out, in the order declared."""
    values: dict[str, Value] = {}
    for key, given in settings.items():
        if key == "cutoff" and definition.at and key not in definition.parameters:
            key = definition.at
        if key in definition.synonyms and key not in definition.parameters:
            choices = definition.synonyms[key]
            if str(given) not in choices:
                raise KaratError(f"{definition.name}: {key}={given} is not one of {', '.join(choices)}")
            key, given = choices[str(given)]
        parameter = definition.parameters.get(key)
        if parameter is None:
            takes = ", ".join(definition.parameters) or "no parameters"
            near = did_you_mean(key, definition.parameters)
            raise KaratError(
                f"{definition.name} has no parameter {shown(key)}", mend=f"{near} It takes {takes}.".strip()
            )
        values[key] = parameter.value(given, definition.name)
    ordered = tuple(
        (key, values[key]) for key, parameter in definition.parameters.items()
        if key in values and values[key] != parameter.default
    )  # fmt: skip
    return Measure(definition.name, ordered, definition=definition)


def _with_suffix(name: str) -> tuple[Definition, dict[str, object]] | None:
    """trec_eval's and ranx's spellings, where a number is part of the name: P_5, ndcg_cut.10, rbp.95."""
    suffix = re.fullmatch(r"(.+?)([_.])(\d*\.?\d+)", name)
    if suffix is None or suffix[1] + "_" not in _aliases:
        return None
    target, preset = _aliases[suffix[1] + "_"]
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
                mend="`karat measures` lists what karat has, and `karat.register` adds your own.",
            )
    near = did_you_mean(name, [*_definitions, *(alias.rstrip("_") for alias in _aliases)])
    return KaratError(f"there is no measure {shown(name)}", mend=f"{near} `karat measures` lists them all.".strip())


def _admit(definition: Definition) -> None:
    name = definition.name
    if not re.fullmatch(r"\w[\w.+-]*", name) or name == "query":
        raise KaratError(f"{shown(name)} cannot be the name of a measure")
    known = _definitions.get(name)
    if known is not None and not _same_place(known.function, definition.function):
        raise KaratError(f"there is a measure {name} already", mend="Register yours with another name=.")
    aliases = {}
    for text in definition.aliases:
        alias, settings, _ = spelling(text)
        taken = _definitions.get(alias)
        if (taken and taken.name != name) or (alias in _aliases and _aliases[alias][0] != name):
            raise KaratError(f"{name}: the alias {alias} is taken by another measure")
        aliases[alias] = (name, settings)
    if known is None and name in _aliases:
        raise KaratError(f"{name} is another name of {_aliases[name][0]}", mend="Register yours with another name=.")
    _definitions[name] = definition
    _aliases.update(aliases)


def _same_place(one: Function, other: Function) -> bool:
    """Is it the same function, run again, as a notebook's cell is?"""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
