"""A task keeps to what its consumers have room for, and tells its producers what it has room for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from riverrun.core.clock import ManualClock
from riverrun.core.errors import ConfigError
from riverrun.core.ids import EdgeId
from riverrun.graph.deployment import OutEdge
from riverrun.graph.partitioning import Broadcast
from riverrun.graph.specs import MapSpec
from riverrun.protocol.barriers import BarrierMode, BarrierOptions, encode_options
from riverrun.protocol.control import RecordsAllowed, SendUntil
from riverrun.protocol.elements import Barrier, EndOfChannel, EndOfInput, Records, Watermark
from riverrun.protocol.frames import FILLER, decode_elements
from riverrun.runtime.buffers import Channel, DebloatedBuffer, Producer
from riverrun.runtime.debloating import FIRST, UNLIMITED, DebloatSettings
from riverrun.runtime.output import Outbox
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.task import Task, Turn
from riverrun.serde.runs import PickleRunCodec, decode_run
from tests.unit.runtime.test_task import Feeder, double, drain, make_task

DEBLOATED = TaskSettings(debloat=DebloatSettings())


def started() -> tuple[Task, Feeder]:
    task = make_task(MapSpec(double), clock=ManualClock(), settings=DEBLOATED)
    return task, Feeder(task)


def sent(outbox: Outbox) -> list[object]:
    return [
        element
        for _, frame in outbox.take()
        if frame != FILLER
        for element in decode_elements(frame, lambda tag, data: decode_run(tag, data, None))
    ]


def count(elements: list[object]) -> int:
    return sum(len(each.values) for each in elements if isinstance(each, Records))


def test_a_task_stops_at_what_its_consumer_allows_and_has_sent_all_of_it() -> None:
    task, feeder = started()

    feeder.send(Records(list(range(100))))

    assert drain(task) is Turn.IDLE
    assert task.held_back
    assert task.waiting
    assert count(sent(task.outbox)) == FIRST


def test_a_task_goes_on_when_its_consumer_allows_more() -> None:
    task, feeder = started()
    feeder.send(Records(list(range(100))))
    drain(task)

    task.obey(SendUntil(2, 0, 60, 4096))
    drain(task)

    assert count(sent(task.outbox)) == 60
    task.obey(SendUntil(2, 0, UNLIMITED, 4096))
    drain(task)
    task.flush()
    assert count(sent(task.outbox)) == 40
    assert not task.held_back


def test_a_barrier_passes_a_task_that_is_held_back() -> None:
    task, feeder = started()
    options = encode_options(BarrierOptions(BarrierMode.ALIGNED))
    feeder.send(Records(list(range(FIRST))), Barrier(1, 0, options), Records([1]))

    drain(task)

    assert [type(each) for each in sent(task.outbox)][-1] is Barrier
    assert task.held_back
    assert task.waiting


def test_a_task_says_how_far_its_producers_may_go() -> None:
    task, feeder = started()
    task.obey(SendUntil(2, 0, UNLIMITED, 4096))
    feeder.send(Records(list(range(8))))

    drain(task)

    reports = [each for each in task.take_reports() if isinstance(each, RecordsAllowed)]
    (allowance,) = reports[-1].channels
    assert (allowance.edge, allowance.producer) == (1, 0)
    assert allowance.until > 8


def test_a_task_that_ends_holds_nobody_back() -> None:
    task, feeder = started()
    feeder.send(Records([1]), Watermark(5), EndOfInput(), EndOfChannel())

    assert drain(task) is Turn.FINISHED

    last = task.take_reports()[-1]
    assert isinstance(last, RecordsAllowed)
    assert [each.until for each in last.channels] == [UNLIMITED]


def test_a_task_without_debloating_says_nothing_and_waits_for_nobody() -> None:
    task = make_task(MapSpec(double), clock=ManualClock())
    Feeder(task).send(Records(list(range(1000))))

    drain(task)

    assert not task.waiting
    assert not task.held_back
    assert task.take_reports() == []


def test_the_slowest_consumer_of_a_broadcast_counts() -> None:
    edge = OutEdge(EdgeId(1), 0, None, Broadcast(), (0, 1), 2, 128, {0: 0, 1: 1})
    channels = [Channel(Producer("op", 0, 0), edge.edge, each, each) for each in edge.consumers]
    buffer = DebloatedBuffer(channels, PickleRunCodec(), 4096, "op")

    buffer.granted(0, 500, 1024)
    assert buffer.room == FIRST
    buffer.granted(1, 300, 2048)

    assert buffer.room == 300


def test_frames_leave_in_the_size_that_is_asked_for() -> None:
    buffer = DebloatedBuffer([Channel(Producer("op", 0, 0), 1, 0, 0)], PickleRunCodec(), 4096, "op")
    buffer.granted(0, UNLIMITED, 64)
    buffer.values.extend(range(100))
    buffer.seal()

    assert buffer.full
    assert buffer.limit < 64
    buffer.granted(0, UNLIMITED, 1 << 20)
    assert not buffer.full


@pytest.mark.parametrize(
    ("key", "text"), [("target", "99 ms"), ("period", "1 ms"), ("samples", "0")]
)
def test_settings_out_of_range_are_refused(key: str, text: str) -> None:
    prefix = "taskmanager.network.memory.buffer-debloat"
    config = {f"{prefix}.enabled": "true", f"{prefix}.{key}": text}

    with pytest.raises(ConfigError, match=f"{key}.*at least|{key}.*or more"):
        TaskSettings.of(config)


def test_settings_are_flinks() -> None:
    settings = TaskSettings.of({"taskmanager.network.memory.buffer-debloat.enabled": "true"})

    assert TaskSettings.of({}).debloat is None
    assert settings == replace(TaskSettings.of({}), debloat=DebloatSettings(1000.0, 200.0, 20))
