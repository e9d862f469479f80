"""How much may be in flight towards a task: as much as it works off within a target time.

A task measures how many records it works off in a millisecond that it is not waiting for input, and tells each
of its producers up to which record (counted from the first of the channel) that one may send. Amounts are counted
in records, because time is spent on records; the size of frames is derived from what records turned out to take.

Nothing here waits or sends: facts come in, what is to be told goes out. A grant is due when a quarter of what was
allowed is done, so a producer that has used up all it was allowed will hear from its consumer by the consumer's
work alone: no report depends on a clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

FIRST: Final = 16
"""Records that may be in flight in a channel before anything was measured."""
UNLIMITED: Final = 1 << 62
"""Up to which record a producer may send that nobody waits for: no channel comes so far."""
SHORTEST_TARGET_MS: Final = 100
"""What a target is at least: a report takes some ten milliseconds on its way."""
_MOST: Final = 1 << 40
_STEP: Final = 2.0
"""By which factor the allowance changes at most from one measurement to the next."""
_FRAMES: Final = 8
"""Into how many frames the allowance of a channel is divided."""
_PARTS: Final = 4
"""After which part of its allowance a channel is told more."""
_SMALLEST_FRAME_MS: Final = 5.0
"""Work in the smallest frame: a frame of less costs more on its way than its records do."""


@dataclass(frozen=True, slots=True)
class DebloatSettings:
    """Flink's ``taskmanager.network.memory.buffer-debloat``."""

    target_ms: float = 1000.0
    """How long it should take to work off what is in flight."""
    period_ms: float = 200.0
    """How often the throughput is measured."""
    samples: int = 20
    """Over how many periods it is averaged, about."""


class Grant(NamedTuple):
    """What the producer of a channel is told."""

    channel: int
    until: int
    """How many records it may have sent in all."""
    frame_bytes: int
    """How large a frame should be at most."""


class Throughput:
    """Records worked off in a millisecond, averaged over time that was not spent waiting for input.

    >>> throughput = Throughput(memory_ms=1000.0)
    >>> _ = throughput.observe(500, 100.0); throughput.per_ms
    5.0
    """

    __slots__ = ("_active_ms", "_memory_ms", "_records", "per_ms")

    def __init__(self, memory_ms: float) -> None:
        self._memory_ms = memory_ms
        self._records = self._active_ms = 0.0
        self.per_ms = 0.0

    def observe(self, records: int, active_ms: float) -> float:
        """Learn from a sample; gives back by how much older samples lost weight."""
        kept = math.exp(-active_ms / self._memory_ms)
        self._records = self._records * kept + records
        self._active_ms = self._active_ms * kept + active_ms
        if self._active_ms > 0:
            self.per_ms = self._records / self._active_ms
        return kept


class _Channel:
    """What a task knows of one of its channels; counts are records since the beginning of the attempt."""

    __slots__ = ("allowed", "done", "sampled", "told_allowed", "told_done", "weight")

    def __init__(self) -> None:
        self.allowed = self.told_allowed = FIRST
        self.done = self.told_done = 0
        self.sampled = 0
        """How many were done when the throughput was measured last."""
        self.weight = 0.0
        """Records of late."""

    @property
    def due(self) -> bool:
        """Whether its producer is to be told how far the task is."""
        part = max(1, min(self.allowed, self.told_allowed) // _PARTS)
        return self.done - self.told_done >= part


class InputDebloater:
    """The consumer's side: decides what may be in flight in each of its channels.

    All channels together get what the task works off within the target, half of it in equal parts and half
    by what they brought of late. No channel gets less than the smallest frame.

    >>> debloater = InputDebloater(1, DebloatSettings(), frame_bytes=65536, now=0.0)
    >>> debloater.arrived(now=0.0, records=16, size=1600)
    >>> debloater.worked(0, 16)
    >>> debloater.look(now=8.0)
    [Grant(channel=0, until=48, frame_bytes=1000)]
    """

    def __init__(
        self, channels: int, settings: DebloatSettings, *, frame_bytes: int, now: float
    ) -> None:
        self._channels = [_Channel() for _ in range(channels)]
        self._settings = settings
        self._largest_frame = frame_bytes
        memory_ms = max(1.0, settings.samples * settings.period_ms / 2)
        self._throughput = Throughput(memory_ms)
        self._total = float(FIRST * channels)
        self._records = 0
        self._since = now
        self._idle_ms = 0.0
        self._idle_since: float | None = None
        self._came_records = self._came_bytes = self._came_frames = 0.0
        self._touched: set[int] = set()

    @property
    def per_ms(self) -> float:
        """Records worked off in a millisecond of work; 0 before anything was measured."""
        return self._throughput.per_ms

    @property
    def allowed(self) -> int:
        """How many records may be in flight towards the task, in all channels."""
        return int(self._total)

    @property
    def frame_bytes(self) -> int:
        """How large a frame of a channel should be that brings its equal part."""
        return self._frame_bytes(self._least(self._total / max(1, len(self._channels))))

    def time_for(self, records: int, frames: int) -> float:
        """How many milliseconds the task needs for these records, and these frames of unknown content."""
        each = self._came_records / self._came_frames if self._came_frames else 0.0
        return (records + frames * each) / self.per_ms if self.per_ms else 0.0

    def arrived(self, now: float, records: int, size: int) -> None:
        """A frame with so many records and bytes was taken in."""
        if self._idle_since is not None:
            self._idle_ms += now - self._idle_since
            self._idle_since = None
        self._came_records += records
        self._came_bytes += size
        self._came_frames += 1

    def starves(self, now: float) -> None:
        """From now on, until a frame comes, the task has no input to work on."""
        if self._idle_since is None:
            self._idle_since = now

    def worked(self, channel: int | None, records: int) -> None:
        """So many records are done; ``None`` if they were not sent in this attempt."""
        self._records += records
        if channel is not None:
            self._channels[channel].done += records
            self._touched.add(channel)

    def look(self, now: float) -> list[Grant]:
        """What producers have to be told now."""
        if self._records >= self._total or now - self._since >= self._settings.period_ms:
            self._measure(now)
        if not self._touched:
            return []
        grants = [self._grant(index) for index in self._touched if self._channels[index].due]
        self._touched.clear()
        return grants

    def release(self) -> list[Grant]:
        """The task takes no more records: nobody has to wait for it."""
        return [
            Grant(index, UNLIMITED, self._largest_frame) for index in range(len(self._channels))
        ]

    def _grant(self, index: int) -> Grant:
        channel = self._channels[index]
        channel.told_done, channel.told_allowed = channel.done, channel.allowed
        frame = self._frame_bytes(channel.allowed)
        return Grant(index, channel.done + channel.allowed, frame)

    def _measure(self, now: float) -> None:
        if self._idle_since is not None:
            self._idle_ms += now - self._idle_since
            self._idle_since = now
        active_ms = max(0.0, now - self._since - self._idle_ms)
        records, self._records = self._records, 0
        self._since, self._idle_ms = now, 0.0
        kept = self._throughput.observe(records, active_ms)
        self._came_records *= kept
        self._came_bytes *= kept
        self._came_frames *= kept
        if self.per_ms > 0 or active_ms > 0:
            wanted = self.per_ms * self._settings.target_ms
        else:
            # Done within no time at all that could be measured: more could have been in flight.
            wanted = self._total * _STEP if records else self._total
        self._total = max(self._total / _STEP, min(self._total * _STEP, wanted))
        self._total = max(1.0, min(float(_MOST), self._total))
        self._share_out(kept)

    def _share_out(self, kept: float) -> None:
        for channel in self._channels:
            channel.weight = channel.weight * kept + (channel.done - channel.sampled)
            channel.sampled = channel.done
        weights = sum(channel.weight for channel in self._channels)
        even = 1.0 / len(self._channels) if self._channels else 0.0
        for channel in self._channels:
            part = channel.weight / weights if weights > 0 else even
            channel.allowed = self._least(self._total * (even + part) / 2)

    def _least(self, allowed: float) -> int:
        return max(1, int(allowed), int(min(self._total, self.per_ms * _SMALLEST_FRAME_MS)))

    def _frame_bytes(self, allowed: int) -> int:
        """A part of what is allowed in a channel, but no less than the smallest frame."""
        if not self._came_records:
            return self._largest_frame
        records = min(allowed, self._least(allowed / _FRAMES))
        size = int(records * self._came_bytes / self._came_records)
        return max(1, min(self._largest_frame, size))


class ChannelLimits:
    """The producer's side of channels that carry the same records: up to which one it may send.

    >>> limits = ChannelLimits([3, 4])
    >>> limits.room(10)
    6
    >>> limits.granted(3, 40); limits.granted(4, 30); limits.room(10)
    20
    """

    __slots__ = ("_until",)

    def __init__(self, consumers: list[int]) -> None:
        self._until = dict.fromkeys(consumers, FIRST)

    def granted(self, consumer: int, until: int) -> None:
        """``consumer`` may have been sent so many records in all."""
        self._until[consumer] = until

    def room(self, sent: int) -> int:
        """How many records may follow on the ``sent`` ones; not above 0: none."""
        return min(self._until.values(), default=UNLIMITED) - sent
