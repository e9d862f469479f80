"""Where a task keeps its metrics: one registry for the subtask, one for each operator in it."""

from __future__ import annotations

from typing import TypeVar

from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import ProgramError
from riverrun.metrics.metric import Metric

M = TypeVar("M", bound=Metric)


class MetricRegistry:
    """Named metrics of one scope (a subtask, or an operator in it)."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock if clock is not None else SystemClock()
        self._metrics: dict[str, Metric] = {}

    def now_ms(self) -> float:
        """The monotonic time by which rates are worked out."""
        return self._clock.monotonic()

    def register(self, name: str, metric: M) -> M:
        """Keep ``metric`` under ``name``; the one that is there already wins when it is of the same kind."""
        present = self._metrics.setdefault(name, metric)
        if type(present) is not type(metric):
            raise ProgramError(
                f"metric {name!r}: is a {type(present).__name__} already and was asked for as "
                f"a {type(metric).__name__}; give one of the two another name"
            )
        return present

    def replace(self, name: str, metric: Metric) -> None:
        """Keep ``metric`` under ``name`` instead of what was there."""
        self._metrics[name] = metric

    def snapshot(self) -> dict[str, float]:
        """Every value now, by metric name; a metric of several values gives ``name.part`` each."""
        now = self.now_ms()
        return {
            f"{name}.{part}" if part else name: value
            for name, metric in list(self._metrics.items())
            for part, value in metric.read(now).items()
        }


class TaskMetrics:
    """The registries of one subtask: its own, and one for each operator of its chain."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self.task = MetricRegistry(clock)
        self._operators: dict[str, MetricRegistry] = {}

    def operator(self, name: str) -> MetricRegistry:
        """The registry of the operator called ``name``, made when first asked for."""
        if name not in self._operators:
            self._operators[name] = MetricRegistry(self._clock)
        return self._operators[name]

    def snapshot(self) -> dict[str, dict[str, float]]:
        """Every value now: the empty name holds the subtask's own, others are operator names."""
        return {
            "": self.task.snapshot(),
            **{name: registry.snapshot() for name, registry in self._operators.items()},
        }
