"""A JobMaster and its slots: attempts wait for room, follow it, and give it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from riverrun.cluster.resources.job_slots import JobSlots
from riverrun.cluster.resources.manager import ResourceManager
from riverrun.cluster.resources.requirements import Bounds
from riverrun.core.errors import TooFewSlots
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.executor import JobSubmission
from riverrun.graph.rescaling import RescaleFailed, RescaleRefused
from riverrun.protocol.control import Cancel, TriggerCheckpoint
from riverrun.testing.waiting import wait_until
from tests.unit.cluster.played_job import CHECKPOINTS, RESTARTS, VERTEX, PlayedJob, graph
from tests.unit.cluster.resources.conftest import ADAPTIVE, PATIENCE_S, Cluster

Play = Callable[..., PlayedJob]
JOB = JobId("5" * 32)


@pytest.fixture
def play(cluster: Cluster) -> Iterator[Play]:
    """Makes jobs, and ends them before the cluster."""
    jobs: list[PlayedJob] = []

    def make(*args: Any, **kwargs: Any) -> PlayedJob:
        jobs.append(PlayedJob(*args, **kwargs))
        return jobs[-1]

    yield make
    for job in jobs:
        job.stop()


class Played:
    """A job on a cluster, and the manager of its slots."""

    def __init__(self, play: Play, cluster: Cluster, parallelism: int, **config: str) -> None:
        settings = RESTARTS | config
        self.manager = ResourceManager(cluster)
        program = graph(parallelism)
        slots = JobSlots(self.manager, JobSubmission(JOB, "spend", program, settings))
        fitted = slots.first().vertices[0].parallelism
        self.job = play(settings, job=JOB, parallelism=fitted, slots=slots)

    @property
    def held(self) -> int:
        return self.manager.held().get(JOB, 0)


def test_slots_are_held_while_the_job_runs_and_free_when_it_has_ended(
    play: Play, cluster: Cluster
) -> None:
    played = Played(play, cluster, 3)
    attempt = played.job.running()
    assert played.held == 3

    attempt.finish()

    assert played.job.wait() is JobStatus.FINISHED
    assert played.held == 0


def test_the_next_attempt_waits_for_executors_with_a_word(play: Play, cluster: Cluster) -> None:
    played = Played(play, cluster, 3)
    attempt = played.job.running()
    cluster.ids = []
    attempt.fail()

    words = wait_until(played.job.master.waiting_for, what="the job waits for slots")
    assert words == "waiting for 3 slots, 0 are there on 0 executors"
    assert played.job.master.status() is JobStatus.RESTARTING
    cluster.ids = ["1"]
    played.job.next_attempt().come_up()

    assert played.job.master.waiting_for() is None
    assert played.held == 3


def test_a_job_that_waits_for_slots_can_be_cancelled(play: Play, cluster: Cluster) -> None:
    played = Played(play, cluster, 3)
    attempt = played.job.running()
    cluster.ids = []
    attempt.fail()
    wait_until(played.job.master.waiting_for, what="the job waits for slots")

    played.job.master.cancel()

    assert played.job.wait() is JobStatus.CANCELED
    assert not played.manager.waiting()


def test_slots_that_do_not_come_in_time_are_a_failure_like_any_other(
    play: Play, cluster: Cluster
) -> None:
    timeout = {"slot.request.timeout": "0 ms", "restart-strategy.fixed-delay.attempts": "2"}
    played = Played(play, cluster, 3, **timeout)
    attempt = played.job.running()
    cluster.ids = []
    attempt.fail()

    assert played.job.wait() is JobStatus.FAILED
    kinds = [record.failure.type_name for record in played.job.master.failures()]
    assert kinds == ["ValueError", "TooFewSlots", "TooFewSlots"]


def test_an_adaptive_job_goes_on_with_the_slots_that_are_left(play: Play, cluster: Cluster) -> None:
    cluster.ids = ["0", "1"]
    played = Played(play, cluster, 6, **ADAPTIVE)
    attempt = played.job.running()
    assert len(attempt.tasks) == 6
    cluster.ids = ["1"]

    attempt.fail()
    after = played.job.next_attempt()
    after.come_up()

    assert len(after.tasks) == 4
    assert played.held == 4


def test_an_adaptive_job_is_rescaled_through_a_checkpoint_when_an_executor_comes(
    play: Play, cluster: Cluster
) -> None:
    played = Played(play, cluster, 6, **ADAPTIVE, **CHECKPOINTS)
    attempt = played.job.running()
    assert len(attempt.tasks) == 4

    cluster.ids.append("1")
    attempt.checkpoint()
    for task in attempt.tasks:
        task.expect(Cancel)
        task.close()
    after = played.job.next_attempt()
    after.come_up()

    assert len(after.tasks) == 6
    assert played.held == 6
    assert not played.job.master.failures()
    assert played.job.master.requirements() == {VERTEX: Bounds(1, 6)}


def test_requirements_of_a_job_that_is_not_adaptive_rescale_it(
    play: Play, cluster: Cluster
) -> None:
    played = Played(play, cluster, 2, **CHECKPOINTS)
    attempt = played.job.running()
    master = played.job.master
    assert master.requirements() == {VERTEX: Bounds(2, 2)}

    with pytest.raises(TooFewSlots, match="needs 5 task slots"):
        master.require({VERTEX: Bounds(1, 5)})
    with pytest.raises(RescaleRefused, match="the lower bound is above"):
        master.require({VERTEX: Bounds(3, 1)})
    master.require({VERTEX: Bounds(1, 3)})
    attempt.checkpoint()
    for task in attempt.tasks:
        task.expect(Cancel)
        task.close()
    after = played.job.next_attempt()
    after.come_up()

    assert len(after.tasks) == 3
    assert played.held == 3
    wait_until(lambda: master.requirements() == {VERTEX: Bounds(3, 3)}, what="the new bounds")


def test_who_rescales_an_adaptive_job_keeps_it_from_growing_back(
    play: Play, cluster: Cluster
) -> None:
    played = Played(play, cluster, 4, **ADAPTIVE, **CHECKPOINTS)
    attempt = played.job.running()

    done = played.job.master.rescale(1)
    attempt.checkpoint()
    for task in attempt.tasks:
        task.expect(Cancel)
        task.close()
    after = played.job.next_attempt()
    after.come_up()

    done.result(PATIENCE_S)
    assert len(after.tasks) == 1
    assert played.job.master.requirements() == {VERTEX: Bounds(1, 1)}


def test_a_rescale_that_failed_gives_back_what_it_had_reserved(
    play: Play, cluster: Cluster
) -> None:
    config = CHECKPOINTS | {"execution.checkpointing.tolerable-failed-checkpoints": "9"}
    played = Played(play, cluster, 2, **config)
    attempt = played.job.running()

    done = played.job.master.rescale(4)
    assert played.held == 4
    for task in attempt.tasks:
        task.expect(TriggerCheckpoint)
    played.job.master.cancel()

    with pytest.raises(RescaleFailed):
        done.result(PATIENCE_S)
    assert played.job.wait() is JobStatus.CANCELED
    assert played.held == 0
    with pytest.raises(RescaleFailed, match="has ended"):
        played.job.master.rescale(4)
    assert played.held == 0
