"""Configuration: settings by key, as text, with typed access."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from riverrun.core.config_options import (
    BOOLEAN,
    FLOAT,
    INT,
    ConfigOption,
    OptionType,
    T,
    parse_list,
)
from riverrun.core.option_registry import option_of
from riverrun.core.secrets import masked_settings

__all__ = ["Configuration"]

_BYTES = OptionType(
    "bytes in base64",
    lambda text: bytearray(base64.b64decode(text, validate=True)),
    lambda value: base64.b64encode(value).decode("ascii"),
)


class Configuration(MutableMapping[str, str]):
    """Settings by key.

    Keys and values are text, so that a configuration can come from anywhere and go anywhere; typed
    getters read the text and raise ConfigError, with the key and the expected form, if they cannot.
    Of several names of one option, the one that was set last counts.
    """

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:  # noqa: A002  (Flink's own name)
        """A configuration with the entries of ``map``."""
        configuration = cls()
        for key, value in map.items():
            configuration[key] = BOOLEAN.render(value) if isinstance(value, bool) else str(value)
        return configuration

    def __init__(self, other: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = dict(other) if other is not None else {}

    def get_string(self, key: str, default_value: str) -> str:
        """The text under ``key``."""
        return self._values.get(key, default_value)

    def set_string(self, key: str, value: str) -> Configuration:
        """Put text under ``key``."""
        self[key] = value
        return self

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """The items of ``value``, written as ``a;b`` or ``[a, b]``."""
        return parse_list(value)

    def get_integer(self, key: str, default_value: int) -> int:
        """The whole number under ``key``."""
        return ConfigOption(key, INT, default_value).get(self)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Put a whole number under ``key``."""
        return self._set(key, INT, value)

    def get_boolean(self, key: str, default_value: bool) -> bool:  # noqa: FBT001  (Flink's signature)
        """The truth value under ``key``."""
        return ConfigOption(key, BOOLEAN, default_value).get(self)

    def set_boolean(self, key: str, value: bool) -> Configuration:  # noqa: FBT001
        """Put a truth value under ``key``."""
        return self._set(key, BOOLEAN, value)

    def get_float(self, key: str, default_value: float) -> float:
        """The number under ``key``."""
        return ConfigOption(key, FLOAT, default_value).get(self)

    def set_float(self, key: str, value: float) -> Configuration:
        """Put a number under ``key``."""
        return self._set(key, FLOAT, value)

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """The bytes under ``key``."""
        return ConfigOption(key, _BYTES, default_value).get(self)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Put bytes under ``key``; they are kept in base64."""
        return self._set(key, _BYTES, value)

    def key_set(self) -> set[str]:
        """All keys."""
        return set(self._values)

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Copy all entries into ``target_dict``."""
        target_dict.update(self._values)

    def add_all(self, other: Mapping[str, str], prefix: str | None = None) -> Configuration:
        """Take in all entries of ``other``, each key with ``prefix`` before it."""
        for key, value in other.items():
            self[key if prefix is None else prefix + key] = value
        return self

    def contains_key(self, key: str) -> bool:
        """Whether there is an entry for ``key``."""
        return key in self._values

    def to_dict(self) -> dict[str, str]:
        """All entries as a dict of its own."""
        return dict(self._values)

    def remove_config(self, key: str) -> bool:
        """Remove the entry for ``key``; whether there was one."""
        return self._values.pop(key, None) is not None

    def _set(self, key: str, kind: OptionType[T], value: T) -> Configuration:
        self[key] = kind.render(value)
        return self

    def __getitem__(self, key: str) -> str:
        return self._values[key]

    def __setitem__(self, key: str, value: str) -> None:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(
                f"configuration: entry {key!r} = {value!r}; expected both to be strings "
                f"(set_integer, set_boolean and set_float take other values)"
            )
        if key not in self._values:
            self._drop_other_names(key)
        self._values[key] = value

    def _drop_other_names(self, key: str) -> None:
        """Let the setting that is made last count, whichever of an option's names it uses."""
        option = option_of(key)
        if option is None:
            return
        if key in option.names():
            others = [name for name in self._values if option_of(name) is option]
        else:
            others = [name for name in option.names() if name in self._values]
        for name in others:
            del self._values[name]

    def __delitem__(self, key: str) -> None:
        del self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and other._values == self._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"Configuration({masked_settings(self._values)!r})"
