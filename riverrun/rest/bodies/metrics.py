"""Bodies about metrics."""

from __future__ import annotations

import msgspec


class Metric(msgspec.Struct, frozen=True, omit_defaults=True):
    """A metric; without a value in answers that only list names."""

    id: str
    value: str | None = None


class AggregatedMetric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A metric over several subtasks or jobs; without figures in answers that only list names."""

    id: str
    min: float | None = None
    max: float | None = None
    avg: float | None = None
    sum: float | None = None
    skew: float | None = None
    """By how many percent the values differ from their mean, on average."""


class Metrics(msgspec.Struct, frozen=True):
    """Metrics of one scope."""

    metrics: list[Metric]


class AggregatedMetrics(msgspec.Struct, frozen=True):
    """Metrics over several scopes."""

    metrics: list[AggregatedMetric]
