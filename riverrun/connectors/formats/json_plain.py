"""JSON as Python's own values: dicts, lists, or any type that msgspec knows (structs, dataclasses ...)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from riverrun.api.serialization import DeserializationSchema, SerializationSchema
from riverrun.connectors.formats.errors import FormatError, shown

__all__ = ["JsonDeserializationSchema", "JsonSerializationSchema"]


class JsonDeserializationSchema(DeserializationSchema):
    """What ``json.loads`` gives; or instances of ``type``, checked field by field.

    >>> JsonDeserializationSchema().deserialize(b'{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> JsonDeserializationSchema(dict[str, int]).deserialize(b'{"a": "x"}')
    Traceback (most recent call last):
      ...
    riverrun.connectors.formats.errors.FormatError: json: Expected `int`, got `str` - at `$[...]`; found b'{"a": "x"}'

    Args:
        type: a dataclass, a ``msgspec.Struct``, a TypedDict, ``dict[str, int]`` ...; None: anything.
        strict: whether a number must be written as a number, not as text.
        ignore_parse_errors: whether a message that cannot be read gives no record, instead of an error.
    """

    def __init__(
        self,
        type: Any = None,  # noqa: A002  (a type is what it takes)
        *,
        strict: bool = True,
        ignore_parse_errors: bool = False,
    ) -> None:
        self._of = Any if type is None else type
        self._strict = strict
        self._ignore = ignore_parse_errors
        self._decode = msgspec.json.Decoder(self._of, strict=strict).decode

    def deserialize(self, message: bytes) -> Any:
        if message is None:
            return None
        try:
            return self._decode(message)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if self._ignore:
                return None
            raise FormatError(f"json: {error}; found {shown(message)}") from error

    def deserialize_run(self, messages: Sequence[bytes]) -> list[Any]:
        try:
            return list(map(self._decode, messages))
        except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
            return [self.deserialize(message) for message in messages]

    def __reduce__(self) -> tuple[Any, ...]:
        return _plain_input, (self._of, self._strict, self._ignore)


class JsonSerializationSchema(SerializationSchema):
    """The JSON of anything that msgspec can write: dicts, lists, dataclasses, structs, dates, decimals.

    >>> JsonSerializationSchema().serialize({"a": 1, "b": None})
    b'{"a":1,"b":null}'

    Args:
        decimals_as_numbers: whether a Decimal is written as a number, as Flink does, not as text.
    """

    def __init__(self, *, decimals_as_numbers: bool = True) -> None:
        self._numbers = decimals_as_numbers
        self._encode = msgspec.json.Encoder(
            decimal_format="number" if decimals_as_numbers else "string"
        ).encode

    def serialize(self, element: Any) -> bytes:
        try:
            return self._encode(element)
        except (TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"json: cannot write {shown(element)}: {error}") from error

    def serialize_run(self, elements: Sequence[Any]) -> list[bytes]:
        try:
            return list(map(self._encode, elements))
        except (TypeError, ValueError, OverflowError):
            return [self.serialize(element) for element in elements]

    def __reduce__(self) -> tuple[Any, ...]:
        return _plain_output, (self._numbers,)


def _plain_input(of: Any, strict: bool, ignore: bool) -> JsonDeserializationSchema:  # noqa: FBT001
    return JsonDeserializationSchema(of, strict=strict, ignore_parse_errors=ignore)


def _plain_output(numbers: bool) -> JsonSerializationSchema:  # noqa: FBT001  (called by pickle only)
    return JsonSerializationSchema(decimals_as_numbers=numbers)
