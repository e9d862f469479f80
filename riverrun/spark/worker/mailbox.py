"""The bounded mailbox between Spark's input iterator and the task.

Spark's iterator blocks, and a task has deadlines. So a thread reads the iterator to its end and posts
frames; when the mailbox is full it stops reading, Spark's buffers fill, and the producer blocks: that is
the back-pressure.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable
from enum import Enum, auto
from typing import Any, TypeAlias

from riverrun.core.errors import ExternalError
from riverrun.spark.worker.rows import frames_of


class InputBroken(ExternalError):  # noqa: N818
    """The input stopped before its end: a task that sends to this one, or Spark's own task, is gone."""


class Closed(Enum):
    """Posted once, after the last frame."""

    CLOSED = auto()


Letter: TypeAlias = memoryview | Closed | InputBroken
"""A frame, the end of the input, or that it broke."""


class Mailbox:
    """Frames in arrival order; one reader thread puts, the task thread takes."""

    def __init__(self, capacity: int) -> None:
        self._letters: queue.Queue[Letter] = queue.Queue(capacity)

    def read(self, batches: Iterable[Any]) -> threading.Thread:
        """Start the thread that reads ``batches`` to the end."""
        thread = threading.Thread(
            target=self._pump, args=(batches,), name="riverrun-reader", daemon=True
        )
        thread.start()
        return thread

    def take(self, timeout_s: float | None) -> Letter | None:
        """The next letter; ``None`` when none came within ``timeout_s`` (``None``: wait for ever)."""
        try:
            if timeout_s is not None and timeout_s <= 0:
                return self._letters.get_nowait()
            return self._letters.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def __len__(self) -> int:
        return self._letters.qsize()

    def _pump(self, batches: Iterable[Any]) -> None:
        put = self._letters.put
        try:
            for batch in batches:
                for frame in frames_of(batch):
                    put(frame)
        except BaseException as error:  # noqa: BLE001  (handed to the task thread)
            put(InputBroken(f"the input broke off: {type(error).__name__}: {error}"))
        else:
            put(Closed.CLOSED)
