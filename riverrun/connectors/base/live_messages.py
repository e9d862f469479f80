"""Readers of messages that somebody sends once: what is missed is gone."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Final

from riverrun.api.bad_records import BadRecords
from riverrun.api.serialization import DeserializationSchema
from riverrun.api.source import Polled, SourceReader, SourceReaderContext, SourceStatus
from riverrun.connectors.base.feed import Feed
from riverrun.connectors.base.message_decoder import MessageDecoder

_LOOK_MS: Final = 100.0
"""When to look again; what comes wakes the task before."""


@dataclass(frozen=True, slots=True)
class LiveSplit:
    """Whatever comes from now on: there is no position to go back to."""

    taken: int = 0
    """How many messages were read so far, over all attempts; for messages of errors."""


class LiveReader(SourceReader[Any]):
    """Gives records of messages that a thread of its own receives.

    A subclass says how they are received (``receive``), how that is interrupted, and who it is.
    """

    def __init__(
        self,
        splits: list[LiveSplit],
        context: SourceReaderContext,
        schema: DeserializationSchema,
        bad_records: BadRecords,
    ) -> None:
        self._context = context
        self._has_split = bool(splits)
        self._taken = splits[0].taken if splits else 0
        self._decoder = MessageDecoder(schema, bad_records)
        self._feed: Feed[list[bytes]] = Feed(self.receive, name="riverrun-live", wake=context.wake)
        self._run: list[bytes] = []
        self._next = 0

    @abstractmethod
    def receive(self, feed: Feed[list[bytes]]) -> None:
        """Put runs of messages into ``feed`` until nobody wants them or there are no more."""

    @abstractmethod
    def interrupt(self) -> None:
        """Let ``receive`` come back although nothing is sent; called from the task's thread."""

    @abstractmethod
    def origin(self, number: int) -> str:
        """Where message ``number`` (from 1) comes from, for messages of errors."""

    def open(self) -> None:
        self._decoder.open(self._context.runtime_context())
        if self._has_split:
            self._feed.start()

    def poll(self, limit: int) -> Polled:
        if not self._has_split:
            return Polled(status=SourceStatus.END_OF_INPUT)
        if self._next >= len(self._run):
            self._run, self._next = self._feed.take() or [], 0
            if not self._run:
                ended = self._feed.has_ended
                status = SourceStatus.END_OF_INPUT if ended else SourceStatus.NOTHING_AVAILABLE
                return Polled(status=status, wait_ms=_LOOK_MS)
        messages = self._run[self._next : self._next + limit]
        first = self._taken + 1
        values, letters = self._decoder.decode(messages, lambda place: self.origin(first + place))
        self._next += len(messages)
        self._taken += len(messages)
        return Polled(values, dead_letters=letters)

    def snapshot_splits(self) -> list[Any]:
        return [LiveSplit(self._taken)] if self._has_split else []

    def close(self) -> None:
        if self._has_split:
            self._feed.stop(self.interrupt)
