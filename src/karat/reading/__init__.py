"""Reading: from files and Python objects of any kind to ground truth and runs, records, and texts.

A file is read in three layers. A layer knows nothing about those above it:

    bytes      a file, a pipe, an open file or a remote one, decompressed, as blocks that can be read more than once
    contents   what the file is: from its content first, and from its name second
    readers    one per format, for what it contains: pairs of query and document, records with one object per question,
               or texts by id

Python objects have readers too. Which columns and fields are read is decided by the chooser in `columns`, which
everything that is read asks; the usual names of fields are listed there and nowhere else.
"""
