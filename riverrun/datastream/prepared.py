"""Sources and sinks that the client prepares for a job, and lets go of when the job is over."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable

from riverrun.api.client_side import ClientSide, PreparedByClient
from riverrun.core.errors import RiverrunError
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.executor import RunningJob
from riverrun.graph.specs import SinkSpec, SinkWriterSpec, SourceSpec
from riverrun.graph.transformations import Transformation

log = logging.getLogger(__name__)


class Prepared:
    """What was prepared for one job.

    Raises:
        ProgramError: one of them cannot run so; the others have been released.
    """

    def __init__(self, operators: Iterable[Transformation], client: ClientSide) -> None:
        self._ready: list[PreparedByClient] = []
        try:
            for operator in operators:
                match operator.spec:
                    case (
                        SourceSpec(PreparedByClient() as end)
                        | SinkSpec(PreparedByClient() as end)
                        | SinkWriterSpec(PreparedByClient() as end)
                    ):
                        end.prepare(client)
                        self._ready.append(end)
        except BaseException:
            self._release(finished=False)
            raise

    def released_after(self, submit: Callable[[], RunningJob]) -> RunningJob:
        """The job that ``submit`` gives; all is released when it ends, or if there is none."""
        try:
            job = submit()
        except BaseException:
            self._release(finished=False)
            raise
        if self._ready:
            threading.Thread(
                target=self._watch, args=(job,), name="riverrun-release", daemon=True
            ).start()
        return job

    def _watch(self, job: RunningJob) -> None:
        status = job.wait()
        if status.is_globally_terminal_state():  # another JobManager goes on with a suspended job
            self._release(finished=status is JobStatus.FINISHED)

    def _release(self, *, finished: bool) -> None:
        ready, self._ready = self._ready, []
        for end in ready:
            try:
                end.release(finished=finished)
            except RiverrunError as error:
                log.warning("something of a job that is over is left behind what=%s", error)
