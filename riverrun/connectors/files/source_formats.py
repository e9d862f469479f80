"""What reads the records of a file, and what it may use for that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from riverrun.api.bad_records import BadRecords
from riverrun.api.runtime_context import RuntimeContext
from riverrun.connectors.base.split_reader import OpenSplit
from riverrun.connectors.files.paths import FileStore
from riverrun.connectors.files.source_splits import FileSplit
from riverrun.core.errors import RiverrunError
from riverrun.serde.type_info import TypeInformation

__all__ = ["BulkFormat", "FileFormat", "FileUnreadable", "Opening"]


class FileUnreadable(RiverrunError):  # noqa: N818  (named after what it is)
    """A file is not of the format or the type that the source was told."""

    def __init__(self, location: str, reason: str) -> None:
        super().__init__(location, reason)
        self.location, self.reason = location, reason

    def __str__(self) -> str:
        return f"file {self.location!r}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Opening:
    """What a format opens a split with."""

    store: FileStore
    bad_records: BadRecords
    runtime: RuntimeContext


class FileFormat(ABC):
    """Reads the records of files; picklable, holds no file."""

    gives_columns: ClassVar[bool] = False
    """Whether runs are columns, where others are lists."""

    def is_splittable(self, location: str) -> bool:
        """Whether ranges of the file can be read by different readers."""
        del location
        return False

    @abstractmethod
    def open_split(self, split: FileSplit, opening: Opening) -> OpenSplit[Any]:
        """Begin to read ``split`` at its position."""

    def check(self, location: str) -> None:  # noqa: B027  (an optional hook)
        """Raise if files such as this one cannot be read here, because a package is missing."""

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the records, where it is known."""
        return None


class BulkFormat(FileFormat):
    """A format whose files are read in large parts: Parquet, ORC, Avro."""


def settings_of(config: Mapping[str, Any] | None) -> dict[str, str]:
    """Settings of a store as text."""
    return {key: str(value) for key, value in (config or {}).items()}
