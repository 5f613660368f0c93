"""Charts of scores and comparisons: for papers, for notebooks and for the report (extra `karat-eval[report]`)."""
