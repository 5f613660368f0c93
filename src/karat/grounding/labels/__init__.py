"""Labels: which of them count, what several say together, and the Verdicts of a system that they become."""
