"""Reading the configuration: file, then environment, then validation; all problems at once."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from bridge.config.env_source import read_environment
from bridge.config.explain import explain
from bridge.config.models import Config
from bridge.config.problems import KeyPath, config_error
from bridge.config.yaml_source import Source, read_yaml

__all__ = ["load_config"]


def load_config(path: Path | None, environ: Mapping[str, str]) -> Config:
    """Read and check the whole configuration.

    Args:
        path: the YAML file; None takes everything from the environment.
        environ: environment variables; those with our prefix override the file.

    Raises:
        ConfigError: names every problem that was found, with key, origin and what is expected.
    """
    file = Source("") if path is None else read_yaml(path)
    journals = file.values.get("journals")
    names = tuple(map(str, journals)) if isinstance(journals, dict) else ()
    environment = read_environment(environ, names)
    problems = [*file.problems, *environment.problems]
    if path is not None and not file.values and file.problems:
        raise config_error(problems)  # nothing was read: every other complaint would be noise
    origins: dict[KeyPath, str] = file.origins | environment.origins
    try:
        config = Config.model_validate(_merged(file.values, environment.values))
    except ValidationError as error:
        problems += explain(error, origins)
    if problems:
        # Not chained: the validation error keeps the input, secrets included.
        raise config_error(problems)
    return config.with_origins(origins)


def _merged(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged[key] = _merged(below, value)
        else:
            merged[key] = value
    return merged
