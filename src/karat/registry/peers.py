"""Names of other libraries that are not one measure of karat: several measures, or none."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, Protocol

from karat.registry.names import LONGEST_NAME, NUMBER, parse_name, split_names
from karat.registry.trec_eval_names import CUTOFFS, NICKNAMES, TEXTS, as_argument

LISTS_IN_TREC_EVAL = {name: ",".join(CUTOFFS[name]) for name in ("recall", "success")}
"""Names that mean these cut-offs in trec_eval. Here, as in other tools, they mean all retrieved documents."""
# A single measure has these names too, if only with a cut-off.
_STANDARD_CUTOFFS = {
    name: cutoffs for name, cutoffs in CUTOFFS.items() if name not in ("P", "relative_P", *LISTS_IN_TREC_EVAL)
}
_SETS = {
    name: " ".join(
        f"{each}_{','.join(CUTOFFS[each])}" if each in CUTOFFS else each
        for each in NICKNAMES[name]
        if each not in TEXTS
    )
    for name in ("official", "set", "all_trec")
}

NAMES_OF_SEVERAL = frozenset([*_STANDARD_CUTOFFS, *_SETS])

_NOT_IN_KARAT = {
    "ir_measures": (
        "alpha_nDCG α-nDCG α_nDCG alpha-nDCG alpha_DCG α_DCG Compat ERR_IA nERR_IA NERR8 NERR9 NERR10 NERR11 NRBP nNRBP"
        " AP_IA MAP_IA P_IA StRecall INST INSQ BPM SDCG Accuracy"
    ).split(),
    "MTEB": "main_score p-MRR robustness paired_accuracy".split(),
}
_OF_PREFERENCES = ("prefs", "all_prefs")
_OF_GROUPS = tuple(name for name in ("qrels_jg", *NICKNAMES["qrels_jg"]) if name.endswith("jg"))

_FROM_VERDICTS = "from labels by people or a model (--verdicts)."
_PASSAGES = "If the relevant passages are known,"
_INSTEAD = {
    f"ContextPrecision is computed {_FROM_VERDICTS} {_PASSAGES} AP(norm=found, credit=rank) is the mean precision at"
    " them, and SetP their share.": (
        "contextual_precision llm_context_precision llm_context_precision_with_reference"
        " llm_context_precision_without_reference non_llm_context_precision_with_reference"
        " id_based_context_precision"
    ),
    f"ContextRecall is computed {_FROM_VERDICTS} {_PASSAGES} R is the share of them that was retrieved, and RecallAll"
    " whether all were.": (
        "contextual_recall llm_context_recall non_llm_context_recall id_based_context_recall"
        " context_entity_recall context_entities_recall"
    ),
    f"ContextRelevance is computed {_FROM_VERDICTS} {_PASSAGES} P@k and SetP are the share of retrieved passages that"
    " are relevant.": "context_relevancy contextual_relevancy contextual_relevance",
    "TokenF1 and Contains compare the words of an answer with those of the gold answer, and SAS their meaning;"
    f" Correctness is computed {_FROM_VERDICTS}": (
        "answer_correctness factual_correctness answer_accuracy answer_similarity semantic_similarity bertscore"
        " bert_score non_llm_string_similarity string_presence string_present"
    ),
    "RougeL and TokenF1 compare the words of an answer with those of the gold answer.": (
        "bleu bleu_score sacrebleu rouge rouge_score rouge1 rouge2 rouge_1 rouge_2 rouge_lsum chrf chrf_score meteor"
    ),
    f"Faithfulness is computed {_FROM_VERDICTS}": "response_groundedness",
    f"AnswerRelevance is computed {_FROM_VERDICTS}": "answer_relevancy response_relevancy",
    f"Correctness(task=NAME) is computed on the scale of a rubric of your own, {_FROM_VERDICTS} If another tool has"
    " computed this for each query, karat compare, diff and gate read it from a CSV, JSON or Parquet file.": (
        "aspect_critic summarization_score g_eval geval bias toxicity"
    ),
}


class IrMeasure(Protocol):
    """A measure of the library ir_measures, such as `ir_measures.nDCG @ 10`."""

    AT_PARAM: str


def by_name(measure: Any) -> Any:
    """A measure of ir_measures by its name, which is the same here; anything else as it is.

    What a user defines with ir_measures is none of its measures, whatever it is named: its class is in another module.
    """
    module = type(measure).__module__
    if not (isinstance(module, str) and module.startswith("ir_measures.measures.") and hasattr(measure, "AT_PARAM")):
        return measure
    weight = measure.params.get("beta")
    if isinstance(weight, int | float) and weight > 0:  # its SetF has beta in place of β²
        return str(measure(beta=math.sqrt(weight)))
    return str(measure)


def expand_names(text: str) -> list[str]:
    """The names of measures in a text, each of one measure.

    >>> expand_names("nDCG@1,5 AP"), expand_names("ndcg_cut")[:3], expand_names("map_cut(rel=2)")[:1]
    (['nDCG@1', 'nDCG@5', 'AP'], ['ndcg_cut_5', 'ndcg_cut_10', 'ndcg_cut_15'], ['map_cut(rel=2)@5'])
    """
    # A long list of names is not kept, so that the memory for others is limited.
    return list(_known_names(str.__str__(text))) if len(text) <= LONGEST_NAME else _expanded(text)


@lru_cache(maxsize=1024)
def _known_names(text: str) -> tuple[str, ...]:
    return tuple(_expanded(text))


def _expanded(text: str) -> list[str]:
    names: list[str] = []
    for name in split_names(text):
        stem, parenthesis, _ = name.partition("(")
        if name in _SETS:
            names += _expanded(_SETS[name])
        elif stem.strip() in _STANDARD_CUTOFFS and parse_name(name).cutoff is None:
            between = "@" if parenthesis else "_"
            names += [f"{name}{between}{cutoff}" for cutoff in _STANDARD_CUTOFFS[stem.strip()]]
        else:
            names.append(name)
    return names


def not_in_karat(name: str) -> tuple[str, str] | None:
    """What to say, and what to use instead, about a name of another library that karat does not have."""
    stem = re.sub(rf"(_at)?[_.]{NUMBER}$", "", name)
    if name in _OF_PREFERENCES:
        return f"trec_eval's set {name} has measures of preferences", f"Use `karat trec -R prefs -m {name}`."
    if name in _OF_GROUPS or stem in _OF_GROUPS:
        hint = f"Use `karat trec -R qrels_jg -m {as_argument(name)}`."
        return f"{name} of trec_eval is averaged over judgment groups", hint
    if name in TEXTS or stem in TEXTS:
        return f"{name} of trec_eval is a text, not a measure", f"Use `karat trec -q -m {as_argument(name)}`."
    for library, names in _NOT_IN_KARAT.items():
        if name in names or stem in names or (library == "MTEB" and name.startswith("nauc_")):
            hint = "`karat measures` lists all measures, and `karat.register` adds your own."
            return f"karat does not have the measure {name} of {library}", hint
    folded = _folded(stem)
    for hint, similar in _INSTEAD.items():
        if folded in map(_folded, similar.split()):
            return f"karat does not have the measure {name}", hint
    return None


def _folded(name: str) -> str:
    """`context_precision`, `ContextPrecision` and `context-precision` as the same text."""
    return re.sub(r"[\W_]", "", name).casefold()
