"""What is the same for all tables of a lake: how they are made and how large their files are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

__all__ = ["LakeSettings"]

_MIB: Final = 1 << 20
_COMPRESSIONS: Final = ("zstd", "snappy", "gzip", "lz4", "brotli", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeSettings:
    """How a sink treats its table."""

    create: bool = True
    """Whether a table that is missing is created, with a column for each field of the records."""
    add_columns: bool = False
    """Whether columns that the records have and the table has not are added to the table."""
    target_file_size: int = 128 * _MIB
    """From which size in bytes on a data file is closed; each checkpoint closes all of them too."""
    compression: str = "zstd"
    """How Parquet files are compressed: ``zstd``, ``snappy``, ``gzip``, ``lz4``, ``brotli`` or ``none``."""
    table_properties: dict[str, str] = field(default_factory=dict)
    """Properties of a table that is created, such as ``delta.appendOnly``."""
    commit_attempts: int = 20
    """How often a commit is tried when others change the table at the same moment."""

    def __post_init__(self) -> None:
        if self.target_file_size < 1:
            raise ValueError(f"target_file_size: is {self.target_file_size!r}; expected 1 or more")
        if self.compression not in _COMPRESSIONS:
            raise ValueError(
                f"compression: is {self.compression!r}; expected one of {_COMPRESSIONS}"
            )
        if self.commit_attempts < 1:
            raise ValueError(f"commit_attempts: is {self.commit_attempts!r}; expected 1 or more")
