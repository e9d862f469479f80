"""One JobManager: the process that drives Spark and everything that runs on it.

It never runs the user's functions: those are in workers, and a program's ``main`` is in the client, or,
for an uploaded program, in a process of its own.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import riverrun
from riverrun.cluster.dispatcher.dispatcher import JobDispatcher
from riverrun.cluster.dispatcher.gateway import ClusterFacts
from riverrun.cluster.dispatcher.history import JobHistory
from riverrun.cluster.dispatcher.initializing import InitializingJob
from riverrun.cluster.job_master.master import JobMaster
from riverrun.cluster.timelines.jobs import JobsTimeLines
from riverrun.cluster.timelines.sampler import TimeLineSampler
from riverrun.core import cluster_options, options
from riverrun.core.clock import SystemClock
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.core.secrets import masked_settings
from riverrun.graph.executor import JobSubmission
from riverrun.jobmanager.monitoring import Monitoring
from riverrun.jobmanager.programs import UploadedPrograms
from riverrun.jobmanager.sessions import SessionSubmissions
from riverrun.jobmanager.snapshot_process import SnapshotProcess
from riverrun.rest.app import rest_app
from riverrun.rest.context import PageSettings, RestContext
from riverrun.rest.flame_graphs import FlameGraphs, FlameSettings
from riverrun.rest.metric_scopes import cluster_scopes
from riverrun.rest.routes import ROUTES
from riverrun.rest.server import RestServer, ServerSettings
from riverrun.spark.driver.executor import SparkExecutor
from riverrun.storage.open import absolute_location, open_storage

log = logging.getLogger(__name__)

_FAREWELL_S: Final = 2.0
"""How long clients have time to take what is left for them when the JobManager ends."""


class JobManager:
    """Runs jobs on one Spark application, and answers for them.

    Args:
        executor: of the application; closed with the JobManager.
        config: the JobManager's settings.
        session: whether it takes jobs of other processes.
    """

    def __init__(
        self, executor: SparkExecutor, config: Mapping[str, str], *, session: bool = False
    ) -> None:
        self._executor = executor
        self._config = config
        self._clock = SystemClock()
        self.dispatcher = JobDispatcher(
            ClusterFacts(
                version=riverrun.__version__,
                commit="",
                master=options.MASTER.get(config),
                config=masked_settings(config),
                started=self._clock.now(),
            ),
            executor.resources.task_managers,
            _history(config, self._clock),
            config,
            self._clock,
        )
        try:
            self._monitoring = Monitoring(
                config, lambda: cluster_scopes(self.dispatcher), session=session
            )
        except BaseException:
            executor.close()
            raise
        self._waiting: dict[JobId, InitializingJob] = {}
        self._suspended = False
        self._server: RestServer | None = None
        self._sampler: TimeLineSampler | None = None
        self._scratch: Path | None = None
        self._submissions: SessionSubmissions | None = None
        self._programs: UploadedPrograms | None = None
        self._snapshots = SnapshotProcess(config)
        if session:
            self._take_jobs()

    @staticmethod
    def create(config: Mapping[str, str], *, session: bool = False) -> JobManager:
        """A JobManager on a Spark application of its own."""
        master = options.MASTER.get(config)
        executor = SparkExecutor.create(master=master, config=config, session=None)
        return JobManager(executor, config, session=session)

    @property
    def submissions(self) -> SessionSubmissions | None:
        """Where jobs of other processes come in; ``None`` when none are taken."""
        return self._submissions

    @property
    def url(self) -> str | None:
        """Where its REST interface is; ``None`` when it does not serve."""
        return None if self._server is None else self._server.url

    def serve(self, shut_down: Callable[[], None] | None = None) -> str:
        """Begin to answer REST requests; gives the address.

        Args:
            shut_down: is called when somebody asks for the JobManager's end; must return at once.

        Raises:
            ConfigError: the settings would let anybody in.
            ExternalError: no port is free.
        """
        if self._server is None:
            time_lines = JobsTimeLines()
            context = RestContext(
                self.dispatcher,
                submissions=self._submissions,
                programs=self._programs,
                address=lambda: self.url or "",
                upload_limit=cluster_options.UPLOAD_MAX.get(self._config),
                shut_down=shut_down,
                log_folder=self._monitoring.log_folder,
                flame_graphs=FlameGraphs(FlameSettings.of(self._config)),
                page=PageSettings.of(self._config),
                snapshots=self._snapshots,
                time_lines=time_lines,
            )
            app = rest_app(context, ROUTES)
            server = RestServer(app, ServerSettings.from_config(self._config))
            server.start()
            self._server = server
            self._sampler = TimeLineSampler(
                time_lines,
                self.dispatcher.running_reports,
                lambda job: self.dispatcher.knows(JobId(job)),
                self._clock,
            )
            self._sampler.start()
            if self._programs is not None:
                self._programs.address = server.url
        return self._server.url

    def submit(self, submission: JobSubmission) -> JobMaster:
        """Run a job; returns when it is started. Raises what refuses it, and it is history then."""
        submission = self._monitoring.with_logs(submission)
        waiting = self._announce(submission)
        return self._start(submission, waiting)

    def submit_later(
        self, submission: JobSubmission, on_end: Callable[[], None] = lambda: None
    ) -> JobId:
        """Accept a job and return; what refuses it is found in its report."""
        submission = self._monitoring.with_logs(submission)
        waiting = self._announce(submission)
        threading.Thread(
            target=self._run,
            args=(submission, waiting, on_end),
            name=f"riverrun-submit-{submission.job}",
            daemon=True,
        ).start()
        return submission.job

    def suspend(self) -> None:
        """Stop all jobs, so that another JobManager goes on with them; returns when they have stopped."""
        self._suspended = True
        for waiting in list(self._waiting.values()):
            waiting.suspend()
        self._executor.suspend()

    def close(self) -> None:
        """Cancel what runs, stop to answer, release Spark if it is ours."""
        server, self._server = self._server, None
        if self._sampler is not None:
            self._sampler.close()
        self._snapshots.close()
        self._monitoring.end_reports()
        self._executor.close()
        self.dispatcher.close()
        if server is not None:
            if self._submissions is not None and not self._suspended:
                self._submissions.farewell(_FAREWELL_S)
            server.close()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
        self._monitoring.close()

    def _take_jobs(self) -> None:
        """Take jobs and programs of other processes."""
        named = cluster_options.UPLOAD_DIR.get(self._config)
        folder = Path(tempfile.mkdtemp(prefix="riverrun-uploads-") if named is None else named)
        self._scratch = folder if named is None else None
        self._submissions = SessionSubmissions(
            self.submit_later,
            self.dispatcher.knows,
            folder / "artifacts",
            self._config,
            outputs=self._monitoring.log_folder,
        )
        if cluster_options.SUBMIT_ENABLED.get(self._config):
            token = cluster_options.REST_TOKEN.get(self._config)
            self._programs = UploadedPrograms(folder / "programs", token)

    def _announce(self, submission: JobSubmission) -> InitializingJob:
        waiting = InitializingJob(
            submission,
            waiting_for=lambda: self._waiting_for(submission.job),
            give_up=lambda: self._executor.resources.withdraw(submission.job),
            clock=self._clock,
        )
        self._waiting[submission.job] = waiting
        self.dispatcher.add(waiting)
        return waiting

    def _waiting_for(self, job: JobId) -> str | None:
        waiting = self._executor.resources.waiting().get(job)
        return None if waiting is None else waiting.words

    def _start(self, submission: JobSubmission, waiting: InitializingJob) -> JobMaster:
        try:
            job = self._executor.submit(submission)
        except BaseException as e:
            waiting.refused(e)
            raise
        finally:
            self._waiting.pop(submission.job, None)
        self.dispatcher.add(job)
        waiting.started()
        if waiting.is_cancelled:
            job.cancel()
        if waiting.is_suspended:
            job.suspend()
        return job

    def _run(
        self, submission: JobSubmission, waiting: InitializingJob, on_end: Callable[[], None]
    ) -> None:
        try:
            status = self._start(submission, waiting).wait()
        except Exception as e:  # noqa: BLE001  (it is in the job's report)
            log.info("job was not started job=%s reason=%s", submission.job, e)
            status = waiting.status()
        # The client of a suspended job gets the rest from the JobManager that goes on with it.
        if status is not JobStatus.SUSPENDED:
            on_end()


def _history(config: Mapping[str, str], clock: SystemClock) -> JobHistory:
    folder = cluster_options.ARCHIVE_DIR.get(config)
    capacity = cluster_options.JOB_STORE_CAPACITY.get(config)
    kept_ms = cluster_options.JOB_STORE_EXPIRATION.get(config).to_millis()
    if folder is None:
        return JobHistory(clock.now, capacity=capacity, kept_ms=kept_ms)
    place = absolute_location(folder)
    history = JobHistory(
        clock.now,
        capacity=capacity,
        kept_ms=kept_ms,
        storage=open_storage(place, config),
        folder=place,
    )
    history.load()
    return history
