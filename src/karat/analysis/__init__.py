"""What looks behind a score: evidence, explain, diff, bounds and slices."""
