"""What a job in this process runs in: its clock, its stores, its client. It outlives every JobMaster."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from riverrun.core.clock import ManualClock
from riverrun.runtime.chain import ClientRun
from riverrun.runtime.deferred import OpenSpill
from riverrun.runtime.settings import TaskSettings
from riverrun.storage.storage import Storage

TURN_MS: Final = 1.0
"""Virtual time that one turn of one task takes.

It makes time pass for a job that is never idle: with an interval of 100 ms a checkpoint begins every
hundred turns. Beyond that time only passes when nobody has anything to do, and then it jumps.
"""

ClientHandler: TypeAlias = Callable[[int, Sequence[Any]], None]


class Client:
    """The process that submitted the job: takes each run that bears a commit id once."""

    def __init__(self, handlers: Mapping[str, ClientHandler]) -> None:
        self._handlers = handlers
        self._taken: dict[str, set[str]] = {}

    def take(self, subtask: int, run: ClientRun) -> bool:
        """Hand the run to its handler; whether it was new. Raises what the handler raises."""
        if run.commit is not None:
            taken = self._taken.setdefault(run.operator_id, set())
            if run.commit in taken:
                return False
            taken.add(run.commit)
        handler = self._handlers.get(run.operator_id)
        if handler is not None:
            handler(subtask, run.values)
        return True


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the job uses and does not own."""

    clock: ManualClock
    rng: random.Random
    """Draws who runs next, and the job's delays."""
    client: Client
    settings: TaskSettings
    storage: Callable[[str], Storage]
    """From a location to the store that holds it."""
    checkpoint_dir: str
    """Below it the job's checkpoints go."""
    folder: Path
    """For local files of tasks; made when the first of them is."""
    open_spill: OpenSpill
    turn_ms: float = TURN_MS
    wants_metrics: bool = True
    woken: threading.Event = field(default_factory=threading.Event)
    """Set from other threads when there is something to do: it ends a wait for the world outside."""
