"""Runs programs on the JobManager of another process: they are compiled here and sent there."""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import riverrun
from riverrun.client.code_files import own_modules, zips_on_the_path
from riverrun.client.job_manager import JobManagerClient
from riverrun.client.remote_job import RemoteJob
from riverrun.cluster.submission.needs import gathered
from riverrun.cluster.submission.packing import pack
from riverrun.cluster.submission.wire import SentCode, SentFile, SubmitRequest
from riverrun.connectors.print import print_lines
from riverrun.core import cluster_options
from riverrun.core.errors import ConfigError
from riverrun.graph.executor import JobSubmission
from riverrun.graph.pickling import check_picklable
from riverrun.graph.sealed import encode_graph

log = logging.getLogger(__name__)


class RemoteExecutor:
    """Satisfies ``JobExecutor`` over REST."""

    def __init__(self, client: JobManagerClient, *, attached: bool = True) -> None:
        self._client = client
        self._attached = attached
        self._jobs: list[RemoteJob] = []

    @staticmethod
    def create(*, master: str, config: Mapping[str, str], session: Any) -> RemoteExecutor:
        """For the JobManager at ``master``: an http:// or https:// address."""
        if session is not None:
            raise ConfigError(
                f"option 'riverrun.master': is {master!r}, a JobManager with its own Spark; "
                f"leave out get_execution_environment(spark=...)"
            )
        attached = cluster_options.ATTACHED.get(config)
        return RemoteExecutor(JobManagerClient.at(master, config), attached=attached)

    def submit(self, submission: JobSubmission) -> RemoteJob:
        check_picklable(submission.graph)
        handlers = submission.client_handlers
        request = SubmitRequest(
            job=str(submission.job),
            name=submission.name,
            graph=encode_graph(submission.graph),
            config=dict(submission.config),
            client_operators=tuple(handlers),
            print_operators=tuple(name for name, each in handlers.items() if each is print_lines),
            restore_from=submission.restore_from,
            allow_non_restored=submission.allow_non_restored,
            resume=submission.resume,
            code=self._code(submission.config),
            attached=self._attached,
            version=riverrun.__version__,
            python_version=f"{sys.version_info.major}.{sys.version_info.minor}",
        )
        job = self._client.submit(request)
        log.info("job submitted job=%s url=%s", job, self._client.url)
        remote = RemoteJob(self._client, job, submission.name, handlers if self._attached else {})
        self._jobs.append(remote)
        return remote

    def close(self) -> None:
        """Let go; jobs go on without this process."""
        self._client.connection.close()

    def _code(self, config: Mapping[str, str]) -> SentCode:
        with tempfile.TemporaryDirectory(prefix="riverrun-code-") as folder:
            scratch = Path(folder)
            needs = gathered(config, scratch)
            known = {path for _, path in needs.modules}
            files = own_modules()
            if files:
                program = scratch / "program.zip"
                pack(files, program)
                needs.modules.insert(0, (program.name, program))
            for path in zips_on_the_path():
                if path not in known:
                    needs.modules.append((f"imported-{len(needs.modules)}.zip", path))
            return SentCode(
                files=self._sent(needs.modules),
                archives=self._sent(needs.archives),
                data=self._sent(needs.data),
                programs=tuple(needs.programs),
                python=needs.python,
            )

    def _sent(self, files: Sequence[tuple[str, Path]]) -> tuple[SentFile, ...]:
        return tuple(self._client.send_file(path, name) for name, path in files)
