"""A checkpoint that exists."""

from __future__ import annotations

from dataclasses import dataclass

from riverrun.checkpoint.metadata import CheckpointMetadata


@dataclass(frozen=True, slots=True)
class CompletedCheckpoint:
    """What `_metadata` holds, and where it is."""

    metadata: CheckpointMetadata
    location: str
    """Of the `_metadata` file."""
    size: int = 0
    """Of the `_metadata` file, in bytes."""

    @property
    def id(self) -> int:
        """The checkpoint's number."""
        return self.metadata.checkpoint
