"""A JobManager in another process: what can be asked of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from riverrun.client.connection import Connection, Endpoint, RequestRefused, decoded, segment
from riverrun.cluster.ha.high_availability import high_availability
from riverrun.cluster.submission.client_values import ValueRun
from riverrun.cluster.submission.packing import sha256_of
from riverrun.cluster.submission.wire import SentFile, SubmitRequest, encode_request
from riverrun.core.errors import CheckpointFailed, ExternalError
from riverrun.core.ids import JobId
from riverrun.graph.rescaling import Parallelism
from riverrun.rest.bodies.cluster import ClusterOverview
from riverrun.rest.bodies.history import Exceptions, ExecutionResult
from riverrun.rest.bodies.jobs import JobDetail, JobsOverview, JobStatusInfo
from riverrun.rest.bodies.operations import (
    CheckpointRequest,
    CheckpointResult,
    DisposalRequest,
    FailureCause,
    OperationResult,
    RescaleRequest,
    SavepointRequest,
    SavepointResult,
    StopRequest,
    TriggerResponse,
)
from riverrun.rest.bodies.submission import Submitted

T = TypeVar("T")

_PIECE: Final = 1 << 20
_FIRST_LOOK_S: Final = 0.05
_LATER_LOOKS_S: Final = 0.5
_VALUES: Final = msgspec.msgpack.Decoder(tuple[bool, list[ValueRun]])


class JobManagerClient:
    """Its operations; each raises RequestRefused or JobManagerGone. Safe for any thread."""

    def __init__(
        self, endpoint: Endpoint, find_leader: Callable[[], Endpoint | None] = lambda: None
    ) -> None:
        self.connection = Connection(endpoint, find_leader)

    @staticmethod
    def at(address: str, config: Mapping[str, str]) -> JobManagerClient:
        """The JobManager at ``address``; the one that leads in its place, if ``config`` says who knows."""
        ha = high_availability(config)

        def find_leader() -> Endpoint | None:
            try:
                leader = None if ha is None else ha.find_leader()
            except ExternalError:
                return None
            return None if leader is None else Endpoint.of(leader.address, config)

        return JobManagerClient(Endpoint.of(address, config), find_leader)

    @property
    def url(self) -> str:
        """Where it is."""
        return self.connection.endpoint.url

    def overview(self) -> ClusterOverview:
        """Slots and jobs at a glance."""
        return self.connection.get("/overview", ClusterOverview)

    def jobs(self) -> JobsOverview:
        """All jobs."""
        return self.connection.get("/jobs/overview", JobsOverview)

    def job(self, job: JobId) -> JobDetail:
        """One job with its vertices."""
        return self.connection.get(f"/jobs/{job}", JobDetail)

    def status(self, job: JobId) -> str:
        """Where a job stands."""
        return self.connection.get(f"/jobs/{job}/status", JobStatusInfo).status

    def result(self, job: JobId) -> ExecutionResult:
        """Whether a job has ended, and how."""
        return self.connection.get(f"/jobs/{job}/execution-result", ExecutionResult)

    def exceptions(self, job: JobId) -> Exceptions:
        """What went wrong so far."""
        return self.connection.get(f"/jobs/{job}/exceptions", Exceptions, maxExceptions=100)

    def cancel(self, job: JobId) -> None:
        """Ask a job to stop."""
        self.connection.call("PATCH", f"/jobs/{job}", dict[str, Any], mode="cancel")

    def savepoint(self, job: JobId, target: str | None) -> Poll[str]:
        """Take a savepoint."""
        wish = SavepointRequest(target_directory=target)
        return self._savepoint(job, f"/jobs/{job}/savepoints", wish)

    def stop(self, job: JobId, target: str | None, *, drain: bool) -> Poll[str]:
        """Stop a job with a savepoint."""
        wish = StopRequest(target_directory=target, drain=drain)
        return self._savepoint(job, f"/jobs/{job}/stop", wish)

    def checkpoint(self, job: JobId) -> Poll[str]:
        """Take a checkpoint."""
        begun = self.connection.call(
            "POST", f"/jobs/{job}/checkpoints", TriggerResponse, CheckpointRequest()
        )
        path = f"/jobs/{job}/checkpoints/{begun.request_id}"

        def ask() -> str | None:
            found = self.connection.get(path, CheckpointResult)
            if found.operation is None:
                return None
            _raise(found.operation.failure_cause)
            return found.operation.location or ""

        return Poll(ask)

    def dispose(self, location: str) -> Poll[Any]:
        """Delete a savepoint."""
        begun = self.connection.call(
            "POST", "/savepoint-disposal", TriggerResponse, DisposalRequest(savepoint_path=location)
        )
        return self._operation(f"/savepoint-disposal/{begun.request_id}")

    def rescale(self, job: JobId, parallelism: Parallelism) -> Poll[Any]:
        """Let a job go on with another parallelism: all of it, or some vertices."""
        path = f"/jobs/{job}/rescaling"
        if isinstance(parallelism, int):
            begun = self.connection.call("PATCH", path, TriggerResponse, parallelism=parallelism)
        else:
            wish = RescaleRequest(dict(parallelism))
            begun = self.connection.call("PATCH", path, TriggerResponse, wish)
        return self._operation(f"/jobs/{job}/rescaling/{begun.request_id}")

    def submit(self, request: SubmitRequest) -> JobId:
        """Run a job; the files it names must be there."""
        data = self.connection.send("POST", "/jobs", encode_request(request))
        return JobId(decoded("/jobs", data, Submitted).jobid)

    def send_file(self, path: Path, name: str) -> SentFile:
        """Bring a file to the JobManager, unless it has it."""
        sent = SentFile(name, sha256_of(path))
        place = f"/artifacts/{segment(sent.sha256)}"
        try:
            self.connection.send("GET", place)
        except RequestRefused as e:
            if e.status != 404:  # noqa: PLR2004
                raise
            size = {"Content-Length": str(path.stat().st_size)}
            self.connection.send("PUT", place, _pieces(path), headers=size)
        return sent

    def values(self, job: JobId, after: int, wait_s: float) -> tuple[bool, list[ValueRun]]:
        """Whether these are the last values for the client, and the next of them."""
        path = f"/jobs/{job}/client-values?after={after}&wait={wait_s}"
        data = self.connection.send("GET", path, timeout=wait_s + 30.0)
        try:
            return _VALUES.decode(data)
        except msgspec.MsgspecError as e:
            raise ExternalError(
                f"JobManager {self.url}: sent values that are not understood ({e}); use the same "
                f"version of riverrun"
            ) from e

    def _savepoint(self, job: JobId, path: str, wish: SavepointRequest | StopRequest) -> Poll[str]:
        begun = self.connection.call("POST", path, TriggerResponse, wish)
        asking = f"/jobs/{job}/savepoints/{begun.request_id}"

        def ask() -> str | None:
            found = self.connection.get(asking, SavepointResult)
            if found.operation is None:
                return None
            _raise(found.operation.failure_cause)
            return found.operation.location or ""

        return Poll(ask)

    def _operation(self, path: str) -> Poll[Any]:
        def ask() -> Any:
            found = self.connection.get(path, OperationResult)
            if found.operation is None:
                return None
            if found.operation.failure_cause is not None:
                raise ExternalError(found.operation.failure_cause.stack_trace)
            return True

        return Poll(ask)


class Poll(Future[T]):
    """What an operation gives once it has ended; ``result`` asks until then."""

    def __init__(self, ask: Callable[[], T | None]) -> None:
        super().__init__()
        self._ask = ask

    def done(self) -> bool:
        if not super().done():
            self._look()
        return super().done()

    def result(self, timeout: float | None = None) -> T:
        end = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_LOOK_S
        while not self.done():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(f"not done after {timeout} s; it goes on")
            time.sleep(pause if left is None else min(pause, left))
            pause = min(_LATER_LOOKS_S, pause * 2)
        return super().result(0)

    def _look(self) -> None:
        try:
            found = self._ask()
        except (CheckpointFailed, ExternalError, RequestRefused) as e:
            self.set_exception(e)
        else:
            if found is not None:
                self.set_result(found)


def _raise(cause: FailureCause | None) -> None:
    if cause is not None:
        raise CheckpointFailed(cause.stack_trace)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece
