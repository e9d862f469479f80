"""How a checkpoint's barriers are to be handled: the bytes in ``Barrier.options``."""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec


class BarrierMode(Enum):
    """What a task does between the first and the last barrier of a checkpoint."""

    ALIGNED = "aligned"
    """Channels whose barrier came wait for the others."""
    UNALIGNED = "unaligned"
    """Nothing waits; what is in flight becomes part of the checkpoint."""
    AT_LEAST_ONCE = "at-least-once"
    """Nothing waits and nothing is kept: records may count twice after a failure."""


class SavepointOrder(msgspec.Struct, frozen=True):
    """What a savepoint is taken for."""

    folder: str
    """Where all of it goes: full location of the savepoint's own folder."""
    stop: bool = False
    """Whether the job ends with it: after the barrier a task does nothing more."""
    drain: bool = False
    """With ``stop``: whether sources end their streams first, so that windows fire and timers run."""


class BarrierOptions(msgspec.Struct, frozen=True):
    """Travels with every barrier of the checkpoint."""

    mode: BarrierMode = BarrierMode.ALIGNED
    aligned_timeout_ms: int = 0
    """For ALIGNED: turn UNALIGNED when the barrier is on its way for longer; 0 means never."""
    savepoint: SavepointOrder | None = None
    """``None``: the checkpoint is the job's own."""

    @property
    def stops(self) -> bool:
        """Whether the job ends with this checkpoint."""
        return self.savepoint is not None and self.savepoint.stop

    @property
    def drains(self) -> bool:
        """Whether streams end before the barrier."""
        return self.savepoint is not None and self.savepoint.stop and self.savepoint.drain


_DECODER: Final = msgspec.msgpack.Decoder(BarrierOptions)


def encode_options(options: BarrierOptions) -> bytes:
    """The options as a barrier carries them.

    >>> decode_options(encode_options(BarrierOptions(BarrierMode.UNALIGNED))).mode.value
    'unaligned'
    """
    return msgspec.msgpack.encode(options)


def decode_options(data: bytes) -> BarrierOptions:
    """What ``encode_options`` was given; the defaults for no bytes at all."""
    return _DECODER.decode(data) if data else BarrierOptions()
