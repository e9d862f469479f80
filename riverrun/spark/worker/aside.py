"""A thread for what a task must not wait for, made when it is first needed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable


class Aside:
    """Calls one thing after the other, in order, in a daemon thread that never keeps a worker alive."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def __call__(self, call: Callable[[], None]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self._calls.put(call)

    def close(self) -> None:
        """Begin nothing more; what runs is not waited for."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
