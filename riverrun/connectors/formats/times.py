"""Dates and times as Flink's text formats write and read them.

Fractions of a second have as many digits as they need. When reading, more digits than microseconds are
cut off. A zone is taken where the type of the value has room for it: not in dates and times without one.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from enum import Enum

from riverrun.serde.instant import Instant

__all__ = ["TimestampFormat"]


class TimestampFormat(Enum):
    """How a timestamp is written."""

    SQL = "SQL"
    """``2024-02-29 12:30:00.123``; with a zone ``2024-02-29 12:30:00.123Z``."""
    ISO_8601 = "ISO-8601"
    """``2024-02-29T12:30:00.123``; with a zone ``2024-02-29T12:30:00.123Z``."""


def date_text(value: date) -> str:
    """As in ``2024-02-29``."""
    return value.isoformat()


def time_text(value: time) -> str:
    """As in ``12:30:00.5``; a zone is refused.

    >>> time_text(time(12, 30)), time_text(time(12, 30, 0, 500_000))
    ('12:30:00', '12:30:00.5')
    """
    if value.tzinfo is not None:
        raise ValueError(f"the time {value!r} has a zone; expected none: convert it to UTC before")
    return _short(value.isoformat("auto"))


def timestamp_text(value: datetime, style: TimestampFormat) -> str:
    """As ``style`` says; a zone becomes UTC, written as Z.

    >>> timestamp_text(datetime(2024, 2, 29, 12, 30), TimestampFormat.ISO_8601)
    '2024-02-29T12:30:00'
    """
    separator = " " if style is TimestampFormat.SQL else "T"
    if value.tzinfo is None:
        return _short(value.isoformat(separator))
    return _short(value.astimezone(UTC).replace(tzinfo=None).isoformat(separator)) + "Z"


def instant_text(value: Instant, style: TimestampFormat) -> str:
    """The instant in UTC, to the nanosecond.

    >>> instant_text(Instant(0, 5), TimestampFormat.SQL)
    '1970-01-01 00:00:00.000000005Z'
    """
    whole = datetime.fromtimestamp(0, UTC) + timedelta(seconds=value.seconds)
    text = timestamp_text(whole, style).removesuffix("Z")
    return f"{text}.{value.nanos:09d}".rstrip("0") + "Z" if value.nanos else f"{text}Z"


def date_of(text: str) -> date:
    """The date; ValueError for everything else."""
    return date.fromisoformat(text)


def time_of(text: str) -> time:
    """The time of day without a zone; a ``Z`` is passed over."""
    found = time.fromisoformat(_no_finer_than_micros(text.removesuffix("Z")))
    if found.tzinfo is not None:
        raise ValueError(f"the time {text!r} has a zone")
    return found


def timestamp_of(text: str) -> datetime:
    """The timestamp, with either separator; one with a zone becomes UTC without one.

    >>> timestamp_of("2024-02-29 12:30:00.1234567"), timestamp_of("2024-02-29T12:30:00+01:00")
    (datetime.datetime(2024, 2, 29, 12, 30, 0, 123456), datetime.datetime(2024, 2, 29, 11, 30))
    """
    if len(text) < _SHORTEST_TIMESTAMP:
        raise ValueError(f"the timestamp {text!r} is too short")
    found = datetime.fromisoformat(_no_finer_than_micros(text))
    return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)


def instant_of(text: str) -> Instant:
    """The instant; one without a zone is taken as UTC.

    >>> instant_of("1970-01-01T00:00:01.000000005Z")
    Instant<1, 5>
    """
    since = timestamp_of(text) - datetime(1970, 1, 1)  # noqa: DTZ001  (both are UTC)
    micros = since // timedelta(microseconds=1)
    seconds, rest = divmod(micros, 1_000_000)
    _, point, behind = text.partition(".")
    digits = behind[: len(behind) - len(behind.lstrip("0123456789"))] if point else ""
    below_micros = int(digits[6:9].ljust(3, "0")) if len(digits) > _MICROS else 0
    return Instant(seconds, rest * 1000 + below_micros)


_MICROS = 6
_SHORTEST_TIMESTAMP = len("2024-02-29 12:30")


def _short(text: str) -> str:
    return text.rstrip("0") if "." in text else text


def _no_finer_than_micros(text: str) -> str:
    whole, point, behind = text.partition(".")
    if not point:
        return text
    rest = behind.lstrip("0123456789")
    digits = behind[: len(behind) - len(rest)]
    # Python 3.11 takes any number of digits too, but rounds nothing: the same here for all versions.
    return f"{whole}.{digits[:_MICROS]}{rest}"
