"""Which files may be deleted: those that no checkpoint needs and that none in flight may still refer to.

A subtask writes into a checkpoint only what the store does not have yet, and refers to files of an
earlier, completed checkpoint for the rest. Which files those are is known when it acknowledges, not
before. So a file that loses its last checkpoint waits until those that were in flight then have ended.
"""

from __future__ import annotations

from collections.abc import Iterable


class SharedFiles:
    """Who needs which file. Pure: it says what may be deleted, and somebody else deletes it.

    After a restart of the JobMaster it begins anew: register what the retained checkpoints refer to.

    >>> files = SharedFiles()
    >>> files.register(1, ["a", "b"])
    >>> files.begin(2)
    >>> files.register(2, ["b", "c"])
    >>> files.unregister(1)
    ()
    >>> files.end(2)
    ('a',)
    """

    def __init__(self) -> None:
        self._files: dict[int, set[str]] = {}
        self._needed_by: dict[str, set[int]] = {}
        self._in_flight: set[int] = set()
        self._waiting: dict[str, set[int]] = {}
        """Files that no checkpoint needs, with those in flight that may still turn out to refer to them."""

    def begin(self, checkpoint: int) -> None:
        """``checkpoint`` is in flight: what is needed now stays until it ends."""
        self._in_flight.add(checkpoint)

    def register(self, checkpoint: int, files: Iterable[str]) -> None:
        """``checkpoint`` needs ``files``, beside those that were registered for it before."""
        names = self._files.setdefault(checkpoint, set())
        for name in files:
            names.add(name)
            self._needed_by.setdefault(name, set()).add(checkpoint)
            self._waiting.pop(name, None)

    def end(self, checkpoint: int) -> tuple[str, ...]:
        """``checkpoint`` is in flight no more, because it is complete; the files that may be deleted now."""
        self._in_flight.discard(checkpoint)
        free = []
        for name, blockers in self._waiting.items():
            blockers.discard(checkpoint)
            if not blockers:
                free.append(name)
        for name in free:
            del self._waiting[name]
        return tuple(sorted(free))

    def unregister(self, checkpoint: int) -> tuple[str, ...]:
        """``checkpoint`` was aborted, or nobody wants to go back to it; the files that may be deleted now."""
        ended = self.end(checkpoint)
        free = []
        for name in self._files.pop(checkpoint, ()):
            needed_by = self._needed_by[name]
            needed_by.discard(checkpoint)
            if not needed_by:
                del self._needed_by[name]
                free.append(name)
        if not self._in_flight:
            return tuple(sorted((*ended, *free)))
        for name in free:
            self._waiting[name] = set(self._in_flight)
        return ended

    def checkpoints(self) -> tuple[int, ...]:
        """Those that need files, the oldest first."""
        return tuple(sorted(self._files))

    def needed(self) -> frozenset[str]:
        """Every file that is registered."""
        return frozenset(self._needed_by)

    def waiting(self) -> frozenset[str]:
        """Every file that nobody needs and that waits for the end of those in flight."""
        return frozenset(self._waiting)
