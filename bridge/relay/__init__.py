"""The relay: drives the pure machine with real adapters."""
