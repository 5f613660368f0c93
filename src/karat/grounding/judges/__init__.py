"""Language-model judges: a source of labels for verdict files."""
