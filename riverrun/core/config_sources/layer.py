"""The settings of one source: checked, and under the present names of their options."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from riverrun.core.config_options import AnyOption, render_map
from riverrun.core.config_sources.setting import Setting
from riverrun.core.errors import ConfigError
from riverrun.core.option_registry import (
    KeyKind,
    kind_of,
    option_of,
    unknown_key,
    without_effect,
)


@dataclass(slots=True)
class Layer:
    """What one source sets, by key, and what its author should know about it."""

    settings: dict[str, Setting] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def checked_layer(found: Iterable[Setting]) -> Layer:
    """Check the settings of one source and put them under the keys that everybody reads.

    An older name counts only if the present one is not set beside it. Entries of a map that are set one by
    one become the whole map.

    Raises:
        ConfigError: an unknown key, or a value that cannot be read; with its place.
    """
    layer = Layer()
    written = {setting.key: setting for setting in found}
    for setting in written.values():
        match kind_of(setting.key):
            case KeyKind.UNKNOWN:
                raise ConfigError(f"{setting.origin.prefix()}{unknown_key(setting.key)}")
            case KeyKind.NO_EFFECT:
                layer.notes.append(f"{setting.origin.prefix()}{without_effect(setting.key)}")
                layer.settings[setting.key] = setting
            case KeyKind.FREE:
                layer.settings[setting.key] = setting
            case KeyKind.OPTION | KeyKind.OLDER_NAME:
                option = option_of(setting.key)
                if option is not None and option.key not in layer.settings:
                    layer.settings[option.key] = _resolved(option, written, layer.notes)
    return layer


def _resolved(option: AnyOption, written: dict[str, Setting], notes: list[str]) -> Setting:
    """What ``written`` says about ``option``, in one setting."""
    named = [written[key] for key in option.names() if key in written]
    for setting in named:
        try:
            option.check({setting.key: setting.value})
        except ConfigError as error:
            raise ConfigError(f"{setting.origin.prefix()}{error}") from error
        if setting.key != option.key:
            beside = ", which is set too and counts" if option.key in written else "; use that"
            notes.append(
                f"{setting.origin.prefix()}option {setting.key!r}: is the older name of "
                f"{option.key!r}{beside}"
            )
    if named:
        return Setting(option.key, named[0].value, named[0].origin)
    prefix = f"{option.key}."
    entries = [setting for key, setting in written.items() if key.startswith(prefix)]
    text = render_map({entry.key.removeprefix(prefix): entry.value for entry in entries})
    return Setting(option.key, text, entries[0].origin)
