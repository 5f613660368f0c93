"""trec_eval's C functions in the library of pytrec-eval-terrier, which its Python interface does not offer.

Reads a list of cases from standard input, [format, ground truth, run, level, depth, judged only], and writes a list of
their values, {query: {measure: value}}, or null where trec_eval refuses a file or ends the process. Each case is
evaluated in a fork, because trec_eval keeps what it has read. Imports only the standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_long, c_void_p
from typing import Any

FAILED = -1
OF_PREFERENCES = re.compile(rb"prefs_.*")
BY_GROUP = re.compile(rb"(map|P|Rprec_mult)_avgjg")


def structure(name: str, /, **fields: Any) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


Parameters = structure("Parameters", name=c_char_p, values=c_char_p)
Options = structure(
    "Options", per_query=c_long, summary=c_long, debug=c_long, debug_query=c_char_p, relation=c_long, complete=c_long,
    judged_only=c_long, collection=c_long, level=c_long, depth=c_long, judgments=c_char_p, results=c_char_p,
    zscore=c_long, parameters=POINTER(Parameters),
)  # fmt: skip
Value = structure("Value", name=c_char_p, value=c_double)
Values = structure("Values", query=c_char_p, queries=c_long, values=POINTER(Value), count=c_long, space=c_long)
Results = structure("Results", query=c_char_p, tag=c_char_p, format=c_char_p, content=c_void_p)
AllResults = structure("AllResults", count=c_long, space=c_long, results=POINTER(Results))
Judgments = structure("Judgments", query=c_char_p, format=c_char_p, content=c_void_p)
AllJudgments = structure("AllJudgments", count=c_long, space=c_long, judgments=POINTER(Judgments))
Prepare = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
Compute = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)
Measure = structure(
    "Measure", name=c_char_p, explanation=c_char_p, prepare=Prepare, compute=Compute, add_up=c_void_p, mean=c_void_p,
    print_query=c_void_p, print_all=c_void_p, parameters=c_void_p, index=c_long,
)  # fmt: skip


def main() -> None:
    path, *_ = sys.argv[1:]
    print(json.dumps([in_fork(path, *case) for case in json.load(sys.stdin)]))


def in_fork(path: str, *case: Any) -> dict[str, dict[str, float]] | None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(write, "w") as pipe:
            json.dump(evaluate(ctypes.CDLL(path), *case), pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else None


def evaluate(
    library: Any, judgments: str, truth: str, run: str, level: int, depth: int | None, judged_only: bool
) -> dict[str, dict[str, float]] | None:
    options = Options(
        level=level, depth=depth or sys.maxsize, judged_only=judged_only, judgments=judgments.encode(),
        results=b"trec_results", parameters=(Parameters * 1)(), summary=1, relation=1,
    )  # fmt: skip
    known, found = AllJudgments(), AllResults()
    if getattr(library, f"te_get_{judgments}")(byref(options), truth.encode(), byref(known)) == FAILED:
        return None
    if library.te_get_trec_results(byref(options), run.encode(), byref(found)) == FAILED:
        return None
    count = c_int.in_dll(library, "te_num_trec_measures").value
    wanted = BY_GROUP if judgments == "qrels_jg" else OF_PREFERENCES
    measures = [
        each for each in (POINTER(Measure) * count).in_dll(library, "te_trec_measures")
        if wanted.fullmatch(each.contents.name)
    ]  # fmt: skip
    values = Values(query=b"all")
    for each in measures:
        each.contents.prepare(byref(options), each, byref(values))
    position = {found.results[at].query: at for at in range(found.count)}
    of_queries: dict[str, dict[str, float]] = {}
    for judged in (known.judgments[at] for at in range(known.count)):
        if judged.query not in position:
            continue
        for at in range(values.count):
            values.values[at].value = 0
        of_query = byref(judged), byref(found.results[position[judged.query]])
        if any(each.contents.compute(byref(options), *of_query, each, byref(values)) == FAILED for each in measures):
            return None
        computed = (values.values[at] for at in range(values.count))
        of_queries[judged.query.decode()] = {value.name.decode(): value.value for value in computed}
    return of_queries


if __name__ == "__main__":
    main()
