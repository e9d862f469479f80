"""Which files a snapshot may refer to, and what has changed since they were written.

A snapshot is a base and the deltas after it. It may refer only to files of a checkpoint that is known to be
complete: those of any other are deleted when it fails. So a delta holds everything that changed since
that checkpoint was taken, also what other checkpoints took meanwhile. And when one checkpoint completes,
the files of the one before are deleted unless it refers to them too; so while checkpoints are on their way,
further ones build on the same files as they do, whichever of them completes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from riverrun.protocol.snapshots import KeyedPart

Changes: TypeAlias = Mapping[str, set[object]] | None
"""Addresses by the name of the state; None where so many changed that nobody kept count."""

_MOST_DELTAS: Final = 20
LARGEST_SHARE: Final = 0.5
"""Of the base; above it the deltas cost more to keep and to read than a new base to write."""


@dataclass(slots=True)
class History:
    """The snapshots of one backend that later ones may build on."""

    relied_on: tuple[KeyedPart, ...] | None = None
    """The parts of a complete checkpoint; None when the next snapshot must be a base."""
    _completed: tuple[int, tuple[KeyedPart, ...]] | None = None
    """The last complete checkpoint, when it is not relied on yet."""
    _written: dict[int, tuple[KeyedPart, ...]] = field(default_factory=dict)
    _changes: dict[int, Changes] = field(default_factory=dict)
    """What changed before each freeze and after the one before, since the parts relied on."""
    _open: dict[int, bool] = field(default_factory=dict)
    """Checkpoints whose outcome is not known, and whether they are bases."""
    _renewed: int = -1
    """Checkpoints up to this one hold values in a form that must not be built on."""

    def freeze(
        self, checkpoint: int, changes: Changes, entries: int
    ) -> dict[str, set[object]] | None:
        """Take in what changed since the last freeze; ``entries`` is how many there are in all.

        Returns:
            What a delta on the parts relied on must hold, or None when a base is due.
        """
        if not self._open:
            self._go_on()
        self._changes[checkpoint] = changes
        if self.relied_on is None or _is_long(self.relied_on) or any(self._open.values()):
            since = None
        else:
            since = self._since(entries * LARGEST_SHARE)
        self._open[checkpoint] = since is None
        return since

    def wrote(self, checkpoint: int, parts: tuple[KeyedPart, ...]) -> None:
        """The snapshot of ``checkpoint`` consists of ``parts``; called from the writing thread."""
        self._written[checkpoint] = parts

    def completed(self, checkpoint: int) -> None:
        """Its parts can be relied on; what was frozen before it cannot complete any more."""
        parts = self._written.get(checkpoint)
        if parts is not None:
            self._completed = (checkpoint, parts)
        for known in [number for number in list(self._written) if number <= checkpoint]:
            del self._written[known]
        for known in [number for number in self._open if number <= checkpoint]:
            del self._open[known]

    def aborted(self, checkpoint: int) -> None:
        """Its parts must not be relied on; what it took stays due."""
        self._written.pop(checkpoint, None)
        self._open.pop(checkpoint, None)

    def renew(self) -> None:
        """Build on nothing that was frozen up to now."""
        self.relied_on = None
        self._renewed = max(self._changes, default=self._renewed)

    def _since(self, most: float) -> dict[str, set[object]] | None:
        """All changes since the parts relied on; None when they are more than ``most``."""
        since: dict[str, set[object]] = {}
        for taken in self._changes.values():
            if taken is None or sum(map(len, taken.values())) > most:
                return None
            for name, addresses in taken.items():
                # Most often there is one set, which nobody changes any more.
                before = since.get(name)
                since[name] = before | addresses if before else addresses
        return None if sum(map(len, since.values())) > most else since

    def _go_on(self) -> None:
        """Rely on the last complete checkpoint."""
        if self._completed is None:
            return
        checkpoint, parts = self._completed
        self._completed = None
        if checkpoint > self._renewed:
            self.relied_on = parts
        for older in [number for number in self._changes if number <= checkpoint]:
            del self._changes[older]


def _is_long(parts: tuple[KeyedPart, ...]) -> bool:
    if not parts:
        return False
    deltas = sum(part.blob.size for part in parts[1:])
    return len(parts) > _MOST_DELTAS or deltas > parts[0].blob.size * LARGEST_SHARE
