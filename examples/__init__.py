"""Programs to try bridge with."""
