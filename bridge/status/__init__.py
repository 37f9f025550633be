"""Looking at a relay from outside, without one running: status, checks, cursors, records."""
