"""DocumentCleaner: removes headers, extra white space and other noise from the texts of documents."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, get_args
from unicodedata import normalize

from karat.components.component import component
from karat.components.serialization import SerializableComponent
from karat.documents.document import Document, as_document, with_content
from karat.documents.fields import DocumentLike
from karat.errors import KaratError, KaratTypeError, Place, did_you_mean, enumeration, safe_line, shown
from karat.errors.arguments import as_count, check_switch

UnicodeForm = Literal["NFC", "NFKC", "NFD", "NFKD"]
Step = Callable[[str], str]

_log = logging.getLogger(__name__)
_NAMED = 5


@component
class DocumentCleaner(SerializableComponent):
    r"""Cleans the texts of documents, so that texts that differ only in white space, accents or headers become equal.

    The steps that are switched on run in this order: `unicode_normalization`, `ascii_only`, `remove_extra_whitespaces`
    (two or more white-space characters become one space), `remove_empty_lines`, `remove_substrings`, `remove_regex`,
    `replace_regexes` (pattern to replacement), `remove_repeated_substrings` (headers and footers), `strip_whitespaces`.
    Form feeds separate pages, and are kept. Documents whose cleaned text is shorter than `min_content_length` are
    dropped.

    A cleaned document has the class and the other fields of the document it was made from; a text or a dictionary
    becomes a Document. The ids of karat's and Haystack's documents are derived from the new text; with `keep_id`, and
    in documents of other frameworks, ids stay the same.

    >>> cleaner = DocumentCleaner(remove_substrings=["(draft)"], strip_whitespaces=True)
    >>> cleaner.run(["Paris  is \n\n the capital. (draft)"])
    {'documents': [Document(content='Paris is the capital.')]}
    """

    modifies_inputs = False

    def __init__(
        self,
        remove_empty_lines: bool = True,
        remove_extra_whitespaces: bool = True,
        remove_repeated_substrings: bool = False,
        keep_id: bool = False,
        remove_substrings: list[str] | None = None,
        remove_regex: str | None = None,
        unicode_normalization: UnicodeForm | None = None,
        ascii_only: bool = False,
        strip_whitespaces: bool = False,
        replace_regexes: dict[str, str] | None = None,
        min_content_length: int = 0,
    ) -> None:
        _check_substrings(remove_substrings)
        _check_regex("" if remove_regex is None else remove_regex, "", "remove_regex")
        _check_form(unicode_normalization)
        _check_replacements(replace_regexes)
        self.remove_empty_lines = check_switch("remove_empty_lines", remove_empty_lines)
        self.remove_extra_whitespaces = check_switch("remove_extra_whitespaces", remove_extra_whitespaces)
        self.remove_repeated_substrings = check_switch("remove_repeated_substrings", remove_repeated_substrings)
        self.keep_id = check_switch("keep_id", keep_id)
        self.remove_substrings = remove_substrings and list(remove_substrings)
        self.remove_regex = remove_regex
        self.unicode_normalization = unicode_normalization
        self.ascii_only = check_switch("ascii_only", ascii_only)
        self.strip_whitespaces = check_switch("strip_whitespaces", strip_whitespaces)
        self.replace_regexes = replace_regexes and dict(replace_regexes)
        self.min_content_length = _length(min_content_length)

    @component.output_types(documents=list[DocumentLike] | list[list[DocumentLike]])
    def run(self, documents: Sequence[DocumentLike] | Sequence[Sequence[DocumentLike]]) -> dict[str, list[Any]]:
        """The cleaned documents, in the shape of the input: a list of documents, or one list per question.

        The input is not modified. A document without content is returned unchanged.
        """
        nested = _is_nested(documents)
        steps = self._steps()
        without_content: list[str] = []
        cleaned = []
        for question, listed in enumerate(documents if nested else [documents]):
            place = Place("documents").inside(f"[{question}]") if nested else Place("documents")
            places = (place.inside(f"[{at}]") for at in range(len(listed)))
            results = [self._cleaned(*pair, steps, without_content) for pair in zip(listed, places, strict=True)]
            cleaned.append([document for document in results if document is not None])
        if without_content:
            _log.warning("karat: %s", _nothing_to_clean(without_content))
        total = sum(map(len, documents)) if nested else len(documents)
        if dropped := total - sum(map(len, cleaned)):
            _log.info("karat: dropped %d of %d documents that are shorter than min_content_length", dropped, total)
        return {"documents": cleaned if nested else cleaned[0]}

    def _steps(self) -> list[Step]:
        """The steps that are switched on, in order."""
        substrings, replacements = self.remove_substrings or [], self.replace_regexes or {}
        removals = {self.remove_regex or "": ""}
        steps: list[tuple[object, Step]] = [
            (self.unicode_normalization, partial(normalize, self.unicode_normalization or "NFC")),
            (self.ascii_only, _as_ascii),
            (self.remove_extra_whitespaces, _on_each_page(_without_extra_whitespaces)),
            (self.remove_empty_lines, _on_each_page(_without_empty_lines)),
            (substrings, partial(_without_substrings, substrings)),
            (self.remove_regex, _on_each_page(lambda page: _with_replacements(removals, page).strip())),
            (replacements, _on_each_page(partial(_with_replacements, replacements))),
            (self.remove_repeated_substrings, _without_headers_and_footers),
            (self.strip_whitespaces, str.strip),
        ]
        return [step for wanted, step in steps if wanted]

    def _cleaned(
        self, original: DocumentLike, place: Place, steps: Sequence[Step], without_content: list[str]
    ) -> DocumentLike | None:
        """The cleaned document, or None if its text is too short. The id of one without a text is added to the list."""
        document = as_document(original, place)
        if isinstance(original, str | Mapping):
            original = document
        text = document.content
        if text is None:
            without_content.append(_id(document, place))
            return original
        if not isinstance(text, str):
            what = f"the content is {shown(text)}, which is not text"
            raise KaratError(what, place=place, hint="Convert it to text.")
        for step in steps:
            text = step(text)
        if len(text.strip()) < self.min_content_length:
            return None
        return with_content(original, text, keep_id=self.keep_id, place=place)


def _id(document: Document, place: Place | str) -> str:
    try:
        return document.id
    except KaratError:  # no id can be derived from its metadata
        return str(place)


def _nothing_to_clean(ids: Sequence[str]) -> str:
    """A warning about documents without content, which names the first few of them."""
    named = [*ids[:_NAMED], f"{len(ids) - _NAMED} others"] if len(ids) > _NAMED + 1 else ids
    named = [safe_line(each) for each in named]
    noun = "ID" if len(ids) == 1 else "IDs"
    return (
        f"DocumentCleaner only cleans text documents but document.content for document {noun} "
        f"{enumeration(named, 'and')} is None."
    )


def _on_each_page(step: Step) -> Step:
    return lambda text: "\f".join(map(step, text.split("\f")))


def _as_ascii(text: str) -> str:
    """The text without accents and without all other characters that are not ASCII."""
    return normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


def _without_extra_whitespaces(page: str) -> str:
    return re.sub(r"\s\s+", " ", page).strip()


def _without_empty_lines(page: str) -> str:
    return "\n".join(line for line in page.split("\n") if line and not line.isspace())


def _without_substrings(substrings: Sequence[str], text: str) -> str:
    for substring in substrings:
        text = text.replace(substring, "")
    return text


def _with_replacements(replacements: Mapping[str, str], page: str) -> str:
    for pattern, replacement in replacements.items():
        page = re.sub(pattern, replacement, page)
    return page


def _without_headers_and_footers(text: str) -> str:
    """Remove the longest phrase that all pages share in their first 300 characters, and in their last 300.

    The first and the last page often have no header or footer. They are not searched, but the phrase is removed from
    them too.
    """
    pages = text.split("\f")
    for edge in (slice(300), slice(-300, None)):
        repeated = _longest_shared_phrase([page[edge] for page in pages[1:-1] if page])
        if repeated.strip():
            pages = [page.replace(repeated, "") for page in pages]
    return "\f".join(pages)


def _longest_shared_phrase(texts: Sequence[str]) -> str:
    if len(texts) < 2:
        return ""
    shared = _phrases(texts[0])
    for text in set(texts):
        here = _phrases(text)
        shared = {phrase: None for phrase in shared if phrase in here}
        if not shared:
            return ""
    # If several phrases are longest, take the first, so that every process gives the same result.
    return max(shared, key=len)


def _phrases(text: str) -> dict[str, None]:
    """All sequences of 3 to 29 words, in order; words end at each space, and before each line break or tab."""
    gaps = [gap.span() for gap in re.finditer(r" |(?=[\n\t])", text)]
    starts = [0, *(end for _, end in gaps)]
    ends = [*(start for start, _ in gaps), len(text)]
    # The last of n words that start with word i is word i + n - 1.
    return {text[start:end]: None for n in range(3, 30) for start, end in zip(starts, ends[n - 1 :], strict=False)}


def _is_list(value: object) -> bool:
    """Whether something is a list and not a document; a named tuple can be a document."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes) and not hasattr(value, "_fields")


def _is_nested(documents: Sequence[Any]) -> bool:
    """Whether there is one list per question; a mixture of lists and documents is an error."""
    hint = "Pass a list of documents, or one list of documents per question."
    if not _is_list(documents):
        raise KaratTypeError(f"DocumentCleaner expects a List of Documents as input, not {shown(documents)}", hint=hint)
    nested = bool(documents) and _is_list(documents[0])
    for at, element in enumerate(documents):
        if _is_list(element) != nested:
            what = f"{shown(element)} is {'not a list' if nested else 'a list'}, unlike the elements before it"
            raise KaratError(what, place=Place("documents", field=f"[{at}]"), hint=hint)
    return nested


def _check_substrings(substrings: Any) -> None:
    name, hint = "remove_substrings", "Pass a list of strings that are not empty."
    _check(substrings is None or _is_list(substrings), name, f"{shown(substrings)} is not a list", hint)
    for substring in substrings or ():
        _check(isinstance(substring, str) and substring, name, f"{shown(substring)} cannot be removed", hint)


def _check_form(form: object) -> None:
    forms = get_args(UnicodeForm)
    hint = f"{did_you_mean(form, forms)} The forms are {', '.join(forms)}.".strip()
    what = f"{shown(form)} is not a Unicode normalization form"
    _check(form is None or (isinstance(form, str) and form in forms), "unicode_normalization", what, hint)


def _length(value: object) -> int:
    length = as_count(value)
    hint = "Use an integer; 0 drops no documents."
    _check(length is not None, "min_content_length", f"{shown(value)} is not a length", hint)
    return length or 0


def _check_replacements(replacements: Any) -> None:
    name, what = "replace_regexes", f"{shown(replacements)} is not a dictionary"
    _check(replacements is None or isinstance(replacements, Mapping), name, what, "Pass {pattern: replacement}.")
    for pattern, replacement in (replacements or {}).items():
        _check_regex(pattern, replacement, name)


def _check_regex(pattern: Any, replacement: Any, parameter: str) -> None:
    for text in (pattern, replacement):
        _check(isinstance(text, str), parameter, f"{shown(text)} is not text", "Patterns and replacements are strings.")
    wrong = pattern
    try:
        compiled = re.compile(pattern)
        wrong = replacement
        compiled.sub(replacement, "")  # parses the replacement, even if there is nothing to replace
    except (re.error, IndexError, OverflowError, RecursionError, ValueError) as error:
        hint = "Write patterns and replacements as for Python's re; re.escape turns plain text into a pattern."
        _check(False, parameter, f"{shown(wrong)} cannot be used: {error}", hint)


def _check(condition: object, parameter: str, what: str, hint: str) -> None:
    if not condition:
        raise KaratError(what, place=Place("DocumentCleaner", field=parameter), hint=hint) from None
