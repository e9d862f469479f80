"""A running job in this process goes on with another parallelism, and nothing is lost or counted twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.datastream.job_client import JobClient
from riverrun.graph.rescaling import RescaleFailed, RescaleRefused
from tests.unit.local.savepoint_jobs import (
    COUNT,
    EXACT,
    GATE,
    PATIENCE_S,
    Count,
    Jobs,
    key_of,
    numbers,
    through_gate,
)

SUBTASK = re.compile(r"\.(\d+)(?:\.|$)")
INTERVAL = {"execution.checkpointing.interval": "10 ms"}


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    made = Jobs(tmp_path)
    yield made
    made.close()


def rescale_at(jobs: Jobs, record: int, to: Any, *args: Any, **config: Any) -> JobClient:
    """Start the job and rescale it while it works on ``record``."""
    GATE.close_at(record)
    client = jobs.start(*args, **config)
    assert GATE.reached.wait(PATIENCE_S)
    rescaling = client.rescale(to)
    assert not rescaling.done()
    GATE.open.set()
    rescaling.result(PATIENCE_S)
    assert rescaling.exception() is None
    return client


@pytest.mark.parametrize("checkpoints", [{}, INTERVAL], ids=["without checkpoints", "with them"])
@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 3)])
def test_every_record_counts_once(
    jobs: Jobs, checkpoints: dict[str, str], before: int, after: int
) -> None:
    client = rescale_at(jobs, 1000, after, before, **checkpoints)

    client.get_job_execution_result().result(PATIENCE_S)
    assert jobs.committed() == EXACT
    assert client.get_failures() == []
    subtasks = {int(found[1]) for name in client.get_metrics() if (found := SUBTASK.search(name))}
    assert subtasks == set(range(after))


KEPT: list[Any] = []


def keep(value: Any) -> None:
    KEPT.append(value)


def kept_at_once(env: StreamExecutionEnvironment, _: Path) -> None:
    """The results go where nothing can be taken back."""
    gated = numbers(env).map(through_gate).uid("gate").rebalance()
    gated.key_by(key_of).process(Count()).uid("count").add_sink(keep)


def test_a_sink_that_commits_at_once_repeats_nothing_in_a_job_without_checkpoints(
    jobs: Jobs,
) -> None:
    KEPT.clear()
    client = rescale_at(jobs, 1000, 3, 2, kept_at_once)
    client.get_job_execution_result().result(PATIENCE_S)

    assert Counter(KEPT) == EXACT


def test_one_vertex_can_be_rescaled_alone_and_back(jobs: Jobs) -> None:
    client = rescale_at(jobs, 500, {"count": 3}, 1, **INTERVAL)
    client.rescale({"count": 1, "numbers": 2}).result(PATIENCE_S)

    client.get_job_execution_result().result(PATIENCE_S)
    assert jobs.committed() == EXACT


def test_refusals_come_at_once_and_change_nothing(jobs: Jobs) -> None:
    GATE.close_at(COUNT // 2)
    client = jobs.start(2)
    assert GATE.reached.wait(PATIENCE_S)

    with pytest.raises(RescaleRefused, match="max parallelism is 128"):
        client.rescale(129)
    with pytest.raises(RescaleRefused, match=r"did you mean 'count'\?"):
        client.rescale({"coumt": 1})
    GATE.open.set()
    client.get_job_execution_result().result(PATIENCE_S)
    assert jobs.committed() == EXACT
    with pytest.raises(RescaleFailed, match="it is FINISHED"):
        client.rescale(3)


def test_the_last_wish_wins(jobs: Jobs) -> None:
    GATE.close_at(COUNT // 2)
    client = jobs.start(2, **INTERVAL)
    assert GATE.reached.wait(PATIENCE_S)
    lost, won = client.rescale(1), client.rescale(3)
    GATE.open.set()

    assert won.result(PATIENCE_S) is None
    assert isinstance(lost.exception(PATIENCE_S), RescaleFailed)
    client.get_job_execution_result().result(PATIENCE_S)
    assert jobs.committed() == EXACT


def test_a_job_that_is_cancelled_answers(jobs: Jobs) -> None:
    GATE.close_at(COUNT // 2)
    client = jobs.start(2, **INTERVAL)
    assert GATE.reached.wait(PATIENCE_S)
    rescaling = client.rescale(3)
    cancelling = client.cancel()
    GATE.open.set()
    cancelling.result(PATIENCE_S)

    assert client.get_job_status().result() is JobStatus.CANCELED
    assert isinstance(rescaling.exception(PATIENCE_S), RescaleFailed)


def test_a_rescaled_job_can_be_stopped_and_another_goes_on_from_there(jobs: Jobs) -> None:
    client = rescale_at(jobs, 500, 3, 1)
    savepoint = client.stop_with_savepoint(advance_to_end_of_event_time=False).result(PATIENCE_S)

    jobs.run(2, start_from=savepoint)
    assert jobs.committed() == EXACT
