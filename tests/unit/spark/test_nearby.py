"""Rows with references in the place of large frames: what arrives is what was sent, on every way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from riverrun.core import options
from riverrun.protocol.frames import WIDE_BYTES, FrameHeader, WideFrame, wide_frame
from riverrun.protocol.local_frames import is_reference
from riverrun.protocol.parts import MOST_BYTES, PartJoiner
from riverrun.spark.worker.nearby import Nearby
from riverrun.spark.worker.rows import Frame, batches_of, frames_of
from riverrun.spark.worker.shared_folder import SharedFolder

LEAST = 1_000
MOST = 4 << 20
NEAR, FAR = 3, 4


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[SharedFolder]:
    shared = SharedFolder.open({options.LOCAL_FRAME_FOLDER.key: str(tmp_path)}, "job", 0)
    assert shared is not None
    yield shared
    shared.close()


def nearby(folder: SharedFolder | None, pause: Callable[[float], None] | None = None) -> Nearby:
    config = {
        options.LOCAL_FRAME_BYTES.key: str(LEAST),
        options.LOCAL_FRAME_MEMORY.key: str(MOST),
    }
    made = Nearby(config, folder, pause or (lambda _: None))
    made.met([NEAR])
    return made


def frame_of(size: int, sequence: int = 0) -> Frame:
    content: list[bytes | memoryview] = [bytes([sequence % 251]) * (size // 2), b"x" * (size // 2)]
    return wide_frame(FrameHeader(1, 2, 3, 4, sequence), content, size)


def plain(frame: Frame) -> bytes:
    return frame.joined() if isinstance(frame, WideFrame) else bytes(frame)


def rows_of(rows: list[tuple[int, Frame]], producer: Nearby) -> list[tuple[int, bytes]]:
    return [
        (target, row)
        for batch in batches_of(rows, producer)
        for target, row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]


SIZES = st.one_of(st.integers(0, 3 * LEAST), st.sampled_from([WIDE_BYTES, MOST_BYTES + 1, 1 << 20]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(sizes=st.lists(st.tuples(st.sampled_from([NEAR, FAR]), SIZES), max_size=20))
def test_all_frames_arrive_in_order_whatever_way_they_take(
    folder: SharedFolder, sizes: list[tuple[int, int]]
) -> None:
    producer, consumer = nearby(folder), nearby(folder)
    rows = [(target, frame_of(size, n)) for n, (target, size) in enumerate(sizes)]
    joiner = PartJoiner()
    found = [
        frame
        for batch in batches_of(rows, producer)
        for frame in frames_of(batch, joiner, consumer.received)
    ]

    assert [bytes(frame) for frame in found] == [plain(frame) for _, frame in rows]
    producer.close()


def test_large_frames_for_tasks_nearby_are_replaced_and_no_others(folder: SharedFolder) -> None:
    sizes = [(NEAR, LEAST), (NEAR, LEAST // 2), (FAR, LEAST), (NEAR, 2 * MOST)]
    rows = rows_of([(target, frame_of(size)) for target, size in sizes], nearby(folder))

    assert [is_reference(row) for _, row in rows[:3]] == [True, False, False]
    assert not any(is_reference(row) for _, row in rows[3:])


@pytest.mark.parametrize("size", [LEAST, 2 << 20])
def test_before_the_job_starts_nobody_is_nearby(folder: SharedFolder, size: int) -> None:
    producer = nearby(folder)
    producer.met([])

    assert not any(is_reference(row) for _, row in rows_of([(NEAR, frame_of(size))], producer))


def test_without_a_folder_all_frames_go_through_spark() -> None:
    producer = nearby(None)

    assert producer.token is None
    assert not any(is_reference(row) for _, row in rows_of([(NEAR, frame_of(LEAST))], producer))


def test_a_frame_waits_for_room_while_consumers_give_it_back(folder: SharedFolder) -> None:
    waiting: list[memoryview] = []
    producer = nearby(folder, pause=lambda _: waiting.clear())
    consumer = nearby(folder)
    assert consumer.received is not None
    ways: list[bool] = []
    for batch in batches_of([(NEAR, frame_of(1 << 20, n)) for n in range(40)], producer):
        rows = [row for row in batch.column(1).to_pylist() if row]
        ways += map(is_reference, rows)
        waiting += [consumer.received.frame(memoryview(row)) for row in rows]

    assert ways == [True] * 40


def test_frames_full_of_records_hold_a_quarter_of_a_megabyte_for_a_consumer_at_most(
    folder: SharedFolder,
) -> None:
    producer = nearby(folder)
    producer.met([NEAR, FAR])
    sent = [(target, frame_of(64_000, n)) for n in range(12) for target in (NEAR, FAR)]

    rows = rows_of(sent, producer)

    for target in (NEAR, FAR):
        ways = [is_reference(row) for whose, row in rows if row and whose == target]
        assert ways == [True] * 4 + [False] * 8


def test_a_large_frame_is_not_kept_out_by_those_before_it(folder: SharedFolder) -> None:
    sizes = [64_000] * 5 + [256 << 10]
    rows = rows_of([(NEAR, frame_of(size, n)) for n, size in enumerate(sizes)], nearby(folder))

    assert [is_reference(row) for _, row in rows if row] == [True] * 4 + [False, True]


def test_a_frame_goes_through_spark_if_no_room_is_given_back(folder: SharedFolder) -> None:
    pauses: list[float] = []
    producer, consumer = nearby(folder, pauses.append), nearby(folder)
    sent = [frame_of(1 << 20, n) for n in range(6)]
    joiner = PartJoiner()
    batches = list(batches_of([(NEAR, frame) for frame in sent], producer))
    found = [frame for batch in batches for frame in frames_of(batch, joiner, consumer.received)]

    assert [bytes(frame) for frame in found] == [plain(frame) for frame in sent]
    assert pauses
    assert sum(is_reference(row) for batch in batches for row in batch[1].to_pylist() if row) == 3


def test_a_frame_waits_less_for_those_who_gave_nothing_back_to_the_one_before(
    folder: SharedFolder,
) -> None:
    pauses: list[float] = []
    waits: list[float] = []
    producer = nearby(folder, pauses.append)
    placed = [producer.place(NEAR, frame_of(1 << 20, n)) for n in range(3)]
    for number in (3, 4):
        assert producer.place_patiently(NEAR, frame_of(1 << 20, number)) is None
        waits.append(sum(pauses))
        pauses.clear()

    assert None not in placed
    assert waits[1] < waits[0] / 10


def test_references_of_one_run_leave_together(folder: SharedFolder) -> None:
    producer = nearby(folder)
    batches = list(batches_of([(NEAR, frame_of(1 << 20, n)) for n in range(3)], producer))

    assert [len(batch) for batch in batches] == [3]


def test_what_was_sent_before_a_wait_is_followed_by_a_filler(folder: SharedFolder) -> None:
    producer = nearby(folder)
    batches = list(batches_of([(NEAR, frame_of(900_000, n)) for n in range(5)], producer))

    assert batches[-2].column(1).to_pylist()[-1] == b""


def test_a_wait_is_preceded_by_fillers_for_what_earlier_runs_sent(folder: SharedFolder) -> None:
    producer = nearby(folder)
    for number in range(3):
        list(batches_of([(NEAR, frame_of(1 << 20, number))], producer))
    batches = batches_of([(NEAR, frame_of(1 << 20, 3))], producer)

    assert next(batches).column(1).to_pylist() == [b""]
