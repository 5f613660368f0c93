"""Reading: from files and Python objects of any kind to ground truth and runs, records, and texts."""
