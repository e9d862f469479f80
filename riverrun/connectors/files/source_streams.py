"""The bytes of a file from a position on: as they are, decompressed by the file's extension, or transcoded.

In a file that is decompressed or transcoded, positions count the bytes that come out, so to begin in the
middle means to read what is before it.
"""

from __future__ import annotations

import bz2
import codecs
import lzma
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from riverrun.connectors.base.extras import require
from riverrun.connectors.files.paths import FileStore
from riverrun.storage.storage import StorageError

_CHUNK: Final = 1 << 20
_REMOTE_CHUNK: Final = 8 << 20
"""Every read of an object store is a request."""
_GZIP: Final = 16 + zlib.MAX_WBITS


class ByteStream(ABC):
    """Bytes of a file, forwards."""

    @abstractmethod
    def read(self) -> bytes:
        """The next bytes; empty at the end. Raises StorageError that names the file."""

    @abstractmethod
    def close(self) -> None:
        """Release the file."""


def chunk_size(location: str) -> int:
    """How many bytes of a file to ask for at once."""
    return _REMOTE_CHUNK if "://" in location else _CHUNK


def compression_of(location: str) -> str | None:
    """How the file is compressed, by its extension.

    >>> compression_of("/in/a.csv.gz"), compression_of("/in/a.csv")
    ('.gz', None)
    """
    name = location.rpartition("/")[2].lower()
    dot = name.rfind(".")
    extension = name[dot:] if dot >= 0 else ""
    return extension if extension in _DECOMPRESSORS else None


def check_compression(location: str) -> None:
    """Raise MissingExtra if the file is compressed in a way that a package is missing for."""
    extension = compression_of(location)
    if extension is not None:
        _DECOMPRESSORS[extension]()


def reads_in_place(location: str, charset: str) -> bool:
    """Whether positions are those of the file itself, so that it can be read from the middle.

    >>> reads_in_place("/in/a.csv", "UTF-8"), reads_in_place("/in/a.csv", "UTF-16")
    (True, False)
    """
    return compression_of(location) is None and "\n".encode(charset) == b"\n"


def open_stream(
    store: FileStore,
    location: str,
    position: int,
    charset: str = "UTF-8",
    end: int | None = None,
) -> ByteStream:
    """The bytes of ``location`` from ``position`` on, in a charset in which a line ends with a byte 10.

    They go on after ``end``, where that is given, but no more than those before it are wanted as a rule.
    """
    plain = _Plain(store, location)
    in_place = reads_in_place(location, charset)
    if in_place:
        plain.seek(position)
    wanted = end - position if in_place and end is not None else None
    found: ByteStream = _Ahead(plain, wanted) if "://" in location else plain
    extension = compression_of(location)
    if extension is not None:
        found = _Decompressed(found, location, _DECOMPRESSORS[extension])
    if "\n".encode(charset) != b"\n":
        found = _Transcoded(found, location, charset)
    return found if in_place else _From(found, position)


class _Plain(ByteStream):
    def __init__(self, store: FileStore, location: str) -> None:
        self._store = store
        self._location = location
        self._file: Any = store.open(location)
        self._chunk = chunk_size(location)

    def seek(self, position: int) -> None:
        with self._store.reported("reading", self._location):
            self._file.seek(min(position, self._file.size()))

    def read(self) -> bytes:
        with self._store.reported("reading", self._location):
            found: bytes = self._file.read(self._chunk)
        return found

    def close(self) -> None:
        self._file.close()


class _Ahead(ByteStream):
    """The next bytes are on their way while those before them are worked on."""

    def __init__(self, inner: ByteStream, wanted: int | None = None) -> None:
        self._inner = inner
        self._wanted = wanted
        self._read = 0
        self._thread: ThreadPoolExecutor | None = None
        self._next: Future[bytes] | None = None

    def read(self) -> bytes:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "riverrun-read-ahead")
        asked = self._next or self._thread.submit(self._inner.read)
        found = asked.result()
        self._read += len(found)
        more = found and (self._wanted is None or self._read < self._wanted)
        self._next = self._thread.submit(self._inner.read) if more else None
        return found

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)  # a file must not be closed while it is read
        self._inner.close()


class _Decompressed(ByteStream):
    """Frames one after the other, each by a decompressor of its own."""

    def __init__(self, inner: ByteStream, location: str, make: Callable[[], Any]) -> None:
        self._inner = inner
        self._location = location
        self._make = make
        self._frame: Any = None
        self._waiting = b""

    def read(self) -> bytes:
        while True:
            if not self._waiting and not self._more():
                return b""
            if self._frame is None:
                self._waiting = self._waiting.lstrip(b"\0")  # some writers fill up the last block
                if not self._waiting:
                    continue
                self._frame = self._make()
            found = self._decompress()
            if found:
                return found

    def close(self) -> None:
        self._inner.close()

    def _more(self) -> bool:
        self._waiting = self._inner.read()
        if not self._waiting and self._frame is not None:
            raise StorageError(
                f"reading {self._location!r}: the compressed file is cut off in the middle; expected its "
                f"end: was it written completely?"
            )
        return bool(self._waiting)

    def _decompress(self) -> bytes:
        given, self._waiting = self._waiting, b""
        try:
            found: bytes = self._frame.decompress(given)
        except Exception as error:
            # Each library has errors of its own for bytes that it did not write.
            raise StorageError(
                f"reading {self._location!r}: the file is not what its extension says, or is damaged: "
                f"{error}"
            ) from error
        if self._frame.eof:
            self._waiting = self._frame.unused_data
            self._frame = None
        return found


class _Transcoded(ByteStream):
    def __init__(self, inner: ByteStream, location: str, charset: str) -> None:
        self._inner = inner
        self._location = location
        self._charset = charset
        self._decoder: codecs.IncrementalDecoder | None = codecs.getincrementaldecoder(charset)()

    def read(self) -> bytes:
        while self._decoder is not None:
            given = self._inner.read()
            try:
                found = self._decoder.decode(given, final=not given)
            except UnicodeError as error:
                raise StorageError(
                    f"reading {self._location!r}: the file is not in {self._charset}: {error}"
                ) from error
            if not given:
                self._decoder = None
            if found:
                return found.encode()
        return b""

    def close(self) -> None:
        self._inner.close()


class _From(ByteStream):
    """Another stream without its first bytes."""

    def __init__(self, inner: ByteStream, position: int) -> None:
        self._inner = inner
        self._before = position

    def read(self) -> bytes:
        while True:
            found = self._inner.read()
            if len(found) > self._before:
                found, self._before = found[self._before :], 0
                return found
            if not found:
                return b""
            self._before -= len(found)

    def close(self) -> None:
        self._inner.close()


def _zstd() -> Any:
    package = require("zstandard", extra="zstd", user="a file with the extension .zst")
    return package.ZstdDecompressor().decompressobj()


_DECOMPRESSORS: Final[dict[str, Callable[[], Any]]] = {
    ".gz": lambda: zlib.decompressobj(_GZIP),
    ".gzip": lambda: zlib.decompressobj(_GZIP),
    ".deflate": zlib.decompressobj,
    ".bz2": bz2.BZ2Decompressor,
    ".xz": lzma.LZMADecompressor,
    ".zst": _zstd,
    ".zstd": _zstd,
}
