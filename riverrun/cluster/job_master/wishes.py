"""What the client of a running job may wish for, and has to get an answer to in any case."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeAlias

from riverrun.cluster.savepoint_wishes import SavepointWish
from riverrun.core.errors import CheckpointFailed


@dataclass(frozen=True, slots=True)
class CheckpointWish:
    """Somebody wants a checkpoint now."""

    outcome: Future[str] = field(default_factory=Future)
    """Where the checkpoint is once it is complete, or CheckpointFailed."""


Wish: TypeAlias = CheckpointWish | SavepointWish


def too_late(job: str) -> CheckpointFailed:
    """The answer to a wish that comes after the job's end."""
    return CheckpointFailed(f"job {job!r}: has ended")


def refuse(wish: Wish, job: str) -> None:
    """Answer a wish that the job did not come to hear of before it ended."""
    match wish:
        case CheckpointWish(outcome):
            outcome.set_exception(too_late(job))
        case SavepointWish():
            wish.taken.set_exception(too_late(job))
