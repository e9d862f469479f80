# ruff: noqa: ARG002  # the arguments are those of PyFlink's interfaces
"""The workloads with windows of event time on PyFlink; see ``pyflink_job``."""

from collections.abc import Iterable

from pyflink.common import Time, Types
from pyflink.datastream import AggregateFunction, DataStream, WindowFunction
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    WindowAssigner,
)

from benchmarks import payments, visits
from benchmarks.peers.pyflink_job import Job, Stamped, main, timed
from benchmarks.workloads import SESSIONS, SLIDING, WINDOWS


class _Spend(payments.Spend, AggregateFunction):
    """The sum."""


class _Clicks(visits.Clicks, AggregateFunction):
    """The number of clicks."""


class _Result(Stamped, WindowFunction):
    """A window's result as it is: PyFlink neither opens nor closes an aggregate function."""

    def apply(self, key: int, window: TimeWindow, inputs: Iterable[int]) -> Iterable[int]:
        return inputs


def _spend(job: Job, windows: WindowAssigner) -> DataStream:
    triple = job.type_of(Types.LONG(), Types.LONG(), Types.LONG())
    stream = timed(job.made(payments.payment, triple), payments.time_of, payments.BOUND_MS)
    keyed = stream.key_by(payments.customer_of, key_type=Types.LONG()).window(windows)
    return keyed.aggregate(_Spend(), _Result(job.stamps), Types.LONG(), Types.LONG())


def _tumbling(job: Job) -> DataStream:
    return _spend(job, TumblingEventTimeWindows.of(Time.milliseconds(payments.WINDOW_MS)))


def _sliding(job: Job) -> DataStream:
    size, slide = payments.SLIDING_MS, payments.WINDOW_MS
    windows = SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide))
    return _spend(job, windows)


def _sessions(job: Job) -> DataStream:
    triple = job.type_of(Types.LONG(), Types.LONG(), Types.LONG())
    stream = timed(job.made(visits.click, triple), visits.time_of, visits.BOUND_MS)
    sessions = stream.key_by(visits.visitor_of, key_type=Types.LONG()).window(
        EventTimeSessionWindows.with_gap(Time.milliseconds(visits.GAP_MS))
    )
    return sessions.aggregate(_Clicks(), _Result(job.stamps), Types.LONG(), Types.LONG())


BUILDS = {WINDOWS: _tumbling, SLIDING: _sliding, SESSIONS: _sessions}

if __name__ == "__main__":
    main(BUILDS)
