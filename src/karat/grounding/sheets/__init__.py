"""Sheets that people fill in with a spreadsheet, and what they become in a verdict file."""
