"""Properties have no time limit per example: the machine may be busy with servers."""

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
