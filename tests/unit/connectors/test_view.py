"""Views: the latest value of each key, while jobs run and after they failed."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.functions import MapFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.sink import Committable, SinkWriterContext
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.view import UpsertView, ViewChanges
from riverrun.connectors.view_sink import ViewSink
from riverrun.core.errors import JobFailed
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.row import Row, RowKind
from riverrun.serde.types import Types
from tests.unit.connectors.conftest import Client

IN_PROCESS = {"riverrun.master": "in-process"}
RESTARTING = {
    **IN_PROCESS,
    "execution.checkpointing.interval": "50 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "0 ms",
}


@pytest.fixture(params=[IN_PROCESS, RESTARTING], ids=["at once", "with checkpoints"])
def env(request: pytest.FixtureRequest) -> Iterator[StreamExecutionEnvironment]:
    with StreamExecutionEnvironment.get_execution_environment(request.param) as env:
        yield env.set_parallelism(2)


def test_a_view_is_a_mapping_of_the_latest_values() -> None:
    view = UpsertView("v")
    view.take(0, [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("c",)])
    view.take(1, [("b",), ("b", 5), ("unknown",)])

    assert view.snapshot() == dict(view) == {"a": 3, "b": 5}
    assert (view["a"], view.get("c"), view.get("c", 7), "b" in view, len(view)) == (
        3,
        None,
        7,
        True,
        2,
    )
    assert list(view.items()) == [("a", 3), ("b", 5)]
    assert repr(view) == "<UpsertView 'v' of 2 keys, version 2>"
    with pytest.raises(KeyError):
        view["c"]
    with pytest.raises(TypeError, match="view 'v': belongs to the program"):
        pickle.dumps(view)


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers()))))
def test_changes_tell_what_the_view_became(steps: list[list[tuple[int, int | None]]]) -> None:
    view = UpsertView()
    copy: dict[Any, Any] = {}
    expected: dict[int, int] = {}

    def follow(changes: ViewChanges) -> None:
        assert not changes.deleted & set(changes.updated)
        for key in changes.deleted:
            copy.pop(key, None)
        copy.update(changes.updated)

    view.subscribe(follow)
    for step in steps:
        view.take(0, [(key,) if value is None else (key, value) for key, value in step])
        for key, value in step:
            if value is None:
                expected.pop(key, None)
            else:
                expected[key] = value

    assert view.snapshot() == copy == expected


def test_who_does_not_listen_any_more_hears_nothing() -> None:
    heard: list[ViewChanges] = []
    with UpsertView() as view:
        stop = view.subscribe(heard.append)
        view.take(0, [("a", 1)])
        stop()
        stop()
        view.take(0, [("a", 2)])
    view.take(0, [("a", 3)])

    assert heard == [ViewChanges({"a": 1}, frozenset())]
    assert view.snapshot() == {"a": 2}
    with pytest.raises(TypeError, match="expected a callable of changes"):
        view.subscribe(3)  # type: ignore[arg-type]


def test_one_can_wait_for_something() -> None:
    view = UpsertView()
    waiter = threading.Thread(target=lambda: view.take(0, [("a", 1)]))
    waiter.start()

    assert view.wait_for(lambda view: "a" in view, timeout_s=20)
    assert not view.wait_for(lambda view: "b" in view, timeout_s=0)
    waiter.join()


def test_views_are_tables() -> None:
    row_type = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.INT()])
    rows = UpsertView("rows", row_type)
    rows.take(0, [("a", Row(name="a", n=1)), ("b", Row(name="b", n=2))])
    assert rows.to_arrow().to_pydict() == {"name": ["a", "b"], "n": [1, 2]}
    assert rows.to_arrow().schema.field("n").type == pa.int32()

    plain = UpsertView("plain", Types.LONG())
    plain.take(0, [("a", 1)])
    assert plain.to_pandas().to_dict("records") == [{"key": "a", "value": 1}]

    mixed = UpsertView("mixed")
    mixed.take(0, [("a", 1), ("b", "x")])
    with pytest.raises(TypeError, match="view 'mixed': its values have no common Arrow type"):
        mixed.to_arrow()


def test_an_epoch_reaches_the_client_as_the_last_change_of_each_key(client: Client) -> None:
    sink = ViewSink(UpsertView(), lambda record: record[0], lambda record: record[1])
    context = SinkWriterContext(0, 1, "Sink", client, checkpointing=True)
    writer = sink.create_writer(context)
    writer.write_run([("a", 1), ("b", 1), ("a", 2)], None)
    writer.write(("b", None), None)
    prepared = writer.prepare_commit()
    assert client.runs == []

    committer = sink.create_committer(context)
    assert committer is not None
    committer.commit([Committable(1, 0, n, value) for n, value in enumerate(prepared)])

    assert client.runs == [[("a", 2), ("b",)]]
    assert writer.prepare_commit() == []


class FailsOnce(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._fails = runtime_context.get_attempt_number() == 0

    def map(self, value: int) -> int:
        if self._fails and value == 700:
            raise ValueError("once")
        return value


def test_a_job_keeps_a_view_up_to_date(env: StreamExecutionEnvironment) -> None:
    numbers = DataGeneratorSource(int, 1000, rate_per_second=1000)
    stream = env.from_source(numbers, None, "numbers")
    if env.get_checkpoint_interval() > 0:
        stream = stream.map(FailsOnce())
    counts = stream.key_by(lambda n: n % 10).map(lambda n: (n % 10, n))
    view = counts.to_view(lambda pair: pair[0], lambda pair: pair[1], name="latest")
    steps: list[ViewChanges] = []
    view.subscribe(steps.append)

    env.execute()

    assert view.snapshot() == {last: 990 + last for last in range(10)}
    for key in range(10):
        seen = [step.updated[key] for step in steps if key in step.updated]
        # One value after the other, and none twice although the job failed.
        assert seen == sorted(set(seen))


def test_rows_delete_by_their_kind(env: StreamExecutionEnvironment) -> None:
    row_type = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])
    rows = [
        Row(k="a", v=1),
        Row(k="b", v=1),
        Row.of_kind(RowKind.UPDATE_BEFORE, k="a", v=1),
        Row.of_kind(RowKind.UPDATE_AFTER, k="a", v=2),
        Row.of_kind(RowKind.DELETE, k="b", v=1),
    ]
    view = env.from_collection(rows, row_type).to_view(lambda row: row.k)

    env.execute()

    assert {key: row.v for key, row in view.items()} == {"a": 2}
    assert view.to_arrow().to_pydict() == {"k": ["a"], "v": [2]}


def test_an_error_of_a_subscriber_fails_the_job(env: StreamExecutionEnvironment) -> None:
    view = env.from_collection([1]).to_view(lambda n: n)

    def refuse(changes: ViewChanges) -> None:
        raise ValueError(f"not {changes.updated}")

    view.subscribe(refuse)
    with pytest.raises(JobFailed, match=r"not \{1: 1\}"):
        env.execute()
