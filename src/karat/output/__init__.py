"""Tables, output files and progress bars."""
