"""References to frames that lie in memory which producer and consumer share on one machine.

A reference travels as a row of the exchange in the frame's place, so order, flow control and sequence
numbers stay Spark's and the frame's own.

    reference   B mark | 16s arena | I segment | Q offset | I size

A frame begins with its version and a part of one with another mark, so no row can be mistaken.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from riverrun.protocol.frames import FrameError

_REFERENCE: Final = struct.Struct("<B16sIQI")
_MARK: Final = 0x7E
ARENA_ID_BYTES: Final = 16


class Reference(NamedTuple):
    """Where a frame lies: in which arena, which of its segments that is, and the bytes themselves."""

    arena: bytes
    segment: int
    offset: int
    size: int

    @property
    def arena_name(self) -> str:
        """The arena's file: a bare name, whatever the bytes are.

        >>> Reference(bytes(range(16)), 0, 4096, 10).arena_name
        '000102030405060708090a0b0c0d0e0f'
        """
        return self.arena.hex()

    def encoded(self) -> bytes:
        """The row that travels in the frame's place."""
        return _REFERENCE.pack(_MARK, *self)


def is_reference(row: bytes | memoryview) -> bool:
    """Whether ``row``, which is not empty, stands for a frame that lies elsewhere."""
    return row[0] == _MARK


def decode_reference(row: bytes | memoryview) -> Reference:
    """The reference that ``row`` holds."""
    if len(row) != _REFERENCE.size:
        raise FrameError(
            f"reference to a frame of {len(row)} bytes: expected {_REFERENCE.size}; "
            f"all processes of a job must run the same riverrun"
        )
    _, *fields = _REFERENCE.unpack(row)
    return Reference(*fields)
