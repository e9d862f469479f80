"""Event time where channels, inputs and splits meet: the minimum of what counts, and never back."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.valve import (
    NO_PROGRESS,
    CombinedTime,
    InputTime,
    Progress,
    RisingMinimum,
    WatermarkValve,
)


class TestValve:
    def test_waits_for_every_channel(self) -> None:
        valve = WatermarkValve(3)

        assert valve.watermark(0, 5) == valve.watermark(1, 3) == NO_PROGRESS
        assert valve.watermark(2, 7) == Progress(3)
        assert valve.watermark(1, 4) == Progress(4)
        assert valve.watermark(1, 2) == NO_PROGRESS

    def test_ignores_what_an_idle_channel_says_of_time(self) -> None:
        valve = WatermarkValve(2)
        valve.watermark(0, 5)
        valve.watermark(1, 5)
        valve.status(1, idle=True)

        assert valve.watermark(1, 50) == NO_PROGRESS
        assert valve.watermark(0, 9) == Progress(9)

    def test_a_channel_that_is_back_counts_once_it_has_caught_up(self) -> None:
        """Channel 1 sleeps at 5 while 0 goes to 20.

        1  5 ---idle--- active  8     25
        0  5  ------20---------    22     30
        out         20          .  22  .  25
        """
        valve = WatermarkValve(2)
        valve.watermark(0, 5)
        valve.watermark(1, 5)
        valve.status(1, idle=True)
        assert valve.watermark(0, 20) == Progress(20)

        assert valve.status(1, idle=False) == NO_PROGRESS
        assert valve.watermark(1, 8) == NO_PROGRESS
        assert valve.watermark(0, 22) == Progress(22), "channel 1 is behind and does not count"
        assert valve.watermark(1, 25) == NO_PROGRESS
        assert valve.watermark(0, 30) == Progress(25), "channel 1 counts again"

    def test_flushes_the_greatest_when_all_are_idle(self) -> None:
        valve = WatermarkValve(3)
        for channel, time in enumerate((10, 30, 20)):
            valve.watermark(channel, time)

        assert valve.status(1, idle=True) == NO_PROGRESS
        assert valve.status(2, idle=True) == NO_PROGRESS
        assert valve.status(0, idle=True) == Progress(30, idle=True)
        assert valve.status(0, idle=True) == NO_PROGRESS

    def test_is_active_when_one_channel_is(self) -> None:
        valve = WatermarkValve(2)
        valve.status(0, idle=True)
        assert valve.status(1, idle=True) == Progress(idle=True)

        assert valve.status(0, idle=False) == Progress(idle=False)
        assert valve.status(1, idle=False) == NO_PROGRESS

    def test_a_channel_that_ended_holds_nothing_back_and_is_never_idle(self) -> None:
        valve = WatermarkValve(3)
        valve.watermark(0, 10)
        valve.watermark(1, 20)

        assert valve.ended(2) == Progress(10)
        assert valve.status(1, idle=True) == NO_PROGRESS
        assert valve.ended(0) == Progress(20, idle=True), "what is left is idle"
        assert valve.ended(1) == NO_PROGRESS, "the end of all says more"
        assert valve.watermark(0, 99) == NO_PROGRESS


@dataclass
class NaiveValve:
    """The same law by looking at every channel, each time."""

    channels: int
    times: list[int] = field(init=False)
    idle: list[bool] = field(init=False)
    counted: list[bool] = field(init=False)
    ended: set[int] = field(default_factory=set)
    out: int = MIN_TIMESTAMP
    out_idle: bool = False

    def __post_init__(self) -> None:
        self.times = [MIN_TIMESTAMP] * self.channels
        self.idle = [False] * self.channels
        self.counted = [True] * self.channels

    def watermark(self, channel: int, time: int) -> Progress:
        if self.idle[channel] or channel in self.ended or time <= self.times[channel]:
            return NO_PROGRESS
        self.times[channel] = time
        self.counted[channel] = self.counted[channel] or time >= self.out
        return self._rise()

    def status(self, channel: int, *, idle: bool) -> Progress:
        if channel in self.ended or self.idle[channel] == idle:
            return NO_PROGRESS
        self.idle[channel] = idle
        if idle:
            return self._left(channel)
        self.counted[channel] = self.times[channel] >= self.out
        was, self.out_idle = self.out_idle, False
        return Progress(idle=False) if was else NO_PROGRESS

    def end(self, channel: int) -> Progress:
        if channel in self.ended:
            return NO_PROGRESS
        self.ended.add(channel)
        return self._left(channel) if len(self.ended) < self.channels else NO_PROGRESS

    def _left(self, channel: int) -> Progress:
        self.counted[channel] = False
        if any(not self.idle[c] for c in range(self.channels) if c not in self.ended):
            return self._rise()
        if self.out_idle:
            return NO_PROGRESS
        self.out_idle = True
        if self.times[channel] == self.out < max(self.times):
            self.out = max(self.times)
            return Progress(self.out, idle=True)
        return Progress(idle=True)

    def _rise(self) -> Progress:
        counted = [time for time, yes in zip(self.times, self.counted, strict=True) if yes]
        if not counted or min(counted) <= self.out:
            return NO_PROGRESS
        self.out = min(counted)
        return Progress(self.out)


channels = st.integers(0, 4)
steps = st.one_of(
    st.tuples(st.just("watermark"), channels, st.integers(0, 30)),
    st.tuples(st.just("idle"), channels, st.just(0)),
    st.tuples(st.just("active"), channels, st.just(0)),
    st.tuples(st.just("end"), st.integers(0, 9), st.just(0)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=60), st.integers(1, 5))
def test_the_valve_does_what_looking_at_every_channel_would(
    script: list[tuple[str, int, int]], count: int
) -> None:
    valve, naive = WatermarkValve(count), NaiveValve(count)
    before = valve.current

    for what, channel, time in script:
        if channel >= count:
            continue
        if what == "watermark":
            assert valve.watermark(channel, time) == naive.watermark(channel, time)
        elif what == "end":
            assert valve.ended(channel) == naive.end(channel)
        else:
            idle = what == "idle"
            assert valve.status(channel, idle=idle) == naive.status(channel, idle=idle)
        assert valve.current == naive.out >= before
        before = valve.current


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["put", "out"]), st.integers(0, 5), st.integers(0, 9))))
def test_the_rising_minimum_is_the_minimum(script: list[tuple[str, int, int]]) -> None:
    rising = RisingMinimum()
    highest: dict[int, int] = {}
    members: dict[int, int] = {}

    for what, member, by in script:
        if what == "put":
            members[member] = highest[member] = highest.get(member, 0) + by
            rising.put(member, members[member])
        else:
            members.pop(member, None)
            rising.leave_out(member)
        assert rising.lowest() == min(members.values(), default=None)
        assert len(rising._heap) <= 6


class TestCombinedTime:
    def test_a_part_that_is_back_holds_the_others_until_it_has_caught_up(self) -> None:
        time = CombinedTime()
        slow, fast = time.add(), time.add()
        time.rise(slow, 5)
        time.rise(fast, 50)
        time.set_idle(slow, idle=True)
        assert time.settle() == Progress(50)

        time.set_idle(slow, idle=False)
        time.rise(fast, 60)
        assert time.settle() == NO_PROGRESS
        time.rise(slow, 70)
        assert time.settle() == Progress(60)

    def test_is_idle_when_every_part_is_and_flushes_nothing(self) -> None:
        time = CombinedTime()
        one, two = time.add(), time.add()
        time.rise(one, 5)
        time.rise(two, 9)
        assert time.settle() == Progress(5)

        time.set_idle(one, idle=True)
        time.set_idle(two, idle=True)
        assert time.settle() == Progress(idle=True)
        time.set_idle(one, idle=False)
        assert time.settle() == Progress(idle=False)

    def test_a_part_that_leaves_sets_the_others_free(self) -> None:
        time = CombinedTime()
        one, two = time.add(), time.add()
        time.rise(one, 9)
        time.settle()

        time.remove(two)

        assert time.settle() == Progress(9)

    def test_without_parts_nothing_moves(self) -> None:
        time = CombinedTime()
        time.remove(time.add())

        assert time.settle() == NO_PROGRESS
        assert not time.idle


class TestInputTime:
    def test_an_operator_with_two_inputs_takes_the_lesser(self) -> None:
        time = InputTime([0, 0, 1])

        assert time.watermark(0, 10) == time.watermark(1, 20) == NO_PROGRESS
        assert time.watermark(2, 5) == Progress(5)
        assert {number: valve.current for number, valve in time.inputs.items()} == {0: 10, 1: 5}

    def test_an_idle_input_does_not_hold_the_other_back(self) -> None:
        time = InputTime([0, 1])
        time.watermark(0, 10)

        assert time.status(1, idle=True) == Progress(10)
        assert time.status(0, idle=True) == Progress(idle=True)

    def test_an_input_that_ended_does_not_hold_the_other_back(self) -> None:
        time = InputTime([0, 1, 1])
        time.watermark(0, 10)

        assert time.ended(1) == NO_PROGRESS
        assert time.ended(2) == Progress(10)
        assert time.status(0, idle=True) == Progress(idle=True)

    def test_a_task_without_inputs_has_no_time(self) -> None:
        assert InputTime([]).current == MIN_TIMESTAMP
