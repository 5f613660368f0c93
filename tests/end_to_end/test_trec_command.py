"""`karat trec`: trec_eval's arguments, its messages and statuses, and what only version 10 has, worked by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat import KaratError
from karat.compat.measures import MEASURES, printed_measures
from karat.measures import parse
from karat.registry.trec_eval_names import NICKNAMES
from tests.end_to_end.in_process import Done, run_here

QRELS = "q1 0 a 2\nq1 0 b 0\nq1 0 c -1\nq1 0 d 11\nq2 0 e 1\nq2 0 f 0\n"
RUN = "q1 Q0 a 1 5 first\nq1 Q0 x 2 4 first\nq1 Q0 c 3 3 first\nq1 Q0 b 4 2 first\nq2 Q0 f 1 2 last\nq2 Q0 e 2 1 last\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    return tmp_path


def trec(folder: Path, words: str, stdin: bytes = b"") -> Done:
    return run_here(folder, "trec", *words.split(), stdin=stdin)


def values(done: Done) -> dict[tuple[str, str], str]:
    """The value of each measure and query, once the command has succeeded."""
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {(name.rstrip(), query): value for name, query, value in rows}


def test_a_line_has_a_padded_name_a_query_and_four_digits(folder: Path) -> None:
    done = trec(folder, "-q -m map -m num_rel qrels run")
    assert done.stdout == (
        "num_rel               \tq1\t2\nmap                   \tq1\t0.5000\n"
        "num_rel               \tq2\t1\nmap                   \tq2\t0.5000\n"
        "num_rel               \tall\t3\nmap                   \tall\t0.5000\n"
    )


def test_rbp_its_residual_and_unjudged_documents_are_those_worked_by_hand(folder: Path) -> None:
    found = values(trec(folder, "-q -m rbp.p=0.5 -m rbp_resid.p=0.5 -m unj.2,4,8 qrels run"))
    # q1 has the grades 2, none, -1 and 0, of which 11 is the largest; ranks 2 and 3 are unjudged.
    assert found["rbp_p=0.5", "q1"] == f"{0.5 * 2 / 11:6.4f}"
    assert found["rbp_resid_p=0.5", "q1"] == f"{0.5**4 + 0.5 * (0.5 + 0.25):6.4f}"
    assert [found[f"unj_{k}", "q1"] for k in (2, 4, 8)] == ["0.5000", "0.5000", "0.2500"]
    # q2 has the grades 0 and 1, and nothing unjudged.
    assert (found["rbp_p=0.5", "q2"], found["rbp_resid_p=0.5", "q2"], found["unj_2", "q2"]) == (
        "0.2500", "0.0000", "0.0000",
    )  # fmt: skip
    assert found["rbp_p=0.5", "all"] == f"{(0.5 * 2 / 11 + 0.25) / 2:6.4f}"
    assert values(trec(folder, "-m rbp qrels run"))["rbp", "all"] == f"{(0.1 * 2 / 11 + 0.1 * 0.9) / 2:6.4f}"


def test_yaap_is_the_logarithm_of_smoothed_odds(folder: Path) -> None:
    found = values(trec(folder, "-q -m yaap qrels run"))
    assert (found["yaap", "q1"], found["yaap", "q2"], found["yaap", "all"]) == ("0.0000", "0.0000", "0.0000")
    assert values(trec(folder, "-q -m yaap -l3 qrels run"))["yaap", "q1"] == "-0.6931"


def test_relevance_strings_have_a_character_for_each_rank(folder: Path) -> None:
    found = values(trec(folder, "-q -m relstring.3 -m runid qrels run"))
    assert found == {("relstring_3", "q1"): "'2-.'", ("relstring_3", "q2"): "'01'", ("runid", "all"): "last"}
    (folder / "qrels").write_text("q1 0 a 12\nq2 0 e 9\n")
    assert values(trec(folder, "-q -m relstring qrels run"))["relstring", "q1"] == "'>---'"


def test_options_may_be_attached_to_their_values_and_to_each_other(folder: Path) -> None:
    apart = trec(folder, "-q -c -n -l 2 -M 3 -N 100 -J -m map -m P.2,1 qrels run")
    together = trec(folder, "-qcnJ -l2 -M3 -N100 -mmap -mP.2,1 qrels run")
    long = "--query_eval_wanted --complete_rel_info_wanted --nosummary --level_for_rel 2 --Max_retrieved_per_topic 3"
    long += " --Number_docs_in_coll 100 --Judged_docs_only --measure map --measure P.2,1"
    assert apart.stdout == together.stdout == trec(folder, f"{long} qrels run").stdout
    assert values(apart).keys() == {(name, query) for name in ("map", "P_1", "P_2") for query in ("q1", "q2")}


def test_measures_are_printed_in_the_order_of_trec_eval_and_of_several_parameters_the_first_ones_count(
    folder: Path,
) -> None:
    found = values(trec(folder, "-m set_F -m P.9,3 -m P -m P.7 -m num_q -m map qrels run"))
    assert [name for name, _ in found] == ["num_q", "map", "P_3", "P_9", "set_F"]


def test_recall_points_that_are_printed_alike_have_values_of_their_own(folder: Path) -> None:
    (folder / "qrels").write_text("".join(f"q1 0 d{at} 1\n" for at in range(200)))
    (folder / "run").write_text("q1 Q0 d0 1 9 t\nq1 Q0 x 2 8 t\nq1 Q0 d1 3 7 t\n")
    done = trec(folder, "-m iprec_at_recall.0.006,0.011 qrels run")
    assert done.stdout == "iprec_at_recall_0.01  \tall\t1.0000\niprec_at_recall_0.01  \tall\t0.6667\n"


def test_set_f_without_a_weight_of_recall_is_set_precision(folder: Path) -> None:
    found = values(trec(folder, "-q -m set_F.0 -m set_P qrels run"))
    assert [found["set_F_0", query] for query in ("q1", "q2", "all")] == ["0.2500", "0.5000", "0.3750"]
    assert found["set_P", "all"] == found["set_F_0", "all"]


def test_unretrieved_documents_have_a_utility_if_the_size_of_the_collection_is_given(folder: Path) -> None:
    found = values(trec(folder, "-q -m utility.0,0,0,1 -N 100 qrels run"))
    assert (found["utility_0,0,0,1", "q1"], found["utility_0,0,0,1", "q2"]) == ("95.0000", "98.0000")


def test_a_missing_query_stops_version_10_after_the_lines_of_those_before_it(folder: Path) -> None:
    (folder / "qrels").write_text(QRELS + "q11 0 a 1\nq3 0 a 1\n")
    done = trec(folder, "-q -m map qrels run")
    assert (done.returncode, done.stdout) == (4, "map                   \tq1\t0.5000\n")
    message = "karat: run: the run lacks 2 queries of the ground truth: q11, q3. To score them 0, use -c.\n"
    assert done.stderr == message
    assert trec(folder, "qrels run").stdout == ""


def test_missing_queries_count_as_0_with_c_and_have_lines_in_version_10(folder: Path) -> None:
    (folder / "qrels").write_text(QRELS + "q0 0 a 1\nq0 0 b 2\n")
    words = "-q -c -l2 -m all_trec -m utility.1,-1,-1,0 -m yaap qrels run"
    found = values(trec(folder, words))
    assert (found["num_q", "all"], found["num_rel", "q0"], found["num_rel", "all"]) == ("3", "1", "5")
    nothing = {name: value for (name, query), value in found.items() if query == "q0"}
    assert nothing.pop("num_rel") == "1"
    assert nothing.pop("yaap") == "-0.6931"  # ln(1 / (1 + R))
    assert nothing.pop("relstring") == "''"
    assert set(nothing.values()) == {"0", "0.0000"}
    ninth = values(trec(folder, f"--trec-eval 9 {words}"))
    assert "q0" not in {query for _, query in ninth}
    others = ("yaap", "11pt_avg", "iprec_at_recall_0.60", "iprec_at_recall_0.70")
    same = {key: value for key, value in ninth.items() if key[1] == "all" and key[0] not in others}
    assert same == {key: found[key] for key in same}


def test_version_9_leaves_missing_queries_out_and_compares_scores_as_float32(folder: Path) -> None:
    (folder / "qrels").write_text("q1 0 a 1\nq1 0 b 0\nq9 0 a 1\n")
    (folder / "run").write_text("q1 Q0 a 1 1.00000001 t\nq1 Q0 b 2 1.0 t\n")
    assert values(trec(folder, "-c -m recip_rank qrels run"))["recip_rank", "all"] == "0.5000"
    assert values(trec(folder, "-m recip_rank --trec-eval 9 qrels run"))["recip_rank", "all"] == "0.5000"
    assert values(trec(folder, "-c -m recip_rank --trec-eval 9 qrels run"))["recip_rank", "all"] == "0.2500"


def test_versions_9_and_10_round_recall_points_in_different_ways(folder: Path) -> None:
    (folder / "qrels").write_text("".join(f"q1 0 d{at} 1\n" for at in range(4)))
    (folder / "run").write_text("q1 Q0 d0 1 9 t\nq1 Q0 x 2 8 t\nq1 Q0 d1 3 7 t\n")
    # 0.3 · 4 relevant documents are 1 rounded, and trunc(1.2 + 0.9) = 2 in version 9.
    found = [values(trec(folder, f"-m iprec_at_recall.0.3 --trec-eval {version} qrels run")) for version in (9, 10)]
    assert [each["iprec_at_recall_0.30", "all"] for each in found] == ["0.6667", "1.0000"]


def test_the_run_may_come_from_a_pipe_and_files_may_be_compressed(folder: Path) -> None:
    expected = trec(folder, "-q -m official qrels run").stdout
    assert trec(folder, "-q -m official qrels -", stdin=RUN.encode()).stdout == expected
    for name in ("qrels", "run"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    assert trec(folder, "-q -m official qrels.gz run.gz").stdout == expected


def test_the_name_of_the_run_is_that_of_its_last_line_with_data(folder: Path) -> None:
    (folder / "run").write_bytes(RUN.encode() + b"# a comment\n" + b"\n" * 200_000)
    assert values(trec(folder, "-m runid qrels run")) == {("runid", "all"): "last"}
    (folder / "run").write_bytes(RUN.encode().replace(b"last", b"l\xff"))
    assert values(trec(folder, "-m runid qrels run")) == {("runid", "all"): "l\\xff"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-m P_5 qrels run", "trec_eval has no measure 'P_5'. Write -m P.5."),
        ("-m set_F_0.5 qrels run", "trec_eval has no measure 'set_F_0.5'. Write -m set_F.0.5."),
        ("-m rbp_p=0.8 qrels run", "Write -m rbp.p=0.8."),
        ("-m mapp qrels run", "trec_eval has no measure 'mapp'. Did you mean map"),
        ("-m P.x qrels run", "'x' is not a cut-off of P. Cut-offs are numbers: -m P.5,10."),
        ("-m P.-1 qrels run", "'-1' is not a cut-off of P: cut-offs are between 1 and 2147483647"),
        ("-m P.9999999999 qrels run", "cut-offs are between 1 and"),
        ("-m Rprec_mult.-1 qrels run", "'-1' is not a cut-off of Rprec_mult: cut-offs are 0 or more"),
        ("-m iprec_at_recall.0.5,-0.1 qrels run", "'-0.1' is not a cut-off of iprec_at_recall: cut-offs are 0 or more"),
        ("-m set_F.-1 qrels run", "'set_F.-1': the parameter of set_F is negative. Write set_F.0.5."),
        ("-m ndcg.-1=5 qrels run", "'-1=5' is not a list of parameters of ndcg. Write -m ndcg.1=3.5,2=9."),
        ("-m P. qrels run", "'P.' lacks parameters after the point. Write P."),
        ("-m P.5,,7 qrels run", "'' is not a cut-off of P"),
        ("-m P.5,5.5 qrels run", "P has the cut-off 5 twice"),
        ("-m map.5 qrels run", "map takes no parameters"),
        ("-m official.5 qrels run", "official takes no parameters"),
        ("-m utility.1,2 qrels run", "utility has 4 parameters. Write utility.1,-1,0,0."),
        ("-m ndcg.1 qrels run", "'1' is not a list of parameters of ndcg. Write -m ndcg.1=3.5,2=9."),
        ("-m rbp.p=2 qrels run", "p=2 is not a number strictly between 0 and 1"),
        ("-m rbp --trec-eval 9 qrels run", "trec_eval 9 has no measure rbp"),
        ("-l x qrels run", "'x' is not a whole number"),
        ("-M 0 qrels run", "--Max_retrieved_per_topic 0 is not a whole number from 1 to 2147483647"),
        ("--trec-eval 8 qrels run", "9, 10"),
        ("qrels none", "none: no such file"),
        ("empty run", "empty: the ground truth is empty"),
        ("qrels empty", "empty: the run is empty"),
        ("letters run", "letters:1: grade 'x' is not a number"),
        ("fractions run", "grade 1.5 of document a is not a whole number"),
        ("bytes run", "is not UTF-8"),
        ("csv run", "csv: the file was to be read as TREC, but it looks like CSV. karat evaluate reads other formats."),
        ("qrels twice", "twice:1 and 2: document a is listed twice for query q1. karat evaluate --duplicates first"),
        ("--trec-eval 9 qrels others", "no query is in both"),
        ("--trec-eval 9 -c qrels others", "no query is in both"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(folder: Path, words: str, message: str) -> None:
    files = {
        "empty": b"", "letters": b"q1 0 a x\n", "fractions": b"q1 0 a 1.5\n", "bytes": b"q1 0 \xff 1\n",
        "csv": b"query,doc,grade\nq1,a,1\n", "twice": b"q1 Q0 a 1 2 t\nq1 Q0 a 2 1 t\n", "others": b"q7 Q0 a 1 2 t\n",
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).write_bytes(content)
    done = trec(folder, words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_all_measures_are_those_of_the_registry_except_for_texts() -> None:
    columns = printed_measures(MEASURES)
    assert [column.name for column in columns if column.measure is None] == ["runid", "relstring"]
    for column in columns:
        if column.measure is not None and column.stem not in ("recall", "success"):
            assert parse(column.name) == column.measure
    assert next(column.stem for column in printed_measures(["set"])) == "runid"
    assert {column.stem for column in printed_measures(["all_trec"])} == set(NICKNAMES["all_trec"])


@settings(max_examples=60)
@given(
    st.one_of(
        st.text(max_size=12),
        st.builds("{}{}{}".format, st.sampled_from(MEASURES), st.sampled_from("._,="),
                  st.text("0123456789.,-+=epx_ ", max_size=12)),
    )
)  # fmt: skip
def test_any_text_is_a_list_of_measures_or_a_clear_error(text: str) -> None:
    try:
        columns = printed_measures([text])
    except KaratError:
        return
    assert columns
    assert len(set(columns)) == len(columns)
