"""A dead man's switch: the kernel ends this process when nobody presses it for too long.

A user's function can hold the interpreter for ever (a regular expression that backtracks without end, a
C loop). No other thread runs then: nothing sends heartbeats, nothing hears that the job was cancelled or
that its JobMaster is gone. A timer of the kernel's needs no interpreter.
"""

from __future__ import annotations

import ctypes
import logging
import signal
import threading
import time
from typing import Any, ClassVar, Final

log = logging.getLogger(__name__)

_SIGEV_SIGNAL: Final = 0
_SECOND_NS: Final = 1_000_000_000


class _Notice(ctypes.Structure):
    """``struct sigevent``: which signal the timer sends."""

    _fields_: ClassVar = [
        ("value", ctypes.c_void_p),
        ("signo", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("padding", ctypes.c_int * 12),
    ]


class _Due(ctypes.Structure):
    """``struct itimerspec``: when the timer goes off; zero: never."""

    _fields_: ClassVar = [
        ("every_s", ctypes.c_long),
        ("every_ns", ctypes.c_long),
        ("in_s", ctypes.c_long),
        ("in_ns", ctypes.c_long),
    ]


class DeadManSwitch:
    """Ends the process when ``press`` is not called again in time; does nothing where timers are missing.

    Methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._libc: Any = ctypes.CDLL(None, use_errno=True)
        self._timer: ctypes.c_void_p | None = self._create()

    @property
    def works(self) -> bool:
        """Whether this system has the timers."""
        return self._timer is not None

    def press(self, seconds: float) -> None:
        """End the process ``seconds`` from now, unless pressed again or released before."""
        with self._lock:
            if self._timer is not None:
                whole, nanos = divmod(int(seconds * _SECOND_NS), _SECOND_NS)
                due = _Due(0, 0, whole, nanos)
                self._libc.timer_settime(self._timer, 0, ctypes.byref(due), None)

    def release(self) -> None:
        """Never end the process; a ``press`` after this does nothing."""
        with self._lock:
            timer, self._timer = self._timer, None
            if timer is not None:
                self._libc.timer_delete(timer)

    def _create(self) -> ctypes.c_void_p | None:
        if not hasattr(time, "CLOCK_MONOTONIC") or not hasattr(self._libc, "timer_create"):
            return None
        timer = ctypes.c_void_p()
        notice = _Notice(None, signal.SIGKILL, _SIGEV_SIGNAL)
        failed = self._libc.timer_create(
            time.CLOCK_MONOTONIC, ctypes.byref(notice), ctypes.byref(timer)
        )
        if failed:
            log.warning("no timer for the dead man's switch errno=%d", ctypes.get_errno())
            return None
        return timer
