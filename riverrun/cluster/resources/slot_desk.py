"""Where jobs ask for slots, wait for them and give them back: decisions only, no threads, no clock.

Jobs that wait are served in the order in which they came, but one that needs more than there is does not
hold up those behind it. A job that holds slots and seeks anew, because it is started again, is served
before all others from the slots that it holds; only if these do not do, it gives them up and waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from riverrun.cluster.resources.seeking import Refuse, Room, Seeker, Take, Wait
from riverrun.cluster.resources.slot_book import SlotBook
from riverrun.core.errors import InternalError, TooFewSlots
from riverrun.core.ids import JobId


@dataclass(frozen=True, slots=True)
class Granted:
    """The job holds these slots now."""

    job: JobId
    slots: int


@dataclass(frozen=True, slots=True)
class Denied:
    """The job holds nothing and waits no more."""

    job: JobId
    error: TooFewSlots


Answer: TypeAlias = Granted | Denied


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that waits for slots."""

    words: str
    """What for, and what is there."""
    since: float


@dataclass(slots=True)
class _InLine:
    seeker: Seeker
    since: float
    words: str = ""
    until: float | None = None


class SlotDesk:
    """All slots of one application.

    Args:
        can_grow: whether executors may come.
        task_cpus: Spark's setting, for the words of a refusal.
    """

    def __init__(self, *, can_grow: bool = True, task_cpus: str = "1") -> None:
        self._book = SlotBook()
        self._line: dict[JobId, _InLine] = {}
        self._executors = 0
        self._can_grow = can_grow
        self._task_cpus = task_cpus

    @property
    def total(self) -> int:
        """How many slots there are."""
        return self._book.total

    @property
    def free(self) -> int:
        """How many of them nobody holds."""
        return self._book.free

    @property
    def held(self) -> Mapping[JobId, int]:
        """Slots by job."""
        return self._book.held

    def observe(self, slots: int, executors: int) -> None:
        """Take note of what there is."""
        self._book.total, self._executors = slots, executors

    def waiting(self) -> Mapping[JobId, Waiting]:
        """The jobs that wait, in their order."""
        return {job: Waiting(each.words, each.since) for job, each in self._line.items()}

    def deadline(self) -> float | None:
        """When ``serve`` is due, even if nothing happens."""
        times = [each.until for each in self._line.values() if each.until is not None]
        return min(times, default=None)

    def room(self, job: JobId) -> Room:
        """The slots as this job sees them."""
        free = self._book.room_for(job)
        others = (each.seeker.minimum for who, each in self._line.items() if who != job)
        return Room(
            total=self._book.total,
            free=free,
            executors=self._executors,
            task_cpus=self._task_cpus,
            can_grow=self._can_grow,
            # One that finds no room anyway shall not keep others from using it.
            wanted_by_others=sum(minimum for minimum in others if minimum <= free),
        )

    def seek(self, job: JobId, seeker: Seeker, now: float) -> Answer | None:
        """Seek room for a job that does not run; ``None`` when it has to wait."""
        if job in self._line:
            raise InternalError(f"job {job}: seeks slots while it waits for slots already")
        entry = _InLine(seeker, now)
        answer = self._consider(job, entry, now)
        if answer is None:
            self._book.release(job)
            self._line[job] = entry
        return answer

    def serve(self, now: float) -> tuple[Answer, ...]:
        """Answer those who wait, as far as there is an answer by now."""
        answers = []
        for job, entry in list(self._line.items()):
            answer = self._consider(job, entry, now)
            if answer is not None:
                del self._line[job]
                answers.append(answer)
        return tuple(answers)

    def resize(self, job: JobId, slots: int) -> None:
        """Let a job that runs hold another number of slots, before it is started again with them.

        A job that holds none does not run: it seeks what it needs, or is over. Nothing happens then.

        Raises:
            TooFewSlots: there is no room; it keeps what it holds.
        """
        if self._book.held_by(job) and not self._book.claim(job, slots):
            raise self.room(job).too_few(slots)

    def leave(self, job: JobId) -> int:
        """The job is over: it waits no more and holds nothing. How many slots it held."""
        self._line.pop(job, None)
        return self._book.release(job)

    def _consider(self, job: JobId, entry: _InLine, now: float) -> Answer | None:
        verdict = entry.seeker.consider(self.room(job), now)
        match verdict:
            case Take(slots):
                if not self._book.claim(job, slots):
                    raise InternalError(
                        f"job {job}: takes {slots} slots of {self._book.room_for(job)} that are free"
                    )
                return Granted(job, slots)
            case Refuse(error):
                self._book.release(job)
                return Denied(job, error)
            case Wait(until, words):
                entry.until, entry.words = until, words
                return None
            case _:
                assert_never(verdict)
