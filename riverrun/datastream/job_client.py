"""A submitted job as the program sees it: its client, its result, and futures of both."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from riverrun.core.errors import CheckpointFailed, Failure, JobCanceled, JobFailed
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.core.options import SavepointFormatType
from riverrun.graph.executor import FailureRecord, RunningJob
from riverrun.graph.rescaling import Parallelism, RescaleFailed

__all__ = ["CompletableFuture", "JobClient", "JobExecutionResult"]

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """A value that may come later."""

    def __init__(
        self,
        wait: Callable[[float | None], T],
        is_done: Callable[[], bool],
        cancel: Callable[[], None] | None = None,
    ) -> None:
        self._wait = wait
        self._is_done = is_done
        self._cancel = cancel
        self._cancelled = False

    @staticmethod
    def completed(value: T) -> CompletableFuture[T]:
        """A future of a value that is there."""
        return CompletableFuture(lambda _: value, lambda: True)

    def cancel(self) -> bool:
        """Give up on the value; whether that was still possible."""
        if self._cancel is None or self.done():
            return False
        self._cancel()
        self._cancelled = True
        return True

    def cancelled(self) -> bool:
        """Whether ``cancel`` was called in time."""
        return self._cancelled

    def done(self) -> bool:
        """Whether the value, or the error in its place, is there."""
        return self._is_done()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the value; raises the error that came in its place, or TimeoutError."""
        return self._wait(timeout)

    def exception(self, timeout: float | None = None) -> Exception | None:
        """Wait, and give the error that came in place of the value, or None."""
        try:
            self._wait(timeout)
        except (JobFailed, JobCanceled, CheckpointFailed, RescaleFailed) as error:
            return error
        return None


@dataclass(frozen=True, slots=True)
class JobExecutionResult:
    """What is known about a job that finished."""

    job_id: JobId
    net_runtime_ms: int
    accumulators: Mapping[str, Any] = field(default_factory=dict)

    def get_job_id(self) -> JobId:
        """The job's id."""
        return self.job_id

    def get_net_runtime(self) -> int:
        """How long the job ran, in milliseconds."""
        return self.net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """The value of one accumulator, or None."""
        return self.accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """The values of all accumulators by name."""
        return dict(self.accumulators)


class JobClient:
    """A job that was submitted with ``execute_async``."""

    def __init__(self, job: RunningJob) -> None:
        self._job = job

    def get_job_id(self) -> JobId:
        """The job's id."""
        return self._job.job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job stands now."""
        return CompletableFuture.completed(self._job.status())

    def cancel(self) -> CompletableFuture[None]:
        """Ask the job to stop; the future is done when it has, whatever its end was."""
        self._job.cancel()

        def wait(timeout: float | None) -> None:
            self._job.wait(timeout)

        return CompletableFuture(wait, self._has_ended)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The values of all accumulators so far."""
        return CompletableFuture.completed(dict(self._job.accumulators()))

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result once the job has finished; JobFailed or JobCanceled if it did not."""
        return CompletableFuture(
            lambda timeout: result_of(self._job, timeout), self._has_ended, self._job.cancel
        )

    def get_metrics(self) -> Mapping[str, Mapping[str, float]]:
        """The latest metrics: "<task name>.<subtask>[.<operator name>]" -> metric name -> value."""
        return self._job.metrics()

    def get_failures(self) -> list[FailureRecord]:
        """What went wrong so far, also what the job recovered from, oldest first."""
        return list(self._job.failures())

    def trigger_checkpoint(self, timeout: float | None = None) -> str:
        """Take a checkpoint now, beside the periodic ones, and wait for it.

        Args:
            timeout: how many seconds to wait for it.

        Returns:
            Where the checkpoint is: what ``execution.state-recovery.path`` takes.

        Raises:
            CheckpointFailed: it did not come about, and why.
            TimeoutError: it is not complete in time; it may be later.
        """
        return self._job.trigger_checkpoint(timeout)

    def trigger_savepoint(
        self,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType | None = None,
    ) -> CompletableFuture[str]:
        """Take a savepoint while the job goes on.

        Args:
            savepoint_directory: below which folder; ``execution.checkpointing.savepoint-dir`` if it is
                not given.
            format_type: accepted for Flink's sake; every savepoint has the one open format.

        Returns:
            Where the savepoint is, once it is complete: what ``execution.state-recovery.path`` takes.
            CheckpointFailed in its place if there is none.

        Raises:
            ConfigError: no folder is given, or a relative one.
            CheckpointFailed: the job has ended.
        """
        del format_type
        return _future_of(self._job.trigger_savepoint(savepoint_directory))

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool,  # noqa: FBT001  (PyFlink's signature)
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType | None = None,
    ) -> CompletableFuture[str]:
        """Stop the job with a savepoint, from which a job can go on as if nothing had happened.

        Sources stop, the savepoint is taken, sinks commit, and the job is FINISHED. If there is no
        savepoint the job goes on.

        Args:
            advance_to_end_of_event_time: whether event time first goes to its end, so that all windows
                and timers fire: for a job that shall not go on.
            savepoint_directory: as for ``trigger_savepoint``.
            format_type: as for ``trigger_savepoint``.

        Returns:
            Where the savepoint is, once the job is over; CheckpointFailed in its place if there is none.

        Raises:
            ConfigError: no folder is given, or a relative one.
            CheckpointFailed: the job has ended.
        """
        del format_type
        drain = advance_to_end_of_event_time
        return _future_of(self._job.stop_with_savepoint(savepoint_directory, drain=drain))

    def rescale(self, parallelism: Parallelism) -> CompletableFuture[None]:
        """Let the running job go on with another parallelism, without loss or repetition.

        The job takes a checkpoint, its tasks stop, and it starts again from the checkpoint. Nothing of
        this counts as a failure. Asked for again meanwhile, the last wish wins.

        Args:
            parallelism: a number for every vertex whose parallelism the program leaves open, or numbers
                by uid, operator name or vertex id; operators that are chained are rescaled together.

        Returns:
            Done when all tasks run with the new parallelism. RescaleFailed in its place when there is no
            checkpoint, in which case the job goes on as it was, or when the job ended meanwhile.

        Raises:
            RescaleRefused: the program cannot run with this parallelism, and why.
            TooFewSlots: the cluster has no room for it.
            RescaleFailed: the job has ended.
        """
        future = self._job.rescale(parallelism)
        return CompletableFuture(future.result, future.done)

    def dispose_savepoint(self, savepoint_path: str) -> None:
        """Delete a savepoint, of this or any other job: its own files and no others.

        Args:
            savepoint_path: its folder, or its `_metadata` file.

        Raises:
            ProgramError: it is not a savepoint, or belongs to a job that claimed it.
            ExternalError: there is none, or the store does not delete it.
        """
        self._job.dispose_savepoint(savepoint_path)

    def get_checkpoints(self) -> Any:
        """Figures about the job's checkpoints, as in Flink's REST interface; None when it takes none."""
        return self._job.checkpoints()

    def _has_ended(self) -> bool:
        return self._job.status().is_globally_terminal_state()


def _future_of(future: Future[str]) -> CompletableFuture[str]:
    return CompletableFuture(future.result, future.done)


def result_of(job: RunningJob, timeout: float | None = None) -> JobExecutionResult:
    """Wait for the job's end and give its result.

    Raises:
        JobFailed: it failed; the cause is the user's own exception where it could be brought here.
        JobCanceled: it was cancelled.
        TimeoutError: it still runs after ``timeout`` seconds.
    """
    check_outcome(job, job.wait(timeout))
    return JobExecutionResult(job.job_id, job.net_runtime_ms(), dict(job.accumulators()))


def check_outcome(job: RunningJob, status: JobStatus) -> None:
    """Raise JobFailed or JobCanceled unless ``status``, the job's last, is FINISHED."""
    if status is JobStatus.CANCELED:
        raise JobCanceled(job.name, str(job.job_id))
    if status is not JobStatus.FINISHED:
        failure = job.failure() or Failure("Unknown", f"the job ended as {status.value}")
        raise JobFailed(job.name, str(job.job_id), failure) from _exception_of(failure)


def run_to_end(job: RunningJob) -> JobExecutionResult:
    """Wait for the job's result, and take the job down if the wait is interrupted (Ctrl-C)."""
    try:
        return result_of(job)
    except (JobFailed, JobCanceled):
        raise
    except BaseException:
        job.cancel()
        job.wait()
        raise


def _exception_of(failure: Failure) -> BaseException | None:
    """The user's exception itself; None when it cannot be made again in this process."""
    if failure.exception is None:
        return None
    try:
        exception = pickle.loads(failure.exception)
    except Exception:  # noqa: BLE001  (a user's class may raise anything here; the message has it all)
        return None
    return exception if isinstance(exception, BaseException) else None
