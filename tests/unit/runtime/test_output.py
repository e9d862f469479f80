"""When frames leave: full, due, or pushed out by a control element; and who gets fillers."""

from __future__ import annotations

import random
from operator import itemgetter

from riverrun.core.ids import EdgeId
from riverrun.graph.deployment import OutEdge
from riverrun.graph.partitioning import Forward, Hash, Partitioning, Rebalance
from riverrun.protocol.elements import EndOfInput, LatencyMarker, Records, Watermark
from riverrun.protocol.frames import FILLER, decode_elements, decode_header
from riverrun.runtime.buffers import Producer
from riverrun.runtime.output import EdgeOutput, Outbox
from riverrun.serde.runs import decode_run


def make_output(
    outbox: Outbox,
    *,
    partitioning: Partitioning | None = None,
    consumers: int = 1,
    timeout_ms: int = 10,
    frame_bytes: int = 1 << 16,
    number: int = 1,
    beside: tuple[int, ...] = (),
) -> EdgeOutput:
    edge = OutEdge(
        edge=EdgeId(number),
        operator=0,
        tag=None,
        partitioning=partitioning or Forward(),
        consumers=tuple(range(consumers)),
        consumer_parallelism=consumers,
        max_parallelism=128,
        targets={i: i for i in range(consumers)},
        beside=tuple(map(EdgeId, beside)),
        buffer_timeout_ms=timeout_ms,
    )
    return EdgeOutput(
        edge,
        producer=Producer("op", 0, 0),
        frame_bytes=frame_bytes,
        outbox=outbox,
        rng=random.Random(1),
    )


def elements(frame: bytes) -> list[object]:
    return list(decode_elements(frame, lambda tag, data: decode_run(tag, data, None)))


def test_a_record_that_waited_is_followed_by_a_filler() -> None:
    outbox = Outbox()
    output = make_output(outbox, timeout_ms=10)

    output.emit([1], None)

    assert output.deadline(100.0, busy=False) == 100.0
    assert outbox.take() == []
    output.flush()
    (target, frame), filler = outbox.take()
    assert (target, elements(frame)) == (0, [Records([1])])
    assert filler == (0, FILLER)
    assert output.deadline(200.0, busy=False) is None


def test_a_busy_task_waits_longer_so_that_frames_grow() -> None:
    output = make_output(Outbox(), timeout_ms=10)

    output.emit([1], None)

    assert output.deadline(100.0, busy=True) == 150.0
    assert output.deadline(120.0, busy=False) == 100.0


def test_a_full_frame_leaves_at_once_and_owes_its_filler() -> None:
    outbox = Outbox()
    output = make_output(outbox, frame_bytes=64)

    for _ in range(300):
        output.emit([7], None)

    frames = outbox.take()
    assert frames
    assert all(frame != FILLER for _, frame in frames)
    output.flush()
    assert outbox.take()[-1] == (0, FILLER)
    output.flush()
    assert outbox.take() == []


def test_what_waits_for_another_input_of_a_consumer_leaves_before_a_full_frame_for_it() -> None:
    outbox = Outbox()
    by_key = Hash(int)
    few = make_output(outbox, partitioning=by_key, consumers=2)
    many = make_output(
        outbox, partitioning=by_key, consumers=2, number=2, beside=(1,), frame_bytes=64
    )
    many.go_beside({EdgeId(1): few, EdgeId(2): many})
    key, other = _keys_of_two_consumers(by_key)

    few.emit([key, other], None)
    many.emit([key] * 300, None)

    taken = [(decode_header(frame).edge, elements(frame)) for _, frame in outbox.take()]
    assert taken[0] == (EdgeId(1), [Records([key])])
    assert {edge for edge, _ in taken[1:]} == {EdgeId(2)}
    few.flush()
    left = [frame for _, frame in outbox.take()]
    assert [elements(frame) for frame in left if frame != FILLER] == [[Records([other])]]
    assert left.count(FILLER) == 2


def _keys_of_two_consumers(by_key: Hash) -> tuple[int, int]:
    first: dict[int, int] = {}
    for key in range(100):
        outbox = Outbox()
        output = make_output(outbox, partitioning=by_key, consumers=2)
        output.emit([key], None)
        output.flush()
        first.setdefault(outbox.take()[0][0], key)
    return first[0], first[1]


def test_a_negative_timeout_means_only_full_frames() -> None:
    output = make_output(Outbox(), timeout_ms=-1)

    output.emit([1], None)

    assert output.deadline(100.0, busy=False) is None


def test_a_control_element_pushes_out_what_was_before_it_on_every_channel() -> None:
    outbox = Outbox()
    output = make_output(outbox, partitioning=Rebalance(), consumers=2)

    output.emit([1, 2, 3], None)
    output.control(Watermark(5))

    frames = {target: frame for target, frame in outbox.take() if frame}
    contents = [elements(frame) for frame in frames.values()]
    assert sorted(len(c[0].values) for c in contents if isinstance(c[0], Records)) == [1, 2]
    assert all(c[-1] == Watermark(5) for c in contents)


def test_a_latency_marker_waits_with_the_records() -> None:
    outbox = Outbox()
    output = make_output(outbox)

    output.emit([1], None)
    output.mark(LatencyMarker(1.0, "src", 0))
    assert outbox.take() == []
    output.emit([2], None)
    output.flush()

    (_, frame), _ = outbox.take()
    assert elements(frame) == [Records([1]), LatencyMarker(1.0, "src", 0), Records([2])]


def test_records_with_and_without_timestamps_are_separate_runs() -> None:
    outbox = Outbox()
    output = make_output(outbox)

    output.emit([1], None)
    output.emit([2], [20])
    output.flush()

    (_, frame), _ = outbox.take()
    assert elements(frame) == [Records([1]), Records([2], [20])]


def test_sequence_numbers_count_the_frames_of_a_channel() -> None:
    outbox = Outbox()
    output = make_output(outbox)

    for value in range(3):
        output.emit([value], None)
        output.flush()
    output.control(EndOfInput())

    numbers = [decode_header(frame).sequence for _, frame in outbox.take() if frame]
    assert numbers == [0, 1, 2, 3]


def test_large_records_are_runs_of_their_own() -> None:
    outbox = Outbox()
    output = make_output(outbox, frame_bytes=1 << 10)
    large = [bytes([i]) * 2000 for i in range(4)]
    output.emit(large[:1], [1])
    output.flush()  # only now it is known how large they are
    outbox.take()

    output.emit(large[1:], [2, 3, 4])

    ((_, frame),) = outbox.take()
    assert elements(frame) == [Records([large[i]], [i + 1]) for i in (1, 2, 3)]


def test_what_the_writer_has_waits_and_leaves_as_lists_do() -> None:
    outbox = Outbox()
    output = make_output(outbox, partitioning=Hash(itemgetter(0)), timeout_ms=10)

    output.emit([(1, "a")], [7])

    assert (output.buffered, outbox.take()) == (1, [])
    assert output.deadline(100.0, busy=False) == 100.0
    output.control(Watermark(9))
    (_, frame), _ = outbox.take()
    assert elements(frame) == [Records([(1, "a")], [7]), Watermark(9)]
    assert output.buffered == 0
