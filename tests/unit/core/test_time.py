"""Lengths of time."""

from datetime import timedelta

import pytest

from riverrun.core.time import Duration, Time, to_millis


def test_units_of_a_duration_agree() -> None:
    day = Duration.of_days(1)

    assert day == Duration.of_hours(24) == Duration.of_minutes(1440) == Duration.of_seconds(86_400)
    assert day == Duration.of_millis(86_400_000) == Duration.of_nanos(86_400 * 10**9)
    assert day.to_seconds() == 86_400.0
    assert Duration.of_millis(1) < Duration.of_millis(2)


def test_units_of_a_time_agree() -> None:
    assert Time.days(1) == Time.hours(24) == Time.minutes(1440) == Time.seconds(86_400)
    assert Time.milliseconds(5).to_milliseconds() == 5


def test_every_kind_of_length_is_milliseconds_in_the_end() -> None:
    assert to_millis(Duration.of_seconds(1)) == 1000
    assert to_millis(Time.seconds(1)) == 1000
    assert to_millis(timedelta(seconds=1)) == 1000
    with pytest.raises(TypeError, match="expected a Duration"):
        to_millis(5)  # type: ignore[arg-type]
