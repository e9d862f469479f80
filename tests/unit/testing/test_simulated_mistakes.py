"""The simulator can fail: each of these breaks one law of exactly-once, and some seed shows it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.pending import PendingCheckpoint
from riverrun.checkpoint.references import files_of
from riverrun.checkpoint.retention import Retention
from riverrun.checkpoint.store import CheckpointStore
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.local.job import LocalJob
from riverrun.local.surroundings import Client
from riverrun.protocol.frames import EncodedRun
from riverrun.runtime.checkpoints import TaskCheckpoints
from riverrun.runtime.deferred import Deferred
from riverrun.runtime.inputs import ChannelLogs, Inputs
from riverrun.runtime.operators.sink import SinkOperator
from riverrun.runtime.source import SourceDriver
from riverrun.storage.blobs import FileRef
from riverrun.storage.checkpoint_files import SavedCheckpointFiles
from riverrun.testing.simulate import Faults, SimulationFailed, Variety, simulate
from tests.unit.testing.simulated_programs import (
    batching,
    counting,
    passing,
    settled,
    united,
)

Build = Callable[[StreamExecutionEnvironment], DataStream]

ALIGNED = Variety(modes=("aligned",))
UNALIGNED = Variety(modes=("unaligned",))


def found(build: Build, variety: Variety = ALIGNED, **arguments: Any) -> SimulationFailed:
    with pytest.raises(SimulationFailed) as caught:
        simulate(build, seeds=range(400), variety=variety, **arguments)
    return caught.value


def test_channels_that_do_not_wait_for_barriers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TaskCheckpoints, "blocked", frozenset())

    assert "too many" in found(counting).reason


def test_a_checkpoint_that_misses_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    nearly = property(lambda pending: len(pending._awaited) <= 1)
    monkeypatch.setattr(PendingCheckpoint, "is_acknowledged", nearly)

    found(counting)


def test_a_source_that_forgets_its_position(monkeypatch: pytest.MonkeyPatch) -> None:
    def fresh(driver: SourceDriver) -> list[Any]:
        context = driver._context
        splits = driver._spec.source.create_splits(context.parallelism)
        return splits[context.subtask_index :: context.parallelism]

    monkeypatch.setattr(SourceDriver, "snapshot_splits", fresh)

    assert "too many" in found(passing).reason


def test_a_sink_that_commits_before_the_checkpoint_is_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    snapshot = SinkOperator.snapshot

    def too_early(sink: SinkOperator, checkpoint: int, timestamp: int) -> None:
        snapshot(sink, checkpoint, timestamp)
        sink.checkpoint_completed(checkpoint)

    monkeypatch.setattr(SinkOperator, "snapshot", too_early)

    assert "too many" in found(passing).reason


def test_a_sink_that_drops_what_an_aborted_checkpoint_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def drop(sink: SinkOperator, checkpoint: int) -> None:
        sink._prepared = [each for each in sink._prepared if each.checkpoint != checkpoint]

    monkeypatch.setattr(SinkOperator, "checkpoint_aborted", drop)

    assert "missing" in found(passing).reason


def test_a_client_that_takes_what_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    take = Client.take

    def take_again(client: Client, subtask: int, run: Any) -> bool:
        client._taken.clear()
        return take(client, subtask, run)

    monkeypatch.setattr(Client, "take", take_again)

    assert "too many" in found(passing).reason


def test_records_in_flight_that_an_unaligned_checkpoint_leaves_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ChannelLogs, "add", lambda *_: None)

    assert "missing" in found(counting, UNALIGNED).reason


def test_records_that_wait_for_a_barrier_and_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = Inputs.release

    def forget(inputs: Inputs) -> None:
        kept = Deferred(1 << 20, io.BytesIO)
        for channel, element in inputs._deferred or ():
            if not isinstance(element, EncodedRun):
                kept.append(channel, element)
        inputs._deferred = kept
        release(inputs)

    monkeypatch.setattr(Inputs, "release", forget)

    found(counting, faults=Faults.none())


def test_an_attempt_that_is_over_and_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalJob, "_is_current", lambda *_: True)

    found(united, faults=Faults(zombies=3))


def test_a_job_master_that_goes_on_from_the_wrong_checkpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_all = CheckpointStore._read_all

    def oldest_first(store: CheckpointStore, *arguments: Any) -> Any:
        readable, skipped = read_all(store, *arguments)
        return tuple(reversed(readable)), skipped

    monkeypatch.setattr(CheckpointStore, "_read_all", oldest_first)

    retained = Variety(modes=("aligned",), retained=(3,))
    found(settled, retained, faults=Faults(master_crashes=3))


def test_files_that_are_deleted_while_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    delete = Retention.delete

    def too_much(retention: Retention, taken: CompletedCheckpoint) -> tuple[str, ...]:
        return *delete(retention, taken), *(file.path for file in files_of(taken.metadata))

    monkeypatch.setattr(Retention, "delete", too_much)

    shared = Variety(modes=("aligned",), incremental=(True,), retained=(1,))
    found(settled, shared, faults=Faults(task_crashes=6))


def test_restored_state_that_is_not_the_one_that_was_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = SavedCheckpointFiles.read
    first: dict[int, bytes] = {}

    def always_the_first(files: SavedCheckpointFiles, blob: Any) -> bytes:
        data = read(files, blob)
        if isinstance(blob, FileRef):
            return data
        return first.setdefault(len(data), data)

    monkeypatch.setattr(SavedCheckpointFiles, "read", always_the_first)

    found(batching)
