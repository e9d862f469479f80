"""Whose the slots are: a job holds as many as it has subtasks, and nobody else gets them.

All subtasks of a job run at the same time, so a job has all its slots or none. Spark refuses a job for
which too few slots are free at that moment, and keeps none for a job that comes back in a second. Only
counts are kept here; which executor runs which subtask is Spark's to say. Not thread-safe.
"""

from __future__ import annotations

from collections.abc import Mapping

from riverrun.core.ids import JobId


class SlotBook:
    """Slots held, by job.

    >>> book, a, b = SlotBook(total=10), JobId("a" * 32), JobId("b" * 32)
    >>> book.claim(a, 6), book.claim(b, 6), book.claim(b, 4), book.free
    (True, False, True, 0)
    >>> book.release(a), book.release(a), book.free
    (6, 0, 6)
    """

    def __init__(self, total: int = 0) -> None:
        self._total = total
        self._held: dict[JobId, int] = {}

    @property
    def total(self) -> int:
        """How many slots there are; may be fewer than are held, when an executor was lost."""
        return self._total

    @total.setter
    def total(self, slots: int) -> None:
        self._total = slots

    @property
    def held(self) -> Mapping[JobId, int]:
        """Slots by job, in the order in which the jobs got them first."""
        return dict(self._held)

    @property
    def used(self) -> int:
        """How many slots are held by all jobs together."""
        return sum(self._held.values())

    @property
    def free(self) -> int:
        """How many slots nobody holds."""
        return max(0, self._total - self.used)

    def held_by(self, job: JobId) -> int:
        """How many slots the job holds."""
        return self._held.get(job, 0)

    def room_for(self, job: JobId) -> int:
        """How many slots the job could hold: those that it holds and those that nobody holds."""
        return max(0, self._total - self.used + self.held_by(job))

    def claim(self, job: JobId, slots: int) -> bool:
        """Let the job hold exactly ``slots`` if there is room; otherwise it keeps what it holds.

        It is always possible to hold fewer than before.
        """
        if slots < 1:
            raise ValueError(f"job {job}: asked for {slots} slots, expected 1 or more")
        if slots > max(self.room_for(job), self.held_by(job)):
            return False
        self._held[job] = slots
        return True

    def release(self, job: JobId) -> int:
        """Let the job hold nothing; how many slots it held."""
        return self._held.pop(job, 0)
