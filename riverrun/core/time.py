"""Lengths of time as Flink's: Duration and Time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

__all__ = ["Duration", "DurationLike", "Time", "to_millis"]

_NANOS_PER_MILLI: Final = 1_000_000
_NANOS_PER_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time, exact to the nanosecond.

    >>> Duration.of_minutes(2) == Duration.of_seconds(120)
    True
    >>> str(Duration.of_millis(1500))
    '1500 ms'
    """

    nanos: int

    @staticmethod
    def of_days(days: int) -> Duration:
        """``days`` days of 24 hours."""
        return Duration.of_hours(days * 24)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """``hours`` hours."""
        return Duration.of_minutes(hours * 60)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """``minutes`` minutes."""
        return Duration.of_seconds(minutes * 60)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """``seconds`` seconds."""
        return Duration(seconds * _NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """``millis`` milliseconds."""
        return Duration(millis * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """``nanos`` nanoseconds."""
        return Duration(nanos)

    def to_millis(self) -> int:
        """Whole milliseconds, rounded down."""
        return self.nanos // _NANOS_PER_MILLI

    def to_seconds(self) -> float:
        """Seconds with a fraction."""
        return self.nanos / _NANOS_PER_SECOND

    def __str__(self) -> str:
        whole, rest = divmod(self.nanos, _NANOS_PER_MILLI)
        return f"{self.nanos} ns" if rest else f"{whole} ms"


@dataclass(frozen=True, slots=True, order=True)
class Time:
    """A length of time in milliseconds, as windows take it.

    >>> Time.seconds(5).to_milliseconds()
    5000
    """

    _milliseconds: int

    def to_milliseconds(self) -> int:
        """The length in milliseconds."""
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """``milliseconds`` milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """``seconds`` seconds."""
        return Time(seconds * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """``minutes`` minutes."""
        return Time.seconds(minutes * 60)

    @staticmethod
    def hours(hours: int) -> Time:
        """``hours`` hours."""
        return Time.minutes(hours * 60)

    @staticmethod
    def days(days: int) -> Time:
        """``days`` days of 24 hours."""
        return Time.hours(days * 24)


DurationLike: TypeAlias = Duration | Time | timedelta


def to_millis(length: DurationLike) -> int:
    """``length`` in whole milliseconds.

    >>> to_millis(timedelta(seconds=1)), to_millis(Time.seconds(2)), to_millis(Duration.of_days(1))
    (1000, 2000, 86400000)
    """
    match length:
        case Duration():
            return length.to_millis()
        case Time():
            return length.to_milliseconds()
        case timedelta():
            return length // timedelta(milliseconds=1)
        case _:
            raise TypeError(
                f"a length of time is {length!r}; expected a Duration, a Time or a timedelta"
            )
