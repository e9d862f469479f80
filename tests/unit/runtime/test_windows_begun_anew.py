"""After a restart event time begins anew: windows that had fired fire again for records that come to them.

Every operator for windows gives there what the one for any trigger gives, and with allowed lateness a window
that was kept fires with all it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.functions import AggregateFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.session_windows import EventTimeSessionWindows
from riverrun.api.triggers import EventTimeTrigger
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from riverrun.api.window_functions import ProcessWindowFunction
from riverrun.datastream.data_stream import DataStream
from riverrun.serde.key_hash import key_group
from riverrun.testing.harness import HarnessSnapshot, OperatorHarness

LATE = OutputTag("late")
Shown = tuple[str, tuple[int, int], tuple[int, ...]]
Record = tuple[str, int]
"""Key and time, which is the record's number too."""


class OfThisTest(EventTimeTrigger[Any]):
    """Like the usual trigger, but not known to any operator as such."""


class Times(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Record, accumulator: list[int]) -> list[int]:
        return [*accumulator, value[1]]

    def get_result(self, accumulator: list[int]) -> list[int]:
        return accumulator

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


class Show(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]
    ) -> Iterator[Shown]:
        found = list(elements)
        times = found[0] if isinstance(found[0], list) else [time for _, time in found]
        window = context.window()
        yield key, (window.start, window.end), tuple(sorted(times))


class Play:
    """A stage for one way to run windows; shows what comes out at each step."""

    def __init__(
        self, assigner: WindowAssigner[Any, Any], lateness: int, *, folded: bool, known: bool
    ) -> None:
        def build(stream: DataStream) -> DataStream:
            windows = stream.key_by(lambda value: value[0]).window(assigner)
            windows.allowed_lateness(lateness)
            if not known:
                windows.trigger(OfThisTest())
            return windows.aggregate(Times(), Show()) if folded else windows.process(Show())

        self._build = build
        self.shown: list[list[Shown]] = []

    def run(self, backend: str) -> list[list[Shown]]:
        with OperatorHarness(self._build, backend=backend) as harness:
            self._push(harness, [("a", 0), ("a", 5), ("b", 5)])
            self._push(harness, [("a", 60)])
            self._reach(harness, 20)
            snapshot = harness.snapshot()
        with OperatorHarness(self._build, backend=backend, restore=[snapshot]) as harness:
            self._push(harness, [("a", 3), ("c", 1)])
            self._reach(harness, 1)
            self._reach(harness, 12)
            self._push(harness, [("a", 4), ("a", 2)])
            self._reach(harness, 20)
            self._push(harness, [("b", 6)])
            harness.end_input()
            self._look(harness)
        return self.shown

    def _push(self, harness: OperatorHarness, records: Sequence[Record]) -> None:
        harness.push_run(records, [time for _, time in records])
        self._look(harness)

    def _reach(self, harness: OperatorHarness, watermark: int) -> None:
        harness.watermark(watermark)
        self._look(harness)

    def _look(self, harness: OperatorHarness) -> None:
        self.shown.append(sorted(harness.output()))


@pytest.mark.parametrize("lateness", [0, 100])
@pytest.mark.parametrize("folded", [False, True], ids=["listed", "folded"])
@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(15),
        SlidingEventTimeWindows.of(15, 5),
        SlidingEventTimeWindows.of(15, 4),
        EventTimeSessionWindows.with_gap(10),
        EventTimeSessionWindows.with_dynamic_gap(lambda value: 10),
    ],
    ids=repr,
)
def test_every_operator_gives_what_the_one_for_any_trigger_gives(
    assigner: WindowAssigner[Any, Any], lateness: int, *, folded: bool
) -> None:
    expected = Play(assigner, lateness, folded=folded, known=False).run("hashmap")

    assert Play(assigner, lateness, folded=folded, known=True).run("hashmap") == expected
    if folded:
        assert Play(assigner, lateness, folded=folded, known=True).run("rocksdb") == expected


@pytest.mark.parametrize("other", [[], [("a", 60)]], ids=["one session", "several sessions"])
def test_a_session_that_fired_before_a_restart_fires_again_with_a_record_inside_it(
    other: list[Record],
) -> None:
    # a   |0----5----------15|   fired at 14, kept until 114
    #        ^3                  comes after the restart, and makes the session no longer
    def build(stream: DataStream) -> DataStream:
        keyed = stream.key_by(lambda value: value[0])
        windows = keyed.window(EventTimeSessionWindows.with_gap(10)).allowed_lateness(100)
        return windows.process(Show())

    with OperatorHarness(build) as harness:
        records = [("a", 0), ("a", 5), *other]
        harness.push_run(records, [time for _, time in records])
        harness.watermark(20)
        assert harness.output() == [("a", (0, 15), (0, 5))]
        snapshot = harness.snapshot()
    with OperatorHarness(build, restore=[snapshot]) as harness:
        harness.push(("a", 3), 3)
        harness.watermark(20)
        assert harness.output() == [("a", (0, 15), (0, 3, 5))]
        harness.end_input()
        assert harness.output() == [("a", (60, 70), (60,)) for _ in other]


RESTART = "restart"
Move = list[Record] | int | str
"""Records that come together, a watermark, or a restart."""


@st.composite
def stories(draw: st.DrawFn) -> list[Move]:
    """Records near a clock that moves on; after a restart watermarks begin far behind it."""
    moves: list[Move] = []
    clock = behind = 0
    for _ in range(draw(st.integers(3, 25))):
        clock += draw(st.integers(0, 4))
        behind = max(0, behind - 4)
        kind = draw(st.integers(0, 9))
        if kind == 0:
            moves.append(RESTART)
            behind = draw(st.integers(0, 40))
        elif kind <= 4:
            moves.append(clock - behind - draw(st.integers(0, 5)))
        else:
            times = draw(st.lists(st.integers(0, 18), min_size=1, max_size=4))
            keys = draw(st.lists(st.sampled_from("ab"), min_size=4, max_size=4))
            run = zip(keys, times, strict=False)
            moves.append([(key, max(0, clock - behind // 2 - time)) for key, time in run])
    return moves


class Stage:
    """One way to run windows, of one subtask or of several one after the other."""

    def __init__(
        self, assigner: WindowAssigner[Any, Any], lateness: int, *, folded: bool, known: bool
    ) -> None:
        def build(stream: DataStream) -> DataStream:
            windows = stream.key_by(lambda value: value[0]).window(assigner)
            windows.allowed_lateness(lateness).side_output_late_data(LATE)
            if not known:
                windows.trigger(OfThisTest())
            return windows.aggregate(Times(), Show()) if folded else windows.process(Show())

        self._build = build
        self.shown: list[Any] = []

    def play(
        self,
        story: Sequence[Move],
        *restore: HarnessSnapshot,
        parallelism: int = 1,
        subtask: int = 0,
    ) -> HarnessSnapshot:
        """Let ``story`` come to a subtask that starts from snapshots; what it leaves."""
        reached = -1
        harness = self._start(restore, parallelism, subtask)
        try:
            for move in story:
                if isinstance(move, str):
                    snapshot = harness.snapshot()
                    harness.close()
                    harness = self._start([snapshot], parallelism, subtask)
                    reached = -1
                elif isinstance(move, list):
                    harness.push_run(move, [time for _, time in move])
                elif move > reached:
                    reached = move
                    harness.watermark(move)
                late = sorted(harness.side_output(LATE))
                self.shown.append((move, sorted(harness.output()), late))
            if reached == END:
                assert harness.keys("_window.contents") == [] == harness.keys("_window.slices")
            return harness.snapshot()
        finally:
            harness.close()

    def _start(
        self, restore: Sequence[HarnessSnapshot], parallelism: int, subtask: int
    ) -> OperatorHarness:
        return OperatorHarness(
            self._build,
            side_outputs=[LATE],
            restore=restore,
            parallelism=parallelism,
            subtask=subtask,
        )


END = 10_000
WINDOWS = st.sampled_from(
    [
        TumblingEventTimeWindows.of(10),
        SlidingEventTimeWindows.of(12, 4),
        SlidingEventTimeWindows.of(10, 4, 1),
        EventTimeSessionWindows.with_gap(5),
    ]
)
LATENESS = st.sampled_from([0, 6, 60])


@settings(max_examples=40, deadline=None)
@given(stories(), WINDOWS, LATENESS, st.booleans())
def test_whatever_comes_before_and_after_restarts_every_operator_gives_the_same(
    story: list[Move], assigner: WindowAssigner[Any, Any], lateness: int, folded: bool
) -> None:
    stages = [Stage(assigner, lateness, folded=folded, known=known) for known in (True, False)]

    for stage in stages:
        stage.play([*story, END])

    assert stages[0].shown == stages[1].shown


KEYS = [
    [key for key in "abcdefgh" if key_group(key, 128) // 64 == subtask][:2] for subtask in (0, 1)
]
"""Two keys of each of two subtasks."""


def renamed(story: list[Move], keys: Sequence[str]) -> list[Move]:
    """The same moves with other keys."""
    named = dict(zip("ab", keys, strict=True))
    return [
        [(named[key], time) for key, time in move] if isinstance(move, list) else move
        for move in story
    ]


@settings(max_examples=40, deadline=None)
@given(stories(), stories(), stories(), WINDOWS, LATENESS, st.booleans())
def test_subtasks_that_were_at_different_times_become_one(
    first: list[Move],
    second: list[Move],
    after: list[Move],
    assigner: WindowAssigner[Any, Any],
    lateness: int,
    folded: bool,
) -> None:
    stages = [Stage(assigner, lateness, folded=folded, known=known) for known in (True, False)]

    for stage in stages:
        snapshots = [
            stage.play(renamed(story, KEYS[subtask]), parallelism=2, subtask=subtask)
            for subtask, story in enumerate((first, second))
        ]
        stage.play([*renamed(after, [KEYS[0][0], KEYS[1][0]]), END], *snapshots)

    assert stages[0].shown == stages[1].shown
