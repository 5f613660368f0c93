"""Components and pipelines with the interface of Haystack; the scores are computed by the rest of karat."""
