"""The configuration that a program begins with: what its surroundings say, then what its code says."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from riverrun.core.config_sources.effective import load_configuration
from riverrun.core.config_sources.layer import checked_layer
from riverrun.core.config_sources.setting import Origin, Setting, Source
from riverrun.core.configuration import Configuration

log = logging.getLogger(__name__)

_PROGRAM: Final = Origin(Source.PROGRAM, "program")


def surrounding_configuration(environ: Mapping[str, str]) -> Configuration:
    """What the configuration file, the environment and ``river run`` set.

    Raises:
        ConfigError: an unknown key, or a value that cannot be read, with its place.
    """
    effective = load_configuration(environ)
    _warn(effective.notes)
    return Configuration(effective.values())


def take_in(config: Configuration, more: Mapping[str, str]) -> None:
    """Add settings of the program's code to ``config``, over those that are there.

    Raises:
        ConfigError: an unknown key, or a value that cannot be read; nothing is taken in then.
    """
    checked = checked_layer(Setting(key, value, _PROGRAM) for key, value in more.items())
    _warn(checked.notes)
    config.add_all(more)


def _warn(notes: Sequence[str]) -> None:
    for note in notes:
        log.warning("%s", note)
