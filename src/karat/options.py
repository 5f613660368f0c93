"""What can be chosen, by name: shared by the library and the command line, and light enough for its start."""

from typing import Literal

Ties = Literal["trec", "input", "best", "worst"]
Missing = Literal["zero", "skip"]
Duplicates = Literal["error", "first"]
Output = Literal["table", "tsv", "csv", "json", "jsonl", "markdown", "latex"]
Test = Literal["randomization", "t", "wilcoxon", "bootstrap", "tukey"]
Correction = Literal["holm", "bonferroni", "bh", "none"]
Family = Literal["measure", "all"]
Queries = Literal["same", "common"]
