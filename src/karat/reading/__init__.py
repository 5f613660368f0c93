"""Reading: from files and Python objects of any kind to ground truth and runs, records, and texts.

Bytes and columns know nothing about the others. The rest asks each other: what a file contains can depend on its
columns, and a table may have records.

    bytes      a file, a pipe, an open file or a remote one, decompressed, as blocks that can be read more than once
    columns    which column or field is read for which role
    contents   what a file is: from its content first, and from its name second
    pairs      ground truth and runs, one reader per format
    records    one object per question: results, answers, spans
    shapes     what the logs of other tools look like: a file of data and a sample per tool
    texts      the texts of queries and documents, by id

Python objects have readers too. Everything that is read asks the chooser in `columns`; the usual names of fields are
listed there and nowhere else.
"""
