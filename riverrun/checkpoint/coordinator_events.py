"""What the checkpoint coordinator is told, and what it wants done: facts in, decisions out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.core.ids import SubtaskId
from riverrun.protocol.barriers import BarrierOptions, SavepointOrder
from riverrun.protocol.snapshots import SnapshotTimes, SubtaskSnapshot

# facts


@dataclass(frozen=True, slots=True)
class AttemptRestored:
    """The next attempt begins from this checkpoint."""

    checkpoint: int
    location: str
    """Of its `_metadata` file."""
    savepoint: bool = False


@dataclass(frozen=True, slots=True)
class AttemptRunning:
    """Every subtask runs, with nothing of an earlier attempt left; periodic checkpoints may begin."""


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """The attempt failed, was cancelled or finished: what is pending will never complete."""

    reason: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A subtask wrote its part. Late, repeated and unknown ones are the coordinator's to sort out."""

    task: SubtaskId
    checkpoint: int
    snapshot: SubtaskSnapshot
    times: SnapshotTimes


@dataclass(frozen=True, slots=True)
class Declined:
    """A subtask could not write its part."""

    task: SubtaskId
    checkpoint: int
    reason: str


@dataclass(frozen=True, slots=True)
class EnumeratorReady:
    """The enumerator in this subtask's task has fixed its part of the checkpoint."""

    task: SubtaskId
    checkpoint: int


@dataclass(frozen=True, slots=True)
class SubtaskInputOver:
    """A subtask processed all of its input and waits for a checkpoint to complete."""

    task: SubtaskId


@dataclass(frozen=True, slots=True)
class SubtaskFinished:
    """A subtask is done; it takes no part in checkpoints any more."""

    task: SubtaskId


@dataclass(frozen=True, slots=True)
class MetadataWritten:
    """`_metadata` of the checkpoint is in the store."""

    checkpoint: int
    location: str
    """Of the file itself: it is deleted with the checkpoint."""
    size: int


@dataclass(frozen=True, slots=True)
class MetadataFailed:
    """`_metadata` of the checkpoint could not be written."""

    checkpoint: int
    reason: str
    location: str | None = None
    """Where it would be; given when it may be there all the same, so that it is deleted."""


@dataclass(frozen=True, slots=True)
class CheckpointRequested:
    """Somebody wants a checkpoint now; ``request`` names the wish in the answer."""

    request: int


@dataclass(frozen=True, slots=True)
class SavepointRequested:
    """Somebody wants a savepoint now; ``request`` names the wish in the answer."""

    request: int
    order: SavepointOrder


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Nothing happened; something may be due."""


CoordinatorEvent: TypeAlias = (
    AttemptRestored
    | AttemptRunning
    | AttemptEnded
    | Acknowledged
    | Declined
    | EnumeratorReady
    | SubtaskInputOver
    | SubtaskFinished
    | MetadataWritten
    | MetadataFailed
    | CheckpointRequested
    | SavepointRequested
    | TimePassed
)

# decisions


@dataclass(frozen=True, slots=True)
class Trigger:
    """Send TriggerCheckpoint to these subtasks."""

    checkpoint: int
    timestamp_ms: int
    options: BarrierOptions
    tasks: tuple[SubtaskId, ...]


@dataclass(frozen=True, slots=True)
class PrepareEnumerators:
    """Send PrepareEnumerator to these subtasks; the trigger follows when all of them are ready."""

    checkpoint: int
    tasks: tuple[SubtaskId, ...]


@dataclass(frozen=True, slots=True)
class WriteMetadata:
    """Every subtask acknowledged: write `_metadata`, then say MetadataWritten or MetadataFailed."""

    metadata: CheckpointMetadata
    folder: str | None = None
    """Of a savepoint, where it goes; ``None``: to the job's own checkpoints."""
    stops: bool = False
    """Whether the job stops with it: that must be known to whoever would go on with the job."""


@dataclass(frozen=True, slots=True)
class TellCompleted:
    """Send CheckpointCompleted to these subtasks."""

    checkpoint: int
    tasks: tuple[SubtaskId, ...]


@dataclass(frozen=True, slots=True)
class TellAborted:
    """Send CheckpointAborted to these subtasks."""

    checkpoint: int
    tasks: tuple[SubtaskId, ...]
    reason: str = field(default="", compare=False)
    """For people."""


@dataclass(frozen=True, slots=True)
class DeleteFiles:
    """No checkpoint needs these files any more; nobody waits for their end."""

    locations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DiscardSavepoint:
    """The savepoint will never exist: delete its folder with all that is in it."""

    folder: str


@dataclass(frozen=True, slots=True)
class FailAttempt:
    """More checkpoints failed than are tolerated, or a savepoint for which the streams were ended."""

    reason: str


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """What came of a wish: the checkpoint or savepoint that completed, or why there is none."""

    request: int
    checkpoint: int | None
    location: str | None
    reason: str | None


CoordinatorDecision: TypeAlias = (
    Trigger
    | PrepareEnumerators
    | WriteMetadata
    | TellCompleted
    | TellAborted
    | DeleteFiles
    | DiscardSavepoint
    | FailAttempt
    | AnswerRequest
)
