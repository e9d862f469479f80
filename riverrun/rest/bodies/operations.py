"""Bodies about operations that take a while: begun by one request, asked about by others."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

TriggerId = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]


class TriggerResponse(msgspec.Struct, frozen=True):
    """Under which name to ask what came of it."""

    request_id: str = msgspec.field(name="request-id")


class QueueStatus(msgspec.Struct, frozen=True):
    """Whether the operation has ended."""

    id: Literal["IN_PROGRESS", "COMPLETED"]


class FailureCause(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no result."""

    class_name: str = msgspec.field(name="class")
    stack_trace: str = msgspec.field(name="stack-trace")
    serialized: bytes = msgspec.field(name="serialized-throwable", default=b"")
    """For Flink's Java clients, which read nothing else."""


class SavepointInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the savepoint is, or why there is none."""

    location: str | None = None
    failure_cause: FailureCause | None = msgspec.field(name="failure-cause", default=None)


class CheckpointInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which checkpoint it became, or why there is none."""

    checkpoint_id: int | None = msgspec.field(name="checkpointId", default=None)
    location: str | None = None
    failure_cause: FailureCause | None = msgspec.field(name="failureCause", default=None)


class OperationInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Nothing, or why it failed."""

    failure_cause: FailureCause | None = msgspec.field(name="failure-cause", default=None)


class SavepointResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a savepoint goes."""

    status: QueueStatus
    operation: SavepointInfo | None = None


class CheckpointResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a checkpoint that was asked for goes."""

    status: QueueStatus
    operation: CheckpointInfo | None = None


class OperationResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an operation without a result goes."""

    status: QueueStatus
    operation: OperationInfo | None = None


class SavepointRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Take a savepoint."""

    target_directory: str | None = msgspec.field(name="target-directory", default=None)
    cancel_job: bool = msgspec.field(name="cancel-job", default=False)
    format_type: Literal["CANONICAL", "NATIVE"] | None = msgspec.field(
        name="formatType", default=None
    )
    trigger_id: TriggerId | None = msgspec.field(name="triggerId", default=None)


class StopRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Stop with a savepoint."""

    target_directory: str | None = msgspec.field(name="targetDirectory", default=None)
    drain: bool = False
    format_type: Literal["CANONICAL", "NATIVE"] | None = msgspec.field(
        name="formatType", default=None
    )
    trigger_id: TriggerId | None = msgspec.field(name="triggerId", default=None)


class CheckpointRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Take a checkpoint."""

    checkpoint_type: Literal["CONFIGURED", "FULL", "INCREMENTAL"] | None = msgspec.field(
        name="checkpointType", default=None
    )
    trigger_id: TriggerId | None = msgspec.field(name="triggerId", default=None)


class RescaleRequest(msgspec.Struct, frozen=True):
    """New parallelisms of some vertices, by id, uid or name."""

    vertices: dict[str, int] = {}


class DisposalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Delete a savepoint."""

    savepoint_path: str = msgspec.field(name="savepoint-path")
