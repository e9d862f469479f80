"""Values on their way from tasks to the client's handlers.

The handlers run on a thread of the job's own, never on the control server's: a slow handler holds up
its job and nobody else. What waits here is bounded by the credit window of each task: a task's bytes
are credited when the handler has returned.
"""

from __future__ import annotations

import logging
import pickle
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeAlias

from riverrun.cluster.links import TaskLink
from riverrun.core.errors import Failure, InternalError
from riverrun.core.exception_facts import failure_of
from riverrun.protocol.control import ClientRun, Credit

log = logging.getLogger(__name__)

ClientHandler: TypeAlias = Callable[[int, Sequence[Any]], None]
"""Called with (subtask, values)."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    link: TaskLink
    subtask: int
    run: ClientRun


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
        self._uncredited: dict[TaskLink, int] = {}
        self._next_sequence: dict[tuple[str, int], int] = {}
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
            self._waiting.append(_Waiting(link, subtask, run))
            self._ensure_thread()
            self._changed.notify_all()

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
            self._mode = _Mode.DROPPED
            self._waiting.clear()
            self._changed.notify_all()

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
        place = (run.operator_id, subtask)
        expected = self._next_sequence.get(place, 0)
        if run.sequence != expected:
            raise InternalError(
                f"operator {run.operator_id!r} subtask {subtask}: run {run.sequence} came "
                f"when run {expected} was next"
            )
        uncredited = self._uncredited.get(link, 0)
        if uncredited and uncredited + len(run.payload) > self._window_bytes:
            raise InternalError(
                f"operator {run.operator_id!r} subtask {subtask}: sent {len(run.payload)} bytes "
                f"on top of {uncredited}, beyond its window of {self._window_bytes}"
            )
        self._next_sequence[place] = expected + 1
        self._uncredited[link] = uncredited + len(run.payload)

    def _ensure_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work, name="riverrun-client-delivery", daemon=True
            )
            self._thread.start()

    def _work(self) -> None:
        while (item := self._take()) is not None:
            try:
                values = pickle.loads(item.run.payload)
                self._handlers[item.run.operator_id](item.subtask, values)
            except Exception as e:  # noqa: BLE001  (the client's own code: any failure is the job's)
                if self._is_wanted():
                    self.drop()
                    self._on_failed(failure_of(e))
                return
            self._credit(item)
        if self._is_wanted():
            self._on_drained()

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
        with self._changed:
            self._uncredited[item.link] -= size
        item.link.send(Credit(item.run.operator_id, size))
