"""What happened in a simulated run, one line for each step."""

from __future__ import annotations

from typing import Any

from riverrun.core.clock import Clock
from riverrun.local.ways import Way, WayKind
from riverrun.protocol.control import (
    CheckpointAborted,
    CheckpointAcknowledged,
    CheckpointCompleted,
    CheckpointDeclined,
    EnumeratorPrepared,
    FromEnumerator,
    FromReader,
    InputOver,
    PrepareEnumerator,
    RecordsAllowed,
    SendUntil,
    StatusChanged,
    ToEnumerator,
    ToReader,
    TriggerCheckpoint,
)
from riverrun.runtime.chain import ClientRun
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.runtime.split_messages import unpacked


class Trace:
    """Lines with the number of their step and the virtual time since the start."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.monotonic()
        self.lines: list[str] = []

    def note(self, step: int, text: str) -> None:
        """One line."""
        passed = self._clock.monotonic() - self._began
        self.lines.append(f"{step:6d} {passed:9.1f} ms  {text}")

    def moved(self, step: int, way: Way, thing: Any, remark: str = "") -> None:
        """Something arrives, or does not."""
        self.note(step, _DESCRIBED[way.kind].format(name=way.name, thing=_named(thing)) + remark)


_DESCRIBED = {
    WayKind.ORDERS: "{name} <- JobMaster: {thing}",
    WayKind.REPORTS: "{name} -> JobMaster: {thing}",
    WayKind.WRITES: "{name} -> store: {thing}",
    WayKind.METADATA: "{name} -> store: metadata",
    WayKind.DELETES: "{name} -> store: deletions",
    WayKind.OUTCOMES: "{name} <- store: what came of it",
}


def _named(thing: Any) -> str:  # noqa: C901, PLR0911, PLR0912  (one line for each kind)
    match thing:
        case TriggerCheckpoint(checkpoint):
            return f"trigger checkpoint {checkpoint}"
        case CheckpointCompleted(checkpoint):
            return f"checkpoint {checkpoint} is complete"
        case CheckpointAborted(checkpoint):
            return f"checkpoint {checkpoint} is aborted"
        case CheckpointAcknowledged(checkpoint):
            return f"acknowledges checkpoint {checkpoint}"
        case CheckpointDeclined(checkpoint, reason):
            return f"declines checkpoint {checkpoint}: {reason}"
        case PrepareEnumerator(checkpoint):
            return f"fix the enumerator's part of checkpoint {checkpoint}"
        case EnumeratorPrepared(checkpoint):
            return f"the enumerator's part of checkpoint {checkpoint} is fixed"
        case ToEnumerator(payload) | ToReader(payload=payload):
            return f"pass on {unpacked(payload)}"
        case FromReader(subtask, payload):
            return f"reader {subtask} says {unpacked(payload)}"
        case FromEnumerator(payload):
            return f"the enumerator says {unpacked(payload)}"
        case RecordsAllowed(channels):
            return f"takes more from {len(channels)} channels"
        case SendUntil(edge, consumer, until):
            return f"send until record {until} to consumer {consumer} of edge {edge}"
        case InputOver():
            return "its input is over"
        case StatusChanged(status):
            return f"is {status.value}"
        case ClientRun(_, values, commit):
            return f"{len(values)} results, commit {commit}"
        case TaskSnapshot(checkpoint=checkpoint):
            return f"snapshot of checkpoint {checkpoint}"
        case None:
            return "nothing left to write"
        case _:
            return type(thing).__name__
