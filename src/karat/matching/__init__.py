"""What counts as a hit: which retrieved document matches which judged document.

`same`, `prefix`, `chunk`, `fuzzy` and `overlap` are the matchers that `match=` takes, as objects or as text:
`fuzzy(threshold=85)` is the same as `"fuzzy(threshold=85)"`. A `Matcher` defines which key is read from a document
and, for text matchers, how two texts are compared. All of them are applied in one place, the joiner, to every kind of
run:

    id, content, meta.NAME   by looking up the key, normalized if requested
    prefix                   by looking up every part of the key that ends before a separator; in tables, all rows at
                             once for the last eight separators
    chunk                    by one search in all gold texts of a query, which rules out most chunks; the remaining
                             chunks are searched for in each text
    fuzzy                    by two bounds that follow from the threshold and the lengths and rule out most pairs: the
                             number of common q-grams, counted with NumPy, and the length of the longest common
                             subsequence; rapidfuzz compares the remaining pairs, except for long texts
    overlap                  by counting tokens
    a function               by calling it for each pair

rapidfuzz compares a text with every window of a longer one, which takes minutes if both have tens of thousands of
characters. For texts of more than 512 characters, `windows.py` finds the best window in time proportional to the
product of both lengths at most: ranges of windows are compared as a whole, and split in two as long as they may
contain the best one. If that does not narrow it down, as in texts that repeat themselves, the longest common
subsequences of all windows are computed at once (Tiskin's semi-local comparison, with NumPy). rapidfuzz then computes
the ratio of the best window, so the value is the same in every bit.

These filters never rule out a match: property tests compare every matcher with a simple reference implementation, and
`fuzzy` with rapidfuzz at thresholds that equal a ratio.
"""

from karat.matching.containment import is_chunk_from_original
from karat.matching.matcher import Matcher
from karat.matching.matchers import Chunk, Fuzzy, Overlap, Prefix, Same, matcher_of

same, prefix, chunk, fuzzy, overlap = Same, Prefix, Chunk, Fuzzy, Overlap

__all__ = ["Matcher", "chunk", "fuzzy", "is_chunk_from_original", "matcher_of", "overlap", "prefix", "same"]
