"""Where files are: locations, what is in a folder, and how a file is opened.

A location is an absolute local path or a URI such as ``s3://bucket/folder/file``. Every machine of the job
has to understand it, so a relative path is made absolute where the program is built.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs as arrow_fs

from riverrun.core.errors import ConfigError
from riverrun.storage.local import local_path
from riverrun.storage.storage import FileMissing, StorageError

__all__ = ["S3_SCHEMES", "FileInfo", "FileStore", "is_hidden", "location_of"]

S3_SCHEMES: Final = frozenset({"s3", "s3a", "s3n"})
_BUCKETS: Final = S3_SCHEMES | {"gs", "gcs"}
_SERVERS: Final = frozenset({"hdfs", "viewfs"})
_STORE_KEYS: Final = ("s3.", "riverrun.s3.")
_GLOB: Final = re.compile(r"[*?\[]")
_ADVICE: Final = {
    "NO_SUCH_BUCKET": "there is no such bucket: create it, or name another one",
    "ACCESS_DENIED": "access was denied: see s3.access-key, s3.secret-key and the bucket's policy",
    "INVALID_ACCESS_KEY_ID": "the access key is unknown there: see s3.access-key and s3.endpoint",
    "SIGNATURE_DOES_NOT_MATCH": "the secret key was refused: see s3.secret-key",
    "NETWORK_CONNECTION": "the store did not answer: is it up, and reachable from here? see s3.endpoint",
    "No response body": "access was denied or the bucket is elsewhere: see s3.access-key and s3.region",
    "Permission denied": "this user may not: change the permissions of the file or its folder",
    "No space left": "the disk is full: free some space",
    "Read-only file system": "the file system is mounted read-only: mount it for writing",
    "Too many open files": "this process has too many files open: raise its limit (ulimit -n)",
}


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file as a listing shows it."""

    location: str
    size: int
    modified_ms: int


def location_of(path: str | os.PathLike[str]) -> str:
    """``path`` as an absolute path or a URI, without a slash at its end.

    >>> location_of("file:///data/in/"), location_of("s3://bucket/in/")
    ('/data/in', 's3://bucket/in')

    Raises:
        ConfigError: no file system is known for its scheme.
    """
    text = os.fspath(path)
    if not isinstance(text, str) or not text:
        raise ConfigError(f"path {text!r}: expected a path or a URI such as 's3://bucket/folder'")
    if "://" not in text or text.startswith("file:"):
        return os.path.abspath(local_path(text))  # noqa: PTH100  (keeps links as they were written)
    parts = urlsplit(text)
    if parts.scheme not in _BUCKETS | _SERVERS:
        raise ConfigError(
            f"path {text!r}: no file system is known for {parts.scheme + '://'!r}; expected a path, "
            f"or file://, s3://, gs:// or hdfs://"
        )
    if not parts.netloc:
        raise ConfigError(f"path {text!r}: names no bucket or server after {parts.scheme!r}://")
    return text.rstrip("/")


def is_hidden(name: str) -> bool:
    """Whether a file or folder of this name is left out: unfinished files and markers are.

    >>> is_hidden("_SUCCESS"), is_hidden(".part-0.inprogress"), is_hidden("part-0")
    (True, True, False)
    """
    return name.startswith((".", "_"))


class FileStore:
    """The files of all file systems that a source or sink may name; picklable, connects when used.

    All methods raise StorageError (FileMissing when there is no such file) and may be called from any
    thread.

    Args:
        config: how to reach object stores, with the keys of riverrun's configuration (``s3.endpoint``,
            ``s3.access-key`` ...). Without them the usual environment of the store counts.
    """

    def __init__(self, config: Mapping[str, str] | None = None) -> None:
        self._config = dict(config or {})

    def __repr__(self) -> str:
        return f"FileStore({sorted(self._config)})"  # the values may be secrets

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileStore) and self._config == other._config

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._config.items())))

    def within(self, config: Mapping[str, str]) -> FileStore:
        """This store in a job with the configuration ``config``, which counts where this one says nothing."""
        of_stores = {key: value for key, value in config.items() if key.startswith(_STORE_KEYS)}
        return FileStore({**of_stores, **self._config})

    def system(self, location: str) -> tuple[Any, str]:
        """Arrow's file system that holds ``location``, and the location's path in it."""
        scheme, server, path = _parts(location)
        config = tuple(sorted(self._config.items())) if scheme in S3_SCHEMES else ()
        with self.reported("connecting for", location):
            return _connected(os.getpid(), scheme, server, config), path

    def info(self, location: str) -> FileInfo | None:
        """The file at ``location``; None when there is none, or a folder."""
        system, path = self.system(location)
        with self.reported("looking for", location):
            found = system.get_file_info(path)
        return _info(location, found) if found.type == arrow_fs.FileType.File else None

    def is_folder(self, location: str) -> bool:
        """Whether ``location`` is a folder; in an object store: whether anything is below it."""
        system, path = self.system(location)
        with self.reported("looking for", location):
            return bool(system.get_file_info(path).type == arrow_fs.FileType.Directory)

    def files(
        self, location: str, *, recursive: bool = True, hidden: bool = False
    ) -> list[FileInfo]:
        """The files that ``location`` stands for, sorted by location.

        A file stands for itself, a folder for what is below it (without hidden files and folders), and
        a pattern with ``*``, ``?``, ``[...]`` or ``**`` for the files that match it and for what is below
        the folders that match it.

        Raises:
            FileMissing: there is neither a file nor a folder; a pattern may match nothing.
        """
        if _GLOB.search(location):
            return self._matching(location, hidden=hidden)
        found = self.info(location)
        if found is not None:
            return [found]
        if not self.is_folder(location):
            raise FileMissing(
                f"listing {location!r}: there is no such file or folder; create it, or name another one"
            )
        return self._below(location, recursive=recursive, hidden=hidden)

    def open(self, location: str) -> Any:
        """The file, open for reading bytes at any position (read, seek, tell, size, close)."""
        system, path = self.system(location)
        with self.reported("opening", location):
            return system.open_input_file(path)

    def create(self, location: str) -> Any:
        """A stream of bytes that becomes the file; folders above it are made where there are folders.

        In an object store the file is there when the stream is closed.
        """
        system, path = self.system(location)
        with self.reported("writing", location):
            if urlsplit(location).scheme not in _BUCKETS:
                system.create_dir(path.rpartition("/")[0], recursive=True)
            return system.open_output_stream(path)

    def delete(self, location: str) -> None:
        """Remove the file; fine when there is none."""
        system, path = self.system(location)
        with self.reported("deleting", location):
            try:
                system.delete_file(path)
            except FileNotFoundError:
                return

    @contextmanager
    def reported(self, operation: str, location: str) -> Iterator[None]:
        """Turn the errors of a file system in the block into a StorageError that names the file."""
        try:
            yield
        except FileNotFoundError as error:
            raise FileMissing(
                f"{operation} {location!r}: there is no such file; was it deleted or moved by somebody else?"
            ) from error
        except (OSError, pa.ArrowException) as error:
            said = str(error)
            advice = next(
                (advice for sign, advice in _ADVICE.items() if sign in said),
                "see whether the disk or the store is in order",
            )
            raise StorageError(f"{operation} {location!r}: {advice}; it said: {said}") from error

    def _below(self, folder: str, *, recursive: bool, hidden: bool) -> list[FileInfo]:
        system, path = self.system(folder)
        with self.reported("listing", folder):
            selector = arrow_fs.FileSelector(path, allow_not_found=True, recursive=recursive)
            listed = system.get_file_info(selector)
        found = []
        for each in listed:
            below = each.path[len(path) :].lstrip("/")
            if each.type != arrow_fs.FileType.File:
                continue
            if hidden or not any(map(is_hidden, below.split("/"))):
                found.append(_info(f"{folder}/{below}", each))
        return sorted(found, key=lambda each: each.location)

    def _matching(self, pattern: str, *, hidden: bool) -> list[FileInfo]:
        folder = _fixed_part(pattern)
        wanted = _pattern(pattern)
        return [
            found
            for found in self._below(folder, recursive=True, hidden=hidden)
            if wanted.fullmatch(found.location)
        ]


def _parts(location: str) -> tuple[str, str, str]:
    """Scheme, bucket or server, and the path as the file system of the scheme wants it.

    >>> _parts("/data/in"), _parts("s3://bucket/in"), _parts("hdfs://name:9000/in")
    (('file', '', '/data/in'), ('s3', 'bucket', 'bucket/in'), ('hdfs', 'name:9000', '/in'))
    """
    if "://" not in location:
        return "file", "", location
    parts = urlsplit(location)
    rest = location[len(parts.scheme) + 3 :]
    if parts.scheme in _BUCKETS:
        return parts.scheme, parts.netloc, rest
    return parts.scheme, parts.netloc, rest[len(parts.netloc) :] or "/"


@lru_cache(maxsize=64)
def _connected(
    process: int, scheme: str, server: str, config: tuple[tuple[str, str], ...]
) -> arrow_fs.FileSystem:
    """One connection a process: those of a parent are of no use after a fork."""
    del process
    if scheme == "file":
        return arrow_fs.LocalFileSystem()
    if scheme in S3_SCHEMES:
        # Loading Arrow's S3 takes a while, and threads: only who uses it pays.
        from riverrun.storage.s3 import s3_file_system  # noqa: PLC0415

        return s3_file_system(server, dict(config))
    return arrow_fs.FileSystem.from_uri(f"{scheme}://{server}/")[0]


def _info(location: str, found: Any) -> FileInfo:
    return FileInfo(location, found.size, (found.mtime_ns or 0) // 1_000_000)


def _fixed_part(pattern: str) -> str:
    """The folder above the first part with a wild card.

    >>> _fixed_part("/data/*/part-?.csv"), _fixed_part("s3://bucket/in/**/x")
    ('/data', 's3://bucket/in')
    """
    fixed = []
    for part in pattern.split("/"):
        if _GLOB.search(part):
            break
        fixed.append(part)
    return "/".join(fixed) or "/"


def _pattern(pattern: str) -> re.Pattern[str]:
    """The locations that match, and those below a folder that matches.

    >>> bool(_pattern("/d/*.csv").fullmatch("/d/a.csv")), bool(_pattern("/d/*.csv").fullmatch("/d/e/a.csv"))
    (True, False)
    >>> bool(_pattern("/d/**/*.csv").fullmatch("/d/a.csv")), bool(_pattern("/d/2*").fullmatch("/d/24/a"))
    (True, True)
    """
    parts: list[str] = []
    position = 0
    while position < len(pattern):
        rest = pattern[position:]
        if rest.startswith("**/"):
            parts.append("(?:[^/]+/)*")
            position += 3
            continue
        sets = re.match(r"\[(!?)([^\]/]+)\]", rest)
        if rest.startswith("**"):
            parts.append(".*")
            position += 2
        elif sets:
            members = sets[2].replace("\\", "\\\\").replace("^", "\\^")
            parts.append(f"[{'^' if sets[1] else ''}{members}]")
            position += sets.end()
        else:
            one = {"*": "[^/]*", "?": "[^/]"}.get(rest[0])
            parts.append(re.escape(rest[0]) if one is None else one)
            position += 1
    return re.compile("".join(parts) + "(?:/.*)?")
