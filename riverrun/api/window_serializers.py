"""How windows are written: 64-bit integers, the greatest byte first."""

from __future__ import annotations

from struct import Struct
from typing import BinaryIO, Final

from riverrun.api.windows import CountWindow, GlobalWindow, TimeWindow
from riverrun.serde.type_serializer import TypeSerializer

__all__ = ["CountWindowSerializer", "GlobalWindowSerializer", "TimeWindowSerializer"]

_START_AND_END: Final = Struct(">qq")
_ID: Final = Struct(">q")
_GLOBAL: Final = b"\0"


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Start and end, 16 bytes."""

    def serialize(self, element: TimeWindow, stream: BinaryIO) -> None:
        stream.write(_START_AND_END.pack(element.start, element.end))

    def deserialize(self, stream: BinaryIO) -> TimeWindow:
        start, end = _START_AND_END.unpack(_read(stream, _START_AND_END.size, self))
        return TimeWindow(start, end)


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """The id, 8 bytes."""

    def serialize(self, element: CountWindow, stream: BinaryIO) -> None:
        stream.write(_ID.pack(element.id))

    def deserialize(self, stream: BinaryIO) -> CountWindow:
        (number,) = _ID.unpack(_read(stream, _ID.size, self))
        return CountWindow(number)


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """One byte of no meaning."""

    def serialize(self, element: GlobalWindow, stream: BinaryIO) -> None:
        del element
        stream.write(_GLOBAL)

    def deserialize(self, stream: BinaryIO) -> GlobalWindow:
        _read(stream, len(_GLOBAL), self)
        return GlobalWindow.get()


def _read(stream: BinaryIO, size: int, serializer: object) -> bytes:
    found = stream.read(size)
    if len(found) != size:
        raise ValueError(
            f"{serializer!r}: the stream ends after {len(found)} bytes; expected {size} of a window"
        )
    return found
