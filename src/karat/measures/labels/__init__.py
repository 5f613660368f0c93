"""Measures of labels about generated answers, a file per family."""
