"""Every kind of store, each empty and with a folder of its own; S3 is a real server."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs as arrow_fs

from riverrun.storage.memory import MemoryStorage
from riverrun.storage.object_store import ObjectStorage
from riverrun.storage.open import open_storage
from riverrun.storage.storage import Storage

logging.getLogger("werkzeug").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Place:
    """A store and a folder in it; with ``one_winner``, of those who want a new file at once one gets it."""

    storage: Storage
    root: str
    one_winner: bool = True


class S3Server:
    """A server that can go away and come back at the same port, with a bucket of the same name."""

    def __init__(self) -> None:
        self._server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self._server.start()
        _, self.port = self._server.get_host_and_port()
        self.bucket = f"bucket-{uuid.uuid4().hex[:8]}"
        self.make_bucket()

    @property
    def root(self) -> str:
        return f"s3://{self.bucket}/check points"

    def config(self, port: int | None = None) -> Mapping[str, str]:
        return {
            "s3.endpoint": f"http://127.0.0.1:{port or self.port}",
            "s3.access-key": "me",
            "s3.secret-key": "secret",
            "s3.path.style.access": "true",
            "s3.region": "us-east-1",
            "riverrun.s3.connect-timeout": "1 s",
            "riverrun.s3.request-timeout": "1 s",
            "riverrun.s3.attempts": "2",
        }

    def files(self) -> arrow_fs.S3FileSystem:
        """The server as somebody else sees it."""
        return arrow_fs.S3FileSystem(
            access_key="me",
            secret_key="secret",
            region="us-east-1",
            scheme="http",
            endpoint_override=f"127.0.0.1:{self.port}",
            allow_bucket_creation=True,
        )

    def make_bucket(self) -> None:
        self.files().create_dir(self.bucket)

    def stop(self) -> None:
        self._server.stop()

    def start_again(self) -> None:
        self._server = ThreadedMotoServer("127.0.0.1", self.port, verbose=False)
        self._server.start()


@pytest.fixture(scope="session")
def shared_s3() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


@pytest.fixture
def s3() -> Iterator[S3Server]:
    """A server of the test's own, to be stopped and started."""
    server = S3Server()
    yield server
    server.stop()


@pytest.fixture(params=["local", "memory", "s3", "renaming"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    match request.param:
        case "local":
            root = str(tmp_path / "check points")
            yield Place(open_storage(root, {}), root)
        case "memory":
            name = uuid.uuid4().hex
            yield Place(open_storage(f"memory://{name}", {}), f"memory://{name}/check points")
            MemoryStorage.forget(name)
        case "s3":
            server: Any = request.getfixturevalue("shared_s3")
            root = f"{server.root}/{uuid.uuid4().hex}"
            yield Place(open_storage(root, server.config()), root, one_winner=False)
        case _:
            storage = ObjectStorage("some://server", arrow_fs.LocalFileSystem, renames=True)
            yield Place(storage, f"some://server{tmp_path}/check points", one_winner=False)
