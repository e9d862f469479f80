"""Results that are read while a job runs."""

from __future__ import annotations

import gc
import threading

import pytest

from riverrun.core.errors import Failure, JobCanceled, JobFailed
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.collect import ResultBuffer
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.graph.specs import MapSpec
from riverrun.serde.row import Row
from tests.unit.datastream.conftest import FakeEngine


def test_results_come_in_order_and_end_with_the_job(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    engine.on_submit = [(1, 2), (3,)]

    with env.from_collection([0]).execute_and_collect("job") as results:
        assert results.next() == 1
        assert list(results) == [2, 3]
        assert list(results) == []

    assert engine.last.name == "job"
    assert engine.jobs[-1].cancelled == 0


def test_results_are_there_before_the_job_ends(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    engine.outcome = None
    results = env.from_collection([0]).execute_and_collect()

    engine.jobs[-1].deliver("early")

    assert next(results) == "early"
    assert engine.jobs[-1].status() is JobStatus.RUNNING
    engine.jobs[-1].end()
    assert list(results) == []


def test_a_failure_is_raised_after_the_results_before_it(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    engine.on_submit = [(1,)]
    engine.outcome, engine.failure = JobStatus.FAILED, Failure("ValueError", "boom")
    results = env.from_collection([0]).execute_and_collect()

    assert next(results) == 1
    with pytest.raises(JobFailed, match="boom"):
        next(results)
    assert list(results) == []


def test_a_job_that_someone_cancelled_is_not_taken_for_a_finished_one(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    engine.outcome = None
    results = env.from_collection([0]).execute_and_collect()
    engine.jobs[-1].cancel()

    with pytest.raises(JobCanceled):
        next(results)


def test_close_cancels_a_running_job(env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
    engine.outcome = None
    results = env.from_collection([0]).execute_and_collect()
    engine.jobs[-1].deliver(1, 2)

    results.close()
    results.close()

    assert engine.jobs[-1].status() is JobStatus.CANCELED
    assert list(results) == []


def test_dropping_the_iterator_cancels_the_job(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    engine.outcome = None
    results = env.from_collection([0]).execute_and_collect()

    del results
    gc.collect()

    assert engine.jobs[-1].status() is JobStatus.CANCELED


def test_a_limit_gives_a_list_and_ends_the_job(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    engine.on_submit = [(1, 2, 3, 4)]
    engine.outcome = None

    results = env.from_collection([0]).execute_and_collect(limit=3)

    assert results == [1, 2, 3]
    assert engine.jobs[-1].status() is JobStatus.CANCELED


def test_a_keyed_stream_gives_rows_of_key_and_value(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    env.from_collection([("a", 1)]).key_by(lambda pair: pair[0]).execute_and_collect().close()

    specs = [op.spec for vertex in engine.last.graph.vertices for op in vertex.operators]
    [pairing] = [spec for spec in specs if isinstance(spec, MapSpec)]
    assert pairing.fn.map(("a", 1)) == Row(f0="a", f1=("a", 1))  # type: ignore[union-attr]


def test_a_full_buffer_holds_the_job_until_results_are_taken() -> None:
    buffer = ResultBuffer(capacity=2)
    delivered = threading.Event()
    buffer(0, [1, 2])

    def deliver() -> None:
        buffer(0, [3])
        delivered.set()

    thread = threading.Thread(target=deliver)
    thread.start()
    assert not delivered.is_set()
    first = buffer.take()
    thread.join()

    assert first is not None
    assert list(first) == [1, 2]
    second = buffer.take()
    assert second is not None
    assert list(second) == [3]


def test_a_blocked_delivery_gives_up_when_results_are_no_longer_wanted() -> None:
    buffer = ResultBuffer(capacity=1)
    buffer(0, [1])
    thread = threading.Thread(target=buffer, args=(0, [2]))
    thread.start()

    buffer.close()
    thread.join()

    assert buffer.take() is None
