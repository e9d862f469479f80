"""Types of dates, times of day and timestamps.

The internal forms are PyFlink's (days, microseconds) but never depend on the zone of the machine:
a value without a zone is taken as it stands.
"""

# ruff: noqa: N802 - the names are PyFlink's
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from typing import ClassVar

from riverrun.serde.type_info import TypeInformation

__all__ = [
    "DateTypeInfo",
    "LocalTimeTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
]

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, repr=False)
class DateTypeInfo(TypeInformation):
    """``datetime.date``; a ``datetime`` is refused, it would lose its time."""

    EPOCH_ORDINAL: ClassVar[int] = date(1970, 1, 1).toordinal()

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: date | None) -> int | None:
        return None if obj is None else obj.toordinal() - self.EPOCH_ORDINAL

    def from_internal_type(self, obj: int | None) -> date | None:
        return None if obj is None else date.fromordinal(obj + self.EPOCH_ORDINAL)

    def __repr__(self) -> str:
        return "Types.SQL_DATE()"


@dataclass(frozen=True, repr=False)
class TimeTypeInfo(TypeInformation):
    """``datetime.time`` in microseconds."""

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: time | None) -> int | None:
        if obj is None:
            return None
        of_day = timedelta(0, obj.second, obj.microsecond, 0, obj.minute, obj.hour)
        return (of_day - (obj.utcoffset() or timedelta())) // _MICROSECOND

    def from_internal_type(self, obj: int | None) -> time | None:
        return None if obj is None else (_EPOCH + timedelta(microseconds=obj)).time()

    def __repr__(self) -> str:
        return "Types.SQL_TIME()"


@dataclass(frozen=True, repr=False)
class TimestampTypeInfo(TypeInformation):
    """``datetime.datetime`` in microseconds, with or without a zone."""

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: datetime | None) -> int | None:
        if obj is None:
            return None
        aware = obj.replace(tzinfo=UTC) if obj.utcoffset() is None else obj
        return (aware - _EPOCH) // _MICROSECOND

    def from_internal_type(self, obj: int | None) -> datetime | None:
        return None if obj is None else (_EPOCH + timedelta(microseconds=obj)).replace(tzinfo=None)

    def __repr__(self) -> str:
        return "Types.SQL_TIMESTAMP()"


class SqlTimeTypeInfo(TypeInformation):
    """The three SQL time types by name; it has no instances of its own."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        """``datetime.date``."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        """``datetime.time``."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        """``datetime.datetime``."""
        return TimestampTypeInfo()


@dataclass(frozen=True, repr=False)
class LocalTimeTypeInfo(TypeInformation):
    """Dates and times by the names of ``java.time``; the values are those of the SQL time types."""

    class TimeType(Enum):
        """Which of the three."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    time_type: TimeType

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.{self.time_type.name})"
