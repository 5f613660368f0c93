"""What counts as a hit: which retrieved item is which judged document."""
