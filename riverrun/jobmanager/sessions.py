"""A session: jobs of many programs, sent by other processes, on one JobManager."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from riverrun.cluster.delivery import RawHandler
from riverrun.cluster.dispatcher.gateway import JobIsKnown, UnknownJob
from riverrun.cluster.submission.artifacts import ArtifactStore
from riverrun.cluster.submission.client_values import ClientValues
from riverrun.cluster.submission.wire import SentFile, SubmitRequest
from riverrun.core import cluster_options, options
from riverrun.core.ids import JobId
from riverrun.core.option_registry import check_config
from riverrun.graph.executor import JobSubmission
from riverrun.graph.program_code import CodeFile, ProgramCode
from riverrun.graph.sealed import decode_graph

log = logging.getLogger(__name__)

_REMEMBERED: Final = 1000
"""Of how many ended jobs the values are still given to clients that come late."""


class SessionSubmissions:
    """Satisfies ``gateway.Submissions``.

    Args:
        run: accepts a job and returns; calls back when the job is over.
        is_known: whether there is a job with an id, running or ended.
        folder: where files of clients are kept.
        config: the JobManager's settings.
    """

    def __init__(
        self,
        run: Callable[[JobSubmission, Callable[[], None]], JobId],
        is_known: Callable[[JobId], bool],
        folder: Path,
        config: Mapping[str, str],
    ) -> None:
        self._run = run
        self._is_known = is_known
        self._config = config
        self._artifacts = ArtifactStore(folder, cluster_options.UPLOAD_MAX.get(config))
        self._lock = threading.Lock()
        self._values: dict[JobId, ClientValues] = {}
        self.keep: Callable[[SubmitRequest], None] | None = None
        """Is called with each request before its job runs; what it raises refuses the job."""

    @property
    def artifacts(self) -> ArtifactStore:
        return self._artifacts

    def submit(self, request: SubmitRequest) -> JobId:
        job = JobId(request.job)
        check_config(request.config)
        graph = decode_graph(request.graph)
        code = self._code(request)
        values = self._keep_values(job, request)
        self._persist(job, request)
        submission = JobSubmission(
            job=job,
            name=request.name,
            graph=graph,
            config=request.config,
            client_handlers={name: RawHandler(values.put) for name in request.client_operators},
            restore_from=request.restore_from,
            allow_non_restored=request.allow_non_restored,
            resume=request.resume,
            code=code,
        )
        log.info("job accepted job=%s name=%r attached=%s", job, request.name, request.attached)
        return self._run(submission, values.end)

    def values(self, job: JobId) -> ClientValues:
        with self._lock:
            found = self._values.get(job)
        if found is None:
            raise UnknownJob(f"job {str(job)!r}: this JobManager holds no values of it")
        return found

    def _persist(self, job: JobId, request: SubmitRequest) -> None:
        if self.keep is None:
            return
        try:
            self.keep(request)
        except BaseException:
            with self._lock:
                self._values.pop(job, None)
            raise

    def _keep_values(self, job: JobId, request: SubmitRequest) -> ClientValues:
        values = ClientValues(
            options.COLLECT_WINDOW_BYTES.get(request.config),
            cluster_options.CLIENT_PATIENCE.get(self._config).to_millis(),
            lambda operator, subtask, payload: _to_log(job, operator, subtask, payload),
            attached=request.attached,
        )
        with self._lock:
            if job in self._values or self._is_known(job):
                raise JobIsKnown(f"job {str(job)!r}: is here already; give the new one another id")
            self._values[job] = values
            while len(self._values) > _REMEMBERED:
                del self._values[next(iter(self._values))]
        return values

    def _code(self, request: SubmitRequest) -> ProgramCode:
        sent = request.code
        return ProgramCode(
            search_path=sent.search_path,
            files=tuple(self._file(file) for file in sent.files),
            archives=tuple(self._file(file) for file in sent.archives),
            python=sent.python,
        )

    def _file(self, file: SentFile) -> CodeFile:
        path = self._artifacts.path(file.sha256, file.name)
        return CodeFile(file.name, file.sha256, str(path))


def _to_log(job: JobId, operator: str, subtask: int, payload: bytes) -> None:
    log.info(
        "values without a client job=%s operator=%s subtask=%d bytes=%d",
        job,
        operator,
        subtask,
        len(payload),
    )
