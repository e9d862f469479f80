"""Savepoints, stopping with one, checkpoints on demand, disposal: each begun here and asked about later."""

from __future__ import annotations

import re
from concurrent.futures import Future
from typing import Any, Final, Literal

from riverrun.rest.bodies.operations import (
    CheckpointInfo,
    CheckpointRequest,
    CheckpointResult,
    DisposalRequest,
    FailureCause,
    OperationInfo,
    OperationResult,
    QueueStatus,
    SavepointInfo,
    SavepointRequest,
    SavepointResult,
    StopRequest,
    TriggerResponse,
)
from riverrun.rest.context import RestContext
from riverrun.rest.java_throwable import serialized_throwable
from riverrun.rest.problems import bad_request
from riverrun.rest.routing import Call, Nothing, OfJob, OfTrigger, OfTriggerAlone, Route

_SAVEPOINT: Final = "savepoint"
_CHECKPOINT: Final = "checkpoint"
_DISPOSAL: Final = "disposal"
IN_PROGRESS: Final = QueueStatus("IN_PROGRESS")
COMPLETED: Final = QueueStatus("COMPLETED")
_CHECKPOINT_FOLDER: Final = re.compile(r"/chk-(\d+)")


def trigger(rest: RestContext, call: Call[OfJob, Nothing, SavepointRequest]) -> TriggerResponse:
    """Take a savepoint while the job goes on."""
    wish, job = call.body, call.path.job
    if wish.cancel_job:
        raise bad_request(
            "cancel-job: a job is not cancelled with a savepoint any more; "
            f"stop it with one: POST to /jobs/{job}/stop"
        )

    def start() -> Future[str]:
        return rest.dispatcher.trigger_savepoint(job, wish.target_directory)

    return TriggerResponse(rest.operations.begin(f"{_SAVEPOINT} of {job}", start, wish.trigger_id))


def stop(rest: RestContext, call: Call[OfJob, Nothing, StopRequest]) -> TriggerResponse:
    """Stop a job with a savepoint."""
    wish, job = call.body, call.path.job

    def start() -> Future[str]:
        return rest.dispatcher.stop_with_savepoint(job, wish.target_directory, drain=wish.drain)

    return TriggerResponse(rest.operations.begin(f"{_SAVEPOINT} of {job}", start, wish.trigger_id))


def savepoint_status(rest: RestContext, call: Call[OfTrigger, Nothing, None]) -> SavepointResult:
    """How a savepoint goes."""
    outcome = rest.operations.outcome(f"{_SAVEPOINT} of {call.path.job}", call.path.triggerid)
    if not outcome.done():
        return SavepointResult(status=IN_PROGRESS)
    cause = failure_cause(outcome)
    location = None if cause is not None else outcome.result()
    info = SavepointInfo(location=location, failure_cause=cause)
    return SavepointResult(status=COMPLETED, operation=info)


def checkpoint(rest: RestContext, call: Call[OfJob, Nothing, CheckpointRequest]) -> TriggerResponse:
    """Take a checkpoint now, beside the periodic ones."""
    wish, job = call.body, call.path.job
    kind: Literal["CONFIGURED", "FULL", "INCREMENTAL"] | None = wish.checkpoint_type
    if kind not in (None, "CONFIGURED"):
        raise bad_request(
            f"checkpointType: is {kind!r}, expected 'CONFIGURED': a checkpoint is full or incremental "
            f"as the job's configuration says"
        )

    def start() -> Future[str]:
        return rest.dispatcher.trigger_checkpoint(job)

    return TriggerResponse(rest.operations.begin(f"{_CHECKPOINT} of {job}", start, wish.trigger_id))


def checkpoint_status(rest: RestContext, call: Call[OfTrigger, Nothing, None]) -> CheckpointResult:
    """How a checkpoint that was asked for goes."""
    outcome = rest.operations.outcome(f"{_CHECKPOINT} of {call.path.job}", call.path.triggerid)
    if not outcome.done():
        return CheckpointResult(status=IN_PROGRESS)
    cause = failure_cause(outcome)
    if cause is not None:
        return CheckpointResult(status=COMPLETED, operation=CheckpointInfo(failure_cause=cause))
    location: str = outcome.result()
    found = _CHECKPOINT_FOLDER.search(location)
    number = None if found is None else int(found[1])
    return CheckpointResult(
        status=COMPLETED, operation=CheckpointInfo(checkpoint_id=number, location=location)
    )


def dispose(rest: RestContext, call: Call[Nothing, Nothing, DisposalRequest]) -> TriggerResponse:
    """Delete a savepoint: its own files and no others."""

    def start() -> Future[None]:
        return rest.dispatcher.dispose_savepoint(call.body.savepoint_path)

    return TriggerResponse(rest.operations.begin(_DISPOSAL, start))


def disposal_status(
    rest: RestContext, call: Call[OfTriggerAlone, Nothing, None]
) -> OperationResult:
    """How a disposal goes."""
    return operation_result(rest.operations.outcome(_DISPOSAL, call.path.triggerid))


def operation_result(outcome: Future[None]) -> OperationResult:
    """How an operation that gives nothing goes."""
    if not outcome.done():
        return OperationResult(status=IN_PROGRESS)
    cause = failure_cause(outcome)
    return OperationResult(status=COMPLETED, operation=OperationInfo(failure_cause=cause))


def failure_cause(outcome: Future[Any]) -> FailureCause | None:
    """Why an ended operation has no result; ``None`` when it has one."""
    error = outcome.exception()
    if error is None:
        return None
    name, words = type(error).__name__, str(error)
    return FailureCause(
        class_name=name,
        stack_trace=words,
        serialized=serialized_throwable(name, words, f"{name}: {words}"),
    )


ROUTES: Final = (
    Route(
        "POST",
        "/jobs/{jobid}/savepoints",
        trigger,
        gives=TriggerResponse,
        of=OfJob,
        takes=SavepointRequest,
        status=202,
    ),
    Route(
        "GET",
        "/jobs/{jobid}/savepoints/{triggerid}",
        savepoint_status,
        gives=SavepointResult,
        of=OfTrigger,
    ),
    Route(
        "POST",
        "/jobs/{jobid}/stop",
        stop,
        gives=TriggerResponse,
        of=OfJob,
        takes=StopRequest,
        status=202,
    ),
    Route(
        "POST",
        "/jobs/{jobid}/checkpoints",
        checkpoint,
        gives=TriggerResponse,
        of=OfJob,
        takes=CheckpointRequest,
        status=202,
    ),
    Route(
        "GET",
        "/jobs/{jobid}/checkpoints/{triggerid}",
        checkpoint_status,
        gives=CheckpointResult,
        of=OfTrigger,
    ),
    Route("POST", "/savepoint-disposal", dispose, gives=TriggerResponse, takes=DisposalRequest),
    Route(
        "GET",
        "/savepoint-disposal/{triggerid}",
        disposal_status,
        gives=OperationResult,
        of=OfTriggerAlone,
    ),
)
