"""Each partitioning sends every record to exactly the channels it should."""

from __future__ import annotations

import random
from typing import Any

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
    edge = OutEdge(
        edge=EdgeId(1),
        operator=0,
        tag=None,
        partitioning=partitioning,
        consumers=tuple(range(consumers)),
        consumer_parallelism=consumers,
        max_parallelism=128,
        targets={i: i for i in range(consumers)},
    )
    output = EdgeOutput(
        edge,
        producer=Producer("op", 0, 0),
        frame_bytes=1 << 16,
        outbox=outbox,
        rng=random.Random(7),
    )
    half = len(values) // 2
    for part in (slice(0, half), slice(half, None)):
        if values[part]:
            output.emit(values[part], None if timestamps is None else timestamps[part])
    output.flush()
    got: dict[int, list[Any]] = {i: [] for i in range(consumers)}
    for target, frame in outbox.take():
        if not frame:
            continue
        assert decode_header(frame).consumer == target
        for element in decode_elements(frame, lambda tag, data: decode_run(tag, data, None)):
            assert isinstance(element, Records)
            if timestamps is None:
                got[target] += element.values
            else:
                assert element.timestamps is not None
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
