"""Things that are on their way: whatever another engine does in threads and over sockets.

A way is first in, first out. Who moves which way when is the business of whoever drives the job: in
order for a job that shall just run, by a seed for one that is being tested.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any


class WayKind(Enum):
    """What travels on a way."""

    ORDERS = "orders"
    """Control messages from the JobMaster to one task."""
    REPORTS = "reports"
    """Control messages and results from one task to the JobMaster."""
    WRITES = "writes"
    """Snapshots of one task that are to be written to the store."""
    METADATA = "metadata"
    """Complete checkpoints that the JobMaster writes to the store."""
    DELETES = "deletes"
    """Files that the JobMaster deletes from the store."""
    OUTCOMES = "outcomes"
    """What came of the JobMaster's work on the store, on its way back to it."""


class Way:
    """Things in the order in which they will arrive; ``arrive`` is what happens to each then."""

    __slots__ = ("_arrive", "kind", "name", "waiting")

    def __init__(self, kind: WayKind, name: str, arrive: Callable[[Any], None]) -> None:
        self.kind = kind
        self.name = name
        """Whose way it is, for traces."""
        self.waiting: deque[Any] = deque()
        self._arrive = arrive

    def __bool__(self) -> bool:
        return bool(self.waiting)

    def put(self, thing: Any) -> None:
        """Send ``thing`` after all that is on the way already."""
        self.waiting.append(thing)

    def move(self) -> Any:
        """Let the first thing arrive; gives it back."""
        thing = self.waiting.popleft()
        self._arrive(thing)
        return thing

    def arrive(self, thing: Any) -> None:
        """Let ``thing`` arrive now, past what is on the way."""
        self._arrive(thing)
