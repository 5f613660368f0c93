"""What a file is and what it contains, judging by how it begins."""
