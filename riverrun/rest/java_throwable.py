"""An error in the form in which Flink's Java clients read one: a serialized Java object.

They deserialize the field ``serialized-throwable`` of a failed operation, and without it never notice that
the operation failed. The object is Flink's ``SerializedThrowable`` without the original exception in it,
written by the rules of Java's object serialization (stream version 5).
"""

from __future__ import annotations

import struct
from typing import Final

_HEADER: Final = b"\xac\xed\x00\x05"
_NULL: Final = b"\x70"
_CLASS: Final = b"\x72"
_OBJECT: Final = b"\x73"
_STRING: Final = b"\x74"
_LONG_STRING: Final = b"\x7c"
_END: Final = b"\x78"
_SERIALIZABLE: Final = 0x02
_WITH_WRITE_METHOD: Final = 0x03
_TEXT: Final = "Ljava/lang/String;"
_SHORT: Final = 0xFFFF


def serialized_throwable(class_name: str, message: str, stack_trace: str) -> bytes:
    """The bytes of a ``SerializedThrowable``."""
    return b"".join(
        (
            _HEADER,
            _OBJECT,
            _described(
                "org.apache.flink.util.SerializedThrowable",
                7284183123441947635,
                _SERIALIZABLE,
                ("fullStringifiedStackTrace", _TEXT),
                ("originalErrorClassName", _TEXT),
                ("serializedException", "[B"),
            ),
            _described("java.lang.Exception", -3387516993124229948, _SERIALIZABLE),
            _described(
                "java.lang.Throwable",
                -3042686055658047285,
                _WITH_WRITE_METHOD,
                ("cause", "Ljava/lang/Throwable;"),
                ("detailMessage", _TEXT),
                ("stackTrace", "[Ljava/lang/StackTraceElement;"),
                ("suppressedExceptions", "Ljava/util/List;"),
            ),
            _NULL,  # Throwable extends nothing that is written
            _NULL,
            _text(message),
            _NULL,
            _NULL,
            _END,
            _text(stack_trace),
            _text(class_name),
            _NULL,
        )
    )


def _described(name: str, version: int, flags: int, *fields: tuple[str, str]) -> bytes:
    """A class: its name, version and fields, all of them objects."""
    parts = [_CLASS, _utf(name), struct.pack(">qBH", version, flags, len(fields))]
    for field, kind in fields:
        parts += [kind[:1].encode(), _utf(field), _text(kind)]
    return b"".join((*parts, _END))


def _text(text: str) -> bytes:
    encoded = _modified_utf8(text)
    if len(encoded) > _SHORT:
        return _LONG_STRING + struct.pack(">Q", len(encoded)) + encoded
    return _STRING + struct.pack(">H", len(encoded)) + encoded


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def _modified_utf8(text: str) -> bytes:
    """UTF-8 of the UTF-16 units one by one, with two bytes for NUL: what Java calls UTF."""
    units = text.encode("utf-16-be", "surrogatepass")
    return b"".join(_unit(unit) for (unit,) in struct.iter_unpack(">H", units))


def _unit(unit: int) -> bytes:
    return b"\xc0\x80" if unit == 0 else chr(unit).encode("utf-8", "surrogatepass")
