"""Tables, files that are written whole or not at all, and progress."""
