"""Epochs of messages: packed into bytes and back, whatever they hold."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.kafka import sink_messages
from riverrun.connectors.kafka.sink_messages import Epoch, EpochBuffer, MessageRun

parts = st.none() | st.binary(max_size=20)
one_headers = st.none() | st.lists(st.tuples(st.text(max_size=4), parts), min_size=1, max_size=3)


@st.composite
def runs(draw: st.DrawFn) -> MessageRun:
    count = draw(st.integers(1, 6))

    def column(each: st.SearchStrategy[Any]) -> Any:
        return draw(st.none() | st.lists(each, min_size=count, max_size=count))

    many = st.lists(st.text("abc", min_size=1), min_size=count, max_size=count)
    return MessageRun(
        draw(st.just("topic") | many),
        draw(st.lists(parts, min_size=count, max_size=count)),
        column(parts),
        column(st.integers(0, 9)),
        column(st.integers(0, 2**42)),
        column(one_headers),
    )


def epoch_of(given_runs: list[MessageRun]) -> Epoch:
    buffer = EpochBuffer()
    for run in given_runs:
        buffer.add(run)
    epoch = buffer.take("lineage", 1)
    assert epoch is not None
    assert buffer.take("lineage", 2) is None
    assert buffer.kept_bytes == 0
    return epoch


@given(st.lists(runs(), min_size=1, max_size=8), st.sampled_from([1, 50, 1 << 20]))
def test_an_epoch_gives_back_the_runs_it_was_given(
    given_runs: list[MessageRun], block: int
) -> None:
    before = sink_messages.BLOCK_BYTES
    sink_messages.BLOCK_BYTES = block  # type: ignore[misc]
    try:
        epoch = pickle.loads(pickle.dumps(epoch_of(given_runs)))
    finally:
        sink_messages.BLOCK_BYTES = before  # type: ignore[misc]

    assert list(epoch.runs()) == given_runs
    assert epoch.messages == sum(len(run.values) for run in given_runs)


def test_messages_that_are_alike_are_kept_small() -> None:
    buffer = EpochBuffer()
    for _ in range(100):
        buffer.add(MessageRun("topic", [b'{"user": 7, "amount": 12.5}' * 40] * 20))

    assert buffer.kept_bytes < 100 * 20 * 27 * 40 / 10


def test_an_epoch_does_not_show_its_messages() -> None:
    assert "secret" not in repr(epoch_of([MessageRun("topic", [b"secret"])]))


def test_size_counts_keys_values_and_headers() -> None:
    run = MessageRun("topic", [b"1234", None], [b"12", None], headers=[[("ab", b"c")], None])

    assert run.size() == 4 + 2 + (2 + 1 + 8)
