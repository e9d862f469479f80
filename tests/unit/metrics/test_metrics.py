"""Metrics: groups that name them, registries that read them."""

from __future__ import annotations

import logging
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.core.clock import ManualClock
from riverrun.core.errors import ProgramError
from riverrun.metrics.groups import MetricGroup
from riverrun.metrics.metric import Histogram
from riverrun.metrics.registry import MetricRegistry, TaskMetrics


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def registry(clock: ManualClock) -> MetricRegistry:
    return MetricRegistry(clock)


@pytest.fixture
def group(registry: MetricRegistry) -> MetricGroup:
    return MetricGroup(registry)


def test_a_counter_counts(registry: MetricRegistry, group: MetricGroup) -> None:
    counter = group.counter("seen")
    counter.inc()
    counter.inc(4)
    counter.dec(2)

    assert counter.get_count() == 3
    assert registry.snapshot() == {"seen": 3}


def test_groups_are_part_of_the_name(registry: MetricRegistry, group: MetricGroup) -> None:
    inner = group.add_group("orders").add_group("region", "eu")
    inner.counter("late").inc()

    assert registry.snapshot() == {"orders.region.eu.late": 1}
    assert inner.get_scope_components() == ("orders", "region", "eu")
    assert inner.get_metric_identifier("late") == "orders.region.eu.late"


def test_the_same_name_and_kind_is_the_same_metric(group: MetricGroup) -> None:
    assert group.counter("x") is group.counter("x")
    with pytest.raises(ProgramError, match="'x': is a Counter already"):
        group.meter("x")


def test_a_gauge_is_asked_when_metrics_are_read(
    registry: MetricRegistry, group: MetricGroup
) -> None:
    values = [1, 2]
    group.gauge("size", lambda: len(values))
    values.append(3)

    assert registry.snapshot() == {"size": 3.0}


def test_a_failing_gauge_reads_as_nan_and_is_told_once(
    registry: MetricRegistry, group: MetricGroup, caplog: pytest.LogCaptureFixture
) -> None:
    group.gauge("broken", lambda: 1 / 0)

    with caplog.at_level(logging.WARNING):
        first, second = registry.snapshot(), registry.snapshot()

    assert math.isnan(first["broken"])
    assert math.isnan(second["broken"])
    assert len(caplog.records) == 1


def test_a_meter_gives_events_a_second_over_its_span(
    clock: ManualClock, registry: MetricRegistry, group: MetricGroup
) -> None:
    meter = group.meter("rate", time_span_in_seconds=10)
    meter.mark_event(100)
    clock.advance(1_000)
    assert registry.snapshot() == {"rate": 100.0, "rate.count": 100}

    for _ in range(10):
        clock.advance(1_000)
        assert meter.get_count() == 100
        last = registry.snapshot()["rate"]

    assert last == 0.0


def test_a_meter_needs_a_span() -> None:
    with pytest.raises(ValueError, match="expected a positive number"):
        MetricGroup(MetricRegistry()).meter("x", 0)


def test_a_distribution_gives_its_bounds_and_mean(
    registry: MetricRegistry, group: MetricGroup
) -> None:
    distribution = group.distribution("size")
    assert registry.snapshot() == {"size.count": 0}
    for value in (4, 2, 6):
        distribution.update(value)

    assert registry.snapshot() == {
        "size.count": 3,
        "size.sum": 12,
        "size.min": 2,
        "size.max": 6,
        "size.mean": 4,
    }


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1))
def test_quantiles_are_values_in_order(values: list[float]) -> None:
    histogram = Histogram(window=1000)
    for value in values:
        histogram.update(value)

    read = histogram.read(0)

    assert read["min"] <= read["p50"] <= read["p95"] <= read["p99"] <= read["max"]
    assert {read["p50"], read["p99"]} <= set(values)
    assert read["count"] == histogram.get_count() == len(values)


def test_a_histogram_forgets_what_left_its_window(group: MetricGroup) -> None:
    histogram = group.histogram("latency", window=2)
    for value in (100.0, 1.0, 2.0):
        histogram.update(value)

    assert histogram.read(0)["max"] == 2.0


def test_a_task_has_a_scope_for_itself_and_for_each_operator(clock: ManualClock) -> None:
    metrics = TaskMetrics(clock)
    MetricGroup(metrics.task).counter("numRecordsIn").inc(5)
    MetricGroup(metrics.operator("Map")).counter("numRecordsIn").inc(3)

    assert metrics.operator("Map") is metrics.operator("Map")
    assert metrics.snapshot() == {"": {"numRecordsIn": 5}, "Map": {"numRecordsIn": 3}}
