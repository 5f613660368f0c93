"""Pairs of a query and a document: ground truth and runs, from files of every format and from Python objects.

What has a row per query and document, from a file or not, is a `PairTable`, which is read in parts; everything else is
a mapping. Readers with a fast path have a slow one that defines the format. Tests compare the two, and errors come
from the slow one. What is wrong with a pair comes from `pair_checks.py`, whatever its source.

Ground truth in which each judgment names its group, as only trec_eval has it, is read in `judgment_groups.py`.

Of the 7 million lines of a large run, only about ten thousand are about judged documents. So:

1. The file is read in blocks of 8 MB that end where the query changes. A few blocks at a time are processed in
   threads, so memory use stays constant. Compressed data is decompressed by a thread of its own, ahead of the parser.
   What cannot be read in parts, such as one endless query or line, has a limit; so has the expansion of compressed
   data.
2. Arrow's CSV reader parses each block. If columns are separated by more than one character, each separator is first
   reduced to one. If Arrow cannot parse a block, Python parses it line by line, which also finds the line to name in
   an error.
3. Each row becomes a 64-bit hash of its query and document. A bitmap of the hashes in the ground truth selects the
   rows that may be hits, and sorting the hashes finds duplicates. Rows with equal hashes are then compared as text.
4. The rank of a judged document is the number of documents with a higher score, plus 1, which bisection in the scores
   of the query finds. Scores are only sorted for this if they are not in order, and documents never are. Document ids
   are compared only if the judged document is in a tie, and then within that tie.

Large ground truth is read in the same way, and its documents stay in Arrow columns: they become strings only when they
are shown. One sorted array of hashes and row numbers finds documents that are judged twice, and later those of the
run.

A file of up to half a megabyte is parsed in Python, line by line, into a mapping: loading Arrow would take longer. If
a document is listed twice for a query, Arrow reads small files too.

If the lines of a query are not next to each other, the whole file is read again and kept in memory: for each row the
number of its query, its score and its document. Rows are grouped by sorting these numbers, and batches of complete
queries are then ranked in threads like the blocks of a file. A data frame and a list of rows take the same path.
Beyond 2^24 rows of a file, they go to a temporary file instead, in 64 partitions by the number of the query, and one
partition after the other is grouped in memory. A mapping is never converted to a table: the judged documents are
looked up in it.

If rows that are wrong are left out, a block that Arrow cannot parse is halved, and so are its halves, until the wrong
rows are in small parts. Only these are parsed in Python.

Parquet row groups and Arrow record batches are read ahead in threads, with the queries run-end encoded from the codes
of Parquet's dictionaries. They are cut, and joined at their borders, into parts of whole queries of the size of a
block: larger ones would not fit into the processor's cache. Row groups without a reasonable size are streamed.

No row remembers its line. If an error or a finding needs the lines of some documents, the source is read again, once
for all of them (`places.py`).
"""
