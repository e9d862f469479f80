"""Programs that are compiled and shown where they would be run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from riverrun.core import options
from riverrun.core.errors import CheckpointFailed, Failure
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.compilation import CompiledProgram
from riverrun.datastream.program import DEFAULT_JOB_NAME, Program
from riverrun.graph.executor import FailureRecord, RunningJob
from riverrun.graph.rescaling import Parallelism


@dataclass(frozen=True, slots=True)
class EndedJob:
    """The job of a program that was only shown: finished, without results."""

    job_id: JobId
    name: str

    def status(self) -> JobStatus:
        return JobStatus.FINISHED

    def cancel(self) -> None:
        """Nothing runs."""

    def wait(self, timeout: float | None = None) -> JobStatus:
        del timeout
        return JobStatus.FINISHED

    def failure(self) -> Failure | None:
        return None

    def net_runtime_ms(self) -> int:
        return 0

    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        return {}

    def accumulators(self) -> Mapping[str, Any]:
        return {}

    def failures(self) -> Sequence[FailureRecord]:
        return ()

    def trigger_checkpoint(self, timeout: float | None = None) -> str:
        del timeout
        raise self._does_not_run()

    def trigger_savepoint(self, target: str | None = None) -> Future[str]:
        del target
        raise self._does_not_run()

    def stop_with_savepoint(self, target: str | None = None, *, drain: bool = False) -> Future[str]:
        del target, drain
        raise self._does_not_run()

    def rescale(self, parallelism: Parallelism) -> Future[None]:
        del parallelism
        raise self._does_not_run()

    def dispose_savepoint(self, location: str) -> None:
        del location
        raise self._does_not_run()

    def checkpoints(self) -> None:
        """It took none."""

    def _does_not_run(self) -> CheckpointFailed:
        return CheckpointFailed(f"job {self.name!r}: is only shown and does not run")


@contextmanager
def shown_instead_of_run(show: Callable[[str, CompiledProgram], None]) -> Iterator[None]:
    """In this block, running a program calls ``show`` with the job's name and the compiled program."""

    def submit(program: Program, job_name: str | None) -> RunningJob:
        compiled = program.compile()
        program.close()
        name = job_name or options.PIPELINE_NAME.get(program.config) or DEFAULT_JOB_NAME
        show(name, compiled)
        return EndedJob(JobId.random(), name)

    run = Program.submit
    setattr(Program, "submit", submit)  # noqa: B010  (a type checker refuses the plain assignment)
    try:
        yield
    finally:
        setattr(Program, "submit", run)  # noqa: B010
