"""One thread that reads and writes for a job, so that nobody else waits for a slow store."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

log = logging.getLogger(__name__)


class IoThread:
    """Does one piece of work at a time. Methods may be called from any thread.

    The thread begins with the first piece of work.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()
        self._soon: deque[Callable[[], None]] = deque()
        self._later: deque[Callable[[], None]] = deque()
        self._closing = False
        self._thread: threading.Thread | None = None

    def run(self, work: Callable[[], None]) -> None:
        """Do ``work`` after all that was asked for before with ``run``; nothing once closed."""
        self._add(self._soon, work)

    def run_later(self, work: Callable[[], None]) -> None:
        """Do ``work`` when nothing else waits: somebody may be waiting for that."""
        self._add(self._later, work)

    def wait(self, timeout: float) -> bool:
        """Wait until what was asked for with ``run`` is done; whether it is, after ``timeout`` seconds."""
        if self._thread is None:
            return True
        done = threading.Event()
        self.run(done.set)
        return done.wait(timeout)

    def close(self, timeout: float) -> bool:
        """Take no more work and wait until all is done; whether it is, after ``timeout`` seconds.

        What is left is done in the background, for as long as this process lives.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        if thread.is_alive():
            log.warning("store does not answer in time thread=%s", self._name)
        return not thread.is_alive()

    def _add(self, waiting: deque[Callable[[], None]], work: Callable[[], None]) -> None:
        with self._changed:
            if self._closing:
                return
            waiting.append(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _work(self) -> None:
        while (work := self._next()) is not None:
            try:
                work()
            except Exception:
                # Work reports its own failures; this is one that it did not expect.
                log.exception("work broke thread=%s", self._name)

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while not self._soon and not self._later and not self._closing:
                self._changed.wait()
            if self._soon:
                return self._soon.popleft()
            return self._later.popleft() if self._later else None
