"""The store behind one of Arrow's file systems: S3 and what speaks like it, Google's, Hadoop's."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs as arrow_fs

from riverrun.storage.os_errors import exists_already, missing, reported
from riverrun.storage.storage import StorageError
from riverrun.storage.unfinished import is_unfinished, unfinished_name, unfinished_names_begin

log = logging.getLogger(__name__)

_CHUNK: Final = 8 << 20
_DELETERS: Final = 8
_ADVICE: Final = {
    "NO_SUCH_BUCKET": "there is no such bucket: create it, or name another one",
    "ACCESS_DENIED": "access was denied: see s3.access-key, s3.secret-key and the bucket's policy",
    "INVALID_ACCESS_KEY_ID": "the access key is unknown there: see s3.access-key and s3.endpoint",
    "SIGNATURE_DOES_NOT_MATCH": "the secret key was refused: see s3.secret-key",
    "NETWORK_CONNECTION": "the store did not answer: is it up, and reachable from this machine? see s3.endpoint",
    "SLOW_DOWN": "the store asks for fewer requests: checkpoint less often",
    "No response body": "access was denied or the bucket is elsewhere: see s3.access-key and s3.region",
}


class ObjectStorage:
    """Files of one Arrow file system. ``connect`` makes it, once in each process that needs it.

    An object store puts a file in place when its last byte is there. Where a file shows while it is
    written (``renames``), it is written under another name first.
    """

    def __init__(
        self, prefix: str, connect: Callable[[], arrow_fs.FileSystem], *, renames: bool = False
    ) -> None:
        """``prefix`` and a path of the file system make a location."""
        self._prefix = prefix
        self._connect = connect
        self._renames = renames
        # One a process: connections and threads of the parent are of no use after a fork, and to
        # destroy their owner could wait for them for ever.
        self._of_process: dict[int, arrow_fs.FileSystem] = {}

    def write(self, location: str, data: bytes | memoryview, *, new: bool = False) -> None:
        with self._reported("writing", location) as path:
            if new:
                self._write_new(location, path, data)
            else:
                self._put(path, data)

    def upload(self, source: Path, location: str) -> None:
        # A stream that is closed after half of the bytes makes a file of that half, so no error of
        # the source may come in between: the source is mapped into memory, and written at once.
        with reported("uploading", str(source)):
            content = pa.memory_map(str(source)).read_buffer() if source.stat().st_size else b""
        with self._reported("uploading", location) as path:
            self._put(path, content)

    def read(self, location: str) -> bytes:
        with self._reported("reading", location) as path, self._open(location, path) as stream:
            content: bytes = stream.read()
        return content

    def download(self, location: str, target: Path) -> None:
        with self._reported("downloading", location) as path, self._open(location, path) as stream:
            with reported(f"downloading {location!r} to", str(target)):
                target.parent.mkdir(parents=True, exist_ok=True)
                try:
                    file = target.open("xb")
                except FileExistsError as error:
                    raise exists_already(f"downloading {location!r} to", str(target)) from error
            try:
                with file:
                    while chunk := stream.read(_CHUNK):
                        with reported(f"downloading {location!r} to", str(target)):
                            file.write(chunk)
            except BaseException:
                target.unlink(missing_ok=True)
                raise

    def exists(self, location: str) -> bool:
        with self._reported("looking for", location) as path:
            return self._is_file(path)

    def list(self, folder: str) -> list[str]:
        return list(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        with self._reported("listing", folder) as path:
            found = {
                self._prefix + info.path: info.size
                for info in self._files(path)
                if not is_unfinished(info.path)
            }
        return dict(sorted(found.items()))

    def delete(self, locations: Iterable[str]) -> None:
        waiting = list(locations)
        with ThreadPoolExecutor(max(1, min(_DELETERS, len(waiting)))) as pool:
            errors = [error for error in pool.map(self._delete, waiting) if error is not None]
        if errors:
            raise errors[0]

    def delete_folder(self, folder: str) -> None:
        with self._reported("deleting", folder) as path:
            try:
                self._filesystem.delete_dir(path)
            except FileNotFoundError:
                return

    def sweep(self, folder: str, older_than_s: float) -> int:
        before = time.time() - older_than_s
        with self._reported("sweeping", folder) as path:
            old = [
                self._prefix + info.path
                for info in self._files(path)
                if is_unfinished(info.path) and info.mtime_ns / 1e9 <= before
            ]
        self.delete(old)
        return len(old)

    @property
    def _filesystem(self) -> arrow_fs.FileSystem:
        made = self._of_process.get(os.getpid())
        if made is None:
            made = self._of_process[os.getpid()] = self._connect()
        return made

    @contextmanager
    def _reported(self, operation: str, location: str) -> Iterator[str]:
        """The path of ``location``; every error of Arrow in the block becomes a StorageError."""
        if not location.startswith(self._prefix):
            raise StorageError(
                f"{operation} {location!r}: this store only has files whose location begins with "
                f"{self._prefix!r}"
            )
        try:
            yield location.removeprefix(self._prefix).rstrip("/")
        except (OSError, pa.ArrowException) as error:
            said = str(error)
            advice = next(
                (advice for sign, advice in _ADVICE.items() if sign in said),
                "see whether the store is in order",
            )
            raise StorageError(f"{operation} {location!r}: {advice}; it said: {said}") from error

    def _put(self, path: str, data: bytes | memoryview | pa.Buffer) -> None:
        target = unfinished_name(path) if self._renames else path
        if self._renames:
            self._filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        stream = self._filesystem.open_output_stream(target)
        try:
            stream.write(data)
        finally:
            stream.close()
        if self._renames:
            self._filesystem.move(target, path)

    def _write_new(self, location: str, path: str, data: bytes | memoryview) -> None:
        """Make a file that nobody else makes, in a store that has no such operation.

        Who wants the file announces it under a name of its own, and writes only if there is then
        neither the file nor another announcement. Of two who want it at once at most one gets it.
        """
        if self._is_file(path):
            raise exists_already("writing", location)
        announcement = unfinished_name(path)
        self._put_announcement(announcement)
        try:
            rivals = self._announcements(path) - {announcement}
            if rivals or self._is_file(path):
                raise exists_already("writing", location)
            self._put(path, data)
        finally:
            self._withdraw(announcement)

    def _put_announcement(self, path: str) -> None:
        if self._renames:
            self._filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        with self._filesystem.open_output_stream(path):
            pass

    def _announcements(self, path: str) -> set[str]:
        beginning = unfinished_names_begin(path)
        folder = arrow_fs.FileSelector(path.rpartition("/")[0], allow_not_found=True)
        found = self._filesystem.get_file_info(folder)
        return {info.path for info in found if info.path.startswith(beginning)}

    def _withdraw(self, announcement: str) -> None:
        error = self._delete(self._prefix + announcement)
        if error is not None:
            # It harms nobody: the file is there now, or the next one takes another name.
            log.warning("left behind, to be swept later reason=%s", error)

    def _open(self, location: str, path: str) -> Any:
        try:
            return self._filesystem.open_input_stream(path)
        except OSError as error:
            # Where folders are real, to open one fails in another way than to open what is not there.
            if isinstance(error, FileNotFoundError) or (self._renames and not self._is_file(path)):
                raise missing("reading", location) from error
            raise

    def _is_file(self, path: str) -> bool:
        info = self._filesystem.get_file_info(path)
        return bool(info.type == arrow_fs.FileType.File)

    def _files(self, path: str) -> Iterator[Any]:
        selector = arrow_fs.FileSelector(path, allow_not_found=True, recursive=True)
        for info in self._filesystem.get_file_info(selector):
            if info.type == arrow_fs.FileType.File:
                yield info

    def _delete(self, location: str) -> StorageError | None:
        try:
            with self._reported("deleting", location) as path:
                try:
                    self._filesystem.delete_file(path)
                except FileNotFoundError:
                    return None
        except StorageError as error:
            return error
        return None
