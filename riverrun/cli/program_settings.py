"""Settings that commands begin with, and how the command line's reach the environment of a script.

They are defaults: what the script itself sets wins. They travel in environment variables, which
``get_execution_environment`` reads, because the script makes its environment by itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from riverrun.core import options
from riverrun.core.config_sources.definitions import command_line_settings
from riverrun.core.config_sources.effective import Effective, load_configuration
from riverrun.core.config_sources.file_place import FILE_VARIABLE
from riverrun.core.config_sources.layer import checked_layer
from riverrun.core.config_sources.setting import Setting
from riverrun.core.config_sources.variables import CONF_VARIABLE, json_settings


def command_line(
    master: str | None,
    parallelism: int | None,
    definitions: Sequence[str],
    words: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> list[Setting]:
    """The settings that the command line gives.

    Args:
        master: where jobs run, if given.
        parallelism: of operators that do not say, if given.
        definitions: ``key=value`` texts.
        words: by key, the values for which the command line has an option of its own, and its name.

    Raises:
        ConfigError: no ``key=value``, or two values for one option.
    """
    named = {
        options.MASTER.key: ("--master", master),
        options.PARALLELISM.key: ("--parallelism", parallelism),
    }
    given = {key: (name, str(value)) for key, (name, value) in named.items() if value is not None}
    return command_line_settings(definitions, {**given, **words})


def effective_settings(given: Sequence[Setting] = (), config_file: Path | None = None) -> Effective:
    """All settings that count for this command: of the file, the environment and the command line.

    Raises:
        ConfigError: an unknown key, or a value that cannot be read, with its place.
    """
    return load_configuration(os.environ, file=config_file, given=given)


def command_settings(
    definitions: Sequence[str] | None, config_file: Path | None = None
) -> dict[str, str]:
    """What counts for a command that takes ``-D`` and ``--config``, by key.

    Raises:
        ConfigError: an unknown key, or a value that cannot be read, with its place.
    """
    return effective_settings(command_line_settings(definitions or (), {}), config_file).values()


@contextmanager
def handed_to_programs(given: Sequence[Setting], config_file: Path | None = None) -> Iterator[None]:
    """Let environments that are made in this block read ``config_file`` and begin with ``given``.

    The settings come before what the environment variables of this process say.
    """
    variables = {}
    if given:
        layers = (checked_layer(json_settings(os.environ)), checked_layer(given))
        merged = {key: each.value for layer in layers for key, each in layer.settings.items()}
        variables[CONF_VARIABLE] = json.dumps(merged)
    if config_file is not None:
        variables[FILE_VARIABLE] = str(config_file.absolute())
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
