"""What a field of made-up rows may hold, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, TypeAlias

from riverrun.core.time import DurationLike, to_millis
from riverrun.serde.arrow_types import fields_of
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.collection_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from riverrun.serde.columns import layout_of, plain_type
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["FieldGenerator", "RandomField", "SequenceField"]

LISTS: Final = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)
INTEGERS: Final[Mapping[BasicType, int]] = {
    BasicType.BYTE: 8,
    BasicType.SHORT: 16,
    BasicType.INT: 32,
    BasicType.LONG: 64,
    BasicType.BIG_INT: 64,
}
"""How many bits of each kind are made: of numbers of any size as many as of a long one."""
FLOATS: Final = (BasicType.FLOAT, BasicType.DOUBLE)
TEXTS: Final = (BasicType.STRING, BasicType.CHAR)

_LONGEST: Final = 1 << 20
_DECIMALS: Final = Decimal("99999999.99")
_FLOAT_MAX: Final = 3.4028234663852886e38
_DOUBLE_MAX: Final = 1.7976931348623157e308


@dataclass(frozen=True, slots=True)
class SequenceField:
    """``start``, ``start + 1``, ... up to ``end``, which is included and ends the source.

    Of ints, floats, decimals or strings; ``end=None`` goes on for ever.
    """

    start: int
    end: int | None = None
    type_info: TypeInformation = field(default_factory=Types.LONG)

    def __post_init__(self) -> None:
        kind = basic_type(self.type_info)
        if kind not in (*INTEGERS, *FLOATS, BasicType.BIG_DEC, BasicType.STRING):
            raise TypeError(
                f"sequence field: the type is {self.type_info!r}; expected ints, floats, decimals "
                f"or strings"
            )
        if self.end is not None and self.end < self.start:
            raise ValueError(
                f"sequence field: goes from {self.start} to {self.end}; expected the start not "
                f"above the end"
            )
        low, high = whole_range(BasicType.LONG if kind not in INTEGERS else kind)
        last = self.start if self.end is None else self.end
        if self.start < low or last > high:
            raise ValueError(
                f"sequence field: goes from {self.start} to {self.end}; expected values that fit "
                f"{self.type_info!r}"
            )

    def count(self) -> int | None:
        """How many values there are."""
        return None if self.end is None else self.end - self.start + 1


@dataclass(frozen=True, slots=True)
class RandomField:
    """Values of a type, drawn evenly from what it allows.

    Args:
        type_info: the type of the field.
        min: the least number; the least of the type, if not given.
        max: the greatest number, included (of floats not).
        length: characters of a string (100), bytes (100), elements of a list or map (3).
        var_len: whether lengths are drawn too, from 1 to ``length``.
        null_rate: which part of the values is None, from 0 to 1.
        max_past: how far a timestamp may lie before the moment at which its record is due (0).
        scale: how many digits a decimal has after the point.
        element: what a list or array holds.
        key: what the keys of a map are; equal ones count once.
        value: what the values of a map are.
        fields: what the fields of a row, tuple or dataclass hold, by name; a type alone means random.
    """

    type_info: TypeInformation
    min: float | Decimal | None = None
    max: float | Decimal | None = None
    length: int | None = None
    var_len: bool = False
    null_rate: float = 0.0
    max_past: DurationLike | None = None
    scale: int = 2
    element: RandomField | None = None
    key: RandomField | None = None
    value: RandomField | None = None
    fields: Mapping[str, RandomField | TypeInformation] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.type_info, TypeInformation):
            raise TypeError(
                f"random field: the type is {self.type_info!r}; expected one of Types, called, "
                f"such as Types.INT()"
            )
        if layout_of(self.type_info) is None:
            raise TypeError(
                f"random field: cannot make values of {self.type_info!r}; expected basic types, "
                f"times, and lists, maps and rows of these"
            )
        if not 0 <= self.null_rate <= 1:
            raise ValueError(f"random field: the null rate is {self.null_rate!r}; expected 0 to 1")
        if self.length is not None and not 0 <= self.length <= _LONGEST:
            raise ValueError(
                f"random field: the length is {self.length!r}; expected 0 to {_LONGEST}"
            )
        self._check_range()
        for part in self.parts():
            if part.null_rate and isinstance(plain_type(self.type_info), PrimitiveArrayTypeInfo):
                raise ValueError(
                    f"random field: elements of {self.type_info!r} have the null rate "
                    f"{part.null_rate}; expected 0, it holds no None"
                )

    def parts(self) -> list[RandomField]:
        """What lists, maps and rows are made of, in order; nothing for other types."""
        plain = plain_type(self.type_info)
        if isinstance(plain, PrimitiveArrayTypeInfo) and plain.is_bytes:
            return []
        if isinstance(plain, LISTS):
            return [_of_type("element", self.element, plain.element_type)]
        if isinstance(plain, MapTypeInfo):
            return [
                _of_type("key", self.key, plain.key_type_info),
                _of_type("value", self.value, plain.value_type_info),
            ]
        found = fields_of(plain)
        if found is None:
            return []
        given = self.fields or {}
        unknown = [name for name in given if name not in found.names]
        if unknown:
            raise ValueError(
                f"random field: has the parts {unknown!r}; expected some of {found.names!r}"
            )
        return [
            _of_type(name, random_field(name, given.get(name, type_info)), type_info)
            for name, type_info in zip(found.names, found.types, strict=True)
        ]

    def range(self) -> tuple[Any, Any]:
        """The least and the greatest number; only for types of numbers."""
        low, high = whole_range(basic_type(self.type_info))
        return (
            low if self.min is None else self.min,
            high if self.max is None else self.max,
        )

    def max_past_us(self) -> int:
        """How far a timestamp may lie in the past, in microseconds."""
        return 0 if self.max_past is None else to_millis(self.max_past) * 1000

    def _check_range(self) -> None:
        kind = basic_type(self.type_info)
        if kind not in (*INTEGERS, *FLOATS, BasicType.BIG_DEC):
            if self.min is not None or self.max is not None:
                raise ValueError(
                    f"random field: has a range although it is of {self.type_info!r}; expected a "
                    f"type of numbers"
                )
            return
        least, greatest = whole_range(kind)
        if kind is BasicType.BIG_DEC:
            # They are drawn as whole numbers of 64 bits.
            greatest = Decimal(1 << 62).scaleb(-self.scale)
            least = -greatest
        low, high = self.range()
        if not least <= low <= high <= greatest:
            raise ValueError(
                f"random field: the range goes from {low!r} to {high!r}; expected it in order and "
                f"within {least!r} to {greatest!r} for {self.type_info!r}"
            )


FieldGenerator: TypeAlias = RandomField | SequenceField


def random_field(name: str, given: Any) -> RandomField:
    """What a part is to be, where a type alone means random values."""
    if isinstance(given, RandomField):
        return given
    if isinstance(given, TypeInformation):
        return RandomField(given)
    raise TypeError(
        f"field {name!r}: is {given!r}; expected a RandomField or a type such as Types.INT()"
    )


def basic_type(type_info: TypeInformation) -> BasicType | None:
    """Which of the basic types it is, if it is one."""
    plain = plain_type(type_info)
    return plain.basic_type if isinstance(plain, BasicTypeInfo) else None


def whole_range(kind: BasicType | None) -> tuple[Any, Any]:
    """The least and the greatest number of a type of numbers.

    >>> whole_range(BasicType.BYTE)
    (-128, 127)
    """
    if kind is not None and kind in INTEGERS:
        half = 1 << (INTEGERS[kind] - 1)
        return -half, half - 1
    if kind is BasicType.BIG_DEC:
        return -_DECIMALS, _DECIMALS
    greatest = _FLOAT_MAX if kind is BasicType.FLOAT else _DOUBLE_MAX
    return -greatest, greatest


def _of_type(what: str, given: RandomField | None, type_info: TypeInformation) -> RandomField:
    if given is None:
        return RandomField(type_info)
    if plain_type(given.type_info) != plain_type(type_info):
        raise TypeError(f"random field: {what!r} makes {given.type_info!r}; expected {type_info!r}")
    return given
