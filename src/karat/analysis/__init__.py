"""Analyses of scores: the evidence for them, explain, diff, bounds and slices."""
