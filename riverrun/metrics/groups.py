"""Metric groups: how a user function names and creates its metrics."""

from __future__ import annotations

from collections.abc import Callable

from riverrun.metrics.metric import Counter, Distribution, Gauge, Histogram, Meter
from riverrun.metrics.registry import MetricRegistry

__all__ = ["MetricGroup"]


class MetricGroup:
    """A named place for metrics, got from ``RuntimeContext.get_metrics_group()``.

    Asking twice for a metric of the same name and kind gives the same metric.
    """

    def __init__(self, registry: MetricRegistry, scope: tuple[str, ...] = ()) -> None:
        self._registry = registry
        self._scope = scope

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """A group inside this one; with ``extra`` a key-value pair of groups."""
        parts = (name,) if extra is None else (name, extra)
        return MetricGroup(self._registry, (*self._scope, *parts))

    def counter(self, name: str) -> Counter:
        """The counter called ``name``."""
        return self._registry.register(self.get_metric_identifier(name), Counter())

    def gauge(self, name: str, obj: Callable[[], float]) -> None:
        """Report what ``obj`` returns whenever metrics are read; the last registration wins."""
        self._registry.replace(self.get_metric_identifier(name), Gauge(obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """The meter called ``name``, averaging over ``time_span_in_seconds``."""
        meter = Meter(time_span_in_seconds, now_ms=self._registry.now_ms())
        return self._registry.register(self.get_metric_identifier(name), meter)

    def distribution(self, name: str) -> Distribution:
        """The distribution called ``name``."""
        return self._registry.register(self.get_metric_identifier(name), Distribution())

    def histogram(self, name: str, window: int = 1024) -> Histogram:
        """The histogram called ``name``, over its last ``window`` values."""
        return self._registry.register(self.get_metric_identifier(name), Histogram(window))

    def get_metric_identifier(self, name: str) -> str:
        """The full name of the metric ``name`` of this group."""
        return ".".join((*self._scope, name))

    def get_scope_components(self) -> tuple[str, ...]:
        """The names of the groups from the root to this one."""
        return self._scope
