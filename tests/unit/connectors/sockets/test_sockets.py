"""Text over TCP, against servers of this process."""

from __future__ import annotations

import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.bad_records import BadRecords
from riverrun.api.serialization import SimpleStringSchema
from riverrun.api.sink import SinkWriterContext
from riverrun.api.source import Boundedness, SourceReaderContext, SourceStatus
from riverrun.connectors.base.live_messages import LiveSplit
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.print import PrintSink
from riverrun.connectors.sockets.sink import SocketSink
from riverrun.connectors.sockets.text_source import Pieces, SocketTextSource
from riverrun.core.clock import SystemClock
from riverrun.core.errors import ExternalError
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.unit.connectors.conftest import Client

WAIT_S = 20.0


class Server:
    """Accepts connections, sends each of them its answer, and keeps what it was sent."""

    def __init__(self, answers: list[bytes]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.received: list[bytes] = []
        self._answers = answers
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        for answer in self._answers:
            connection, _ = self._listener.accept()
            with connection:
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                parts = []
                while data := connection.recv(4096):
                    parts.append(data)
                self.received.append(b"".join(parts))
        self._listener.close()

    def join(self) -> None:
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()


def read(
    source: SocketTextSource, splits: list[Any] | None = None, found: list[Any] | None = None
) -> list[Any]:
    source = pickle.loads(pickle.dumps(source))
    given = source.create_splits(1) if splits is None else splits
    reader = source.create_reader(given, SourceReaderContext(0, 1, SystemClock()))
    reader.open()
    found = [] if found is None else found
    try:
        while (polled := reader.poll(3)).status is not SourceStatus.END_OF_INPUT:
            assert len(polled.values) <= 3
            found += [*polled.values, *polled.dead_letters]
        return found
    finally:
        reader.close()


def test_lines_come_in_order_and_the_last_one_needs_no_end() -> None:
    server = Server([b"one\ntwo\r\n\ngr\xc3\xbcn"])

    assert read(SocketTextSource("127.0.0.1", server.port)) == ["one", "two", "", "grün"]


def test_a_connection_that_ends_is_followed_by_the_next() -> None:
    server = Server([b"a\n", b"b\nc\n", b"", b"d\n"])
    source = SocketTextSource("127.0.0.1", server.port, max_retry=2)
    found: list[Any] = []

    # An empty connection counts as a failure, one that brings something does not.
    with pytest.raises(ExternalError, match=r"cannot read from 127.0.0.1:\d+ .*tried 3 times"):
        read(source, found=found)

    assert found == ["a", "b", "c", "d"]


def test_another_delimiter() -> None:
    server = Server([b"a;;b;c;;"])

    assert read(SocketTextSource("127.0.0.1", server.port, ";;")) == ["a", "b;c"]


def test_bytes_that_are_no_text_are_bad_records() -> None:
    answer = b"ok\n\xff\nfine\n"
    with pytest.raises(BadMessage, match=r"socket 127.0.0.1:\d+ record 2: cannot be read"):
        read(SocketTextSource("127.0.0.1", Server([answer]).port))

    skipping = SocketTextSource(
        "127.0.0.1", Server([answer]).port, bad_records=BadRecords.DEAD_LETTER
    )
    found = read(skipping)
    assert [each for each in found if isinstance(each, str)] == ["ok", "fine"]
    assert [each.payload for each in found if not isinstance(each, str)] == [b"\xff"]


def test_a_server_that_is_not_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(ExternalError, match=rf"127.0.0.1:{port} .*tried 1 times; start the server"):
        read(SocketTextSource("127.0.0.1", port))
    writer = SocketSink("127.0.0.1", port, SimpleStringSchema(), 1).create_writer(
        SinkWriterContext(0, 1, "Sink", Client())
    )
    with pytest.raises(ExternalError, match=rf"cannot write to 127.0.0.1:{port} .*tried 2 times"):
        writer.open()


def test_a_reader_that_is_closed_leaves_a_silent_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        source = SocketTextSource("127.0.0.1", listener.getsockname()[1])
        reader = source.create_reader([LiveSplit(5)], SourceReaderContext(0, 1, SystemClock()))
        reader.open()
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"x\n")
            while not (polled := reader.poll(10)).values:
                assert polled.status is SourceStatus.NOTHING_AVAILABLE
            assert reader.snapshot_splits() == [LiveSplit(6)]
            reader.close()
            assert connection.recv(1) == b""


def test_a_reader_without_the_split_ends() -> None:
    assert read(SocketTextSource("127.0.0.1", 1), splits=[]) == []
    assert SocketTextSource("h", 1).get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    assert SocketTextSource("h", 1).get_forced_parallelism() == 1


@given(st.lists(st.binary(max_size=5).filter(lambda each: b"," not in each)), st.integers(1, 7))
def test_pieces_do_not_depend_on_where_chunks_end(parts: list[bytes], size: int) -> None:
    data = b"".join(part + b"," for part in parts) + b"rest"
    pieces = Pieces(b",")

    found = [
        piece
        for start in range(0, len(data), size)
        for piece in pieces.add(data[start : start + size])
    ]

    assert (found, pieces.rest(), pieces.rest()) == (parts, b"rest", b"")


def test_the_sink_sends_lines_and_connects_again() -> None:
    server = Server([b"", b""])
    writer = SocketSink("127.0.0.1", server.port, SimpleStringSchema(), 3).create_writer(
        SinkWriterContext(0, 1, "Sink", Client())
    )
    writer.open()
    writer.write_run(["a", "b"], None)
    writer.close()
    writer.write("c", 5)
    writer.close()

    server.join()
    assert server.received == [b"a\nb\n", b"c\n"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SocketTextSource("", 1), "the host is ''"),
        (lambda: SocketTextSource("h", 0), "the port is 0; expected 1 to 65535"),
        (lambda: SocketTextSource("h", 1, ""), "the delimiter is ''"),
        (lambda: SocketSink("h", 1 << 16, SimpleStringSchema()), "the port is 65536"),
        (
            lambda: SocketSink("h", 1, str),  # type: ignore[arg-type]
            "expected a SerializationSchema",
        ),
    ],
)
def test_what_cannot_be_an_address_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.fixture
def env() -> Iterator[StreamExecutionEnvironment]:
    with StreamExecutionEnvironment.get_execution_environment(
        {"riverrun.master": "in-process"}
    ) as env:
        yield env


def test_a_job_reads_from_one_server_and_writes_to_another(
    env: StreamExecutionEnvironment,
) -> None:
    text, lines = Server([b"to be\nor not\n"]), Server([b""])
    words = env.socket_text_stream("127.0.0.1", text.port).flat_map(str.split)
    words.write_to_socket("127.0.0.1", lines.port, SimpleStringSchema())

    env.execute()

    lines.join()
    assert lines.received == [b"to\nbe\nor\nnot\n"]


def test_records_are_printed_on_the_standard_error(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    env.from_collection([1, 2]).print_to_err("numbers").set_parallelism(1)

    env.execute()

    out, err = capsys.readouterr()
    assert out == ""
    assert err == "numbers> 1\nnumbers> 2\n"
    assert PrintSink(std_err=True).client_handler() is not PrintSink().client_handler()
