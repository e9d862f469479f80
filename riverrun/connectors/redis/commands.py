"""What a record becomes in Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from riverrun.core.time import DurationLike, to_millis

__all__ = ["RedisCommand", "RedisMapper", "RedisValue"]

RedisValue: TypeAlias = str | bytes | int | float
"""What keys, fields and values may be."""


@dataclass(frozen=True, slots=True)
class RedisCommand:
    """A command with its arguments; any one that Redis has.

    The commands below have methods of their own. Done twice, ``set``, ``hset``, ``sadd``, ``delete`` and
    ``zadd`` have the same effect as done once.
    """

    args: tuple[RedisValue, ...]

    def __post_init__(self) -> None:
        wrong = [each for each in self.args if type(each) not in (str, bytes, int, float)]
        if wrong or not self.args:
            raise TypeError(
                f"redis command: has the arguments {self.args!r}; expected a name and values that are "
                f"str, bytes, int or float"
            )

    @staticmethod
    def of(*args: RedisValue) -> RedisCommand:
        """Any command: ``RedisCommand.of("INCRBY", "visits", 3)``."""
        return RedisCommand(args)

    @staticmethod
    def set(key: RedisValue, value: RedisValue, ttl: DurationLike | None = None) -> RedisCommand:
        """``key`` holds ``value``, for as long as ``ttl`` if it is given."""
        expiry = () if ttl is None else ("PX", to_millis(ttl))
        return RedisCommand(("SET", key, value, *expiry))

    @staticmethod
    def delete(key: RedisValue) -> RedisCommand:
        """``key`` is gone."""
        return RedisCommand(("DEL", key))

    @staticmethod
    def hset(key: RedisValue, fields: Mapping[str, RedisValue]) -> RedisCommand:
        """These fields of the hash at ``key`` hold these values."""
        return RedisCommand(("HSET", key, *_flat(fields)))

    @staticmethod
    def lpush(key: RedisValue, *values: RedisValue) -> RedisCommand:
        """``values`` are at the head of the list at ``key``."""
        return RedisCommand(("LPUSH", key, *values))

    @staticmethod
    def rpush(key: RedisValue, *values: RedisValue) -> RedisCommand:
        """``values`` are at the tail of the list at ``key``."""
        return RedisCommand(("RPUSH", key, *values))

    @staticmethod
    def sadd(key: RedisValue, *values: RedisValue) -> RedisCommand:
        """``values`` are in the set at ``key``."""
        return RedisCommand(("SADD", key, *values))

    @staticmethod
    def zadd(key: RedisValue, member: RedisValue, score: float) -> RedisCommand:
        """``member`` is in the sorted set at ``key``, with ``score``."""
        return RedisCommand(("ZADD", key, score, member))

    @staticmethod
    def publish(channel: RedisValue, message: RedisValue) -> RedisCommand:
        """Whoever listens to ``channel`` now hears ``message``."""
        return RedisCommand(("PUBLISH", channel, message))

    @staticmethod
    def xadd(
        stream: RedisValue, fields: Mapping[str, RedisValue], maxlen: int | None = None
    ) -> RedisCommand:
        """An entry is added to ``stream``, which keeps about ``maxlen`` entries if that is given."""
        limit = () if maxlen is None else ("MAXLEN", "~", maxlen)
        return RedisCommand(("XADD", stream, *limit, "*", *_flat(fields)))


RedisMapper: TypeAlias = Callable[[Any], RedisCommand | Iterable[RedisCommand] | None]
"""The commands of a record: one, several, or None for none."""


def commands_of(mapper: RedisMapper, values: Iterable[Any]) -> list[tuple[RedisValue, ...]]:
    """The commands of a run, in order."""
    found: list[tuple[RedisValue, ...]] = []
    for value in values:
        made = mapper(value)
        if isinstance(made, RedisCommand):
            found.append(made.args)
        elif made is not None:
            try:
                found += [each.args for each in made]
            except (AttributeError, TypeError):
                raise TypeError(
                    f"redis sink: the mapper made {made!r} of {value!r}; expected a RedisCommand, "
                    f"several of them, or None"
                ) from None
    return found


def _flat(fields: Mapping[str, RedisValue]) -> list[RedisValue]:
    return [part for pair in fields.items() for part in pair]
