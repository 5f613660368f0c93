"""Components and pipelines with Haystack's contract: thin callers of the core."""
