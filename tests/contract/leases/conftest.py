"""Every store that can keep a lease: a folder, S3, ZooKeeper (a real server), Kubernetes, and memory."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from riverrun.cluster.ha.file_lease import FileLease
from riverrun.cluster.ha.kubernetes_lease import KubernetesLease, pod_access
from riverrun.cluster.ha.lease import LeaseStore
from riverrun.cluster.ha.zookeeper_lease import ZooKeeperLease
from riverrun.storage.exclusive import open_exclusive_storage
from riverrun.storage.memory import MemoryStorage
from tests.contract.leases.kubernetes_server import TOKEN, KubernetesServer
from tests.contract.leases.zookeeper_server import ZooKeeperServer
from tests.contract.storage.conftest import S3Server


@dataclass
class LeasePlace:
    """A place for a lease, as any number of contenders reach it."""

    connect: Callable[[], LeaseStore]
    exact: bool = True
    """Whether the server lets one succeed of those who come at the same instant; moto's does not."""


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    server = ZooKeeperServer(tmp_path_factory.mktemp("zookeeper"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


@pytest.fixture
def kubernetes() -> Iterator[KubernetesServer]:
    server = KubernetesServer()
    yield server
    server.close()


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """The folder that a pod finds its service account in."""
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text(f"{TOKEN}\n")
    (folder / "namespace").write_text("streams")
    return folder


@pytest.fixture(params=["folder", "memory", "s3", "zookeeper", "kubernetes"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LeasePlace]:
    made: list[LeaseStore] = []

    def remembered(make: Callable[[], LeaseStore]) -> Callable[[], LeaseStore]:
        def connect() -> LeaseStore:
            made.append(make())
            return made[-1]

        return connect

    name = uuid.uuid4().hex
    connect, exact = _kind(request, tmp_path, name)
    yield LeasePlace(remembered(connect), exact)
    for store in made:
        store.close()
    MemoryStorage.forget(name)


def _kind(
    request: pytest.FixtureRequest, tmp_path: Path, name: str
) -> tuple[Callable[[], LeaseStore], bool]:
    server: Any
    config: dict[str, str] = {}
    match request.param:
        case "folder":
            root = str(tmp_path / "shared folder")
        case "memory":
            root = f"memory://{name}/leases"
        case "s3":
            server = request.getfixturevalue("s3_server")
            root, config = f"{server.root}/{name}", dict(server.config())
        case "zookeeper":
            server = request.getfixturevalue("zookeeper")
            return lambda: ZooKeeperLease(
                server.quorum,
                f"/riverrun/{name}/leader",
                duration_ms=1000,
                connection_timeout_s=60,
                request_timeout_s=60,
            ), True
        case _:
            server = request.getfixturevalue("kubernetes")
            access = pod_access(server.address, None, request.getfixturevalue("account"), 5)
            return lambda: KubernetesLease(access, f"c{name}", duration_ms=1000), True
    return (
        lambda: FileLease(open_exclusive_storage(root, config), root, duration_ms=1000),
        request.param != "s3",
    )
