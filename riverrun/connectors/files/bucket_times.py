"""Java's patterns for dates and times, such as ``yyyy-MM-dd--HH``, as the names of buckets use them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

__all__ = ["time_pattern", "time_zone"]

_Piece: TypeAlias = Callable[[datetime], str]

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SHORT: Final = 3
_LONG: Final = 4


@lru_cache(maxsize=64)
def time_pattern(pattern: str) -> Callable[[datetime], str]:
    """What writes a time as Java's ``DateTimeFormatter`` does for ``pattern``, in English.

    >>> time_pattern("yyyy-MM-dd--HH")(datetime(2026, 3, 5, 7))
    '2026-03-05--07'
    >>> time_pattern("'dt='yyyyMMdd'/hour='HH")(datetime(2026, 3, 5, 7))
    'dt=20260305/hour=07'

    Raises:
        ValueError: the pattern has a letter that stands for nothing here.
    """
    pieces: list[_Piece] = []
    rest = pattern
    while rest:
        letter = rest[0]
        if letter == "'":
            text, rest = _quoted(pattern, rest)
            pieces.append(_literal(text))
        elif letter.isascii() and letter.isalpha():
            count = len(list(itertools.takewhile(letter.__eq__, rest)))
            pieces.append(_field(pattern, letter, count))
            rest = rest[count:]
        else:
            pieces.append(_literal(letter))
            rest = rest[1:]

    def write(time: datetime) -> str:
        return "".join([piece(time) for piece in pieces])

    return write


def time_zone(name: str | None) -> tzinfo | None:
    """The zone that Java knows under ``name``; None stands for the machine's own.

    >>> str(time_zone("+08:00")), str(time_zone("GMT-3")), str(time_zone("Europe/Berlin"))
    ('UTC+08:00', 'UTC-03:00', 'Europe/Berlin')

    Raises:
        ValueError: nobody knows it.
    """
    if name is None:
        return None
    offset = name.removeprefix("UTC").removeprefix("GMT")
    if offset in {"", "Z"}:
        return timezone.utc  # noqa: UP017  (beside its kin)
    if offset[0] in "+-":
        hours, _, minutes = offset[1:].partition(":")
        if hours.isdigit() and (not minutes or minutes.isdigit()):
            distance = timedelta(hours=int(hours), minutes=int(minutes or 0))
            return timezone(distance if offset[0] == "+" else -distance)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(
            f"time zone {name!r}: not known; expected a name such as 'Europe/Berlin', 'UTC' or '+08:00'"
        ) from None


def _quoted(pattern: str, rest: str) -> tuple[str, str]:
    """The text between quotes at the beginning of ``rest``, where two of them stand for one; what follows."""
    if rest.startswith("''"):
        return "'", rest[2:]
    text, position = "", 1
    while True:
        end = rest.find("'", position)
        if end < 0:
            raise ValueError(f"time pattern {pattern!r}: a quote is opened and not closed")
        text += rest[position:end]
        if not rest.startswith("''", end):
            return text, rest[end + 1 :]
        text += "'"
        position = end + 2


def _literal(text: str) -> _Piece:
    return lambda _: text


def _field(pattern: str, letter: str, count: int) -> _Piece:
    if letter in _NUMBERS:
        number = _NUMBERS[letter]
        return lambda time: str(number(time)).zfill(count)
    make = _FIELDS.get(letter)
    if make is None:
        raise ValueError(
            f"time pattern {pattern!r}: {letter!r} is not understood; expected letters out of "
            f"{''.join(sorted({*_NUMBERS, *_FIELDS}))!r}, and other text in single quotes"
        )
    return make(count)


def _year(count: int) -> _Piece:
    if count == 2:  # noqa: PLR2004  (two letters are two digits)
        return lambda time: f"{time.year % 100:02}"
    return lambda time: str(time.year).zfill(count)


def _name_or_number(names: tuple[str, ...], index: Callable[[datetime], int], count: int) -> _Piece:
    if count < _SHORT:
        return lambda time: str(index(time)).zfill(count)
    cut = _SHORT if count == _SHORT else None
    return lambda time: names[index(time) - 1][:cut]


def _weekday(count: int) -> _Piece:
    cut = None if count >= _LONG else _SHORT
    return lambda time: _DAYS[time.weekday()][:cut]


def _fraction(count: int) -> _Piece:
    return lambda time: f"{time.microsecond:06}000"[:count].ljust(count, "0")


def _half(count: int) -> _Piece:
    del count
    return lambda time: "AM" if time.hour < 12 else "PM"  # noqa: PLR2004  (noon)


def _offset(*, zero: str) -> Callable[[int], _Piece]:
    def make(count: int) -> _Piece:
        def write(time: datetime) -> str:
            total = int((time.utcoffset() or timedelta()).total_seconds()) // 60
            if not total and zero:
                return zero
            hours, minutes = divmod(abs(total), 60)
            colon = ":" if count in {3, 5} and zero != "+0000" else ""
            shown = f"{colon}{minutes:02}" if count > 1 or minutes or zero == "+0000" else ""
            return f"{'-' if total < 0 else '+'}{hours:02}{shown}"

        return write

    return make


def _zone_name(count: int) -> _Piece:
    del count
    return lambda time: time.tzname() or ""


_NUMBERS: Final[dict[str, Callable[[datetime], int]]] = {
    "d": lambda time: time.day,
    "D": lambda time: time.timetuple().tm_yday,
    "H": lambda time: time.hour,
    "k": lambda time: time.hour or 24,
    "K": lambda time: time.hour % 12,
    "h": lambda time: time.hour % 12 or 12,
    "m": lambda time: time.minute,
    "s": lambda time: time.second,
    "n": lambda time: time.microsecond * 1000,
    "e": lambda time: time.isoweekday() % 7 + 1,
    "F": lambda time: (time.day - 1) // 7 + 1,
}
_FIELDS: Final[dict[str, Callable[[int], _Piece]]] = {
    "y": _year,
    "u": _year,
    "M": lambda count: _name_or_number(_MONTHS, lambda time: time.month, count),
    "L": lambda count: _name_or_number(_MONTHS, lambda time: time.month, count),
    "E": _weekday,
    "S": _fraction,
    "a": _half,
    "X": _offset(zero="Z"),
    "x": _offset(zero=""),
    "Z": _offset(zero="+0000"),
    "z": _zone_name,
}
