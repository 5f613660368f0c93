"""The verdict file: its records, checked and read in columns."""
