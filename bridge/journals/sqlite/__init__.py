"""Journals in SQLite files: one writer at a time, so insertion order is commit order."""
