"""Tables, output files and progress bars.

Whatever is printed is a `Printable`: it has `tables()` for people, `to_dict()` for JSON and, if it has rows,
`records()` for CSV and JSON lines. Markdown, LaTeX, notebooks and `print()` follow from the tables. `BySystem` has the
same kind of result for several systems, each under its name. What is read line by line, such as the findings of
`check`, is a `LineByLine`.

An output file is written as a draft (`.karat-….part`) in the same folder and then renamed, so an interrupted write
does not damage an existing file. A draft is locked while it is written. If a writer is killed, the next write in that
folder removes its draft, because nobody holds its lock. At Ctrl-C and SIGTERM, the command removes its drafts and ends
at once (`__main__.py`): an exception could be lost in an import or in a callback of a library. Before the first line
of `__main__.py` runs, Python itself reports Ctrl-C. The library handles no signals.
"""
