"""What may be asked of a task's process while it runs, and what it answers: closed unions.

The answers are bounded: a log comes in pieces, a profile is as large as there are different stacks.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from riverrun.core.log_folder import LogFile, LogPiece
from riverrun.core.thread_dump import ThreadStack

PIECE_BYTES: Final = 1 << 20
"""How much of a log file is sent at once."""


class DumpThreads(msgspec.Struct, frozen=True, tag=True):
    """What are your threads doing?"""


class Sample(msgspec.Struct, frozen=True, tag=True):
    """Where do you spend your time? Look at your threads so often, and tell."""

    samples: int
    delay_ms: int
    depth: int


class ListLogs(msgspec.Struct, frozen=True, tag=True):
    """Which log files are on your machine?"""


class ReadLog(msgspec.Struct, frozen=True, tag=True):
    """What is in this log file? ``start`` counts from the end if it is negative."""

    name: str
    start: int
    limit: int = PIECE_BYTES


class Threads(msgspec.Struct, frozen=True, tag=True):
    """The threads of the process."""

    threads: list[ThreadStack]


class StackCounts(msgspec.Struct, frozen=True, tag=True):
    """How often each stack was seen: frames from the outermost on, one a line."""

    on_cpu: dict[str, int]
    off_cpu: dict[str, int]


class LogList(msgspec.Struct, frozen=True, tag=True):
    """The log files."""

    files: list[LogFile]


Question: TypeAlias = DumpThreads | Sample | ListLogs | ReadLog
Answer: TypeAlias = Threads | StackCounts | LogList | LogPiece


class Inquiry(msgspec.Struct, frozen=True, tag=True):
    """A question with a number, by which its answer is known."""

    number: int
    question: Question


class InquiryAnswer(msgspec.Struct, frozen=True, tag=True):
    """The answer to the question of this number, or why there is none."""

    number: int
    answer: Answer | None = None
    error: str | None = None
