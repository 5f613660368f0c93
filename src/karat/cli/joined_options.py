"""The options that name gold and answers in other files than the results: `--truth` and `--answers`."""

from __future__ import annotations

from karat.cli.files import FileToRead
from karat.cli.options import file_option, in_order
from karat.cli.parser import EVALUATED

joined_options = in_order(
    file_option(
        "--truth",
        "gold",
        kind=FileToRead(),
        group=EVALUATED,
        help="Gold documents or gold answers for results that do not contain them: ground truth or answers in any"
        " format, joined by the id of the query or the text of the question.",
    ),
    file_option(
        "--answers",
        kind=FileToRead(),
        group=EVALUATED,
        help="Predicted answers for results that do not contain them, joined in the same way.",
    ),
)
"""the command gets the two as `gold` and `answers`; `truth` is the first file of many commands"""
