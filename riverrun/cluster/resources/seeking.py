"""A job that needs room: what it does about the slots that are there. No I/O, no threads, no clock.

The resource manager asks each seeker whenever something changed, and when the time that it named has
come. Times are milliseconds of a clock that never goes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from riverrun.core.errors import TooFewSlots


@dataclass(frozen=True, slots=True)
class Room:
    """The slots of the application as one job sees them."""

    total: int
    """All there are."""
    free: int
    """What this job may take: all but those of other jobs."""
    executors: int
    task_cpus: str = "1"
    """Spark's setting that says how many subtasks share a core."""
    can_grow: bool = True
    """Whether executors may still come; not so in local mode."""
    wanted_by_others: int = 0
    """What other jobs that wait need at least."""

    @property
    def used(self) -> int:
        """What other jobs hold."""
        return max(0, self.total - self.free)

    def words(self, needed: int) -> str:
        """What is waited for.

        >>> Room(total=2, free=2, executors=1).words(4)
        'waiting for 4 slots, 2 are there on 1 executor'
        >>> Room(total=8, free=2, executors=2).words(4)
        'waiting for 4 slots, 8 are there on 2 executors and 6 of them are used by other jobs'
        """
        used = f" and {self.used} of them are used by other jobs" if self.used else ""
        return f"waiting for {needed} slots, {self.total} are there on {self._where()}{used}"

    def too_few(self, needed: int) -> TooFewSlots:
        """The refusal, with the figures and what to do."""
        cpus = float(self.task_cpus)
        fits = max(0.001, cpus * max(self.free, 1) / needed * 0.99)
        used = f", other jobs use {self.used} of {self.total} slots" if self.used else ""
        return TooFewSlots(
            needed,
            self.free,
            f"lower the parallelism, add executors (there are {self.executors}{used}), or let "
            f"subtasks share cores: spark.task.cpus is {self.task_cpus}, and {fits:.3f} would make "
            f"room",
        )

    def _where(self) -> str:
        return f"{self.executors} executor{'' if self.executors == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Take:
    """Take these slots and go on."""

    slots: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again when something changed, and at ``until`` at the latest."""

    until: float | None
    words: str
    """What is waited for, for people."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """There will be no room."""

    error: TooFewSlots


Verdict: TypeAlias = Take | Wait | Refuse


class Seeker(Protocol):
    """Something that needs room."""

    @property
    def minimum(self) -> int:
        """The fewest slots that serve."""

    def consider(self, room: Room, now: float) -> Verdict:
        """What to do at ``now``; ``Take`` only what ``room.free`` has."""


class FixedNeed:
    """Needs exactly so many slots, and waits for them until the timeout.

    In a room that cannot grow it waits only for slots that other jobs hold.

    >>> need = FixedNeed(4, timeout_ms=1000, began=0)
    >>> need.consider(Room(total=2, free=2, executors=1), now=10)
    Wait(until=1000, words='waiting for 4 slots, 2 are there on 1 executor')
    >>> need.consider(Room(total=4, free=4, executors=2), now=20)
    Take(slots=4)
    """

    def __init__(self, slots: int, timeout_ms: float, began: float) -> None:
        self._slots = slots
        self._deadline = began + timeout_ms

    @property
    def minimum(self) -> int:
        return self._slots

    def consider(self, room: Room, now: float) -> Verdict:
        if self._slots <= room.free:
            return Take(self._slots)
        hopeless = not room.can_grow and self._slots > room.total
        if hopeless or now >= self._deadline:
            return Refuse(room.too_few(self._slots))
        return Wait(self._deadline, room.words(self._slots))
