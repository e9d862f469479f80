"""``sessions`` on riverrun: the clicks of each visitor's sessions."""

from itertools import groupby
from typing import Final

from benchmarks.programs.program import Program
from benchmarks.visits import BOUND_MS, GAP_MS, Clicks, click, time_of, visitor_of
from riverrun import (
    AggregateFunction,
    DataStream,
    Duration,
    EventTimeSessionWindows,
    StreamExecutionEnvironment,
    Time,
    WatermarkStrategy,
)
from riverrun.connectors.datagen import DataGeneratorSource


class ClicksFunction(Clicks, AggregateFunction):
    """The count for riverrun."""


def sessions(environment: StreamExecutionEnvironment, records: int) -> DataStream:
    """How many clicks each session has."""
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
    strategy = bounded.with_timestamp_assigner(time_of)
    clicks = environment.from_source(DataGeneratorSource(click, records), strategy, "clicks")
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(GAP_MS))
    return clicks.key_by(visitor_of).window(windows).aggregate(ClicksFunction())


def expected(records: int) -> list[int]:
    """The same from all clicks of a visitor in order."""
    counts = []
    clicks = sorted((visitor, when) for visitor, _, when in map(click, range(records)))
    for _, times in groupby(clicks, key=lambda each: each[0]):
        latest = None
        for _, when in times:
            if latest is None or when - latest > GAP_MS:
                counts.append(0)
            counts[-1] += 1
            latest = when
    return counts


SESSIONS_PROGRAM: Final = Program(sessions, expected)
