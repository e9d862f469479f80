"""HTTP's source and sink pass what every connector must."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from riverrun.connectors.web.http_sink import HttpSink
from riverrun.connectors.web.pages import HttpPage
from riverrun.connectors.web.polling_source import HttpPollingSource
from riverrun.testing.conformance.sinks import SinkTarget, check_sink
from riverrun.testing.conformance.sources import check_source
from tests.servers.web import Answer, Call, WebServer


def following(page: HttpPage) -> int | None:
    last: int = page.records[-1]
    return last + 1 if last < 49 else None


def test_pages_are_read_once(server: WebServer) -> None:
    def handle(call: Call) -> Answer:
        start = int(call.query.get("cursor", "0"))
        return Answer(json.dumps(list(range(start, min(start + 7, 50)))).encode())

    server.handle = handle
    check_source(
        lambda: HttpPollingSource(server.url, next_cursor=following, bounded=True),
        range(50),
        seeds=range(3),
        parallelisms=(1, 2),
    )


def test_a_receiver_that_remembers_keys_takes_each_record_once(server: WebServer) -> None:
    @contextmanager
    def target() -> Iterator[SinkTarget]:
        batches: dict[str, list[int]] = {}

        def handle(call: Call) -> Answer:
            batches.setdefault(call.headers["idempotency-key"], json.loads(call.body))
            return Answer()

        server.handle = handle
        sink = HttpSink(server.url, batch_size=2, after_checkpoint=True)
        yield SinkTarget(sink, lambda: [each for batch in batches.values() for each in batch])

    check_sink(target, range(12), parallelisms=((1, 1), (2, 3)))
