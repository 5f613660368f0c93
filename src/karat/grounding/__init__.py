"""Labels of generated answers: the items of answers, the verdicts on them, and the sheets that people fill in."""
