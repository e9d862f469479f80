"""The configuration that counts: all sources put over each other, each value with its origin.

    default  <  file  <  environment  <  command line  <  program

The program's own settings are made later, in its code, and are not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from riverrun.core.config_sources.file_place import configuration_file, file_settings
from riverrun.core.config_sources.layer import checked_layer
from riverrun.core.config_sources.setting import Setting
from riverrun.core.config_sources.variables import unknown_variables, variable_layers


@dataclass(frozen=True, slots=True)
class Effective:
    """The settings that count, and those that they took the place of."""

    settings: Mapping[str, Setting]
    overridden: Mapping[str, Sequence[Setting]] = field(default_factory=dict)
    """By key, the settings that do not count, the strongest first."""
    notes: Sequence[str] = ()
    """What the authors of the settings should know: older names, keys without effect."""
    file: Path | None = None
    """The configuration file that was read."""

    def values(self) -> dict[str, str]:
        """The settings as a configuration."""
        return {key: setting.value for key, setting in self.settings.items()}


def load_configuration(
    environ: Mapping[str, str], *, file: Path | None = None, given: Iterable[Setting] = ()
) -> Effective:
    """Read and check all sources.

    Args:
        environ: the environment variables.
        file: the configuration file that the command line names; else it is looked for.
        given: the settings of the command line.

    Raises:
        ConfigError: a file that is named and not there, a text that cannot be read, an unknown key, a value
            of the wrong kind; with the place.
    """
    found = configuration_file(environ, file)
    sources = [
        file_settings(found) if found is not None else [],
        *variable_layers(environ),
        list(given),
    ]
    settings: dict[str, Setting] = {}
    overridden: dict[str, list[Setting]] = {}
    notes: list[str] = []
    for source in sources:
        layer = checked_layer(source)
        notes += layer.notes
        for key, setting in layer.settings.items():
            if key in settings:
                overridden.setdefault(key, []).insert(0, settings[key])
            settings[key] = setting
    notes += unknown_variables(environ)
    return Effective(settings, overridden, notes, found)
