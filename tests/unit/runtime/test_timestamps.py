"""What a timestamp assigner may give, and what is said of everything else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from riverrun.api.watermark_strategy import (
    IngestionTimeAssigner,
    RecordTimestampAssigner,
    TimestampAssigner,
    WatermarkStrategy,
)
from riverrun.core.clock import ManualClock
from riverrun.core.errors import ProgramError
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.timestamps import AssignRun, assign_run

YEAR_9999 = 253_402_300_799_999
PLAIN = WatermarkStrategy.no_watermarks()


def assigned(assigner: Any, clock: ManualClock | None = None) -> AssignRun:
    run = assign_run(PLAIN.with_timestamp_assigner(assigner), "source", clock or ManualClock())
    assert run is not None
    return run


def test_an_assigner_is_given_the_value_and_its_timestamp_so_far() -> None:
    class Sum(TimestampAssigner):
        def extract_timestamp(self, value: int, record_timestamp: int) -> int:
            return value + record_timestamp

    assert assigned(Sum())([1, 2], [10, 20]) == [11, 22]


def test_a_record_without_a_timestamp_has_the_smallest() -> None:
    assert assigned(lambda value, time: time)(["a"], None) == [MIN_TIMESTAMP]


@pytest.mark.parametrize("time", [np.int64(7), np.uint8(7), 7])
def test_whole_numbers_of_any_kind_become_ints(time: Any) -> None:
    times = assigned(lambda value, so_far: time)(["a"], None)

    assert times == [7]
    assert type(times[0]) is int


@pytest.mark.parametrize("time", [YEAR_9999, 0, -1, 2**63 - 1, -(2**63)])
def test_any_moment_of_64_bits_is_a_timestamp(time: int) -> None:
    assert assigned(lambda value, so_far: time)(["a"], None) == [time]


@pytest.mark.parametrize(
    ("time", "found"),
    [
        (None, "gave None for"),
        (1.0, r"gave 1\.0, a float, for"),
        ("2024", r"gave '2024', a str, for"),
        (2**63, "gave 9223372036854775808, which does not fit into 64 bits, for"),
    ],
)
def test_anything_else_is_refused_with_operator_and_record(time: Any, found: str) -> None:
    assign = assigned(lambda value, so_far: time if value == "b" else 1)

    message = f"operator 'source': the timestamp assigner {found} the record 'b'; return milli"
    with pytest.raises(ProgramError, match=message):
        assign(["a", "b"], None)


def test_a_comparison_is_no_timestamp() -> None:
    with pytest.raises(ProgramError, match="gave True, a bool, for the record 5"):
        assigned(lambda value, so_far: value > 3)([5, 6], None)


def test_without_an_assigner_records_keep_what_they_have() -> None:
    keeping = PLAIN.with_timestamp_assigner(RecordTimestampAssigner())

    assert assign_run(None, "source", ManualClock()) is None
    assert assign_run(PLAIN, "source", ManualClock()) is None
    assert assign_run(keeping, "source", ManualClock()) is None
    assert RecordTimestampAssigner().extract_timestamp("a", 5) == 5


def test_ingestion_time_is_the_wall_clock_of_the_task() -> None:
    clock = ManualClock(1000)
    assign = assigned(IngestionTimeAssigner(), clock)

    assert assign(["a", "b"], [1, 2]) == [1000, 1000]
    clock.advance(5)
    assert assign(["c"], None) == [1005]


def test_ingestion_time_does_not_go_back_with_the_clock() -> None:
    class Shaky(ManualClock):
        def now(self) -> int:
            return next(times)

    times = iter([100, 90, 110])
    assign = assigned(IngestionTimeAssigner(), Shaky())
    assert [assign(["a"], None) for _ in range(3)] == [[100], [100], [110]]

    times = iter([100, 90])
    alone = IngestionTimeAssigner(Shaky())
    assert [alone.extract_timestamp("a", 0) for _ in range(2)] == [100, 100]


class _Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        del record_timestamp
        return value[1]  # type: ignore[no-any-return]


@pytest.mark.parametrize("assigner", [_Second(), lambda value, so_far: value[1]])
def test_an_assigner_that_only_looks_up_gives_what_it_would_if_called(assigner: Any) -> None:
    run = assigned(assigner)

    assert run([("a", 7), ("b", 8)], None) == [7, 8]
    assert run([["a", 7]], [5]) == [7]


def test_an_assigner_that_looks_up_in_vain_fails_in_its_own_frame() -> None:
    with pytest.raises(IndexError) as caught:
        assigned(_Second())([("a", 7), ("b",)], None)

    assert caught.traceback[-1].name == "extract_timestamp"
