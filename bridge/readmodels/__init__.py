"""Databases that hold read models, and with each of them how far its projections are."""
