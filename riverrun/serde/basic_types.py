"""Types of indivisible values, and the type of values that travel pickled."""

# ruff: noqa: N802 - the names are PyFlink's
import struct
from dataclasses import dataclass
from enum import Enum
from typing import Any

from riverrun.serde.instant import Instant
from riverrun.serde.type_info import TypeInformation

__all__ = ["BasicType", "BasicTypeInfo", "InstantTypeInfo", "PickledBytesTypeInfo"]


class BasicType(Enum):
    """The basic types by Flink's names."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


def _single(value: float) -> float:
    """The nearest float of 32 bits: what the value is after an exchange, so that it is so before one too."""
    try:
        single: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return value  # Refused by the check of the type, with the value as it was.
    return single


@dataclass(frozen=True, repr=False)
class BasicTypeInfo(TypeInformation):
    """One of the basic types."""

    basic_type: BasicType

    def coerce(self, value: Any) -> Any:
        # type() and not isinstance(): a bool is no number here, and stays as it is for the check.
        if type(value) is int and self.basic_type in (BasicType.FLOAT, BasicType.DOUBLE):
            value = float(value)
        if type(value) is float and self.basic_type is BasicType.FLOAT:
            return _single(value)
        return value

    def __repr__(self) -> str:
        return f"Types.{self.basic_type.name}()"

    @staticmethod
    def STRING_TYPE_INFO() -> "BasicTypeInfo":
        """``str``."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> "BasicTypeInfo":
        """``bool``."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> "BasicTypeInfo":
        """``int`` of 8 bits, signed."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> "BasicTypeInfo":
        """``int`` of 16 bits, signed."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> "BasicTypeInfo":
        """``int`` of 32 bits, signed."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> "BasicTypeInfo":
        """``int`` of 64 bits, signed."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> "BasicTypeInfo":
        """``float``; kept in the double precision of Python, so that no hop rounds it."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> "BasicTypeInfo":
        """``float``."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> "BasicTypeInfo":
        """``str`` of one character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> "BasicTypeInfo":
        """``int`` of any size."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> "BasicTypeInfo":
        """``decimal.Decimal`` of any precision."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> "BasicTypeInfo":
        """`Instant`, in nanoseconds."""
        return InstantTypeInfo()


@dataclass(frozen=True, repr=False)
class InstantTypeInfo(BasicTypeInfo):
    """The type of `Instant`."""

    basic_type: BasicType = BasicType.INSTANT

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Instant | None) -> int | None:
        return None if obj is None else obj.to_epoch_milli() * 1000

    def from_internal_type(self, obj: int | None) -> Instant | None:
        return None if obj is None else Instant.of_epoch_milli(obj // 1000)


@dataclass(frozen=True, repr=False)
class PickledBytesTypeInfo(TypeInformation):
    """Any Python value; it travels pickled."""

    def __repr__(self) -> str:
        return "Types.PICKLED_BYTE_ARRAY()"

    @staticmethod
    def PICKLED_BYTE_ARRAY_TYPE_INFO() -> "PickledBytesTypeInfo":
        """The one pickled type."""
        return PickledBytesTypeInfo()
