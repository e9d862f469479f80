"""Messages on their way to Kafka: runs of them as columns, and epochs of them as bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import msgspec
import pyarrow as pa

__all__ = ["Epoch", "EpochBuffer", "Headers", "MessageRun"]

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]
"""Of one message; a name may be there more than once."""

BLOCK_BYTES: Final = 1 << 20
"""What messages come to, about, that are packed and compressed together."""


class MessageRun(msgspec.Struct, array_like=True):
    """Messages in order, one list for each property; a property that none of them has is ``None``."""

    topics: str | list[str]
    """One name: of all of them."""
    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    partitions: list[int] | None = None
    timestamps: list[int] | None = None
    """Milliseconds since 1970; 0: when it is sent."""
    headers: list[list[tuple[str, bytes | None]] | None] | None = None

    def size(self) -> int:
        """The bytes of keys, values and headers."""
        size = _length(self.values) + (0 if self.keys is None else _length(self.keys))
        if self.headers is not None:
            size += sum(map(header_bytes, self.headers))
        return size


_decoder: Final = msgspec.msgpack.Decoder(list[MessageRun])
_encoder: Final = msgspec.msgpack.Encoder()


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one writer was given between two checkpoints: a committable, kept in the checkpoint.

    Lineage and number together name it for ever: a writer takes a new lineage whenever it starts.
    """

    lineage: str
    number: int
    """Which of its lineage, from 1."""
    messages: int
    blocks: tuple[tuple[int, bytes], ...] = field(repr=False)
    """Packed runs, each with its length before compression."""

    def runs(self) -> Iterator[MessageRun]:
        """The messages again, in their order; one block is unpacked at a time."""
        for length, block in self.blocks:
            unpacked = pa.decompress(block, decompressed_size=length, codec="lz4", asbytes=True)
            yield from _decoder.decode(unpacked)


class EpochBuffer:
    """Takes messages in and keeps them packed."""

    def __init__(self) -> None:
        self._messages = 0
        self._open: list[MessageRun] = []
        self._open_bytes = 0
        self._blocks: list[tuple[int, bytes]] = []
        self.kept_bytes = 0
        """What the buffer holds, compressed where it is."""

    def add(self, run: MessageRun) -> int:
        """Take in a run, which must not change any more; gives its size."""
        size = run.size()
        self._messages += len(run.values)
        self._open.append(run)
        self._open_bytes += size
        self.kept_bytes += size
        if self._open_bytes >= BLOCK_BYTES:
            self._pack()
        return size

    def take(self, lineage: str, number: int) -> Epoch | None:
        """Everything since the last call as an epoch; ``None`` when there was nothing."""
        if self._open:
            self._pack()
        if not self._messages:
            return None
        epoch = Epoch(lineage, number, self._messages, tuple(self._blocks))
        self._messages, self._blocks, self.kept_bytes = 0, [], 0
        return epoch

    def _pack(self) -> None:
        packed = _encoder.encode(self._open)
        block = pa.compress(packed, codec="lz4", asbytes=True)
        self._blocks.append((len(packed), block))
        self.kept_bytes += len(block) - self._open_bytes
        self._open, self._open_bytes = [], 0


def header_bytes(headers: Headers | None) -> int:
    """What the headers of a message take up, about."""
    return sum(len(name) + len(value or b"") + 8 for name, value in headers or ())


def _length(parts: list[bytes | None]) -> int:
    try:
        return sum(map(len, parts))  # type: ignore[arg-type]
    except TypeError:  # One of them is None, which is rare.
        return sum(len(part) for part in parts if part is not None)
