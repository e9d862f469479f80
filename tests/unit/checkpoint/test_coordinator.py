from __future__ import annotations

import pytest

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.coordinator_events import (
    AnswerRequest,
    AttemptEnded,
    AttemptRestored,
    AttemptRunning,
    CheckpointRequested,
    Declined,
    DeleteFiles,
    FailAttempt,
    MetadataFailed,
    SubtaskFinished,
    SubtaskInputOver,
    TellAborted,
    TellCompleted,
    Trigger,
    WriteMetadata,
)
from riverrun.core.lifecycle import JobStatus
from riverrun.protocol.snapshots import (
    SubtaskSnapshot,
)
from riverrun.storage.blobs import FileRef
from tests.unit.checkpoint.coordinator_bench import (
    A0,
    A1,
    ALL,
    RETAIN,
    B,
    Make,
    files,
    meta,
    of,
    triggered,
)

# when a checkpoint begins


def test_nothing_happens_before_the_attempt_runs(make: Make) -> None:
    bench = make()

    assert bench.pass_time(1000) == []
    assert bench.coordinator.deadline() is None


def test_the_first_checkpoint_comes_after_one_interval_at_the_sources(running: Make) -> None:
    bench = running()

    assert bench.coordinator.deadline() == 100
    assert bench.pass_time(99) == []
    (trigger,) = bench.pass_time(100)

    assert isinstance(trigger, Trigger)
    assert (trigger.checkpoint, trigger.timestamp_ms, trigger.tasks) == (1, 100, (A0, A1))
    assert bench.coordinator.deadline() == 1100


def test_unaligned_checkpoints_begin_everywhere_at_once(running: Make) -> None:
    (trigger,) = running(unaligned=True).pass_time(100)

    assert trigger.tasks == ALL


def test_the_next_checkpoint_waits_for_the_end_of_the_one_before(running: Make) -> None:
    bench = running()
    bench.pass_time(100)

    assert bench.pass_time(250) == []
    assert triggered(bench.complete(1)) == [2]


def test_a_quick_checkpoint_is_followed_after_the_interval(running: Make) -> None:
    bench = running()
    bench.pass_time(100)

    assert triggered(bench.complete(1)) == []
    assert bench.coordinator.deadline() == 200
    assert triggered(bench.pass_time(200)) == [2]


def test_the_pause_begins_at_the_end_of_the_one_before(running: Make) -> None:
    bench = running(min_pause_ms=80)
    bench.pass_time(100)
    bench.pass_time(170)
    bench.complete(1)

    assert bench.coordinator.deadline() == 250
    assert bench.pass_time(249) == []
    assert triggered(bench.pass_time(250)) == [2]


def test_as_many_checkpoints_as_allowed_run_at_once(running: Make) -> None:
    bench = running(max_concurrent=2)

    assert [triggered(bench.pass_time(at)) for at in (100, 200, 300)] == [[1], [2], []]
    assert triggered(bench.complete(1)) == [3]


# how it completes


def test_metadata_is_written_when_every_subtask_has_acknowledged(running: Make) -> None:
    bench = running()
    bench.pass_time(100)

    assert bench.ack_all(1, B, A1) == []
    (write,) = bench.ack_all(1, A0)

    assert isinstance(write, WriteMetadata)
    metadata = write.metadata
    assert (metadata.checkpoint, metadata.job_name, metadata.timestamp_ms) == (1, "spend", 100)
    assert [(each.vertex, each.subtask) for each in metadata.subtasks] == [
        ("a", 0),
        ("a", 1),
        ("b", 0),
    ]
    assert [(each.vertex, each.parallelism) for each in metadata.vertices] == [("a", 2), ("b", 1)]
    assert bench.coordinator.is_writing


def test_a_checkpoint_is_complete_when_its_metadata_is_written(running: Make) -> None:
    bench = running()
    bench.pass_time(100)
    bench.ack_all(1)

    assert bench.written(1) == [TellCompleted(1, ALL)]
    latest = bench.coordinator.latest
    assert latest is not None
    assert (latest.id, latest.location, latest.size) == (1, meta(1), 5)
    assert not bench.coordinator.is_writing


def test_saying_things_twice_changes_nothing(running: Make) -> None:
    bench = running()
    bench.pass_time(100)
    bench.ack_all(1, A0)

    assert bench.ack_all(1, A0, A0) == []
    bench.ack_all(1, A1, B)
    bench.written(1)
    assert bench.written(1) == []
    assert bench.ack_all(1) == []
    assert bench.feed(AttemptRunning()) == []


def test_only_so_many_checkpoints_are_kept(running: Make) -> None:
    bench = running(retained=2)
    decisions = []
    for number in (1, 2, 3):
        bench.pass_time(100 * number)
        decisions = bench.complete(number)

    assert [each.id for each in bench.coordinator.retained] == [2, 3]
    assert decisions == [TellCompleted(3, ALL), DeleteFiles((meta(1), *files(1)))]


def test_files_that_a_kept_checkpoint_refers_to_outlive_the_one_that_wrote_them(
    running: Make,
) -> None:
    bench = running()
    bench.pass_time(100)
    for task in ALL:
        bench.ack(task, 1, "base", f"{task}-1")
    bench.written(1)

    bench.pass_time(200)
    for task in ALL:
        bench.ack(task, 2, "base", f"{task}-2")

    (deleted,) = of(DeleteFiles, bench.written(2))
    assert deleted.locations == (meta(1), *(f"{task}-1" for task in ALL))


def test_older_checkpoints_on_their_way_are_given_up_when_a_newer_one_completes(
    running: Make,
) -> None:
    bench = running(max_concurrent=2)
    bench.pass_time(100)
    bench.ack_all(1, A0)
    bench.pass_time(200)

    decisions = bench.complete(2)

    assert decisions[:2] == [TellCompleted(2, ALL), TellAborted(1, ALL)]
    assert of(DeleteFiles, decisions) == [DeleteFiles(files(1, A0))]
    assert of(FailAttempt, decisions) == []


# how it fails


def test_a_checkpoint_that_takes_too_long_is_given_up(running: Make) -> None:
    bench = running(tolerable_failures=1)
    bench.pass_time(100)
    bench.ack_all(1, A0)

    decisions = bench.pass_time(1100)

    assert decisions[:2] == [TellAborted(1, ALL), DeleteFiles(files(1, A0))]
    assert triggered(decisions) == [2]
    failed = bench.coordinator.statistics.latest.failed
    assert failed is not None
    assert failed.failure_message == (
        "2 of 3 subtasks did not acknowledge within 1000 ms: a/1, b/0"
    )


def test_a_declined_checkpoint_is_given_up_and_fails_the_attempt(running: Make) -> None:
    bench = running()
    bench.pass_time(100)

    decisions = bench.feed(Declined(B, 1, "disk full"))

    assert decisions == [
        TellAborted(1, ALL),
        FailAttempt(
            "1 checkpoints failed in a row, 0 are tolerated; the last was checkpoint 1: "
            "subtask b/0 declined: disk full"
        ),
    ]
    assert bench.feed(Declined(A0, 1, "too")) == []
    assert bench.coordinator.deadline() is None


def test_only_failures_in_a_row_count(running: Make) -> None:
    bench = running(tolerable_failures=1)
    outcomes = []
    for number, fails in enumerate((True, False, True, True), start=1):
        bench.pass_time(bench.now + 100)
        decisions = bench.feed(Declined(B, number, "full")) if fails else bench.complete(number)
        outcomes.append(len(of(FailAttempt, decisions)))

    assert outcomes == [0, 0, 0, 1]


def test_metadata_that_cannot_be_written_fails_the_checkpoint(running: Make) -> None:
    bench = running(tolerable_failures=1)
    bench.pass_time(100)
    bench.ack_all(1)

    decisions = bench.feed(MetadataFailed(1, "unreachable", meta(1)))

    assert decisions == [DeleteFiles((meta(1),)), TellAborted(1, ALL), DeleteFiles(files(1))]
    assert bench.coordinator.latest is None


def test_a_late_acknowledgement_leaves_nothing_behind(running: Make) -> None:
    bench = running(tolerable_failures=1)
    bench.pass_time(100)
    bench.complete(1)
    bench.pass_time(200)
    bench.feed(Declined(B, 2, "full"))

    # The file of the first checkpoint is still needed, the other one is not.
    assert bench.ack(A0, 2, "a0-1", "a0-2") == [DeleteFiles(("a0-2",))]
    assert bench.ack(A0, 77, "a0-77") == [DeleteFiles(("a0-77",))]


def test_a_part_that_refers_to_deleted_files_fails_the_checkpoint_but_not_the_job(
    running: Make,
) -> None:
    bench = running()
    for number in (1, 2):
        bench.pass_time(100 * number)
        bench.complete(number)
    bench.pass_time(300)

    decisions = bench.ack(A0, 3, "a0-1", "a0-3")

    assert decisions[0] == TellAborted(3, ALL)
    assert of(FailAttempt, decisions) == []
    assert bench.coordinator.deadline() == 400


# attempts


def test_the_end_of_an_attempt_ends_its_checkpoints(running: Make) -> None:
    bench = running()
    bench.pass_time(100)
    bench.ack_all(1, A0)

    assert bench.feed(AttemptEnded("boom")) == [DeleteFiles(files(1, A0))]
    assert bench.coordinator.deadline() is None
    assert bench.ack_all(1, B) == [DeleteFiles(files(1, B))]


def test_numbers_go_on_in_the_next_attempt(running: Make) -> None:
    bench = running()
    bench.pass_time(100)
    bench.feed(AttemptEnded("boom"))
    bench.feed(AttemptRunning(), at=500)

    assert triggered(bench.pass_time(599)) == []
    assert triggered(bench.pass_time(600)) == [2]


def test_a_checkpoint_whose_attempt_ended_does_not_complete(running: Make) -> None:
    bench = running()
    bench.pass_time(100)
    bench.ack_all(1)

    # Its files stay until it is clear whether there is metadata that names them.
    assert bench.feed(AttemptEnded("boom")) == []
    assert bench.coordinator.is_writing
    assert bench.written(1) == [DeleteFiles((meta(1), *files(1)))]
    assert not bench.coordinator.is_writing
    assert bench.coordinator.latest is None


def test_an_attempt_that_goes_on_from_an_older_checkpoint_drops_the_newer_ones(
    running: Make,
) -> None:
    bench = running(retained=2)
    for number in (1, 2):
        bench.pass_time(100 * number)
        bench.complete(number)
    bench.feed(AttemptEnded("boom"))

    assert bench.feed(AttemptRestored(1, meta(1))) == [DeleteFiles((meta(2), *files(2)))]
    assert [each.id for each in bench.coordinator.retained] == [1]


def test_checkpoints_of_before_belong_to_the_job(running: Make, make: Make) -> None:
    before = running()
    before.pass_time(100)
    before.complete(1)
    (old,) = before.coordinator.retained

    after = make([CompletedCheckpoint(old.metadata, old.location)])
    after.feed(AttemptRestored(1, meta(1)), AttemptRunning())
    after.pass_time(100)

    assert of(DeleteFiles, after.complete(2)) == [DeleteFiles((meta(1), *files(1)))]


# subtasks that finish


def test_subtasks_whose_producers_have_finished_are_triggered_directly(running: Make) -> None:
    bench = running()

    bench.feed(SubtaskFinished(A0))
    (trigger,) = bench.pass_time(100)
    assert trigger.tasks == (A1,)
    bench.complete(1, A1, B)

    bench.feed(SubtaskFinished(A1))
    (trigger,) = bench.pass_time(200)
    assert trigger.tasks == (B,)


def test_finished_subtasks_are_in_the_checkpoint_as_such(running: Make) -> None:
    bench = running()
    bench.feed(SubtaskFinished(A0))
    bench.pass_time(100)

    (write,) = bench.ack_all(1, A1, B)

    assert write.metadata.subtasks[0] == SubtaskSnapshot("a", 0, finished=True)
    assert [each.finished for each in write.metadata.subtasks] == [True, False, False]


def test_a_checkpoint_that_a_finishing_subtask_missed_is_taken_again_at_once(
    running: Make,
) -> None:
    bench = running()
    bench.pass_time(100)
    bench.ack_all(1, A1)

    decisions = bench.feed(SubtaskFinished(A0), at=110)

    assert decisions[:2] == [TellAborted(1, (A1, B)), DeleteFiles(files(1, A1))]
    assert triggered(decisions) == [2]
    assert of(FailAttempt, decisions) == []


def test_a_checkpoint_that_a_finished_subtask_acknowledged_goes_on(running: Make) -> None:
    bench = running()
    bench.pass_time(100)
    bench.ack_all(1, A0)

    assert bench.feed(SubtaskFinished(A0)) == []
    assert len(of(WriteMetadata, bench.ack_all(1, A1, B))) == 1
    assert bench.written(1) == [TellCompleted(1, (A1, B))]


def test_union_state_of_a_finished_subtask_is_carried_on_while_its_vertex_runs(
    running: Make,
) -> None:
    bench = running()
    bench.pass_time(100)
    bench.ack(A0, 1, "keys", union="mine")
    bench.complete(1, A1, B)
    bench.feed(SubtaskFinished(A0))
    bench.pass_time(200)

    (write,) = bench.ack_all(2, A1, B)
    (operator,) = write.metadata.subtasks[0].operators
    assert operator.keyed is None
    assert [part.blob for part in operator.lists] == [FileRef("mine", 1, "d")]
    (deleted,) = of(DeleteFiles, bench.written(2))
    assert "mine" not in deleted.locations
    assert "keys" in deleted.locations

    bench.feed(SubtaskFinished(A1))
    bench.pass_time(300)
    (write,) = bench.ack_all(3, B)
    assert write.metadata.subtasks[0] == SubtaskSnapshot("a", 0, finished=True)
    assert "mine" in of(DeleteFiles, bench.written(3))[0].locations


def test_without_checkpoints_after_finish_there_are_none(running: Make) -> None:
    bench = running(after_finish=False)
    bench.feed(SubtaskFinished(A0))

    assert bench.pass_time(1000) == []
    assert bench.coordinator.deadline() is None


def test_the_last_checkpoint_comes_at_once_when_nobody_has_anything_to_do(running: Make) -> None:
    bench = running(min_pause_ms=80)

    assert bench.feed(SubtaskInputOver(A0), SubtaskInputOver(A1)) == []
    (trigger,) = bench.feed(SubtaskInputOver(B), at=10)

    assert trigger.tasks == (A0, A1)
    # Everybody leaves now, so that no other one is of any use.
    assert bench.complete(1) == [TellCompleted(1, ALL)]
    assert bench.pass_time(5000) == []
    assert bench.feed(*(SubtaskFinished(task) for task in ALL)) == []
    assert bench.coordinator.deadline() is None


def test_the_last_checkpoint_waits_for_the_one_on_its_way(running: Make) -> None:
    bench = running()
    bench.pass_time(100)

    assert bench.feed(*(SubtaskInputOver(task) for task in ALL), at=110) == []
    assert triggered(bench.complete(1)) == [2]


def test_a_checkpoint_on_its_way_may_turn_out_to_be_the_last(running: Make) -> None:
    bench = running()
    bench.pass_time(100)
    bench.feed(*(SubtaskInputOver(task) for task in ALL), at=110)

    bench.ack_all(1, finished=True)

    assert bench.written(1) == [TellCompleted(1, ALL)]


def test_the_last_checkpoint_waits_for_those_that_are_leaving(running: Make) -> None:
    bench = running()
    bench.pass_time(100)
    bench.ack_all(1, A0, A1, finished=True)
    bench.ack_all(1, B)
    bench.feed(*(SubtaskInputOver(task) for task in ALL), at=110)

    assert triggered(bench.written(1)) == []
    assert triggered(bench.feed(SubtaskFinished(A0))) == []
    assert triggered(bench.feed(SubtaskFinished(A1))) == [2]


def test_a_last_checkpoint_that_failed_is_tried_again_soon(running: Make) -> None:
    bench = running(tolerable_failures=5, interval_ms=60_000)
    bench.feed(*(SubtaskInputOver(task) for task in ALL))

    assert triggered(bench.feed(Declined(A0, 1, "full"), at=10)) == []
    assert bench.coordinator.deadline() == 1010
    assert triggered(bench.pass_time(1010)) == [2]


def test_a_job_that_is_over_before_all_of_it_ran_gets_its_last_checkpoint(make: Make) -> None:
    bench = make()
    bench.feed(*(SubtaskInputOver(task) for task in ALL))

    assert triggered(bench.feed(AttemptRunning())) == [1]


# on demand


def test_a_wish_begins_a_checkpoint_and_is_answered(running: Make) -> None:
    bench = running(interval_ms=None)

    assert triggered(bench.feed(CheckpointRequested(9))) == [1]
    assert bench.complete(1)[-1] == AnswerRequest(9, 1, meta(1), None)
    assert bench.pass_time(10_000) == []


def test_a_wish_waits_for_the_next_checkpoint_when_one_is_on_its_way(running: Make) -> None:
    bench = running()
    bench.pass_time(100)

    assert bench.feed(CheckpointRequested(9)) == []
    decisions = bench.complete(1)
    assert of(AnswerRequest, decisions) == []
    assert triggered(decisions) == [2]
    assert bench.complete(2)[-1] == AnswerRequest(9, 2, meta(2), None)


def test_a_wish_is_told_why_there_is_no_checkpoint(make: Make, running: Make) -> None:
    assert make().feed(CheckpointRequested(9)) == [
        AnswerRequest(9, None, None, "the job does not run at present")
    ]
    bench = running(tolerable_failures=1)
    bench.feed(CheckpointRequested(9))
    assert bench.feed(Declined(B, 1, "full"))[-1] == AnswerRequest(
        9, None, None, "subtask b/0 declined: full"
    )
    bench.feed(CheckpointRequested(10))
    assert bench.feed(AttemptEnded("boom"))[-1] == AnswerRequest(10, None, None, "boom")


def test_a_wish_outlives_a_checkpoint_that_a_finishing_subtask_missed(running: Make) -> None:
    bench = running()
    bench.feed(CheckpointRequested(9))

    assert triggered(bench.feed(SubtaskFinished(A0))) == [2]
    assert bench.complete(2, A1, B)[-1] == AnswerRequest(9, 2, meta(2), None)


def test_a_wish_is_answered_by_a_newer_checkpoint_that_completes_first(running: Make) -> None:
    bench = running(max_concurrent=2)
    bench.feed(CheckpointRequested(9))
    bench.pass_time(100)

    assert of(AnswerRequest, bench.complete(2)) == [AnswerRequest(9, 2, meta(2), None)]


# the end of the job


@pytest.mark.parametrize(
    ("status", "policy", "kept"),
    [
        (JobStatus.FINISHED, RETAIN.RETAIN_ON_CANCELLATION, False),
        (JobStatus.CANCELED, RETAIN.RETAIN_ON_CANCELLATION, True),
        (JobStatus.CANCELED, RETAIN.DELETE_ON_CANCELLATION, False),
        (JobStatus.FAILED, RETAIN.DELETE_ON_CANCELLATION, True),
        (JobStatus.FAILED, RETAIN.NO_EXTERNALIZED_CHECKPOINTS, False),
        (JobStatus.SUSPENDED, RETAIN.NO_EXTERNALIZED_CHECKPOINTS, True),
    ],
)
def test_the_end_of_the_job_keeps_or_deletes_its_checkpoints(
    running: Make, status: JobStatus, policy: RETAIN, kept: bool
) -> None:
    bench = running(retention=policy)
    bench.pass_time(100)
    bench.complete(1)
    bench.feed(AttemptEnded("over"))

    deleted = bench.coordinator.on_job_end(status)

    assert deleted == (None if kept else DeleteFiles((meta(1), *files(1))))
