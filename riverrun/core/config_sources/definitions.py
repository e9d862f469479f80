"""Settings on the command line: ``key=value``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from riverrun.core.config_sources.setting import Origin, Setting, Source
from riverrun.core.errors import ConfigError
from riverrun.core.secrets import masked


def command_line_settings(
    definitions: Iterable[str], words: Mapping[str, tuple[str, str]]
) -> list[Setting]:
    """What the command line sets.

    Args:
        definitions: the values of ``-D``, each ``key=value``.
        words: by key, the values for which the command line has an option of its own, and its name.

    Raises:
        ConfigError: no ``key=value``, or two values for one option.
    """
    found: dict[str, Setting] = {
        key: Setting(key, value, Origin(Source.COMMAND_LINE, name))
        for key, (name, value) in words.items()
    }
    for text in definitions:
        setting = _definition(text)
        before = found.setdefault(setting.key, setting)
        if before.value != setting.value:
            raise ConfigError(
                f"option {setting.key!r}: is given as {before.shown()!r} and as "
                f"{setting.shown()!r}; give it once"
            )
    return list(found.values())


def _definition(text: str) -> Setting:
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise ConfigError(f"-D {masked('', text)!r}: expected key=value")
    return Setting(key, value.strip(), Origin(Source.COMMAND_LINE, "-D"))
