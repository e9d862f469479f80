"""Between a connector's own thread, which may block, and its reader, which may not."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_PATIENCE_S: Final = 0.002
"""How long a reader waits for something: short against the buffer timeout, long against a spin."""
_JOIN_S: Final = 1.0


class Feed(Generic[T]):
    """Runs that a thread brings and a reader takes, in order; the thread waits when it is ahead.

    Args:
        bring: runs in the thread, from ``start`` to its own end; it calls ``put`` and returns soon after
            that, or ``pause``, says that nobody takes any more. What it raises, ``take`` raises.
        name: of the thread.
        wake: called when there is something to take again; may be called from any thread.
        capacity: how much may wait, in the unit of ``put``; a run that is larger comes alone.
    """

    def __init__(
        self,
        bring: Callable[[Feed[T]], None],
        *,
        name: str,
        wake: Callable[[], None],
        capacity: int = 8192,
    ) -> None:
        self._bring = bring
        self._wake = wake
        self._capacity = capacity
        self._changed = threading.Condition()
        self._runs: deque[tuple[T, int]] = deque()
        self._size = 0
        self._stopped = False
        self._ended = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    # the reader's side

    def start(self) -> None:
        """Let the thread begin."""
        self._thread.start()

    def take(self) -> T | None:
        """The next run, after a moment's wait; None: there is none now. Raises what the thread raised."""
        with self._changed:
            if not self._runs and not self._ended:
                self._changed.wait(_PATIENCE_S)
            if self._runs:
                run, size = self._runs.popleft()
                self._size -= size
                self._changed.notify_all()
                return run
            error, self._error = self._error, None
        if error is not None:
            raise error
        return None

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left and nothing will come."""
        with self._changed:
            return self._ended and not self._runs and self._error is None

    def stop(self, interrupt: Callable[[], None] | None = None) -> None:
        """Take no more; ``interrupt`` frees a thread that waits for the outside.

        A thread that does not come back in time is left behind: it is a daemon and brings nothing.
        """
        with self._changed:
            self._stopped = True
            self._runs.clear()
            self._changed.notify_all()
        if interrupt is not None:
            interrupt()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)

    # the thread's side

    def put(self, run: T, size: int = 1) -> bool:
        """Hand over a run, when there is room for it; False: nobody takes any more."""
        with self._changed:
            self._changed.wait_for(self._has_room_for(size))
            if self._stopped:
                return False
            self._runs.append((run, size))
            self._size += size
            self._changed.notify_all()
        self._wake()
        return True

    def pause(self, seconds: float) -> bool:
        """Do nothing for a while; False: nobody takes any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped, seconds)
            return not self._stopped

    @property
    def is_wanted(self) -> bool:
        """Whether somebody still takes what is put."""
        return not self._stopped

    def _has_room_for(self, size: int) -> Callable[[], bool]:
        return lambda: self._stopped or not self._runs or self._size + size <= self._capacity

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            self._bring(self)
        except BaseException as raised:  # noqa: BLE001  (handed to the task thread, which raises it)
            error = raised
        with self._changed:
            # Whoever is stopped may well break: a connection was taken from it.
            self._error = None if self._stopped else error
            self._ended = True
            self._changed.notify_all()
        self._wake()
