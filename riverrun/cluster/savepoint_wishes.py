"""Wishes for savepoints: where they go, and when whoever has one gets an answer."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Final

from riverrun.checkpoint.savepoint_store import new_savepoint_folder
from riverrun.core import options
from riverrun.core.errors import CheckpointFailed, ConfigError, Failure
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.protocol.barriers import SavepointOrder

_START_FROM: Final = "start a job from it to go on, which commits what may not have been committed"


@dataclass(frozen=True, slots=True)
class SavepointWish:
    """Somebody wants a savepoint."""

    order: SavepointOrder
    taken: Future[str] = field(default_factory=Future)
    """Where the savepoint is once it is complete, or CheckpointFailed."""
    outcome: Future[str] = field(default_factory=Future)
    """What whoever has the wish waits for: also for the job's end if it is to stop."""

    def __post_init__(self) -> None:
        self.taken.add_done_callback(self._taken)

    def settle(self, job: str, status: JobStatus) -> None:
        """The job is over in ``status``; ``taken`` has its answer if there will be any."""
        if self.outcome.done():
            return
        if not self.taken.done():
            self.outcome.set_exception(CheckpointFailed(f"job {job!r}: is {status.value}"))
        elif status is JobStatus.FINISHED:
            self.outcome.set_result(self.taken.result())
        else:
            self.outcome.set_exception(
                CheckpointFailed(
                    f"job {job!r}: was to stop with the savepoint {self.taken.result()!r}, which is "
                    f"complete, but is {status.value} before all of its tasks ended; {_START_FROM}"
                )
            )

    def _taken(self, taken: Future[str]) -> None:
        error = taken.exception()
        if error is not None:
            self.outcome.set_exception(error)
        elif not self.order.stop:
            self.outcome.set_result(taken.result())


def savepoint_wish(
    job: JobId,
    config: Mapping[str, str],
    target: str | None,
    *,
    stop: bool = False,
    drain: bool = False,
) -> SavepointWish:
    """A wish for a savepoint of ``job`` below ``target``, or where its configuration says.

    Raises:
        ConfigError: nobody says where, or it is a relative path.
    """
    target = target if target is not None else options.SAVEPOINT_DIR.get(config)
    if target is None:
        raise ConfigError(
            f"savepoint of job {str(job)!r}: nobody says where it goes; give a folder, or set "
            f"{options.SAVEPOINT_DIR.key!r}"
        )
    return SavepointWish(SavepointOrder(new_savepoint_folder(target, str(job)), stop, drain))


def after_stop(failure: Failure, savepoint: str | None) -> Failure:
    """``failure`` of an attempt, as the job has to take it that stopped with ``savepoint``.

    It must not start again: what followed its latest checkpoint is in the savepoint and was committed.
    """
    if savepoint is None:
        return failure
    hint = (
        f"the job stopped with the savepoint {savepoint!r} before, which is complete; {_START_FROM}"
    )
    return replace(failure, retryable=False, hint=failure.hint or hint)
