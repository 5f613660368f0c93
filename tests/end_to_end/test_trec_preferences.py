"""`karat trec -R`: preferences and judgment groups, worked by hand, and what their files may contain."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from karat.compat.measures import OF_JUDGMENTS
from tests.end_to_end.in_process import run_here
from tests.end_to_end.test_trec_command import trec, values

# Of q1, ann orders all documents, and bob compares only some. Of q2, ann prefers e to f.
PREFERENCES = """# people's preferences
q1 ann s a 3
q1 ann s b 2
q1 ann s c 0
q1 bob s1 b 2
q1 bob s1 a 1
q1 bob s2 a 2
q1 bob s2 d 1
q2 ann s e 1
q2 ann s f 0
"""
QRELS = "q1 ann a 1\nq1 ann b 0\nq1 bob b 2\nq1 bob c 0\nq2 ann e 1\n"
RUN = "q1 Q0 a 1 4 t\nq1 Q0 x 2 3 t\nq1 Q0 b 3 2 t\nq1 Q0 d 4 1 t\nq2 Q0 f 1 2 t\nq2 Q0 e 2 1 t\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prefs").write_text(PREFERENCES)
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    return tmp_path


def test_the_measures_of_preferences_are_those_worked_by_hand(folder: Path) -> None:
    # Of q1, ann prefers a to b, a to c and b to c; bob b to a, a to d, and so b to d. The ranking is a, b, d; c is not
    # retrieved. bob's preference for b over a is not fulfilled, the other five are. For prefs_pair, a and b have the
    # share 1/2. R is 2 for ann and 3 for bob, N is 1 and 0: a and b are preferred to one more document for ann, and a,
    # b and d to three more for bob.
    assert trec(folder, "-R prefs -m all_prefs -q prefs run").stdout == (
        "prefs_num_prefs_poss  \tq1\t6\n"
        "prefs_num_prefs_ful   \tq1\t5\n"
        "prefs_num_prefs_ful_ret\tq1\t3\n"
        "prefs_simp            \tq1\t0.8333\n"
        "prefs_pair            \tq1\t0.9000\n"
        "prefs_avgjg           \tq1\t0.8333\n"
        "prefs_avgjg_Rnonrel   \tq1\t0.9583\n"
        "prefs_simp_ret        \tq1\t0.7500\n"
        "prefs_pair_ret        \tq1\t0.8333\n"
        "prefs_avgjg_ret       \tq1\t0.8333\n"
        "prefs_avgjg_Rnonrel_ret\tq1\t0.9583\n"
        "prefs_simp_imp        \tq1\t0.8333\n"
        "prefs_pair_imp        \tq1\t0.9000\n"
        "prefs_avgjg_imp       \tq1\t0.8333\n"
        "prefs_num_prefs_poss  \tq2\t1\n"
        "prefs_num_prefs_ful   \tq2\t0\n"
        "prefs_num_prefs_ful_ret\tq2\t0\n"
        + "".join(f"{name:<22}\tq2\t0.0000\n" for name in OF_JUDGMENTS["prefs"][5:])
        + "runid                 \tall\tt\n"
        "num_q                 \tall\t2\n"
        "prefs_num_prefs_poss  \tall\t7\n"
        "prefs_num_prefs_ful   \tall\t5\n"
        "prefs_num_prefs_ful_ret\tall\t3\n"
        "prefs_simp            \tall\t0.4167\n"
        "prefs_pair            \tall\t0.4500\n"
        "prefs_avgjg           \tall\t0.4167\n"
        "prefs_avgjg_Rnonrel   \tall\t0.4792\n"
        "prefs_simp_ret        \tall\t0.3750\n"
        "prefs_pair_ret        \tall\t0.4167\n"
        "prefs_avgjg_ret       \tall\t0.4167\n"
        "prefs_avgjg_Rnonrel_ret\tall\t0.4792\n"
        "prefs_simp_imp        \tall\t0.4167\n"
        "prefs_pair_imp        \tall\t0.4500\n"
        "prefs_avgjg_imp       \tall\t0.4167\n"
    )


def test_the_means_over_judgment_groups_are_those_worked_by_hand(folder: Path) -> None:
    found = values(trec(folder, "-R qrels_jg -m map_avgjg -m P_avgjg.1,3 -m Rprec_mult_avgjg.1 -m num_q -q qrels run"))
    # Of q1, ann's only relevant document is at rank 1, and bob's at rank 3.
    assert found["map_avgjg", "q1"] == f"{(1 + 1 / 3) / 2:6.4f}"
    assert (found["P_avgjg_1", "q1"], found["P_avgjg_3", "q1"]) == ("0.5000", "0.3333")
    assert (found["Rprec_mult_avgjg_1.00", "q1"], found["map_avgjg", "q2"]) == ("0.5000", "0.5000")
    assert (found["num_q", "all"], found["map_avgjg", "all"]) == ("2", "0.5833")
    assert values(trec(folder, "-R qrels_jg -m map_avgjg -q -l2 qrels run"))["map_avgjg", "q1"] == "0.1667"
    # Without unjudged documents, bob's is at rank 1, and without the third rank it is not retrieved.
    assert values(trec(folder, "-R qrels_jg -m map_avgjg -q -J qrels run"))["map_avgjg", "q1"] == "1.0000"
    assert values(trec(folder, "-R qrels_jg -m map_avgjg -q -M2 qrels run"))["map_avgjg", "q1"] == "0.5000"


def test_qrels_may_express_preferences_with_decimal_grades(folder: Path) -> None:
    (folder / "qrels").write_text(QRELS.replace("a 1\n", "a 0.25\n"))
    found = values(trec(folder, "-R qrels_prefs -m prefs -q qrels run"))
    assert found["prefs_num_prefs_poss", "q1"] == "2"
    assert found["prefs_simp", "q1"] == "1.0000"
    assert found["prefs_simp", "q2"] == "0.0000"


def test_only_the_first_documents_may_count_as_retrieved(folder: Path) -> None:
    found = values(trec(folder, "-R prefs -m prefs_num_prefs_ful_ret -m prefs_num_prefs_ful -q -M 1 prefs run"))
    assert (found["prefs_num_prefs_ful_ret", "q1"], found["prefs_num_prefs_ful", "q1"]) == ("0", "3")


def test_the_lowest_relevant_grade_and_unjudged_documents_do_not_change_preferences(folder: Path) -> None:
    expected = trec(folder, "-R prefs -m all_prefs -q prefs run").stdout
    assert trec(folder, "-R prefs -m all_prefs -q -l 3 -J -N 100 prefs run").stdout == expected


def test_missing_queries_stop_the_output_or_count_as_0_with_c(folder: Path) -> None:
    (folder / "run").write_text(RUN.partition("q2")[0])
    done = trec(folder, "-R prefs -m prefs_simp -q prefs run")
    assert (done.returncode, done.stdout) == (4, "prefs_simp            \tq1\t0.8333\n")
    found = values(trec(folder, "-R prefs -m prefs -q -c prefs run"))
    assert (found["prefs_simp", "q2"], found["prefs_num_prefs_poss", "q2"], found["num_q", "all"]) == (
        "0.0000",
        "1",
        "2",
    )
    assert found["prefs_simp", "all"] == "0.4167"
    ninth = values(trec(folder, "-R prefs -m prefs -q -c --trec-eval 9 prefs run"))
    assert (ninth["prefs_num_prefs_poss", "all"], ninth["prefs_simp", "all"]) == ("6", "0.4167")
    assert values(trec(folder, "-R qrels_jg -m map_avgjg -c qrels run")) == {("map_avgjg", "all"): "0.3333"}


def test_the_format_may_be_attached_to_its_option_and_files_may_be_compressed(folder: Path) -> None:
    expected = trec(folder, "-R prefs -m prefs prefs run").stdout
    (folder / "prefs.gz").write_bytes(gzip.compress(PREFERENCES.encode()))
    assert trec(folder, "-Rprefs -mprefs prefs.gz run").stdout == expected
    assert trec(folder, "--Rel_info_format prefs -m prefs prefs -", stdin=RUN.encode()).stdout == expected


def test_lines_may_be_in_any_order_with_any_white_space(folder: Path) -> None:
    expected = trec(folder, "-R prefs -m all_prefs -q prefs run").stdout
    lines = PREFERENCES.splitlines()[::-1]
    (folder / "prefs").write_text("\r\n\n".join("\t  ".join(line.split(" ")) for line in lines if line[0] != "#"))
    assert trec(folder, "-R prefs -m all_prefs -q prefs run").stdout == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-R pref qrels run", "--Rel_info_format pref is not one of qrels, qrels_jg, prefs, qrels_prefs. Did you"),
        ("-R prefs prefs run", "official is not computed from judgments in the format prefs. Use -R qrels, or"
         " measures of prefs, such as -m prefs."),
        ("-R prefs -m map prefs run", "map is not computed from judgments in the format prefs. Use -R qrels,"),
        ("-m prefs qrels run", "prefs is not computed from judgments in the format qrels. Use -R prefs or qrels"),
        ("-m map_avgjg.5 -R qrels_jg qrels run", "map_avgjg takes no parameters"),
        ("-m P_avgjg.x -R qrels_jg qrels run", "'x' is not a cut-off of P_avgjg"),
        ("-m P_avgjg_5 -R qrels_jg qrels run", "Write -m P_avgjg.5."),
        ("-m P_avgjg qrels run", "P_avgjg is not computed from judgments in the format qrels. Use -R qrels_jg,"),
        ("-R prefs -m prefs_sim prefs run", "trec_eval has no measure 'prefs_sim'. Did you mean prefs_simp"),
        ("-R prefs -m prefs none run", "none: no such file"),
        ("-R prefs -m prefs empty run", "empty: the file of preferences is empty. A file of preferences has five"),
        ("-R qrels_jg -m qrels_jg empty run", "empty: the ground truth is empty. A qrels file with judgment groups"),
        ("-R prefs -m prefs qrels run", "qrels:1: the line has 4 columns. A file of preferences has five columns: query"
         " group subgroup document grade. These look like qrels, which `karat trec -R qrels_prefs`"),
        ("-R qrels_prefs -m prefs prefs run", "prefs:2: the line has 5 columns. A qrels file with judgment groups has"
         " four columns: query group document grade. This looks like a file of preferences, which `karat trec -R"),
        ("-R prefs -m prefs csv run", "csv:1: the line has 1 column."),
        ("-R prefs -m prefs letters run", "letters:2: grade 'x' is not a number"),
        ("-R prefs -m prefs infinite run", "infinite:1: grade 'inf' is not a finite number"),
        ("-R prefs -m prefs bytes run", r"bytes:1: b'\xff' is not UTF-8"),
        ("-R prefs -m prefs group run", r"group:1: b'\xff' is not UTF-8"),
        ("-R prefs -m prefs nul run", "nul:1: the line contains a NUL byte"),
        ("-R prefs -m prefs twice run", "twice:1 and 3: document 'a' of query 'q1' is listed twice by subgroup 's' of"
         " group 'g'. Remove one of the lines."),
        ("-R qrels_jg -m qrels_jg doubled run", "doubled:1 and 2: document 'a' of query 'q1' is listed twice by group"),
        ("-R prefs -m prefs contradiction run", "contradiction, query q1: group 'g' prefers document 'a' to 'b', and"
         " the other way round. Different opinions are different groups."),
        ("-R prefs -m prefs circle run", "circle, query q1: group 'g' prefers document 'a' to 'b', and the other way"),
        ("-R prefs -m prefs zero run", "zero, query q1: group 'g' grades document 'a' 0 in a subgroup, and above 0 in"),
        ("-R qrels_jg -m qrels_jg fractions run", "grade 1.5 of document a is not a whole number"),
        ("-R prefs -m prefs others run", "no query is in both"),
        ("-R prefs -m prefs prefs repeated", "document a is listed twice for query q1"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_status_2(folder: Path, words: str, message: str) -> None:
    files = {
        "empty": b"# nothing\n\n", "csv": b"query,group,subgroup,doc,grade\n", "letters": b"\nq1 g s a x\n",
        "infinite": b"q1 g s a inf\n", "bytes": b"q1 g s \xff 1\n", "group": b"q1 \xff s a 1\n",
        "nul": b"q1 g s a\0 1\n",
        "twice": b"q1 g s a 1\nq1 g t a 1\nq1 g s a 1\n", "doubled": b"q1 g a 1\nq1 g a 2\n",
        "contradiction": b"q1 g s a 2\nq1 g s b 1\nq1 g t b 2\nq1 g t a 1\n",
        "circle": b"q1 g s a 2\nq1 g s b 1\nq1 g t b 2\nq1 g t c 1\nq1 g u c 2\nq1 g u a 1\n",
        "zero": b"q1 g s a 0\nq1 g t a 1\n", "fractions": b"q1 g a 1.5\n", "others": b"q7 g s a 1\n",
        "repeated": b"q1 Q0 a 1 2 t\nq1 Q0 a 2 1 t\n",
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).write_bytes(content)
    done = trec(folder, words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_measures_of_preferences_are_explained_and_refused_by_other_commands(folder: Path) -> None:
    text = run_here(folder, "measures", "prefs_pair_ret").stdout
    assert "preferences of judgment groups: karat trec -R prefs" in text
    assert "from karat.measures import PrefPair" in text
    done = run_here(folder, "evaluate", "qrels", "run", "-m", "prefs_simp")
    assert done.returncode == 2
    assert "PrefSimple measures preferences, not documents. Use `karat trec -R prefs`" in done.stderr
