"""Bodies about jobs that come from other processes."""

from __future__ import annotations

import msgspec


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """The job was accepted."""

    jobid: str
    job_url: str = msgspec.field(name="jobUrl")


class ArtifactThere(msgspec.Struct, frozen=True):
    """The file is there."""

    sha256: str
