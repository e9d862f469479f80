"""Batches over HTTP, to a real server."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from riverrun.api.functions import MapFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.sink import Committable, SinkWriter, SinkWriterContext
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.web.http_calls import HttpRefused
from riverrun.connectors.web.http_sink import HttpRefusal, HttpSink
from riverrun.connectors.web.pages import HttpFormat
from riverrun.core.errors import ExternalError
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.row import Row
from tests.servers.web import Answer, Call, WebServer
from tests.unit.connectors.conftest import Client

KEY = "idempotency-key"


_opened: list[Any] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Whatever a test opened is closed after it."""
    yield
    while _opened:
        _opened.pop().close()


def open_writer(sink: HttpSink, *, checkpointing: bool = False) -> SinkWriter[Any]:
    sink = pickle.loads(pickle.dumps(sink))
    context = SinkWriterContext(
        0, 1, "Sink", Client(), checkpointing=checkpointing, operator_id="op"
    )
    writer = sink.create_writer(context)
    _opened.append(writer)
    writer.open()
    return writer


def test_a_run_is_sent_in_batches(server: WebServer) -> None:
    writer = open_writer(HttpSink(f"{server.url}/in", batch_size=2, token="t"))

    writer.write_run([1, "two", Row(a=3)], None)
    writer.write(None, 5)

    assert [json.loads(call.body) for call in server.calls] == [[1, "two"], [{"a": 3}], [None]]
    first = server.calls[0]
    assert (first.method, first.path) == ("POST", "/in")
    assert first.headers["content-type"] == "application/json"
    assert first.headers["authorization"] == "Bearer t"
    assert len({call.headers[KEY] for call in server.calls}) == 3


def reversed_text(values: Any) -> bytes:
    return "|".join(map(str, reversed(values))).encode()


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (HttpFormat.JSON_LINES, b'{"a":1}\n2\n'),
        (HttpFormat.TEXT_LINES, b"{'a': 1}\n2\n"),
        (reversed_text, b"2|{'a': 1}"),
    ],
)
def test_other_forms(server: WebServer, form: Any, body: bytes) -> None:
    writer = open_writer(HttpSink(server.url, form=form, method="PUT"))

    writer.write_run([{"a": 1}, 2], None)

    (call,) = server.calls
    assert (call.method, call.body) == ("PUT", body)


def test_an_attempt_that_is_made_again_has_the_same_key(server: WebServer) -> None:
    server.answers += [Answer(status=503), Answer(status=408)]
    writer = open_writer(HttpSink(server.url))

    writer.write_run([1], None)

    assert len(server.calls) == 3
    assert len({(call.headers[KEY], call.body) for call in server.calls}) == 1


def test_a_server_that_stays_away_fails_the_sink(server: WebServer) -> None:
    server.handle = lambda call: Answer(status=502)
    writer = open_writer(HttpSink(server.url, max_retries=1))

    with pytest.raises(ExternalError, match=r"http sink: POST .* failed 2 times"):
        writer.write_run([1], None)


def test_a_batch_that_is_refused_fails_the_sink_or_is_handed_over(server: WebServer) -> None:
    server.handle = lambda call: Answer(b"no such field", status=422)
    with pytest.raises(HttpRefused, match=r"422: .*no such field; check what is sent"):
        open_writer(HttpSink(server.url)).write_run([1], None)

    refused: list[HttpRefusal] = []
    sink = HttpSink(server.url, on_refusal=refused.append)
    writer = sink.create_writer(SinkWriterContext(0, 1, "Sink", Client()))
    _opened.append(writer)
    writer.open()
    writer.write_run([1], None)

    (refusal,) = refused
    assert (refusal.status, refusal.body, refusal.key) == (
        422,
        b"[1]",
        server.calls[-1].headers[KEY],
    )
    assert "no such field" in refusal.reason


def test_a_batch_does_not_get_lost_in_a_redirection(server: WebServer) -> None:
    moved = f"{server.url}/new?key=secret"
    server.answers.append(Answer(status=302, headers={"Location": moved}))
    refusals: list[HttpRefusal] = []
    writer = HttpSink(f"{server.url}/old", on_refusal=refusals.append).create_writer(
        SinkWriterContext(0, 1, "Sink", Client())
    )
    _opened.append(writer)
    writer.open()

    with pytest.raises(ExternalError, match=r"with 302, which leads to 'http://.*/new', .* give"):
        writer.write(1, None)
    assert (len(server.calls), refusals) == (1, [])


def test_batches_of_another_attempt_have_other_keys(server: WebServer) -> None:
    sink = HttpSink(server.url, after_checkpoint=True)
    for value in (1, 2):
        writer = open_writer(sink, checkpointing=True)
        writer.write(value, None)
        committer = sink.create_committer(SinkWriterContext(0, 1, "Sink", Client()))
        assert committer is not None
        committer.commit([Committable(7, 0, 0, each) for each in writer.prepare_commit()])
        committer.close()

    assert len({call.headers[KEY] for call in server.calls}) == 2


def test_batches_that_wait_for_a_checkpoint_are_the_same_each_time(server: WebServer) -> None:
    sink = HttpSink(server.url, batch_size=2, after_checkpoint=True)
    writer = open_writer(sink, checkpointing=True)
    writer.write_run([1, 2, 3], None)
    writer.write_run([4, 5], None)
    assert server.calls == []

    prepared = pickle.loads(pickle.dumps(writer.prepare_commit()))
    assert writer.prepare_commit() == []
    committables = [Committable(7, 0, n, value) for n, value in enumerate(prepared)]
    for _ in range(2):
        committer = sink.create_committer(SinkWriterContext(1, 2, "Sink", Client()))
        assert committer is not None
        committer.commit(committables)
        committer.close()

    sent = [(call.headers[KEY], call.body) for call in server.calls]
    assert sent[:3] == sent[3:]
    assert [body for _, body in sent[:3]] == [b"[1,2]", b"[3,4]", b"[5]"]
    assert len(dict(sent)) == 3


class Receiver:
    """A server that remembers keys."""

    def __init__(self) -> None:
        self.records: list[int] = []
        self._keys: set[str] = set()
        self._count = 0

    def __call__(self, call: Call) -> Answer:
        self._count += 1
        if self._count % 17 == 0:
            return Answer(status=503)
        if call.headers[KEY] not in self._keys:
            self._keys.add(call.headers[KEY])
            self.records += json.loads(call.body)
        # What was taken in is not always said to be.
        return Answer(status=500 if self._count % 23 == 0 else 200)


class FailsOnce(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._fails = runtime_context.get_attempt_number() == 0

    def map(self, value: int) -> int:
        if self._fails and value == 700:
            raise ValueError("once")
        return value


def test_a_receiver_that_remembers_keys_sees_each_record_once_although_the_job_fails(
    server: WebServer,
) -> None:
    receiver = Receiver()
    server.handle = receiver
    config = {
        "riverrun.master": "in-process",
        "execution.checkpointing.interval": "100 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 ms",
    }
    with StreamExecutionEnvironment.get_execution_environment(config) as env:
        numbers = DataGeneratorSource(int, 1000, rate_per_second=1000)
        stream = env.set_parallelism(2).from_source(numbers, None, "numbers").map(FailsOnce())
        stream.sink_to(HttpSink(server.url, batch_size=30, after_checkpoint=True))
        env.execute()

    assert sorted(receiver.records) == list(range(1000))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HttpSink("x"), "the address is 'x'"),
        (lambda: HttpSink("http://x", batch_size=0), "the batch size is 0"),
        (lambda: HttpSink("http://x", form=3), "expected a HttpFormat or a callable"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_work_is_refused_when_it_is_described(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()
