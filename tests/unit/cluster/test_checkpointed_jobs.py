"""A job that takes checkpoints: what it starts from, what becomes of them, and a store in trouble."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from riverrun.checkpoint.saved_operators import RestoreRefused
from riverrun.checkpoint.statistics import CheckpointingStatistics
from riverrun.core.errors import CheckpointFailed, ConfigError, Failure
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus, TaskStatus
from riverrun.graph.deployment import TaskDeployment
from riverrun.protocol.control import (
    Cancel,
    CheckpointAborted,
    CheckpointAcknowledged,
    CheckpointCompleted,
    CheckpointDeclined,
    StatusChanged,
    TriggerCheckpoint,
)
from riverrun.protocol.snapshots import SnapshotTimes, SubtaskSnapshot
from riverrun.storage.blobs import FileRef
from riverrun.storage.checkpoint_files import CheckpointFiles
from riverrun.storage.local import LocalStorage
from riverrun.storage.storage import FileMissing, StorageError
from tests.unit.cluster.played_job import (
    BOOM,
    CHECKPOINTS,
    PATIENCE,
    RESTARTS,
    VERTEX,
    PlayedAttempt,
    PlayedJob,
)

Play = Callable[..., PlayedJob]


class TroubledStorage:
    """A store that does what it is told only after ``trouble(operation)``, which may raise or wait."""

    def __init__(self, root: Path) -> None:
        self._storage = LocalStorage(str(root))
        self.trouble: Callable[[str], None] = lambda _: None

    def __getattr__(self, operation: str) -> Any:
        method = getattr(self._storage, operation)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.trouble(operation)
            return method(*args, **kwargs)

        return call


def unreachable(operation: str) -> None:
    raise StorageError(f"{operation}: no route to the store")


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    return CHECKPOINTS | RESTARTS | {"execution.checkpointing.dir": str(tmp_path)}


@pytest.fixture
def clients() -> Any:
    with ThreadPoolExecutor() as pool:
        yield pool


class Client:
    """Asks for checkpoints in a thread of its own, as a user's program would."""

    def __init__(self, pool: ThreadPoolExecutor, job: PlayedJob) -> None:
        self._pool, self._job = pool, job

    def wish(self) -> Future[str]:
        return self._pool.submit(self._job.master.trigger_checkpoint, PATIENCE)

    def checkpoint(self, attempt: PlayedAttempt, blobs: Any = None) -> str:
        wish = self.wish()
        attempt.checkpoint(blobs)
        return wish.result(PATIENCE)


@pytest.fixture
def client(clients: ThreadPoolExecutor) -> Callable[[PlayedJob], Client]:
    return lambda job: Client(clients, job)


MakeClient = Callable[[PlayedJob], Client]


def statistics(job: PlayedJob) -> CheckpointingStatistics:
    found = job.master.checkpoints()
    assert found is not None
    return found


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def wait_until(condition: Callable[[], bool]) -> None:
    turns = 0
    while not condition():
        threading.Event().wait(0.005)
        turns += 1
        assert turns < PATIENCE / 0.005


def written(job: PlayedJob, checkpoint: int, content: bytes) -> FileRef:
    storage = LocalStorage(str(job.folder))
    blob = CheckpointFiles(storage, str(job.folder), checkpoint, inline_limit=0).put(
        content, shared=False
    )
    assert isinstance(blob, FileRef)
    return blob


def test_the_next_attempt_starts_from_the_newest_checkpoint(
    play: Play, client: MakeClient, config: dict[str, str]
) -> None:
    job = play(config)
    first = job.running()
    assert first.restores() == [None, None]
    client(job).checkpoint(first)
    client(job).checkpoint(first)

    first.fail()
    second = job.next_attempt()

    assert second.restores() == [2, 2]
    for deployment in second.layers[0]:
        assert isinstance(deployment, TaskDeployment)
        assert deployment.checkpoint_folder == str(job.folder)
        assert deployment.restore is not None
        assert deployment.restore.owned
    assert statistics(job).counts.restored == 1
    second.come_up()
    client(job).checkpoint(second)
    latest = statistics(job).latest.completed
    assert latest is not None
    assert latest.id == 3


def test_without_a_checkpoint_the_next_attempt_starts_from_nothing(
    play: Play, config: dict[str, str]
) -> None:
    job = play(config)
    job.running().fail()

    assert job.next_attempt().restores() == [None, None]


def test_checkpoints_are_triggered_by_time(play: Play, config: dict[str, str]) -> None:
    job = play(config | {"execution.checkpointing.interval": "10 ms"})
    attempt = job.running()

    assert [attempt.checkpoint() for _ in range(3)] == [1, 2, 3]


def test_a_checkpoint_that_is_on_its_way_when_the_attempt_fails_does_not_count(
    play: Play, client: MakeClient, config: dict[str, str]
) -> None:
    job = play(config)
    first = job.running()
    client(job).checkpoint(first)
    wish = client(job).wish()
    for task in first.tasks:
        task.expect(TriggerCheckpoint)
    first.tasks[0].acknowledge(2)

    first.fail()
    second = job.next_attempt()
    first.tasks[1].acknowledge(2)
    second.come_up()
    second.tasks[1].acknowledge(2)

    assert second.restores() == [1, 1]
    with pytest.raises(CheckpointFailed, match="the job is FAILING"):
        wish.result(PATIENCE)
    second.tasks[0].say(StatusChanged(TaskStatus.RUNNING))
    client(job).checkpoint(second)
    assert statistics(job).counts.completed == 2


def test_files_of_a_late_acknowledgement_are_deleted(
    play: Play, client: MakeClient, config: dict[str, str]
) -> None:
    job = play(config)
    attempt = job.running()
    client(job).checkpoint(attempt)
    late = written(job, 1, b"nobody wants it")

    attempt.tasks[0].acknowledge(1, late)

    wait_until(lambda: not Path(late.path).exists())


def test_a_declined_checkpoint_fails_the_attempt_with_its_reason(
    play: Play, client: MakeClient, config: dict[str, str]
) -> None:
    job = play(config)
    attempt = job.running()
    wish = client(job).wish()
    checkpoint = attempt.tasks[0].expect(TriggerCheckpoint).checkpoint

    attempt.tasks[0].say(CheckpointDeclined(checkpoint, "the disk is full"))

    with pytest.raises(CheckpointFailed, match="declined: the disk is full"):
        wish.result(PATIENCE)
    attempt.tasks[0].expect(CheckpointAborted)
    attempt.tasks[0].expect(Cancel)
    for task in attempt.tasks:
        task.close()
    assert job.next_attempt().number == 1
    [record] = job.master.failures()
    assert record.failure.type_name == "CheckpointFailed"
    assert "the last was checkpoint 1" in record.failure.message
    assert "the disk is full" in record.failure.message


def test_a_job_goes_on_while_the_store_is_away(
    play: Play, client: MakeClient, config: dict[str, str], tmp_path: Path
) -> None:
    store = TroubledStorage(tmp_path)
    tolerant = config | {"execution.checkpointing.tolerable-failed-checkpoints": "10"}
    job = play(tolerant, storage=store)
    attempt = job.running()
    client(job).checkpoint(attempt)

    store.trouble = unreachable
    for _ in range(3):
        wish = client(job).wish()
        for task in attempt.tasks:
            task.acknowledge(task.expect(TriggerCheckpoint).checkpoint)
        with pytest.raises(CheckpointFailed, match="no route to the store"):
            wish.result(PATIENCE)
        for task in attempt.tasks:
            task.expect(CheckpointAborted)
    assert job.master.status() is JobStatus.RUNNING
    assert statistics(job).counts.failed == 3
    store.trouble = lambda _: None

    client(job).checkpoint(attempt)
    assert statistics(job).counts.completed == 2
    attempt.finish()
    assert job.wait() is JobStatus.FINISHED
    assert job.master.failures() == ()
    assert files(tmp_path) == set()


def test_a_restart_waits_for_a_store_that_is_away(
    play: Play, client: MakeClient, config: dict[str, str], tmp_path: Path
) -> None:
    store = TroubledStorage(tmp_path)
    job = play(config | {"restart-strategy.fixed-delay.attempts": "1000000"}, storage=store)
    attempt = job.running()
    client(job).checkpoint(attempt)

    store.trouble = unreachable
    attempt.fail()
    wait_until(lambda: len(job.master.failures()) > 3)
    assert job.started.empty()
    store.trouble = lambda _: None

    assert job.next_attempt().restores() == [1, 1]
    assert job.master.failures()[-1].failure.type_name == "StorageError"


class Hanging:
    """Trouble that lasts until it is let go."""

    def __init__(self) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()

    def __call__(self, operation: str) -> None:
        self.entered.set()
        self.go_on.wait(PATIENCE)


def test_a_store_that_hangs_holds_up_neither_the_tasks_nor_a_cancellation(
    play: Play,
    client: MakeClient,
    config: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("riverrun.cluster.job_master.master._STORE_PATIENCE_S", 0.0)
    store, hanging = TroubledStorage(tmp_path), Hanging()
    job = play(config, storage=store)
    attempt = job.running()
    store.trouble = hanging
    client(job).wish()
    for task in attempt.tasks:
        task.acknowledge(task.expect(TriggerCheckpoint).checkpoint)
    assert hanging.entered.wait(PATIENCE)

    assert job.master.status() is JobStatus.RUNNING
    job.master.cancel()
    for task in attempt.tasks:
        task.expect(Cancel)
        task.close()
    assert job.wait() is JobStatus.CANCELED
    hanging.go_on.set()
    assert job.master._io.close(PATIENCE)
    assert files(tmp_path) == set()


def test_a_job_that_reads_its_checkpoint_can_be_cancelled(
    play: Play,
    client: MakeClient,
    config: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("riverrun.cluster.job_master.master._STORE_PATIENCE_S", 0.0)
    store, hanging = TroubledStorage(tmp_path), Hanging()
    job = play(config, storage=store)
    attempt = job.running()
    client(job).checkpoint(attempt)
    store.trouble = hanging
    attempt.fail()
    assert hanging.entered.wait(PATIENCE)

    job.master.cancel()

    assert job.wait() is JobStatus.CANCELED
    hanging.go_on.set()
    assert job.master._io.close(PATIENCE)
    assert job.started.empty()


@pytest.mark.parametrize("damage", ["cut off", "missing", "a file is missing"])
def test_a_damaged_checkpoint_is_passed_over(
    play: Play, client: MakeClient, config: dict[str, str], damage: str
) -> None:
    job = play(config | {"execution.checkpointing.num-retained": "2"})
    first = job.running()
    client(job).checkpoint(first)
    state = written(job, 2, b"state")
    client(job).checkpoint(first, {0: state})
    metadata = job.folder / "chk-2" / "_metadata"
    match damage:
        case "cut off":
            metadata.write_bytes(metadata.read_bytes()[:-10])
        case "missing":
            metadata.unlink()
        case _:
            Path(state.path).unlink()

    first.fail()
    second = job.next_attempt()

    assert second.restores() == [1, 1]
    assert [record.failure.type_name for record in job.master.failures()] == [
        "ValueError",
        "CheckpointSkipped",
    ]
    assert "chk-2" in job.master.failures()[1].failure.message
    second.come_up()
    client(job).checkpoint(second)
    latest = statistics(job).latest.completed
    assert latest is not None
    assert latest.id == 3


def test_a_job_whose_checkpoints_are_all_damaged_does_not_begin_from_nothing(
    play: Play, client: MakeClient, config: dict[str, str]
) -> None:
    job = play(config)
    first = job.running()
    client(job).checkpoint(first)
    (job.folder / "chk-1" / "_metadata").write_bytes(b"")

    first.fail()

    assert job.wait() is JobStatus.FAILED
    failure = job.master.failure()
    assert failure is not None
    assert failure.type_name == "NoUsableCheckpoint"
    assert job.started.empty()


def test_a_checkpoint_that_a_task_cannot_read_is_passed_over(
    play: Play, client: MakeClient, config: dict[str, str]
) -> None:
    job = play(config | {"execution.checkpointing.num-retained": "2"})
    first = job.running()
    client(job).checkpoint(first)
    client(job).checkpoint(first)
    first.fail()
    second = job.next_attempt()
    assert second.restores() == [2, 2]

    second.connect(0).fail(Failure("FileCorrupt", "expected another digest"))
    second.end(Failure("ExternalError", "the engine"))

    assert job.next_attempt().restores() == [1, 1]


def test_the_last_checkpoint_of_bounded_input_lets_the_tasks_finish(
    play: Play, config: dict[str, str], tmp_path: Path
) -> None:
    job = play(config)
    attempt = job.running()

    assert attempt.end_input() == 1
    attempt.finish()

    assert job.wait() is JobStatus.FINISHED
    assert statistics(job).counts.completed == 1
    assert files(tmp_path) == set()


def test_checkpoints_go_on_when_some_tasks_have_finished(
    play: Play, client: MakeClient, config: dict[str, str]
) -> None:
    job = play(config)
    first = job.running()
    gone, stays = first.tasks
    gone.finish()

    wish = client(job).wish()
    checkpoint = stays.expect(TriggerCheckpoint).checkpoint
    stays.acknowledge(checkpoint)
    stays.expect(CheckpointCompleted)
    wish.result(PATIENCE)
    stays.fail()

    restores = [
        deployment.restore
        for deployment in job.next_attempt().layers[0]
        if isinstance(deployment, TaskDeployment)
    ]
    assert [restore is not None and restore.finished for restore in restores] == [True, False]


@pytest.mark.parametrize(
    ("retention", "end", "kept"),
    [
        ("RETAIN_ON_CANCELLATION", "finish", False),
        ("RETAIN_ON_CANCELLATION", "cancel", True),
        ("RETAIN_ON_CANCELLATION", "fail", True),
        ("DELETE_ON_CANCELLATION", "cancel", False),
        ("DELETE_ON_CANCELLATION", "fail", True),
        ("NO_EXTERNALIZED_CHECKPOINTS", "cancel", False),
        ("NO_EXTERNALIZED_CHECKPOINTS", "fail", False),
    ],
)
def test_what_stays_after_the_end_is_what_the_retention_says(
    play: Play, client: MakeClient, config: dict[str, str], retention: str, end: str, kept: bool
) -> None:
    tmp_path = Path(config["execution.checkpointing.dir"])
    key = "execution.checkpointing.externalized-checkpoint-retention"
    job = play(config | {key: retention, "restart-strategy.type": "none"})
    attempt = job.running()
    client(job).checkpoint(attempt)
    half = written(job, 2, b"a part of a checkpoint that never was")

    match end:
        case "finish":
            attempt.finish()
        case "cancel":
            job.master.cancel()
        case _:
            attempt.fail()
    job.wait()

    left = {name for name in files(tmp_path) if "owner" not in name}
    assert left == ({f"{job.master.job_id}/chk-1/_metadata"} if kept else set())
    assert not Path(half.path).exists()


def test_a_job_without_a_folder_uses_one_that_goes_with_it(play: Play, client: MakeClient) -> None:
    job = play(CHECKPOINTS | RESTARTS)
    assert job.place is not None
    assert job.place.temporary is not None
    attempt = job.running()
    assert client(job).checkpoint(attempt).startswith(str(job.place.temporary))
    attempt.finish()

    assert job.wait() is JobStatus.FINISHED
    assert not job.place.temporary.exists()


def test_a_checkpoint_on_demand_says_where_it_is(
    play: Play, client: MakeClient, config: dict[str, str]
) -> None:
    job = play(config)
    attempt = job.running()

    location = client(job).checkpoint(attempt)

    assert location == str(job.folder / "chk-1")
    assert (Path(location) / "_metadata").is_file()


def test_a_checkpoint_cannot_be_had_from_a_job_that_does_not_run(
    play: Play, config: dict[str, str]
) -> None:
    starting, ended, without = play(config), play(config), play({})
    starting.start()
    ended.running().finish()
    ended.wait()
    without.running()

    with pytest.raises(CheckpointFailed, match="does not run at present"):
        starting.master.trigger_checkpoint(PATIENCE)
    with pytest.raises(CheckpointFailed, match="has ended"):
        ended.master.trigger_checkpoint(PATIENCE)
    with pytest.raises(CheckpointFailed, match=r"set 'execution\.checkpointing\.interval'"):
        without.master.trigger_checkpoint(PATIENCE)
    assert without.master.checkpoints() is None


def test_waiting_for_a_checkpoint_ends_in_time(play: Play, config: dict[str, str]) -> None:
    job = play(config)
    job.running()

    with pytest.raises(TimeoutError):
        job.master.trigger_checkpoint(0.0)


def lost(job: PlayedJob, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the JobMaster go as if it were killed: nothing is cleaned up."""
    monkeypatch.setattr(job.master, "_checkpointing", None)


def test_a_job_whose_job_master_is_gone_goes_on_from_its_latest_checkpoint(
    play: Play, client: MakeClient, config: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = JobId.random()
    killed = play(config, job=name)
    attempt = killed.running()
    client(killed).checkpoint(attempt)
    client(killed).checkpoint(attempt)
    half = written(killed, 3, b"a part of a checkpoint that never was")
    lost(killed, monkeypatch)

    job = play(config, job=name, resume=True)
    resumed = job.start()

    assert resumed.restores() == [2, 2]
    resumed.come_up()
    client(job).checkpoint(resumed)
    latest = statistics(job).latest.completed
    assert latest is not None
    assert latest.id == 4, "3 was begun"
    assert not Path(half.path).exists()
    wait_until(lambda: not (job.folder / "chk-2").exists())


def test_resuming_a_job_that_has_no_checkpoint_starts_it(
    play: Play, config: dict[str, str]
) -> None:
    job = play(config, resume=True)

    assert job.start().restores() == [None, None]


def test_a_resumed_job_that_cannot_start_keeps_its_checkpoints(
    play: Play, client: MakeClient, config: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = JobId.random()
    killed = play(config, job=name)
    client(killed).checkpoint(killed.running())
    lost(killed, monkeypatch)
    job = play(config, job=name, resume=True)
    job.refusals.put(StorageError("no room"))

    with pytest.raises(StorageError, match="no room"):
        job.master.start()

    assert (job.folder / "chk-1" / "_metadata").is_file()


def test_a_job_master_whose_job_was_taken_over_ends_and_deletes_nothing(
    play: Play, client: MakeClient, config: dict[str, str]
) -> None:
    name = JobId.random()
    old = play(config, job=name)
    attempt = old.running()
    client(old).checkpoint(attempt)
    new = play(config, job=name, resume=True)
    assert new.start().restores() == [1, 1]

    wish = client(old).wish()
    for task in attempt.tasks:
        task.acknowledge(task.expect(TriggerCheckpoint).checkpoint)

    with pytest.raises(CheckpointFailed, match="took the job over"):
        wish.result(PATIENCE)
    assert old.wait() is JobStatus.FAILED
    failure = old.master.failure()
    assert failure is not None
    assert failure.type_name == "JobTakenOver"
    assert old.started.empty()
    assert (old.folder / "chk-1" / "_metadata").is_file()


def test_a_job_starts_from_a_checkpoint_of_another_one(
    play: Play, client: MakeClient, config: dict[str, str]
) -> None:
    keep = config | {
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"
    }
    other = play(keep)
    location = client(other).checkpoint(other.running())
    other.master.cancel()
    other.wait()

    job = play(config, restore_from=location)
    first = job.start()

    assert first.restores() == [1, 1]
    for deployment in first.layers[0]:
        assert isinstance(deployment, TaskDeployment)
        assert deployment.restore is not None
        assert not deployment.restore.owned
    first.come_up()
    first.fail()
    assert job.next_attempt().restores() == [1, 1], "it has no checkpoint of its own yet"
    job.stop()
    assert Path(location).is_dir()


def test_a_checkpoint_that_does_not_fit_is_refused_at_the_submission(
    play: Play, client: MakeClient, config: dict[str, str], tmp_path: Path
) -> None:
    other = play(config)
    attempt = other.running()
    location = client(other).checkpoint(attempt, None)
    metadata = Path(location) / "_metadata"
    assert metadata.is_file()

    absent = play(config, restore_from=str(tmp_path / "nowhere"))
    with pytest.raises(FileMissing, match="nowhere"):
        absent.master.start()

    strange = play(config, restore_from=location, operator="cd" * 16)
    with pytest.raises(RestoreRefused, match="which the program does not have"):
        strange.master.start()
    assert strange.wait() is JobStatus.FAILED
    assert not strange.folder.exists()

    tolerant = play(config, restore_from=location, operator="cd" * 16, allow_non_restored=True)
    assert tolerant.start().restores() == [1, 1]


def test_a_job_without_a_lasting_place_cannot_be_resumed(play: Play) -> None:
    with pytest.raises(ConfigError, match=r"set 'execution\.checkpointing\.dir' as it was"):
        play(CHECKPOINTS, resume=True)
    with pytest.raises(ConfigError, match=r"set 'execution\.checkpointing\.interval' as it was"):
        play({}, resume=True)


def test_what_crashed_attempts_left_in_the_store_is_deleted(
    play: Play, client: MakeClient, config: dict[str, str]
) -> None:
    job = play(config)
    first = job.running()
    state = written(job, 1, b"state")
    client(job).checkpoint(first, {0: state})
    half = written(job, 2, b"uploaded, never acknowledged")

    first.fail()
    job.next_attempt().come_up()

    wait_until(lambda: not Path(half.path).exists())
    assert Path(state.path).exists()


def test_a_snapshot_of_a_subtask_that_is_not_there_changes_nothing(
    play: Play, client: MakeClient, config: dict[str, str]
) -> None:
    job = play(config)
    attempt = job.running()
    wish = client(job).wish()
    for task in attempt.tasks:
        task.expect(TriggerCheckpoint)
    strange = SubtaskSnapshot(VERTEX.value, 7)
    attempt.tasks[0].say(CheckpointAcknowledged(99, strange, SnapshotTimes()))
    for task in attempt.tasks:
        task.acknowledge(1)

    assert wish.result(PATIENCE).endswith("chk-1")
    attempt.fail(BOOM)
    assert job.next_attempt().restores() == [1, 1]
