"""Savepoints beside checkpoints: when they begin, what they touch, and how a job stops with one."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.coordinator_events import (
    AnswerRequest,
    AttemptEnded,
    AttemptRunning,
    CheckpointRequested,
    Declined,
    DeleteFiles,
    DiscardSavepoint,
    FailAttempt,
    MetadataFailed,
    MetadataWritten,
    SavepointRequested,
    SubtaskFinished,
    SubtaskInputOver,
    TellAborted,
    TellCompleted,
    Trigger,
    WriteMetadata,
)
from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.core.lifecycle import JobStatus
from riverrun.core.options import CheckpointingMode
from riverrun.protocol.barriers import BarrierMode, SavepointOrder
from tests.unit.checkpoint.coordinator_bench import (
    A0,
    A1,
    ALL,
    B,
    Bench,
    Make,
    files,
    meta,
    of,
    snapshot,
    triggered,
)

FOLDER = "/savepoints/savepoint-000000-0000000000ff"
PLACE = f"{FOLDER}/_metadata"
PLAIN = SavepointOrder(FOLDER)
STOP = SavepointOrder(FOLDER, stop=True)
DRAIN = SavepointOrder(FOLDER, stop=True, drain=True)


def ask(bench: Bench, order: SavepointOrder = PLAIN, request: int = 7) -> list[Any]:
    return bench.feed(SavepointRequested(request, order))


def finish(bench: Bench, savepoint: int, folder: str = FOLDER) -> list[Any]:
    """Everybody acknowledges, and the metadata is written."""
    bench.ack_all(savepoint)
    return bench.feed(MetadataWritten(savepoint, f"{folder}/_metadata", 9))


# when it begins


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"unaligned": True},
        {"unaligned": True, "aligned_timeout_ms": 5},
        {"mode": CheckpointingMode.AT_LEAST_ONCE},
    ],
)
def test_a_savepoint_is_aligned_however_checkpoints_are_taken(
    running: Make, settings: dict[str, Any]
) -> None:
    (trigger,) = ask(running(**settings))

    assert isinstance(trigger, Trigger)
    assert trigger.tasks == (A0, A1)
    assert trigger.options.mode is BarrierMode.ALIGNED
    assert trigger.options.aligned_timeout_ms == 0
    assert trigger.options.savepoint == PLAIN


def test_a_savepoint_waits_neither_for_checkpoints_nor_for_a_pause_nor_for_others(
    running: Make,
) -> None:
    bench = running(min_pause_ms=1_000_000)
    bench.pass_time(100)

    assert triggered(ask(bench)) == [2]
    assert triggered(ask(bench, SavepointOrder("/other-00"), 8)) == [3]


def test_a_job_without_periodic_checkpoints_has_savepoints(running: Make) -> None:
    bench = running(interval_ms=None)

    assert triggered(ask(bench)) == [1]
    assert finish(bench, 1) == [AnswerRequest(7, 1, PLACE, None)]
    assert bench.coordinator.deadline() is None


def test_a_periodic_checkpoint_waits_for_the_end_of_a_savepoint_that_fills_its_place(
    running: Make,
) -> None:
    bench = running()
    ask(bench)

    assert bench.pass_time(250) == []
    assert triggered(finish(bench, 1)) == [2]


def test_a_savepoint_does_not_put_off_the_next_periodic_checkpoint(running: Make) -> None:
    bench = running(max_concurrent=2)
    bench.now = 90.0
    ask(bench)

    assert triggered(bench.pass_time(100)) == [2]


def test_there_is_no_savepoint_of_a_job_that_does_not_run(make: Make) -> None:
    assert ask(make()) == [AnswerRequest(7, None, None, "the job does not run at present")]


# how it completes


def test_the_metadata_says_that_it_is_a_savepoint_and_goes_to_its_folder(running: Make) -> None:
    bench = running()
    ask(bench)
    (write,) = bench.ack_all(1)

    assert isinstance(write, WriteMetadata)
    assert write.folder == FOLDER
    assert write.metadata.savepoint


def test_a_complete_savepoint_concerns_nobody_but_who_asked_for_it(running: Make) -> None:
    bench = running()
    bench.pass_time(100)
    bench.complete(1)
    ask(bench)

    assert finish(bench, 2) == [AnswerRequest(7, 2, PLACE, None)]
    assert [each.id for each in bench.coordinator.retained] == [1]
    assert bench.coordinator.stopped_with is None


def test_neither_subsumes_the_other(running: Make) -> None:
    bench = running(max_concurrent=3)
    bench.pass_time(100)
    ask(bench)
    bench.pass_time(200)

    assert of(TellAborted, bench.complete(3)) == [TellAborted(1, ALL)]
    assert finish(bench, 2)[-1] == AnswerRequest(7, 2, PLACE, None)
    assert [each.id for each in bench.coordinator.retained] == [3]


def test_checkpoints_after_a_savepoint_do_not_delete_its_files(running: Make) -> None:
    bench = running()
    bench.pass_time(100)
    bench.complete(1)
    ask(bench)
    finish(bench, 2)
    bench.pass_time(200)

    (deleted,) = of(DeleteFiles, bench.complete(3))
    assert deleted.locations == (meta(1), *files(1))
    last = bench.coordinator.on_job_end(JobStatus.FINISHED)
    assert last == DeleteFiles((meta(3), *files(3)))


def test_the_state_of_finished_subtasks_stays_until_the_savepoint_has_it(running: Make) -> None:
    bench = running()
    bench.pass_time(100)
    for task in ALL:
        bench.ack(task, 1, union=f"{task}-union")
    bench.written(1)
    bench.feed(SubtaskFinished(A0))
    ask(bench)
    bench.pass_time(200)

    bench.ack_all(2, A1, B)
    (written,) = bench.feed(MetadataWritten(2, PLACE, 9))[:1]
    assert isinstance(written, AnswerRequest)


def test_an_acknowledgement_that_comes_twice_deletes_nothing_of_a_savepoint(running: Make) -> None:
    bench = running()
    ask(bench)
    bench.ack_all(1, A0)

    assert bench.ack_all(1, A0) == []
    finish(bench, 1)
    assert bench.ack_all(1) == []


# how it fails


def test_a_lost_savepoint_is_cleared_and_does_not_count(running: Make) -> None:
    bench = running()
    ask(bench)
    bench.ack_all(1, A0)

    decisions = bench.feed(Declined(B, 1, "disk full"))

    why = "subtask b/0 declined: disk full"
    assert decisions == [
        TellAborted(1, ALL),
        DiscardSavepoint(FOLDER),
        AnswerRequest(7, None, None, why),
    ]
    assert bench.coordinator.left_over_savepoints == (FOLDER,)
    assert triggered(bench.pass_time(100)) == [2]
    assert of(FailAttempt, bench.feed(Declined(B, 2, "disk full"))) != []


def test_what_comes_late_of_a_lost_savepoint_is_cleared_too(running: Make) -> None:
    bench = running()
    ask(bench)
    bench.feed(Declined(B, 1, "disk full"))

    assert bench.ack_all(1, A0) == [DiscardSavepoint(FOLDER)]


def test_a_savepoint_that_takes_too_long_is_given_up(running: Make) -> None:
    bench = running()
    ask(bench)

    decisions = bench.pass_time(1000)

    assert decisions[:2] == [TellAborted(1, ALL), DiscardSavepoint(FOLDER)]
    assert of(FailAttempt, decisions) == []


def test_a_savepoint_is_cleared_once_it_is_known_whether_its_metadata_was_written(
    running: Make,
) -> None:
    bench = running()
    ask(bench)
    bench.ack_all(1)

    assert of(DiscardSavepoint, bench.feed(AttemptEnded("killed"))) == []
    assert bench.coordinator.is_writing
    assert bench.feed(MetadataWritten(1, PLACE, 9)) == [DiscardSavepoint(FOLDER)]


def test_a_savepoint_whose_metadata_cannot_be_written_is_cleared(running: Make) -> None:
    bench = running()
    ask(bench)
    bench.ack_all(1)

    decisions = bench.feed(MetadataFailed(1, "no room"))

    assert decisions[1:] == [DiscardSavepoint(FOLDER), AnswerRequest(7, None, None, "no room")]


def test_a_savepoint_that_a_subtask_missed_by_finishing_is_taken_again_elsewhere(
    running: Make,
) -> None:
    bench = running()
    ask(bench)

    decisions = bench.feed(SubtaskFinished(A0))

    assert of(AnswerRequest, decisions) == []
    (trigger,) = of(Trigger, decisions)
    assert trigger.tasks == (A1,)
    again = trigger.options.savepoint
    assert again == SavepointOrder("/savepoints/savepoint-000000-000000000100")


def test_the_end_of_an_attempt_is_the_end_of_its_savepoints(running: Make) -> None:
    bench = running()
    ask(bench)

    assert bench.feed(AttemptEnded("killed")) == [
        DiscardSavepoint(FOLDER),
        AnswerRequest(7, None, None, "killed"),
    ]


# stopping


@pytest.mark.parametrize("order", [STOP, DRAIN])
def test_nothing_else_begins_while_a_job_is_being_stopped(
    running: Make, order: SavepointOrder
) -> None:
    bench = running(max_concurrent=3)
    ask(bench, order)

    assert bench.pass_time(500) == []
    why = "the job is being stopped with a savepoint"
    assert ask(bench, PLAIN, 8) == [AnswerRequest(8, None, None, why)]
    assert bench.feed(CheckpointRequested(9)) == [AnswerRequest(9, None, None, why)]
    bench.feed(*(SubtaskInputOver(task) for task in ALL))
    assert triggered(bench.pass_time(600)) == []


def test_the_tasks_hear_of_the_savepoint_that_the_job_stops_with(running: Make) -> None:
    bench = running(max_concurrent=2)
    bench.pass_time(100)
    ask(bench, STOP)

    assert finish(bench, 2) == [
        TellCompleted(2, ALL),
        TellAborted(1, ALL),
        AnswerRequest(7, 2, PLACE, None),
    ]
    assert bench.coordinator.stopped_with == PLACE
    assert bench.pass_time(500) == []
    assert bench.feed(*(SubtaskFinished(task) for task in ALL)) == []


def test_a_job_that_could_not_stop_goes_on(running: Make) -> None:
    bench = running()
    ask(bench, STOP)

    decisions = bench.feed(Declined(B, 1, "disk full"))

    assert decisions[0] == TellAborted(1, ALL)
    assert of(FailAttempt, decisions) == []
    assert triggered(bench.pass_time(100)) == [2]
    assert triggered(ask(bench, STOP)) == [3]


def test_a_job_whose_streams_were_ended_in_vain_goes_back_to_its_checkpoint(running: Make) -> None:
    bench = running(tolerable_failures=5)
    ask(bench, DRAIN)

    decisions = bench.feed(Declined(B, 1, "disk full"))

    (failed,) = of(FailAttempt, decisions)
    assert "the streams were ended for a savepoint that then failed" in failed.reason
    assert "disk full" in failed.reason
    assert triggered(bench.pass_time(500)) == []


@pytest.mark.parametrize("order", [STOP, DRAIN])
def test_the_next_attempt_knows_nothing_of_a_stop(running: Make, order: SavepointOrder) -> None:
    bench = running()
    ask(bench, order)
    decisions = bench.feed(AttemptEnded("killed"))
    bench.feed(AttemptRunning())

    assert of(FailAttempt, decisions) == []
    assert triggered(bench.pass_time(100)) == [2]


@pytest.mark.parametrize("order", [STOP, DRAIN])
def test_a_stop_that_a_subtask_missed_by_finishing_is_tried_again(
    running: Make, order: SavepointOrder
) -> None:
    bench = running()
    ask(bench, order)

    (trigger,) = of(Trigger, bench.feed(SubtaskFinished(A0)))

    assert trigger.options.stops
    assert trigger.options.drains == order.drain
    bench.ack_all(2, A1, B)
    again = bench.feed(MetadataWritten(2, "/again/_metadata", 9))
    assert again == [TellCompleted(2, (A1, B)), AnswerRequest(7, 2, "/again/_metadata", None)]


# figures


def test_figures_tell_savepoints_from_checkpoints(running: Make) -> None:
    bench = running(max_concurrent=2)
    bench.pass_time(100)
    bench.complete(1)
    ask(bench)
    finish(bench, 2)
    ask(bench, STOP)

    statistics = bench.coordinator.statistics
    assert [(each.id, each.checkpoint_type) for each in statistics.history] == [
        (3, "SYNC_SAVEPOINT"),
        (2, "SAVEPOINT"),
        (1, "CHECKPOINT"),
    ]
    assert (statistics.counts.total, statistics.counts.completed) == (3, 2)
    latest = statistics.latest
    assert latest.savepoint is not None
    assert latest.completed is not None
    assert (latest.savepoint.id, latest.completed.id) == (2, 1)
    assert latest.savepoint.external_path == PLACE


# what is not the job's own


def claimed(*paths: str) -> CompletedCheckpoint:
    metadata = CheckpointMetadata(
        1, "somebody else", "other", 0, (), (snapshot(B, *paths),), savepoint=True
    )
    return CompletedCheckpoint(metadata, PLACE)


def test_a_claimed_savepoint_goes_when_a_checkpoint_takes_its_place(make: Make) -> None:
    bench = make(before=(claimed("theirs"),))
    bench.feed(AttemptRunning(), at=0)
    bench.pass_time(100)

    assert of(DeleteFiles, bench.complete(2)) == [DeleteFiles((PLACE, "theirs"))]


def test_a_job_that_fails_leaves_what_it_claimed(make: Make) -> None:
    bench = make(before=(claimed("theirs"),))

    assert bench.coordinator.on_job_end(JobStatus.FAILED) is None


def test_a_job_that_is_done_deletes_what_it_claimed(make: Make) -> None:
    bench = make(before=(claimed("theirs"),))

    assert bench.coordinator.on_job_end(JobStatus.FINISHED) == DeleteFiles((PLACE, "theirs"))


def test_borrowed_files_are_referred_to_and_never_deleted(make: Make) -> None:
    bench = make(borrowed=("theirs",))
    bench.feed(AttemptRunning(), at=0)
    bench.pass_time(100)
    bench.ack(A0, 1, "theirs", "mine")
    bench.ack_all(1, A1, B)
    bench.written(1)
    bench.pass_time(200)

    (deleted,) = of(DeleteFiles, bench.complete(2))
    assert "mine" in deleted.locations
    assert "theirs" not in deleted.locations
    assert bench.ack(A0, 9, "theirs") == []
