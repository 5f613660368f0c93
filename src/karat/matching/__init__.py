"""What counts as a hit: which retrieved document matches which judged document.

`same`, `prefix`, `chunk`, `fuzzy` and `overlap` are the matchers that `match=` takes, as objects or as text:
`fuzzy(threshold=85)` is the same as `"fuzzy(threshold=85)"`.
"""

from karat.matching.containment import is_chunk_from_original
from karat.matching.matchers import Chunk, Fuzzy, Matcher, Overlap, Prefix, Same, matcher_of

same, prefix, chunk, fuzzy, overlap = Same, Prefix, Chunk, Fuzzy, Overlap

__all__ = ["Matcher", "chunk", "fuzzy", "is_chunk_from_original", "matcher_of", "overlap", "prefix", "same"]
