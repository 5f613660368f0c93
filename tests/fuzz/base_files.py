"""Valid files of every kind that a command reads, and the commands that read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import karat
from tests.fuzz.base_calls import LABELS

_TRUTH = "q1 0 d1 1\nq1 0 d2 0\nq1 0 d3 2\nq2 0 d1 1\nq2 0 d4 1\nq3 0 d5 1\n"
_RUN = """q1 Q0 d1 1 3.5 t
q1 Q0 d9 2 2.0 t
q1 Q0 d3 3 2.0 t
q2 Q0 d4 1 1e-3 t
q2 Q0 q2 2 0 t
q3 Q0 d8 1 1 t
q3 Q0 d5 2 0.5 t
"""
_PREFERENCES = """q1 ann s d1 2
q1 ann s d2 1
q1 bob s d1 1
q1 bob s d2 2
q1 bob t d2 3
q1 bob t d3 1
q2 ann s d4 0.5
q2 ann s d1 0
"""
_OTHER = "q1 Q0 d3 1 3 t\nq1 Q0 d1 2 2 t\nq2 Q0 d8 1 2 t\nq2 Q0 d1 2 1 t\nq3 Q0 d5 1 1 t\n"
_RESULTS = [
    {"query": "q1", "question": "how soft?", "truth": ["gold is soft", {"id": "d2", "content": "iron", "score": 2}],
     "retrieved": ["gold is", {"id": "d2", "content": "iron", "meta": {"a": {"b": 1}}, "score": 0.5}],
     "gold_answers": ["soft", "very soft"], "answer": "soft"},
    {"query": "q2", "question": "why?", "truth": ["it melts"], "retrieved": [], "gold_answers": "heat", "answer": None},
    {"query": "q3", "truth": ["zinc is a metal"], "retrieved": ["zinc is"], "gold_answers": ["x"], "answer": "y"},
]  # fmt: skip
_VERDICTS = [
    {"record": "file", "version": 1},
    {"record": "task", "name": "tone", "scale": {"rude": -1, "polite": 3}, "question": "How polite is it?"},
    {"record": "item", "query": "q1", "id": "p1", "type": "passage", "rank": 1, "text": "gold is", "digest": "0" * 16},
    {"record": "item", "query": "q1", "id": "s1", "type": "sentence", "text": "soft", "cites": ["p1", "[7]", "p1"]},
    {"record": "item", "query": "q1", "id": "n1", "type": "nugget", "text": "very soft", "importance": "vital"},
    {"record": "item", "query": "q1", "id": "g1", "type": "claim", "of": "gold", "text": "Gold is soft."},
    {"query": "q1", "task": "support", "item": "c1", "type": "claim", "of": "answer", "against": "gold",
     "label": "full"},
    {"record": "verdict", "query": "q1", "task": "support", "item": "s1", "against": ["p1"], "label": "partial",
     "by": "human:ann", "sample": 0, "why": "in part", "digest": "0" * 16, "call": "k"},
    {"record": "verdict", "query": "q1", "task": "relevance", "item": "p1", "against": "question", "label": 2},
    {"record": "verdict", "query": "q1", "task": "support", "item": "g1", "against": "answer", "label": None,
     "state": "failed"},
    {"record": "verdict", "query": "q2", "task": "support", "item": "answer", "state": "nothing_to_judge"},
    {"record": "verdict", "query": "q3", "task": "correctness", "item": "answer", "label": "correct", "by": "human:bo"},
    {"record": "verdict", "query": "q1", "task": "tone", "item": "answer", "label": "rude"},
    {"record": "call", "key": "k", "model": "m", "settings": {}, "reply": "{}", "tokens_in": 3, "tokens_out": 1},
]  # fmt: skip
_QUERIES = [
    {"query": "q1", "documents": ["d3", {"id": "d1", "score": 2.1, "content": "gold"}]},
    {"query": "q2", "documents": {"d4": 2.5, "d9": 1}},
]
_PAIRS = [{"qid": "q1", "docno": "d1", "score": 2.1}, {"qid": "q1", "docno": "d9", "score": 1},
          {"qid": "q2", "docno": 4, "score": 3e-1}]  # fmt: skip
_GOLD = {"q1": "soft", "q2": ["heat", "a flame"], "q3": "Straße 5"}
_PREDICTED = {"q1": "very soft", "q2": None, "q3": "strasse 5"}
_SQUAD = {"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [
    {"id": "q1", "question": "how soft?", "answers": [{"text": "soft", "answer_start": 0}]},
    {"id": "q2", "question": "why?", "answers": [{"text": "heat"}, {"text": "a flame"}]}]}]}]}  # fmt: skip
_GROUPS = [
    {"query": f"q{at}", "text": "how soft is it" * at, "language": "de" if at % 2 else "en", "n": at}
    for at in (1, 2, 3)
]
_CORPUS = [{"_id": f"d{at}", "title": f"metal {at % 3}", "text": "gold is soft " * (at % 4)} for at in range(1, 10)]
_GATE = """# rules
[gate]
baseline = "other.trec"
missing = "zero"
match = "id"
significant = true
level = 0.9

[gate.min]
"nDCG@10" = 0.1
AP = 0.2

[gate.max]
"Unjudged@5" = 1.0

[gate.max-drop]
RR = 0.5
"""
_TOOL_SCORES = [
    {"query": "q1", "AP": 0.5, "latency": 12},
    {"query": "q2", "AP": 1.0, "latency": 7.5},
    {"query": "q3", "AP": 0, "latency": 3},
]
_RAGAS = """user_input,retrieved_contexts,response,reference,faithfulness,latency
q1,"['gold is soft', 'it melts']",soft,very soft,0.5,12
q2,['heat'],heat,,1.0,7.5
"""
_UNLABELLED = [
    {"id": f"q{at}", "question": "how soft?" * at, "answer": "soft", "latency": at / 3,
     "contexts": [{"id": f"d{at}", "text": "gold is soft", "score": 0.5}, {"id": "d9", "text": "", "score": at}]}
    for at in (1, 2, 3)
]  # fmt: skip


class Input(NamedTuple):
    """A file that is damaged, and commands that read it in the place of FILE; if it is in a folder, they read that."""

    name: str
    commands: tuple[str, ...]

    @property
    def kind(self) -> str:
        return self.name.rsplit(".", 1)[1]

    @property
    def damaged_name(self) -> str:
        """Where the damaged file is, among the valid ones."""
        _, slash, inner = self.name.partition("/")
        return f"{self.read_as}/{inner}" if slash else self.read_as

    @property
    def read_as(self) -> str:
        """What stands in the place of FILE."""
        folder, slash, _ = self.name.partition("/")
        return f"damaged-{folder}" if slash else f"damaged.{self.kind}"


_SCORES_COMMANDS = (
    "compare FILE other.json", "compare FILE", "diff FILE other.json", "gate FILE --min AP=0.1 --max AP=1",
    "gate scores.json --baseline FILE --max-drop AP=0.1", "evaluate truth.qrels FILE",
    "gate truth.qrels FILE --min AP=0.9",
)  # fmt: skip
_ANSWERS_COMMANDS = (
    "answers FILE predicted.json", "answers gold.json FILE", "answers FILE",
    "convert FILE out.parquet",
)  # fmt: skip
_RUN_COMMANDS = (
    "evaluate truth.qrels FILE", "evaluate truth.qrels FILE other.trec --ci", "diff truth.qrels other.trec FILE",
    "evaluate truth.qrels FILE --explain q1 --ties best --duplicates first",
)  # fmt: skip
_GROUP_COMMANDS = (
    "evaluate truth.qrels run.trec --by FILE:language", "evaluate truth.qrels run.trec --by length --queries FILE:text",
    "compare truth.qrels run.trec other.trec --by FILE:n",
)  # fmt: skip
_CORPUS_COMMANDS = (
    "evaluate truth.qrels run.trec --match chunk --corpus FILE",
    "evaluate truth.qrels run.trec --explain q1 --corpus FILE",
    "compare truth.qrels run.trec other.trec --match 'overlap(threshold=0.5)' --corpus FILE",
    "gate truth.qrels run.trec --min AP=0.1 --match content --corpus FILE:text",
)  # fmt: skip
_CONVERSIONS = (
    "convert FILE out.parquet", "convert FILE - --output-format jsonl --as run", "convert FILE out.csv --as truth",
)  # fmt: skip
_LOOKS = ("look FILE", "look truth.qrels FILE", "look FILE --format json")
_CHECKS = (
    "check FILE run.trec", "check truth.qrels FILE --format json", "check FILE --format github",
    "check truth.qrels run.trec --corpus FILE --queries FILE", "check truth.qrels run.trec --claimed FILE",
)  # fmt: skip
_GOLD_COMMANDS = (
    "evaluate unlabelled.jsonl --truth FILE", "look unlabelled.jsonl --truth FILE", "evaluate FILE unlabelled.jsonl",
)  # fmt: skip
_LOG_COMMANDS = (
    "evaluate FILE", "evaluate FILE -m latency -m faithfulness", "gate FILE --min faithfulness=0.3",
    "evaluate FILE --truth gold.json", "evaluate FILE --answers predicted.json", "compare FILE ragas.csv",
    "evaluate FILE --order score", "judge FILE --task faithfulness --estimate",
)  # fmt: skip
_INPUTS = (
    Input("ragas.csv", _LOG_COMMANDS), Input("unlabelled.jsonl", _LOG_COMMANDS), Input("runs.json", _LOG_COMMANDS),
    Input("gold.json", _GOLD_COMMANDS), Input("gold.csv", _GOLD_COMMANDS), Input("truth.qrels", _GOLD_COMMANDS),
    Input("truth.qrels", (
        "evaluate FILE run.trec", "evaluate FILE run.trec other.trec --per-query", "compare FILE run.trec other.trec",
        "diff FILE run.trec other.trec", "gate FILE run.trec --min AP=0.1", "evaluate FILE run.trec --bounds",
        "evaluate FILE run.trec --explain q1", "evaluate FILE run.trec --by relevant",
        "convert FILE out.parquet", "convert FILE - --as truth --output-format json",
        "trec -c -q -m all_trec FILE run.trec", "trec -c --trec-eval 9 -J FILE run.trec", "trec FILE run.trec",
        "trec -c -R qrels_jg -m qrels_jg FILE run.trec", "trec -c -R qrels_prefs -m all_prefs FILE run.trec",
    )),
    Input("people.prefs", ("trec -c -q -R prefs -m all_prefs FILE run.trec", "evaluate FILE run.trec", "look FILE")),
    Input("run.trec", (
        "evaluate truth.qrels FILE", "evaluate truth.qrels FILE other.trec --ci", "compare truth.qrels FILE other.trec",
        "diff truth.qrels other.trec FILE", "gate truth.qrels FILE --min AP=0.9",
        "gate truth.qrels other.trec --baseline FILE --max-drop AP=0.01", "evaluate truth.qrels FILE --explain q1",
        "evaluate truth.qrels FILE --ties best --duplicates first --missing skip -m P@5 -m nDCG",
        "evaluate FILE run.trec", "convert FILE out.feather", "convert FILE out.jsonl.zst --as run",
        "convert FILE - --as run --output-format trec", "trec -c -q -m all_trec truth.qrels FILE",
        "trec -c --trec-eval 9 -M 2 -l 2 truth.qrels FILE", "trec -q -n truth.qrels FILE",
        "trec -m relstring.3 -m utility.1,-1,0,0 -m ndcg.1=3 -N 100 truth.qrels FILE",
    )),
    *(Input(f"truth.{kind}", ("evaluate FILE run.trec", "evaluate FILE run.csv", "compare FILE run.trec other.trec"))
      for kind in ("csv", "tsv")),
    *(Input(f"run.{kind}", (
        "evaluate truth.qrels FILE", "evaluate truth.csv FILE other.trec", "diff truth.tsv other.trec FILE",
        "evaluate truth.qrels FILE --duplicates first --ties input", "gate truth.csv FILE --min AP=0.9",
    )) for kind in ("csv", "tsv")),
    *(Input(f"run.{kind}", _RUN_COMMANDS) for kind in ("parquet", "feather", "arrows")),
    Input("encoded.feather", _RUN_COMMANDS),
    Input("lists.parquet", _RUN_COMMANDS),
    Input("truth.parquet", ("evaluate FILE run.trec", "evaluate FILE run.parquet --per-query")),
    Input("truth.feather", ("evaluate FILE run.trec", "gate FILE run.trec --min AP=0.1")),
    Input("results.jsonl", (
        "evaluate FILE --match content", "evaluate FILE --match chunk", "evaluate FILE other.jsonl --match fuzzy",
        "compare FILE other.jsonl --match content", "gate FILE --min R@5=0.9 --match content", "evaluate FILE",
        "diff FILE other.jsonl --match chunk", "evaluate FILE --match meta.a.b",
        "evaluate FILE --explain q1 --match chunk", "convert FILE out.parquet", "convert FILE - --output-format json",
    )),
    Input("verdicts.jsonl", (
        "verdicts FILE", "verdicts FILE --export labels.csv", "evaluate answers.jsonl --verdicts FILE",
        "evaluate answers.jsonl --verdicts FILE -m CitationF1 -m ClaimF1 --per-query", "verdicts FILE --format json",
        "evaluate answers.jsonl --verdicts FILE --unknown skip -o out.json", "verdicts summary FILE FILE",
        "evaluate answers.jsonl --verdicts FILE --author human",
        "gate answers.jsonl --verdicts FILE --min Correctness=0.5",
    )),
    Input("judged.jsonl", (
        "evaluate answers.jsonl --verdicts FILE --correct --width 0.05", "verdicts agreement FILE",
        "compare answers.jsonl other.jsonl --verdicts FILE --correct",
        "report answers.jsonl --verdicts FILE --correct -o r.html",
        "gate answers.jsonl --verdicts FILE --min Correctness=0.5 --correct",
        "verdicts template answers.jsonl --task correctness --items FILE --next 2 -o todo.csv",
    )),
    Input("spans.jsonl", ("evaluate FILE -m SpanRecall -m SpanIoU@2", "gate FILE --min SpanRecall=0.5")),
    *(Input(name, ("evaluate truth.qrels FILE", "evaluate FILE run.trec", "compare truth.qrels FILE other.trec"))
      for name in ("mapping.json", "lists.json", "pairs.json", "queries.jsonl", "pairs.jsonl")),
    Input("gold.json", _ANSWERS_COMMANDS), Input("squad.json", _ANSWERS_COMMANDS), Input("gold.csv", _ANSWERS_COMMANDS),
    Input("answers.jsonl", _ANSWERS_COMMANDS), Input("predicted.tsv", _ANSWERS_COMMANDS),
    *(Input(f"scores.{kind}", _SCORES_COMMANDS) for kind in ("json", "csv", "parquet")),
    *(Input(f"several.{kind}", _SCORES_COMMANDS) for kind in ("json", "csv", "parquet")),
    *(Input(f"tool.{kind}", _SCORES_COMMANDS) for kind in ("csv", "tsv", "json", "jsonl", "parquet", "feather")),
    *(Input(f"groups.{kind}", _GROUP_COMMANDS) for kind in ("csv", "tsv", "json", "jsonl")),
    Input("corpus.jsonl", _CORPUS_COMMANDS), Input("collection.tsv", _CORPUS_COMMANDS),
    Input("scifact/qrels/test.tsv", (
        "evaluate FILE run.trec", "evaluate FILE run.trec --split test", "compare FILE run.trec other.trec",
        "gate FILE run.trec --min AP=0.1", "convert FILE out.qrels",
    )),
    Input("scifact/queries.jsonl", (
        "evaluate FILE run.trec --by length --queries FILE", "evaluate FILE run.trec",
        "compare FILE run.trec other.trec --by length --queries FILE",
    )),
    Input("parts/part-1.parquet", (*_RUN_COMMANDS, "evaluate truth.qrels FILE/*.parquet", "convert FILE out.trec")),
    Input("karat.toml", ("gate truth.qrels run.trec --config FILE",)),
)  # fmt: skip
INPUTS = tuple(each._replace(commands=(*each.commands, *_CONVERSIONS, *_LOOKS, *_CHECKS)) for each in _INPUTS)


def base_files() -> Mapping[str, bytes]:
    """The content of every valid file, by its name."""
    texts = {
        "truth.qrels": _TRUTH, "people.prefs": _PREFERENCES, "run.trec": _RUN, "other.trec": _OTHER,
        "karat.toml": _GATE,
        "truth.csv": 'qid,docno,label\nq1,d1,1\n"q1",d2,0\nq1,"d3",2\nq2,d1,1\nq3,"d,5",1\n',
        "truth.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td3\t2\nq2\td4\t1\n",
        "run.csv": 'query;doc;text;score\r\nq1;d1;"two\nlines";3.5\r\nq1;d9;"a ""b""";2\r\nq2;d4;;1e-3\r\n',
        "run.tsv": "q1\td1\t1\nq1\td9\t2\nq1\td3\t3\nq2\td4\t1\nq2\tq2\t2\nq3\td5\t1\n",
        "verdicts.jsonl": _lines(_VERDICTS), "judged.jsonl": _lines(LABELS),
        "results.jsonl": _lines(_RESULTS), "other.jsonl": _lines(_RESULTS[::-1]),
        "spans.jsonl": _lines([{"query": "q1", "truth": [["d1", 0, 9], ["d2", 3, 5]], "retrieved": [["d1", 4, 12]]},
                               {"query": "q2", "truth": [["d1", 1, 2]], "retrieved": []}]),
        "mapping.json": json.dumps({"q1": {"d1": 2, "d2": 0.5}, "q2": {"d4": 1}}), "pairs.json": json.dumps(_PAIRS),
        "lists.json": json.dumps({"q1": ["d1", "d2"], "q2": []}), "queries.jsonl": _lines(_QUERIES),
        "pairs.jsonl": _lines(_PAIRS),
        "gold.json": json.dumps(_GOLD), "predicted.json": json.dumps(_PREDICTED), "squad.json": json.dumps(_SQUAD),
        "gold.csv": 'query,gold_answers,answer\nq1,soft,"very, soft"\nq2,heat,\nq3,"a ""b""",b\n',
        "predicted.tsv": "query\tanswer\nq1\tsoft\nq2\theat\nq3\tx\n", "answers.jsonl": _lines(_RESULTS),
        "groups.json": json.dumps(_GROUPS), "groups.jsonl": _lines(_GROUPS), "corpus.jsonl": _lines(_CORPUS),
        "collection.tsv": "".join(f"{row['_id']}\t{row['text']}\n" for row in _CORPUS),
        "ragas.csv": _RAGAS, "unlabelled.jsonl": _lines(_UNLABELLED),
        "runs.json": json.dumps({"run": {"id": 3, "items": _UNLABELLED}}),
        "tool.json": json.dumps(_TOOL_SCORES), "tool.jsonl": _lines(_TOOL_SCORES),
        "scifact/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td3\t2\nq2\td4\t1\n",
        "scifact/qrels/dev.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
        "scifact/queries.jsonl": _lines([{"_id": row["query"], "text": row["text"]} for row in _GROUPS]),
    }  # fmt: skip
    for name, rows in (("groups", _GROUPS), ("tool", _TOOL_SCORES)):
        for kind, separator in (("csv", ","), ("tsv", "\t")):
            table = [list(rows[0]), *(row.values() for row in rows)]
            texts[f"{name}.{kind}"] = "".join(separator.join(map(str, cells)) + "\n" for cells in table)
    return {name: text.encode() for name, text in texts.items()}


def write_base_files(folder: Path) -> Mapping[str, bytes]:
    """Write the valid files, and scores saved from them; their contents by name."""
    for name, content in base_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    runs = {name: str(folder / f"{name}.trec") for name in ("run", "other")}
    several = karat.evaluate_runs(str(folder / "truth.qrels"), runs, ["nDCG@10", "AP", "RR"])
    for kind in ("json", "csv", "parquet"):
        several["run"].save(folder / f"scores.{kind}")
        several.save(folder / f"several.{kind}")
    several["other"].save(folder / "other.json")
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    scores = pa.Table.from_pylist([{**row, "AP": float(str(row["AP"])), "latency": 1.0} for row in _TOOL_SCORES])
    pq.write_table(scores, folder / "tool.parquet")
    feather.write_feather(scores, folder / "tool.feather", compression="uncompressed")
    _write_tables(folder)
    return {name: (folder / name).read_bytes() for name in files_in(folder)}


def files_in(folder: Path) -> set[str]:
    """The names of the files in a folder and in the folders in it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def _write_tables(folder: Path) -> None:
    """The ground truth and the run in Parquet and Arrow files."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    judged = [line.split() for line in _TRUTH.splitlines()]
    truth = pa.table({"query": [row[0] for row in judged], "doc": [row[2] for row in judged],
                      "grade": [int(row[3]) for row in judged]})  # fmt: skip
    ranked = [line.split() for line in _RUN.splitlines()]
    queries = pa.array([row[0] for row in ranked]).dictionary_encode()
    run = pa.table({"qid": queries, "docno": [row[2] for row in ranked], "score": [float(row[4]) for row in ranked]})
    pq.write_table(truth, folder / "truth.parquet", row_group_size=4)
    feather.write_feather(truth, folder / "truth.feather", compression="uncompressed")
    pq.write_table(run, folder / "run.parquet", row_group_size=3, compression="none")
    feather.write_feather(run, folder / "run.feather", compression="lz4")
    encoded = {name: pc.run_end_encode(run[name].cast(pa.string()).combine_chunks()) for name in ("qid", "docno")}
    feather.write_feather(pa.table({**encoded, "score": run["score"].dictionary_encode()}), folder / "encoded.feather")
    (folder / "parts").mkdir()
    for at, rows in enumerate((run.slice(0, 4), run.slice(4))):
        pq.write_table(rows, folder / f"parts/part-{at}.parquet")
    with pa.ipc.new_stream(folder / "run.arrows", run.schema) as stream:
        stream.write_table(run, max_chunksize=3)
    documents = [[{"id": "d1", "score": 3.5}, {"id": "d9", "score": 2.0}], [{"id": "d4", "score": 0.1}]]
    pq.write_table(pa.table({"query": ["q1", "q2"], "documents": documents}), folder / "lists.parquet")


def _lines(rows: Sequence[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
