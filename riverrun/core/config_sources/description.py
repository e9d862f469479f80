"""All that can be said about one key: its value, where that came from, what else it could be."""

from __future__ import annotations

from dataclasses import dataclass

from riverrun.core.config_options import AnyOption
from riverrun.core.config_sources.effective import Effective
from riverrun.core.config_sources.setting import Setting, Source
from riverrun.core.config_sources.variables import variable_of
from riverrun.core.option_meanings import default_text, meaning_of
from riverrun.core.option_registry import OPTIONS, KeyKind, kind_of, option_of, without_effect


@dataclass(frozen=True, slots=True)
class Overridden:
    """A setting that another one took the place of."""

    value: str
    source: str
    place: str


@dataclass(frozen=True, slots=True)
class Description:
    """A key and its value as they may be shown: secrets are masked."""

    key: str
    value: str | None
    """None: not set, and without default."""
    source: str
    place: str
    meaning: str
    default: str | None = None
    expected: str = "text"
    variable: str | None = None
    """The environment variable that sets it."""
    older_names: tuple[str, ...] = ()
    overridden: tuple[Overridden, ...] = ()


def described(effective: Effective, key: str) -> Description:
    """What there is to say about ``key``; an older name is answered with the option itself."""
    option = option_of(key)
    if option is not None:
        return _option(effective, option)
    setting = effective.settings.get(key)
    no_effect = kind_of(key) is KeyKind.NO_EFFECT
    return Description(
        key,
        None if setting is None else setting.shown(),
        *_origin(setting),
        meaning=without_effect(key).partition(": ")[2]
        if no_effect
        else "not an option of riverrun's",
        overridden=_overridden(effective, key),
    )


def keys_to_show(effective: Effective, *, everything: bool) -> list[str]:
    """The keys that somebody set, or also all those that have only their default."""
    return sorted({*effective.settings, *(OPTIONS if everything else ())})


def _option(effective: Effective, option: AnyOption) -> Description:
    setting = effective.settings.get(option.key)
    default = None if option.default is None else default_text(option)
    return Description(
        option.key,
        default if setting is None else setting.shown(),
        *_origin(setting),
        meaning=meaning_of(option),
        default=default,
        expected=option.type.form,
        variable=variable_of(option.key),
        older_names=option.fallback_keys,
        overridden=_overridden(effective, option.key),
    )


def _origin(setting: Setting | None) -> tuple[str, str]:
    if setting is None:
        return Source.DEFAULT.value, Source.DEFAULT.value
    return setting.origin.source.value, setting.origin.place


def _overridden(effective: Effective, key: str) -> tuple[Overridden, ...]:
    return tuple(
        Overridden(setting.shown(), *_origin(setting))
        for setting in effective.overridden.get(key, ())
    )
