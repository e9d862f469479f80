"""Event time where it is made: generators, idleness, and the splits of a source together.

No clock in here: whoever drives a ``StreamTime`` says what time it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any, Final, Protocol

from riverrun.api.watermark_generator import (
    Watermark,
    WatermarkGenerator,
    WatermarkGeneratorSupplier,
    WatermarkOutput,
)
from riverrun.api.watermark_strategy import (
    BoundedOutOfOrderness,
    CustomGenerator,
    NoWatermarks,
    WatermarkStrategy,
)
from riverrun.core.errors import ProgramError
from riverrun.metrics.groups import MetricGroup
from riverrun.protocol.elements import MAX_WATERMARK, MIN_TIMESTAMP
from riverrun.runtime.emit import Emit, TimeOutput
from riverrun.runtime.timestamps import first_and_last, whole_millis
from riverrun.runtime.valve import CombinedTime

_LATEST: Final = MAX_WATERMARK - 1
"""The last watermark before that of the end of input, which only the end may bring."""


class Generation(Protocol):
    """Makes the watermarks of one split, a run at a time."""

    def periodic(self, output: WatermarkOutput) -> None:
        """It is time to emit."""

    def reached(self) -> int:
        """How far the records seen so far take event time, emitted or not."""


class NoGeneration:
    """Of a stream without watermarks."""

    def periodic(self, output: WatermarkOutput) -> None:
        pass

    def reached(self) -> int:
        return MIN_TIMESTAMP


class BoundedGeneration:
    """Trails the greatest timestamp by a bound.

    >>> generation = BoundedGeneration(bound_ms=5)
    >>> generation.observe([10, 30, 20])
    >>> generation.reached()
    24
    """

    def __init__(self, bound_ms: int) -> None:
        self._behind = bound_ms + 1
        self._greatest = MIN_TIMESTAMP + self._behind

    def observe(self, timestamps: list[int]) -> None:
        """Learn from the timestamps of a run."""
        self._greatest = max(self._greatest, first_and_last(timestamps)[1])

    def periodic(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self._greatest - self._behind)

    def reached(self) -> int:
        return self._greatest - self._behind


class CustomGeneration:
    """The program's own generator, called per record."""

    def __init__(self, generator: WatermarkGenerator) -> None:
        self.on_event = generator.on_event
        self._generator = generator

    def periodic(self, output: WatermarkOutput) -> None:
        self._generator.on_periodic_emit(output)

    def reached(self) -> int:
        return MIN_TIMESTAMP


class IdleTimer:
    """Notices that nothing happened for a while.

    The while begins at a check, not at the last record: a task that was busy with other things for long
    has had no chance to see a record.

    >>> timer = IdleTimer(100)
    >>> timer.check(1000.0), timer.check(1099.0), timer.check(1100.0)
    (False, False, True)
    """

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._since: float | None = None

    def activity(self) -> None:
        """Something happened."""
        self._since = None

    def stand_still(self, ms: float) -> None:
        """This much time does not count."""
        if self._since is not None:
            self._since += ms

    def check(self, now: float) -> bool:
        """Whether nothing happened for the timeout."""
        if self._since is None:
            self._since = now
        return now - self._since >= self._timeout_ms


class SplitTime(WatermarkOutput):
    """One split's generator, watermark and status; what a generator writes to."""

    def __init__(
        self, name: str | None, generation: Generation, combined: CombinedTime, timeout: int | None
    ) -> None:
        self.name = name
        self.generation = generation
        self.paused = False
        """Whether alignment keeps it from being read."""
        self.changed = False
        """Whether there is something to settle."""
        self._combined = combined
        self._part = combined.add()
        self._watermark = MIN_TIMESTAMP
        self._idle = False
        self._timer = None if timeout is None else IdleTimer(timeout)

    @property
    def reached(self) -> int:
        """How far the split is in event time, emitted or not."""
        return max(self._watermark, self.generation.reached())

    @property
    def idle(self) -> bool:
        """Whether it is left out."""
        return self._idle

    def emit_watermark(self, watermark: Watermark | int) -> None:
        if type(watermark) is not int or watermark > MAX_WATERMARK:
            watermark = _watermark_of(watermark)
        if self._idle:
            self.mark_active()
        if watermark > self._watermark:
            self._watermark = min(watermark, _LATEST)
            self._combined.rise(self._part, self._watermark)
            self.changed = True

    def mark_idle(self) -> None:
        if not self._idle:
            self._idle = self.changed = True
            self._combined.set_idle(self._part, idle=True)

    def mark_active(self) -> None:
        if self._idle:
            self._idle, self.changed = False, True
            self._combined.set_idle(self._part, idle=False)

    def records_came(self) -> None:
        """The split has records: it is not idle, whatever it was."""
        if self._timer is not None:
            self._timer.activity()
        if self._idle:
            self.mark_active()

    def stand_still(self, ms: float) -> None:
        """This much time does not count for idleness."""
        if self._timer is not None:
            self._timer.stand_still(ms)

    def periodic(self, now: float) -> None:
        """Emit, unless nothing happened for too long."""
        timer = self._timer
        if timer is not None:
            if self.paused:
                timer.activity()
            elif timer.check(now):
                self.mark_idle()
                return
        self.generation.periodic(self)

    def remove(self) -> None:
        """The split has ended."""
        self._combined.remove(self._part)


class StreamTime:
    """Watermarks and status of one stream in one subtask: one generator for each split.

    Args:
        strategy: how watermarks are made.
        output: where they go.
        interval_ms: how often they are made periodically; 0: never, and no split falls idle by itself.
        metrics: given to the program's generators.
        now: monotonic milliseconds.
    """

    def __init__(
        self,
        strategy: WatermarkStrategy,
        output: TimeOutput,
        interval_ms: int,
        metrics: MetricGroup,
        now: float,
    ) -> None:
        self._strategy = strategy
        self._output = output
        self._metrics = metrics
        self._combined = CombinedTime()
        self._splits: dict[str | None, SplitTime] = {}
        quiet = isinstance(strategy.generation, NoWatermarks) and strategy.idle_timeout_ms is None
        self._interval = 0 if quiet else interval_ms
        self._due = now + interval_ms
        self._held = False

    @property
    def current(self) -> int:
        """The watermark that was emitted last."""
        return self._combined.current

    @property
    def idle(self) -> bool:
        """Whether the stream does not count."""
        return self._combined.idle

    @property
    def splits(self) -> Iterable[SplitTime]:
        """The splits that are known and have not ended."""
        return self._splits.values()

    def split(self, name: str | None) -> SplitTime:
        """The split called ``name``, which holds event time back from now on if it is new."""
        split = self._splits.get(name)
        if split is None:
            split = self._splits[name] = SplitTime(
                name, self._generation(), self._combined, self._strategy.idle_timeout_ms
            )
        return split

    def is_paused(self, name: str | None) -> bool:
        """Whether alignment keeps the split called ``name`` from being read."""
        split = self._splits.get(name)
        return split is not None and split.paused

    def end_splits(self, names: Iterable[str | None]) -> None:
        """These splits hold nothing back any more."""
        ended = [self._splits.pop(name) for name in names if name in self._splits]
        for split in ended:
            split.remove()
        if ended:
            self._settle()

    def take(
        self, name: str | None, values: list[Any], timestamps: list[int] | None, emit: Emit
    ) -> None:
        """Emit a run of the split called ``name``, and what event time makes of it."""
        split = self._splits.get(name)
        if split is None:
            split = self.split(name)
        split.records_came()
        if split.changed:
            self._settle_of(split)
        generation = split.generation
        if isinstance(generation, CustomGeneration):
            self._take_each(split, generation, values, timestamps, emit)
            return
        emit(values, timestamps)
        if timestamps is not None and isinstance(generation, BoundedGeneration):
            generation.observe(timestamps)

    def due_at(self) -> float | None:
        """When ``periodic`` is due, in monotonic milliseconds; ``None``: never."""
        return self._due if self._interval > 0 else None

    def periodic(self, now: float) -> None:
        """Emit the watermark and the status that all splits together have."""
        self._due = now + self._interval
        for split in self._splits.values():
            split.periodic(now)
            split.changed = False
        self._settle()

    def rest(self) -> None:
        """Nothing more comes, although the stream has not ended: nobody shall wait for it."""
        self.end_splits(list(self._splits))
        resting = self._splits[None] = SplitTime(None, NoGeneration(), self._combined, None)
        resting.mark_idle()
        self._settle_of(resting)

    def hold(self) -> None:
        """Emit neither watermarks nor statuses until ``release``."""
        self._held = True

    def release(self) -> None:
        """Emit what was held back, and what comes from now on."""
        self._held = False
        self._settle()

    def stand_still(self, ms: float) -> None:
        """The stream could not be read for this long: that makes nothing idle."""
        for split in self._splits.values():
            split.stand_still(ms)

    def _take_each(
        self,
        split: SplitTime,
        generation: CustomGeneration,
        values: list[Any],
        timestamps: list[int] | None,
        emit: Emit,
    ) -> None:
        on_event = generation.on_event
        times: Iterable[int] = repeat(MIN_TIMESTAMP) if timestamps is None else timestamps
        start = 0
        for at, (value, time) in enumerate(zip(values, times, strict=False), start=1):
            on_event(value, time, split)
            if split.changed:
                # The records up to this one go before the watermark that it brought.
                emit(values[start:at], None if timestamps is None else timestamps[start:at])
                start = at
                self._settle_of(split)
        if start == 0:
            emit(values, timestamps)
        elif start < len(values):
            emit(values[start:], None if timestamps is None else timestamps[start:])

    def _settle_of(self, split: SplitTime) -> None:
        split.changed = False
        self._settle()

    def _settle(self) -> None:
        if self._held:
            return
        progress = self._combined.settle()
        if progress.idle is False:
            self._output.status(idle=False)
        if progress.watermark is not None:
            self._output.watermark(progress.watermark)
        if progress.idle:
            self._output.status(idle=True)

    def _generation(self) -> Generation:
        match self._strategy.generation:
            case NoWatermarks():
                return NoGeneration()
            case BoundedOutOfOrderness(bound_ms):
                return BoundedGeneration(bound_ms)
            case CustomGenerator(supplier):
                return CustomGeneration(_generator_of(supplier, self._metrics))


class _SupplierContext(WatermarkGeneratorSupplier.Context):
    def __init__(self, metrics: MetricGroup) -> None:
        self._metrics = metrics

    def get_metric_group(self) -> MetricGroup:
        return self._metrics


def _generator_of(supplier: Any, metrics: MetricGroup) -> WatermarkGenerator:
    if isinstance(supplier, WatermarkGeneratorSupplier):
        made: Any = supplier.create_watermark_generator(_SupplierContext(metrics))
    else:
        made = supplier()
    if not isinstance(made, WatermarkGenerator):
        raise ProgramError(
            f"watermark strategy: the generator supplier {supplier!r} made {made!r}; expected a "
            f"WatermarkGenerator"
        )
    return made


def _watermark_of(watermark: Any) -> int:
    time = watermark.timestamp if isinstance(watermark, Watermark) else watermark
    try:
        return whole_millis(time)
    except ProgramError as error:
        raise ProgramError(
            f"watermark generator: emitted {error} as a watermark; emit milliseconds since the Unix "
            f"epoch as an int, or a Watermark of that"
        ) from None
