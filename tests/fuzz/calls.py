"""Hostile calls: valid calls of public functions in which some expressions are replaced, removed or repeated."""

from __future__ import annotations

import ast
import json
import math
import re
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any
from unittest.mock import patch

from karat import Comparison, Scores, SystemScores
from karat.report import rendering
from tests.fuzz.base_calls import BASE_CALLS, REPORT_CALLS, namespace
from tests.fuzz.failure import Failure, told, wrong_exception
from tests.fuzz.hostile_values import EXPRESSIONS

Edit = Callable[[ast.expr], None]
"""A change of a call. The call is parsed anew each time, so that edits can be left out one by one."""

# Their arguments say how large a value is, or are Python's business.
_BUILDERS = ("nested", "nested_mapping", "deep_text", "range", "map", "iter")
_REPORTS = 1 / 50
"""how many of the calls write reports and draw plots, which takes long"""
_names = cache(namespace)


def prepare_calls() -> None:
    """Import everything that calls need, but for the chart library: making it takes more memory than calls have."""
    _names()
    patch.object(rendering, "chart_library", lambda: "library").start()


def fuzz_call(random: Random, announce: Callable[[str], object]) -> tuple[str, Failure | None]:
    """The function that was called with hostile arguments, and what went wrong."""
    base = random.choice(REPORT_CALLS if random.random() < _REPORTS else BASE_CALLS)
    edits = [_edit(random) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    function = base.split("(")[0].split("[")[0]
    announce(_edited(base, edits))
    problem = _problem(_edited(base, edits))
    if problem is None:
        return function, None
    for edit in tuple(edits):
        fewer = [each for each in edits if each is not edit]
        if fewer and (_problem(_edited(base, fewer)) or ("",))[0] == problem[0]:
            edits = fewer
    code = _edited(base, edits)
    signature, explanation = _problem(code) or problem
    return function, Failure(signature, f"{explanation}\n{code}")


def _problem(code: str) -> tuple[str, str] | None:
    """A signature and an explanation of what is wrong with the outcome of a call.

    An error that is raised outside karat is not its fault: Python cannot print a list of lists of any depth either.
    """
    try:
        compiled = compile(code, "<call>", "eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None  # an edit made something that is not an expression
    if re.search(r"\bp[adl]\.", code) and re.search("nested|cyclic", code):
        return None  # libraries of data frames crash, or take minutes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = eval(compiled, dict(_names()))
        except Exception as error:
            wrong = None if _may_raise(code, error) else wrong_exception(error)
            return None if wrong is None else (wrong, f"{wrong}: {told(error)}")
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of polars, which cannot print some of its frames
                raise
            return None
        try:
            _use(result)
        except AssertionError as error:
            return f"result: {error}", f"the result is wrong: {error}"
        except Exception as error:
            wrong = wrong_exception(error)
            explanation = f"the result cannot be used: {wrong}: {told(error)}"
            return None if wrong is None else (f"result: {wrong}", explanation)
    return None


def _may_raise(code: str, error: Exception) -> bool:
    """Whether this is what a function is for: the error of a test that fails, or of a key that a mapping lacks."""
    if isinstance(error, AssertionError):
        return code.startswith("assert_scores(")
    groups = re.search(r"\.(slices|report|plot)\(", code)
    if groups and "by(query)" in str(traceback.extract_tb(error.__traceback__)[-1].line):
        return True  # an error of the function that was passed
    is_mapping = re.match(r"\w+(\.per_query)?(\[|\.get\()", code)
    return isinstance(error, KeyError | TypeError) and bool(is_mapping)


def _use(result: Any) -> None:
    """Do with a result what anybody would do with it. What has been accepted must be usable."""
    str(result), repr(result)
    if isinstance(result, Scores):
        document = json.loads(result.to_json())
        assert len(document["queries"]) == len(result.queries), "queries were lost in JSON"
        result.to_csv(), result.table(), result.to_markdown(), result.to_latex(), result.to_arrow()
        assert all(mean is None or math.isfinite(mean) for mean in map(result.combined, result)), "a mean is not finite"
    elif isinstance(result, SystemScores):
        json.loads(result.to_json()), result.to_csv(per_query=True), result.table(), result.to_markdown()
    elif isinstance(result, Comparison):
        json.loads(result.to_json()), result.to_csv(), result.table(), result.to_markdown(), result.to_latex()
        assert all(0 <= row.p <= 1 for row in result.rows if row.p is not None), "p is not between 0 and 1"
    elif callable(getattr(type(result), "to_dict", None)) and not isinstance(result, type):
        result.to_dict()


def _edited(base: str, edits: Sequence[Edit]) -> str:
    tree = ast.parse(base, mode="eval").body
    for edit in edits:
        edit(tree)
    try:
        return ast.unparse(tree)
    except (ValueError, RecursionError):  # a dictionary that lost a key
        return ""


def _edit(random: Random) -> Edit:
    """A random edit; its choices depend only on the number drawn here, and on the call that it edits."""
    number = random.getrandbits(64)

    def edit(tree: ast.expr) -> None:
        choose = Random(number)
        places = _places(tree)
        if not places:
            return
        holder, field, at = choose.choice(places)
        value = ast.parse(choose.choice(EXPRESSIONS), mode="eval").body
        if at is None:
            setattr(holder, field, value)
            return
        items = getattr(holder, field)
        action = choose.random()
        if action < 0.75:
            items[at] = value
        elif action < 0.85 and not isinstance(holder, ast.Dict):
            del items[at]
        elif isinstance(holder, ast.Dict):
            holder.keys.insert(at, choose.choice(holder.keys))
            holder.values.insert(at, value)
        else:
            items.insert(at, choose.choice([*items, value]))

    return edit


def _places(tree: ast.expr) -> list[tuple[ast.AST, str, int | None]]:
    """The expressions inside a call that can be replaced: arguments, and what they contain."""
    places: list[tuple[ast.AST, str, int | None]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) not in _BUILDERS:
            places += [(node, "args", at) for at in range(len(node.args))]
            places += [(keyword, "value", None) for keyword in node.keywords]
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            places += [(node, "elts", at) for at in range(len(node.elts))]
        elif isinstance(node, ast.Dict):
            places += [(node, field, at) for field in ("keys", "values") for at in range(len(node.keys))]
        elif isinstance(node, ast.Subscript):
            places.append((node, "slice", None))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            places.append((node, "right", None))
    return places
