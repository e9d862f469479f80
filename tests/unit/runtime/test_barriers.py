"""Whatever the order in which channels deliver, a snapshot holds exactly what came before its barriers."""

from __future__ import annotations

import io
import pickle
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.core.clock import ManualClock
from riverrun.core.ids import EdgeId
from riverrun.graph.deployment import InEdge
from riverrun.protocol.barriers import BarrierMode, BarrierOptions, SavepointOrder, encode_options
from riverrun.protocol.elements import Barrier, EndOfChannel, EndOfInput, Records
from riverrun.protocol.frames import (
    EncodedRun,
    FrameHeader,
    encode_control,
    encode_frame,
    encode_records,
    split_encoded,
)
from riverrun.runtime.barriers import (
    BarrierHandler,
    Forget,
    LogsComplete,
    Release,
    TakeSnapshot,
)
from riverrun.runtime.checkpoints import TaskCheckpoints
from riverrun.runtime.inputs import Inputs

Record = tuple[int, int]
"""(channel, number)."""


@dataclass
class FakeChain:
    """Remembers what was processed, and what had been when it was frozen."""

    processed: list[Record] = field(default_factory=list)
    frozen: dict[int, list[Record]] = field(default_factory=dict)

    def freeze(
        self, checkpoint: int, timestamp: int, *, finished: bool, savepoint: bool
    ) -> list[Any]:
        del timestamp, finished, savepoint
        self.frozen[checkpoint] = list(self.processed)
        return []

    def checkpoint_completed(self, checkpoint: int) -> None:
        pass

    def checkpoint_aborted(self, checkpoint: int) -> None:
        pass


class Bench:
    """A task's inputs and checkpoints without operators or outputs."""

    def __init__(self, channels: int, *, memory_bytes: int = 1 << 20) -> None:
        self.clock = ManualClock(1_000_000)
        self.inputs = Inputs(
            (InEdge(EdgeId(0), tuple(range(channels))),),
            attempt=0,
            memory_bytes=memory_bytes,
            open_spill=io.BytesIO,
        )
        self.chain = FakeChain()
        self.checkpoints = TaskCheckpoints(
            None,  # type: ignore[arg-type]  # only passed on
            self.chain,  # type: ignore[arg-type]
            self.inputs,
            [],
            self.clock,
        )
        self._sequences = [0] * channels

    def deliver(self, channel: int, *elements: bytes) -> None:
        header = FrameHeader(0, 0, channel, 0, self._sequences[channel])
        self._sequences[channel] += 1
        for found, element in self.inputs.receive(encode_frame(header, elements)):
            self.checkpoints.arrive(found, element)

    def work(self, limit: int) -> bool:
        """Take one element; False when there was none."""
        due = self.checkpoints.deadline()
        if due is not None and due <= self.clock.monotonic():
            self.checkpoints.run_due(self.clock.monotonic())
        taken = self.inputs.take(limit, self.checkpoints.blocked)
        if taken is None:
            return False
        channel, element = taken
        if isinstance(element, Records):
            self.chain.processed += element.values
        elif isinstance(element, Barrier):
            self.checkpoints.barrier(channel, element)
        elif isinstance(element, EndOfChannel):
            self.checkpoints.channel_ended(channel)
        return True


def run_of(records: Sequence[Record]) -> bytes:
    return b"".join(encode_records(0, len(records), pickle.dumps(list(records)), None))


def barrier(checkpoint: int, mode: BarrierMode, timeout_ms: int = 0) -> bytes:
    options = encode_options(BarrierOptions(mode, timeout_ms))
    return encode_control(Barrier(checkpoint, 1_000_000, options))


SAVEPOINT = BarrierOptions(savepoint=SavepointOrder("/savepoints/savepoint-1-2"))


def logged(bench_snapshot: Any) -> list[Record]:
    return [
        record
        for _, data in bench_snapshot.logs.channels()
        for element in split_encoded(data)
        if isinstance(element, EncodedRun)
        for record in pickle.loads(element.data)
    ]


SCRIPTS = st.lists(
    st.lists(st.one_of(st.integers(1, 6), st.just("barrier")), max_size=8), min_size=1, max_size=4
)


@settings(max_examples=150, deadline=None)
@given(
    scripts=SCRIPTS,
    mode=st.sampled_from([*BarrierMode, "timeout"]),
    seed=st.integers(0, 10_000),
    memory=st.sampled_from([0, 60, 1 << 20]),
    savepoints=st.sets(st.integers(1, 8)),
)
def test_a_snapshot_holds_exactly_what_came_before_its_barriers(
    scripts: list[list[int | str]],
    mode: BarrierMode | str,
    seed: int,
    memory: int,
    savepoints: set[int],
) -> None:
    bench = Bench(len(scripts), memory_bytes=memory)
    rng = random.Random(seed)
    count = max(sum(step == "barrier" for step in script) for script in scripts)
    single = mode in (BarrierMode.UNALIGNED, "timeout")
    plans = [
        _plan(channel, script, count, mode, savepoints) for channel, script in enumerate(scripts)
    ]
    before = _before_barriers(scripts, count)
    snapshots: dict[int, Any] = {}
    while any(plans) or bench.inputs.waiting:
        ready = [number for number, plan in enumerate(plans) if plan]
        # One unaligned checkpoint at a time, as the coordinator has it; savepoints do not wait.
        if single:
            ready = [
                number
                for number in ready
                if not isinstance(plans[number][0], tuple)
                or plans[number][0][0] in savepoints
                or all(before in snapshots for before in range(1, plans[number][0][0]))
            ]
        if ready and rng.random() < 0.6:
            channel = rng.choice(ready)
            item = plans[channel].pop(0)
            bench.deliver(channel, item[1] if isinstance(item, tuple) else item)
        else:
            bench.work(rng.randint(1, 4))
        bench.clock.advance(rng.choice([0, 0, 3]))
        for snapshot in bench.checkpoints.take():
            assert snapshot.checkpoint not in snapshots
            snapshots[snapshot.checkpoint] = snapshot
    assert sorted(snapshots) == list(range(1, count + 1))
    everything = sorted(
        record for channel, script in enumerate(scripts) for record in _records(channel, script)
    )
    assert sorted(bench.chain.processed) == everything
    for number, snapshot in snapshots.items():
        held = sorted(bench.chain.frozen[number] + logged(snapshot))
        if number in savepoints:
            assert sorted(bench.chain.frozen[number]) == sorted(before[number])
        elif mode is BarrierMode.AT_LEAST_ONCE:
            assert set(before[number]) <= set(held)
        else:
            assert held == sorted(before[number])


def _records(channel: int, script: list[int | str]) -> list[Record]:
    total = sum(step for step in script if isinstance(step, int))
    return [(channel, number) for number in range(total)]


def _before_barriers(scripts: list[list[int | str]], count: int) -> dict[int, list[Record]]:
    """The records before barrier n of each channel; a channel that ends earlier gives all it has."""
    before: dict[int, list[Record]] = {number: [] for number in range(1, count + 1)}
    for channel, script in enumerate(scripts):
        seen = passed = 0
        cut: dict[int, int] = {}
        for step in script:
            if step == "barrier":
                passed += 1
                cut[passed] = seen
            else:
                seen += int(step)
        for number in before:
            before[number] += [(channel, each) for each in range(cut.get(number, seen))]
    return before


def _plan(
    channel: int,
    script: list[int | str],
    count: int,
    mode: BarrierMode | str,
    savepoints: set[int],
) -> list[Any]:
    plan: list[Any] = []
    number = passed = 0
    for step in script:
        if step == "barrier":
            passed += 1
            if passed in savepoints:
                saving = Barrier(passed, 1_000_000, encode_options(SAVEPOINT))
                plan.append((passed, encode_control(saving)))
                continue
            kind = BarrierMode.ALIGNED if isinstance(mode, str) else mode
            plan.append((passed, barrier(passed, kind, 2 if mode == "timeout" else 0)))
        else:
            plan.append(run_of([(channel, each) for each in range(number, number + int(step))]))
            number += int(step)
    ends = encode_control(EndOfInput()), encode_control(EndOfChannel())
    # Nothing may follow the end, so a channel without the last barriers ends before they matter.
    return [*plan, *ends] if passed <= count else plan


def aligned(checkpoint: int) -> Barrier:
    return Barrier(checkpoint, 0, encode_options(BarrierOptions()))


def unaligned(checkpoint: int) -> Barrier:
    return Barrier(checkpoint, 0, encode_options(BarrierOptions(BarrierMode.UNALIGNED)))


def test_an_aborted_checkpoint_lets_blocked_channels_go() -> None:
    handler = BarrierHandler(2)
    assert handler.barrier(0, aligned(1), 0.0) == []
    assert handler.blocked == {0}

    assert handler.abort(1) == [Forget(1), Release()]

    assert handler.blocked == set()
    assert handler.barrier(1, aligned(1), 1.0) == []


def test_a_checkpoint_that_was_aborted_before_its_barrier_came_is_ignored() -> None:
    handler = BarrierHandler(1)
    assert handler.abort(3) == []

    assert handler.barrier(0, aligned(3), 0.0) == []
    assert isinstance(handler.barrier(0, aligned(4), 0.0)[0], TakeSnapshot)


def test_a_later_barrier_ends_an_older_alignment() -> None:
    handler = BarrierHandler(2)
    handler.barrier(0, aligned(1), 0.0)

    actions = handler.barrier(1, aligned(2), 1.0)

    assert actions == [Forget(1), Release()]
    assert handler.blocked == {1}


def test_the_direct_trigger_snapshots_before_any_barrier_and_logs_until_all_are_there() -> None:
    handler = BarrierHandler(2)

    (taken,) = handler.trigger(unaligned(1), 0.0)

    assert isinstance(taken, TakeSnapshot)
    assert taken.unaligned
    assert handler.logs(0)
    assert handler.logs(1)
    assert handler.barrier(0, unaligned(1), 1.0) == []
    assert not handler.logs(0)
    assert handler.barrier(1, unaligned(1), 2.0) == [LogsComplete(1)]


def test_a_finished_channel_is_not_waited_for() -> None:
    handler = BarrierHandler(2)
    assert handler.ended(1, 0.0) == []

    assert [type(each) for each in handler.barrier(0, aligned(1), 0.0)] == [TakeSnapshot, Release]


def test_a_task_without_channels_snapshots_when_triggered() -> None:
    handler = BarrierHandler(0)

    assert [type(each) for each in handler.trigger(aligned(1), 0.0)] == [TakeSnapshot]
    assert [type(each) for each in handler.trigger(unaligned(2), 0.0)] == [
        TakeSnapshot,
        LogsComplete,
    ]
    assert handler.trigger(aligned(2), 0.0) == []


def test_a_checkpoint_that_a_later_one_ended_does_not_time_out() -> None:
    handler = BarrierHandler(2)
    options = encode_options(BarrierOptions(BarrierMode.ALIGNED, aligned_timeout_ms=5))
    first, second = Barrier(1, 0, options), Barrier(2, 0, options)
    handler.noticed(first, 0.0)
    handler.barrier(0, first, 0.0)
    handler.noticed(second, 4.0)
    assert handler.barrier(1, second, 4.0)[0] == Forget(1)

    assert handler.time_out(6.0) == []
    assert handler.deadline() == 9.0


@pytest.mark.parametrize("waited", [4.0, 5.0])
def test_the_timeout_begins_when_the_first_barrier_arrives(waited: float) -> None:
    handler = BarrierHandler(2)
    options = encode_options(BarrierOptions(BarrierMode.ALIGNED, aligned_timeout_ms=5))
    handler.noticed(Barrier(1, 0, options), 100.0)
    assert handler.deadline() == 105.0

    actions = handler.time_out(100.0 + waited)

    assert bool(actions) is (waited >= 5.0)


@pytest.mark.parametrize("mode", [BarrierMode.UNALIGNED, BarrierMode.AT_LEAST_ONCE])
def test_a_savepoint_lets_an_older_checkpoint_that_waits_for_nobody_go_on(
    mode: BarrierMode,
) -> None:
    handler = BarrierHandler(2)
    older = Barrier(1, 0, encode_options(BarrierOptions(mode)))
    savepoint = Barrier(2, 0, encode_options(SAVEPOINT))
    handler.barrier(0, older, 0.0)

    assert handler.barrier(0, savepoint, 1.0) == []
    done = handler.barrier(1, older, 2.0)
    assert [type(each) for each in done] in ([LogsComplete], [TakeSnapshot])
    assert handler.blocked == {0}
    assert [type(each) for each in handler.barrier(1, savepoint, 3.0)] == [TakeSnapshot, Release]
