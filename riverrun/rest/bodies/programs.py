"""Bodies about uploaded programs: Flink calls them jars."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec


class ProgramEntry(msgspec.Struct, frozen=True):
    """What can be run in a program."""

    name: str
    description: str = ""


class ProgramFile(msgspec.Struct, frozen=True, kw_only=True):
    """An uploaded program."""

    id: str
    name: str
    uploaded: int
    entry: list[ProgramEntry]


class ProgramList(msgspec.Struct, frozen=True):
    """All uploaded programs."""

    address: str
    files: list[ProgramFile]


class ProgramUploaded(msgspec.Struct, frozen=True, kw_only=True):
    """Under which name the program is kept: the last part is its id."""

    filename: str
    status: Literal["success"] = "success"


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How to compile a program."""

    entry: str | None = msgspec.field(name="entryClass", default=None)
    arguments: list[str] = msgspec.field(name="programArgsList", default_factory=list)
    parallelism: Annotated[int, msgspec.Meta(ge=1)] | None = None
    job: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")] | None = msgspec.field(
        name="jobId", default=None
    )
    config: dict[str, str] = msgspec.field(name="flinkConfiguration", default_factory=dict)


class RunRequest(PlanRequest, frozen=True, kw_only=True):
    """How to run a program."""

    savepoint: str | None = msgspec.field(name="savepointPath", default=None)
    allow_non_restored: bool | None = msgspec.field(name="allowNonRestoredState", default=None)
    claim_mode: Literal["CLAIM", "NO_CLAIM", "LEGACY"] | None = msgspec.field(
        name="claimMode", default=None
    )


class ProgramStarted(msgspec.Struct, frozen=True):
    """The job that the program sent."""

    jobid: str
