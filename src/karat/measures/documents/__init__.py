"""Measures of retrieved documents, a file per family."""
