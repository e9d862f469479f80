"""Runs jobs in this process, without Spark and without a JVM: for tests, debugging and simulation."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from riverrun.checkpoint.savepoint_store import dispose_savepoint
from riverrun.cluster.job_master.rescales import RescaleWish
from riverrun.cluster.savepoint_wishes import SavepointWish, savepoint_wish
from riverrun.core import options, python_options
from riverrun.core.clock import ManualClock, SystemClock
from riverrun.core.errors import CheckpointFailed, Failure, ProgramError
from riverrun.core.exception_facts import failure_of
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.executor import FailureRecord, JobSubmission
from riverrun.graph.rescaling import Parallelism, RescaleFailed
from riverrun.local.copies import ProgramCopies
from riverrun.local.job import LocalJob
from riverrun.local.surroundings import Client, Surroundings
from riverrun.runtime.settings import TaskSettings
from riverrun.storage.memory import MemoryStorage
from riverrun.storage.open import absolute_location, open_storage
from riverrun.storage.storage import Storage


class InProcessJob:
    """A job that runs in a thread of this process; satisfies ``RunningJob``.

    Its checkpoints go to the configured folder, or to memory, where they end with the job.
    """

    def __init__(self, submission: JobSubmission) -> None:
        self._submission = submission
        self._clock = SystemClock()
        self._lock = threading.Lock()
        self._orders: deque[Callable[[LocalJob], None]] = deque()
        self._wishes: list[Future[str]] = []
        self._stops: list[SavepointWish] = []
        self._rescales: list[RescaleWish] = []
        self._woken = threading.Event()
        self._done = threading.Event()
        self._cancelled = False
        self._collapsed: Failure | None = None
        self._metrics: Mapping[str, Mapping[str, float]] = {}
        self._started = self._clock.monotonic()
        self._ended: float | None = None
        self._scratch = tempfile.TemporaryDirectory(
            prefix="riverrun-", ignore_cleanup_errors=True, dir=_scratch_base(submission.config)
        )
        self._memory = MemoryStorage()
        try:
            self._job = self._build()
        except BaseException:
            self._scratch.cleanup()
            raise
        self._status = self._job.status
        self._failures: tuple[FailureRecord, ...] = ()
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
        return self._status

    def cancel(self) -> None:
        # Seen at once, so that a handler that waits for its reader does not wait for ever.
        with self._lock:
            if self._done.is_set():
                return
            self._cancelled = True
            if not self._status.is_terminal_state():
                self._status = JobStatus.CANCELLING
            self._orders.append(LocalJob.cancel)
            self._woken.set()

    def wait(self, timeout: float | None = None) -> JobStatus:
        if not self._done.wait(timeout):
            raise TimeoutError(f"job {self.name!r} did not end within {timeout} s")
        self._thread.join()
        return self.status()

    def failure(self) -> Failure | None:
        return None if self._cancelled else self._collapsed or self._job.failure

    def failures(self) -> Sequence[FailureRecord]:
        return self._failures

    def net_runtime_ms(self) -> int:
        ended = self._clock.monotonic() if self._ended is None else self._ended
        return int(ended - self._started)

    def metrics(self) -> Mapping[str, Mapping[str, float]]:
        return self._metrics

    def accumulators(self) -> Mapping[str, Any]:
        return {}

    def trigger_checkpoint(self, timeout: float | None = None) -> str:
        wish: Future[str] = Future()
        with self._lock:
            if self._done.is_set():
                wish.set_exception(self._too_late())
            else:
                self._wishes.append(wish)
                self._orders.append(lambda job: job.request_checkpoint(wish))
                self._woken.set()
        return wish.result(timeout)

    def trigger_savepoint(self, target: str | None = None) -> Future[str]:
        return self._ask(savepoint_wish(self.job_id, self._submission.config, target))

    def stop_with_savepoint(self, target: str | None = None, *, drain: bool = False) -> Future[str]:
        config = self._submission.config
        return self._ask(savepoint_wish(self.job_id, config, target, stop=True, drain=drain))

    def rescale(self, parallelism: Parallelism) -> Future[None]:
        self._job.check_rescale(parallelism)
        wish = RescaleWish(parallelism)
        with self._lock:
            if self._done.is_set():
                raise RescaleFailed(self.name, f"it is {self._status.value}")
            self._rescales.append(wish)
            self._orders.append(lambda job: job.rescale(wish))
            self._woken.set()
        return wish.outcome

    def dispose_savepoint(self, location: str) -> None:
        dispose_savepoint(self._storage(location), location)

    def checkpoints(self) -> Any:
        return self._job.checkpoints()

    def _ask(self, wish: SavepointWish) -> Future[str]:
        with self._lock:
            if self._done.is_set():
                raise self._too_late()
            self._wishes.append(wish.taken)
            if wish.order.stop:
                self._stops.append(wish)
            self._orders.append(lambda job: job.request_savepoint(wish))
            self._woken.set()
        return wish.outcome

    def _build(self) -> LocalJob:
        submission = self._submission
        config = submission.config
        program = ProgramCopies(submission.graph)
        seed = options.IN_PROCESS_SEED.get(config)
        folder = Path(self._scratch.name)
        configured = options.CHECKPOINT_DIR.get(config)
        if options.CHECKPOINT_STORAGE.get(config) == "jobmanager":
            configured = None
        place = Surroundings(
            clock=ManualClock(self._clock.now()),
            rng=random.Random(seed),  # noqa: S311  (order of turns; no secret)
            client=Client(submission.client_handlers),
            settings=TaskSettings.of(config, seed=seed),
            storage=self._storage,
            checkpoint_dir=_MEMORY if configured is None else absolute_location(configured),
            folder=folder,
            open_spill=lambda: tempfile.TemporaryFile(dir=folder),  # noqa: SIM115  (the task closes it)
            woken=self._woken,
        )
        return LocalJob(submission, program, place)

    def _storage(self, location: str) -> Storage:
        if location.startswith(_MEMORY):
            return self._memory
        return open_storage(location, self._submission.config)

    def _run(self) -> None:
        try:
            self._drive()
        except Exception as error:  # noqa: BLE001  (the thread's edge: it becomes the job's failure)
            self._collapsed = failure_of(error)
        finally:
            self._ended = self._clock.monotonic()
            self._scratch.cleanup()
            with self._lock:
                self._metrics = self._job.metrics
                self._failures = self._job.failures()
                self._status = self._last_status()
                for wish in self._wishes:
                    if not wish.done():
                        wish.set_exception(self._too_late())
                for unheard in self._rescales:
                    if not unheard.outcome.done():
                        why = f"it is {self._status.value}"
                        unheard.outcome.set_exception(RescaleFailed(self.name, why))
                self._done.set()
            for stop in self._stops:
                stop.settle(self.name, self._status)

    def _drive(self) -> None:
        job = self._job
        self._obey(job)
        if not job.is_over:
            job.start()
        while not job.is_over:
            if self._orders:
                self._obey(job)
            self._show(job)
            job.step()

    def _too_late(self) -> CheckpointFailed:
        return CheckpointFailed(f"job {self.name!r}: it is {self._status.value}")

    def _last_status(self) -> JobStatus:
        if self._cancelled:
            return JobStatus.CANCELED
        return JobStatus.FAILED if self._collapsed else self._job.status

    def _obey(self, job: LocalJob) -> None:
        while self._orders:
            self._orders.popleft()(job)

    def _show(self, job: LocalJob) -> None:
        """Let others see where the job stands; its end is shown when all is released."""
        status = job.status
        if status is self._status:
            return
        with self._lock:
            self._failures = job.failures()
            if not status.is_terminal_state() and not self._orders:
                self._status = status


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
        _check_needs(submission.config)
        job = InProcessJob(submission)
        self._jobs.append(job)
        job.start()
        return job

    def close(self) -> None:
        for job in self._jobs:
            job.cancel()
            job.wait()
        self._jobs.clear()


def _check_needs(config: Mapping[str, str]) -> None:
    """Functions run in this very process: there is nobody to bring anything to."""
    python = python_options.PYTHON_EXECUTABLE.get(config)
    is_other = python is not None and os.path.realpath(python) != os.path.realpath(sys.executable)
    named = [python_options.PYTHON_EXECUTABLE] if is_other else []
    named += [
        option
        for option in (
            python_options.PYTHON_ARCHIVES,
            python_options.PYTHON_REQUIREMENTS,
            python_options.CACHED_FILES,
        )
        if option.get(config)
    ]
    if named:
        raise ProgramError(
            f"option {named[0].key!r}: is {named[0].get(config)!r}, but the master is 'in-process', where "
            f"functions run in the program's own process; use the master local[N] or a cluster"
        )


_MEMORY = "memory://riverrun-in-process"


def _scratch_base(config: Mapping[str, str]) -> str | None:
    return options.ROCKSDB_FOLDER.get(config)
