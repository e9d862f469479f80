"""What a checkpoint refers to: bytes that are kept in the reference itself, or a file of the store."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class InlineBlob(msgspec.Struct, frozen=True, tag="inline"):
    """Bytes so few that a file of their own would cost more than they do."""

    data: bytes

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return len(self.data)


class FileRef(msgspec.Struct, frozen=True, tag="file"):
    """A whole file of the store; whoever reads it checks its size and digest."""

    path: str
    """Full location, as ``Storage`` takes it; never written twice with different content."""
    size: int
    digest: str
    """BLAKE2b of 16 bytes, in hexadecimal."""


Blob: TypeAlias = InlineBlob | FileRef
