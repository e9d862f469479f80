"""Columns are shared out as their records would be, and travel as columns."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.columns import ColumnKey, Field
from riverrun.core.ids import EdgeId
from riverrun.graph.deployment import OutEdge
from riverrun.graph.partitioning import (
    Broadcast,
    Custom,
    Forward,
    Hash,
    Partitioning,
    Rebalance,
    Shuffle,
)
from riverrun.protocol.elements import Records
from riverrun.protocol.frames import (
    EncodedRun,
    WideFrame,
    decode_elements,
    decode_header,
    split_elements,
)
from riverrun.runtime.buffers import Producer
from riverrun.runtime.output import EdgeOutput, Outbox
from riverrun.serde.columns import ColumnRun, TimeColumn, layout_of
from riverrun.serde.row import Row
from riverrun.serde.runs import decode_run
from riverrun.serde.types import Types

ROWS = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
BY_KEY = Hash(ColumnKey((Field("k"),)).get_key)
BY_BOTH = Hash(ColumnKey((Field("k"), Field("n"))).get_key)


def edge_output(
    partitioning: Partitioning, consumers: int, type_info: Any = ROWS
) -> tuple[EdgeOutput, Outbox]:
    outbox = Outbox()
    edge = OutEdge(
        edge=EdgeId(1),
        operator=0,
        tag=None,
        partitioning=partitioning,
        consumers=tuple(range(consumers)),
        consumer_parallelism=consumers,
        max_parallelism=128,
        targets={consumer: consumer for consumer in range(consumers)},
        type_info=type_info,
    )
    output = EdgeOutput(
        edge,
        producer=Producer("op", 0, 0),
        frame_bytes=1 << 12,
        outbox=outbox,
        rng=random.Random(3),
    )
    return output, outbox


def received(outbox: Outbox, type_info: Any = ROWS) -> dict[int, list[tuple[Any, int | None]]]:
    found: dict[int, list[tuple[Any, int | None]]] = {}
    for _, frame in outbox.take():
        if not frame:
            continue
        consumer = decode_header(frame).consumer
        for element in decode_elements(frame, lambda tag, data: decode_run(tag, data, type_info)):
            assert isinstance(element, Records)
            times: Any = element.timestamps or [None] * len(element.values)
            found.setdefault(consumer, []).extend(zip(element.values, times, strict=True))
    return found


def columns(rows: list[Row]) -> ColumnRun:
    layout = layout_of(ROWS)
    assert layout is not None
    return layout.run_of(rows)


rows = st.lists(
    st.builds(
        lambda k, n: Row(k=k, n=n),
        st.none() | st.sampled_from([f"key {n}" for n in range(20)]),
        st.none() | st.integers(-3, 3),
    ),
    max_size=40,
)


@pytest.mark.parametrize("partitioning", [BY_KEY, BY_BOTH, Forward(), Broadcast()], ids=repr)
@given(runs=st.lists(st.tuples(rows, st.booleans()), max_size=3), timed=st.booleans())
@settings(max_examples=25, deadline=None)
def test_columns_go_where_records_go(
    partitioning: Partitioning, runs: list[tuple[list[Row], bool]], timed: bool
) -> None:
    consumers = 1 if isinstance(partitioning, Forward) else 3
    mixed, mixed_box = edge_output(partitioning, consumers)
    plain, plain_box = edge_output(partitioning, consumers)
    for run, as_columns in runs:
        times = list(range(len(run))) if timed else None
        plain.emit(run, times)
        if as_columns and run:
            mixed.emit(columns(run), None if times is None else TimeColumn(np.array(times)))
        else:
            mixed.emit(run, times)
        assert mixed.buffered >= 0
    mixed.flush()
    plain.flush()
    assert received(mixed_box) == received(plain_box)


@pytest.mark.parametrize("partitioning", [Shuffle(), Rebalance()], ids=repr)
@given(run=rows)
@settings(max_examples=20, deadline=None)
def test_columns_shared_out_anyhow_all_arrive_in_order(
    partitioning: Partitioning, run: list[Row]
) -> None:
    output, outbox = edge_output(partitioning, 3)
    numbered = [Row(k=row["k"], n=number) for number, row in enumerate(run)]
    output.emit(columns(numbered), None)
    output.flush()
    found = received(outbox)
    assert sorted(row["n"] for each in found.values() for row, _ in each) == list(range(len(run)))
    for each in found.values():
        numbers = [row["n"] for row, _ in each]
        assert numbers == sorted(numbers)
        if isinstance(partitioning, Rebalance):
            assert len(numbers) in {len(run) // 3, len(run) // 3 + 1}


@pytest.mark.parametrize(
    "partitioning",
    [Hash(lambda row: row["k"]), Custom(lambda key, size: len(key) % size, lambda row: row["k"])],
    ids=["key function", "partitioner"],
)
def test_functions_of_records_get_records(partitioning: Partitioning) -> None:
    output, outbox = edge_output(partitioning, 2)
    run = [Row(k="a" * n, n=n) for n in range(10)]
    output.emit(columns(run), None)
    output.flush()
    found = received(outbox)
    assert sorted(row["n"] for each in found.values() for row, _ in each) == list(range(10))


def test_columns_of_another_type_travel_as_records() -> None:
    output, outbox = edge_output(BY_KEY, 2, type_info=None)
    run = [Row(k="a", n=1)]
    output.emit(columns(run), TimeColumn(np.array([4])))
    output.flush()
    found = received(outbox, None)
    assert [each for records in found.values() for each in records] == [(run[0], 4)]


def test_long_runs_are_cut() -> None:
    output, outbox = edge_output(Forward(), 1)
    run = columns([Row(k="x" * 100, n=n) for n in range(10_000)])
    output.emit(run, TimeColumn(np.arange(10_000)))
    output.flush()
    sizes = [
        element.count
        for _, frame in outbox.frames
        if frame
        for element in split_elements(frame.joined() if isinstance(frame, WideFrame) else frame)
        if isinstance(element, EncodedRun)
    ]
    assert len(sizes) > 3
    assert sum(sizes) == 10_000
    assert run._rows is None
    assert [row["n"] for row, _ in received(outbox)[0]] == list(range(10_000))
