"""What a system answered: its sentences, their citations, and the passages that it was given."""
