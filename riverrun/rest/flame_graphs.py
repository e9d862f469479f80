"""Flame graphs of vertices: made when somebody asks, by the tasks themselves, and kept for a moment."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from riverrun.core import metric_options
from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import RiverrunError
from riverrun.protocol.inquiries import Answer, Sample, StackCounts
from riverrun.rest.bodies.diagnosis import FlameGraph, FlameNode

TERMINATED: Final = -1
DISABLED: Final = -2
WAITING: Final = -3
_REMEMBERED: Final = 100
_PATIENCE_MS: Final = 30_000
"""After how long a task that does not answer is given up, beside the time that it samples for."""


class FlameType(Enum):
    """Which samples count."""

    FULL = "FULL"
    ON_CPU = "ON_CPU"
    OFF_CPU = "OFF_CPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlameSettings:
    """How flame graphs are made."""

    enabled: bool = True
    sample: Sample = field(default_factory=lambda: Sample(200, 10, 100))
    kept_ms: int = 60_000

    @staticmethod
    def of(config: Mapping[str, str]) -> FlameSettings:
        """What the settings say."""
        return FlameSettings(
            enabled=metric_options.FLAMEGRAPH_ENABLED.get(config),
            sample=Sample(
                metric_options.FLAMEGRAPH_SAMPLES.get(config),
                metric_options.FLAMEGRAPH_DELAY.get(config).to_millis(),
                metric_options.FLAMEGRAPH_DEPTH.get(config),
            ),
            kept_ms=metric_options.FLAMEGRAPH_REFRESH.get(config).to_millis(),
        )


@dataclass(slots=True)
class _Entry:
    pending: Sequence[Future[Answer]] = ()
    asked_at: float = 0.0
    counts: StackCounts | None = None
    made_at: int = WAITING
    made: float = 0.0


class FlameGraphs:
    """The flame graphs that were asked for lately; methods may be called from any thread.

    Args:
        settings: how they are made.
        clock: for their age.
    """

    def __init__(self, settings: FlameSettings | None = None, clock: Clock | None = None) -> None:
        self.settings = settings or FlameSettings()
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._entries: dict[tuple[str, ...], _Entry] = {}

    def get(
        self,
        key: tuple[str, ...],
        kind: FlameType,
        ask: Callable[[Sample], Sequence[Future[Answer]]],
        since: int = 0,
    ) -> FlameGraph:
        """The latest flame graph of ``key``; another is begun if it is too old, or if there is none.

        ``ask`` lets the tasks of ``key`` sample themselves; none: there is nothing to look at.
        One that was made before ``since``, in milliseconds since the epoch, is too old as well.
        """
        if not self.settings.enabled:
            return FlameGraph(DISABLED)
        with self._lock:
            entry = self._entries.pop(key, None) or _Entry()
            self._entries[key] = entry  # the one that was asked for last is the last
            while len(self._entries) > _REMEMBERED:
                del self._entries[next(iter(self._entries))]
            self._collect(entry)
            if not entry.pending and self._is_old(entry, since):
                entry.pending = tuple(ask(self.settings.sample))
                entry.asked_at = self._clock.monotonic()
            if entry.counts is None or entry.made_at < since:
                return FlameGraph(WAITING if entry.pending else TERMINATED)
            return FlameGraph(entry.made_at, tree_of(entry.counts, kind))

    def _is_old(self, entry: _Entry, since: int) -> bool:
        if entry.counts is None or entry.made_at < since:
            return True
        return self._clock.monotonic() - entry.made >= self.settings.kept_ms

    def _collect(self, entry: _Entry) -> None:
        if not entry.pending:
            return
        wish = self.settings.sample
        limit = entry.asked_at + wish.samples * wish.delay_ms + _PATIENCE_MS
        if not all(each.done() for each in entry.pending) and self._clock.monotonic() < limit:
            return
        found = [counts for each in entry.pending if (counts := _answer_of(each)) is not None]
        entry.pending = ()
        if found:
            entry.counts = _added(found)
            entry.made_at, entry.made = self._clock.now(), self._clock.monotonic()


def _answer_of(asked: Future[Answer]) -> StackCounts | None:
    """What a task said; ``None`` from one that ended meanwhile: the others say enough."""
    if not asked.done():
        asked.cancel()
        return None
    try:
        answer = asked.result()
    except RiverrunError:
        return None
    return answer if isinstance(answer, StackCounts) else None


def tree_of(counts: StackCounts, kind: FlameType) -> FlameNode:
    """The stacks as a tree of calls."""
    stacks: Counter[str] = Counter()
    if kind is not FlameType.OFF_CPU:
        stacks.update(counts.on_cpu)
    if kind is not FlameType.ON_CPU:
        stacks.update(counts.off_cpu)
    root = _Call()
    for stack, times in stacks.items():
        root.times += times
        call = root
        for name in stack.split("\n"):
            call = call.calls.setdefault(name, _Call())
            call.times += times
    return root.node("root")


@dataclass(slots=True)
class _Call:
    times: int = 0
    calls: dict[str, _Call] = field(default_factory=dict)

    def node(self, name: str) -> FlameNode:
        children = [call.node(called) for called, call in sorted(self.calls.items())]
        return FlameNode(name, self.times, children)


def _added(found: Sequence[StackCounts]) -> StackCounts:
    on_cpu: Counter[str] = Counter()
    off_cpu: Counter[str] = Counter()
    for counts in found:
        on_cpu.update(counts.on_cpu)
        off_cpu.update(counts.off_cpu)
    return StackCounts(dict(on_cpu), dict(off_cpu))
