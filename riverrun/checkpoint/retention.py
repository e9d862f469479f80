"""Which files must stay: those of complete checkpoints that are kept, and of those on their way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from riverrun.checkpoint.completed import CompletedCheckpoint
from riverrun.checkpoint.references import files_of
from riverrun.checkpoint.shared_files import SharedFiles
from riverrun.core.lifecycle import JobStatus
from riverrun.core.options import ExternalizedCheckpointRetention
from riverrun.protocol.snapshots import SubtaskSnapshot

_REMEMBERED: Final = 50_000
"""Deleted files whose names are known, so that a checkpoint that refers to one is found out."""

_NONE: Final = -1
"""Stands for a checkpoint where files are looked at that belong to none."""
_BORROWED: Final = -2
"""Stands for a checkpoint of somebody else's whose files this job may refer to, and never deletes."""


class Retention:
    """Complete checkpoints, oldest first, and the files of all checkpoints.

    Every file is counted in ``shared``, also those that only one checkpoint uses: a late or repeated
    message then cannot make anybody delete what is in use. What is returned as files may be deleted.
    """

    def __init__(
        self,
        keep: int,
        shared: SharedFiles,
        retained: Sequence[CompletedCheckpoint],
        borrowed: Sequence[str] = (),
    ) -> None:
        self._keep = keep
        self._shared = shared
        self._retained = sorted(retained, key=lambda each: each.id)
        self._on_their_way: set[int] = set()
        self._deleted: dict[str, None] = {}
        for checkpoint in self._retained:
            shared.register(checkpoint.id, (file.path for file in files_of(checkpoint.metadata)))
        if borrowed:
            shared.register(_BORROWED, borrowed)

    @property
    def retained(self) -> tuple[CompletedCheckpoint, ...]:
        """Oldest first."""
        return tuple(self._retained)

    def last_part(self, vertex: str, subtask: int) -> SubtaskSnapshot | None:
        """What the subtask contributed to the newest complete checkpoint."""
        parts = self._retained[-1].metadata.subtasks if self._retained else ()
        return next(
            (part for part in parts if (part.vertex, part.subtask) == (vertex, subtask)), None
        )

    def begin(self, checkpoint: int) -> None:
        """The checkpoint begins: its subtasks may refer to any file that is needed now."""
        self._on_their_way.add(checkpoint)
        self._shared.begin(checkpoint)

    def hold(self, checkpoint: int, snapshot: SubtaskSnapshot) -> list[str]:
        """The snapshot is part of a checkpoint on its way.

        Returns:
            Files of it that were deleted before: the checkpoint must not complete.
        """
        paths = {file.path for file in files_of(snapshot)}
        self._shared.register(checkpoint, paths)
        return sorted(path for path in paths if path in self._deleted)

    def release(self, checkpoint: int) -> tuple[str, ...]:
        """The checkpoint on its way is given up."""
        self._on_their_way.remove(checkpoint)
        return self._free(self._shared.unregister(checkpoint))

    def unwanted(self, checkpoint: int, snapshot: SubtaskSnapshot) -> tuple[str, ...]:
        """Nobody waits for this part of the checkpoint: its files go, unless somebody needs them."""
        if checkpoint in self._on_their_way:
            self.hold(checkpoint, snapshot)
            return ()
        self.hold(_NONE, snapshot)
        return self._free(self._shared.unregister(_NONE))

    def complete(self, completed: CompletedCheckpoint) -> tuple[str, ...]:
        """Keep a checkpoint that was on its way, with all that it holds."""
        self._on_their_way.remove(completed.id)
        self._retained = sorted((*self._retained, completed), key=lambda each: each.id)
        return self._free(self._shared.end(completed.id))

    def take_excess(self) -> list[CompletedCheckpoint]:
        """Take out those that are too many, oldest first."""
        taken, self._retained = self._retained[: -self._keep], self._retained[-self._keep :]
        return taken

    def take_newer(self, checkpoint: int, location: str) -> list[CompletedCheckpoint]:
        """Take out those newer than this one, if it is kept itself."""
        if not any((each.id, each.location) == (checkpoint, location) for each in self._retained):
            return []
        newer = [each for each in self._retained if each.id > checkpoint]
        self._retained = [each for each in self._retained if each.id <= checkpoint]
        return newer

    def take_all(self) -> list[CompletedCheckpoint]:
        """Take out all of them."""
        taken, self._retained = self._retained, []
        return taken

    def delete(self, taken: CompletedCheckpoint) -> tuple[str, ...]:
        """What goes with a checkpoint that was taken out.

        Its metadata comes first: a checkpoint that cannot be restored should not look as if it could.
        """
        return taken.location, *self._free(self._shared.unregister(taken.id))

    def _free(self, paths: Iterable[str]) -> tuple[str, ...]:
        free = tuple(paths)
        self._deleted.update(dict.fromkeys(free))
        while len(self._deleted) > _REMEMBERED:
            del self._deleted[next(iter(self._deleted))]
        return free


def survives(status: JobStatus, retention: ExternalizedCheckpointRetention) -> bool:
    """Whether the checkpoints of a job that ends in ``status`` stay.

    >>> survives(JobStatus.CANCELED, ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    True
    >>> survives(JobStatus.FAILED, ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS)
    False
    """
    match status:
        case JobStatus.FINISHED:
            return False
        case JobStatus.CANCELED:
            return retention is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
        case JobStatus.FAILED:
            return retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        case _:
            return True
