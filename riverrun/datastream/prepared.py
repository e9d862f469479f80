"""Sources and sinks that the client prepares for a job, and lets go of when the job is over."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable, Iterable
from typing import Final

from riverrun.api.client_side import ClientSide, PreparedByClient
from riverrun.core.errors import RiverrunError
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.executor import RunningJob
from riverrun.graph.specs import SinkSpec, SinkWriterSpec, SourceSpec
from riverrun.graph.transformations import Transformation

log = logging.getLogger(__name__)

_LONGEST_RELEASE_S: Final = 30.0


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
                        self._ready.append(end)  # it may fail when it has made something
                        end.prepare(client)
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
            self._watch_in_background(job)
        return job

    def _watch_in_background(self, job: RunningJob) -> None:
        def watch() -> None:
            try:
                self._watch(job)
            finally:
                atexit.unregister(finish)

        def finish() -> None:
            # A program that ends with its job would take the thread with it.
            if job.status().is_terminal_state():
                thread.join(_LONGEST_RELEASE_S)

        thread = threading.Thread(target=watch, name="riverrun-release", daemon=True)
        atexit.register(finish)
        thread.start()

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
