"""What may be in flight towards a task follows from what it works off; nobody starves, nobody waits for ever."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.runtime.debloating import (
    FIRST,
    UNLIMITED,
    ChannelLimits,
    DebloatSettings,
    Grant,
    InputDebloater,
)

FRAME = 65536
SETTINGS = DebloatSettings()


def debloater(channels: int = 1, settings: DebloatSettings = SETTINGS) -> InputDebloater:
    return InputDebloater(channels, settings, frame_bytes=FRAME, now=0.0)


def steadily(
    subject: InputDebloater, per_ms: float, *, until_ms: int = 20_000, channels: int = 1
) -> dict[int, Grant]:
    """Work at this rate in every channel alike, without a pause; the latest grant of each."""
    grants: dict[int, Grant] = {}
    done = 0
    for now in range(10, until_ms, 10):
        records, done = int(now * per_ms) - done, int(now * per_ms)
        for channel in range(channels):
            share = records // channels + (channel < records % channels)
            subject.arrived(float(now), share, 10 * share)
            subject.worked(channel, share)
        grants |= {grant.channel: grant for grant in subject.look(float(now))}
    return grants


class TestAllowance:
    @pytest.mark.parametrize("per_ms", [0.1, 1.0, 20.0, 500.0])
    def test_is_what_is_worked_off_within_the_target(self, per_ms: float) -> None:
        subject = debloater()

        steadily(subject, per_ms)

        assert subject.allowed == pytest.approx(1000 * per_ms, rel=0.1)

    def test_does_not_count_time_without_input(self) -> None:
        subject, now = debloater(), 0.0
        for _ in range(200):
            subject.arrived(now, 100, 1000)
            now += 10.0
            subject.worked(0, 100)
            subject.look(now)
            subject.starves(now)
            now += 990.0

        assert subject.allowed == pytest.approx(10_000, rel=0.1)

    def test_is_shared_by_all_channels(self) -> None:
        subject = debloater(4)

        grants = steadily(subject, 4.0, channels=4)

        allowed = [grants[channel].until - 4.0 * 20_000 / 4 for channel in range(4)]
        assert allowed == pytest.approx([1000] * 4, rel=0.3)

    def test_goes_to_the_channels_that_are_used(self) -> None:
        subject, latest = debloater(100), 0
        for now in range(10, 20_000, 10):
            subject.arrived(float(now), 100, 1000)
            subject.worked(0, 100)
            for grant in subject.look(float(now)):
                latest = grant.until - 10 * now

        assert latest == pytest.approx(10_000 * (0.5 + 0.5 / 100), rel=0.1)

    def test_of_a_very_slow_function_is_one_record(self) -> None:
        subject, now = debloater(), 0.0
        until = 0
        for _ in range(10):
            subject.arrived(now, 1, 10)
            now += 10_000.0
            subject.worked(0, 1)
            for grant in subject.look(now):
                until = grant.until

        assert until == 11

    def test_falls_when_the_function_gets_slow(self) -> None:
        subject = debloater()
        steadily(subject, 100.0)
        now = 20_000.0
        for _ in range(300):
            now += 100.0
            subject.worked(0, 10)
            subject.look(now)

        assert subject.allowed == pytest.approx(100, rel=0.2)

    def test_makes_frames_smaller_and_never_larger_than_they_are_without(self) -> None:
        slow, fast = debloater(), debloater()
        steadily(slow, 0.8)
        steadily(fast, 800.0)

        assert slow.frame_bytes == pytest.approx(800 / 8 * 10, rel=0.1)
        assert fast.frame_bytes == FRAME

    def test_does_not_hold_anybody_back_who_sends_to_a_task_that_ended(self) -> None:
        released = debloater(3).release()

        assert [grant.until for grant in released] == [UNLIMITED] * 3

    def test_is_not_given_for_what_was_not_sent(self) -> None:
        subject = debloater()
        subject.worked(None, 1000)

        assert subject.look(1000.0) == []


facts = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 5000), st.floats(0.0, 3000.0), st.booleans()),
    max_size=60,
)


@given(facts, st.floats(100.0, 5000.0), st.integers(1, 40))
def test_whatever_happens_the_allowance_moves_in_bounded_steps_and_no_channel_gets_nothing(
    happened: list[tuple[int, int, float, bool]], target_ms: float, samples: int
) -> None:
    settings = DebloatSettings(target_ms, 200.0, samples)
    subject, now, done = debloater(5, settings), 0.0, [0] * 5
    for channel, records, ms, starves in happened:
        before = subject.allowed
        subject.arrived(now, records, records * 7)
        now += ms
        subject.worked(channel, records)
        done[channel] += records
        grants = subject.look(now)
        if starves:
            subject.starves(now)
        assert before // 2 <= subject.allowed <= 2 * before + 1
        assert subject.allowed >= 1
        for grant in grants:
            allowed = grant.until - done[grant.channel]
            assert 1 <= allowed <= max(FIRST, subject.allowed)
            assert 1 <= grant.frame_bytes <= FRAME
        assert 1 <= subject.frame_bytes <= FRAME


@dataclass
class _Link:
    """A producer, its consumer and what is on its way between the two, in both directions."""

    limits: ChannelLimits
    sent: int = 0
    done: int = 0
    widest: int = FIRST
    """The most that was ever allowed to be in flight."""
    data: deque[int] = field(default_factory=deque)
    reports: deque[int] = field(default_factory=deque)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=300),
    st.integers(1, 60),
    st.floats(0.01, 500.0),
)
def test_as_long_as_the_consumer_works_and_reports_arrive_every_producer_goes_on(
    events: list[tuple[int, int]], each: int, record_ms: float
) -> None:
    subject, now = debloater(3), 0.0
    links = [_Link(ChannelLimits([0])) for _ in range(3)]

    def step(what: int, which: int) -> None:
        nonlocal now
        link = links[which]
        if what == 0 and (room := link.limits.room(link.sent)) > 0:
            records = min(each, room)
            link.sent += records
            link.data.append(records)
        elif what == 1 and link.data:
            records = link.data.popleft()
            subject.arrived(now, records, records * 9)
            now += records * record_ms
            subject.worked(which, records)
            link.done += records
            for grant in subject.look(now):
                told = links[grant.channel]
                told.reports.append(grant.until)
                told.widest = max(told.widest, grant.until - told.done)
        elif what == 2 and link.reports:
            link.limits.granted(0, link.reports.popleft())

    for what, which in events:
        step(what, which)
        assert all(link.sent - link.done <= link.widest for link in links)
    for which, link in enumerate(links):
        before = link.sent
        for _ in range(200):
            for what in (0, 1, 2):
                step(what, which)
        assert link.sent >= before + 100
