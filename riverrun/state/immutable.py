"""Which values cannot change, and copies of those that can.

A snapshot is written while records go on. A value that cannot change may be shared by both; of any
other the live side gets a copy before the user can touch it.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

from riverrun.serde.basic_types import BasicTypeInfo
from riverrun.serde.composite_types import (
    DataclassTypeInfo,
    ExternalTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    TupleTypeInfo,
)
from riverrun.serde.instant import Instant
from riverrun.serde.time_types import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from riverrun.serde.type_info import TypeInformation

ATOMS: Final[frozenset[type]] = frozenset(
    {
        bool,
        bytes,
        complex,
        date,
        datetime,
        Decimal,
        float,
        Fraction,
        Instant,
        int,
        str,
        time,
        timedelta,
        type(None),
        UUID,
    }
)
"""Classes whose instances never change; a subclass may have attributes that do."""


def is_immutable(value: Any) -> bool:
    """Whether the value is known never to change.

    >>> is_immutable((1, "a", None)), is_immutable((1, [])), is_immutable(frozenset({1}))
    (True, False, True)
    """
    cls = type(value)
    if cls in ATOMS:
        return True
    return cls in (tuple, frozenset) and all(map(is_immutable, value))


def is_immutable_type(type_info: TypeInformation | None) -> bool:
    """Whether values of the declared type never change."""
    match type_info:
        case BasicTypeInfo() | DateTypeInfo() | TimeTypeInfo() | TimestampTypeInfo():
            return True
        case LocalTimeTypeInfo():
            return True
        case TupleTypeInfo(field_types=fields) | NamedTupleTypeInfo(field_types=fields):
            return all(map(is_immutable_type, fields))
        case DataclassTypeInfo(cls=cls, field_types=fields):
            return _is_frozen(cls) and all(map(is_immutable_type, fields))
        case OptionalTypeInfo(type_info=inner) | ExternalTypeInfo(type_info=inner):
            return is_immutable_type(inner)
    return False


def copy_of(value: Any) -> Any:
    """A copy that shares nothing with the value that can change."""
    if is_immutable(value):
        return value
    try:
        # Many times as fast as deepcopy; what a process pickles itself it can also read.
        return pickle.loads(pickle.dumps(value, 5))
    except (pickle.PicklingError, AttributeError, TypeError):
        return copy.deepcopy(value)


def copy_of_list(values: list[Any]) -> list[Any]:
    """A copy of a list and of those of its elements that can change."""
    if all(map(is_immutable, values)):
        return values.copy()
    copied: list[Any] = copy_of(values)
    return copied


def copy_of_dict(values: dict[Any, Any]) -> dict[Any, Any]:
    """A copy of a dict and of those of its values that can change."""
    if all(map(is_immutable, values.values())):
        return values.copy()
    copied: dict[Any, Any] = copy_of(values)
    return copied


def _is_frozen(cls: type[Any]) -> bool:
    return is_dataclass(cls) and bool(getattr(cls, "__dataclass_params__").frozen)  # noqa: B009  (not in the stubs)
