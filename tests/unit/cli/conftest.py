"""Scripts and commands in this process; a JobManager that answers on a port and only notes what it is asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from riverrun.cli.main import main
from riverrun.cluster.job_report import JobReport
from riverrun.compat.pyflink import uninstall
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.jobmanager.local_clusters import FOLDER_VARIABLE, LocalCluster, noted
from riverrun.rest.app import rest_app
from riverrun.rest.context import RestContext
from riverrun.rest.routes import ROUTES
from riverrun.rest.routing import Route
from riverrun.rest.server import RestServer
from tests.unit.rest import reports
from tests.unit.rest.conftest import RecordedDispatcher

WriteScript = Callable[..., Path]


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


River = Callable[..., Said]


@pytest.fixture
def river(capsys: pytest.CaptureFixture[str]) -> River:
    """``river("list", "-a")``: run a command as the shell would."""

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(each) for each in arguments])
        printed = capsys.readouterr()
        return Said(int(end.value.code or 0), printed.out, printed.err)

    return run


class ObedientDispatcher(RecordedDispatcher):
    """Its jobs do at once what they are told."""

    def __init__(self) -> None:
        super().__init__()
        self.reports = {}
        self.add("a" * 32, "orders")
        self.location = "/savepoints/savepoint-aaaaaa-000000000000"
        self.failure: Exception | None = None

    def add(self, id_: str, name: str, status: JobStatus = JobStatus.RUNNING) -> None:
        self.reports[id_] = reports.job(status, id=id_, name=name)

    def cancel(self, job: JobId) -> None:
        super().cancel(job)
        self._change(job, status="CANCELED")

    def trigger_checkpoint(self, job: JobId) -> Future[str]:
        super().trigger_checkpoint(job)
        return self._done("/checkpoints/chk-7")

    def trigger_savepoint(self, job: JobId, target: str | None) -> Future[str]:
        super().trigger_savepoint(job, target)
        return self._done(self.location)

    def stop_with_savepoint(self, job: JobId, target: str | None, *, drain: bool) -> Future[str]:
        super().stop_with_savepoint(job, target, drain=drain)
        if self.failure is None:
            self._change(job, status="FINISHED")
        return self._done(self.location)

    def dispose_savepoint(self, location: str) -> Future[None]:
        super().dispose_savepoint(location)
        return self._done(None)

    def rescale(self, job: JobId, parallelism: int | Mapping[str, int]) -> Future[None]:
        super().rescale(job, parallelism)
        vertices = [
            msgspec.structs.replace(
                vertex,
                parallelism=parallelism
                if isinstance(parallelism, int)
                else parallelism.get(vertex.name, vertex.parallelism),
            )
            for vertex in self.job(job).vertices
        ]
        self._change(job, vertices=tuple(vertices))
        return self._done(None)

    def _change(self, job: JobId, **facts: Any) -> JobReport:
        report = self.reports[str(job)] = reports.changed(self.job(job), **facts)
        return report

    def _done(self, value: Any) -> Future[Any]:
        outcome: Future[Any] = Future()
        if self.failure is None:
            outcome.set_result(value)
        else:
            outcome.set_exception(self.failure)
        return outcome


@dataclass(frozen=True, slots=True)
class Cluster:
    """A JobManager on a port."""

    dispatcher: ObedientDispatcher
    server: RestServer
    ended: list[str]
    """Grows when somebody asks for its end."""

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def place(self) -> str:
        return self.url.partition("://")[2]


MakeCluster = Callable[..., Cluster]


@pytest.fixture
def make_cluster() -> Iterator[MakeCluster]:
    """``make_cluster(submissions=, routes=)``: a JobManager that nobody knows of."""
    made: list[Cluster] = []

    def make(submissions: Any = None, routes: tuple[Route, ...] = ()) -> Cluster:
        dispatcher, ended = ObedientDispatcher(), list[str]()
        context = RestContext(
            dispatcher, submissions=submissions, shut_down=lambda: ended.append("asked")
        )
        own = {(route.method, route.path) for route in routes}
        others = [route for route in ROUTES if (route.method, route.path) not in own]
        server = RestServer(rest_app(context, (*routes, *others)))
        server.start()
        made.append(Cluster(dispatcher, server, ended))
        return made[-1]

    yield make
    for each in made:
        each.server.close()


@pytest.fixture
def cluster(make_cluster: MakeCluster, state_folder: Path) -> Iterator[Cluster]:
    """A JobManager that is noted as one of this machine."""
    made = make_cluster()
    note = LocalCluster.of_this_process(made.url, master="local[2]", started=1, log="/logs/jm.log")
    with noted(note, os.environ):
        yield made


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """JobManagers that really run on this machine are not found."""
    folder = tmp_path / "state"
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    return folder


@pytest.fixture
def write_script(tmp_path: Path) -> WriteScript:
    """Write a script into the test's folder."""

    def write(text: str, name: str = "script.py") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture(autouse=True)
def clean_process() -> Iterator[None]:
    """What a script leaves behind in the process that ran it."""
    yield
    uninstall()
    for name in ("last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)
