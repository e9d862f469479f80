"""Runs jobs on Spark: checks the room, starts the JobMaster, hands it the engine."""

from __future__ import annotations

import atexit
import shutil
import socket
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from riverrun.cluster.checkpoint_place import CheckpointPlace, checkpoint_place, rescale_place
from riverrun.cluster.control_server import ControlServer, ServerSettings
from riverrun.cluster.job_master.master import JobMaster
from riverrun.cluster.resources.job_slots import JobSlots
from riverrun.core import options
from riverrun.graph.deploy import deployments
from riverrun.graph.executor import JobSubmission
from riverrun.graph.job_graph import JobGraph
from riverrun.graph.pickling import check_picklable
from riverrun.graph.program_code import ProgramCode
from riverrun.spark.driver.engine import SparkEngine
from riverrun.spark.driver.executors import resources_of
from riverrun.spark.driver.own_code import needs_code, program_code
from riverrun.spark.driver.session import SessionHandle, start_session, use_session


class SparkExecutor:
    """Satisfies ``JobExecutor`` on one Spark application."""

    def __init__(self, handle: SessionHandle, config: Mapping[str, str]) -> None:
        self._handle = handle
        self._config = config
        self._server: ControlServer | None = None
        self._jobs: list[JobMaster] = []
        self._lock = threading.Lock()
        self._seeking: set[JobSlots] = set()
        self._code_folder: str | None = None
        self.resources = resources_of(handle)
        """Whose the slots of the application are."""

    @staticmethod
    def create(*, master: str, config: Mapping[str, str], session: Any) -> SparkExecutor:
        """An executor on the user's ``session``, or on an application of our own on ``master``."""
        handle = use_session(session) if session is not None else start_session(master, config)
        executor = SparkExecutor(handle, config)
        atexit.register(executor.close)  # most programs never close their environment
        return executor

    def submit(self, submission: JobSubmission) -> JobMaster:
        check_picklable(submission.graph)
        if submission.code is None:
            submission = replace(submission, code=self._code(submission.config))
        slots = JobSlots(self.resources, submission)
        try:
            return self._start(replace(submission, graph=self._room(slots)), slots)
        except BaseException:
            slots.leave()
            raise

    def _start(self, submission: JobSubmission, slots: JobSlots) -> JobMaster:
        deploy = partial(
            deployments,
            job=submission.job,
            name=submission.name,
            config=submission.config,
        )
        place = checkpoint_place(submission, one_machine=self._handle.jvm.is_local())
        if place is not None and place.temporary is not None:
            self._handle.jvm.delete_at_exit(place.temporary)  # also when this process is killed
        job = JobMaster(
            submission,
            deploy,
            engines=partial(self._engine, submission),
            server=self._ensure_server(),
            place=place,
            rescale_place=partial(self._rescale_place, submission),
            slots=slots,
        )
        with self._lock:
            self._jobs = [each for each in self._jobs if not each.status().is_terminal_state()]
            self._jobs.append(job)
        job.start()
        return job

    def close(self) -> None:
        atexit.unregister(self.close)
        with self._lock:
            jobs, self._jobs = self._jobs, []
            seeking, self._seeking = self._seeking, set()
            server, self._server = self._server, None
        for slots in seeking:
            slots.leave()
        for job in jobs:
            job.cancel()
        for job in jobs:
            job.wait()
        if server is not None:
            server.close()
        self._handle.close()
        if self._code_folder is not None:
            shutil.rmtree(self._code_folder, ignore_errors=True)

    def suspend(self) -> None:
        """Stop all jobs, so that another JobManager goes on with them; returns when they have stopped."""
        with self._lock:
            jobs, self._jobs = self._jobs, []
        for job in jobs:
            job.suspend()
        for job in jobs:
            job.wait()

    def _room(self, slots: JobSlots) -> JobGraph:
        """Wait for the slots of the first attempt."""
        with self._lock:
            self._seeking.add(slots)
        try:
            return slots.first()
        finally:
            with self._lock:
                self._seeking.discard(slots)

    def _code(self, config: Mapping[str, str]) -> ProgramCode | None:
        """What a program that runs in this process sends to its workers beside its functions."""
        if self._code_folder is None and needs_code(
            config, one_machine=self._handle.jvm.is_local()
        ):
            self._code_folder = tempfile.mkdtemp(prefix="riverrun-code-")
            self._handle.jvm.delete_at_exit(Path(self._code_folder))
        if self._code_folder is None:
            return None
        return program_code(config, Path(self._code_folder))

    def _engine(self, submission: JobSubmission) -> SparkEngine:
        return SparkEngine(
            self._handle.for_job(),
            submission.job,
            submission.name,
            submission.config,
            submission.code,
        )

    def _rescale_place(self, submission: JobSubmission) -> CheckpointPlace:
        place = rescale_place(submission, one_machine=self._handle.jvm.is_local())
        if place.temporary is not None:
            self._handle.jvm.delete_at_exit(place.temporary)
        return place

    def _ensure_server(self) -> ControlServer:
        with self._lock:
            if self._server is None:
                self._server = ControlServer(self._server_settings())
                self._server.start()
            return self._server

    def _server_settings(self) -> ServerSettings:
        host = options.CONTROL_HOST.get(self._config)
        if host is not None:
            return ServerSettings(bind_host="0.0.0.0", advertised_host=host)  # noqa: S104
        if self._handle.jvm.is_local():
            return ServerSettings()
        conf = self._handle.user_session.sparkContext.getConf()
        driver = conf.get("spark.driver.host") or socket.gethostname()
        return ServerSettings(bind_host="0.0.0.0", advertised_host=driver)  # noqa: S104
