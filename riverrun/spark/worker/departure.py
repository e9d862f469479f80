"""How a task leaves: cancelled by its JobMaster, or because its JobMaster is gone.

The task thread may be anywhere: in the user's function, blocked in a write to Spark, waiting for input.
A signal interrupts all of these; what it raises is no ``Exception``, so that user code does not swallow
it. If the thread does not leave in time, the process ends itself: Spark sees that at once.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

log = logging.getLogger(__name__)

_SIGNAL: Final = signal.SIGUSR2
EXIT_CODE: Final = 3


class TaskCanceled(BaseException):
    """Raised in the task thread when the task must leave."""


class Departure:
    """Makes the task thread leave when asked from another thread."""

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._asked = threading.Event()
        self._left = threading.Event()
        self._task_thread = threading.get_ident()

    @property
    def asked(self) -> bool:
        """Whether the task must leave."""
        return self._asked.is_set()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """While inside, ``ask`` interrupts this thread (where it is the process's main thread)."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(_SIGNAL, _raise_canceled)
        try:
            yield
        finally:
            signal.signal(_SIGNAL, signal.SIG_IGN if self.asked else before)

    def ask(self, reason: str) -> None:
        """Make the task thread leave; called from the control connection's thread."""
        if self._asked.is_set():
            return
        log.info("task leaves reason=%s", reason)
        self._asked.set()
        signal.pthread_kill(self._task_thread, _SIGNAL)
        threading.Thread(target=self._watch, name="riverrun-departure", daemon=True).start()

    def left(self) -> None:
        """The task thread is out of the user's code."""
        self._left.set()

    def _watch(self) -> None:
        if not self._left.wait(self._grace_s):
            exit_now()


def exit_now() -> NoReturn:
    """End this process at once: Spark fails the stage, which is what is wanted."""
    os._exit(EXIT_CODE)


def _raise_canceled(signum: int, frame: FrameType | None) -> None:
    del signum, frame
    raise TaskCanceled
