#!/usr/bin/env python3
"""Write docs/prompts.md: the prompts of karat's judges, in full.

Usage::

    python scripts/list_prompts.py            # write the page
    python scripts/list_prompts.py --check    # write nothing; exit 1 if it is not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

from up_to_date import main

from karat.grounding.judges.prompts import EXAMPLES, NAMES, Prompt, load_prompts

PAGE = Path(__file__).resolve().parent.parent / "docs" / "prompts.md"
INTRODUCTION = """\
# Prompts

What `karat judge` tells a language model, word for word. [Judges](judges.md) says what the replies are used for.

- **Each prompt has a version.** It is part of the key of every reply: with a new version, replies to the old one are
  not used again. Labels name the call that gave them, and calls name the prompt, such as `{example}`.
- **A prompt is the system message, unchanged in every request.** It comes first, so that servers which cache the
  beginning of a request charge less for it, or nothing.
- **The user message is one JSON object**, with the question, the passages, the answer and the items to judge. Whatever
  a text contains, it stays within its JSON string.
- **The order of texts** is that of the results in the first sample, and [another one](judges.md#ask-several-times) in
  each further sample, in which passages have codes such as `qtbk` as ids instead of ranks.
- **Long texts are divided.** What [does not fit](judges.md#texts-that-do-not-fit) is sent in parts, each in a message
  like that of the whole. Nuggets are extracted from ten passages at a time, with the list so far.
- **Examples by people** ([`--examples`](judges.md#show-it-examples-by-people)) come first in the user message. Then the
  prompt is followed by [another one](#examples) that introduces them, and is called `{example}+{examples}`.
- **Your own prompts:** put a file with the name of a prompt, such as `{name}.txt`, into a folder, and pass `--prompts
  FOLDER` (`prompts=`). The other prompts stay as they are. The version of your own prompt is a digest of its text, so
  that a change of one word is a change of its version. The reply must have the same fields as below.

| prompt | asked for | by `--task` |
| --- | --- | --- |
{table}
"""
USES = {
    "support": (
        "whether items are stated in a text",
        "`faithfulness`, `support`, `citations`, `nuggets`, `coverage`, `claims`",
    ),
    "claims": ("the claims of an answer, or of gold answers", "`faithfulness`, `claims`"),
    "nuggets": ("what a good answer should contain", "`nuggets`, `coverage`"),
    "importance": ("which of that is vital", "`nuggets`, `coverage`"),
    "relevance": ("the grade of a passage or a document", "`context`, `relevance`"),
    "correctness": ("whether an answer is correct", "`correctness`"),
    "answer_relevance": ("whether an answer addresses the question", "`answer_relevance`"),
    "abstention": ("whether a text answers the question", "`abstention`"),
    "rubric": ("the label of a rubric of your own", "`--rubric FILE`"),
    EXAMPLES: (
        "nothing by itself: it follows another prompt, whose messages have examples by people",
        "`--examples FILE`",
    ),
}


def page() -> str:
    prompts = load_prompts()
    table = "\n".join(f"| [`{prompts[name].id}`](#{name}) | {uses} | {tasks} |" for name, (uses, tasks) in USES.items())
    example = prompts[NAMES[0]]
    names = {"example": example.id, "name": example.name, "examples": prompts[EXAMPLES].id}
    return "\n".join([INTRODUCTION.format(**names, table=table), *(section(prompts[name]) for name in USES)])


def section(prompt: Prompt) -> str:
    return f"## {prompt.name}\n\nVersion {prompt.version}.\n\n````text\n{prompt.text}\n````\n"


if __name__ == "__main__":
    sys.exit(main(__file__, "Write docs/prompts.md.", [(PAGE, page())]))
