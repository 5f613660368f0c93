"""Valid calls of everything public, as Python expressions. The fuzzer puts hostile values into them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import karat
import karat.compat.pytrec_eval
import karat.components.evaluators as evaluators
import karat.matching
import karat.measures
import karat.measures.answers
import karat.pooled
from karat.components.preprocessors import DocumentCleaner
from karat.dataclasses import ByteStream, SparseEmbedding
from karat.grounding.verdict_file.drawn import drawn_queries
from karat.testing import assert_scores
from tests.fuzz import hostile_values

TRUTH = "{'q1': {'d1': 1, 'd2': 0, 'd3': 2}, 'q2': {'d1': 1}}"
RUN = "{'q1': {'d1': 0.9, 'd4': 0.5, 'd3': 0.5}, 'q2': {'d2': 1.0, 'd1': 0.2}}"
RANKED = "{'q1': ['d4', 'd1'], 'q2': ['d1']}"
GROUPS = "{'q1': 'short', 'q2': 'long'}"
DOCUMENTS = "[[Document('gold is soft', id='d1', meta={'a': {'b': 1}}, score=1.0)], [Document('iron', id='d2')]]"
RESULTS = (
    "[{'query': 'q1', 'question': 'how soft?', 'truth': ['gold is soft'], 'retrieved': ['gold', 'iron'],"
    " 'gold_answers': ['soft'], 'answer': 'very soft'}, {'query': 'q2', 'truth': ['iron'],"
    " 'retrieved': ['iron'], 'gold_answers': 'b', 'answer': None}]"
)
LABELS = [
    *({"query": query, "task": "correctness", "item": "answer", "label": label, "by": by}
      for query, label, by in (("q1", "correct", "gpt"), ("q2", "correct", "gpt"), ("q3", "incorrect", "gpt"),
                               ("q1", "correct", "human"), ("q2", "incorrect", "human:bo"))),
    *(drawn.record() for drawn in drawn_queries(["q1", "q2"], ["q1", "q2", "q3"], None, "correctness", 4).values()),
]  # fmt: skip
CALLS = f"""
evaluate({TRUTH}, {RUN}, ['nDCG@10', 'AP', 'P@5'])
evaluate({TRUTH}, {RANKED}, 'RR', match='id', missing='zero', ties='trec', duplicates='error', rel=1)
evaluate({TRUTH}, {RUN}, [nDCG(gain='exp')@3, RR], name='bm25', ignore_identical_ids=True, ties='best', missing='skip')
evaluate({{'q1': ['d1', 'd2']}}, {RANKED}, 'R@5', duplicates='first')
evaluate([('q1', 'd1', 1), ('q2', 'd2', 0)], [('q1', 'd1', 0.5), ('q2', 'd2', 1.0)], ['AP'])
evaluate([{{'query': 'q1', 'doc': 'd1', 'grade': 1}}], [{{'query': 'q1', 'doc': 'd1', 'score': 0.5}}], 'AP')
evaluate(iter([('q1', 'd1', 1), ('q2', 'd2', 0)]), iter([{{'qid': 'q1', 'docno': 'd1', 'rank': 2}}, {{'qid': 'q1', 'docno': 'd2', 'rank': 1}}]), 'AP')
evaluate([Row(query='q1', doc='d1', grade=1)], [Row(q='q1', d='d1', s=0.5)], 'AP', run_columns={{'query': 'q', 'doc': 'd', 'score': 's'}})
evaluate(pd.Series({{('q1', 'd1'): 1, ('q2', 'd2'): 0}}), np.array([('q1', 'd1', 0.5)], [('query', 'U2'), ('doc', 'U2'), ('score', 'f8')]), 'AP')
evaluate(Row(qrels={TRUTH}), Row(run={RUN}), 'AP')
evaluate(pa.table({{'query': ['q1', 'q2'], 'doc': ['d1', 'd2'], 'grade': [1, 0]}}), pa.table({{'query': ['q1'], 'doc': ['d1'], 'score': [0.5]}}), 'AP')
evaluate(pd.DataFrame({{'q': ['q1'], 'd': ['d1'], 'g': [1]}}), {RUN}, 'AP', truth_columns={{'query': 'q', 'doc': 'd', 'grade': 'g'}})
evaluate({TRUTH}, pl.DataFrame({{'q': ['q1'], 'd': ['d1'], 's': [0.5]}}), 'AP', run_columns={{'query': 'q', 'doc': 'd', 'score': 's'}})
evaluate({{'q1': ['gold is soft']}}, {{'q1': ['gold is', 'soft']}}, 'R@2', match='chunk')
evaluate({{'q1': ['gold is soft and it melts']}}, {{'q1': ['gold is soft and it melt', 'soft']}}, 'R@2', match='fuzzy(threshold=85)')
evaluate({{'q1': [Document('gold', meta={{'x': 'a'}})]}}, {{'q1': [Document('soft', meta={{'x': 'a'}})]}}, 'R', match='meta.x')
evaluate({{'q1': [('d1', 0, 5)]}}, {{'q1': [('d1', 2, 8), ('d2', 0, 1)]}}, ['SpanRecall', 'SpanIoU@2'])
evaluate('truth.qrels', 'run.trec', 'AP')
evaluate({TRUTH}, {RUN}, 'AP', match=lambda retrieved, gold: retrieved == gold)
evaluate({TRUTH}, {RUN}, 'AP', match='chunk', corpus={{'d1': 'soft gold', 'd2': {{'title': 'x', 'text': 'gold'}}}})
evaluate({TRUTH}, {RUN}, 'AP', match='content', corpus=[{{'_id': 'd1', 'text': 'a'}}, {{'_id': 'd2', 'text': 'b'}}])
evaluate_runs({TRUTH}, {{'a': {RUN}, 'b': {RANKED}}}, ['AP', 'RR'], rel=1)
evaluate_results({RESULTS}, ['R@5', 'TokenF1'], match='content', fields={{'answer': 'answer'}}, name='rag')
evaluate_results(iter([Row(query='q1', truth=['a'], answer=Row(docs=['b', 'a'], text='x'))]), 'RR', fields={{'retrieved': 'answer.docs'}})
evaluate_results(pa.table({{'query': ['q1', 'q2'], 'truth': [['a'], ['b']], 'retrieved': [['a', 'b'], []]}}), 'RR')
evaluate_results('results.jsonl', ['R@5'], match='chunk')
evaluate_answers({{'q1': 'soft', 'q2': ['a', 'b']}}, {{'q1': 'very soft', 'q2': None}}, ['EM', 'TokenF1', 'RougeL'], missing='zero', name='x')
evaluate_answers([{{'query': 'q1', 'gold_answers': ['a']}}], [{{'query': 'q1', 'answer': 'a'}}], 'F1', fields={{'query': 'query'}})
evaluate_answers(['a', 'b'], ['a', None])
compare({{'a': scores, 'b': others}}, 'a', measures=['AP'], test='randomization', correction='holm', family='all', level=0.95)
compare({{'a': scores, 'b': others}}, detect=0.05, permutations=100, resamples=100, seed=1, common_queries=True, force=True)
compare({{'a': scores, 'b': others, 'c': scores}}, test='tukey', permutations=100, lower_is_better=[])
compare(several, test='wilcoxon')
Scores(('q1', 'q2'), {{'AP': np.array([0.5, 1.0])}}, name='x')
Scores.load('tool.csv', lower_is_better=['latency'])
SystemScores.load('several.csv')
SystemScores({{'a': scores, 'b': others}})
Finding('code', 'message', 3, 'hint', ('q1',))
KaratError('what', place='place', hint='hint')
evaluate_verdicts({LABELS}, ['Correctness'], author='gpt', unknown='skip', name='x', correct=True)
evaluate_verdicts({LABELS}, correct=True).corrected(0.9, width=0.05)
evaluate_results([{{'query': q, 'retrieved': [], 'answer': 'a'}} for q in ('q1', 'q2', 'q3')], verdicts={LABELS}, correct=True)
compare({{'a': corrected, 'b': corrected}}).corrected(width=0.1)
gate(corrected, min={{'Correctness': 0.1}}, correct=True)
gate(corrected, baseline=corrected, max_drop={{'Correctness': 0.1}}, non_inferior={{'Correctness': 0.9}}, correct=True, level=0.9)
label_agreement({LABELS}, measures=['Correctness'])
parse('nDCG(gain=exp)@10')
parse('F1', 'answers')
scores['AP']
scores.bounds('nDCG@10', 3)
scores.column('AP')
scores.column_name('AP')
scores.combined('AP')
scores.explain('q1', 5)
scores.higher_is_better('AP')
scores.interval('AP', 0.95, resamples=50, seed=3)
scores.intervals(0.9, resamples=50, seed=1, measures=['AP'])
scores.nulls('AP')
scores.only(['AP'])
scores.save('saved.json', names='canonical')
scores.slices({GROUPS}, level=0.9)
scores.slices('relevant', bins=2)
scores.slices({{'q1': 1.0, 'q2': 5.0}}, bins=[2, 3])
scores.explain('q1', queries={{'q1': 'how soft'}}, corpus={{'d1': 'gold'}})
scores.slices('length', queries={{'q1': 'how soft', 'q2': 'x'}})
scores.table(0.95, 3, names='asked')
scores.take([0, 1])
scores.to_arrow(names='asked')
scores.to_csv('saved.csv', names='canonical', safe=True)
scores.to_dict(names='asked')
scores.to_json(None, names='asked')
scores.to_latex(None, digits=3)
scores.to_markdown(None, digits=3)
scores.to_pandas(names='asked')
scores.to_parquet('saved.parquet')
scores.to_polars(names='asked')
scores.per_query['q1']['AP']
several['a']
several.get('a', None)
several.compare('a', test='t')
several.only('AP')
several.save('saved.csv')
several.sorted('AP')
several.table(0.95, 3)
several.to_csv(None, per_query=True, safe=True)
several.to_arrow(per_query=True)
several.to_json(None)
several.to_latex(None, digits=2)
several.to_markdown(None, digits=2)
several.to_pandas(per_query=True)
several.to_polars(per_query=False)
several.to_parquet('saved.parquet')
comparison.diff('AP', 5, 'b', 'a', losses=True)
comparison.power('AP', 'b', 'a')
comparison.queries_needed('AP', 0.05, 'b')
comparison.row('AP', 'b', 'a')
comparison.slices({GROUPS})
comparison.table(3)
comparison.to_csv(None, ',', safe=True)
comparison.to_json(None)
comparison.to_latex(None, digits=3)
comparison.to_markdown(None, digits=3)
nDCG(gain='exp', discount='jk', rel=2)@10
AP(norm='found', credit='rank')@5
RBP(p=0.5)@3
ERR(max_grade=3)
nDCG(gains={{1: 3, 2: 1}})@5
P@5
f1(['a', 'c'], 'a b')
exact_match('a', 'a', normalize='neutral')
contains(['a b'], 'a')
rouge_l('a b', 'a c')
precision('a', 'a b')
recall('a', 'a b')
RetrievalRecall().calculate_metric_scores([['a', 'b']], [['a', 'c']], k_list=[1, 5])
RetrievalRecallAll().calculate_metric_scores([['gold is soft']], [['gold', 'iron']], k_list=[1])
RetrievalNDCGAny().calculate_metric_scores([['gold is soft']], [['gold', 'iron']], k_list=[2])
RelevanceEvaluator({TRUTH}, {{'map', 'ndcg_cut.1,10', 'P_5', 'set_F_0.5'}}, 1, False).evaluate({RUN})
RelevanceEvaluator({TRUTH}, ['all_trec'], relevance_level=2, judged_docs_only_flag=True).evaluate({RUN})
RelevanceEvaluator({{'q1': {{'d1': np.int64(1), 'd2': np.float64(0)}}}}, ('official',)).evaluate({{'q1': {{'d1': np.float32(0.5), 'd2': 1}}, 'q2': {{}}}})
RelevanceEvaluator(parse_qrel(['q1 0 d1 1', 'q1 0 d2 0']), supported_measures).evaluate(parse_run(['q1 Q0 d2 1 0.5 t', 'q1 Q0 d1 2 0.5 t']))
parse_qrel(['q1 0 d1 1', 'q2 0 d2 -1'])
parse_run(iter(['q1 Q0 d1 1 0.5 t', 'q2 Q0 d2 1 1e3 t']))
compute_aggregated_measure('gm_map', [0.5, 1.0])
compute_aggregated_measure('num_ret', np.array([10.0, 5.0]))
is_chunk_from_original('user: gold', 'gold is soft', threshold=80)
assert_scores(scores, min={{'AP': 0.1}}, max={{'AP': 1.0}})
assert_scores(scores, baseline=others, max_drop={{'AP': 1.0}}, significant=True, level=0.95)
Document('text', id='d', meta={{'a': 1}}, score=0.5, embedding=[0.1, 0.2])
Document('text', blob=ByteStream(b'data', mime_type='text/plain'), sparse_embedding=SparseEmbedding([1], [0.5]))
Document.from_dict({{'id': 'd', 'content': 'text', 'meta': {{'a': 1}}, 'score': 0.5}})
Document('a').to_dict(flatten=True)
ByteStream.from_string('text', 'utf-8', 'text/plain', {{'a': 1}})
SparseEmbedding([1, 2], [0.5, 0.25]).to_dict()
DocumentRecallEvaluator(mode='single_hit', document_comparison_field='content').run({DOCUMENTS}, {DOCUMENTS})
DocumentMAPEvaluator(document_comparison_field='id', convention='found').run({DOCUMENTS}, {DOCUMENTS})
DocumentMRREvaluator(document_comparison_field='meta.a.b').run({DOCUMENTS}, {DOCUMENTS})
DocumentNDCGEvaluator().run(ground_truth_documents={DOCUMENTS}, retrieved_documents={DOCUMENTS})
DocumentMeasureEvaluator('nDCG@10', match='content').run({DOCUMENTS}, {DOCUMENTS})
AnswerExactMatchEvaluator().run(['a', 'b'], ['a', None])
AnswerF1Evaluator().run(['a', 'b'], ['a', 'c'])
DocumentRecallEvaluator.from_dict({{'type': 'karat.components.evaluators.document_recall.DocumentRecallEvaluator', 'init_parameters': {{'mode': 'multi_hit'}}}})
DocumentCleaner(remove_empty_lines=True, remove_substrings=['a'], remove_regex='b', keep_id=True).run([Document('a b')])
Pipeline(metadata={{'a': 1}}).to_dict()
pipeline().run({{'em': {{'ground_truth_answers': ['a'], 'predicted_answers': ['a']}}, 'cleaner': {{'documents': [Document('a')]}}, 'recall': {{'ground_truth_documents': {DOCUMENTS}, 'retrieved_documents': {DOCUMENTS}}}}}, include_outputs_from={{'em'}})
pipeline().add_component('other', AnswerExactMatchEvaluator())
pipeline().connect('cleaner.documents', 'recall.retrieved_documents')
Pipeline.from_dict({{'metadata': {{}}, 'components': {{'em': {{'type': 'karat.components.evaluators.answer_exact_match.AnswerExactMatchEvaluator', 'init_parameters': {{}}}}}}, 'connections': []}}, allowed_env_vars=[])
Pipeline.loads('{{"components": {{}}, "connections": []}}')
EvaluationRunResult('run', {{'question': ['a', 'b']}}, {{'em': {{'score': 0.5, 'individual_scores': [0, 1]}}}}).detailed_report('json')
EvaluationRunResult('run', {{'question': ['a', 'b']}}, {{'em': {{'score': 0.5, 'individual_scores': [0, 1]}}}}).aggregated_report('csv', csv_file='report.csv')
EvaluationRunResult('run', {{'q': ['a', 'b']}}, {{'em': {{'score': 0.5, 'individual_scores': [0, 1]}}}}).scores()
chunk(normalize='case+space', threshold=80)
fuzzy(85, normalize='case')
overlap(0.5)
prefix('#', normalize='none')
same('content', normalize='case')
"""
BASE_CALLS = [line for line in CALLS.splitlines() if line]
# They take a hundred times as long as the others.
PAGES_AND_PLOTS = f"""
scores.report('report.html', queries={{'q1': 'how soft?'}}, corpus={{'d1': 'gold', 'd2': {{'title': 'x', 'text': 'iron'}}}}, by={GROUPS}, title='x')
several.report('report.html', queries=[{{'_id': 'q1', 'text': 'a'}}], corpus=[{{'_id': 'd1', 'text': 'b'}}], by='relevant')
comparison.report('report.html', by={{'q1': 1.0, 'q2': 5.0}}, title='x')
compare({{'a': scores, 'b': others, 'c': scores}}, permutations=100, resamples=100).report('report.html')
evaluate_results({RESULTS}, ['R@5', 'TokenF1'], match='content').report('report.html')
Scores(('q1', 'q2'), {{'AP': np.array([0.5, np.nan]), 'x': np.array([1.0, -2.0])}}, name='x').report('report.html')
corrected.report('report.html', title='x')
scores.plot('intervals', 'AP', level=0.9, names='asked')
scores.plot('cutoffs')
scores.plot('bounds', 'AP')
scores.plot('slices', by={GROUPS}, bins=None, queries=None)
several.plot('differences', 'AP', system='b', baseline='a')
several.plot('precision-recall')
comparison.plot('scatter', 'AP', system='b', baseline='a')
comparison.slices({GROUPS}).plot('differences', 'AP', system='b', baseline='a')
SystemScores({{'a': Scores(('q1', 'q2'), {{'AP': np.array([0.5, np.nan])}}), 'b': Scores(('q1', 'q2'), {{'AP': np.array([0.5, 1.0])}})}}).plot('scatter')
"""
REPORT_CALLS = [line for line in PAGES_AND_PLOTS.splitlines() if line]


def pipeline() -> karat.Pipeline:
    made = karat.Pipeline()
    made.add_component("em", evaluators.AnswerExactMatchEvaluator())
    made.add_component("cleaner", DocumentCleaner())
    made.add_component("recall", evaluators.DocumentRecallEvaluator())
    return made


def namespace() -> Mapping[str, Any]:
    """What the names in the calls and in the hostile values mean. Everything shared in it is immutable."""
    scores, others = (
        karat.evaluate(
            {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1}, "q3": {"d5": 2}},
            {"q1": {"d1": 0.9, "d4": 0.5}, "q2": {"d2": 1.0, "d1": 0.2}, "q3": {"d1": 1.0, "d5": last}},
            ["nDCG@10", "AP", "P@5"],
        )
        for last in (0.5, 2.0)
    )
    several = karat.SystemScores({"a": scores, "b": others})
    names: dict[str, Any] = {name: getattr(karat, name) for name in karat.__all__}
    for module in (karat.measures, karat.measures.answers, karat.pooled, karat.compat.pytrec_eval):
        names |= {name: getattr(module, name) for name in module.__all__}
    names |= {name: getattr(evaluators, name) for name in evaluators.__all__}
    names |= {name: getattr(karat.matching, name) for name in ("chunk", "fuzzy", "overlap", "prefix", "same")}
    names |= {name: value for name, value in vars(hostile_values).items() if callable(value)}
    names |= {"np": np, "pd": pd, "pl": pl, "pa": pa, "re": re, "Path": Path, "UUID": UUID, "date": date}
    names |= {"datetime": datetime, "Fraction": Fraction, "Decimal": Decimal, "pipeline": pipeline}
    names |= {
        "ByteStream": ByteStream,
        "SparseEmbedding": SparseEmbedding,
        "DocumentCleaner": DocumentCleaner,
        "Row": SimpleNamespace,
    }
    names["corrected"] = karat.evaluate_verdicts(LABELS, correct=True)
    names |= {"assert_scores": assert_scores, "scores": scores, "others": others, "several": several}
    return MappingProxyType(names | {"comparison": several.compare("a")})
