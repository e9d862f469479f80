"""A session: jobs of many programs, sent by other processes, on one JobManager."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from riverrun.cluster.delivery import RawHandler
from riverrun.cluster.dispatcher.gateway import JobIsKnown, UnknownJob
from riverrun.cluster.submission.artifacts import ArtifactStore
from riverrun.cluster.submission.client_values import ClientValues
from riverrun.cluster.submission.wire import SentFile, SubmitRequest
from riverrun.core import cluster_options, options
from riverrun.core.errors import ProgramError
from riverrun.core.ids import JobId
from riverrun.core.option_registry import check_config, option_of
from riverrun.graph.executor import JobSubmission
from riverrun.graph.program_code import CodeFile, ProgramCode
from riverrun.graph.sealed import decode_graph
from riverrun.jobmanager.job_output import JobOutput

log = logging.getLogger(__name__)

_REMEMBERED: Final = 1000
"""Of how many jobs the values are still given to clients that come late, though they have ended."""
_RUNS_PER_MS: Final = 1 << 20
_OF_JOBS: Final = ("execution.checkpointing.", "state.", "restart-strategy", "s3.")
"""How options begin that a JobManager may set for all its jobs."""
_LOOK_S: Final = 0.02


class OtherPython(ProgramError):  # noqa: N818
    """Functions that were compiled by another version of Python than the one that would run them."""


class SessionSubmissions:
    """Satisfies ``gateway.Submissions``.

    Args:
        run: accepts a job and returns; calls back when the job is over.
        is_known: whether there is a job with an id, running or ended.
        folder: where files of clients are kept.
        config: the JobManager's settings.
        outputs: where what jobs print is kept when nobody takes it; below ``folder`` if not given.
    """

    def __init__(
        self,
        run: Callable[[JobSubmission, Callable[[], None]], JobId],
        is_known: Callable[[JobId], bool],
        folder: Path,
        config: Mapping[str, str],
        outputs: Path | None = None,
    ) -> None:
        self._run = run
        self._is_known = is_known
        self._config = config
        self._job_defaults = job_defaults(config)
        self._artifacts = ArtifactStore(folder, cluster_options.UPLOAD_MAX.get(config))
        self._outputs = outputs or folder / "outputs"
        self._lock = threading.Lock()
        self._values: dict[JobId, ClientValues] = {}
        self.keep: Callable[[SubmitRequest], None] | None = None
        """Is called with each request before its job runs; what it raises refuses the job."""

    @property
    def artifacts(self) -> ArtifactStore:
        return self._artifacts

    def submit(self, request: SubmitRequest) -> JobId:
        job = JobId(request.job)
        request = msgspec.structs.replace(
            request, config=with_defaults(request.config, self._job_defaults)
        )
        check_config(request.config)
        _check_python(request)
        submission = self._submission(request)
        values = self._keep_values(job, request)
        self._persist(job, request)
        log.info("job accepted job=%s name=%r attached=%s", job, request.name, request.attached)
        handlers = {name: RawHandler(values.put) for name in request.client_operators}
        return self._run(replace(submission, client_handlers=handlers), values.end)

    def values(self, job: JobId) -> ClientValues:
        with self._lock:
            found = self._values.get(job)
        if found is None:
            raise UnknownJob(f"job {str(job)!r}: this JobManager holds no values of it")
        return found

    def farewell(self, timeout_s: float) -> None:
        """Wait until the clients have what came for them, for up to ``timeout_s``; all jobs are over."""
        end = time.monotonic() + timeout_s
        with self._lock:
            values = list(self._values.values())
        while any(each.is_awaited for each in values) and time.monotonic() < end:
            time.sleep(_LOOK_S)

    def _submission(self, request: SubmitRequest) -> JobSubmission:
        return JobSubmission(
            job=JobId(request.job),
            name=request.name,
            graph=decode_graph(request.graph),
            config=request.config,
            restore_from=request.restore_from,
            allow_non_restored=request.allow_non_restored,
            resume=request.resume,
            code=self._code(request),
        )

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
        output = JobOutput(job, self._outputs, request.print_operators)
        values = ClientValues(
            options.COLLECT_WINDOW_BYTES.get(request.config),
            cluster_options.CLIENT_PATIENCE.get(self._config).to_millis(),
            output.write,
            attached=request.attached,
            # Higher than what a JobManager before has numbered, and the client has seen.
            first=time.time_ns() // 1_000_000 * _RUNS_PER_MS if request.resume else 1,
        )
        with self._lock:
            if job in self._values or self._is_known(job):
                raise JobIsKnown(f"job {str(job)!r}: is here already; give the new one another id")
            self._values[job] = values
            ended = [each for each, kept in self._values.items() if kept.has_ended]
            for each in ended[: max(0, len(self._values) - _REMEMBERED)]:
                del self._values[each]
        return values

    def _code(self, request: SubmitRequest) -> ProgramCode:
        sent = request.code
        return ProgramCode(
            search_path=sent.search_path,
            files=tuple(self._file(file) for file in sent.files),
            archives=tuple(self._file(file) for file in sent.archives),
            data=tuple(self._file(file) for file in sent.data),
            programs=sent.programs,
            python=sent.python,
        )

    def _file(self, file: SentFile) -> CodeFile:
        path = self._artifacts.path(file.sha256, file.name)
        return CodeFile(file.name, file.sha256, str(path))


def _check_python(request: SubmitRequest) -> None:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if request.code.python is None and request.python_version not in ("", here):
        raise OtherPython(
            f"job {request.name!r}: was compiled with Python {request.python_version}, and the workers "
            f"run {here}; use that version, or ship an interpreter with -pyarch and -pyexec"
        )


def job_defaults(config: Mapping[str, str]) -> dict[str, str]:
    """The settings of a JobManager that hold for jobs which do not say otherwise.

    >>> job_defaults({"rest.port": "8081", "execution.checkpointing.dir": "/checkpoints"})
    {'execution.checkpointing.dir': '/checkpoints'}
    """
    return {key: value for key, value in config.items() if key.startswith(_OF_JOBS)}


def with_defaults(config: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """A job's settings, and those of the JobManager for what the job leaves open.

    A setting under an older name counts for the option that it means.

    >>> with_defaults({"state.backend": "rocksdb"}, {"state.backend.type": "hashmap"})
    {'state.backend': 'rocksdb'}
    """
    said = {option.key for key in config if (option := option_of(key)) is not None} | set(config)
    open_ones = {
        key: value
        for key, value in defaults.items()
        if key not in said and ((option := option_of(key)) is None or option.key not in said)
    }
    return {**open_ones, **config}
