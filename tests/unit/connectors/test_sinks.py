"""Sinks: print, collect, callback, discard, functions."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

from riverrun.api.functions import RuntimeContext, SinkFunction
from riverrun.api.sink import Sink
from riverrun.api.source_sink_functions import SinkContext
from riverrun.connectors.callback import CallbackSink
from riverrun.connectors.collect import CollectSink
from riverrun.connectors.discard import DiscardingSink
from riverrun.connectors.function_sink import FunctionSink
from riverrun.connectors.print import PrintSink
from tests.unit.connectors.conftest import Client, MakeWriter


@pytest.mark.parametrize(
    ("identifier", "parallelism", "line"),
    [(None, 1, "7"), (None, 2, "2> 7"), ("id", 1, "id> 7"), ("id", 2, "id:2> 7")],
)
def test_a_printed_line_says_who_printed_it(
    client: Client,
    make_writer: MakeWriter,
    identifier: str | None,
    parallelism: int,
    line: str,
) -> None:
    writer = make_writer(PrintSink(identifier), parallelism - 1, parallelism)

    writer.write_run([7, 7], None)
    writer.write(7, None)

    assert client.runs == [[line, line], [line]]


def test_lines_are_printed_in_the_clients_process(capsys: pytest.CaptureFixture[str]) -> None:
    handler = PrintSink().client_handler()
    assert handler is not None

    handler(1, ["2> a", "2> b"])

    assert capsys.readouterr().out == "2> a\n2> b\n"


def test_collected_values_travel_as_they_are(client: Client, make_writer: MakeWriter) -> None:
    writer = make_writer(CollectSink())

    writer.write_run([1, None, "x"], [1, 2, 3])
    writer.write(2, 5)

    assert client.runs == [[1, None, "x"], [2]]


@pytest.mark.parametrize("make", [CollectSink, CallbackSink])
def test_the_handler_stays_with_the_client(make: Any) -> None:
    lock = threading.Lock()  # cannot be pickled
    sink: Sink[Any] = make(lambda *_: lock.locked())
    assert sink.client_handler() is not None

    copy = pickle.loads(pickle.dumps(sink))

    assert copy.client_handler() is None


def test_a_callback_is_called_for_each_value() -> None:
    seen: list[int] = []
    handler = CallbackSink(seen.append).client_handler()
    assert handler is not None

    handler(0, [1, 2])
    handler(1, [3])

    assert seen == [1, 2, 3]
    with pytest.raises(TypeError, match="expected a callable"):
        CallbackSink(3)  # type: ignore[arg-type]


def test_a_discarding_sink_sends_nothing(client: Client, make_writer: MakeWriter) -> None:
    writer = make_writer(DiscardingSink())
    writer.write_run([1, 2], None)
    writer.write(3, None)
    writer.flush(end_of_input=True)
    writer.close()

    assert client.runs == []


class Recording(SinkFunction):
    def __init__(self) -> None:
        self.story: list[Any] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        self.story.append(runtime_context.get_task_name_with_subtasks())

    def invoke(self, value: Any, context: SinkContext) -> None:
        self.story.append((value, context.timestamp()))

    def close(self) -> None:
        self.story.append("close")


def test_a_sink_function_sees_values_and_times(make_writer: MakeWriter) -> None:
    function = Recording()
    writer = make_writer(FunctionSink(function), 1, 2)

    writer.write_run(["a", "b"], [10, 20])
    writer.write_run(["c"], None)
    writer.close()

    assert function.story == ["Sink (2/2)", ("a", 10), ("b", 20), ("c", None), "close"]


def test_a_callable_is_a_sink(make_writer: MakeWriter) -> None:
    seen: list[int] = []
    writer = make_writer(FunctionSink(seen.append))

    writer.write_run([1, 2], None)
    writer.write(3, None)

    assert seen == [1, 2, 3]


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (DiscardingSink(), r"pass it to sink_to\(\) instead"),
        (Recording, "pass an instance of it"),
        (3, "expected a SinkFunction or a callable"),
    ],
)
def test_what_is_no_sink_function_is_refused(fn: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        FunctionSink(fn)
