"""Fuzzers: hostile calls, damaged files, and property tests with new seeds. `make fuzz` runs them."""
