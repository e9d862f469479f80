"""An object store that fails: an error in bounded time, nothing half done, and all is well when it is back."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from riverrun.storage.open import open_storage
from riverrun.storage.storage import FileMissing, Storage, StorageError
from tests.contract.storage.conftest import S3Server


def test_a_store_that_is_away_is_an_error_and_works_again_when_it_is_back(
    s3: S3Server, tmp_path: Path
) -> None:
    storage: Storage = open_storage(s3.root, s3.config())
    storage.write(f"{s3.root}/a", b"1")
    (tmp_path / "source").write_bytes(b"x" * 100)
    s3.stop()

    for act in (
        lambda: storage.write(f"{s3.root}/b", b"2"),
        lambda: storage.write(f"{s3.root}/b", b"2", new=True),
        lambda: storage.upload(tmp_path / "source", f"{s3.root}/c"),
        lambda: storage.read(f"{s3.root}/a"),
        lambda: storage.download(f"{s3.root}/a", tmp_path / "target"),
        lambda: storage.exists(f"{s3.root}/a"),
        lambda: storage.list(s3.root),
        lambda: storage.delete([f"{s3.root}/a"]),
        lambda: storage.delete_folder(s3.root),
        lambda: storage.sweep(s3.root, 0),
    ):
        with pytest.raises(StorageError, match=r"did not answer.*s3\.endpoint"):
            act()

    s3.start_again()
    storage.write(f"{s3.root}/b", b"2")
    assert storage.read(f"{s3.root}/b") == b"2"
    assert not (tmp_path / "target").exists()


def test_a_store_that_takes_requests_and_never_answers_is_an_error(s3: S3Server) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=20) as silent:
        storage = open_storage(s3.root, s3.config(silent.getsockname()[1]))

        with pytest.raises(StorageError, match="did not answer"):
            storage.read(f"{s3.root}/a")


class Cut:
    """Stands before the server and closes every connection once ``limit`` bytes went up."""

    def __init__(self, port: int, limit: int) -> None:
        self._port, self._left = port, limit
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=50)
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            connection.close()

    def _accept(self) -> None:
        try:
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                self._open += [near, far]
                for pair in ((near, far, True), (far, near, False)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()
        except OSError:
            return

    def _carry(self, come: socket.socket, go: socket.socket, up: bool) -> None:
        try:
            while data := come.recv(65536):
                if up:
                    self._left -= len(data)
                if self._left < 0:
                    break
                go.sendall(data)
        except OSError:
            pass
        for end in (come, go):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


@pytest.fixture(params=[4_000_000, 15_000_000, 26_000_000])
def cut(request: pytest.FixtureRequest, shared_s3: S3Server) -> Iterator[Cut]:
    made = Cut(shared_s3.port, request.param)
    yield made
    made.close()


def test_a_connection_that_breaks_in_the_middle_leaves_no_file(
    shared_s3: S3Server, cut: Cut, tmp_path: Path
) -> None:
    location = f"{shared_s3.root}/cut-{cut.port}/file"
    (tmp_path / "source").write_bytes(os.urandom(30_000_000))
    broken = open_storage(shared_s3.root, shared_s3.config(cut.port))

    with pytest.raises(StorageError, match="file"):
        broken.upload(tmp_path / "source", location)

    whole = open_storage(shared_s3.root, shared_s3.config())
    assert not whole.exists(location)
    with pytest.raises(FileMissing):
        whole.read(location)


def test_a_bucket_that_is_not_there_is_named(shared_s3: S3Server) -> None:
    storage = open_storage("s3://no-such-bucket/x", shared_s3.config())

    with pytest.raises(StorageError, match=r"no-such-bucket.*create it"):
        storage.write("s3://no-such-bucket/x/file", b"1")


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_uses_the_store_too(shared_s3: S3Server) -> None:
    storage = open_storage(shared_s3.root, shared_s3.config())
    child = os.fork()
    if child == 0:
        try:
            storage.write(f"{shared_s3.root}/of-child", b"child")
        finally:
            os._exit(0)
    os.waitpid(child, 0)

    assert storage.read(f"{shared_s3.root}/of-child") == b"child"
