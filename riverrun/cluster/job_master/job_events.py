"""What the job's decision core is told, and what it wants done: facts in, decisions out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from riverrun.core.errors import Failure
from riverrun.core.ids import Attempt
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.job_graph import JobGraph

# facts


@dataclass(frozen=True, slots=True)
class StartRefused:
    """The job could not be started at all; nothing of it runs."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class AttemptMoved:
    """The attempt is in another state, which is no end."""

    status: JobStatus


@dataclass(frozen=True, slots=True)
class CauseSettled:
    """The attempt fails because of this; its tasks are being stopped."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class WorkDone:
    """Every task finished; only the client has not taken everything yet."""


@dataclass(frozen=True, slots=True)
class AttemptOver:
    """Nothing of the attempt is left."""

    status: JobStatus
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """The client wants the job to stop."""


@dataclass(frozen=True, slots=True)
class SuspendRequested:
    """The job is to stop here, so that another JobManager can go on with it."""


@dataclass(frozen=True, slots=True)
class ClientFailed:
    """The client's handler raised: it takes nothing any more, from no attempt."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class RoomThere:
    """There is room for another attempt (see AwaitRoom)."""


@dataclass(frozen=True, slots=True)
class AttemptPrepared:
    """It is known what the next attempt starts from (see PrepareAttempt)."""

    graph: JobGraph | None = None
    """What it has; ``None``: what was wanted."""
    refused: str | None = None
    """Why it cannot have the graph that was wanted."""


@dataclass(frozen=True, slots=True)
class PreparationFailed:
    """There is no room, or it could not be found out, or what there is does not fit the program."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Remarked:
    """Something went wrong that the job survives, and that its history should show."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class AttemptUp:
    """Every task of the attempt runs."""


@dataclass(frozen=True, slots=True)
class RescaleWanted:
    """Somebody wants the job to go on with another graph of the same program."""

    wish: int
    """Tells wishes apart."""
    graph: JobGraph


@dataclass(frozen=True, slots=True)
class RescaleCheckpointed:
    """What the next attempt can start from is complete (see CheckpointForRescale), or will never be."""

    number: int
    reason: str | None
    """Why it will never be."""
    final: bool = False
    """Whether the tasks have stopped with it, so that the attempt cannot go on."""


@dataclass(frozen=True, slots=True)
class RescaleWithdrawn:
    """Something else is to be done with the attempt that runs; it must not be stopped any more."""

    reason: str


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Nothing happened; a deadline may be due."""


JobEvent: TypeAlias = (
    StartRefused
    | AttemptMoved
    | CauseSettled
    | WorkDone
    | AttemptOver
    | CancelRequested
    | SuspendRequested
    | ClientFailed
    | RoomThere
    | AttemptPrepared
    | PreparationFailed
    | Remarked
    | AttemptUp
    | RescaleWanted
    | RescaleCheckpointed
    | RescaleWithdrawn
    | TimePassed
)

# decisions


@dataclass(frozen=True, slots=True)
class CancelAttempt:
    """Let the attempt stop; it ends in AttemptOver."""


@dataclass(frozen=True, slots=True)
class AwaitRoom:
    """Report RoomThere, or PreparationFailed, when there is room for another attempt.

    That is when the client is not too far behind to take its values, and the cluster has slots for it.
    """


@dataclass(frozen=True, slots=True)
class PrepareAttempt:
    """Find out what the next attempt starts from, then report AttemptPrepared or PreparationFailed.

    It has ``JobState.next_graph``, as it is now.
    """

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """Run the attempt that was prepared; it reports its moves."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class CheckpointForRescale:
    """Take a checkpoint now, then report RescaleCheckpointed with its number."""

    number: int
    """Counts these, not checkpoints."""


@dataclass(frozen=True, slots=True)
class StopAttempt:
    """Let the attempt, which is healthy, stop here and now; it ends in AttemptOver. Another one follows."""

    reason: str = "the job is being rescaled"


@dataclass(frozen=True, slots=True)
class AnswerRescale:
    """Tell whoever has the wish that the job is rescaled, or the reason why it is not."""

    wish: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class EndJob:
    """Release everything and tell those who wait; nothing is decided after this."""

    status: JobStatus
    failure: Failure | None


RescaleDecision: TypeAlias = CheckpointForRescale | StopAttempt | AnswerRescale

JobDecision: TypeAlias = (
    CancelAttempt | AwaitRoom | PrepareAttempt | StartAttempt | EndJob | RescaleDecision
)
