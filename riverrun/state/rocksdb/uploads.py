"""Which files of the database the store has, so that a checkpoint writes only the others.

RocksDB never changes a table file and never gives its name to another while the database lives, so a
name and a size say which file is meant. A file counts as there when a checkpoint that has it completed;
the files of the latest completed checkpoint are enough, since older ones may be deleted with theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock

from riverrun.protocol.snapshots import KeyedPart


class Uploads:
    """The parts that later checkpoints may refer to; used from the task's thread and those that write."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._there: Mapping[str, KeyedPart] = {}
        self._pending: dict[int, Mapping[str, KeyedPart]] = {}
        self._latest = -1

    def restored(self, parts: Sequence[KeyedPart]) -> None:
        """The database began with these files of a checkpoint that this job owns."""
        with self._lock:
            self._there = _shared(parts)

    def begin(self, checkpoint: int) -> None:
        """``checkpoint`` was frozen; nothing of it is there yet."""
        with self._lock:
            self._pending[checkpoint] = {}

    def there(self) -> Mapping[str, KeyedPart]:
        """The files by name."""
        return self._there

    def wrote(self, checkpoint: int, parts: Sequence[KeyedPart]) -> None:
        """``checkpoint`` will have these files if it completes."""
        with self._lock:
            if checkpoint in self._pending:
                self._pending[checkpoint] = _shared(parts)

    def completed(self, checkpoint: int) -> None:
        """``checkpoint`` completed; those before it will not, or are not needed."""
        with self._lock:
            parts = self._pending.get(checkpoint)
            if parts is not None and checkpoint > self._latest:
                self._there, self._latest = parts, checkpoint
            self._pending = {
                number: found for number, found in self._pending.items() if number > checkpoint
            }

    def aborted(self, checkpoint: int) -> None:
        """Nothing of ``checkpoint`` can be relied on."""
        with self._lock:
            self._pending.pop(checkpoint, None)


def _shared(parts: Sequence[KeyedPart]) -> dict[str, KeyedPart]:
    return {part.name: part for part in parts if part.shared}
