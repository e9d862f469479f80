"""Operations that take longer than a request: begun by one, asked about by others.

What came of an operation is kept for a while after its end, so that whoever began it can ask; then it
is forgotten. A second request with the same trigger id joins the first: clients repeat requests whose
answer they did not get.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from riverrun.rest.problems import not_found

KEPT_S: Final = 300.0
"""How long an outcome can be asked for, as in Flink."""


@dataclass(slots=True)
class _Operation:
    outcome: Future[Any]
    ended: float | None = None


class Operations:
    """By kind and trigger id; safe for any thread.

    >>> operations, outcome = Operations(), Future()
    >>> trigger = operations.begin("savepoint", lambda: outcome)
    >>> operations.outcome("savepoint", trigger) is outcome
    True
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, kept_s: float = KEPT_S) -> None:
        self._now = now
        self._kept_s = kept_s
        self._lock = threading.Lock()
        self._operations: dict[tuple[str, str], _Operation] = {}

    def begin(self, kind: str, start: Callable[[], Future[Any]], trigger: str | None = None) -> str:
        """Start an operation unless one with this trigger id is known; gives the trigger id."""
        trigger = trigger or secrets.token_hex(16)
        key = (kind, trigger)
        with self._lock:
            self._forget()
            if key in self._operations:
                return trigger
            operation = self._operations[key] = _Operation(Future())
        try:
            outcome = start()
        except BaseException:
            with self._lock:
                self._operations.pop(key, None)
            raise
        operation.outcome = outcome
        outcome.add_done_callback(lambda _: self._note_end(operation))
        return trigger

    def outcome(self, kind: str, trigger: str) -> Future[Any]:
        """What comes of the operation; HttpProblem 404 when there is none, or it is forgotten."""
        with self._lock:
            self._forget()
            operation = self._operations.get((kind, trigger))
        if operation is None:
            raise not_found(
                f"{kind} {trigger!r}: not known; outcomes are kept {self._kept_s:.0f} s after the end"
            )
        return operation.outcome

    def _note_end(self, operation: _Operation) -> None:
        operation.ended = self._now()

    def _forget(self) -> None:
        old = self._now() - self._kept_s
        for key, operation in list(self._operations.items()):
            if operation.ended is not None and operation.ended < old:
                del self._operations[key]
