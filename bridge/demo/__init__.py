"""The demonstration: the same journal read by timestamp cursor, and by bridge."""
