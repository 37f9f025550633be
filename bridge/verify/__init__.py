"""Comparison of a journal with its topics, by queries that the relay does not use."""
