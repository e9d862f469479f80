"""Python values as JSON and as text for people, whatever their class; not to be read back."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import numpy as np

from riverrun.api.windows import TimeWindow
from riverrun.core.short_repr import short_repr
from riverrun.serde.row import Row, names_of

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def as_json(value: Any) -> Any:
    """The value in what JSON knows.

    >>> as_json({"at": datetime(2026, 1, 2, tzinfo=UTC), "parts": (1, b"x")})
    {'at': '2026-01-02T00:00:00+00:00', 'parts': [1, '78']}
    """
    if value is None or type(value) in (bool, int, str):
        return value
    fields = _fields(value)
    if fields is not None:
        return {name: as_json(part) for name, part in fields.items()}
    for classes, convert in _CONVERSIONS:
        if isinstance(value, classes):
            return convert(value)
    return short_repr(value)


def text(value: Any) -> str:
    """The value for people: on one line, text without quotes, times as ISO, objects by their fields.

    >>> text("x"), text(["x", None]), text(TimeWindow(0, 1000))
    ('x', "['x', None]", '1970-01-01T00:00:00.000Z to 1970-01-01T00:00:01.000Z')
    """
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return value if value.isprintable() else repr(value)
    if value is None:
        return ""
    if isinstance(value, TimeWindow):
        return f"{iso(value.start)} to {iso(value.end)}"
    if isinstance(value, bool | int | float):
        return str(value)
    return str(as_json(value)) if isinstance(value, _TIMES) else short_repr(value)


def iso(milliseconds: int) -> str:
    """Milliseconds since 1970 as a time in UTC; the number itself where the calendar ends.

    >>> iso(1_700_000_000_000), iso(2**63 - 1)
    ('2023-11-14T22:13:20.000Z', '9223372036854775807')
    """
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return str(milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


_TIMES: Final = (date, time, timedelta)


def _fields(value: Any) -> dict[str, Any] | None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = dataclasses.fields(value)
        return {field.name: getattr(value, field.name, None) for field in found}
    if isinstance(value, Row):
        return None if names_of(value) is None else value.as_dict()
    names = getattr(type(value), "_fields", None)
    if isinstance(value, tuple) and names is not None:
        return dict(zip(names, value, strict=True))
    return None


def _dict(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {key if isinstance(key, str) else text(key): as_json(v) for key, v in value.items()}


_CONVERSIONS: Final[list[tuple[Any, Callable[[Any], Any]]]] = [
    (enum.StrEnum, str),
    (enum.Enum, lambda value: value.name),
    (float, lambda value: float(value) if math.isfinite(value) else str(value)),
    (int, int),
    (Mapping, _dict),
    (list | tuple | set | frozenset | deque | Row, lambda value: list(map(as_json, value))),
    (np.ndarray | np.generic, lambda value: as_json(value.tolist())),
    (date | time, lambda value: value.isoformat()),
    (str | Decimal | UUID | timedelta, str),
    (bytes | bytearray | memoryview, lambda value: bytes(value).hex()),
]
