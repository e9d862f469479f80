"""One value a message, as its plain bytes: Flink's raw format."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, Literal

from riverrun.api.serialization import DeserializationSchema, SerializationSchema
from riverrun.connectors.formats.errors import FormatError, shown
from riverrun.core.errors import ProgramError
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.collection_types import PrimitiveArrayTypeInfo
from riverrun.serde.columns import plain_type
from riverrun.serde.type_info import TypeInformation

__all__ = ["RawFormatSchema"]

_NUMBERS: Final = {
    BasicType.BOOLEAN: "?",
    BasicType.BYTE: "b",
    BasicType.SHORT: "h",
    BasicType.INT: "i",
    BasicType.LONG: "q",
    BasicType.FLOAT: "f",
    BasicType.DOUBLE: "d",
}


class RawFormatSchema(SerializationSchema, DeserializationSchema):
    r"""Text, bytes or a number of fixed length; None is no message.

    >>> from riverrun.serde.types import Types
    >>> RawFormatSchema(Types.INT()).serialize(258)
    b'\x00\x00\x01\x02'

    Args:
        type_info: the type of the values.
        charset: how text is written.
        endianness: which byte of a number comes first.
    """

    def __init__(
        self,
        type_info: TypeInformation,
        charset: str = "UTF-8",
        endianness: Literal["big-endian", "little-endian"] = "big-endian",
    ) -> None:
        "".encode(charset)
        if endianness not in {"big-endian", "little-endian"}:
            raise ValueError(
                f"raw: the endianness is {endianness!r}; expected 'big-endian' or 'little-endian'"
            )
        self._type = type_info
        self._charset = charset
        self._endianness: Literal["big-endian", "little-endian"] = endianness
        self._read, self._write = self._codec()

    def serialize(self, element: Any) -> bytes:
        if element is None:
            return None  # type: ignore[return-value]  # a message without a value, as in Flink
        try:
            return self._write(element)
        except (struct.error, UnicodeError, AttributeError, TypeError) as error:
            raise FormatError(
                f"raw: cannot write {shown(element)} as {self._type!r}: {error}"
            ) from error

    def deserialize(self, message: bytes) -> Any:
        if message is None:
            return None
        try:
            return self._read(message)
        except (struct.error, UnicodeError) as error:
            raise FormatError(
                f"raw: the message is {shown(message)}; expected {self._type!r}: {error}"
            ) from error

    def get_produced_type(self) -> TypeInformation:
        return self._type

    def _codec(self) -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
        kind, charset = plain_type(self._type), self._charset
        if isinstance(kind, PrimitiveArrayTypeInfo) and kind.is_bytes:
            return bytes, _bytes
        basic = kind.basic_type if isinstance(kind, BasicTypeInfo) else None
        if basic is BasicType.STRING:
            return lambda found: found.decode(charset), lambda value: value.encode(charset)
        if basic in _NUMBERS:
            order = ">" if self._endianness == "big-endian" else "<"
            number = struct.Struct(order + _NUMBERS[basic])
            return lambda found: number.unpack(found)[0], number.pack
        raise ProgramError(
            f"raw: the type is {self._type!r}; expected text, bytes, a truth value or a number of "
            f"fixed length"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return RawFormatSchema, (self._type, self._charset, self._endianness)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"it is a {type(value).__name__}")
    return bytes(value)
