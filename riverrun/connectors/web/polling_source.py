"""A source that asks a server for records again and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from riverrun.api.bad_records import BadRecords, DeadLetter
from riverrun.api.source import (
    Boundedness,
    Polled,
    Source,
    SourceReader,
    SourceReaderContext,
    SourceStatus,
)
from riverrun.connectors.base.backoff import Backoff
from riverrun.connectors.base.extras import require
from riverrun.connectors.base.feed import Feed
from riverrun.connectors.web.endpoint import Endpoint, HeaderValue
from riverrun.connectors.web.http_calls import HttpCalls, HttpConnection
from riverrun.connectors.web.pages import (
    HttpFormat,
    HttpPage,
    HttpSplit,
    NextCursor,
    PageReader,
)
from riverrun.core.time import Duration, DurationLike, to_millis
from riverrun.serde.type_info import TypeInformation

__all__ = ["HttpPollingSource"]

_NOT_MODIFIED: Final = 304
_NO_CONTENT: Final = 204
_LOOK_MS: Final = 100.0
"""When to look again; what comes wakes the task before."""


class HttpPollingSource(Source[Any]):
    """The records of pages that a server gives, fetched one after the other; at parallelism 1.

    Without ``next_cursor`` the address is one page: it is fetched every ``interval``, and all its records
    are given when it has changed (as its ETag says; without one each time).

    With ``next_cursor`` pages are a chain: when it names a next page that is fetched at once, else the
    last page is fetched again after ``interval``, and what was added to it is given. How far pages are
    read is part of each checkpoint, so a job goes on after the last record that a checkpoint covers, if
    the server gives the same records for the same cursor.

    Args:
        url: where the first page is.
        interval: how long to wait when there is nothing more.
        form: how records are written, or what takes a body apart.
        records_at: where in a JSON object the records are, such as ``"data.items"``.
        next_cursor: finds out where to go on from a page.
        cursor_param: the parameter of the request that says which page; not part of the first request.
        headers: sent with each request; a value may be a callable that is asked each time.
        token: sent as ``Authorization: Bearer``; the same.
        bounded: whether to end when there is nothing more.
        type_info: the type of the records; a JSON object may stand for a row.
        bad_records: what becomes of lines that are no records.
        timeout: how long an answer may take.
        max_retries: how often in a row to try again when the server fails; negative: for ever.
    """

    def __init__(  # noqa: PLR0913  (each of them names itself)
        self,
        url: str,
        interval: DurationLike = Duration.of_seconds(10),  # noqa: B008  (immutable)
        *,
        form: HttpFormat | Callable[[bytes], list[Any]] = HttpFormat.JSON,
        records_at: str | None = None,
        next_cursor: NextCursor | None = None,
        cursor_param: str = "cursor",
        headers: Mapping[str, HeaderValue] | None = None,
        token: HeaderValue | None = None,
        bounded: bool = False,
        type_info: TypeInformation | None = None,
        bad_records: BadRecords = BadRecords.FAIL,
        timeout: DurationLike = Duration.of_seconds(30),  # noqa: B008  (immutable)
        max_retries: int = 5,
    ) -> None:
        require("httpx2", extra="http", user="HttpPollingSource")
        endpoint = Endpoint(url, ("http", "https"), "http source", dict(headers or {}), token)
        if not isinstance(form, HttpFormat) and not callable(form):
            raise TypeError(
                f"http source: the form is {form!r}; expected a HttpFormat or a callable of bytes"
            )
        if records_at is not None and form is not HttpFormat.JSON:
            raise ValueError(
                f"http source: looks for records at {records_at!r} in {form!r}; expected that with "
                f"HttpFormat.JSON only"
            )
        self.interval_s = to_millis(interval) / 1000
        self.calls = HttpCalls(endpoint, to_millis(timeout) / 1000, max_retries, Backoff())
        self.form, self.records_at = form, records_at
        self.next_cursor, self.cursor_param = next_cursor, cursor_param
        self.bounded = bounded
        self.type_info = type_info
        self.bad_records = bad_records

    def create_splits(self, parallelism: int) -> list[Any]:
        del parallelism
        return [HttpSplit()]

    def create_reader(self, splits: list[Any], context: SourceReaderContext) -> SourceReader[Any]:
        return _PollingReader(self, splits, context)

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def get_produced_type(self) -> TypeInformation | None:
        return self.type_info

    def get_forced_parallelism(self) -> int | None:
        return 1


@dataclass(frozen=True, slots=True)
class _Fetched:
    """Records to be given, and what the position is before and after them."""

    records: list[Any]
    at: HttpSplit
    after: HttpSplit
    letters: list[DeadLetter]


class _PollingReader(SourceReader[Any]):
    def __init__(
        self, source: HttpPollingSource, splits: list[HttpSplit], context: SourceReaderContext
    ) -> None:
        self._context = context
        self._split = splits[0] if splits else None
        self._policy = source.bad_records
        self._coerce = None if source.type_info is None else source.type_info.coerce
        self._fetcher = _Fetcher(source, self._split or HttpSplit())
        # A page is a run: one ahead is enough to be never short of records.
        self._feed: Feed[_Fetched] = Feed(
            self._fetcher.fetch, name="riverrun-http", wake=context.wake, capacity=1
        )
        self._page: _Fetched | None = None
        self._next = 0

    def open(self) -> None:
        if self._split is not None:
            self._feed.start()

    def poll(self, limit: int) -> Polled:
        if self._split is None:
            return Polled(status=SourceStatus.END_OF_INPUT)
        if self._page is None:
            self._page, self._next = self._feed.take(), 0
        page = self._page
        if page is None:
            ended = self._feed.has_ended
            status = SourceStatus.END_OF_INPUT if ended else SourceStatus.NOTHING_AVAILABLE
            return Polled(status=status, wait_ms=_LOOK_MS)
        values = page.records[self._next : self._next + limit]
        letters = self._letters(page) if not self._next else []
        self._next += len(values)
        if self._next == len(page.records):
            self._page, self._split = None, page.after
        else:
            bad = page.at.bad + len(page.letters)
            self._split = replace(page.at, given=page.at.given + self._next, bad=bad)
        if self._coerce is not None:
            values = [self._coerce(value) for value in values]
        return Polled(values, dead_letters=letters)

    def snapshot_splits(self) -> list[Any]:
        return [] if self._split is None else [self._split]

    def close(self) -> None:
        if self._split is not None:
            # A request that is under way ends by its timeout, and its thread closes the connection.
            self._feed.stop()

    def _letters(self, page: _Fetched) -> list[DeadLetter]:
        if page.letters:
            metrics = self._context.runtime_context().get_metrics_group()
            metrics.counter("numBadRecords").inc(len(page.letters))
        return page.letters if self._policy is BadRecords.DEAD_LETTER else []


class _Fetcher:
    """Fetches page after page, in the thread of a feed."""

    def __init__(self, source: HttpPollingSource, split: HttpSplit) -> None:
        self._source = source
        self._split = split
        self._reader = PageReader(source.form, source.records_at, source.bad_records)

    def fetch(self, feed: Feed[_Fetched]) -> None:
        """Put what pages hold into ``feed`` until nobody wants it or there is no more."""
        connection = self._source.calls.connect()
        try:
            while feed.is_wanted and not (self._source.bounded and self._split.is_whole):
                before = self._split.cursor
                fetched = self._page(connection, feed)
                if fetched is not None:
                    self._split = fetched.after
                    if not feed.put(fetched):
                        return
                if self._split.cursor == before and not self._source.bounded:
                    feed.pause(self._source.interval_s)
        finally:
            connection.close()

    def _page(self, connection: HttpConnection, feed: Feed[_Fetched]) -> _Fetched | None:
        """The next records; None: nothing is new."""
        source, split = self._source, self._split
        params = {} if split.cursor is None else {source.cursor_param: str(split.cursor)}
        headers = {"If-None-Match": split.etag} if split.etag and split.is_whole else {}
        answer = connection.call("GET", params=params, headers=headers, pause=feed.pause)
        if answer is None or answer.status_code in (_NOT_MODIFIED, _NO_CONTENT):
            # There is nothing more now: the end, if there is one.
            self._split = replace(split, is_whole=split.is_whole or source.bounded)
            return None
        origin = f"http source: {source.calls.endpoint} page {split.cursor!r}"
        records, body, letters = self._reader.read(answer.content, origin)
        etag = answer.headers.get("ETag")
        follows = None
        if source.next_cursor is not None:
            follows = source.next_cursor(
                HttpPage(split.cursor, records, body, dict(answer.headers))
            )
        at = HttpSplit(split.cursor, 0, 0, etag)
        if self._goes_on(etag):
            at = replace(at, given=min(split.given, len(records)), bad=min(split.bad, len(letters)))
        if follows is None or follows == split.cursor:
            after = HttpSplit(split.cursor, len(records), len(letters), etag, is_whole=True)
        else:
            after = HttpSplit(follows)
        return _Fetched(records[at.given :], at, after, letters[at.bad :])

    def _goes_on(self, etag: str | None) -> bool:
        """Whether a page is the one that was read before, with more or the rest of it."""
        split = self._split
        if self._source.next_cursor is not None:
            return True
        return not split.is_whole and etag is not None and etag == split.etag
