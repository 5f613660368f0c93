"""Labels to show: those of one query, and those that differ between two systems."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LabelRow:
    """A label of an item: what the item was compared with, by whom it was labelled, and why; or an unlabelled item.

    `against` is empty for the answer as a whole. `label` is None if it is unknown: `state` is then `failed`, `stale` if
    a text has changed since it was labelled, or `unlabelled` if nobody gave a label.
    """

    item: str
    type: str
    text: str | None
    task: str = ""
    against: str = ""
    label: str | None = None
    state: str = "unlabelled"
    by: str = ""
    why: str | None = None
    sample: int = 0

    @property
    def author_text(self) -> str:
        """The author, and which of several samples of a model it is."""
        return f"{self.by}, sample {self.sample}" if self.sample else self.by

    @property
    def label_text(self) -> str:
        """The label, or why there is none."""
        return self.state if self.label is None else self.label

    @property
    def item_text(self) -> str:
        """The id and the text of the item, as far as they are known."""
        return self.item if not self.text else f"{self.item}: {self.text}"


@dataclass(frozen=True)
class LabelChange:
    """A label that differs between two systems; None if a system has no such item, or no label of it."""

    item: str
    type: str
    text: str | None
    task: str
    against: str
    before: str | None
    after: str | None

    @property
    def item_text(self) -> str:
        """The id and the text of the item, as far as they are known."""
        return self.item if not self.text else f"{self.item}: {self.text}"
