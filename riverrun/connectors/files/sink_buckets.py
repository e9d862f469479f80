"""A bucket in a writer: the part that is open, and the parts that were closed since the last checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from riverrun.connectors.files.output_formats import Part, PartFormat
from riverrun.connectors.files.output_parts import PartFile
from riverrun.connectors.files.rolling_policies import (
    PartFileInfo,
    RollingPolicy,
    asks_every_record,
    size_limit,
)
from riverrun.connectors.files.sink_state import OpenPart, Pending

__all__ = ["Bucket"]


class Bucket:
    """Writes the records of one bucket to one part after the other.

    Args:
        bucket_id: its path below the base path.
        part_format: how records are written.
        policy: when a part ends.
        open_file: makes the file of the next part.
    """

    def __init__(
        self,
        bucket_id: str,
        part_format: PartFormat,
        policy: RollingPolicy,
        open_file: Callable[[], PartFile],
    ) -> None:
        self._id = bucket_id
        self._format = part_format
        self._policy = policy
        self._limit = size_limit(policy)
        self._by_record = asks_every_record(policy)
        self._open_file = open_file
        self._part: Part | None = None
        self._info = PartFileInfo(bucket_id, 0, 0)
        self._saved: OpenPart | None = None
        """The open part as the last checkpoint has it."""
        self._closed: list[Pending] = []
        self._unknown: list[Pending] = []
        """Those of the closed ones of which no checkpoint has a beginning."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is open and nothing waits to be committed."""
        return self._part is None and not self._closed

    def resume(self, file: PartFile, created_ms: int, now: int) -> None:
        """Go on with a file that has records already; a part that is open ends."""
        self.roll()
        self._part = self._format.begin(file)
        self._info = PartFileInfo(self._id, created_ms, now, self._part.size())

    def write(self, values: Sequence[Any], now: int) -> None:
        """Write the records of a run, to as many parts as the policy wants."""
        self.check(now)
        pieces = self._format.pieces(values)
        if self._by_record:
            for place, value in enumerate(values):
                if self._part and self._policy.should_roll_on_event(self._info, value):
                    self.roll()
                self._add(self._opened(now), pieces[place : place + 1], now)
            return
        while len(pieces):
            if self._limit is not None and self._part and self._info.size > self._limit:
                self.roll()
            part = self._opened(now)
            fitting = part.fitting(pieces, self._limit)
            self._add(part, pieces[:fitting] if fitting < len(pieces) else pieces, now)
            pieces = pieces[fitting:]

    def check(self, now: int) -> None:
        """End the part if it has been open, or without records, for too long."""
        if self._part and self._policy.should_roll_on_processing_time(self._info, now):
            self.roll()

    def roll(self) -> None:
        """End the part that is open, if there is one."""
        if self._part is not None:
            pending = self._part.finish()
            self._closed.append(pending)
            if self._saved is None:
                self._unknown.append(pending)
            self._part = None
            self._saved = None

    def prepare(self, now: int, *, keeps_open: bool) -> list[Pending]:
        """What was closed; what stays open is on disk up to here."""
        self.check(now)
        if self._part and (not keeps_open or self._policy.should_roll_on_checkpoint(self._info)):
            self.roll()
        if self._part is not None:
            length = self._part.persist()
            file = self._part.file
            created = self._info.creation_time
            self._saved = OpenPart(self._id, file.location, file.target, length, created)
            self._info.size = self._part.size()
        closed, self._closed = self._closed, []
        self._unknown = []
        return closed

    def saved(self) -> OpenPart | None:
        """The open part as of the last ``prepare``."""
        return self._saved

    def release(self) -> list[Pending]:
        """Let go of the open part, whatever happened; what was closed and no checkpoint knows."""
        if self._part is not None:
            self._part.abandon()
            if self._saved is None:
                self._part.file.discard()
            else:
                self._part.file.abandon()
            self._part = None
        return self._unknown

    def _opened(self, now: int) -> Part:
        if self._part is None:
            self._part = self._format.begin(self._open_file())
            self._info = PartFileInfo(self._id, now, now)
        return self._part

    def _add(self, part: Part, pieces: Any, now: int) -> None:
        part.add(pieces)
        self._info.size = part.size()
        self._info.last_update_time = now
