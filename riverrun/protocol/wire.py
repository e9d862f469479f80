"""Messages on a byte stream: each is preceded by its length, four bytes, big-endian.

Nothing here reads or writes a socket: the decoder is fed with whatever arrived.
"""

from __future__ import annotations

import struct
from typing import Final, TypeAlias

from riverrun.core.errors import ExternalError

Address: TypeAlias = tuple[str, int]
"""Host and port."""

MAX_MESSAGE_BYTES: Final = 512 * 1024 * 1024
"""What an authenticated peer may send at most as one message."""

_PREFIX: Final = struct.Struct(">I")


class MessageTooLarge(ExternalError):  # noqa: N818
    """A message is larger than the connection allows."""

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(size_bytes, limit_bytes)
        self.size_bytes, self.limit_bytes = size_bytes, limit_bytes

    def __str__(self) -> str:
        return (
            f"control connection: a message of {self.size_bytes} bytes, at most {self.limit_bytes} "
            f"are allowed; send smaller values to the client"
        )


def frame(payload: bytes, limit_bytes: int = MAX_MESSAGE_BYTES) -> bytes:
    r"""The bytes that carry ``payload``; MessageTooLarge beyond ``limit_bytes``.

    >>> frame(b"hi")
    b'\x00\x00\x00\x02hi'
    """
    if len(payload) > limit_bytes:
        raise MessageTooLarge(len(payload), limit_bytes)
    return _PREFIX.pack(len(payload)) + payload


class FrameDecoder:
    r"""Cuts a byte stream into payloads, however the stream was chopped up on its way.

    A length over the limit is refused as soon as its prefix is read, before the payload takes memory.

    >>> decoder = FrameDecoder(limit_bytes=10)
    >>> decoder.feed(b"\x00\x00\x00\x02h")
    >>> decoder.next_payload() is None
    True
    >>> decoder.feed(b"i\x00\x00")
    >>> decoder.next_payload(), decoder.next_payload(), decoder.buffered
    (b'hi', None, 2)
    """

    def __init__(self, limit_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self.limit_bytes = limit_bytes
        """May be changed between two payloads: a peer is given more room once it is known."""
        self._buffer = bytearray()

    @property
    def buffered(self) -> int:
        """Bytes fed that no payload was made of yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Add bytes that arrived."""
        self._buffer += data

    def next_payload(self) -> bytes | None:
        """The next complete payload, or ``None`` until more bytes are fed.

        Raises MessageTooLarge; the stream cannot be read any further then.
        """
        buffer = self._buffer
        if len(buffer) < _PREFIX.size:
            return None
        (size,) = _PREFIX.unpack_from(buffer)
        if size > self.limit_bytes:
            raise MessageTooLarge(size, self.limit_bytes)
        end = _PREFIX.size + size
        if len(buffer) < end:
            return None
        payload = bytes(memoryview(buffer)[_PREFIX.size : end])
        del buffer[:end]
        return payload
