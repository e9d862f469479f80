"""What goes wrong in a simulated run: how much at most, and what exactly in one run."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from enum import Enum


@dataclass(frozen=True, slots=True)
class Faults:
    """How many faults of each kind a run may have; each run draws a number from 0 to this.

    ``Faults()`` is some of everything, ``Faults.none()`` is none: only the order of events differs then.
    """

    task_crashes: int = 2
    """A task is gone: the attempt fails, and the job starts again from its latest checkpoint."""
    master_crashes: int = 1
    """The JobMaster is gone with all it knew; another one starts from what is in the store.

    Now and then the old one does not notice, and goes on for a while.
    """
    zombies: int = 1
    """The JobMaster gives an attempt up although its tasks are alive: they go on beside the next attempt."""
    lost_messages: int = 1
    """A message between JobMaster and task is lost; some time later its connection is found broken."""
    late_messages: int = 2
    """A message, and all that follow it on its connection, takes long."""
    repeated_messages: int = 2
    """A message about a checkpoint comes a second time, later."""
    storage_errors: int = 2
    """The store refuses: nothing was done, or a part, or everything."""
    slow_storage: int = 2
    """The store takes long, while everything else goes on."""

    @staticmethod
    def none() -> Faults:
        """Nothing goes wrong."""
        return Faults(**{each.name: 0 for each in fields(Faults)})

    def __post_init__(self) -> None:
        for each in fields(self):
            number = getattr(self, each.name)
            if not isinstance(number, int) or number < 0:
                raise ValueError(f"faults: {each.name} is {number!r}; expected 0 or more")


class FaultKind(Enum):
    """One kind of fault; what ``Fault.at`` counts depends on it."""

    TASK_CRASH = "a task crashes"
    MASTER_CRASH = "the JobMaster crashes"
    MASTER_REPLACED = "the JobMaster is replaced and does not notice"
    ZOMBIE = "the attempt is given up and its tasks go on"
    LOST = "a message is lost"
    LATE = "a message is late"
    REPEATED = "a message is repeated"
    REFUSED = "the store refuses"
    CUT_SHORT = "the store stops in the middle"
    DONE_BUT_FAILED = "the store does it and reports an error"
    SLOW = "the store is slow"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong."""

    at: int
    """At which step, message, work or operation of the store; counted from 1."""
    kind: FaultKind
    extent: int = 0
    """How long it lasts, or whom it strikes: a number that the kind gives its meaning."""

    def __str__(self) -> str:
        return f"{self.kind.value} ({_UNITS[self.kind].value} {self.at})"


@dataclass(frozen=True, slots=True)
class Extent:
    """How long a run is when nothing goes wrong."""

    steps: int
    messages: int
    works: int
    """Snapshots and other things that went to the store."""
    operations: int
    """Single operations of the store."""


class Unit(Enum):
    """What ``Fault.at`` counts."""

    STEP = "step"
    MESSAGE = "message"
    WORK = "work of the store"
    OPERATION = "operation of the store"


_UNITS = {
    FaultKind.TASK_CRASH: Unit.STEP,
    FaultKind.MASTER_CRASH: Unit.STEP,
    FaultKind.MASTER_REPLACED: Unit.STEP,
    FaultKind.ZOMBIE: Unit.STEP,
    FaultKind.LOST: Unit.MESSAGE,
    FaultKind.LATE: Unit.MESSAGE,
    FaultKind.REPEATED: Unit.MESSAGE,
    FaultKind.REFUSED: Unit.OPERATION,
    FaultKind.CUT_SHORT: Unit.OPERATION,
    FaultKind.DONE_BUT_FAILED: Unit.OPERATION,
    FaultKind.SLOW: Unit.WORK,
}


class PendingFaults:
    """The faults of a run that have not struck, by what they wait for."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.steps: dict[int, list[Fault]] = {}
        self.messages: dict[int, list[Fault]] = {}
        self.works: dict[int, list[Fault]] = {}
        self.operations: dict[int, list[Fault]] = {}
        places = {
            Unit.STEP: self.steps,
            Unit.MESSAGE: self.messages,
            Unit.WORK: self.works,
            Unit.OPERATION: self.operations,
        }
        for fault in faults:
            places[_UNITS[fault.kind]].setdefault(fault.at, []).append(fault)


_REFUSALS = (FaultKind.REFUSED, FaultKind.CUT_SHORT, FaultKind.DONE_BUT_FAILED)
_STRETCH = 1.5
"""Faults make runs longer, so they may come later than an undisturbed run would last."""


def draw_faults(rng: random.Random, faults: Faults, extent: Extent) -> tuple[Fault, ...]:
    """What goes wrong in one run, in an order that means nothing."""
    drawn: list[Fault] = []

    def add(most: int, kinds: tuple[FaultKind, ...], length: int) -> None:
        for _ in range(rng.randint(0, most)):
            kind = rng.choice(kinds)
            at = rng.randint(1, max(2, int(length * _STRETCH)))
            drawn.append(Fault(at, kind, rng.randint(1, max(4, extent.steps // 3))))

    add(faults.task_crashes, (FaultKind.TASK_CRASH,), extent.steps)
    masters = (FaultKind.MASTER_CRASH, FaultKind.MASTER_REPLACED)
    add(faults.master_crashes, masters, extent.steps)
    add(faults.zombies, (FaultKind.ZOMBIE,), extent.steps)
    add(faults.lost_messages, (FaultKind.LOST,), extent.messages)
    add(faults.late_messages, (FaultKind.LATE,), extent.messages)
    add(faults.repeated_messages, (FaultKind.REPEATED,), extent.messages)
    add(faults.storage_errors, _REFUSALS, extent.operations)
    add(faults.slow_storage, (FaultKind.SLOW,), extent.works)
    return tuple(sorted(drawn, key=lambda each: (each.at, each.kind.name, each.extent)))
