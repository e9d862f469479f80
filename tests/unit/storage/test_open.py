"""Which store a location means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs as arrow_fs

from riverrun.core.errors import ConfigError
from riverrun.core.option_registry import check_config
from riverrun.storage.local import LocalStorage
from riverrun.storage.memory import MemoryStorage
from riverrun.storage.object_store import ObjectStorage
from riverrun.storage.open import absolute_location, open_storage
from riverrun.storage.s3 import s3_file_system
from riverrun.storage.storage import StorageError

KEYS = {"s3.access-key": "me", "s3.secret-key": "secret", "s3.region": "eu-west-1"}


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("/checkpoints", LocalStorage),
        ("file:///checkpoints", LocalStorage),
        ("memory://here/checkpoints", MemoryStorage),
        ("s3://bucket/checkpoints", ObjectStorage),
        ("s3a://bucket/checkpoints", ObjectStorage),
        ("gs://bucket/checkpoints", ObjectStorage),
        ("hdfs://server:8020/checkpoints", ObjectStorage),
    ],
)
def test_the_scheme_names_the_store(location: str, kind: type) -> None:
    assert type(open_storage(location, {})) is kind


def test_one_name_is_one_store_in_memory() -> None:
    open_storage("memory://one-name/a", {}).write("memory://one-name/a/file", b"x")

    assert open_storage("memory://one-name/b", {}).exists("memory://one-name/a/file")
    assert not open_storage("memory://other/a", {}).exists("memory://one-name/a/file")
    MemoryStorage.forget("one-name")
    assert not open_storage("memory://one-name/a", {}).exists("memory://one-name/a/file")


def test_an_unknown_scheme_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(
        ConfigError, match=r"'ftp://'; expected an absolute path, or file://, s3://"
    ):
        open_storage("ftp://server/checkpoints", {})


@pytest.mark.parametrize("act", [absolute_location, lambda location: open_storage(location, {})])
def test_a_relative_path_is_refused_with_the_absolute_one(act: Callable[[str], Any]) -> None:
    with pytest.raises(ConfigError, match=f"did you mean '{Path.cwd()}/checkpoints'"):
        act("checkpoints")


@pytest.mark.parametrize(
    ("location", "absolute"),
    [
        ("/a/b/", "/a/b"),
        ("/a//b/../c", "/a/c"),
        ("file:///a%20b/c/", "/a b/c"),
        ("file:/a", "/a"),
        ("s3://bucket/a/", "s3://bucket/a"),
        ("memory://x", "memory://x"),
    ],
)
def test_there_is_one_form_of_a_location(location: str, absolute: str) -> None:
    assert absolute_location(location) == absolute
    assert absolute_location(absolute) == absolute


def test_nothing_is_connected_before_it_is_used() -> None:
    def connect() -> arrow_fs.FileSystem:
        raise OSError("no")

    storage = ObjectStorage("some://", connect)

    with pytest.raises(
        StorageError, match=r"reading 'some://a': see whether the store is in order.*no"
    ):
        storage.read("some://a")
    with pytest.raises(StorageError, match="begins with 'some://'"):
        storage.read("other://a")


def test_flinks_keys_describe_the_s3_store() -> None:
    config = {**KEYS, "s3.endpoint": "http://localhost:9000", "s3.path.style.access": "true"}

    check_config({**config, "s3.entropy.key": "_entropy_"})

    assert s3_file_system("bucket", config).region == "eu-west-1"
    older = {"s3.access.key": "me", "s3.secret.key": "x", "s3.endpoint": "minio:9000"}
    assert s3_file_system("bucket", older).region == "us-east-1"


def test_without_a_region_the_environment_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-north-1")

    config = {"s3.access-key": "me", "s3.secret-key": "x"}

    assert s3_file_system("bucket", config).region == "eu-north-1"


def test_half_of_the_credentials_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'s3.access-key' is set and 's3.secret-key' is not"):
        s3_file_system("bucket", {"s3.access-key": "me"})
    with pytest.raises(ConfigError, match=r"'s3.secret-key' is set and 's3.access-key' is not"):
        s3_file_system("bucket", {"s3.secret-key": "me"})


@pytest.mark.parametrize("endpoint", ["ftp://server", "http://", "http://server/bucket"])
def test_an_endpoint_that_is_no_address_is_refused(endpoint: str) -> None:
    with pytest.raises(ConfigError, match="expected the address of the store"):
        s3_file_system("bucket", {**KEYS, "s3.endpoint": endpoint})
