"""A JobMaster that takes savepoints, stops with one, and starts from those of others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from riverrun.checkpoint.savepoint_store import SavepointRefused
from riverrun.checkpoint.stop_mark import JobStopped
from riverrun.core.errors import CheckpointFailed, ConfigError
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.deployment import TaskDeployment
from riverrun.protocol.barriers import SavepointOrder, decode_options
from riverrun.protocol.control import (
    CheckpointAborted,
    CheckpointCompleted,
    CheckpointDeclined,
    TriggerCheckpoint,
)
from tests.unit.cluster.played_job import (
    CHECKPOINTS,
    PATIENCE,
    RESTARTS,
    PlayedAttempt,
    PlayedJob,
)

Play = Callable[..., PlayedJob]
CLAIM_MODE = "execution.state-recovery.claim-mode"


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "savepoints")


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    return CHECKPOINTS | RESTARTS | {"execution.checkpointing.dir": str(tmp_path / "checkpoints")}


def trigger_of(attempt: PlayedAttempt) -> tuple[int, SavepointOrder]:
    """The savepoint that every task is told to take part in."""
    triggers = [task.expect(TriggerCheckpoint) for task in attempt.tasks]
    order = decode_options(triggers[0].options).savepoint
    assert order is not None
    return triggers[0].checkpoint, order


def take(attempt: PlayedAttempt) -> int:
    """Let every task take part in the savepoint that is triggered next."""
    checkpoint, _ = trigger_of(attempt)
    for task in attempt.tasks:
        task.acknowledge(checkpoint)
    return checkpoint


def savepoint_of(job: PlayedJob, attempt: PlayedAttempt, place: str) -> str:
    wish = job.master.trigger_savepoint(place)
    take(attempt)
    return wish.result(PATIENCE)


def wait_until(condition: Callable[[], bool]) -> None:
    turns = 0
    while not condition():
        threading.Event().wait(0.005)
        turns += 1
        assert turns < PATIENCE / 0.005


# savepoints


def test_a_job_without_checkpoints_takes_a_savepoint(play: Play, place: str) -> None:
    job = play({})
    attempt = job.running()

    savepoint = savepoint_of(job, attempt, place)

    assert Path(savepoint).parent == Path(place)
    assert Path(savepoint).name.startswith(f"savepoint-{str(job.master.job_id)[:6]}-")
    assert (Path(savepoint) / "_metadata").is_file()
    assert attempt.tasks[0].inbox.empty(), "nobody relies on a savepoint"
    statistics = job.master.checkpoints()
    assert statistics is not None
    assert statistics.counts.completed == 1


def test_the_default_folder_is_the_configured_one(play: Play, place: str) -> None:
    job = play({"state.savepoints.dir": place})
    attempt = job.running()
    wish = job.master.trigger_savepoint()
    take(attempt)

    assert Path(wish.result(PATIENCE)).parent == Path(place)


def test_a_savepoint_that_a_task_declines_leaves_nothing_behind(
    play: Play, place: str, config: dict[str, str]
) -> None:
    job = play(config)
    attempt = job.running()
    wish = job.master.trigger_savepoint(place)
    checkpoint, order = trigger_of(attempt)
    Path(order.folder).mkdir(parents=True)
    (Path(order.folder) / "part").write_text("of a task")
    attempt.tasks[0].acknowledge(checkpoint)
    attempt.tasks[1].say(CheckpointDeclined(checkpoint, "disk full"))

    with pytest.raises(CheckpointFailed, match="declined: disk full"):
        wish.result(PATIENCE)
    assert attempt.tasks[0].expect(CheckpointAborted).checkpoint == checkpoint
    wait_until(lambda: not Path(order.folder).exists())
    assert job.master.status() is JobStatus.RUNNING


def test_nobody_starts_from_a_savepoint_by_himself(
    play: Play, place: str, config: dict[str, str]
) -> None:
    job = play(config)
    first = job.running()
    wish: Future[str] = Future()
    threading.Thread(
        target=lambda: wish.set_result(job.master.trigger_checkpoint(PATIENCE))
    ).start()
    first.checkpoint()
    wish.result(PATIENCE)
    savepoint_of(job, first, place)

    first.fail()

    assert job.next_attempt().restores() == [1, 1]


def test_an_attempt_that_fails_takes_its_savepoint_with_it(
    play: Play, place: str, config: dict[str, str]
) -> None:
    job = play(config)
    first = job.running()
    wish = job.master.trigger_savepoint(place)
    checkpoint, _ = trigger_of(first)
    first.tasks[0].acknowledge(checkpoint)

    first.fail()

    with pytest.raises(CheckpointFailed, match="the job is FAILING"):
        wish.result(PATIENCE)
    second = job.next_attempt()
    second.come_up()
    assert (Path(savepoint_of(job, second, place)) / "_metadata").is_file()


def test_a_savepoint_has_to_go_somewhere_and_a_job_that_is_over_takes_none(
    play: Play, place: str
) -> None:
    job = play({})
    attempt = job.running()

    with pytest.raises(ConfigError, match=r"set 'execution\.checkpointing\.savepoint-dir'"):
        job.master.trigger_savepoint()
    attempt.finish()
    job.wait()
    with pytest.raises(CheckpointFailed, match="has ended"):
        job.master.stop_with_savepoint(place)


# stopping


@pytest.mark.parametrize("drain", [False, True])
def test_a_job_stops_when_its_tasks_have_heard_of_the_savepoint(
    play: Play, place: str, config: dict[str, str], *, drain: bool
) -> None:
    job = play(config)
    attempt = job.running()
    wish = job.master.stop_with_savepoint(place, drain=drain)
    checkpoint, order = trigger_of(attempt)
    assert (order.stop, order.drain) == (True, drain)
    for task in attempt.tasks:
        task.acknowledge(checkpoint)
    for task in attempt.tasks:
        assert task.expect(CheckpointCompleted).checkpoint == checkpoint
    assert not wish.done(), "the job is not over"

    attempt.finish()

    assert wish.result(PATIENCE) == order.folder
    assert job.wait() is JobStatus.FINISHED
    assert not job.folder.exists()


def test_a_job_that_fails_after_its_last_savepoint_does_not_begin_again(
    play: Play, place: str, config: dict[str, str]
) -> None:
    job = play(config)
    attempt = job.running()
    wish = job.master.stop_with_savepoint(place)
    take(attempt)
    for task in attempt.tasks:
        task.expect(CheckpointCompleted)

    attempt.fail()

    with pytest.raises(CheckpointFailed, match=f"savepoint '{place}/.*is FAILED before all of its"):
        wish.result(PATIENCE)
    assert job.wait() is JobStatus.FAILED
    failure = job.master.failure()
    assert failure is not None
    assert "the job stopped with the savepoint" in str(failure.hint)


def test_a_job_that_could_not_stop_can_be_stopped_again(
    play: Play, place: str, config: dict[str, str]
) -> None:
    job = play(config)
    attempt = job.running()
    first = job.master.stop_with_savepoint(place)
    checkpoint, _ = trigger_of(attempt)
    attempt.tasks[0].say(CheckpointDeclined(checkpoint, "disk full"))
    with pytest.raises(CheckpointFailed, match="disk full"):
        first.result(PATIENCE)
    for task in attempt.tasks:
        task.expect(CheckpointAborted)

    second = job.master.stop_with_savepoint(place)
    take(attempt)
    for task in attempt.tasks:
        task.expect(CheckpointCompleted)
    attempt.finish()

    assert Path(second.result(PATIENCE)).is_dir()


def test_a_job_that_is_cancelled_while_it_stops_says_so(play: Play, place: str) -> None:
    job = play({})
    attempt = job.running()
    wish = job.master.stop_with_savepoint(place)
    trigger_of(attempt)

    job.master.cancel()

    with pytest.raises(CheckpointFailed, match="the job is CANCELLING"):
        wish.result(PATIENCE)


def test_a_job_whose_job_master_dies_after_the_stop_is_not_resumed(
    play: Play, place: str, config: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = JobId.random()
    killed = play(config, job=name)
    attempt = killed.running()
    killed.master.stop_with_savepoint(place)
    take(attempt)
    for task in attempt.tasks:
        task.expect(CheckpointCompleted)
    monkeypatch.setattr(killed.master, "_checkpointing", None)

    resumed = play(config, job=name, resume=True)
    with pytest.raises(JobStopped, match=f"{place}/savepoint-.*start from the savepoint"):
        resumed.master.start()


# starting from one


def test_a_job_starts_from_a_savepoint_and_again_from_it_until_it_has_a_checkpoint(
    play: Play, place: str, config: dict[str, str]
) -> None:
    other = play(config)
    savepoint = savepoint_of(other, other.running(), place)

    job = play(config, restore_from=savepoint)
    first = job.running()
    for deployment in first.layers[0]:
        assert isinstance(deployment, TaskDeployment)
        assert deployment.restore is not None
        assert not deployment.restore.owned
    first.fail()
    second = job.next_attempt()

    assert (first.restores(), second.restores()) == ([1, 1], [1, 1])
    statistics = job.master.checkpoints()
    assert statistics is not None
    restored = statistics.latest.restored
    assert restored is not None
    assert restored.is_savepoint


def test_a_claimed_savepoint_belongs_to_one_job_until_that_is_over(
    play: Play, place: str, config: dict[str, str]
) -> None:
    other = play(config)
    savepoint = savepoint_of(other, other.running(), place)
    claiming = config | {CLAIM_MODE: "CLAIM"}
    first = play(claiming, restore_from=savepoint)
    first.running()

    second = play(claiming, restore_from=savepoint)
    with pytest.raises(SavepointRefused, match="did so before"):
        second.master.start()
    assert (Path(savepoint) / "_metadata").is_file()
    first.stop()
    wait_until(lambda: not Path(savepoint).exists())


def test_a_job_that_keeps_its_checkpoints_when_cancelled_gives_the_savepoint_free(
    play: Play, place: str, config: dict[str, str]
) -> None:
    other = play(config)
    savepoint = savepoint_of(other, other.running(), place)
    retaining = config | {
        CLAIM_MODE: "CLAIM",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    }
    first = play(retaining, restore_from=savepoint)
    first.running()
    first.stop()

    second = play(retaining, restore_from=savepoint)
    assert second.running().restores() == [1, 1]
