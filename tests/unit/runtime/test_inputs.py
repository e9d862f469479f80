"""A task takes a channel's frames in order and once; everything else is refused."""

from __future__ import annotations

import io
import pickle
from typing import Any

import pytest

from riverrun.core.ids import EdgeId
from riverrun.graph.deployment import InEdge
from riverrun.protocol.elements import (
    Element,
    EndOfChannel,
    EndOfInput,
    Records,
    Watermark,
)
from riverrun.protocol.frames import (
    FrameError,
    FrameHeader,
    encode_control,
    encode_frame,
    encode_records,
)
from riverrun.runtime.inputs import InputChannel, Inputs


def make_inputs(*, producers: tuple[int, ...] = (0, 1)) -> Inputs:
    return Inputs(
        (InEdge(EdgeId(4), producers),), attempt=2, memory_bytes=1 << 20, open_spill=io.BytesIO
    )


def receive(inputs: Inputs, data: bytes) -> None:
    for channel, element in inputs.receive(data):
        inputs.append(channel, element)


def take(inputs: Inputs, limit: int) -> tuple[InputChannel, Element] | None:
    return inputs.take(limit, set())


def frame(
    sequence: int, *parts: bytes, producer: int = 0, edge: int = 4, attempt: int = 2
) -> bytes:
    return encode_frame(FrameHeader(attempt, edge, producer, 0, sequence), parts)


def run(values: list[Any], timestamps: list[int] | None = None) -> bytes:
    return b"".join(encode_records(0, len(values), pickle.dumps(values), timestamps))


def test_elements_come_out_in_order_with_their_channel() -> None:
    inputs = make_inputs()

    receive(inputs, frame(0, run([1, 2]), encode_control(Watermark(9)), producer=1))

    first, second = take(inputs, 10), take(inputs, 10)
    assert first is not None
    assert second is not None
    assert (first[0].index, first[1]) == (1, Records([1, 2]))
    assert second[1] == Watermark(9)
    assert take(inputs, 10) is None


def test_a_long_run_is_taken_in_pieces() -> None:
    inputs = make_inputs()
    receive(inputs, frame(0, run([1, 2, 3, 4, 5], [10, 20, 30, 40, 50])))

    pieces = [take(inputs, 2) for _ in range(3)]

    assert [piece[1] for piece in pieces if piece] == [
        Records([1, 2], [10, 20]),
        Records([3, 4], [30, 40]),
        Records([5], [50]),
    ]
    assert inputs.waiting_records == 0


def test_finished_when_every_channel_ended_and_nothing_waits() -> None:
    inputs = make_inputs()
    end = encode_control(EndOfInput())

    receive(inputs, frame(0, end))
    receive(inputs, frame(0, end, producer=1))
    assert not inputs.finished
    take(inputs, 1)
    take(inputs, 1)

    assert inputs.finished


@pytest.mark.parametrize(
    "wrong",
    [
        frame(1, run([1])),
        frame(0, run([1]), edge=5),
        frame(0, run([1]), producer=7),
        frame(0, run([1]), attempt=1),
    ],
    ids=["gap", "other edge", "other producer", "other attempt"],
)
def test_a_frame_that_does_not_belong_is_refused(wrong: bytes) -> None:
    inputs = make_inputs()

    with pytest.raises(FrameError):
        receive(inputs, wrong)


def test_a_repeated_frame_is_refused() -> None:
    inputs = make_inputs()
    receive(inputs, frame(0, run([1])))

    with pytest.raises(FrameError, match="got frame 0, expected 1"):
        receive(inputs, frame(0, run([1])))


def test_a_frame_after_the_end_is_refused() -> None:
    inputs = make_inputs()
    receive(inputs, frame(0, encode_control(EndOfInput()), encode_control(EndOfChannel())))

    with pytest.raises(FrameError, match="expected none"):
        receive(inputs, frame(1, run([1])))


def test_records_after_the_end_of_records_are_refused() -> None:
    inputs = make_inputs()
    receive(inputs, frame(0, encode_control(EndOfInput())))

    with pytest.raises(FrameError, match="after the end of its records"):
        receive(inputs, frame(1, run([1])))


def test_what_is_held_back_comes_out_before_what_came_later() -> None:
    inputs = make_inputs()
    receive(inputs, frame(0, run([1]), producer=0))
    receive(inputs, frame(0, run([2]), producer=1))
    receive(inputs, frame(1, run([3]), producer=0))

    blocked = inputs.take(10, {0})
    assert blocked is not None
    assert blocked[1] == Records([2])
    assert inputs.take(10, {0}) is None
    inputs.release()
    receive(inputs, frame(1, run([4]), producer=1))

    taken = [inputs.take(10, set()) for _ in range(3)]
    assert [each[1] for each in taken if each] == [Records([1]), Records([3]), Records([4])]
    assert not inputs.waiting
