"""Messages over WebSockets, from and to a real server."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from websockets.sync.server import ServerConnection

from riverrun.api.bad_records import BadRecords
from riverrun.api.serialization import ByteArraySchema, DeserializationSchema
from riverrun.api.sink import SinkWriter, SinkWriterContext
from riverrun.api.source import Boundedness, SourceReader, SourceReaderContext, SourceStatus
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.web.websocket_sink import WebSocketSink
from riverrun.connectors.web.websocket_source import WebSocketSource
from riverrun.core.clock import SystemClock
from riverrun.core.errors import ExternalError
from riverrun.core.time import Duration
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.servers.web import Answer, MessageServer, web_server
from tests.unit.connectors.conftest import Client

Talk = Callable[[ServerConnection, int], None]
MakeServer = Callable[[Talk], MessageServer]


@pytest.fixture
def make_server() -> Iterator[MakeServer]:
    made: list[MessageServer] = []

    def make(talk: Talk) -> MessageServer:
        made.append(MessageServer(talk))
        return made[-1]

    yield make
    for server in made:
        server.stop()


_opened: list[Any] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Whatever a test opened is closed after it."""
    yield
    while _opened:
        _opened.pop().close()


def open_reader(source: WebSocketSource) -> SourceReader[Any]:
    source = pickle.loads(pickle.dumps(source))
    context = SourceReaderContext(0, 1, SystemClock())
    reader = source.create_reader(source.create_splits(1), context)
    reader.open()
    return reader


def read(reader: SourceReader[Any], count: int | None = None) -> list[Any]:
    found: list[Any] = []
    try:
        while count is None or len(found) < count:
            polled = reader.poll(3)
            found += [*polled.values, *polled.dead_letters]
            if polled.status is SourceStatus.END_OF_INPUT:
                break
        return found
    finally:
        reader.close()


class Json(DeserializationSchema):
    def deserialize(self, message: bytes) -> Any:
        return json.loads(message)


def test_messages_come_in_order_until_the_server_is_done(make_server: MakeServer) -> None:
    def talk(connection: ServerConnection, number: int) -> None:
        for each in range(2000):
            connection.send(str(each))

    source = WebSocketSource(make_server(talk).url, max_retries=0)

    assert read(open_reader(source)) == list(map(str, range(2000)))
    assert source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    assert source.get_forced_parallelism() == 1


def test_the_source_subscribes_on_each_connection(make_server: MakeServer) -> None:
    def talk(connection: ServerConnection, number: int) -> None:
        asked = [connection.recv(), connection.recv()]
        connection.send(json.dumps([number, str(asked)]))
        if number == 1:
            connection.close(1011, "broken")

    server = make_server(talk)
    source = WebSocketSource(
        server.url, Json(), subscribe=["trades", b"quotes"], token="t", headers={"X-A": "b"}
    )

    found = read(open_reader(source), 3)
    assert found == [[n, "['trades', b'quotes']"] for n in range(3)]
    assert server.headers[0]["Authorization"] == "Bearer t"
    assert server.headers[0]["X-A"] == "b"


def test_binary_messages_are_bytes(make_server: MakeServer) -> None:
    def talk(connection: ServerConnection, number: int) -> None:
        connection.send(b"\xff\x00")
        connection.send("grün")

    source = WebSocketSource(make_server(talk).url, ByteArraySchema(), max_retries=0)

    assert read(open_reader(source)) == [b"\xff\x00", "grün".encode()]


def test_a_message_that_is_no_record_is_as_the_policy_says(make_server: MakeServer) -> None:
    def talk(connection: ServerConnection, number: int) -> None:
        connection.send("1")
        connection.send("{")
        connection.send("2")

    url = make_server(talk).url
    with pytest.raises(BadMessage, match=r"websocket ws://127.0.0.1:\d+ message 2: cannot be read"):
        read(open_reader(WebSocketSource(url, Json(), max_retries=0)))
    lenient = WebSocketSource(url, Json(), max_retries=0, bad_records=BadRecords.DEAD_LETTER)
    found = read(open_reader(lenient))
    assert [each for each in found if isinstance(each, int)] == [1, 2]
    assert [each.payload for each in found if not isinstance(each, int)] == [b"{"]


def test_a_server_that_is_not_there_is_told(make_server: MakeServer) -> None:
    server = make_server(lambda connection, number: None)
    server.stop()
    source = WebSocketSource(f"{server.url}/feed?key=secret", max_retries=1, token="secret")

    with pytest.raises(ExternalError, match=r"ws://.*/feed was not there 2 times") as caught:
        read(open_reader(source))
    assert "secret" not in str(caught.value)


def test_a_refusal_is_told_at_once() -> None:
    with web_server(lambda call: Answer(status=403)) as server:
        url = server.url.replace("http", "ws")
        with pytest.raises(ExternalError, match="refused the connection with 403; check"):
            read(open_reader(WebSocketSource(url, max_retries=-1)))
        assert len(server.calls) == 1
        with pytest.raises(ExternalError, match="refused the connection with 403"):
            open_writer(WebSocketSink(url, max_retries=-1))


def test_a_reader_that_is_closed_leaves_a_silent_server(make_server: MakeServer) -> None:
    def talk(connection: ServerConnection, number: int) -> None:
        connection.send("hello")
        server.take_in(connection)
        server.take_in(["gone"])

    server = make_server(talk)
    assert read(open_reader(WebSocketSource(server.url)), 1) == ["hello"]
    server.await_received(1)


def open_writer(sink: WebSocketSink) -> SinkWriter[Any]:
    writer = pickle.loads(pickle.dumps(sink)).create_writer(
        SinkWriterContext(0, 1, "Sink", Client())
    )
    assert isinstance(writer, SinkWriter)
    _opened.append(writer)
    writer.open()
    return writer


def test_the_sink_sends_a_message_for_each_record(make_server: MakeServer) -> None:
    server = make_server(lambda connection, number: server.take_in(connection))
    writer = open_writer(WebSocketSink(server.url, greeting="hello"))

    writer.write_run(["a", "grün"], None)
    writer.write("c", 1)
    server.await_received(4)
    writer.close()

    assert server.received == ["hello", "a", "grün", "c"]


def test_the_sink_sends_bytes_and_connects_again(make_server: MakeServer) -> None:
    def talk(connection: ServerConnection, number: int) -> None:
        server.take_in([connection.recv()])
        if number == 0:
            connection.close()
            return
        connection.send("who cares")
        server.take_in(connection)

    server = make_server(talk)
    writer = open_writer(WebSocketSink(server.url, ByteArraySchema(), text=False))
    writer.write(b"\x00", None)
    server.await_received(1)
    writer.write(b"\x01", None)
    # What is sent while the connection goes away may be lost: nothing is promised.
    while not server.has_received(2, within_s=0.2):
        writer.write(b"\x01", None)
    writer.close()

    assert set(server.received) == {b"\x00", b"\x01"}


def test_a_job_reads_from_one_server_and_writes_to_another(make_server: MakeServer) -> None:
    def talk(connection: ServerConnection, number: int) -> None:
        for each in range(100):
            connection.send(str(each))

    numbers = make_server(talk)
    lines = make_server(lambda connection, number: lines.take_in(connection))
    config = {"riverrun.master": "in-process"}
    with StreamExecutionEnvironment.get_execution_environment(config) as env:
        source = WebSocketSource(numbers.url, max_retries=0)
        stream = env.set_parallelism(1).from_source(source, None, "messages")
        stream.map(lambda text: f"n{text}").sink_to(WebSocketSink(lines.url))
        env.execute()

    lines.await_received(100)
    assert lines.received == [f"n{each}" for each in range(100)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WebSocketSource("http://x"), "expected one that begins with ws:// or wss://"),
        (lambda: WebSocketSource("ws://x", str), "expected a DeserializationSchema"),  # type: ignore[arg-type]
        (lambda: WebSocketSource("ws://x", subscribe=[3]), "the first message is a int"),  # type: ignore[list-item]
        (
            lambda: WebSocketSource("ws://x", heartbeat=Duration.of_millis(0)),
            "the heartbeat is 0.0 seconds",
        ),
        (lambda: WebSocketSink("ws://x", str), "expected a SerializationSchema"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_work_is_refused_when_it_is_described(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()
