"""Where parts are written: hidden while they are, visible when they are committed.

A sink has one staging folder below its base path, and each of its subtasks one in it:

    <base path>/.riverrun-inprogress/<sink>/<subtask>/.part-<writer>-<number>.inprogress

``<sink>`` stands for the job and the operator, so what lies in a subtask's folder when its writer opens is
from earlier attempts. It is needed until the next checkpoint is complete (the restored one may refer to
it), and by nobody afterwards.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from riverrun.connectors.files.sink_state import Discarded, EndedWriter, HeldPart, OpenPart, Pending
from riverrun.storage.storage import StorageError

__all__ = ["STAGING", "Lineage", "OutputFiles", "OutputLost", "PartFile"]

STAGING: Final = ".riverrun-inprogress"
ENDED: Final = "ended"
"""The folder, beside those of subtasks, in which writers that ended leave a note."""


class OutputLost(StorageError):  # noqa: N818
    """A file that a checkpoint counts on is gone."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """Whose files they are: the same for a subtask in all attempts of a job."""

    sink: str
    subtask: int
    parallelism: int

    @staticmethod
    def of(job_id: str, operator_id: str, subtask: int, parallelism: int) -> Lineage:
        """The lineage of a subtask of an operator of a job."""
        sink = hashlib.blake2b(f"{job_id}/{operator_id}".encode(), digest_size=6).hexdigest()
        return Lineage(sink, subtask, parallelism)

    def inherits(self, subtask: int) -> bool:
        """Whether what ``subtask`` left behind is this one's to clear away, at any old parallelism."""
        return subtask % self.parallelism == self.subtask


class PartFile(ABC):
    """A file that is being written; has what formats expect of a file that is open for bytes."""

    closed = False
    """Never: formats may close what they write to, but only the sink knows when a file is done."""

    @property
    @abstractmethod
    def location(self) -> str:
        """Where the bytes are, for messages and checkpoints."""

    @property
    @abstractmethod
    def target(self) -> str:
        """Where the file will be."""

    @abstractmethod
    def write(self, data: Any) -> int:
        """Append bytes."""

    @abstractmethod
    def tell(self) -> int:
        """How many bytes were written."""

    @abstractmethod
    def persist(self) -> None:
        """Everything that was written survives this process and this machine."""

    @abstractmethod
    def finish(self) -> Pending:
        """No more bytes follow; what to commit. Everything is persistent then."""

    @abstractmethod
    def discard(self) -> None:
        """Nobody wants the file: remove it; never raises."""

    @abstractmethod
    def abandon(self) -> None:
        """Release what this process holds; a checkpoint may still know the file. Never raises."""

    def flush(self) -> None:  # noqa: B027  (for formats, which have nothing to say here)
        """Nothing: ``persist`` does."""

    def close(self) -> None:  # noqa: B027  (for formats, which have nothing to say here)
        """Nothing: ``finish`` does."""

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


class OutputFiles(ABC):
    """The parts of one sink in one store. All methods raise StorageError and nothing else."""

    keeps_open: bool
    """Whether a part can go on after a checkpoint."""

    @abstractmethod
    def check(self) -> None:
        """Raise what is in the way of writing there: credentials, permissions, a file in the place."""

    @abstractmethod
    def open(self, bucket: str, name: str, *, held: bool = False) -> PartFile:
        """A new part of ``bucket``; with ``held`` one that is merged with others and never committed."""

    @abstractmethod
    def resume(self, part: OpenPart, name: str) -> PartFile | None:
        """Go on with a part under another name, from the bytes that belong to the checkpoint.

        None when the part is visible already: the job went back to a checkpoint before its commit.
        """

    @abstractmethod
    def hold(self, bucket: str, pending: Pending) -> HeldPart:
        """Make a part that was opened as ``held`` readable for the merge."""

    @abstractmethod
    def adopt(self, held: HeldPart, name: str) -> HeldPart:
        """The same held part in this writer's own folder."""

    @abstractmethod
    def promote(self, held: HeldPart, name: str) -> Pending | None:
        """Commit a held part as it is, if that is cheaper than to merge it with nothing."""

    @abstractmethod
    def leftovers(self) -> Discarded:
        """What earlier attempts left in the folders that this writer inherits."""

    @abstractmethod
    def commit(self, pending: Sequence[Pending], *, last: bool = False) -> None:
        """Make the parts visible; those that are so already are fine. Nothing comes after the ``last``.

        Raises:
            OutputLost: a part is neither pending nor visible.
        """

    @abstractmethod
    def discard(self, discarded: Discarded) -> None:
        """Remove what nobody needs; what is gone already is fine."""

    @abstractmethod
    def note_end(self, ended: EndedWriter) -> Iterable[EndedWriter]:
        """Remember that a writer ended; all of whom that is known now, at the same parallelism."""

    @abstractmethod
    def mark_complete(self, buckets: Iterable[str], name: str) -> None:
        """Write the empty marker ``name`` into the base path and ``buckets``, and forget who ended."""

    @abstractmethod
    def close(self) -> None:
        """Remove folders that are empty, as far as that works, and release connections."""


def lost(target: str, staged: str) -> OutputLost:
    """The error for a part that is neither pending nor visible."""
    return OutputLost(
        f"committing {target!r}: the checkpoint says that its records are in {staged!r}, and neither is "
        f"there; somebody removed or moved one of them, so the records of this part cannot be made "
        f"visible. Put the file back, or start from a savepoint that does not know it"
    )


def gone_back(location: str, found: str = "it is not there") -> OutputLost:
    """The error for a part of a checkpoint that is gone, or not as the checkpoint has it."""
    return OutputLost(
        f"going on with {location!r}: the checkpoint says that it holds records, and {found}; "
        f"the job went on after this checkpoint and removed the file, or somebody else did. Start from "
        f"the latest checkpoint or savepoint, or put the file back"
    )
