"""What the job's thread has to read: put in from any thread, until nobody reads it any more."""

from __future__ import annotations

import queue
import threading
from typing import Generic, TypeVar

N = TypeVar("N")


class Mailbox(Generic[N]):
    """Notes for one reader, first in, first out.

    >>> mailbox = Mailbox[str]()
    >>> mailbox.put("first")
    >>> mailbox.ask("second"), mailbox.get(0), mailbox.close(), mailbox.ask("third")
    (True, 'first', ['second'], False)
    """

    def __init__(self) -> None:
        self._notes: queue.SimpleQueue[N] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_deaf = False

    def put(self, note: N) -> None:
        """Leave a note; it does not matter if nobody reads it."""
        self._notes.put(note)

    def ask(self, note: N) -> bool:
        """Leave a note that somebody must answer; whether it will be read, or given back by ``close``."""
        with self._lock:
            if not self._is_deaf:
                self._notes.put(note)
            return not self._is_deaf

    def get(self, timeout_s: float | None) -> N | None:
        """The next note; ``None`` if there is none for so long."""
        try:
            return self._notes.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def close(self) -> list[N]:
        """Nobody reads any more; gives the notes that were not read."""
        with self._lock:
            self._is_deaf = True
        left = []
        while not self._notes.empty():
            left.append(self._notes.get())
        return left
