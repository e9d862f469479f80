"""The jobs of a session in a store: each is kept before it runs, and taken up by the next JobManager."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from riverrun.cluster.ha.job_store import JobStore, NotLeading
from riverrun.cluster.ha.stored_jobs import Artifact, Recovered, StoredJob
from riverrun.cluster.ha.submissions import request_of, stored_job
from riverrun.cluster.job_report import JobReport
from riverrun.cluster.submission.artifacts import ArtifactStore
from riverrun.cluster.submission.wire import SubmitRequest
from riverrun.core.errors import ExternalError, RiverrunError
from riverrun.core.lifecycle import JobStatus
from riverrun.storage.storage import StorageError

log = logging.getLogger(__name__)

_PIECE: Final = 1 << 20


class KeptJobs:
    """Keeps what comes, and brings back what was kept.

    Args:
        store: the cluster's.
        artifacts: files of clients on this machine.
        now: milliseconds since the epoch.
    """

    def __init__(self, store: JobStore, artifacts: ArtifactStore, now: Callable[[], int]) -> None:
        self._store = store
        self._artifacts = artifacts
        self._now = now
        self._handed_over = False

    def keep(self, request: SubmitRequest) -> None:
        """Keep a job that is about to run; raises what makes it impossible."""
        if self._handed_over:
            raise ExternalError(
                f"job {request.name!r}: this JobManager hands its jobs over to another one and takes no "
                f"more; submit it to that one"
            )
        job = stored_job(request, self._now())
        paths = {
            each.sha256: self._artifacts.path(each.sha256, each.name) for each in job.artifacts
        }
        self._store.add(job, paths)

    def ended(self, report: JobReport) -> None:
        """Nobody needs to run the job again."""
        if not self._handed_over:
            self._forget(report.id, JobStatus[report.status])

    def hand_over(self) -> None:
        """Leave all jobs to the next leader, whatever becomes of them here."""
        self._handed_over = True

    def recover(self, found: Recovered, submit: Callable[[SubmitRequest], object]) -> int:
        """Submit all jobs that the leader before has left; how many could be.

        One that cannot be is a word in the log, and stays in the store.
        """
        for damaged in found.damaged:
            log.error("job is damaged job=%s reason=%s", damaged.job_id, damaged.reason)
        return sum(self._recovered(job, submit) for job in found.jobs)

    def forget_all(self) -> None:
        """The cluster is given up, and its jobs with it."""
        for entry in self._store.entries():
            if entry.submission is not None:
                self._forget(entry.job_id, JobStatus.CANCELED)

    def _recovered(self, job: StoredJob, submit: Callable[[SubmitRequest], object]) -> bool:
        try:
            for artifact in job.artifacts:
                if not self._artifacts.has(artifact.sha256):
                    self._fetch(artifact)
            submit(request_of(job))
        except RiverrunError as e:
            log.error("job is not taken up job=%s name=%r reason=%s", job.job_id, job.name, e)  # noqa: TRY400  (the message says it all)
            return False
        log.info("job is taken up job=%s name=%r", job.job_id, job.name)
        return True

    def _fetch(self, artifact: Artifact) -> None:
        with tempfile.TemporaryDirectory(prefix="riverrun-fetched-") as folder:
            path = Path(folder) / artifact.sha256
            self._store.fetch(artifact, path)
            receiving = self._artifacts.receive(artifact.sha256)
            try:
                with path.open("rb") as file:
                    while piece := file.read(_PIECE):
                        receiving.write(piece)
            except BaseException:
                receiving.discard()
                raise
            receiving.keep()

    def _forget(self, job: str, status: JobStatus) -> None:
        try:
            self._store.finish(job, status)
        except NotLeading as e:
            log.warning(
                "end of a job is not noted, another JobManager goes on job=%s reason=%s", job, e
            )
        except StorageError as e:
            log.error(  # noqa: TRY400  (the message says it all)
                "end of a job is not noted, the next JobManager would run it again job=%s reason=%s",
                job,
                e,
            )
