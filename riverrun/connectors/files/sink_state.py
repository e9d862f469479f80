"""What the file sink keeps in checkpoints: committables, and the state of its writers.

These classes are stored. A field that is added needs a default; none is renamed or removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "BucketsSeen",
    "Discarded",
    "EndedWriter",
    "HeldPart",
    "OpenPart",
    "Pending",
    "PendingFile",
    "PendingUpload",
]


@dataclass(frozen=True, slots=True)
class PendingFile:
    """A closed file; it is committed by its rename from ``staged`` to ``target``."""

    staged: str
    target: str
    size: int


@dataclass(frozen=True, slots=True)
class PendingUpload:
    """A multipart upload with all its parts; it is committed by its completion."""

    target: str
    upload_id: str
    etags: tuple[str, ...]
    """Of the parts, in order."""
    size: int


Pending: TypeAlias = PendingFile | PendingUpload


@dataclass(frozen=True, slots=True)
class Discarded:
    """Files and uploads that nobody needs once the checkpoint is complete."""

    files: tuple[str, ...] = ()
    uploads: tuple[tuple[str, str], ...] = ()
    """Location and id of each."""

    def __bool__(self) -> bool:
        return bool(self.files or self.uploads)


@dataclass(frozen=True, slots=True)
class EndedWriter:
    """A writer has seen the end of its input; when all have, the output is complete."""

    subtask: int
    parallelism: int
    buckets: tuple[str, ...]
    """Those in which it, or a writer before it, wrote."""


@dataclass(frozen=True, slots=True)
class OpenPart:
    """A file that goes on after the checkpoint, of which the first ``length`` bytes belong to it."""

    bucket: str
    staged: str
    target: str
    length: int
    created_ms: int


@dataclass(frozen=True, slots=True)
class HeldPart:
    """A closed file that waits to be merged with others of its bucket."""

    bucket: str
    staged: str
    size: int
    waited: int = 0
    """For how many checkpoints."""


@dataclass(frozen=True, slots=True)
class BucketsSeen:
    """The buckets that were written to, for the markers at the end."""

    buckets: tuple[str, ...]
