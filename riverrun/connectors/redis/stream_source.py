"""A source of the entries of Redis streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from riverrun.api.bad_records import BadRecords
from riverrun.api.serialization import DeserializationSchema
from riverrun.api.source import (
    Boundedness,
    Polled,
    Source,
    SourceReader,
    SourceReaderContext,
    SourceStatus,
)
from riverrun.connectors.base.feed import Feed
from riverrun.connectors.base.message_decoder import MessageDecoder
from riverrun.connectors.redis.connection import RedisClient, RedisServer
from riverrun.core.errors import ExternalError
from riverrun.serde.type_info import TypeInformation

__all__ = ["RedisStreamEntry", "RedisStreamSource", "RedisStreamSplit"]

EARLIEST: Final = "0-0"
LATEST: Final = "$"

_BLOCK_MS: Final = 500
_AT_ONCE: Final = 1000
_LOOK_MS: Final = 100.0
"""When to look again; what comes wakes the task before."""


@dataclass(frozen=True, slots=True)
class RedisStreamEntry:
    """An entry as it is in the stream."""

    stream: str
    id: str
    fields: dict[bytes, bytes]

    def text(self) -> dict[str, str]:
        """Its fields as text."""
        return {name.decode(): value.decode() for name, value in self.fields.items()}


@dataclass(frozen=True, slots=True)
class RedisStreamSplit:
    """A stream and how far it is read."""

    stream: str
    after: str
    """The id of the last entry that was read; ``$``: what is there when reading begins is left out."""
    until: str | None = None
    """The id of the last entry to be read, once it is known; None: there is no end, or it is not known."""


class RedisStreamSource(Source[Any]):
    """The entries of streams, one split each; after a failure it goes on after the last entry read.

    The event time of a record is the time in its entry's id. Entries that are trimmed from a stream
    before they are read are lost: keep streams longer than a job may be down.

    Args:
        url: where the server is, such as ``redis://host:6379/0``.
        streams: the keys of the streams; one that does not exist is waited for.
        deserializer: makes a record of an entry (None: no record); without it the fields as text.
        starting_id: after which entry to begin; ``"0-0"``: with the first, ``"$"``: with the next to come.
        bounded: whether to end with the entries that are there when reading begins.
        type_info: the type of the records.
        bad_records: what becomes of entries that ``deserializer`` refuses.
        settings: more arguments of the client of the package ``redis``.
        max_retries: how often in a row to try again when the server is not there; negative: for ever.
    """

    def __init__(  # noqa: PLR0913  (each of them names itself)
        self,
        url: str,
        streams: str | Sequence[str],
        deserializer: Callable[[RedisStreamEntry], Any] | None = None,
        *,
        starting_id: str = EARLIEST,
        bounded: bool = False,
        type_info: TypeInformation | None = None,
        bad_records: BadRecords = BadRecords.FAIL,
        settings: Mapping[str, Any] | None = None,
        max_retries: int = 5,
    ) -> None:
        self.server = RedisServer(url, "redis stream source", dict(settings or {}), max_retries)
        self.streams = [streams] if isinstance(streams, str) else list(streams)
        if not self.streams or not all(isinstance(each, str) and each for each in self.streams):
            raise ValueError(
                f"redis stream source: the streams are {streams!r}; expected names, one at least"
            )
        if len(set(self.streams)) < len(self.streams):
            raise ValueError(
                f"redis stream source: the streams are {streams!r}; expected each of them once"
            )
        if starting_id != LATEST:
            _parsed(starting_id)
        self.deserializer = deserializer
        self.starting_id = starting_id
        self.bounded = bounded
        self.type_info = type_info
        self.bad_records = bad_records

    def create_splits(self, parallelism: int) -> list[Any]:
        del parallelism
        return [RedisStreamSplit(stream, self.starting_id) for stream in self.streams]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return _StreamReader(self, splits, context)

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def get_produced_type(self) -> TypeInformation | None:
        return self.type_info


@dataclass(slots=True)
class _Run:
    """Entries of one stream, in order."""

    stream: str
    entries: list[RedisStreamEntry]
    is_last: bool


class _StreamReader(SourceReader[Any]):
    def __init__(
        self,
        source: RedisStreamSource,
        splits: list[RedisStreamSplit],
        context: SourceReaderContext,
    ) -> None:
        self._source = source
        self._context = context
        self._splits = {split.stream: split for split in splits}
        self._decoder = MessageDecoder(_Entries(source.deserializer), source.bad_records)
        self._client: RedisClient | None = None
        self._feed: Feed[_Run] | None = None
        self._run: _Run | None = None

    def open(self) -> None:
        self._decoder.open(self._context.runtime_context())
        if not self._splits:
            return
        self._client = client = self._source.server.connect()
        for stream, split in self._splits.items():
            kind: Any = client.run(lambda redis, key=stream: redis.type(key))  # type: ignore[misc]
            self._check(stream, kind.decode())
            self._splits[stream] = self._settled(client, split)
        tail = _Tail(client, list(self._splits.values()))
        self._feed = Feed(
            tail.bring, name="riverrun-redis", wake=self._context.wake, capacity=4 * _AT_ONCE
        )
        self._feed.start()

    def poll(self, limit: int) -> Polled:
        if self._feed is None or not self._splits:
            return Polled(status=SourceStatus.END_OF_INPUT)
        run = self._run or self._feed.take()
        if run is None:
            return Polled(status=SourceStatus.NOTHING_AVAILABLE, wait_ms=_LOOK_MS)
        given, rest = run.entries[:limit], run.entries[limit:]
        self._run = _Run(run.stream, rest, run.is_last) if rest else None
        return self._polled(run.stream, given, is_last=run.is_last and not rest)

    def snapshot_splits(self) -> list[Any]:
        return list(self._splits.values())

    def split_ids(self) -> list[str]:
        return list(self._splits)

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            if self._feed is not None:
                self._feed.stop(client.close)
            client.close()

    def _polled(self, stream: str, entries: list[RedisStreamEntry], *, is_last: bool) -> Polled:
        values, letters = self._decoder.decode(
            entries,  # type: ignore[arg-type]  # the schema of this reader takes entries
            lambda place: f"redis stream {stream!r} entry {entries[place].id}",
        )
        if is_last:
            del self._splits[stream]
        else:
            self._splits[stream] = replace(self._splits[stream], after=entries[-1].id)
        return Polled(
            [value for _, value in values],
            [time for time, _ in values],
            split=stream,
            finished_splits=(stream,) if is_last else (),
            dead_letters=letters,
        )

    def _settled(self, client: RedisClient, split: RedisStreamSplit) -> RedisStreamSplit:
        """The split with real ids: where it begins, and where it ends if it does."""
        bounded = self._source.bounded
        if split.after != LATEST and (split.until is not None) == bounded:
            return split
        found: Any = client.run(lambda redis: redis.xrevrange(split.stream, count=1))
        last = found[0][0].decode() if found else EARLIEST
        after = last if split.after == LATEST else split.after
        return replace(split, after=after, until=last if bounded else None)

    def _check(self, stream: str, kind: str) -> None:
        if kind not in ("stream", "none"):
            raise ExternalError(
                f"redis stream source: the key {stream!r} at {self._source.server} holds a {kind}; "
                f"expected a stream, or nothing yet"
            )


class _Tail:
    """Reads streams from their positions on, in the thread of a feed."""

    def __init__(self, client: RedisClient, splits: Sequence[RedisStreamSplit]) -> None:
        self._client = client
        self._after: dict[Any, Any] = {split.stream: split.after for split in splits}
        self._until = {split.stream: split.until for split in splits}
        # What a bounded stream has is there at once.
        self._block_ms = None if all(self._until.values()) else _BLOCK_MS

    def bring(self, feed: Feed[_Run]) -> None:
        """Put runs into ``feed`` until nobody wants them or all streams have ended."""
        while self._after and feed.is_wanted:
            answer = self._client.run(self._read, feed.pause)
            if answer is None:
                return
            for run in self._runs(answer):
                if not feed.put(run, len(run.entries)):
                    return

    def _read(self, redis: Any) -> dict[str, list[RedisStreamEntry]]:
        return _entries(redis.xread(self._after, count=_AT_ONCE, block=self._block_ms))

    def _runs(self, found: Mapping[str, list[RedisStreamEntry]]) -> Iterator[_Run]:
        for stream in list(self._after):
            entries, is_last = found.get(stream, []), False
            until = self._until[stream]
            if until is not None:
                entries = [each for each in entries if _parsed(each.id) <= _parsed(until)]
                # The last one itself may be gone: then there is nothing up to it.
                is_last = not entries or entries[-1].id == until
            if entries:
                self._after[stream] = entries[-1].id
            if is_last:
                del self._after[stream]
            if entries or is_last:
                yield _Run(stream, entries, is_last)


class _Entries(DeserializationSchema):
    """Pairs of times and records of entries."""

    def __init__(self, deserializer: Callable[[RedisStreamEntry], Any] | None) -> None:
        self._make = deserializer or RedisStreamEntry.text

    def deserialize(self, message: Any) -> Any:
        value = self._make(message)
        return None if value is None else (_parsed(message.id)[0], value)


def _entries(answer: Any) -> dict[str, list[RedisStreamEntry]]:
    """What XREAD says, in either version of the protocol."""
    is_new = isinstance(answer, dict)
    found: dict[str, list[RedisStreamEntry]] = {}
    for key, runs in (answer.items() if is_new else answer) or ():
        stream = key.decode()
        pairs = [pair for run in runs for pair in run] if is_new else runs
        found[stream] = [RedisStreamEntry(stream, each.decode(), kept) for each, kept in pairs]
    return found


def _parsed(entry_id: str) -> tuple[int, int]:
    """The time and the number in an entry's id.

    >>> _parsed("1700000000000-3")
    (1700000000000, 3)
    """
    time, _, number = entry_id.partition("-")
    try:
        return int(time), int(number or 0)
    except ValueError:
        raise ValueError(
            f"redis stream source: the id is {entry_id!r}; expected one such as '1700000000000-0', "
            f"'0-0' for the first entry or '$' for the next to come"
        ) from None
