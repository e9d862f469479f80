"""How a task leaves: cancelled by its JobMaster, or because its JobMaster is gone.

The task thread may be anywhere: in the user's function, blocked in a write to Spark, waiting for input.
A signal interrupts all of these; what it raises is no ``Exception``, so that user code does not swallow
it. If the thread does not leave in time, the process ends itself: Spark sees that at once.

A process may host a task of another job afterwards, so the order to leave must reach the task it was
meant for or nobody: it is given and declined under one lock.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from types import FrameType
from typing import Final, NoReturn

log = logging.getLogger(__name__)

_SIGNAL: Final = signal.SIGUSR2
EXIT_CODE: Final = 3


class TaskCanceled(BaseException):
    """Raised in the task thread when the task must leave."""


class _Stand(Enum):
    WORKING = auto()
    ASKED = auto()
    LEFT = auto()


class Departure:
    """Makes the task thread leave when asked from another thread."""

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._lock = threading.Lock()
        self._stand = _Stand.WORKING
        self._task_thread = threading.get_ident()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """While inside, ``ask`` interrupts this thread, which is the process's main thread.

        After an orderly end nothing interrupts the thread any more. An exception takes the task out of
        its process (``exit_now``), so nothing needs to interrupt it either.
        """
        before = signal.signal(_SIGNAL, _raise_canceled)
        try:
            yield
            self._finish()
        except BaseException:
            signal.signal(_SIGNAL, signal.SIG_IGN)
            raise
        signal.signal(_SIGNAL, before)

    def ask(self, reason: str) -> None:
        """Make the task thread leave; called from the control connection's thread."""
        with self._lock:
            if self._stand is not _Stand.WORKING:
                return
            log.info("task leaves reason=%s", reason)
            self._stand = _Stand.ASKED
            exit_within(self._grace_s)
            signal.pthread_kill(self._task_thread, _SIGNAL)

    def _finish(self) -> None:
        """The task is done; TaskCanceled if it was asked to leave before that."""
        with self._lock:
            if self._stand is _Stand.ASKED:
                raise TaskCanceled
            self._stand = _Stand.LEFT


def exit_now() -> NoReturn:
    """End this process at once: Spark fails the stage, which is what is wanted."""
    os._exit(EXIT_CODE)


def exit_within(seconds: float) -> None:
    """End this process after ``seconds``, whatever its threads do then."""

    def wait_and_exit() -> None:
        time.sleep(seconds)
        exit_now()

    threading.Thread(target=wait_and_exit, name="riverrun-departure", daemon=True).start()


def _raise_canceled(signum: int, frame: FrameType | None) -> None:
    del signum, frame
    raise TaskCanceled
