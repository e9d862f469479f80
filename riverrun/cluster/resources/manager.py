"""The ResourceManager: looks at the executors, and answers jobs that need slots.

It looks while somebody waits or follows, on a thread of its own, and otherwise only when asked. A look
costs two short calls to Spark; the executors are listed only after their number changed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, Protocol

from riverrun.cluster.resources.seeking import Room, Seeker
from riverrun.cluster.resources.slot_desk import Answer, Denied, Granted, SlotDesk, Waiting
from riverrun.cluster.resources.task_managers import TaskManager, TaskManagerRegistry
from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import ExternalError
from riverrun.core.ids import JobId, Millis

log = logging.getLogger(__name__)

_LOOK_MS: Final = 100.0
"""How often those who wait look for executors."""
_FOLLOW_MS: Final = 1_000.0
"""How often those who follow do."""


class ClusterView(Protocol):
    """What is seen of the Spark application; called from any thread, raises ExternalError."""

    @property
    def can_grow(self) -> bool:
        """Whether executors may come."""

    @property
    def task_cpus(self) -> str:
        """The part of a core that a slot is."""

    def slots(self) -> int:
        """How many tasks can run at once, by what Spark's scheduler knows now."""

    def executor_ids(self) -> frozenset[str]:
        """Who is there."""

    def task_managers(self) -> Sequence[TaskManager]:
        """All about those who are there; takes longer than the others."""


class Follower(Protocol):
    """A running job that follows when executors come. Called on the manager's thread."""

    def look(self, room: Room, now: float) -> float | None:
        """Do what is to be done about the room; when to look again even if nothing changed."""


@dataclass(frozen=True, slots=True)
class _Asked:
    name: str
    answer: Callable[[Answer | ExternalError], None]


class ResourceManager:
    """The slots of one application, for all its jobs. Methods may be called from any thread."""

    def __init__(self, view: ClusterView, clock: Clock | None = None) -> None:
        self._view = view
        self._clock = clock or SystemClock()
        self._desk = SlotDesk(can_grow=view.can_grow, task_cpus=view.task_cpus)
        self._registry = TaskManagerRegistry()
        self._asked: dict[JobId, _Asked] = {}
        self._followers: dict[JobId, Follower] = {}
        self._told: dict[JobId, str] = {}
        self._withdrawn: set[JobId] = set()
        """Jobs that will not seek any more, and that have not begun to."""
        self._looking = threading.Lock()  # one look at a time; taken before ``_changed``
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._news = False

    def seek(
        self,
        job: JobId,
        name: str,
        seeker: Seeker,
        answer: Callable[[Answer | ExternalError], None],
    ) -> None:
        """Seek room for a job that does not run; ``answer`` is called once, on any thread."""
        try:
            self._look()
        except ExternalError as e:
            answer(e)
            return
        with self._changed:
            if job in self._withdrawn:
                self._withdrawn.discard(job)
                found: Answer | ExternalError | None = _waits_no_more(name)
            else:
                found = self._desk.seek(job, seeker, self._clock.monotonic())
            if found is None:
                self._asked[job] = _Asked(name, answer)
                self._say_what_is_waited_for()
                self._wake()
        if found is not None:
            answer(found)

    def acquire(self, job: JobId, name: str, seeker: Seeker) -> int:
        """Seek room and wait for it; how many slots the job holds then.

        Raises:
            TooFewSlots: there is no room, with the figures.
            ExternalError: Spark does not answer, or the job was told to ``leave``.
        """
        found: Future[Answer | ExternalError] = Future()
        self.seek(job, name, seeker, found.set_result)
        match found.result():
            case Granted(_, slots):
                return slots
            case Denied(_, error):
                raise error
            case ExternalError() as error:
                raise error

    def resize(self, job: JobId, slots: int) -> None:
        """Let a running job hold another number of slots; TooFewSlots if there is no room."""
        self._look()
        with self._changed:
            self._desk.resize(job, slots)
            self._wake()

    def leave(self, job: JobId) -> None:
        """The job is over, or gives up waiting: its slots are free. A second call does nothing."""
        with self._changed:
            self._desk.leave(job)
            self._followers.pop(job, None)
            asked = self._asked.pop(job, None)
            self._told.pop(job, None)
            self._withdrawn.discard(job)
            self._wake()
        if asked is not None:
            asked.answer(_waits_no_more(asked.name))

    def withdraw(self, job: JobId) -> None:
        """The job gives up waiting, or will not begin to; one that holds slots keeps them."""
        with self._changed:
            if job in self._desk.held:
                return
            asked = self._asked.pop(job, None)
            if asked is None:
                self._withdrawn.add(job)
                return
            self._desk.leave(job)
            self._told.pop(job, None)
            self._wake()
        asked.answer(_waits_no_more(asked.name))

    def follow(self, job: JobId, follower: Follower) -> None:
        """Tell ``follower`` now, and whenever the room changes, until the job leaves."""
        with self._changed:
            self._followers[job] = follower
            self._wake()

    def unfollow(self, job: JobId) -> None:
        """The job does not run now."""
        with self._changed:
            self._followers.pop(job, None)
            self._wake()

    def room(self, job: JobId) -> Room:
        """The slots as the job sees them now."""
        self._look()
        with self._changed:
            return self._desk.room(job)

    def held(self) -> Mapping[JobId, int]:
        """How many slots each job holds."""
        with self._changed:
            return self._desk.held

    def waiting(self) -> Mapping[JobId, Waiting]:
        """The jobs that wait for slots."""
        with self._changed:
            return self._desk.waiting()

    def task_managers(self) -> Sequence[TaskManager]:
        """The executors that are there now, with their present figures."""
        with self._looking:
            self._list()
            return self._registry.there()

    def lost(self) -> Sequence[TaskManager]:
        """Executors that are there no more, the latest last."""
        with self._looking:
            return self._registry.lost()

    # the look

    def _look(self) -> None:
        """See what there is."""
        with self._looking:
            slots, ids = self._view.slots(), self._view.executor_ids()
            if ids != {each.id for each in self._registry.there()}:
                self._list()
            with self._changed:
                self._desk.observe(slots, len(ids))

    def _list(self) -> None:
        moved = self._registry.observe(self._view.task_managers(), Millis(self._clock.now()))
        for each in moved.came:
            log.debug(
                "executor came id=%s host=%s:%d slots=%d", each.id, each.host, each.port, each.slots
            )
        for each in moved.left:
            log.warning("executor lost id=%s host=%s:%d", each.id, each.host, each.port)

    # the thread

    def _wake(self) -> None:
        """Let the thread look, if there is anybody to look for; with the lock held."""
        self._news = True
        self._changed.notify_all()
        if self._thread is None and (self._asked or self._followers):
            self._thread = threading.Thread(
                target=self._run, name="riverrun-resources", daemon=True
            )
            self._thread.start()

    def _run(self) -> None:
        due: float | None = None
        while True:
            with self._changed:
                if not self._asked and not self._followers:
                    self._thread = None
                    return
                self._pause(due)
            try:
                due = self._turn()
            except Exception as e:
                # Whoever waits must hear of it: nobody else would ever look again.
                log.exception("resource manager broke")
                self._refuse_all(ExternalError(f"the resource manager broke: {e}"))

    def _pause(self, due: float | None) -> None:
        """Wait until it is time to look; with the lock held."""
        if not self._news:
            wait = _LOOK_MS if self._asked else _FOLLOW_MS
            if due is not None:
                wait = max(0.0, min(wait, due - self._clock.monotonic()))
            self._changed.wait(wait / 1000)
        self._news = False

    def _turn(self) -> float | None:
        """Look, answer those who wait and tell those who follow; when the next turn is due."""
        try:
            self._look()
        except ExternalError as e:
            self._refuse_all(e)
            return None
        now = self._clock.monotonic()
        self._answer(now)
        return self._tell(now)

    def _answer(self, now: float) -> None:
        with self._changed:
            answers = [(each, self._asked.pop(each.job)) for each in self._desk.serve(now)]
            self._say_what_is_waited_for()
        for answer, asked in answers:
            asked.answer(answer)

    def _tell(self, now: float) -> float | None:
        with self._changed:
            told = [(each, self._desk.room(job)) for job, each in self._followers.items()]
            dues = [self._desk.deadline()]
        dues += [follower.look(room, now) for follower, room in told]
        return min((due for due in dues if due is not None), default=None)

    def _refuse_all(self, error: ExternalError) -> None:
        with self._changed:
            asked, self._asked = self._asked, {}
            for job in asked:
                self._desk.leave(job)
        for each in asked.values():
            each.answer(error)

    def _say_what_is_waited_for(self) -> None:
        """Log what jobs wait for, whenever that changes; with the lock held."""
        words = {job: each.words for job, each in self._desk.waiting().items()}
        for job, said in words.items():
            if self._told.get(job) != said:
                log.warning("job %r is %s job=%s", self._asked[job].name, said, job)
        self._told = words


def _waits_no_more(name: str) -> ExternalError:
    return ExternalError(f"job {name!r}: waits no more for slots")
