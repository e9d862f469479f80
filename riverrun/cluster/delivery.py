"""Values on their way from tasks to the client's handlers.

The handlers run on a thread of the job's own, never on the control server's: a slow handler holds up
its job and nobody else. What waits here is bounded by the credit window of each task: a task's bytes
are credited when the handler has returned.

A delivery lives as long as its job, across attempts. Runs with a commit id are delivered once, however
often they are sent: an attempt that starts from a checkpoint sends again what the one before may have
sent already. Runs without one are delivered as they come.
"""

from __future__ import annotations

import logging
import pickle
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from riverrun.cluster.links import TaskLink
from riverrun.core.errors import Failure, InternalError
from riverrun.core.exception_facts import failure_of
from riverrun.protocol.control import ClientRun, Credit

log = logging.getLogger(__name__)

ClientHandler: TypeAlias = Callable[[int, Sequence[Any]], None]
"""Called with (subtask, values)."""


@dataclass(frozen=True, slots=True)
class RawHandler:
    """A handler that wants the bytes: the client that can open them is another process."""

    take: Callable[[str, int, bytes], None]
    """Called with (operator id, subtask, payload)."""

    def __call__(self, subtask: int, values: Sequence[Any]) -> None:
        """Never called: values are not unpickled for it."""
        raise InternalError(f"subtask {subtask}: {len(values)} values were unpickled for nobody")


REMEMBERED_COMMITS: Final = 10_000
"""How many commit ids of an operator are kept. A task sends again only what its checkpoint holds."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    link: TaskLink
    subtask: int
    run: ClientRun


@dataclass(slots=True)
class _Sender:
    """What is known about one connection: a task of one attempt."""

    uncredited: int = 0
    next_sequence: dict[str, int] = field(default_factory=dict)


class _Mode(Enum):
    OPEN = auto()
    DRAINING = auto()
    DROPPED = auto()


class ClientDelivery:
    """The runs of one job that the client has not taken yet, and the thread that hands them over.

    ``on_failed`` is called at most once, and nothing is delivered after it; ``on_drained`` is called
    once after ``drain``, unless the delivery failed or was dropped. Both on the delivery's thread.
    """

    def __init__(
        self,
        handlers: Mapping[str, ClientHandler],
        window_bytes: int,
        on_failed: Callable[[Failure], None],
        on_drained: Callable[[], None],
    ) -> None:
        self._handlers = dict(handlers)
        self._window_bytes = window_bytes
        self._on_failed = on_failed
        self._on_drained = on_drained
        self._changed = threading.Condition()
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._senders: dict[TaskLink, _Sender] = {}
        self._commits: dict[str, dict[str, None]] = {}
        self._on_room: Callable[[], None] | None = None
        self._mode = _Mode.OPEN
        self._thread: threading.Thread | None = None

    def offer(self, link: TaskLink, subtask: int, run: ClientRun) -> None:
        """Take a run that arrived; does not block. Ignored once dropped.

        Raises InternalError when the task sent more than its window or left a run out.
        """
        with self._changed:
            if self._mode is _Mode.DROPPED:
                return
            self._check(link, subtask, run)
            if self._is_known(run):
                known = True
                self._senders[link].uncredited -= len(run.payload)
            else:
                known = False
                self._waiting.append(_Waiting(link, subtask, run))
                self._waiting_bytes += len(run.payload)
                self._ensure_thread()
                self._changed.notify_all()
        if known:
            link.send(Credit(run.operator_id, len(run.payload)))

    def forget(self, link: TaskLink) -> None:
        """Nothing more comes over ``link``; what came is delivered all the same."""
        with self._changed:
            self._senders.pop(link, None)

    def when_room(self, call: Callable[[], None]) -> None:
        """Call once when no more than one window's bytes wait: at once, or on the delivery's thread."""
        with self._changed:
            if not self._has_room():
                self._on_room = call
                return
        call()

    def drain(self) -> None:
        """Deliver what was offered so far, then call ``on_drained``; nothing is offered after this."""
        with self._changed:
            if self._mode is _Mode.OPEN:
                self._mode = _Mode.DRAINING
                self._ensure_thread()
                self._changed.notify_all()

    def drop(self) -> None:
        """Forget what waits and deliver nothing more; a handler that runs now is not interrupted."""
        with self._changed:
            self._drop()

    def fail(self, failure: Failure) -> None:
        """Drop, and report ``failure``, which is never retried; unless dropped already."""
        with self._changed:
            if self._mode is _Mode.DROPPED:
                return
            self._drop()
        self._on_failed(replace(failure, retryable=False))

    def settle(self, timeout: float) -> None:
        """Deliver what was offered, for up to ``timeout`` seconds, then drop the rest."""
        if not self._is_wanted():
            return
        self.drain()
        thread = self._thread
        if thread is not None:
            thread.join(timeout)
        self.drop()

    def close(self, timeout: float) -> None:
        """Drop, and wait up to ``timeout`` seconds for a handler that still runs."""
        self.drop()
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return
        thread.join(timeout)
        if thread.is_alive():
            log.warning("client handler does not return; its thread is left behind")

    def _check(self, link: TaskLink, subtask: int, run: ClientRun) -> None:
        if run.operator_id not in self._handlers:
            raise InternalError(
                f"operator {run.operator_id!r} sent values to the client, which has no handler for it"
            )
        sender = self._senders.setdefault(link, _Sender())
        expected = sender.next_sequence.get(run.operator_id, 0)
        if run.sequence != expected:
            raise InternalError(
                f"operator {run.operator_id!r} subtask {subtask}: run {run.sequence} came "
                f"when run {expected} was next"
            )
        if sender.uncredited and sender.uncredited + len(run.payload) > self._window_bytes:
            raise InternalError(
                f"operator {run.operator_id!r} subtask {subtask}: sent {len(run.payload)} bytes "
                f"on top of {sender.uncredited}, beyond its window of {self._window_bytes}"
            )
        sender.next_sequence[run.operator_id] = expected + 1
        sender.uncredited += len(run.payload)

    def _is_known(self, run: ClientRun) -> bool:
        """Whether a run with this commit id came before; from now on it did."""
        if run.commit is None:
            return False
        commits = self._commits.setdefault(run.operator_id, {})
        if run.commit in commits:
            return True
        commits[run.commit] = None
        if len(commits) > REMEMBERED_COMMITS:
            del commits[next(iter(commits))]
        return False

    def _drop(self) -> None:
        self._mode = _Mode.DROPPED
        self._waiting.clear()
        self._waiting_bytes = 0
        self._on_room = None
        self._changed.notify_all()

    def _has_room(self) -> bool:
        return self._waiting_bytes <= self._window_bytes

    def _ensure_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work, name="riverrun-client-delivery", daemon=True
            )
            self._thread.start()

    def _work(self) -> None:
        while (item := self._take()) is not None:
            try:
                self._hand_over(item)
            except Exception as e:  # noqa: BLE001  (the client's own code: any failure is the job's)
                self.fail(failure_of(e))
                return
            self._credit(item)
        if self._is_wanted():
            self._on_drained()

    def _hand_over(self, item: _Waiting) -> None:
        handler = self._handlers[item.run.operator_id]
        if isinstance(handler, RawHandler):
            handler.take(item.run.operator_id, item.subtask, item.run.payload)
        else:
            handler(item.subtask, pickle.loads(item.run.payload))

    def _take(self) -> _Waiting | None:
        """The next run, waiting for it; ``None`` when there will be none."""
        with self._changed:
            while not self._waiting and self._mode is _Mode.OPEN:
                self._changed.wait()
            return self._waiting.popleft() if self._waiting else None

    def _is_wanted(self) -> bool:
        with self._changed:
            return self._mode is not _Mode.DROPPED

    def _credit(self, item: _Waiting) -> None:
        size = len(item.run.payload)
        on_room = None
        with self._changed:
            sender = self._senders.get(item.link)
            if sender is not None:
                sender.uncredited -= size
            if self._mode is not _Mode.DROPPED:
                self._waiting_bytes -= size
            if self._has_room():
                on_room, self._on_room = self._on_room, None
        item.link.send(Credit(item.run.operator_id, size))
        if on_room is not None:
            on_room()
