"""The executors of the application as task managers: who is there, since when, and who was lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from riverrun.core.ids import Millis

_REMEMBERED: Final = 100
"""How many lost task managers are remembered."""


@dataclass(frozen=True, slots=True)
class TaskManager:
    """One Spark executor; in local mode the driver itself."""

    id: str
    host: str
    port: int
    cores: int
    slots: int
    """How many subtasks can run in it at once."""
    slots_used: int = 0
    """Tasks that run in it, as far as Spark has heard of them."""
    memory_max: int = 0
    """Bytes of memory that Spark manages in it."""
    memory_used: int = 0
    since: int = 0
    """When it came, in milliseconds since the epoch."""
    lost_at: Millis | None = None
    measured: Mapping[str, float] = field(default_factory=dict)
    """What else Spark measures in it, by the names of Flink's metrics."""

    @property
    def slots_free(self) -> int:
        """Places for more subtasks."""
        return max(0, self.slots - self.slots_used)


@dataclass(frozen=True, slots=True)
class Movement:
    """What a look at the executors found to be different."""

    came: tuple[TaskManager, ...] = ()
    left: tuple[TaskManager, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.came or self.left)


class TaskManagerRegistry:
    """Remembers what was seen. An executor's id is never used again by the same application."""

    def __init__(self) -> None:
        self._there: dict[str, TaskManager] = {}
        self._lost: deque[TaskManager] = deque(maxlen=_REMEMBERED)

    def there(self) -> tuple[TaskManager, ...]:
        """Those that were seen last time, in the order in which they came."""
        return tuple(self._there.values())

    def lost(self) -> tuple[TaskManager, ...]:
        """Those that were there once, the latest of them last; very old ones are forgotten."""
        return tuple(self._lost)

    def observe(self, seen: Iterable[TaskManager], at: Millis) -> Movement:
        """Take note of the executors that are there at ``at``."""
        now = {each.id: each for each in seen}
        came = tuple(each for each in now.values() if each.id not in self._there)
        left = tuple(
            replace(each, lost_at=at, slots_used=0, memory_used=0)
            for each in self._there.values()
            if each.id not in now
        )
        stayed = {id_: now[id_] for id_ in self._there if id_ in now}
        self._there = stayed | {each.id: each for each in came}
        self._lost.extend(left)
        return Movement(came, left)
