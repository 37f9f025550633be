"""MODULE:NAME → projection."""

import importlib
import sys
from pathlib import Path

from bridge.errors import ConfigError
from bridge.projections.projection import Projection

__all__ = ["load_projection"]


def load_projection(target: str) -> Projection:
    """Import a projection; modules are looked for in the working directory first.

    Raises:
        ConfigError: there is no such module, or no projection of that name in it.
    """
    module_name, _, name = target.partition(":")
    if not module_name or not name:
        raise ConfigError(
            f"{target!r} names no projection", "write MODULE:NAME, e.g. totals:orders"
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as e:
        raise ConfigError(
            f"module {module_name!r} cannot be imported: there is no {e.name!r}",
            "start where the module is, or install it",
        ) from e
    found = getattr(module, name, None)
    if not isinstance(found, Projection):
        raise ConfigError(
            f"{module_name} has no projection {name!r}", f"define {name} = Projection(…) in it"
        )
    return found
