"""Typed options: a key, how its text is read, its default.

``ConfigOptions.key("my.key").int_type().default_value(1)`` makes one, as in Flink. All values are kept
as text (they come from files, command lines and other processes); an option knows how to read its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from riverrun.core.errors import ConfigError
from riverrun.core.secrets import masked
from riverrun.core.time import Duration

__all__ = ["ConfigOption", "ConfigOptions"]

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


@dataclass(frozen=True, slots=True)
class OptionType(Generic[T]):
    """How text becomes a value, and how to tell a person what the text should look like."""

    form: str
    parse: Callable[[str], T]
    """Raises ValueError for text that it cannot read."""
    render: Callable[[T], str] = str
    choices: tuple[str, ...] = ()
    """All texts that there are, if they can be listed."""
    holds_entries: bool = False
    """Whether the value is a map, whose entries may also be set one by one, as ``<key>.<entry>``."""


@dataclass(frozen=True, slots=True)
class ConfigOption(Generic[T]):
    """A key with the type and the default of its value."""

    key: str
    type: OptionType[T]
    default: T
    description: str = ""
    fallback_keys: tuple[str, ...] = ()
    """Older names of the key; read when the key itself is not set."""

    def get(self, config: Mapping[str, str]) -> T:
        """The value in ``config``, or the default; ConfigError when its text cannot be read."""
        for key in self.names():
            text = config.get(key)
            if text is not None:
                return self._parse(key, text)
        entries = self._entries(config)
        return self._parse(self.key, render_map(entries)) if entries else self.default

    def names(self) -> tuple[str, ...]:
        """The key and its older names, in the order in which they are looked for."""
        return (self.key, *self.fallback_keys)

    def set(self, config: MutableMapping[str, str], value: T) -> None:
        """Put ``value`` into ``config``."""
        config[self.key] = self.type.render(value)

    def is_set(self, config: Mapping[str, str]) -> bool:
        """Whether ``config`` says anything about this option."""
        return any(key in config for key in self.names()) or bool(self._entries(config))

    def check(self, config: Mapping[str, str]) -> None:
        """Raise ConfigError if the text in ``config`` cannot be read."""
        self.get(config)

    def _parse(self, key: str, text: str) -> T:
        try:
            return self.type.parse(text)
        except ValueError as error:
            shown = masked(key, text)
            raise ConfigError(f"option {key!r}: is {shown!r}; expected {self.type.form}") from error

    def _entries(self, config: Mapping[str, str]) -> dict[str, str]:
        if not self.type.holds_entries:
            return {}
        prefix = f"{self.key}."
        return {
            key.removeprefix(prefix): text for key, text in config.items() if key.startswith(prefix)
        }


def parse_boolean(text: str) -> bool:
    """Read ``true`` or ``false`` in any case.

    >>> parse_boolean("True"), parse_boolean("false")
    (True, False)
    """
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError(text)
    return lowered == "true"


_NANOS: Final[Mapping[str, int]] = {
    unit: nanos
    for nanos, units in (
        (1, "ns nano nanos nanosecond nanoseconds"),
        (1_000, "µs us micro micros microsecond microseconds"),
        (1_000_000, "ms milli millis millisecond milliseconds"),
        (1_000_000_000, "s sec secs second seconds"),
        (60 * 1_000_000_000, "m min mins minute minutes"),
        (3_600 * 1_000_000_000, "h hour hours"),
        (86_400 * 1_000_000_000, "d day days"),
    )
    for unit in units.split()
}
_QUANTITY: Final = re.compile(r"(\d+)\s*([a-zµ]*)")
_ISO_DURATION: Final = re.compile(
    r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?", re.IGNORECASE
)


def parse_duration(text: str) -> Duration:
    """Read a duration: a whole number and a unit (milliseconds if there is none), or ISO-8601.

    >>> parse_duration("5 min"), parse_duration("10") == parse_duration("10ms"), parse_duration("PT1.5S")
    (Duration(nanos=300000000000), True, Duration(nanos=1500000000))
    """
    stripped = text.strip()
    if stripped[:1] in ("P", "p"):
        return _parse_iso_duration(stripped)
    match = _QUANTITY.fullmatch(stripped.lower())
    if match is None:
        raise ValueError(text)
    unit = match[2] or "ms"
    if unit not in _NANOS:
        raise ValueError(text)
    return Duration(int(match[1]) * _NANOS[unit])


def _parse_iso_duration(text: str) -> Duration:
    match = _ISO_DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        raise ValueError(text)
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[:4])
    fraction = int((match[5] or "0").ljust(9, "0"))
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return Duration(whole * _NANOS["s"] + fraction)


_BYTES: Final[Mapping[str, int]] = {
    unit: 1 << shift
    for shift, units in (
        (0, "b bytes"),
        (10, "k kb kibibytes"),
        (20, "m mb mebibytes"),
        (30, "g gb gibibytes"),
        (40, "t tb tebibytes"),
    )
    for unit in units.split()
}


def parse_memory_size(text: str) -> int:
    """Read an amount of memory in bytes: a whole number and a unit (bytes if there is none).

    >>> parse_memory_size("64mb"), parse_memory_size("256 kb"), parse_memory_size("10")
    (67108864, 262144, 10)
    """
    match = _QUANTITY.fullmatch(text.strip().lower())
    if match is None or (match[2] or "b") not in _BYTES:
        raise ValueError(text)
    return int(match[1]) * _BYTES[match[2] or "b"]


_ITEM: Final = re.compile(
    r"""\s*(?:"(?P<double>[^"]*)"|'(?P<single>(?:[^']|'')*)'|(?P<plain>[^,"'\s][^,]*?))\s*(?:,|\Z)"""
)


def parse_list(text: str) -> list[str]:
    """Read a list: ``a;b`` or, as in YAML, ``[a, "b, c"]``.

    >>> parse_list("a;b"), parse_list("[a, 'b, c']"), parse_list("")
    (['a', 'b'], ['a', 'b, c'], [])
    """
    stripped = text.strip()
    if not (stripped.startswith("[") and stripped.endswith("]")):
        return [item.strip() for item in stripped.split(";") if item.strip()]
    inside = stripped[1:-1].rstrip()
    items: list[str] = []
    at = 0
    while at < len(inside):
        match = _ITEM.match(inside, at)
        if match is None:
            raise ValueError(text)
        single = match["single"]
        items.append(
            match["double"] or match["plain"] or "" if single is None else single.replace("''", "'")
        )
        at = match.end()
    return items


def render_list(items: Iterable[str]) -> str:
    """The text that ``parse_list`` reads as ``items``.

    >>> render_list(["a", "b"]), render_list(["a;b", "it's"])
    ('a;b', "['a;b', 'it''s']")
    """
    texts = list(items)
    plain = all(text and text.strip() == text and not set(text) & set(";[]\"'") for text in texts)
    if plain:
        return ";".join(texts)
    return "[" + ", ".join("'" + text.replace("'", "''") + "'" for text in texts) + "]"


_ENTRY: Final = re.compile(
    r"""\s*(?P<key>'(?:[^']|'')*'|[^:,']+?)\s*:\s*(?P<value>'(?:[^']|'')*'|[^,]*?)\s*(?:,|$)"""
)


def parse_map(text: str) -> dict[str, str]:
    """Read a map: ``a:1,b:2``; what holds a comma or a quote stands in single quotes, quotes doubled.

    >>> parse_map("a:1, b:x:y, c:'1, 2'")
    {'a': '1', 'b': 'x:y', 'c': '1, 2'}
    """
    entries: dict[str, str] = {}
    at = 0
    while at < len(text.rstrip()):
        match = _ENTRY.match(text, at)
        if match is None:
            raise ValueError(text)
        entries[_bare(match["key"])] = _bare(match["value"])
        at = match.end()
    return entries


def _bare(item: str) -> str:
    return item[1:-1].replace("''", "'") if item[:1] == "'" else item


def _quoted(item: str) -> str:
    plain = item.strip() == item and item and not set(item) & set(",:'")
    return item if plain else "'" + item.replace("'", "''") + "'"


def optional(kind: OptionType[T]) -> OptionType[T | None]:
    """The same type for an option without default: there is no text for None."""
    return OptionType(
        kind.form,
        kind.parse,
        lambda value: "" if value is None else kind.render(value),
        kind.choices,
        kind.holds_entries,
    )


def enum_type(members: type[E]) -> OptionType[E]:
    """One of the names of ``members``, in any case."""

    def parse(text: str) -> E:
        name = text.strip().upper().replace("-", "_")
        if name not in members.__members__:
            raise ValueError(text)
        return members[name]

    names = tuple(members.__members__)
    return OptionType(f"one of {', '.join(names)}", parse, lambda value: value.name, names)


def choice(*names: str) -> OptionType[str]:
    """One of ``names``, in any case."""

    def parse(text: str) -> str:
        lowered = text.strip().lower()
        if lowered not in names:
            raise ValueError(text)
        return lowered

    return OptionType(f"one of {', '.join(names)}", parse, choices=names)


def lasting(shortest: Duration) -> OptionType[Duration]:
    """A duration that is not shorter than ``shortest``."""

    def parse(text: str) -> Duration:
        duration = parse_duration(text)
        if duration < shortest:
            raise ValueError(text)
        return duration

    return OptionType(f"a duration of at least {shortest}", parse)


def at_least(least: int) -> OptionType[int]:
    """A whole number that is not below ``least``."""

    def parse(text: str) -> int:
        number = int(text)
        if number < least:
            raise ValueError(text)
        return number

    return OptionType(f"a whole number, {least} or more", parse)


def render_map(entries: Mapping[str, str]) -> str:
    """The text that ``parse_map`` reads as ``entries``."""
    return ",".join(f"{_quoted(key)}:{_quoted(value)}" for key, value in entries.items())


STRING: Final = OptionType("text", str)
BOOLEAN: Final = OptionType(
    "true or false", parse_boolean, lambda value: str(value).lower(), ("true", "false")
)
INT: Final = OptionType("a whole number", int)
FLOAT: Final = OptionType("a number", float)
DURATION: Final = OptionType('a duration such as "10 ms", "5 min" or "1 h"', parse_duration)
MEMORY: Final = OptionType(
    'an amount of memory such as "64mb" or "1 gb"',
    parse_memory_size,
    lambda value: f"{value} bytes",
)
STRINGS: Final = OptionType("a list such as a;b", parse_list, render_list)
MAP: Final[OptionType[Mapping[str, str]]] = OptionType(
    "pairs such as a:1,b:2", parse_map, render_map, holds_entries=True
)


class ConfigOptions:
    """Where the making of an option begins."""

    class OptionBuilder:
        """An option that has a key and needs a type."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """``true`` or ``false``."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, BOOLEAN)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """A whole number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, INT)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """A whole number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, INT)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """A number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, FLOAT)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """A number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, FLOAT)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """Text."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, STRING)

        def duration_type(self) -> ConfigOptions.TypedConfigOptionBuilder[Duration]:
            """A length of time."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, DURATION)

        def memory_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """An amount of memory, in bytes."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, MEMORY)

    class TypedConfigOptionBuilder(Generic[T]):
        """An option that has a key and a type and may have a default."""

        def __init__(self, key: str, kind: OptionType[T]) -> None:
            self._key = key
            self._kind = kind

        def default_value(self, value: T) -> ConfigOption[T]:
            """The option, with ``value`` where nothing is set."""
            return ConfigOption(self._key, self._kind, value)

        def no_default_value(self) -> ConfigOption[T | None]:
            """The option, with None where nothing is set."""
            return ConfigOption(self._key, optional(self._kind), None)

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Begin an option called ``key``."""
        return ConfigOptions.OptionBuilder(key)


AnyOption = ConfigOption[Any]
