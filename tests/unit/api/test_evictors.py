"""Evictors: which records of a window stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.delta import DeltaFunction
from riverrun.api.evictor import Evictor, TimestampedValue
from riverrun.api.evictors import CountEvictor, DeltaEvictor, TimeEvictor
from riverrun.api.windows import GlobalWindow
from riverrun.core.time import Time


class Distance(DeltaFunction[int]):
    def get_delta(self, old_data_point: int, new_data_point: int) -> float:
        return abs(new_data_point - old_data_point)


def left(evictor: Evictor[Any, Any], records: list[tuple[Any, int | None]]) -> tuple[Any, Any]:
    """What is left of ``records`` before the window function, and after it."""
    elements = [TimestampedValue(value, time) for value, time in records]
    ctx: Any = None
    evictor.evict_before(elements, len(elements), GlobalWindow.get(), ctx)
    before = [element.get_value() for element in elements]
    evictor.evict_after(elements, len(elements), GlobalWindow.get(), ctx)
    return before, [element.get_value() for element in elements]


def untimed(*values: Any) -> list[tuple[Any, int | None]]:
    return [(value, None) for value in values]


def test_count_keeps_the_last_records() -> None:
    assert left(CountEvictor.of(2), untimed(1, 2, 3, 4)) == ([3, 4], [3, 4])
    assert left(CountEvictor.of(5), untimed(1, 2)) == ([1, 2], [1, 2])


def test_an_evictor_may_act_after_the_window_function_only() -> None:
    assert left(CountEvictor.of(1, do_evict_after=True), untimed(1, 2, 3)) == ([1, 2, 3], [3])
    assert left(CountEvictor.of(1, True), untimed(1, 2, 3)) == ([1, 2, 3], [3])


def test_time_keeps_what_is_less_than_its_length_before_the_latest_record() -> None:
    records: list[tuple[Any, int | None]] = [("a", 0), ("b", 50), ("c", 51), ("d", 100), ("e", 90)]

    assert left(TimeEvictor.of(Time.milliseconds(50)), records)[0] == ["c", "d", "e"]


def test_time_keeps_records_without_timestamps() -> None:
    assert left(TimeEvictor.of(50), untimed("a", "b"))[0] == ["a", "b"]


@pytest.mark.parametrize("delta", [Distance(), lambda old, new: abs(new - old)])
def test_delta_keeps_what_is_nearer_than_the_threshold_to_the_last_record(delta: Any) -> None:
    assert left(DeltaEvictor.of(10, delta), untimed(5, 10, 11, 40, 20))[0] == [11, 20]


@pytest.mark.parametrize("evictor", [CountEvictor(1), TimeEvictor(1), DeltaEvictor(1, Distance())])
def test_an_empty_window_stays_empty(evictor: Evictor[Any, Any]) -> None:
    assert left(evictor, []) == ([], [])


@given(st.lists(st.integers(0, 200)), st.integers(1, 100))
def test_what_time_keeps_is_within_its_length_and_nothing_else_is(
    times: list[int], length: int
) -> None:
    records: list[tuple[Any, int | None]] = [(time, time) for time in times]

    kept, _ = left(TimeEvictor.of(length), records)

    assert kept == [time for time in times if time > max(times) - length]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: CountEvictor.of(0), ValueError),
        (lambda: CountEvictor.of("3"), TypeError),  # type: ignore[arg-type]
        (lambda: TimeEvictor.of(Time.seconds(-1)), ValueError),
        (lambda: DeltaEvictor.of(1, None), TypeError),  # type: ignore[arg-type]
    ],
)
def test_settings_without_sense_are_refused(
    make: Callable[[], Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match="expected"):
        make()


def test_evictors_are_shown_as_they_are_made() -> None:
    assert repr(CountEvictor(3)) == "CountEvictor(3)"
    assert repr(TimeEvictor.of(Time.seconds(1))) == "TimeEvictor(1000)"
    assert repr(DeltaEvictor(3, Distance())).startswith("DeltaEvictor(<")


def test_a_record_knows_whether_it_has_a_timestamp() -> None:
    assert TimestampedValue("a", 5).has_timestamp()
    assert TimestampedValue("a", 5).get_timestamp() == 5
    assert not TimestampedValue("a", None).has_timestamp()
