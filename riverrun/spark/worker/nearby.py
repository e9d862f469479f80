"""Frames between tasks of one machine: who may send them so, and what is sent in their place."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final

from riverrun.core import options
from riverrun.protocol.frames import WideFrame
from riverrun.spark.worker.arenas import ConsumerArenas, ProducerArena
from riverrun.spark.worker.in_flight import InFlight
from riverrun.spark.worker.shared_folder import SharedFolder

_LARGE: Final = 256 << 10
_MOST_OF_SMALL: Final = 256 << 10
"""What frames that are not large may hold for one consumer: they are full of records, and
whoever is slow would have all of them to work off in front of a barrier."""
_SHORTEST_PAUSE_S: Final = 0.0005
_LONGEST_PAUSE_S: Final = 0.008
_PATIENCE_S: Final = 1.0
"""A frame takes the way through Spark if no consumer gave anything back for so long.

That costs several times as much, and leaves the JVM with buffers that it clears for every row that follows.
Consumers give nothing back while they start, or while others have the machine.
"""
_LITTLE_PATIENCE_S: Final = 0.02
"""The same after a frame that waited in vain: who gives nothing back may keep what it has."""
_MORE: Final = 4
"""So many times the patience after a frame that did not."""


class Nearby:
    """One task's share in the folder of its machine. Made before the task registers; ``close`` it.

    Until ``met`` nobody is known to share the folder, and all frames go through Spark.
    """

    def __init__(
        self,
        config: Mapping[str, str],
        folder: SharedFolder | None,
        pause: Callable[[float], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._pause, self._now = folder, pause, now
        self._partitions: frozenset[int] = frozenset()
        self.unfilled: set[int] = set()
        """The partitions whose last row is no filler: Spark holds it back, and so whoever waits for it."""
        self._patience_s = _PATIENCE_S
        self._least = options.LOCAL_FRAME_BYTES.get(config)
        self._most = options.LOCAL_FRAME_MEMORY.get(config)
        self._in_flight = InFlight(self._most)
        self._arena = None if folder is None else ProducerArena(folder.path, self._most)
        self.received = None if folder is None else ConsumerArenas(folder.path)

    @property
    def token(self) -> str | None:
        """What tells who shares the folder; ``None``: nobody does."""
        return None if self._folder is None else self._folder.token

    def met(self, partitions: Iterable[int]) -> None:
        """These partitions of the next layer have the same token."""
        self._partitions = frozenset(partitions)

    def suits(self, target: int, size: int) -> bool:
        """Whether a frame of this size for this partition need not go through Spark."""
        return self._least <= size <= self._most and target in self._partitions and size > 0

    def place(self, target: int, frame: bytes | memoryview | WideFrame) -> bytes | None:
        """The reference to send instead of ``frame``; ``None``: there is no room now."""
        return self._placed(target, frame, self._in_flight.bytes)

    def place_patiently(self, target: int, frame: bytes | memoryview | WideFrame) -> bytes | None:
        """As ``place``, but wait as long as consumers give room back; what is placed must have been sent.

        Not for ever: a consumer may have to see this frame before it can let go of an earlier one. A
        large one is then placed although much is in flight, unless all memory is taken.
        """
        reference, held = None, self._held()
        waited, pause = 0.0, _SHORTEST_PAUSE_S
        while held and waited < self._patience_s:
            self._pause(pause)
            still = self._held()
            if still == held:
                waited, pause = waited + pause, min(2 * pause, _LONGEST_PAUSE_S)
                continue
            reference = self.place(target, frame)
            if reference is not None:
                break
            waited, pause, held = 0.0, _SHORTEST_PAUSE_S, still
        if reference is None:
            self._patience_s = _LITTLE_PATIENCE_S
            reference = self._placed(target, frame, self._most)
        else:
            self._patience_s = min(_MORE * self._patience_s, _PATIENCE_S)
        if self._arena is not None:
            self._in_flight.waited(self._arena.given_back_bytes, self._now())
        return reference

    def close(self) -> None:
        """Leave the folder; the last one removes it. May be called twice."""
        if self._arena is not None:
            with suppress(OSError):
                self._arena.close()
        if self._folder is not None:
            with suppress(OSError):
                self._folder.close()

    def _placed(
        self, target: int, frame: bytes | memoryview | WideFrame, within: int
    ) -> bytes | None:
        if self._arena is None:
            return None
        size = len(frame)
        if size < _LARGE and self._arena.held_by(target) + size > _MOST_OF_SMALL:
            return None
        pieces = frame.pieces if isinstance(frame, WideFrame) else [frame]
        reference = self._arena.place(pieces, size, target, within)
        return None if reference is None else reference.encoded()

    def _held(self) -> int:
        return 0 if self._arena is None else self._arena.held
