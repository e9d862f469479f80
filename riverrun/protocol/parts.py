"""Large frames in parts: each part is a row of its own, so that no row is larger than a limit.

The JVM keeps a buffer of twice the size of the largest row it has seen, and clears all of it for each
row that follows: one record of a megabyte would make every later row cost as much.

    part   B mark | I edge | I producer | I consumer | I index | I parts | bytes

Rows of one channel arrive in order, those of several channels mixed: parts are put together by
channel. A frame begins with its version, which is never the mark of a part.
"""

from __future__ import annotations

import struct
from typing import Final

from riverrun.protocol.frames import FrameError, WideFrame, decode_header

MOST_BYTES: Final = 1 << 19
"""Bytes of the largest row: a power of two, as the JVM's buffers are."""
_PART: Final = struct.Struct("<BIIIII")
_MARK: Final = 0x7F
"""Below 128: the bytes of an Arrow buffer are signed."""
_ROOM: Final = MOST_BYTES - _PART.size


def in_parts(frame: bytes | memoryview | WideFrame) -> list[bytes | memoryview]:
    """The rows that ``frame`` is sent as: itself, unless it is too large."""
    if isinstance(frame, WideFrame):
        frame = frame.joined()
    if len(frame) <= MOST_BYTES:
        return [frame]
    header = decode_header(frame)
    view = memoryview(frame)
    pieces = [view[start : start + _ROOM] for start in range(0, len(view), _ROOM)]
    channel = header.edge, header.producer, header.consumer
    return [
        b"".join((_PART.pack(_MARK, *channel, index, len(pieces)), piece))
        for index, piece in enumerate(pieces)
    ]


class PartJoiner:
    """Puts the frames together that arrive in parts."""

    def __init__(self) -> None:
        self._begun: dict[tuple[int, int, int], list[memoryview]] = {}

    def add(self, row: memoryview) -> memoryview | None:
        """The frame that is complete with ``row``; ``None``: parts are still to come.

        Raises:
            FrameError: a part that is not the next one of its channel's frame.
        """
        if row[0] != _MARK:
            return row
        if len(row) <= _PART.size:
            raise FrameError(f"part of {len(row)} bytes: expected more than {_PART.size}")
        _, edge, producer, consumer, index, parts = _PART.unpack_from(row)
        channel = edge, producer, consumer
        begun = self._begun.setdefault(channel, [])
        if index != len(begun) or index >= parts:
            raise FrameError(
                f"part {index} of {parts} of a frame of edge {edge} from subtask {producer} to "
                f"{consumer}: expected part {len(begun)}"
            )
        begun.append(row[_PART.size :])
        if index + 1 < parts:
            return None
        del self._begun[channel]
        return memoryview(b"".join(begun))
