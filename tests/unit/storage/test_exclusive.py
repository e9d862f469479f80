"""Files that are created by one only: which stores can, and that the requests are signed as S3 wants it."""

from __future__ import annotations

import importlib
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from pyarrow import fs as arrow_fs

from riverrun.core.errors import ConfigError
from riverrun.storage.exclusive import open_exclusive_storage
from riverrun.storage.local import LocalStorage
from riverrun.storage.memory import MemoryStorage
from riverrun.storage.s3_exclusive import (
    S3Address,
    S3Creation,
    S3ExclusiveStorage,
    open_s3,
)
from riverrun.storage.s3_signing import S3Keys
from riverrun.storage.storage import FileExists, StorageError

NOW = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
KEYS = {"s3.access-key": "AKID", "s3.secret-key": "SECRET", "s3.region": "eu-central-1"}


class Creates(S3Creation):
    """Says what it is told to say."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def create(self, path: str, data: bytes) -> bool:
        self.asked.append(path)
        return self.answers.pop(0)


@pytest.mark.parametrize("session", [None, "a session's token"])
def test_a_request_is_signed_as_amazons_own_software_signs_it(
    session: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth, requests, credentials = (
        importlib.import_module(f"botocore.{name}")
        for name in ("auth", "awsrequest", "credentials")
    )
    monkeypatch.setattr(auth, "get_current_datetime", lambda **_: NOW, raising=False)
    address = S3Address(secure=True, host="bucket.s3.eu-central-1.amazonaws.com", in_host=True)
    target = address.path_of("bucket/a folder/ü+1~x")
    request: Any = requests.AWSRequest(
        method="PUT",
        url=f"https://{address.host}{target}",
        data=b"content",
        headers={"If-None-Match": "*"},
    )
    request.context["payload_signing_enabled"] = True
    them = credentials.Credentials("AKID", "SECRET", session)
    auth.S3SigV4Auth(them, "s3", "eu-central-1").add_auth(request)

    creation = S3Creation(address, S3Keys("AKID", "SECRET", session), "eu-central-1", lambda: NOW)

    assert creation.headers(target, b"content")["Authorization"] == request.headers["Authorization"]


def test_an_open_store_knows_where_its_bucket_is() -> None:
    addresses = [
        open_s3("s3", "s3://bucket/x", KEYS | more)._creation._address  # type: ignore[attr-defined]
        for more in (
            {},
            {"s3.endpoint": "http://minio:9000"},
            {"s3.endpoint": "store.example", "s3.path.style.access": "false"},
        )
    ]

    assert [(a.secure, a.host, a.path_of("bucket/a b")) for a in addresses] == [
        (True, "bucket.s3.eu-central-1.amazonaws.com", "/a%20b"),
        (False, "minio:9000", "/bucket/a%20b"),
        (True, "bucket.store.example", "/a%20b"),
    ]


def test_a_bucket_with_dots_is_in_the_path() -> None:
    store: Any = open_s3("s3", "s3://my.bucket/x", KEYS)

    assert store._creation._address.host == "s3.eu-central-1.amazonaws.com"
    assert store._creation._address.path_of("my.bucket/a") == "/my.bucket/a"


def test_keys_show_in_no_repr() -> None:
    assert "SECRET" not in repr(S3Keys("AKID", "SECRET", "SECRET"))


def test_a_store_that_takes_no_notice_of_the_condition_is_refused() -> None:
    creation = Creates(True, True)
    storage = S3ExclusiveStorage("s3://", arrow_fs.LocalFileSystem, creation)

    with pytest.raises(StorageError, match="two JobManagers could both lead"):
        storage.write("s3://bucket/lease/1", b"x", new=True)

    assert not any(re.fullmatch("bucket/lease/1", path) for path in creation.asked)


def test_a_file_that_is_there_is_not_made_again() -> None:
    creation = Creates(True, False, True, False)
    storage = S3ExclusiveStorage("s3://", arrow_fs.LocalFileSystem, creation)

    storage.write("s3://bucket/lease/1", b"x", new=True)

    with pytest.raises(FileExists):
        storage.write("s3://bucket/lease/1", b"x", new=True)
    assert creation.asked[2:] == ["bucket/lease/1", "bucket/lease/1"]


def test_folders_and_memory_can_by_nature() -> None:
    assert isinstance(open_exclusive_storage("/shared", {}), LocalStorage)
    assert isinstance(open_exclusive_storage("memory://exclusive", {}), MemoryStorage)
    MemoryStorage.forget("exclusive")


@pytest.mark.parametrize("location", ["gs://bucket/x", "hdfs://name/x"])
def test_stores_that_cannot_are_refused(location: str) -> None:
    with pytest.raises(ConfigError, match="creates a file only if there is none"):
        open_exclusive_storage(location, {})


def test_keys_come_from_the_environment_if_not_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "S")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "T")

    storage: Any = open_exclusive_storage("s3://bucket/x", {"s3.region": "x"})

    assert storage._creation._keys == S3Keys("AKID", "S", "T")
