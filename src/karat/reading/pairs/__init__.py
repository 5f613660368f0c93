"""Pairs of a query and a document: ground truth and runs, from files of every format and from Python objects."""
