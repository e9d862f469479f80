"""Event time where streams meet: the minimum over channels, inputs or splits, without scanning them.

``WatermarkValve`` is for the channels of one input, ``CombinedTime`` for the splits of a source and for
the inputs of an operator that has several. They differ in what becomes of a member that was idle and
is active again, but behind: the valve leaves it out until it has caught up, the other one waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final, NamedTuple

from riverrun.protocol.elements import MIN_TIMESTAMP


class Progress(NamedTuple):
    """What changed downstream of where times meet; ``None``: nothing.

    An end of idleness goes before the watermark, a beginning after it: a watermark of something idle
    would be ignored.
    """

    watermark: int | None = None
    idle: bool | None = None


NO_PROGRESS: Final = Progress()


class RisingMinimum:
    """The least of numbers that only rise. A change costs O(log n) at most, amortised.

    Each member is in the heap once, under a number that it had: since it only rises, that is never
    more than the one it has now, and is brought up to date when it gets to the top.

    >>> least = RisingMinimum()
    >>> least.put(0, 5); least.put(1, 7); least.put(0, 9)
    >>> least.lowest()
    7
    >>> least.leave_out(1)
    >>> least.lowest()
    9
    """

    def __init__(self, members: Sequence[tuple[int, int]] = ()) -> None:
        self._values = {member: value for value, member in members}
        self._heap = list(members)
        heapify(self._heap)
        self._queued = set(self._values)

    def __contains__(self, member: int) -> bool:
        return member in self._values

    def put(self, member: int, value: int) -> None:
        """``member`` counts with ``value``, which is not less than any it had before."""
        self._values[member] = value
        if member not in self._queued:
            self._queued.add(member)
            heappush(self._heap, (value, member))

    def leave_out(self, member: int) -> None:
        """``member`` does not count."""
        self._values.pop(member, None)

    def lowest(self) -> int | None:
        """The least number of a member that counts; ``None``: none does."""
        heap, values = self._heap, self._values
        while heap:
            queued, member = heap[0]
            value = values.get(member)
            if value is None:
                heappop(heap)
                self._queued.discard(member)
            elif value > queued:
                heapreplace(heap, (value, member))
            else:
                return value
        return None


class WatermarkValve:
    """The minimum over active channels, as Flink takes it; never goes back.

    A channel that fell idle is left out; when it is active again it counts once its watermark has
    caught up with what came out of the valve. When all are idle the greatest watermark comes out, and
    then the status. A channel that ended is left out for good (its end says more than a watermark:
    the task learns of it elsewhere).

    >>> valve = WatermarkValve(2)
    >>> valve.watermark(0, 10).watermark, valve.watermark(1, 7).watermark, valve.watermark(1, 12).watermark
    (None, 7, 10)
    >>> valve.status(0, idle=True)
    Progress(watermark=12, idle=None)
    >>> valve.status(1, idle=True)
    Progress(watermark=None, idle=True)
    """

    def __init__(self, channels: int) -> None:
        self._times = [MIN_TIMESTAMP] * channels
        self._idle = [False] * channels
        self._ended = [False] * channels
        self._counted = RisingMinimum([(MIN_TIMESTAMP, channel) for channel in range(channels)])
        self._open = channels
        self._active = channels
        self._greatest = MIN_TIMESTAMP
        self.current = MIN_TIMESTAMP
        """The watermark that came out last."""
        self.idle = False
        """Whether every channel that has not ended is idle."""

    def time(self) -> int:
        """The watermark that came out last."""
        return self.current

    def watermark(self, channel: int, time: int) -> Progress:
        """``channel`` reached ``time``."""
        if time <= self._times[channel] or self._idle[channel] or self._ended[channel]:
            return NO_PROGRESS
        self._times[channel] = time
        self._greatest = max(self._greatest, time)
        if time >= self.current or channel in self._counted:
            self._counted.put(channel, time)
            return self._rise()
        return NO_PROGRESS

    def status(self, channel: int, *, idle: bool) -> Progress:
        """``channel`` fell idle, or is active again."""
        if self._idle[channel] is idle or self._ended[channel]:
            return NO_PROGRESS
        self._idle[channel] = idle
        if idle:
            self._active -= 1
            return self._leave_out(channel)
        self._active += 1
        if self._times[channel] >= self.current:
            self._counted.put(channel, self._times[channel])
        if not self.idle:
            return NO_PROGRESS
        self.idle = False
        return Progress(idle=False)

    def ended(self, channel: int) -> Progress:
        """No more records come from ``channel``."""
        if self._ended[channel]:
            return NO_PROGRESS
        self._ended[channel] = True
        self._open -= 1
        if not self._idle[channel]:
            self._active -= 1
        return self._leave_out(channel) if self._open else NO_PROGRESS

    def _leave_out(self, channel: int) -> Progress:
        self._counted.leave_out(channel)
        if self._active:
            return self._rise()
        if self.idle:
            return NO_PROGRESS
        self.idle = True
        flushed = None
        if self._times[channel] == self.current < self._greatest:
            # Nothing holds the others back any more: what they reached counts.
            flushed = self.current = self._greatest
        return Progress(flushed, idle=True)

    def _rise(self) -> Progress:
        lowest = self._counted.lowest()
        if lowest is None or lowest <= self.current:
            return NO_PROGRESS
        self.current = lowest
        return Progress(lowest)


class CombinedTime:
    """The minimum over active parts, which may come and go; never goes back.

    Changes are gathered until ``settle`` says what came of them.

    >>> time = CombinedTime()
    >>> one, two = time.add(), time.add()
    >>> time.rise(one, 10); time.rise(two, 7)
    >>> time.settle()
    Progress(watermark=7, idle=None)
    >>> time.set_idle(two, idle=True)
    >>> time.settle()
    Progress(watermark=10, idle=None)
    """

    def __init__(self) -> None:
        self._times: dict[int, int] = {}
        self._active = RisingMinimum()
        self._idle: set[int] = set()
        self._made = 0
        self.current = MIN_TIMESTAMP
        self.idle = False
        """Whether there are parts and all of them are idle."""

    def add(self) -> int:
        """A new part, active and without a watermark."""
        part, self._made = self._made, self._made + 1
        self._times[part] = MIN_TIMESTAMP
        self._active.put(part, MIN_TIMESTAMP)
        return part

    def remove(self, part: int) -> None:
        """``part`` holds nothing back any more."""
        del self._times[part]
        self._active.leave_out(part)
        self._idle.discard(part)

    def rise(self, part: int, time: int) -> None:
        """``part`` reached ``time``; one that is not beyond the last is ignored."""
        if time > self._times[part]:
            self._times[part] = time
            if part not in self._idle:
                self._active.put(part, time)

    def set_idle(self, part: int, *, idle: bool) -> None:
        """``part`` fell idle, or is active again from the watermark that it had."""
        if idle:
            self._idle.add(part)
            self._active.leave_out(part)
        else:
            self._idle.discard(part)
            self._active.put(part, self._times[part])

    def settle(self) -> Progress:
        """What came of the changes since the last call."""
        idle = bool(self._times) and len(self._idle) == len(self._times)
        change = None if idle is self.idle else idle
        self.idle = idle
        lowest = self._active.lowest()
        if lowest is None or lowest <= self.current:
            return NO_PROGRESS if change is None else Progress(idle=change)
        self.current = lowest
        return Progress(lowest, change)


class InputTime:
    """Event time of all inputs of a task: a valve for each input, and the minimum of those.

    Args:
        inputs: for each channel, the number of the input that it belongs to.
    """

    def __init__(self, inputs: Sequence[int]) -> None:
        counts: dict[int, int] = {}
        self._places: list[tuple[int, int]] = []
        for number in inputs:
            self._places.append((number, counts.get(number, 0)))
            counts[number] = counts.get(number, 0) + 1
        self._valves = {number: WatermarkValve(count) for number, count in counts.items()}
        self._open = dict(counts)
        self._combined = CombinedTime() if len(counts) > 1 else None
        self._parts = {} if self._combined is None else {n: self._combined.add() for n in counts}

    @property
    def current(self) -> int:
        """The watermark that all inputs together have reached."""
        if self._combined is not None:
            return self._combined.current
        return next((valve.current for valve in self._valves.values()), MIN_TIMESTAMP)

    @property
    def inputs(self) -> dict[int, WatermarkValve]:
        """The valve of each input, by its number."""
        return self._valves

    def watermark(self, channel: int, time: int) -> Progress:
        """``channel`` reached ``time``."""
        number, place = self._places[channel]
        return self._together(number, self._valves[number].watermark(place, time))

    def status(self, channel: int, *, idle: bool) -> Progress:
        """``channel`` fell idle, or is active again."""
        number, place = self._places[channel]
        return self._together(number, self._valves[number].status(place, idle=idle))

    def ended(self, channel: int) -> Progress:
        """No more records come from ``channel``."""
        number, place = self._places[channel]
        progress = self._valves[number].ended(place)
        self._open[number] -= 1
        if self._combined is not None and not self._open[number]:
            self._combined.remove(self._parts[number])
            return self._combined.settle()
        return self._together(number, progress)

    def _together(self, number: int, progress: Progress) -> Progress:
        combined = self._combined
        if combined is None or progress is NO_PROGRESS:
            return progress
        part = self._parts[number]
        if progress.watermark is not None:
            combined.rise(part, progress.watermark)
        if progress.idle is not None:
            combined.set_idle(part, idle=progress.idle)
        return combined.settle()
