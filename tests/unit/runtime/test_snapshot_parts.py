"""What a task says of its part of a checkpoint, and what is left in the store after an error."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.core.clock import ManualClock
from riverrun.core.errors import ProgramError
from riverrun.protocol.control import CheckpointAcknowledged, CheckpointDeclined
from riverrun.protocol.snapshots import SnapshotTimes
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.runtime.snapshot_parts import SnapshotParts
from riverrun.storage.checkpoint_files import CheckpointFiles
from riverrun.storage.memory import MemoryStorage
from riverrun.storage.snapshot_files import SnapshotFiles
from riverrun.storage.storage import StorageError

FOLDER = "memory://parts/job"


class Place:
    """A store that may refuse to delete, and a clock."""

    def __init__(self, *, deletes: bool = True) -> None:
        self.clock = ManualClock()
        self.storage = Store(deletes=deletes)
        self.parts = SnapshotParts(self._target_of, self.clock)

    def files(self) -> list[str]:
        return list(self.storage.sizes(FOLDER))

    def _target_of(self, snapshot: TaskSnapshot) -> CheckpointFiles:
        return CheckpointFiles(self.storage, FOLDER, snapshot.checkpoint, inline_limit=0)


class Store(MemoryStorage):
    def __init__(self, *, deletes: bool) -> None:
        super().__init__()
        self._deletes = deletes

    def delete(self, paths: Any) -> None:
        if not self._deletes:
            msg = "out of order"
            raise StorageError(msg)
        super().delete(paths)


class Frozen:
    """State of four bytes that takes 30 ms to write, and then raises ``error``."""

    def __init__(self, clock: ManualClock, error: Exception | None = None) -> None:
        self.is_discarded = False
        self._clock = clock
        self._error = error

    def write(self, files: SnapshotFiles) -> None:
        files.put(b"four", shared=False)
        self._clock.advance(30)
        if self._error is not None:
            raise self._error

    def discard(self) -> None:
        self.is_discarded = True


def snapshot_of(frozen: Frozen, checkpoint: int = 7) -> TaskSnapshot:
    deployment: Any = type("Deployment", (), {"vertex": "v", "subtask": 0})
    states: list[Any] = [frozen]
    return TaskSnapshot(checkpoint, deployment, states, SnapshotTimes())


def test_a_written_part_is_acknowledged_with_its_time_and_its_size() -> None:
    place = Place()

    answer = place.parts.write(snapshot_of(Frozen(place.clock)))

    assert isinstance(answer, CheckpointAcknowledged)
    assert (answer.checkpoint, answer.snapshot.vertex) == (7, "v")
    assert (answer.times.async_ms, answer.times.state_bytes) == (30, 4)
    assert len(place.files()) == 1


def test_an_aborted_checkpoint_is_not_written_and_not_answered() -> None:
    place = Place()
    frozen = Frozen(place.clock)
    place.parts.abort(7)

    assert place.parts.write(snapshot_of(frozen)) is None
    assert frozen.is_discarded
    assert place.files() == []


def test_an_abort_says_nothing_of_other_checkpoints() -> None:
    place = Place()
    place.parts.abort(6)
    place.parts.abort(8)

    assert place.parts.write(snapshot_of(Frozen(place.clock))) is not None


@pytest.mark.parametrize("deletes", [True, False])
def test_a_part_that_cannot_be_written_is_declined(
    caplog: pytest.LogCaptureFixture, *, deletes: bool
) -> None:
    place = Place(deletes=deletes)
    frozen = Frozen(place.clock, StorageError("disk full"))

    answer = place.parts.write(snapshot_of(frozen))

    assert answer == CheckpointDeclined(7, "StorageError: disk full")
    assert frozen.is_discarded
    assert bool(place.files()) is not deletes
    assert "snapshot not written checkpoint=7" in caplog.messages
    assert any("files not deleted" in message for message in caplog.messages) is not deletes


def test_a_part_without_a_place_to_write_to_is_declined() -> None:
    clock = ManualClock()
    frozen = Frozen(clock)

    def nowhere(_: TaskSnapshot) -> CheckpointFiles:
        msg = "no such bucket"
        raise StorageError(msg)

    answer = SnapshotParts(nowhere, clock).write(snapshot_of(frozen))

    assert answer == CheckpointDeclined(7, "StorageError: no such bucket")
    assert frozen.is_discarded


def test_state_that_can_never_be_stored_fails_the_task() -> None:
    place = Place()
    frozen = Frozen(place.clock, ProgramError("a lock cannot be pickled"))

    with pytest.raises(ProgramError, match="a lock"):
        place.parts.write(snapshot_of(frozen))

    assert frozen.is_discarded
    assert place.files() == []
