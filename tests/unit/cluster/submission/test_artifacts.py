from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from riverrun.cluster.submission.artifacts import (
    ArtifactCorrupt,
    ArtifactMissing,
    ArtifactStore,
    ArtifactTooLarge,
)
from riverrun.core.errors import ProgramError

DATA = b"print('hello')"
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "artifacts", limit=100)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in (folder / "artifacts").iterdir()]


def send(store: ArtifactStore, data: bytes, digest: str = DIGEST) -> None:
    receiving = store.receive(digest)
    try:
        receiving.write(data)
        receiving.keep()
    except Exception:
        receiving.discard()
        raise


def test_a_file_is_there_after_all_its_bytes_came(store: ArtifactStore, tmp_path: Path) -> None:
    receiving = store.receive(DIGEST)
    receiving.write(DATA[:5])
    assert not store.has(DIGEST)
    receiving.write(DATA[5:])
    receiving.keep()

    assert store.has(DIGEST)
    assert store.path(DIGEST, "hello.zip").read_bytes() == DATA
    assert names_in(tmp_path) == [DIGEST]


def test_other_bytes_than_announced_are_not_kept(store: ArtifactStore, tmp_path: Path) -> None:
    with pytest.raises(ArtifactCorrupt, match="send it again"):
        send(store, b"something else")

    assert names_in(tmp_path) == []


def test_a_file_that_is_too_large_is_stopped_on_the_way(
    store: ArtifactStore, tmp_path: Path
) -> None:
    with pytest.raises(ArtifactTooLarge, match="larger than 100 bytes"):
        send(store, b"x" * 101)

    assert names_in(tmp_path) == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "A" * 64, "", "0" * 63, "/" + "0" * 63])
def test_names_that_are_no_digests_are_refused(store: ArtifactStore, name: str) -> None:
    for ask in (store.has, store.receive):
        with pytest.raises(ProgramError, match="64 lower-case hexadecimal"):
            ask(name)


def test_a_file_that_was_never_sent_is_named(store: ArtifactStore) -> None:
    with pytest.raises(ArtifactMissing, match=r"'my\.zip' .* was not sent"):
        store.path(DIGEST, "my.zip")


def test_old_files_go_unless_a_job_needs_them(store: ArtifactStore, tmp_path: Path) -> None:
    send(store, DATA)
    other = hashlib.sha256(b"other").hexdigest()
    send(store, b"other", other)
    for name in (DIGEST, other):
        os.utime(tmp_path / "artifacts" / name, (0, 0))

    assert store.forget(3600, needed={other}) == 1
    assert (store.has(DIGEST), store.has(other)) == (False, True)
