"""Each partitioning sends every record to exactly the channels it should."""

from __future__ import annotations

import random
from operator import itemgetter
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.core.ids import EdgeId
from riverrun.graph.deployment import OutEdge
from riverrun.graph.partitioning import (
    Broadcast,
    Custom,
    Forward,
    Global,
    Hash,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
)
from riverrun.protocol.elements import Records
from riverrun.protocol.frames import decode_elements, decode_header
from riverrun.runtime import key_routing
from riverrun.runtime.buffers import Producer
from riverrun.runtime.failures import OperatorFailed
from riverrun.runtime.output import EdgeOutput, Outbox
from riverrun.runtime.partitioners import PartitionOutOfRange
from riverrun.serde.runs import decode_run
from riverrun.serde.stable_hash import KeyHashError, key_group
from riverrun.serde.types import NamedTupleTypeInfo, TypeInformation, Types


def identity(value: Any) -> Any:
    return value


def sent(
    partitioning: Partitioning,
    values: list[Any],
    *,
    consumers: int,
    timestamps: list[int] | None = None,
) -> dict[int, list[Any]]:
    """Emit ``values`` in two runs and decode what each consumer got, with timestamps if there are any."""
    outbox = Outbox()
    output = _output(partitioning, consumers, outbox)
    half = len(values) // 2
    for part in (slice(0, half), slice(half, None)):
        if values[part]:
            output.emit(values[part], None if timestamps is None else timestamps[part])
    output.flush()
    return _received(outbox, consumers)


def _output(
    partitioning: Partitioning,
    consumers: int,
    outbox: Outbox,
    type_info: TypeInformation | None = None,
) -> EdgeOutput:
    edge = OutEdge(
        edge=EdgeId(1),
        operator=0,
        tag=None,
        partitioning=partitioning,
        consumers=tuple(range(consumers)),
        consumer_parallelism=consumers,
        max_parallelism=128,
        targets={i: i for i in range(consumers)},
        type_info=type_info,
        takes_columns=False,
    )
    return EdgeOutput(
        edge,
        producer=Producer("op", 0, 0),
        frame_bytes=1 << 16,
        outbox=outbox,
        rng=random.Random(7),
    )


def _received(
    outbox: Outbox, consumers: int, type_info: TypeInformation | None = None
) -> dict[int, list[Any]]:
    got: dict[int, list[Any]] = {i: [] for i in range(consumers)}
    for target, frame in outbox.take():
        if not frame:
            continue
        assert decode_header(frame).consumer == target
        for element in decode_elements(frame, lambda tag, data: decode_run(tag, data, type_info)):
            assert isinstance(element, Records)
            if element.timestamps is None:
                got[target] += element.values
            else:
                got[target] += list(zip(element.values, element.timestamps, strict=True))
    return got


@given(st.lists(st.integers() | st.text()), st.integers(1, 7), st.booleans())
def test_hash_sends_each_key_to_the_owner_of_its_group(
    values: list[Any], consumers: int, timed: bool
) -> None:
    times = list(range(len(values))) if timed else None

    got = sent(Hash(identity), values, consumers=consumers, timestamps=times)

    for consumer, received in got.items():
        expected = [
            (value, index) if timed else value
            for index, value in enumerate(values)
            if key_group(value, 128) * consumers // 128 == consumer
        ]
        assert received == expected


@given(st.lists(st.integers()), st.integers(1, 7), st.sampled_from([Rebalance(), Rescale()]))
def test_round_robin_differs_by_one_record_at_most(
    values: list[int], consumers: int, partitioning: Partitioning
) -> None:
    got = sent(partitioning, values, consumers=consumers)

    sizes = [len(received) for received in got.values()]
    assert max(sizes) - min(sizes) <= 1
    assert sorted(v for received in got.values() for v in received) == sorted(values)


@given(st.lists(st.integers()), st.integers(1, 5), st.booleans())
def test_shuffle_loses_nothing_and_keeps_order_per_channel(
    values: list[int], consumers: int, timed: bool
) -> None:
    numbered = list(enumerate(values))

    got = sent(
        Shuffle(),
        numbered,
        consumers=consumers,
        timestamps=list(range(len(values))) if timed else None,
    )

    flat = [v[0] if timed else v for received in got.values() for v in received]
    assert sorted(flat) == numbered
    for received in got.values():
        assert received == sorted(received)


def test_broadcast_sends_everything_to_everyone() -> None:
    assert sent(Broadcast(), [1, 2, 3], consumers=3) == {i: [1, 2, 3] for i in range(3)}


def test_global_sends_everything_to_the_first() -> None:
    assert sent(Global(), [1, 2, 3], consumers=3) == {0: [1, 2, 3], 1: [], 2: []}


def test_forward_has_one_consumer() -> None:
    assert sent(Forward(), [1, 2, 3], consumers=1) == {0: [1, 2, 3]}


@pytest.mark.parametrize("timestamps", [None, [10, 20, 30, 40]])
def test_custom_asks_the_partitioner(timestamps: list[int] | None) -> None:
    partitioning = Custom(lambda key, count: key % count, identity)

    got = sent(partitioning, [0, 1, 2, 3], consumers=2, timestamps=timestamps)

    pairs = [0, 2] if timestamps is None else [(0, 10), (2, 30)]
    assert got[0] == pairs


@pytest.mark.parametrize("answer", [2, -1, "0", None])
def test_a_partition_out_of_range_names_the_answer_and_the_record(answer: Any) -> None:
    with pytest.raises(OperatorFailed) as caught:
        sent(Custom(lambda key, count: answer, identity), ["rec"], consumers=2)

    assert caught.value.record == "'rec'"
    assert isinstance(caught.value.__cause__, PartitionOutOfRange)


def test_an_unhashable_key_says_what_keys_may_be() -> None:
    with pytest.raises(OperatorFailed) as caught:
        sent(Hash(lambda value: [value]), ["rec"], consumers=2)

    assert caught.value.record == "'rec'"
    assert isinstance(caught.value.__cause__, KeyHashError)
    assert "list" in str(caught.value.__cause__)


def test_a_key_selector_that_raises_names_the_record() -> None:
    with pytest.raises(OperatorFailed) as caught:
        sent(Hash(lambda value: value["missing"]), [{"a": 1}], consumers=2)

    assert caught.value.record == "{'a': 1}"
    assert isinstance(caught.value.__cause__, KeyError)


@given(
    st.lists(st.integers(), max_size=80) | st.lists(st.text(max_size=3), max_size=80),
    st.integers(1, 5),
    st.booleans(),
)
def test_many_keys_are_hashed_as_arrays_and_go_where_few_go(
    keys: list[Any], consumers: int, timed: bool
) -> None:
    times = [index * 7 for index in range(len(keys))] if timed else None
    few = sent(Hash(identity), keys, consumers=consumers, timestamps=times)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(key_routing, "_FEW_KEYS", 0)
        assert sent(Hash(identity), keys, consumers=consumers, timestamps=times) == few


_PAYLOADS = st.sampled_from([1, "text", None, (1, 2.5), [1], {"a": 1}, 2**70])


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), _PAYLOADS), max_size=5), max_size=12),
    st.integers(0, 3),
    st.booleans(),
)
def test_plain_and_other_records_keep_their_order(
    runs: list[list[tuple[int, Any]]],
    tries_after: int,
    timed: bool,
) -> None:
    outbox = Outbox()
    output = _output(Hash(itemgetter(0)), 3, outbox)
    expected: dict[int, list[Any]] = {i: [] for i in range(3)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_routing, "_RUNS_IN_LISTS", tries_after)
        for number, run in enumerate(runs):
            output.emit(list(run), [number] * len(run) if timed else None)
            for value in run:
                owner = key_group(value[0], 128) * 3 // 128
                expected[owner].append((value, number) if timed else value)
        output.flush()

    assert _received(outbox, 3) == expected


class Price(NamedTuple):
    auction: int
    price: float
    note: str | None


class Bargain(Price):
    pass


_PRICES = NamedTupleTypeInfo(Price, [Types.LONG(), Types.DOUBLE(), Types.STRING()])


@given(
    st.lists(
        st.lists(
            st.builds(
                Price,
                st.integers(0, 9),
                st.sampled_from([0.5, 2, None]),
                st.sampled_from(["a", None, "\ud800", "x" * (1 << 16)]),
            ),
            max_size=4,
        ),
        max_size=8,
    ),
    st.sampled_from([Hash(itemgetter(0)), Rebalance(), Global()]),
    st.integers(0, 2),
)
def test_records_of_a_type_arrive_whether_they_are_written_as_rows_or_not(
    runs: list[list[Price]], partitioning: Partitioning, tries_after: int
) -> None:
    outbox = Outbox()
    output = _output(partitioning, 2, outbox, _PRICES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_routing, "_RUNS_IN_LISTS", tries_after)
        for run in runs:
            output.emit(list(run), None)
        output.flush()

    received = _received(outbox, 2, _PRICES)

    everything = [price for run in runs for price in run]
    arrived = [price for prices in received.values() for price in prices]
    assert sorted(arrived, key=repr) == sorted(
        (p._replace(price=p.price and float(p.price)) for p in everything), key=repr
    )
    assert {type(price) for price in arrived} <= {Price}
    if isinstance(partitioning, Hash):
        for consumer, prices in received.items():
            mine = [p for p in everything if key_group(p.auction, 128) * 2 // 128 == consumer]
            assert prices == mine


def test_a_record_of_another_type_is_refused_behind_records_that_were_written() -> None:
    output = _output(Hash(itemgetter(0)), 2, Outbox(), _PRICES)
    output.emit([Price(1, 1.0, None)], None)
    output.emit([Price(1, 1.0, 7)], None)  # type: ignore[arg-type]

    with pytest.raises(OperatorFailed) as failed:
        output.flush()

    assert "note" in str(failed.value.__cause__)
    assert "7" in str(failed.value.__cause__)
