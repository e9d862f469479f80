"""Places for files: a folder of this machine, and a bucket of a real server."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.connectors.file_sink.places import LocalPlace, Place, S3Place
from tests.contract.storage.conftest import S3Server


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine dies in these tests, only processes: the disk need not be waited for."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


@pytest.fixture
def local(tmp_path: Path) -> Place:
    return LocalPlace(str(tmp_path))


@pytest.fixture
def s3(s3_server: S3Server) -> Place:
    return S3Place(f"s3://{s3_server.bucket}/{uuid.uuid4().hex}", s3_server)


@pytest.fixture(params=["local", "s3"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found
