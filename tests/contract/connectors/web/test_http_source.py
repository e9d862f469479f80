"""Pages over HTTP, from a real server."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from riverrun.api.bad_records import BadRecords
from riverrun.api.source import Boundedness, SourceReader, SourceReaderContext, SourceStatus
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.web.http_calls import HttpRefused
from riverrun.connectors.web.pages import HttpFormat, HttpPage, HttpSplit
from riverrun.connectors.web.polling_source import HttpPollingSource
from riverrun.core.clock import SystemClock
from riverrun.core.errors import ExternalError
from riverrun.core.time import Duration
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.servers.web import Answer, Call, WebServer

SOON = Duration.of_millis(1)


_opened: list[Any] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Whatever a test opened is closed after it."""
    yield
    while _opened:
        _opened.pop().close()


def open_reader(source: HttpPollingSource, splits: list[Any] | None = None) -> SourceReader[Any]:
    source = pickle.loads(pickle.dumps(source))
    given = source.create_splits(1) if splits is None else splits
    reader = source.create_reader(given, SourceReaderContext(0, 1, SystemClock()))
    _opened.append(reader)
    reader.open()
    return reader


def read(reader: SourceReader[Any], count: int | None = None, limit: int = 2) -> list[Any]:
    """So many records, or all there are."""
    found: list[Any] = []
    while count is None or len(found) < count:
        polled = reader.poll(limit if count is None else min(limit, count - len(found)))
        assert len(polled.values) <= limit
        found += [*polled.values, *polled.dead_letters]
        if polled.status is SourceStatus.END_OF_INPUT:
            break
    return found


def pages(total: int, size: int) -> Any:
    """A server's answers: numbers below ``total``, ``size`` a page, with the next page in the body."""

    def handle(call: Call) -> Answer:
        start = int(call.query.get("cursor", "0"))
        items = list(range(start, min(start + size, total)))
        following = start + size if start + size < total else None
        body = json.dumps({"data": {"items": items}, "next": following})
        return Answer(body.encode())

    return handle


def following(page: HttpPage) -> Any:
    return page.body["next"]


def chain(server: WebServer, **more: Any) -> HttpPollingSource:
    return HttpPollingSource(
        f"{server.url}/items", SOON, records_at="data.items", next_cursor=following, **more
    )


def test_a_bounded_source_reads_page_after_page_to_the_last(server: WebServer) -> None:
    server.handle = pages(10, 3)
    source = chain(server, bounded=True)
    reader = open_reader(source)

    assert read(reader) == list(range(10))
    reader.close()
    assert [call.query.get("cursor") for call in server.calls] == [None, "3", "6", "9"]
    assert source.get_boundedness() is Boundedness.BOUNDED


def test_a_bounded_source_ends_where_there_is_no_content(server: WebServer) -> None:
    server.answers.append(Answer(status=204))

    assert read(open_reader(HttpPollingSource(server.url, bounded=True))) == []
    assert len(server.calls) == 1


@pytest.mark.parametrize("cut", [0, 1, 3, 5, 10])
def test_a_restart_goes_on_after_the_last_record(server: WebServer, cut: int) -> None:
    server.handle = pages(10, 3)
    source = chain(server, bounded=True)
    first = open_reader(source)
    found = read(first, cut)
    splits = pickle.loads(pickle.dumps(first.snapshot_splits()))
    first.close()

    second = open_reader(source, splits)
    found += read(second)
    second.close()

    assert found == list(range(10))


def test_what_is_added_to_the_last_page_and_after_it_is_read_later(server: WebServer) -> None:
    server.handle = pages(4, 3)
    reader = open_reader(chain(server))
    assert read(reader, 4) == [0, 1, 2, 3]

    server.handle = pages(8, 3)

    assert read(reader, 4) == [4, 5, 6, 7]
    assert reader.snapshot_splits() == [HttpSplit(6, 2, is_whole=True)]
    reader.close()


def test_a_page_is_read_again_when_it_has_changed(server: WebServer) -> None:
    versions = {"a": b"[1, 2]", "b": b"[3]"}
    current = "a"

    def handle(call: Call) -> Answer:
        if call.headers.get("if-none-match") == current:
            return Answer(status=304)
        return Answer(versions[current], headers={"ETag": current})

    server.handle = handle
    source = HttpPollingSource(server.url, SOON)
    reader = open_reader(source)
    assert read(reader, 2) == [1, 2]
    server.await_calls(3)
    current = "b"
    assert read(reader, 1) == [3]
    splits = reader.snapshot_splits()
    reader.close()

    # It knows across a restart what it has read.
    calls = len(server.calls)
    reader = open_reader(source, splits)
    server.await_calls(calls + 2)
    assert reader.poll(10).values == []
    assert all(call.headers.get("if-none-match") == "b" for call in server.calls[calls:])
    reader.close()


def test_a_page_that_was_read_in_part_goes_on_if_it_is_the_same(server: WebServer) -> None:
    server.handle = lambda call: Answer(b"[1, 2, 3]", headers={"ETag": "x"})
    source = HttpPollingSource(server.url, SOON, bounded=True)

    assert read(open_reader(source, [HttpSplit(given=2, etag="x")])) == [3]
    assert read(open_reader(source, [HttpSplit(given=2, etag="y")])) == [1, 2, 3]
    assert read(open_reader(source, [HttpSplit(given=3, etag="x", is_whole=True)])) == []
    assert read(open_reader(source, [])) == []


def test_failures_of_the_server_are_waited_for(server: WebServer) -> None:
    server.answers += [Answer(status=503), Answer(status=429, headers={"Retry-After": "0"})]
    server.handle = lambda call: Answer(b'{"a": 1}')
    reader = open_reader(HttpPollingSource(server.url, bounded=True))

    assert read(reader) == [{"a": 1}]
    assert len(server.calls) == 3


def test_a_server_that_stays_away_fails_the_source(server: WebServer) -> None:
    server.handle = lambda call: Answer(status=500)
    source = HttpPollingSource(f"{server.url}/x?key=secret", max_retries=1, token="secret")

    with pytest.raises(
        ExternalError, match=r"GET http.*/x failed 2 times .*500 Internal"
    ) as caught:
        read(open_reader(source))
    assert "secret" not in str(caught.value)
    server.stop()
    with pytest.raises(ExternalError, match="ConnectError"):
        read(open_reader(source))


def test_a_server_that_restarts_is_found_again(server: WebServer) -> None:
    server.handle = pages(3, 3)
    reader = open_reader(chain(server, max_retries=-1))
    assert read(reader, 3) == [0, 1, 2]
    server.stop()
    server.handle = pages(5, 3)
    server.start()

    assert read(reader, 2) == [3, 4]
    reader.close()


def test_a_request_that_is_wrong_is_told_at_once(server: WebServer) -> None:
    server.handle = lambda call: Answer(b"who are you?", status=401)
    source = HttpPollingSource(server.url, token="wrong")

    with pytest.raises(
        HttpRefused, match=r"401: Unauthorized who are you.; check the token"
    ) as got:
        read(open_reader(source))
    assert len(server.calls) == 1
    assert server.calls[0].headers["authorization"] == "Bearer wrong"
    assert "wrong" not in str(got.value)
    assert str(pickle.loads(pickle.dumps(got.value))) == str(got.value)


def test_headers_that_are_callables_are_asked_each_time(server: WebServer) -> None:
    numbers = itertools.count()
    source = HttpPollingSource(server.url, SOON, headers={"X-Number": lambda: str(next(numbers))})
    server.handle = lambda call: Answer(b"[]")
    reader = source.create_reader([HttpSplit()], SourceReaderContext(0, 1, SystemClock()))
    reader.open()
    while len(server.calls) < 3:
        assert reader.poll(1).values == []
    reader.close()

    assert [call.headers["x-number"] for call in server.calls[:3]] == ["0", "1", "2"]


def test_lines_are_records_and_bad_ones_are_as_the_policy_says(server: WebServer) -> None:
    server.handle = lambda call: Answer(b'{"a": 1}\n\nnope\n2\n')

    def source(policy: BadRecords) -> HttpPollingSource:
        return HttpPollingSource(
            server.url, form=HttpFormat.JSON_LINES, bounded=True, bad_records=policy
        )

    with pytest.raises(BadMessage, match=r"http://127.0.0.1:\d+ page None line 3: cannot be read"):
        read(open_reader(source(BadRecords.FAIL)))
    assert read(open_reader(source(BadRecords.SKIP))) == [{"a": 1}, 2]
    letters = read(open_reader(source(BadRecords.DEAD_LETTER)), limit=1)
    assert [each for each in letters if not hasattr(each, "payload")] == [{"a": 1}, 2]
    assert [each.payload for each in letters if hasattr(each, "payload")] == [b"nope"]


def test_a_body_that_is_none_fails(server: WebServer) -> None:
    server.handle = lambda call: Answer(b"<html>")
    with pytest.raises(BadMessage, match="page None: cannot be read: DecodeError"):
        read(open_reader(HttpPollingSource(server.url)))
    server.handle = lambda call: Answer(b'{"data": 3}')
    with pytest.raises(BadMessage, match=r"has no 'data.items'"):
        read(open_reader(chain(server)))


def upper(body: bytes) -> list[Any]:
    return body.decode().upper().split()


def test_other_forms_and_types(server: WebServer) -> None:
    server.handle = lambda call: Answer(b"a\nb")
    lines = HttpPollingSource(server.url, form=HttpFormat.TEXT_LINES, bounded=True)
    own = HttpPollingSource(server.url, form=upper, bounded=True)
    assert read(open_reader(lines)) == ["a", "b"]
    assert read(open_reader(own)) == ["A", "B"]

    server.handle = lambda call: Answer(b'[{"name": "x", "n": 1}]')
    row_type = Types.ROW_NAMED(["n", "name"], [Types.INT(), Types.STRING()])
    rows = HttpPollingSource(server.url, bounded=True, type_info=row_type)
    assert read(open_reader(rows)) == [Row(n=1, name="x")]
    assert rows.get_produced_type() == row_type


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HttpPollingSource("ftp://x"), "'ftp://x'; expected one that begins with http://"),
        (lambda: HttpPollingSource("http://a:pw@/x?token=pw"), "the address is 'http:///x'"),
        (lambda: HttpPollingSource("http://x", form="json"), "expected a HttpFormat"),  # type: ignore[arg-type]
        (
            lambda: HttpPollingSource("http://x", headers={"A": 3}),  # type: ignore[dict-item]
            "the header 'A' is a int",
        ),
        (
            lambda: HttpPollingSource("http://x", form=HttpFormat.JSON_LINES, records_at="a"),
            "looks for records at 'a'",
        ),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_described(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()
