"""Values that nobody expects, as Python expressions, so that a call with them can be printed and repeated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from tests.fuzz.failure import BoomError

VALUES = """
    None; True; False; ...; NotImplemented; 0; 1; -1; 2; 3; 10**5000; -10**5000; 2**31; 2**63; 2**64; -2**63; 10**30
    0.0; -0.0; 0.5; 1.5; -1.0; 1e308; -1e308; 5e-324; float('nan'); float('inf'); float('-inf'); 1j
    Fraction(1, 3); Fraction(10**400); Decimal('0.5'); Decimal('NaN'); Decimal('1e9999')
    np.float32(0.5); np.float64('nan'); np.int64(3); np.int8(-1); np.bool_(True); np.str_('a'); np.datetime64('NaT')
    np.longdouble(1); np.complex128(1); np.array(1.0); np.array([]); np.array([1, 2]); np.array(['a', 'b'])
    np.array([[1.0, 2.0]]); np.array([None, 'a'], object); np.zeros(3); np.array([np.nan])
    ''; ' '; 'a'; 'q1'; 'd1'; 'AP'; 'nDCG@10'; 'P@0'; 'P@-1'; 'AP('; 'AP' + '@1' * 50; 'map-l1' + '-l1' * 2000; 'R@' + '9' * 5000
    'nDCG(gains={' + '1:' * 200; 'AP(' + ',' * 2000; 'P@1,2,,3'; 'é'; '日本'; '\\ud800'; '\\udcff'; '\\x00'; 'a\\x00b'; '\\n'
    'a\\nb\\tc'; '\\x1b[2J'; '\\u202e'; '\\ufeff'; '=1+1'; '../x'; '/'; '/dev/null'; 'x' * 100_000; 'a b'; 'nan'; '1e999'; '-'
    'id'; 'content'; 'meta.x'; 'meta.'; 'chunk'; 'prefix'; 'fuzzy(threshold=nan)'; 'fuzzy(threshold=1e400)'; 'overlap(threshold=-1)'
    'trec'; 'best'; 'input'; 'skip'; 'zero'; 'first'; 'error'; 'holm'; 'tukey'; 'wilcoxon'; 'bootstrap'; 't'; 'common'; 'json'; 'df'; 'csv'
    b''; b'a'; b'\\xff'; bytearray(b'a'); memoryview(b'a')
    (); (1,); ('a', 'b'); []; [None]; [0]; [1, 2]; ['a']; ['a', 'a']; [[]]; [['a'], ['b']]; [{}]; [float('nan')]; ['']
    {}; {'a': 1}; {'q1': {}}; {'q1': {'d1': 1}}; {'q1': ['d1']}; {1: 2}; {None: None}; {'q1': None}; {'': ''}; {'\\ud800': 1}
    {('a',): 1}; {float('nan'): 1}; {b'q1': 1}; {'q1': {1: 1}}; {'q1': {'d1': 'x'}}; {'q1': {'d1': float('nan')}}
    set(); {'a'}; frozenset({'d1'}); range(3); range(10**5); iter([]); iter(['a']); (x for x in [1, 2]); zip(); map(str, '1')
    object(); object; type; int; str; list; len; print; lambda: 0; lambda a, b: a; lambda a, b: 1 / 0; lambda *a: None; Exception('x')
    np; slice(None); nested(50); nested(5000); nested_mapping(5000); cyclic_list(); cyclic_mapping(); deep_text(100_000)
    Path('missing'); Path('.'); Path(''); datetime(2024, 1, 1); date(2024, 1, 1); UUID(int=1); re.compile('a')
    pd.DataFrame(); pd.DataFrame({'a': [1]}); pd.DataFrame({'query': ['q1'], 'doc': ['d1'], 'score': [1.0]}); pd.Series([1.0, None])
    pd.Series({'q1': 'a'}); pd.Index(['a']); pd.NA; pd.NaT; pd.Timestamp(0)
    pl.DataFrame(); pl.DataFrame({'query': ['q1'], 'doc': ['d1'], 'score': [None]}); pl.Series([1])
    pa.table({}); pa.table({'query': ['q1'], 'doc': [None], 'grade': [1]}); pa.array([1, None]); pa.scalar(1); pa.schema([])
    pa.table({'query': [b'q1'], 'doc': [['d1']], 'score': [{'a': 1}]}); pa.chunked_array([[1]])
    Document('a'); Document(); Document(id='d1', score=float('nan')); Document('a', meta={'x': [1]}); Document('\\ud800')
    [Document('a')]; [[Document('a')]]; scores; several; comparison; scores.evidence; nDCG; AP; nDCG@10; SAS; Measure; Scores
    Exploding(); ExplodingText(); [Exploding()]; {'q1': Exploding()}; Endless()
"""
EXPRESSIONS = [text.strip() for line in VALUES.splitlines() for text in line.split("; ") if text.strip()]


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def nested_mapping(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def cyclic_list() -> list[Any]:
    value: list[Any] = ["a"]
    value.append(value)
    return value


def cyclic_mapping() -> dict[str, Any]:
    value: dict[str, Any] = {"q1": 1}
    value["a"] = value
    return value


def deep_text(depth: int) -> str:
    return "(" * depth


class Exploding:
    """Every operation raises, but printing it."""

    def _boom(self, *_: Any) -> NoReturn:
        raise BoomError

    __eq__ = __hash__ = __len__ = __iter__ = __getitem__ = __bool__ = __float__ = __int__ = __index__ = _boom
    __lt__ = __gt__ = __le__ = __ge__ = __contains__ = __call__ = __fspath__ = _boom


class ExplodingText:
    """Cannot be printed."""

    def __repr__(self) -> NoReturn:
        raise BoomError

    __str__ = __repr__


class Endless:
    """Says that it has three items, and never ends."""

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[str]:
        yield from ("d1", "d2", "d3", "d4")
