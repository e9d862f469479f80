"""What a task and its JobMaster say to each other: two closed unions and their codec.

One connection per subtask (relays too). The order of a connection's life:

    task: Register            JobMaster: Registered, or Rejected and the end
    JobMaster: Start          once every subtask of the job is registered
    task: StatusChanged, Metrics, ClientRun, Accumulators, Heartbeat ...
    JobMaster: HeartbeatAck, Credit, Inquiry ..., Cancel when the job must stop
    task: TaskFailed (if it did), TaskEnded, then it closes

A connection that closes without TaskEnded means that the worker process is gone.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

import msgspec

from riverrun.core.errors import ExternalError, Failure
from riverrun.core.lifecycle import TaskStatus
from riverrun.protocol.inquiries import Inquiry, InquiryAnswer
from riverrun.protocol.snapshots import SnapshotTimes, SubtaskSnapshot


class MalformedMessage(ExternalError):  # noqa: N818
    """Bytes on a control connection that are no message of the union expected there."""


class FailureOrigin(Enum):
    """Where a task's failure began; decides which of a job's failures is shown."""

    USER = "USER"
    """The user's own code raised."""
    SYSTEM = "SYSTEM"
    """Something outside, or riverrun itself, failed in this task first."""
    CONSEQUENCE = "CONSEQUENCE"
    """The task could not go on because another part of the job was gone."""


class Register(msgspec.Struct, frozen=True, tag=True):
    """First message: who the task is. ``vertex`` is empty for a relay."""

    job: str
    attempt: int
    vertex: str
    task: str
    subtask: int
    layer: int
    partition: int
    pid: int
    host: str
    task_manager: str | None = None
    """Id of the executor that runs the task; ``None`` when the task cannot tell."""
    shared: str | None = None
    """Token of the folder that the task shares with others on its machine; ``None``: with nobody."""


class Heartbeat(msgspec.Struct, frozen=True, tag=True):
    """The task's process is alive; answered by HeartbeatAck."""


class StatusChanged(msgspec.Struct, frozen=True, tag=True):
    """The task moved to ``status``."""

    status: TaskStatus


class Metrics(msgspec.Struct, frozen=True, tag=True):
    """Values now: operator name ("" for the task itself) -> metric name -> value."""

    values: dict[str, dict[str, float]]


class TaskFailed(msgspec.Struct, frozen=True, tag=True):
    """Why the task is about to end in FAILED; sent before the engine can notice."""

    failure: Failure
    origin: FailureOrigin


class ClientRun(msgspec.Struct, frozen=True, tag=True):
    """A run of values for the client: ``payload`` is the pickled sequence of ``count`` values.

    ``sequence`` counts the runs of one operator over one connection from 0. See Credit for the flow
    control.
    """

    operator_id: str
    sequence: int
    payload: bytes
    count: int
    commit: str | None = None
    """Names the run within its operator, the same in every attempt: it is delivered once.

    ``None``: delivered as often as it is sent.
    """


class Accumulators(msgspec.Struct, frozen=True, tag=True):
    """All accumulator values of the task now: a pickled ``dict[str, Any]``."""

    payload: bytes


class CheckpointAcknowledged(msgspec.Struct, frozen=True, tag=True):
    """The subtask's part of the checkpoint is written."""

    checkpoint: int
    snapshot: SubtaskSnapshot
    times: SnapshotTimes


class CheckpointDeclined(msgspec.Struct, frozen=True, tag=True):
    """The subtask's part of the checkpoint could not be written; the task goes on."""

    checkpoint: int
    reason: str


class InputOver(msgspec.Struct, frozen=True, tag=True):
    """The task has processed all its input and waits for a checkpoint to complete before it ends."""


class WatermarkReported(msgspec.Struct, frozen=True, tag=True):
    """How far a source of a watermark group is; ``None``: it does not count (idle, or ended)."""

    watermark: int | None


class ToEnumerator(msgspec.Struct, frozen=True, tag=True):
    """A reader's message to its source's enumerator, which gets it as FromReader."""

    payload: bytes


class ToReader(msgspec.Struct, frozen=True, tag=True):
    """The enumerator's message to the reader of ``subtask``, which gets it as FromEnumerator."""

    subtask: int
    payload: bytes


class EnumeratorPrepared(msgspec.Struct, frozen=True, tag=True):
    """The enumerator's part of the checkpoint is fixed: what it assigns from now on is not in it."""

    checkpoint: int


class ChannelAllowance(msgspec.Struct, frozen=True):
    """How far the producer subtask of a channel may go; see SendUntil."""

    edge: int
    producer: int
    until: int
    frame_bytes: int


class RecordsAllowed(msgspec.Struct, frozen=True, tag=True):
    """What a task gives its producers room for; each of them gets its part as SendUntil."""

    channels: tuple[ChannelAllowance, ...]


class TaskEnded(msgspec.Struct, frozen=True, tag=True):
    """Last message: ``outcome`` is FINISHED, CANCELED or FAILED."""

    outcome: TaskStatus


class Registered(msgspec.Struct, frozen=True, tag=True):
    """Welcome, and the terms of the connection."""

    heartbeat_interval_ms: int
    heartbeat_timeout_ms: int
    """Silence of either end for longer than this means that it is gone."""
    window_bytes: int
    """How many ClientRun payload bytes the task may have sent without credit.

    A run larger than that may be sent when nothing else is waiting for credit.
    """


class Rejected(msgspec.Struct, frozen=True, tag=True):
    """The task is not wanted (the job is ending, or another attempt took its place)."""

    reason: str


class Start(msgspec.Struct, frozen=True, tag=True):
    """Every subtask is registered: records may flow."""

    nearby: tuple[int, ...] = ()
    """The partitions of the next layer whose tasks share the task's folder."""


class Cancel(msgspec.Struct, frozen=True, tag=True):
    """Stop now, report TaskEnded, and close."""

    reason: str


class TriggerCheckpoint(msgspec.Struct, frozen=True, tag=True):
    """Take part in a checkpoint now: a source sends the barrier, others start at once (unaligned)."""

    checkpoint: int
    timestamp_ms: int
    options: bytes
    """Of the Barrier: see ``protocol.barriers``."""


class CheckpointCompleted(msgspec.Struct, frozen=True, tag=True):
    """The checkpoint exists: whatever waited for it may become visible."""

    checkpoint: int


class CheckpointAborted(msgspec.Struct, frozen=True, tag=True):
    """The checkpoint will never exist: forget what belongs to it."""

    checkpoint: int


class WatermarkAllowed(msgspec.Struct, frozen=True, tag=True):
    """How far a source of a watermark group may go before it has to wait for the others."""

    watermark: int


class FromReader(msgspec.Struct, frozen=True, tag=True):
    """What the reader of ``subtask`` said to the enumerator, which this task has."""

    subtask: int
    payload: bytes


class FromEnumerator(msgspec.Struct, frozen=True, tag=True):
    """What the enumerator of the task's source said to its reader."""

    payload: bytes


class PrepareEnumerator(msgspec.Struct, frozen=True, tag=True):
    """Fix the enumerator's part of the checkpoint, which is triggered when that is done."""

    checkpoint: int


class SendUntil(msgspec.Struct, frozen=True, tag=True):
    """The task may have sent ``until`` records in all to ``consumer`` over ``edge``, then has to wait."""

    edge: int
    consumer: int
    until: int
    frame_bytes: int
    """How large a frame of that channel should be at most."""


class Credit(msgspec.Struct, frozen=True, tag=True):
    """The client has taken ``bytes`` payload bytes of this task's runs."""

    operator_id: str
    bytes: int


class HeartbeatAck(msgspec.Struct, frozen=True, tag=True):
    """The JobMaster is alive."""


Up: TypeAlias = (
    Register
    | Heartbeat
    | StatusChanged
    | Metrics
    | TaskFailed
    | ClientRun
    | Accumulators
    | CheckpointAcknowledged
    | CheckpointDeclined
    | InputOver
    | WatermarkReported
    | ToEnumerator
    | ToReader
    | EnumeratorPrepared
    | RecordsAllowed
    | InquiryAnswer
    | TaskEnded
)
"""Task -> JobMaster."""

AboutCheckpoints: TypeAlias = (
    CheckpointAcknowledged | CheckpointDeclined | EnumeratorPrepared | InputOver | StatusChanged
)
"""What a task says that the checkpoint coordinator must know."""

SourceReport: TypeAlias = WatermarkReported | ToEnumerator | ToReader | EnumeratorPrepared
"""What a source says that concerns other subtasks."""

PeerReport: TypeAlias = SourceReport | RecordsAllowed
"""What a task says that concerns other subtasks."""

Order: TypeAlias = (
    TriggerCheckpoint
    | CheckpointCompleted
    | CheckpointAborted
    | WatermarkAllowed
    | FromReader
    | FromEnumerator
    | PrepareEnumerator
    | SendUntil
)
"""What a task does between two turns because the JobMaster says so."""

Down: TypeAlias = Registered | Rejected | Start | Cancel | Credit | HeartbeatAck | Inquiry | Order
"""JobMaster -> task."""

_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_UP: Final = msgspec.msgpack.Decoder(Up)
_DOWN: Final = msgspec.msgpack.Decoder(Down)


def encode(message: Up | Down) -> bytes:
    """The message as msgpack.

    >>> decode_down(encode(Credit("op", 12)))
    Credit(operator_id='op', bytes=12)
    """
    return msgspec.msgpack.encode(message)


def decode_up(payload: bytes) -> Up:
    """What a task said; MalformedMessage for anything else."""
    try:
        message: Up = _UP.decode(payload)
    except _UNREADABLE as e:
        raise MalformedMessage(_found("a task's message", payload, e)) from e
    return message


def decode_down(payload: bytes) -> Down:
    """What the JobMaster said; MalformedMessage for anything else."""
    try:
        message: Down = _DOWN.decode(payload)
    except _UNREADABLE as e:
        raise MalformedMessage(_found("a JobMaster's message", payload, e)) from e
    return message


def _found(expected: str, payload: bytes, why: Exception) -> str:
    return f"control connection: expected {expected}, got {len(payload)} bytes ({why})"
