"""``river logs``: files that a JobManager shows."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from riverrun.rest.context import RestContext
from riverrun.rest.routing import Call, Raw, Route
from tests.unit.cli.conftest import Cluster, MakeCluster, River

ORDERS = "a" * 32


class OfFile(msgspec.Struct, frozen=True):
    filename: str
    taskmanagerid: str = ""


class FromOffset(msgspec.Struct, frozen=True):
    offset: int = 0


class OfManager(msgspec.Struct, frozen=True):
    taskmanagerid: str = ""


class Files:
    """Log files by name."""

    def __init__(self) -> None:
        self.contents = {
            f"job-{ORDERS}.log": b"job accepted\n",
            f"job-{ORDERS}.out": b"42\n",
            "jobmanager.log": b"it serves\n",
        }
        self.of_manager = {"taskmanager-7.log": b"it works\n"}

    def routes(self) -> tuple[Route, ...]:
        files: dict[str, Any] = {"gives": Raw, "of": OfFile, "query": FromOffset}
        manager = "/taskmanagers/{taskmanagerid}"
        return (
            Route("GET", "/jobmanager/logs", self._list, gives=dict),
            Route("GET", "/jobmanager/logs/{filename}", self._read, **files),
            Route("GET", f"{manager}/logs", self._list, gives=dict, of=OfManager),
            Route("GET", f"{manager}/logs/{{filename}}", self._read, **files),
        )

    def _of(self, path: Any) -> dict[str, bytes]:
        return self.of_manager if getattr(path, "taskmanagerid", "") else self.contents

    def _list(self, rest: RestContext, call: Call[Any, Any, None]) -> dict[str, Any]:
        found = self._of(call.path)
        logs = [
            {"name": name, "size": len(text), "mtime": number * 1000}
            for number, (name, text) in enumerate(found.items())
        ]
        return {"logs": logs}

    def _read(self, rest: RestContext, call: Call[OfFile, FromOffset, None]) -> Raw:
        return Raw(self._of(call.path)[call.path.filename][call.query.offset :], "text/plain")


@pytest.fixture
def files() -> Files:
    return Files()


@pytest.fixture
def logging_cluster(make_cluster: MakeCluster, files: Files) -> Cluster:
    return make_cluster(routes=files.routes())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "it serves\n"),
        (("orders",), "job accepted\n"),
        (("orders", "--file", f"job-{ORDERS}.out"), "42\n"),
        (("--taskmanager", "7"), "it works\n"),
    ],
)
def test_the_log_that_is_meant_is_shown(
    river: River, logging_cluster: Cluster, arguments: tuple[str, ...], text: str
) -> None:
    said = river("logs", "-m", logging_cluster.place, *arguments)

    assert (said.code, said.out) == (0, text)


def test_files_are_listed(river: River, logging_cluster: Cluster) -> None:
    said = river("logs", "--list", "-m", logging_cluster.place)

    names = [line.split()[0] for line in said.out.splitlines()]
    assert names == ["file", "jobmanager.log", f"job-{ORDERS}.log", f"job-{ORDERS}.out"]


def test_machines_get_the_files(river: River, logging_cluster: Cluster) -> None:
    logs = river("logs", "orders", "--json", "-m", logging_cluster.place).json["logs"]

    assert [each["name"] for each in logs] == [f"job-{ORDERS}.log", f"job-{ORDERS}.out"]
    assert logs[1]["size"] == 3


def test_a_file_that_is_not_there_is_refused_with_those_that_are(
    river: River, logging_cluster: Cluster
) -> None:
    said = river("logs", "--file", "x.log", "-m", logging_cluster.place)

    assert said.code == 1
    assert "has no log file 'x.log'; there are: jobmanager.log" in said.err


def test_a_job_and_a_task_manager_are_a_wrong_use(river: River, logging_cluster: Cluster) -> None:
    assert river("logs", "orders", "-t", "7", "-m", logging_cluster.place).code == 2


def test_what_is_written_later_follows_once_until_it_is_interrupted(
    river: River, logging_cluster: Cluster, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = iter([b"it serves\nmore\n", b"it serves\nmore\n", b"anew\n"])

    def wait(seconds: float) -> None:
        content = next(later, None)
        if content is None:
            raise KeyboardInterrupt
        files.contents["jobmanager.log"] = content

    monkeypatch.setattr(time, "sleep", wait)

    said = river("logs", "-f", "-m", logging_cluster.place)

    assert (said.code, said.out) == (130, "it serves\nmore\nanew\n")
