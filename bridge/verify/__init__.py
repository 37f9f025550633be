"""Comparison of a journal with its topics, by queries of its own: shares no reading with the relay."""
