"""Records with one object per question: results of RAG systems, answers, and spans."""
