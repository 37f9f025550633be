"""What every command gets: the configuration, read when it is first asked for."""

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bridge.errors import ConfigError

if TYPE_CHECKING:
    from bridge.config import Config

__all__ = ["State", "pass_state"]

_DEFAULT_FILE: Final = Path("bridge.yaml")


class State:
    """Global options of one invocation.

    Args:
        config_path: file named by the user; None looks for bridge.yaml in the working directory.
    """

    def __init__(self, config_path: Path | None) -> None:
        self._config_path = config_path

    @cached_property
    def config(self) -> "Config":
        """The checked configuration.

        Raises:
            ConfigError: see `bridge.config.load_config`.
        """
        from bridge.config import load_config  # noqa: PLC0415 - slow; not every command needs it

        path = self._config_path
        if path is None and _DEFAULT_FILE.exists():
            path = _DEFAULT_FILE
        return load_config(path, os.environ)

    def journal(self, name: str | None) -> str:
        """The journal a command is about: the named one, or the only one.

        Raises:
            ConfigError: no such journal, or several and none named.
        """
        known = ", ".join(self.config.journals)
        if name is None and len(self.config.journals) == 1:
            return next(iter(self.config.journals))
        if name is None:
            raise ConfigError(f"there are several journals ({known})", "choose by --journal NAME")
        if name not in self.config.journals:
            raise ConfigError(
                f"there is no journal {name!r} in the configuration", f"known: {known}"
            )
        return name

    def journals(self, name: str | None) -> list[str]:
        """The journals a command is about: the named one, or all.

        Raises:
            ConfigError: no such journal.
        """
        return list(self.config.journals) if name is None else [self.journal(name)]


pass_state = click.make_pass_decorator(State)
