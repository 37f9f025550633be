"""What a process that does nothing but relay sets for itself."""

import gc

__all__ = ["tune_collector"]

YOUNG_OBJECTS = 200_000
"""Container objects, net, before a collection: more than a full page of rows makes."""


def tune_collector() -> None:
    """Let the cyclic collector run rarely.

    A page of rows is a hundred thousand tuples that die by reference count as soon as they are
    published. With the default threshold of 700 the collector walks them again and again: it took
    60 % of the relay's time. Cycles are still found, only later.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 20)
