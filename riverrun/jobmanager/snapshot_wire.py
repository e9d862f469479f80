"""What the JobManager and the process that reads snapshots say to each other, as lines of JSON."""

from __future__ import annotations

import msgspec


class Question(msgspec.Struct, frozen=True):
    """A method of ``SnapshotBrowser`` and what it is called with."""

    method: str
    arguments: list[str | int | None]


class Answered(msgspec.Struct, frozen=True):
    """What came of it."""

    status: int
    body: msgspec.Raw = msgspec.Raw(b"null")
    error: str = ""
