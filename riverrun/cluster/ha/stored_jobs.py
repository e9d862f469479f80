"""What is kept of a job so that another JobManager can go on with it."""

from __future__ import annotations

from typing import Final

import msgspec

from riverrun.core.lifecycle import JobStatus
from riverrun.storage.blobs import FileRef

FORMAT: Final = 1


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the job's workers need: a package, a virtual environment, a module."""

    name: str
    sha256: str
    location: str = ""
    """Where every JobManager finds it; filled in when it is kept with its job."""


class StoredJob(msgspec.Struct, frozen=True, kw_only=True):
    """A submission as it came, whole: nothing else is needed to run the job."""

    job_id: str
    name: str
    graph: bytes
    """As ``encode_graph`` wrote it; the user's objects stay sealed."""
    config: dict[str, str] = {}
    """The job's whole configuration, secrets included."""
    restore_from: str | None = None
    allow_non_restored: bool = False
    artifacts: tuple[Artifact, ...] = ()
    details: bytes = b""
    """What else whoever runs the job wants back, in its own words."""
    submitted: int = 0
    """Milliseconds since the epoch."""
    format: int = FORMAT


class JobEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Where a job stands, in a few bytes that can be read by people."""

    job_id: str
    name: str
    status: JobStatus
    submitted: int
    changed: int
    submission: FileRef | None = None
    """The file with the ``StoredJob``; none once the job has ended."""
    files: tuple[str, ...] = ()
    """Its artifacts; none once the job has ended."""
    result: bytes = b""
    """What is kept of a job that has ended, in the words of whoever ended it."""
    format: int = FORMAT


class DamagedJob(msgspec.Struct, frozen=True, kw_only=True):
    """Something that should be a job and cannot be used."""

    job_id: str
    name: str
    """Empty when not even that can be read."""
    reason: str


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What a new leader finds."""

    jobs: tuple[StoredJob, ...] = ()
    """To be run, oldest first; those that ran go on from their latest checkpoint."""
    entries: dict[str, JobEntry] = {}
    """Job id -> where it stood, for ``jobs``."""
    ended: tuple[JobEntry, ...] = ()
    """Jobs that ended and were not removed."""
    damaged: tuple[DamagedJob, ...] = ()
