"""Runs jobs in this process, without Spark and without a JVM: for tests, debugging and simulation."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from riverrun.core import options
from riverrun.core.clock import ManualClock, SystemClock
from riverrun.core.errors import Failure
from riverrun.core.ids import Attempt, JobId
from riverrun.core.lifecycle import JOB_MOVES, JobStatus, Life
from riverrun.graph.deploy import deployments
from riverrun.graph.executor import JobSubmission
from riverrun.graph.layers import plan_layers
from riverrun.graph.pickling import check_picklable, dumps, loads
from riverrun.local.pipeline import Pipeline, Step
from riverrun.runtime.failures import describe
from riverrun.runtime.settings import TaskSettings


class InProcessJob:
    """A job that runs in a thread of this process; satisfies ``RunningJob``."""

    def __init__(self, submission: JobSubmission) -> None:
        self._submission = submission
        self._clock = SystemClock()
        self._life = Life(f"job {submission.name!r}", JobStatus.INITIALIZING, JOB_MOVES)
        self._lock = threading.Lock()
        self._cancel = threading.Event()
        self._done = threading.Event()
        self._failure: Failure | None = None
        self._metrics: Mapping[str, Mapping[str, float]] = {}
        self._started = self._clock.monotonic()
        self._ended: float | None = None
        self._pipeline = self._build()
        self._life.go(JobStatus.CREATED)
        self._thread = threading.Thread(
            target=self._run, name=f"riverrun-{submission.name}", daemon=True
        )

    @property
    def job_id(self) -> JobId:
        return self._submission.job

    @property
    def name(self) -> str:
        return self._submission.name

    def start(self) -> None:
        """Begin to run."""
        self._thread.start()

    def status(self) -> JobStatus:
        return self._life.state

    def cancel(self) -> None:
        with self._lock:
            if self._life.can(JobStatus.CANCELLING):
                self._life.go(JobStatus.CANCELLING)
                self._cancel.set()

    def wait(self, timeout: float | None = None) -> JobStatus:
        if not self._done.wait(timeout):
            raise TimeoutError(f"job {self.name!r} did not end within {timeout} s")
        self._thread.join()
        return self.status()

    def failure(self) -> Failure | None:
        return self._failure

    def net_runtime_ms(self) -> int:
        ended = self._clock.monotonic() if self._ended is None else self._ended
        return int(ended - self._started)

    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        return self._metrics

    def accumulators(self) -> Mapping[str, Any]:
        return {}

    def _build(self) -> Pipeline:
        submission = self._submission
        graph, config = submission.graph, submission.config
        check_picklable(graph)
        layers = deployments(
            graph,
            plan_layers(graph),
            job=submission.job,
            name=submission.name,
            attempt=Attempt(0),
            config=config,
        )
        # Each subtask gets its own copy of the user's functions, as it would in its own process.
        copies = [[loads(dumps(deployment)) for deployment in layer] for layer in layers]
        settings = TaskSettings.of(config, seed=options.IN_PROCESS_SEED.get(config))
        return Pipeline(copies, settings, ManualClock(self._clock.now()), self._deliver)

    def _deliver(self, operator_id: str, subtask: int, values: list[Any]) -> None:
        handler = self._submission.client_handlers.get(operator_id)
        if handler is not None and not self._cancel.is_set():
            handler(subtask, values)

    def _run(self) -> None:
        try:
            failure = self._drive()
        finally:
            self._ended = self._clock.monotonic()
        with self._lock:
            if self._cancel.is_set():
                self._life.go(JobStatus.CANCELED)
            elif failure is not None:
                self._failure = failure
                self._life.go(JobStatus.FAILING)
                self._life.go(JobStatus.FAILED)
            else:
                self._life.go(JobStatus.FINISHED)
        self._done.set()

    def _drive(self) -> Failure | None:
        pipeline = self._pipeline
        error: BaseException | None = None
        with self._lock:
            if not self._cancel.is_set():
                self._life.go(JobStatus.RUNNING)
        try:
            pipeline.open()
            while not self._cancel.is_set() and pipeline.step() is not Step.FINISHED:
                pass
        except Exception as raised:  # noqa: BLE001  (the shell's edge: it becomes the job's failure)
            error = raised
        self._metrics = _metrics(pipeline)
        failure = None if error is None else self._describe(error)
        close_error = pipeline.close()
        if failure is None and close_error is not None:
            failure = self._describe(close_error)
        return failure

    def _describe(self, error: BaseException) -> Failure:
        running = self._pipeline.running
        if running is None:
            return describe(error, task=self.name, subtask=0)
        return describe(error, task=running.name, subtask=running.subtask)


class InProcessExecutor:
    """Satisfies ``JobExecutor`` in this process."""

    def __init__(self) -> None:
        self._jobs: list[InProcessJob] = []

    @staticmethod
    def create(*, master: str, config: Mapping[str, str], session: object) -> InProcessExecutor:
        """An executor for the master ``in-process``."""
        del master, config, session
        return InProcessExecutor()

    def submit(self, submission: JobSubmission) -> InProcessJob:
        job = InProcessJob(submission)
        self._jobs.append(job)
        job.start()
        return job

    def close(self) -> None:
        for job in self._jobs:
            job.cancel()
            job.wait()
        self._jobs.clear()


def _metrics(pipeline: Pipeline) -> Mapping[str, Mapping[str, float]]:
    found: dict[str, Mapping[str, float]] = {}
    for task in pipeline.tasks:
        scope = f"{task.deployment.name}.{task.deployment.subtask}"
        for operator, values in task.metrics.snapshot().items():
            found[f"{scope}.{operator}" if operator else scope] = values
    return found
