"""Commits that go on while the next epoch begins, and are done before it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["Background"]


class Background:
    """At most one action at a time in a thread of its own, for one subtask.

    A commit may be late, but not later than the next snapshot: that one no longer holds the epoch, so it
    must not be taken before the epoch is written. Whoever takes it calls ``join``.
    """

    def __init__(self) -> None:
        self._allowed = False
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._told = False

    def allow(self) -> None:
        """From now on there is somebody who joins."""
        self._allowed = True

    def forbid(self) -> None:
        """Join, and let all further actions happen at once: nobody may come to join them."""
        self._allowed = False
        self.join()

    def run(self, action: Callable[[], None]) -> None:
        """Do it, after what was begun before; raises what that raised.

        Where it is allowed, it returns while the action goes on.
        """
        self.join()
        if not self._allowed:
            action()
            return
        # A daemon: a process that is told to end does not wait for a broker that is away.
        self._thread = threading.Thread(
            target=self._attempted, args=(action,), name="kafka-commit", daemon=True
        )
        self._thread.start()

    def join(self) -> None:
        """Wait for the end of what was begun.

        Raises:
            Exception: what it raised, again and again.
        """
        self._wait()
        self.raise_failure()

    def close(self) -> None:
        """Wait for the end of what was begun; raises only what nobody has been told yet."""
        self._wait()
        if not self._told:
            self.raise_failure()

    def raise_failure(self) -> None:
        """Raise what an action raised, without waiting for one."""
        if self._failure is not None:
            self._told = True
            raise self._failure

    def _wait(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _attempted(self, action: Callable[[], None]) -> None:
        try:
            action()
        except BaseException as e:  # noqa: BLE001  (whoever joins raises it)
            self._failure = e
