"""When an adaptive job starts and when it changes: pure functions of slots, bounds and time.

    waiting     enough for the upper bounds: start at once
                enough for the lower bounds: start when that has been so for the stabilization timeout
                too few: wait, with a word, and give up at the wait timeout
    running     more fits than runs, or the bounds forbid what runs: change it when the slots have been
                there for the stabilization timeout (or are all that could be used) and the cooldown since
                the last change is over

A job that lost an executor fails and is started again, so it seeks room anew: nothing else is needed to
go on with fewer slots.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from riverrun.cluster.resources.fitting import Fit, Fitting
from riverrun.cluster.resources.requirements import SchedulerMode
from riverrun.cluster.resources.seeking import Refuse, Room, Take, Verdict, Wait
from riverrun.core import options
from riverrun.core.ids import VertexId
from riverrun.core.time import Duration

_WAIT: Final = Duration.of_minutes(5)
_SETTLING: Final = Duration.of_seconds(10)


@dataclass(frozen=True, slots=True)
class AdaptiveTiming:
    """Durations in milliseconds; ``None`` is for ever."""

    wait_ms: float | None = None
    settling_ms: float = 0
    cooldown_ms: float = 30_000
    patience_ms: float = 60_000
    min_increase: int = 1

    @staticmethod
    def from_config(config: Mapping[str, str], mode: SchedulerMode) -> AdaptiveTiming:
        """What a job's configuration says."""
        reactive = mode is SchedulerMode.REACTIVE
        wait = options.ADAPTIVE_WAIT.get(config) or (None if reactive else _WAIT)
        settling = options.ADAPTIVE_SETTLING.get(config)
        if settling is None:
            settling = Duration.of_millis(0) if reactive else _SETTLING
        return AdaptiveTiming(
            wait_ms=None if wait is None else wait.to_millis(),
            settling_ms=settling.to_millis(),
            cooldown_ms=options.ADAPTIVE_COOLDOWN.get(config).to_millis(),
            patience_ms=options.ADAPTIVE_PATIENCE.get(config).to_millis(),
            min_increase=options.ADAPTIVE_MIN_INCREASE.get(config),
        )


class AdaptiveNeed:
    """Seeks room for an adaptive job that does not run; satisfies ``Seeker``."""

    def __init__(self, fitting: Fitting, timing: AdaptiveTiming, began: float) -> None:
        self._fitting = fitting
        self._timing = timing
        self._deadline = None if timing.wait_ms is None else began + timing.wait_ms
        self._enough_since: float | None = None

    @property
    def minimum(self) -> int:
        return self._fitting.smallest.slots

    def consider(self, room: Room, now: float) -> Verdict:
        fit = self._fitting.largest(_fair_share(room, self.minimum))
        if fit is None:
            self._enough_since = None
            if self._deadline is not None and now >= self._deadline:
                return Refuse(room.too_few(self.minimum))
            return Wait(self._deadline, room.words(self.minimum))
        if self._enough_since is None:
            self._enough_since = now
        stable_at = self._enough_since + self._timing.settling_ms
        due = stable_at if self._deadline is None else min(stable_at, self._deadline)
        if now >= due or self._fitting.is_full(fit):
            return Take(fit.slots)
        return Wait(
            due, f"{room.free} slots are there for {fit.slots} subtasks, waiting whether more come"
        )


@dataclass(frozen=True, slots=True)
class Stay:
    """Nothing to change; look again when something changed, and at ``until`` at the latest."""

    until: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Run the job with these parallelisms."""

    to: Fit


Course: TypeAlias = Stay | Change


class Following:
    """What a running adaptive job does about slots that come, and about bounds that change."""

    def __init__(self, timing: AdaptiveTiming, began: float) -> None:
        self._timing = timing
        self._changed_at = began
        self._wanted_since: float | None = None

    def changed(self, now: float) -> None:
        """The job runs, again or for the first time: the cooldown begins."""
        self._changed_at = now
        self._wanted_since = None

    def hurry(self) -> None:
        """Somebody changed the bounds and waits for what follows: not now a cooldown."""
        self._changed_at = self._wanted_since = -math.inf

    def consider(
        self, fitting: Fitting, room: Room, current: Mapping[VertexId, int], now: float
    ) -> Course:
        """What to do at ``now``, with ``room`` as the running job sees it (its own slots are free to it)."""
        fit = self._better(fitting, room, current)
        if fit is None:
            self._wanted_since = None
            return Stay()
        if self._wanted_since is None:
            self._wanted_since = now
        due = self._changed_at + self._timing.cooldown_ms
        if not fitting.is_full(fit) and fitting.holds(current):
            due = max(due, self._wanted_since + self._timing.patience_ms)
        return Change(fit) if now >= due else Stay(due)

    def _better(self, fitting: Fitting, room: Room, current: Mapping[VertexId, int]) -> Fit | None:
        fit = fitting.largest(_fair_share(room, fitting.smallest.slots))
        if fit is None or fit.parallelism == current:
            return None
        if not fitting.holds(current):
            return fit
        # What runs is within its bounds, so only more is worth a restart: fewer slots make themselves felt.
        grown = fit.sum - sum(current.values())
        return fit if grown >= max(1, self._timing.min_increase) else None


def _fair_share(room: Room, minimum: int) -> int:
    """What a job may take that can do with ``minimum``: others who wait shall find room too."""
    return min(room.free, max(minimum, room.free - room.wanted_by_others))
