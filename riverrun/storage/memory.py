"""The store in this process's memory: for tests, for the simulator, for jobs that survive nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from riverrun.storage.os_errors import exists_already, missing, reported

_NAMED: Final[dict[str, MemoryStorage]] = {}
_NAMED_LOCK: Final = threading.Lock()


class MemoryStorage:
    """Files as values of a dict; a location is any string, and "/" parts its folders.

    >>> store = MemoryStorage()
    >>> store.write("memory://here/a/b", b"x")
    >>> store.list("memory://here")
    ['memory://here/a/b']
    """

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._lock = threading.Lock()

    @staticmethod
    def named(name: str) -> MemoryStorage:
        """The one store of this name in this process; made when it is first asked for."""
        with _NAMED_LOCK:
            return _NAMED.setdefault(name, MemoryStorage())

    @staticmethod
    def forget(name: str) -> None:
        """Let go of the named store and its files."""
        with _NAMED_LOCK:
            _NAMED.pop(name, None)

    def write(self, location: str, data: bytes | memoryview, *, new: bool = False) -> None:
        content = bytes(data)
        with self._lock:
            if new and location in self._files:
                raise exists_already("writing", location)
            self._files[location] = content

    def upload(self, source: Path, location: str) -> None:
        with reported("uploading", str(source)):
            content = source.read_bytes()
        self.write(location, content)

    def read(self, location: str) -> bytes:
        return self._read(location, "reading")

    def download(self, location: str, target: Path) -> None:
        content = self._read(location, "downloading")
        with reported(f"downloading {location!r} to", str(target)):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with target.open("xb") as file:
                    file.write(content)
            except FileExistsError as error:
                raise exists_already(f"downloading {location!r} to", str(target)) from error

    def exists(self, location: str) -> bool:
        with self._lock:
            return location in self._files

    def list(self, folder: str) -> list[str]:
        return list(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        below = folder.rstrip("/") + "/"
        with self._lock:
            return {
                location: len(self._files[location])
                for location in sorted(self._files)
                if location.startswith(below)
            }

    def delete(self, locations: Iterable[str]) -> None:
        for location in locations:
            with self._lock:
                self._files.pop(location, None)

    def delete_folder(self, folder: str) -> None:
        self.delete(self.list(folder))

    def sweep(self, folder: str, older_than_s: float) -> int:  # noqa: ARG002  (nothing is ever half done)
        return 0

    def _read(self, location: str, operation: str) -> bytes:
        with self._lock:
            content = self._files.get(location)
        if content is None:
            raise missing(operation, location)
        return content
