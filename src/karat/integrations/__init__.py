"""karat inside other frameworks; each module needs its framework, and nothing else here imports any."""
