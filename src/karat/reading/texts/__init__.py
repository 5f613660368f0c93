"""The texts of queries and of documents that are known by id only."""
