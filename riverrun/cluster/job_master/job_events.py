"""What the job's decision core is told, and what it wants done: facts in, decisions out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from riverrun.core.errors import Failure
from riverrun.core.ids import Attempt
from riverrun.core.lifecycle import JobStatus

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
class ClientFailed:
    """The client's handler raised: it takes nothing any more, from no attempt."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class RoomThere:
    """The client has taken enough of the earlier attempts' values (see AwaitRoom)."""


@dataclass(frozen=True, slots=True)
class AttemptPrepared:
    """It is known what the next attempt starts from (see PrepareAttempt)."""


@dataclass(frozen=True, slots=True)
class PreparationFailed:
    """It could not be found out, or what there is does not fit the program."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Remarked:
    """Something went wrong that the job survives, and that its history should show."""

    failure: Failure


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
    | ClientFailed
    | RoomThere
    | AttemptPrepared
    | PreparationFailed
    | Remarked
    | TimePassed
)

# decisions


@dataclass(frozen=True, slots=True)
class CancelAttempt:
    """Let the attempt stop; it ends in AttemptOver."""


@dataclass(frozen=True, slots=True)
class AwaitRoom:
    """Report RoomThere when the client is not too far behind to take the values of another attempt."""


@dataclass(frozen=True, slots=True)
class PrepareAttempt:
    """Find out what the next attempt starts from, then report AttemptPrepared or PreparationFailed."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """Run the attempt that was prepared; it reports its moves."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class EndJob:
    """Release everything and tell those who wait; nothing is decided after this."""

    status: JobStatus
    failure: Failure | None


JobDecision: TypeAlias = CancelAttempt | AwaitRoom | PrepareAttempt | StartAttempt | EndJob
