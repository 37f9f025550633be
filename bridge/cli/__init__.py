"""The command line. Command modules import what is heavy inside their functions."""

from bridge.cli.exits import main

__all__ = ["main"]
