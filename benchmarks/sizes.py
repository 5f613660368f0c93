"""The sizes and paths of the benchmark's data. Imports nothing heavy, because tasks measure import times."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / ".data"


@dataclass(frozen=True)
class Size:
    name: str
    queries: int
    documents: int
    dict_queries: int
    questions: int
    answers: int

    @property
    def truth(self) -> Path:
        return FOLDER / f"{self.name}.qrels"

    @property
    def run(self) -> Path:
        return FOLDER / f"{self.name}.trec"


FULL = Size("full", queries=6_980, documents=1_000, dict_queries=2_000, questions=2_000, answers=100_000)
SMALL = Size("small", queries=200, documents=1_000, dict_queries=100, questions=100, answers=5_000)
