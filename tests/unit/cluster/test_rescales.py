"""A JobMaster that is told to go on with another parallelism."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from riverrun.core.errors import CheckpointFailed, ExternalError, TooFewSlots
from riverrun.core.ids import VertexId
from riverrun.core.lifecycle import JobStatus, TaskStatus
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.rescaling import RescaleFailed, RescaleRefused
from riverrun.protocol.barriers import SavepointOrder, decode_options
from riverrun.protocol.control import (
    Cancel,
    CheckpointAborted,
    CheckpointCompleted,
    CheckpointDeclined,
    ClientRun,
    InputOver,
    TaskEnded,
    TriggerCheckpoint,
)
from tests.unit.cluster.played_job import (
    CHECKPOINTS,
    OPERATOR,
    PATIENCE,
    RESTARTS,
    VERTEX,
    PlayedAttempt,
    PlayedJob,
)

Play = Callable[..., PlayedJob]


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    return CHECKPOINTS | {"execution.checkpointing.dir": str(tmp_path / "checkpoints")}


def triggered(attempt: PlayedAttempt) -> tuple[int, SavepointOrder | None]:
    """What every task is told to take part in."""
    triggers = [task.expect(TriggerCheckpoint) for task in attempt.tasks]
    return triggers[0].checkpoint, decode_options(triggers[0].options).savepoint


def acknowledge(attempt: PlayedAttempt) -> SavepointOrder | None:
    checkpoint, order = triggered(attempt)
    for task in attempt.tasks:
        task.acknowledge(checkpoint)
    return order


def leave(attempt: PlayedAttempt) -> None:
    """Let every task hear that the checkpoint is complete and that it is to go."""
    for task in attempt.tasks:
        task.expect(CheckpointCompleted)
        assert task.expect(Cancel).reason == "the job is being rescaled"
    for task in attempt.tasks:
        task.say(TaskEnded(TaskStatus.CANCELED))
        task.close()


def rescaled(job: PlayedJob, attempt: PlayedAttempt, to: int) -> PlayedAttempt:
    """The attempt that follows a rescale, with all its tasks."""
    wish = job.master.rescale(to)
    acknowledge(attempt)
    leave(attempt)
    following = job.next_attempt()
    assert not wish.done()
    following.come_up()
    assert wish.result(PATIENCE) is None
    return following


@pytest.mark.parametrize("to", [1, 3])
def test_a_job_goes_on_from_a_checkpoint_with_another_parallelism(
    play: Play, config: dict[str, str], to: int
) -> None:
    job = play(config)

    second = rescaled(job, job.running(), to)

    assert second.restores() == [1] * to
    assert job.master.status() is JobStatus.RUNNING
    assert job.master.failures() == ()
    execution = job.master.execution
    assert execution.graph.vertex(VERTEX).parallelism == to
    assert [subtask.id.index for subtask in execution.subtasks()] == list(range(to))
    assert {subtask.attempt for subtask in execution.subtasks()} == {1}
    assert [len(subtask.history) for subtask in execution.subtasks()] == [1, 1, 0][:to]
    second.end_input()
    second.finish()
    assert job.wait() is JobStatus.FINISHED


def test_checkpoints_and_restarts_keep_the_new_parallelism(
    play: Play, config: dict[str, str]
) -> None:
    job = play(config | RESTARTS)
    second = rescaled(job, job.running(), 1)
    second.tasks[0].say(InputOver())
    second.checkpoint()

    second.fail()
    third = job.next_attempt()
    third.come_up()

    assert third.restores() == [2]
    assert [record.attempt for record in job.master.failures()] == [1]


def test_the_client_gets_all_that_was_sent_before_the_stop(
    play: Play, config: dict[str, str]
) -> None:
    taken: list[Any] = []
    may_take = threading.Event()

    def handle(_: int, values: Sequence[Any]) -> None:
        assert may_take.wait(PATIENCE)
        taken.extend(values)

    job = play(config, handlers={OPERATOR: handle})
    first = job.running()
    wish = job.master.rescale(3)
    checkpoint, _ = triggered(first)
    for number, task in enumerate(first.tasks):
        task.say(ClientRun(OPERATOR, 0, pickle.dumps((number,)), 1, f"commit {number}"))
        task.acknowledge(checkpoint)
    leave(first)
    second = job.next_attempt()
    may_take.set()
    second.come_up()
    wish.result(PATIENCE)
    second.end_input()
    second.finish()

    assert job.wait() is JobStatus.FINISHED
    assert sorted(taken) == [0, 1]


def test_a_job_that_has_the_parallelism_already_is_left_alone(
    play: Play, config: dict[str, str]
) -> None:
    job = play(config)
    attempt = job.running()

    assert job.master.rescale({"map": 2}).result(PATIENCE) is None
    assert attempt.tasks[0].inbox.empty()


def test_what_cannot_be_is_refused_at_once(play: Play, config: dict[str, str]) -> None:
    job = play(config)
    attempt = job.running()

    with pytest.raises(RescaleRefused, match=r"'Map'.*129.*max parallelism is 128"):
        job.master.rescale(129)
    with pytest.raises(RescaleRefused, match="did you mean 'Map'"):
        job.master.rescale({"Mapp": 3})
    assert attempt.tasks[0].inbox.empty()
    assert job.master.status() is JobStatus.RUNNING


def test_without_a_checkpoint_the_job_goes_on_as_it_was(play: Play, config: dict[str, str]) -> None:
    job = play(config | {"execution.checkpointing.tolerable-failed-checkpoints": "5"})
    attempt = job.running()
    wish = job.master.rescale(3)
    checkpoint, _ = triggered(attempt)
    attempt.tasks[0].say(CheckpointDeclined(checkpoint, "disk full"))

    with pytest.raises(RescaleFailed, match=r"'spend': was not rescaled.*declined: disk full"):
        wish.result(PATIENCE)
    for task in attempt.tasks:
        task.expect(CheckpointAborted)
    assert job.master.status() is JobStatus.RUNNING
    rescaled(job, attempt, 3)


def test_the_last_wish_wins(play: Play, config: dict[str, str]) -> None:
    job = play(config)
    first = job.running()
    lost = job.master.rescale(3)
    checkpoint, _ = triggered(first)
    won = job.master.rescale(4)
    with pytest.raises(RescaleFailed, match="another rescale was asked for since"):
        lost.result(PATIENCE)
    for task in first.tasks:
        task.acknowledge(checkpoint)
    leave(first)
    second = job.next_attempt()
    second.come_up()

    assert won.result(PATIENCE) is None
    assert len(second.tasks) == 4


def test_a_failure_before_the_checkpoint_is_complete_starts_the_new_graph(
    play: Play, config: dict[str, str]
) -> None:
    job = play(config | RESTARTS)
    first = job.running()
    wish = job.master.rescale(3)
    triggered(first)

    first.fail()
    second = job.next_attempt()
    second.come_up()

    assert wish.result(PATIENCE) is None
    assert (len(second.tasks), second.restores()) == (3, [None] * 3)
    assert len(job.master.failures()) == 1


def test_a_task_that_dies_while_it_is_stopped_is_no_failure(
    play: Play, config: dict[str, str]
) -> None:
    job = play(config)
    first = job.running()
    wish = job.master.rescale(3)
    acknowledge(first)
    for task in first.tasks:
        task.expect(CheckpointCompleted)
        task.expect(Cancel)
        task.close()
    job.next_attempt().come_up()

    assert wish.result(PATIENCE) is None
    assert job.master.failures() == ()


def test_a_job_that_ends_meanwhile_answers(play: Play, config: dict[str, str]) -> None:
    job = play(config)
    attempt = job.running()
    wish = job.master.rescale(3)
    triggered(attempt)

    job.master.cancel()
    for task in attempt.tasks:
        task.close()

    assert job.wait() is JobStatus.CANCELED
    with pytest.raises(RescaleFailed, match="the job is CANCELED"):
        wish.result(PATIENCE)
    with pytest.raises(RescaleFailed, match="it has ended"):
        job.master.rescale(3)


def test_a_cancellation_while_the_attempt_is_stopped_ends_the_job(
    play: Play, config: dict[str, str]
) -> None:
    job = play(config)
    attempt = job.running()
    wish = job.master.rescale(3)
    acknowledge(attempt)
    for task in attempt.tasks:
        task.expect(CheckpointCompleted)
        task.expect(Cancel)

    job.master.cancel()
    for task in attempt.tasks:
        task.close()

    assert job.wait() is JobStatus.CANCELED
    with pytest.raises(RescaleFailed, match="the job is CANCELED"):
        wish.result(PATIENCE)


def test_stopping_with_a_savepoint_comes_before_a_rescale(
    play: Play, config: dict[str, str], tmp_path: Path
) -> None:
    job = play(config)
    attempt = job.running()
    wish = job.master.rescale(3)
    triggered(attempt)
    stop = job.master.stop_with_savepoint(str(tmp_path / "savepoints"))

    with pytest.raises(RescaleFailed, match="the job is being stopped with a savepoint"):
        wish.result(PATIENCE)
    acknowledge(attempt)
    with pytest.raises(RescaleFailed, match="stopped with a savepoint"):
        job.master.rescale(3).result(PATIENCE)
    for task in attempt.tasks:
        task.expect(CheckpointCompleted)
    attempt.finish()
    assert Path(stop.result(PATIENCE)).exists()


# without checkpoints


def test_a_job_without_checkpoints_is_rescaled_through_a_savepoint_that_goes_with_it(
    play: Play,
) -> None:
    job = play(RESTARTS)
    first = job.running()
    wish = job.master.rescale(3)
    order = acknowledge(first)
    assert order is not None
    assert order.stop, "what its sinks wrote must not be written again"
    leave(first)
    second = job.next_attempt()
    second.come_up()
    assert wish.result(PATIENCE) is None
    assert second.restores() == [1] * 3

    second.fail()
    third = job.next_attempt()
    third.come_up()
    assert third.restores() == [1] * 3, "nothing newer is known"
    assert Path(order.folder).exists()
    third.finish()
    assert job.wait() is JobStatus.FINISHED
    assert not Path(order.folder).parent.exists()


def test_such_a_job_can_be_stopped_and_rescaled_again(play: Play, tmp_path: Path) -> None:
    job = play({})
    second = rescaled(job, job.running(), 1)
    third = rescaled(job, second, 2)
    assert third.restores() == [2, 2]

    stop = job.master.stop_with_savepoint(str(tmp_path))
    acknowledge(third)
    for task in third.tasks:
        task.expect(CheckpointCompleted)
    third.finish()
    assert Path(stop.result(PATIENCE)).exists()


def test_while_such_a_job_is_being_rescaled_it_cannot_be_stopped(
    play: Play, tmp_path: Path
) -> None:
    job = play({})
    first = job.running()
    wish = job.master.rescale(3)
    checkpoint, _ = triggered(first)

    with pytest.raises(CheckpointFailed, match="is being rescaled; ask again when it runs"):
        job.master.stop_with_savepoint(str(tmp_path)).result(PATIENCE)
    for task in first.tasks:
        task.acknowledge(checkpoint)
    leave(first)
    job.next_attempt().come_up()
    assert wish.result(PATIENCE) is None


def test_a_failed_savepoint_lets_such_a_job_go_on(play: Play) -> None:
    job = play({})
    first = job.running()
    wish = job.master.rescale(3)
    checkpoint, _ = triggered(first)
    first.tasks[1].say(CheckpointDeclined(checkpoint, "disk full"))

    with pytest.raises(RescaleFailed, match="disk full"):
        wish.result(PATIENCE)
    for task in first.tasks:
        task.expect(CheckpointAborted)
    rescaled(job, first, 3)


# slots


class Slots:
    """As many as the test says."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.reserved: list[int] = []
        self.sought: list[int] = []
        self.fits: JobGraph | None = None
        self.is_up = 0
        self.is_left = False

    def seek(self, graph: JobGraph, answer: Callable[[JobGraph | ExternalError], None]) -> None:
        self.sought.append(graph.vertices[0].parallelism)
        answer(self.fits or graph)

    def reserve(self, graph: JobGraph) -> None:
        wanted = graph.vertices[0].parallelism
        if wanted > self.total:
            raise TooFewSlots(wanted, self.total, "add executors")
        self.reserved.append(wanted)

    def limit(self, graph: JobGraph, rescaled: Future[None]) -> None:
        self.limited = graph

    def up(
        self, graph: JobGraph, rescale: Callable[[Mapping[VertexId, int]], Future[None]]
    ) -> None:
        self.is_up += 1
        self.rescale = rescale

    def down(self) -> None:
        self.is_up = 0

    def leave(self) -> None:
        self.is_left = True

    def waiting_for(self) -> str | None:
        return None


def test_too_few_slots_refuse_a_rescale_before_anything_is_stopped(
    play: Play, config: dict[str, str]
) -> None:
    job = play(config, slots=Slots(3))
    attempt = job.running()

    with pytest.raises(TooFewSlots, match=r"needs 4 task slots.*has 3"):
        job.master.rescale(4)
    assert attempt.tasks[0].inbox.empty()
    assert job.master.status() is JobStatus.RUNNING


def test_slots_are_reserved_before_and_sought_after_the_stop(
    play: Play, config: dict[str, str]
) -> None:
    slots = Slots(3)
    job = play(config, slots=slots)

    second = rescaled(job, job.running(), 3)
    assert (slots.reserved, slots.sought) == ([3], [3])
    rescaled(job, second, 1)
    assert (slots.reserved, slots.sought) == ([3], [3, 1]), "in use until the attempt is over"


def test_slots_that_were_reserved_in_vain_are_given_back(
    play: Play, config: dict[str, str]
) -> None:
    slots = Slots(3)
    job = play(config | {"execution.checkpointing.tolerable-failed-checkpoints": "5"}, slots=slots)
    attempt = job.running()
    wish = job.master.rescale(3)
    checkpoint, _ = triggered(attempt)
    attempt.tasks[0].say(CheckpointDeclined(checkpoint, "disk full"))

    with pytest.raises(RescaleFailed):
        wish.result(PATIENCE)
    assert slots.reserved == [3, 2]


def test_whoever_has_the_slots_can_rescale_the_job_by_its_vertices(
    play: Play, config: dict[str, str]
) -> None:
    slots = Slots(3)
    job = play(config, slots=slots)
    first = job.running()
    wish = slots.rescale({VERTEX: 3})
    acknowledge(first)
    leave(first)
    job.next_attempt().come_up()

    assert wish.result(PATIENCE) is None


def test_slots_may_decide_otherwise(play: Play, config: dict[str, str]) -> None:
    slots = Slots(4)
    job = play(config, slots=slots)
    first = job.running()
    slots.fits = job.master.execution.graph
    wish = job.master.rescale(4)
    acknowledge(first)
    leave(first)
    second = job.next_attempt()

    with pytest.raises(RescaleFailed, match="slots that are there are for another parallelism"):
        wish.result(PATIENCE)
    assert len(second.come_up()) == 2
