"""The evaluation of large data on Spark."""
