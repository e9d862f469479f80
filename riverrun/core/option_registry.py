"""All options that there are, by key, and what a key means: ours, an older name, Flink's, or anybody's.

A module of options that is not listed here does not exist for configuration files, ``-D``, the check of
a configuration and the reference page.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from riverrun.core import cluster_options, ha_options, metric_options, options, python_options
from riverrun.core.accepted_options import ACCEPTED, OPEN_PREFIXES, instead_of
from riverrun.core.config_options import AnyOption, ConfigOption
from riverrun.core.errors import ConfigError

_MODULES: Final = (options, cluster_options, ha_options, metric_options, python_options)

KNOWN: Final[Mapping[str, AnyOption]] = {
    key: option
    for module in _MODULES
    for option in vars(module).values()
    if isinstance(option, ConfigOption)
    for key in option.names()
}
"""Every option by key, older names included."""

OPTIONS: Final[Mapping[str, AnyOption]] = {option.key: option for option in KNOWN.values()}
"""Every option by its present name."""

_MAPS: Final = tuple(f"{key}." for key, option in OPTIONS.items() if option.type.holds_entries)
_GUARDED: Final = frozenset(key.partition(".")[0] for key in (*KNOWN, *ACCEPTED))
_PASSED_ON: Final = ("spark.",)
_PLAUSIBLE: Final = 0.5
_SLIP_OF_THE_PEN: Final = 0.9


class KeyKind(Enum):
    """What a key in somebody's configuration is."""

    OPTION = auto()
    OLDER_NAME = auto()
    NO_EFFECT = auto()
    """Flink has it; nothing here reads it."""
    FREE = auto()
    """Not ours: Spark's, or the user's own functions'."""
    UNKNOWN = auto()
    """Under a prefix of ours, or one slip of the pen away from an option, and not an option."""


def kind_of(key: str) -> KeyKind:
    """What ``key`` is.

    >>> kind_of("state.backend.type").name, kind_of("state.backend").name, kind_of("my.own").name
    ('OPTION', 'OLDER_NAME', 'FREE')
    >>> kind_of("paralelism.default").name, kind_of("pipeline.global-job-parameters.day").name
    ('UNKNOWN', 'OPTION')
    """
    option = option_of(key)
    if option is not None:
        return KeyKind.OLDER_NAME if key in option.fallback_keys else KeyKind.OPTION
    if key in ACCEPTED or key.startswith(OPEN_PREFIXES):
        return KeyKind.NO_EFFECT
    if key.startswith(_PASSED_ON):
        return KeyKind.FREE
    if key.partition(".")[0] in _GUARDED or nearest(key, _SLIP_OF_THE_PEN) is not None:
        return KeyKind.UNKNOWN
    return KeyKind.FREE


def option_of(key: str) -> AnyOption | None:
    """The option that ``key`` sets: by its name, an older name, or as one entry of a map."""
    option = KNOWN.get(key)
    if option is None and key.startswith(_MAPS):
        return next(OPTIONS[prefix[:-1]] for prefix in _MAPS if key.startswith(prefix))
    return option


def nearest(key: str, likeness: float = _PLAUSIBLE) -> str | None:
    """The known key that is most like ``key``, if any is like it at all."""
    near = difflib.get_close_matches(key, (*KNOWN, *ACCEPTED), n=1, cutoff=likeness)
    return near[0] if near else None


def unknown_key(key: str) -> str:
    """The message for a key that does not exist."""
    near = nearest(key)
    advice = (
        f"did you mean {near!r}?" if near else "river config --all lists the options that there are"
    )
    return f"option {key!r}: there is no such option; {advice}"


def without_effect(key: str) -> str:
    """The message for a key that Flink reads and riverrun does not."""
    reason = instead_of(key)
    near = nearest(key, _SLIP_OF_THE_PEN) if key not in ACCEPTED else None
    hint = f"; did you mean {near!r}?" if near in KNOWN else ""
    return f"option {key!r}: known in Flink, has no effect here{reason and f': {reason}'}{hint}"


def check_config(config: Mapping[str, str]) -> None:
    """Refuse unknown keys under prefixes that are ours, and values that cannot be read.

    Keys under other prefixes pass, unless they are misspelt keys of ours: they may belong to Spark, or
    to the user's own functions.

    Raises:
        ConfigError: with the nearest known key, or the key, its value and the form expected.
    """
    for key in config:
        option = option_of(key)
        if option is not None:
            option.check(config)
        elif kind_of(key) is KeyKind.UNKNOWN:
            raise ConfigError(unknown_key(key))
