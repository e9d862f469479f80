"""Compression of lines: frames that end at checkpoints, so that every prefix up to one is a whole file."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from typing import Any, Final

from riverrun.connectors.base.extras import require
from riverrun.core.errors import ConfigError

__all__ = ["SUFFIXES", "Compressor", "compressor_for", "known_compression"]

SUFFIXES: Final = {"gzip": ".gz", "zstd": ".zst"}
_NAMES: Final = {"gz": "gzip", "zst": "zstd", "zstandard": "zstd"}
_GZIP: Final = 16 + zlib.MAX_WBITS


class Compressor(ABC):
    """Compresses what it is given into frames; frames one after the other are what one of them all is."""

    @abstractmethod
    def compress(self, data: bytes) -> bytes:
        """What can be written already."""

    @abstractmethod
    def end_frame(self) -> bytes:
        """The rest of the frame; empty when none was begun."""


def known_compression(name: str | None) -> str | None:
    """The one name of a compression; None: none.

    Raises:
        ConfigError: it is not known.
        MissingExtra: its package is not installed.
    """
    if name is None or name == "none":
        return None
    known = _NAMES.get(name, name)
    if known not in SUFFIXES:
        raise ConfigError(
            f"file sink: the compression is {name!r}; expected one of {sorted(SUFFIXES)}"
        )
    if known == "zstd":
        require("zstandard", extra="zstd", user="FileSink with zstd")
    return known


def compressor_for(name: str) -> Compressor:
    """A compressor of that name."""
    return _Gzip() if name == "gzip" else _Zstd()


class _Gzip(Compressor):
    def __init__(self) -> None:
        self._frame: Any = None

    def compress(self, data: bytes) -> bytes:
        if self._frame is None:
            self._frame = zlib.compressobj(wbits=_GZIP)
        written: bytes = self._frame.compress(data)
        return written

    def end_frame(self) -> bytes:
        frame, self._frame = self._frame, None
        return b"" if frame is None else frame.flush()


class _Zstd(Compressor):
    def __init__(self) -> None:
        zstandard = require("zstandard", extra="zstd", user="FileSink with zstd")
        self._compressor: Any = zstandard.ZstdCompressor()
        self._frame: Any = None

    def compress(self, data: bytes) -> bytes:
        if self._frame is None:
            self._frame = self._compressor.compressobj()
        written: bytes = self._frame.compress(data)
        return written

    def end_frame(self) -> bytes:
        frame, self._frame = self._frame, None
        return b"" if frame is None else frame.flush()
