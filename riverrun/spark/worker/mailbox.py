"""The mailbox of a task: frames from Spark's input iterator, orders from the JobMaster.

Spark's iterator blocks, and a task has deadlines. So a thread reads the iterator to its end and posts
frames; when the mailbox is full it stops reading, Spark's buffers fill, and the producer blocks: that is
the back-pressure. Orders are never refused and go ahead of frames.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from enum import Enum, auto
from typing import Any, TypeAlias

from riverrun.core.errors import ExternalError
from riverrun.protocol.control import Order
from riverrun.protocol.parts import PartJoiner
from riverrun.spark.worker.arenas import ConsumerArenas
from riverrun.spark.worker.rows import frames_of


class InputBroken(ExternalError):  # noqa: N818
    """The input stopped before its end: a task that sends to this one, or Spark's own task, is gone."""


class Closed(Enum):
    """Posted once, after the last frame."""

    CLOSED = auto()


Letter: TypeAlias = memoryview | Closed | InputBroken
"""A frame, the end of the input, or that it broke."""


class Mailbox:
    """Letters in arrival order; a reader thread posts, any thread gives orders, the task thread takes."""

    def __init__(self, capacity: int, arenas: ConsumerArenas | None = None) -> None:
        self._capacity, self._arenas = capacity, arenas
        self._letters: deque[Letter] = deque()
        self._orders: deque[Order] = deque()
        self._woken = False
        self._lock = threading.Lock()
        self._something = threading.Condition(self._lock)
        self._room = threading.Condition(self._lock)

    def read(self, batches: Iterable[Any]) -> threading.Thread:
        """Start the thread that reads ``batches`` to the end."""
        thread = threading.Thread(
            target=self._pump, args=(batches,), name="riverrun-reader", daemon=True
        )
        thread.start()
        return thread

    def order(self, order: Order) -> None:
        """Give an order; it wakes the task."""
        with self._lock:
            self._orders.append(order)
            self._something.notify()

    def wake(self) -> None:
        """End the task's wait, now or the next one: there is something to look at elsewhere."""
        with self._lock:
            self._woken = True
            self._something.notify()

    def take_orders(self) -> list[Order]:
        """All orders that wait."""
        if not self._orders:  # asked between any two turns: no lock unless there is one
            return []
        with self._lock:
            orders = list(self._orders)
            self._orders.clear()
        return orders

    def take(self, timeout_s: float | None) -> Letter | None:
        """The next letter; ``None`` when none came within ``timeout_s`` or an order came.

        ``timeout_s`` of ``None`` waits for ever.
        """
        letters = self._letters
        with self._lock:
            if not letters and (timeout_s is None or timeout_s > 0):
                deadline = None if timeout_s is None else time.monotonic() + timeout_s
                while not letters and not self._orders and not self._woken:
                    left = None if deadline is None else deadline - time.monotonic()
                    if left is not None and left <= 0:
                        break
                    self._something.wait(left)
                self._woken = False
            if not letters:
                return None
            letter = letters.popleft()
            self._room.notify()
            return letter

    def wait(self, timeout_s: float | None) -> None:
        """Wait for an order or for ``wake``, whatever letters there are; at most ``timeout_s``."""
        with self._lock:
            self._something.wait_for(lambda: self._orders or self._woken, timeout_s)
            self._woken = False

    def __len__(self) -> int:
        return len(self._letters)

    def _post(self, letter: Letter) -> None:
        with self._lock:
            while len(self._letters) >= self._capacity:
                self._room.wait()
            self._letters.append(letter)
            self._something.notify()

    def _pump(self, batches: Iterable[Any]) -> None:
        post, joiner = self._post, PartJoiner()
        try:
            for batch in batches:
                # No variable holds a frame: its memory could not be used again until the next one comes.
                for _ in map(post, frames_of(batch, joiner, self._arenas)):
                    pass
        except BaseException as error:  # noqa: BLE001  (handed to the task thread)
            post(InputBroken(f"the input broke off: {type(error).__name__}: {error}"))
        else:
            post(Closed.CLOSED)
