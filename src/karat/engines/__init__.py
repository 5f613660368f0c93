"""The same evaluation on other engines than the one in this process: Spark."""
