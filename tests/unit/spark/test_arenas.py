"""Arenas: frames come back as they were, stay while anything refers to them, and never fail a producer."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.protocol.frames import FrameError
from riverrun.protocol.local_frames import Reference
from riverrun.spark.worker.arenas import ConsumerArenas, ProducerArena
from riverrun.spark.worker.segments import PAGE

LIMIT = 64 * PAGE


def received(arenas: ConsumerArenas, reference: Reference | None) -> memoryview:
    assert reference is not None
    return arenas.frame(memoryview(reference.encoded()))


@given(st.lists(st.lists(st.binary(max_size=3 * PAGE), min_size=1, max_size=5), max_size=20))
def test_frames_come_back_whole(
    tmp_path_factory: pytest.TempPathFactory, frames: list[list[bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("arenas")
    producer, consumer = ProducerArena(folder, LIMIT), ConsumerArenas(folder)
    for pieces in frames:
        size = sum(map(len, pieces))
        if size:
            assert received(consumer, producer.place(pieces, size)) == b"".join(pieces)
    producer.close()


def test_bytes_stay_while_a_part_of_the_frame_is_referred_to(tmp_path: Path) -> None:
    producer, consumer = ProducerArena(tmp_path, LIMIT), ConsumerArenas(tmp_path)
    frame = received(consumer, producer.place([b"a" * PAGE], PAGE))
    part = frame[10:20]
    del frame
    for _ in range(100):
        received(consumer, producer.place([b"b" * PAGE], PAGE))

    assert part == b"a" * 10
    assert producer.held == 1
    del part
    assert producer.held == 0


def test_what_is_written_again_is_what_the_consumer_sees(tmp_path: Path) -> None:
    producer, consumer = ProducerArena(tmp_path, LIMIT), ConsumerArenas(tmp_path)
    for number in range(300):
        content = bytes([number % 251]) * (1 + number * 37 % (4 * PAGE))
        assert received(consumer, producer.place([content], len(content))) == content


def test_what_is_not_given_back_is_bounded(tmp_path: Path) -> None:
    producer = ProducerArena(tmp_path, 10 * PAGE)
    placed = [producer.place([bytes(2 * PAGE)], 2 * PAGE) for _ in range(10)]

    assert sum(reference is not None for reference in placed) == 4


def test_a_frame_that_is_larger_than_all_of_it_has_no_room(tmp_path: Path) -> None:
    assert ProducerArena(tmp_path, LIMIT).place([bytes(LIMIT)], LIMIT) is None


def test_a_full_folder_is_no_error(tmp_path: Path) -> None:
    producer = ProducerArena(tmp_path, LIMIT, free=lambda _: 5 * PAGE)

    assert producer.place([bytes(2 * PAGE)], 2 * PAGE) is None
    assert producer.place([bytes(PAGE)], PAGE) is not None
    assert producer.held == 1


def test_a_folder_that_fills_up_while_it_is_written_to_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = ProducerArena(tmp_path, LIMIT)
    monkeypatch.setattr(os, "pwritev", lambda *_: 17)

    assert producer.place([bytes(PAGE)], PAGE) is None
    monkeypatch.undo()
    reference = producer.place([b"x" * PAGE], PAGE)
    assert received(ConsumerArenas(tmp_path), reference) == b"x" * PAGE


def test_a_folder_that_was_removed_is_no_error_for_the_producer(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    producer = ProducerArena(folder, LIMIT)
    shutil.rmtree(folder)

    assert producer.place([b"x"], 1) is None


def test_a_missing_arena_fails_the_consumer(tmp_path: Path) -> None:
    with pytest.raises(FrameError, match="cleared"):
        received(ConsumerArenas(tmp_path), Reference(bytes(16), 0, PAGE, 1))


@pytest.mark.parametrize(("segment", "offset", "size"), [(0, 0, 8), (0, LIMIT, 1), (4096, PAGE, 1)])
def test_a_reference_that_points_outside_is_refused(
    tmp_path: Path, segment: int, offset: int, size: int
) -> None:
    reference = ProducerArena(tmp_path, LIMIT).place([b"x"], 1)
    assert reference is not None
    bad = reference._replace(segment=segment, offset=offset, size=size)

    with pytest.raises(FrameError, match="outside"):
        received(ConsumerArenas(tmp_path), bad)


def test_a_link_in_the_arena_s_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(bytes(LIMIT))
    (tmp_path / bytes(16).hex()).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(FrameError, match="cannot be read"):
        received(ConsumerArenas(tmp_path), Reference(bytes(16), 0, PAGE, 1))


def test_others_may_not_read_it(tmp_path: Path) -> None:
    ProducerArena(tmp_path, LIMIT).place([b"x"], 1)
    (file,) = tmp_path.iterdir()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_it_goes_when_its_producer_ends_unless_a_frame_is_still_to_be_read(tmp_path: Path) -> None:
    done, early = ProducerArena(tmp_path, LIMIT), ProducerArena(tmp_path, LIMIT)
    consumer = ConsumerArenas(tmp_path)
    received(consumer, done.place([b"x"], 1))
    reference = early.place([b"y"], 1)
    done.close()
    early.close()

    assert len(list(tmp_path.iterdir())) == 1
    assert bytes(received(consumer, reference)) == b"y"
