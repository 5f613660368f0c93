"""What measures read: the ranks of judged documents, spans, answers, or verdicts about generated answers."""
