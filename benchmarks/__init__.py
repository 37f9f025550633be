"""Measurements, side by side in one run on one machine: only the ratios are worth quoting."""
