"""How records become bytes for the outside, and bytes become records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = [
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]


class SerializationSchema(ABC):
    """Makes bytes of records, one at a time."""

    @abstractmethod
    def serialize(self, element: Any) -> bytes:
        """The bytes of ``element``."""

    def open(self) -> None:  # noqa: B027  (an optional hook)
        """Prepare in the worker, before the first record: connections, compiled codecs."""

    def serialize_run(self, elements: Sequence[Any]) -> list[bytes]:
        """The bytes of each; override it when a run is cheaper than its parts."""
        serialize = self.serialize
        return [serialize(element) for element in elements]


class DeserializationSchema(ABC):
    """Makes records of bytes, one message at a time."""

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """The record of ``message``; None: there is none."""

    def open(self) -> None:  # noqa: B027  (an optional hook)
        """Prepare in the worker, before the first message: connections, compiled codecs."""

    def deserialize_run(self, messages: Sequence[bytes]) -> list[Any]:
        """The record of each, None where there is none; override it when a run is cheaper than its parts.

        When it raises, the caller asks for the messages one by one to find the bad ones.
        """
        deserialize = self.deserialize
        return [deserialize(message) for message in messages]

    def is_end_of_stream(self, next_element: Any) -> bool:
        """Whether no records follow ``next_element``, which is not given on."""
        del next_element
        return False

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the records, where it is known."""
        return None


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Text in one encoding.

    >>> SimpleStringSchema().deserialize(SimpleStringSchema().serialize("grün"))
    'grün'
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        "".encode(
            charset
        )  # A charset that does not exist is refused here, not by the first record.
        self.charset = charset

    def serialize(self, element: str) -> bytes:
        if not isinstance(element, str):
            raise TypeError(f"string schema: got {element!r}; expected a str")
        return element.encode(self.charset)

    def deserialize(self, message: bytes) -> str:
        return message.decode(self.charset)

    def get_produced_type(self) -> TypeInformation:
        return Types.STRING()


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are."""

    def serialize(self, element: bytes) -> bytes:
        if not isinstance(element, bytes | bytearray | memoryview):
            raise TypeError(f"byte array schema: got {element!r}; expected bytes")
        return bytes(element)

    def deserialize(self, message: bytes) -> bytes:
        return message


class RowFieldExtractorSchema(SerializationSchema):
    """One field of each row, which must hold bytes (or text, which is written as UTF-8)."""

    def __init__(self, field_index: int) -> None:
        if isinstance(field_index, bool) or not isinstance(field_index, int) or field_index < 0:
            raise ValueError(
                f"row field extractor: the field is {field_index!r}; expected 0 or more"
            )
        self.field_index = field_index

    def serialize(self, element: Any) -> bytes:
        found = element[self.field_index]
        if found is None:
            return b""
        if isinstance(found, str):
            return found.encode()
        if not isinstance(found, bytes | bytearray):
            raise TypeError(
                f"row field extractor: field {self.field_index} of {element!r} is a "
                f"{type(found).__name__}; expected bytes or str"
            )
        return bytes(found)


class Encoder:
    """Writes records into a file, one after the other."""

    def __init__(self, encode: Callable[[Any], bytes]) -> None:
        if not callable(encode):
            raise TypeError(f"encoder: got {encode!r}; expected a callable from a record to bytes")
        self.encode = encode

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """A line of text for each record: what ``str`` makes of it."""
        "".encode(charset_name)
        return Encoder(_Line(charset_name))


class _Line:
    def __init__(self, charset: str) -> None:
        self._charset = charset

    def __call__(self, value: Any) -> bytes:
        return f"{value}\n".encode(self._charset)


class BulkWriterFactory(ABC):
    """Makes writers of whole files, for formats that records cannot be appended to one by one."""

    @abstractmethod
    def create(self, file: Any) -> Any:
        """A writer into ``file``, which is open for bytes."""


class RowDataBulkWriterFactory(BulkWriterFactory):
    """A factory whose writers take rows of one type."""

    def __init__(self, row_type: TypeInformation) -> None:
        self._row_type = row_type

    def get_row_type(self) -> TypeInformation:
        """The type of the rows."""
        return self._row_type
