"""Large frames arrive as they were sent, whatever their size and however the rows of channels are mixed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.protocol.frames import FrameError, FrameHeader, encode_frame
from riverrun.protocol.parts import MOST_BYTES, PartJoiner, in_parts
from riverrun.spark.worker.rows import batches_of, frames_of

SIZES = st.one_of(
    st.integers(0, 100),
    st.integers(MOST_BYTES - 60, MOST_BYTES + 60),
    st.integers(2 * MOST_BYTES - 120, 2 * MOST_BYTES + 60),
    st.integers(0, 4 * MOST_BYTES),
)


def frame_of(size: int, producer: int = 0, consumer: int = 0, sequence: int = 0) -> bytes:
    content = random.Random(sequence).randbytes(min(size, 64)) * (size // 64 + 1)
    header = FrameHeader(attempt=1, edge=2, producer=producer, consumer=consumer, sequence=sequence)
    return encode_frame(header, [content[:size]])


def test_a_frame_that_fits_is_its_own_row() -> None:
    frame = frame_of(MOST_BYTES - 23)

    assert len(frame) == MOST_BYTES
    assert in_parts(frame) == [frame]


@given(SIZES)
def test_no_row_is_larger_than_the_limit_and_the_frame_comes_back(size: int) -> None:
    frame = frame_of(size)
    rows = in_parts(frame)
    joiner = PartJoiner()

    found = [joiner.add(memoryview(row)) for row in rows]

    assert all(0 < len(row) <= MOST_BYTES for row in rows)
    assert found[:-1] == [None] * (len(rows) - 1)
    assert bytes(found[-1] or b"") == frame


@given(st.lists(st.lists(SIZES, max_size=4), min_size=1, max_size=4), st.randoms())
def test_rows_of_channels_may_come_in_any_mixture(
    sizes: list[list[int]], chance: random.Random
) -> None:
    sent = [
        [frame_of(size, channel // 2, channel % 2, number) for number, size in enumerate(each)]
        for channel, each in enumerate(sizes)
    ]
    waiting = [[row for frame in each for row in in_parts(frame)] for each in sent]
    joiner = PartJoiner()
    found: list[list[bytes]] = [[] for _ in sent]
    while any(waiting):
        channel = chance.choice([at for at, rows in enumerate(waiting) if rows])
        frame = joiner.add(memoryview(waiting[channel].pop(0)))
        if frame is not None:
            found[channel].append(bytes(frame))

    assert found == sent


@pytest.mark.parametrize("kept", [[1], [0, 0], [0, 2], [0, 1, 1]])
def test_a_part_that_is_lost_or_repeated_is_an_error(kept: list[int]) -> None:
    rows = in_parts(frame_of(2 * MOST_BYTES + 10))
    joiner = PartJoiner()
    for index in kept[:-1]:
        joiner.add(memoryview(rows[index]))

    with pytest.raises(FrameError, match=r"part \d of 3 of a frame of edge 2 from subtask 0 to 0"):
        joiner.add(memoryview(rows[kept[-1]]))


def test_a_part_without_content_is_an_error() -> None:
    row = bytes(in_parts(frame_of(2 * MOST_BYTES))[0])

    with pytest.raises(FrameError, match="part of 5 bytes"):
        PartJoiner().add(memoryview(row[:5]))


def test_through_arrow_batches_of_about_a_megabyte() -> None:
    sizes = [10, 3 * MOST_BYTES, 0, 5, MOST_BYTES, 7 * MOST_BYTES + 1]
    sent = [frame_of(size, sequence=number) for number, size in enumerate(sizes)]
    rows = [row for frame in sent for row in ((3, frame), (3, b""))]
    joiner = PartJoiner()

    batches = list(batches_of(rows))

    assert [bytes(f) for batch in batches for f in frames_of(batch, joiner)] == sent
    assert all(batch.nbytes < (1 << 20) + MOST_BYTES + 100 for batch in batches)
    assert all(set(batch.column(0).to_pylist()) == {3} for batch in batches)
    assert sum(row == b"" for batch in batches for row in batch.column(1).to_pylist()) == len(sizes)


def test_nothing_makes_no_batch() -> None:
    assert list(batches_of([])) == []
