"""The interval join: which records meet, what is late, what is kept and for how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.join_functions import ProcessJoinFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.state import MapState, MapStateDescriptor
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream
from riverrun.runtime.failures import OperatorFailed
from riverrun.runtime.operators import interval_join
from riverrun.runtime.operators.interval_join import NoEventTime
from riverrun.serde.types import Types
from riverrun.testing.harness import OperatorHarness
from tests.oracles.joins import Arrival, Event, Record, interval_join_as_it_happens

BACKENDS = ("hashmap", "rocksdb")
LEFT_LATE, RIGHT_LATE, SEEN = OutputTag("left late"), OutputTag("right late"), OutputTag("seen")
TAGS = (LEFT_LATE, RIGHT_LATE, SEEN)


class Pair(ProcessJoinFunction[Any, Any, Any]):
    def process_element(
        self, left: Any, right: Any, ctx: ProcessJoinFunction.Context
    ) -> Iterator[Any]:
        yield left[1], right[1]
        yield SEEN, (ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp())


class Joins:
    """Builds the join; records are pairs of a key and a value."""

    def __init__(self, lower: int, upper: int, *, exclusive: str = "") -> None:
        self.lower, self.upper, self.exclusive = lower, upper, exclusive

    def __call__(self, left: DataStream, right: DataStream) -> DataStream:
        joined = left.key_by(lambda v: v[0]).interval_join(right.key_by(lambda v: v[0]))
        bounded = joined.between(Time.milliseconds(self.lower), Time.milliseconds(self.upper))
        if "lower" in self.exclusive:
            bounded = bounded.lower_bound_exclusive()
        if "upper" in self.exclusive:
            bounded = bounded.upper_bound_exclusive()
        bounded = bounded.side_output_left_late_data(LEFT_LATE)
        return bounded.side_output_right_late_data(RIGHT_LATE).process(Pair())

    def harness(self, backend: str = "hashmap", **settings: Any) -> OperatorHarness:
        return OperatorHarness(self, inputs=2, side_outputs=TAGS, backend=backend, **settings)


def feed(harness: OperatorHarness, event: Event) -> None:
    """Let a watermark or a record of one of the sides come."""
    if isinstance(event, int):
        harness.watermark(event)
    else:
        record = event.record
        push = harness.push if event.side == "left" else harness.push_second
        push((record.key, record.value), record.time)


def buffered(harness: OperatorHarness, side: str, key: Any) -> list[int]:
    """The times of the records that are kept of one side; a snapshot brings them into the state."""
    harness.snapshot()
    return stored(harness, side, key)


def stored(harness: OperatorHarness, side: str, key: Any) -> list[int]:
    """The times of the records of one side that are in the state."""
    described = MapStateDescriptor(f"_interval_join.{side}", Types.LONG())
    state = harness.state(described, key)
    assert isinstance(state, MapState)
    return sorted(time for entries in list(state.values()) for time, _ in entries)


@pytest.mark.parametrize("backend", BACKENDS)
def test_records_within_the_bounds_meet_whichever_comes_first(backend: str) -> None:
    # left   2     5
    # right  0 1 2 3 4 5 6 7 8      bounds -2 .. +1
    with Joins(-2, 1).harness(backend) as harness:
        harness.push_run([("k", "L2"), ("other", "L0")], [2, 2])
        harness.push_run([("k", f"R{time}") for time in range(9)], list(range(9)), second=True)
        assert harness.records() == [
            (("L2", "R0"), 2),
            (("L2", "R1"), 2),
            (("L2", "R2"), 2),
            (("L2", "R3"), 3),
        ]
        harness.push(("k", "L5"), 5)
        assert harness.records() == [
            (("L5", "R3"), 5),
            (("L5", "R4"), 5),
            (("L5", "R5"), 5),
            (("L5", "R6"), 6),
        ]
        assert harness.side_output(SEEN)[0] == (2, 0, 2)


@pytest.mark.parametrize(
    ("exclusive", "expected"),
    [
        ("", ["R8", "R9", "R10", "R11", "R12"]),
        ("lower", ["R9", "R10", "R11", "R12"]),
        ("upper", ["R8", "R9", "R10", "R11"]),
        ("lower upper", ["R9", "R10", "R11"]),
    ],
)
def test_bounds_may_be_exclusive(exclusive: str, expected: list[str]) -> None:
    with Joins(-2, 2, exclusive=exclusive).harness() as harness:
        harness.push(("k", "L10"), 10)
        harness.push_run([("k", f"R{t}") for t in range(5, 16)], list(range(5, 16)), second=True)

        assert [right for _, right in harness.output()] == expected


def test_bounds_that_leave_nothing_give_nothing() -> None:
    with Joins(3, 3, exclusive="lower").harness() as harness:
        harness.push(("k", "L"), 10)
        harness.push_run([("k", "R")] * 3, [12, 13, 14], second=True)

        assert harness.output() == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("lower", "upper", "until", "until_at_hand"),
    [
        (-3, 5, (16, 14), (16, 14)),
        (2, 5, (15, 10), (16, 11)),
        (-5, -2, (10, 15), (11, 16)),
        (0, 0, (10, 10), (11, 11)),
    ],
)
def test_records_are_kept_until_no_partner_can_come_for_any_of_their_bucket(
    backend: str, lower: int, upper: int, until: tuple[int, int], until_at_hand: tuple[int, int]
) -> None:
    # A bucket is a quarter of the interval: with bounds -3 .. +5 the record of 10 goes with that of 11. At hand it is
    # twice as wide.
    with Joins(lower, upper).harness(backend) as harness:
        harness.push(("k", "L"), 10)
        harness.push_second(("k", "R"), 10)
        for clock in range(9, 18):
            harness.watermark(clock)
            assert buffered(harness, "left", "k") == [10] * (clock < until[0])
            assert buffered(harness, "right", "k") == [10] * (clock < until[1])
        assert harness.keys("_interval_join.left") == []

    for clock in range(9, 18):
        with Joins(lower, upper).harness(backend) as harness:
            harness.push(("k", "L"), 10)
            harness.push_second(("k", "R"), 10)
            harness.watermark(clock)
            assert buffered(harness, "left", "k") == [10] * (clock < until_at_hand[0])
            assert buffered(harness, "right", "k") == [10] * (clock < until_at_hand[1])


def test_late_records_meet_nobody_and_go_to_their_side_outputs() -> None:
    with Joins(-10, 10).harness() as harness:
        harness.push_run([("k", "L5"), ("k", "L9")], [5, 9])
        harness.watermark(7)
        harness.push_run([("k", "R6"), ("k", "R7")], [6, 7], second=True)
        harness.push(("k", "L6"), 6)

        assert harness.output() == [("L5", "R7"), ("L9", "R7")]
        assert harness.side_output(LEFT_LATE) == [("k", "L6")]
        assert harness.side_output(RIGHT_LATE) == [("k", "R6")]


class Bare(ProcessJoinFunction[Any, Any, Any]):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> None:
        if right == "bad":
            raise ZeroDivisionError


def bare(left: DataStream, right: DataStream) -> DataStream:
    joined = left.key_by(len).interval_join(right.key_by(len))
    return joined.between(Time.seconds(0), Time.seconds(1)).process(Bare())


def test_late_records_without_a_side_output_are_counted() -> None:
    with OperatorHarness(bare, inputs=2) as harness:
        harness.watermark(7)
        harness.push_run(["late", "not"], [6, 7])

        assert harness.metrics()["numLateRecordsDropped"] == 1


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("timestamps", [None, [-(1 << 63)]])
def test_a_record_without_a_timestamp_is_refused(
    timestamps: list[int] | None, *, second: bool
) -> None:
    with OperatorHarness(bare, inputs=2) as harness:
        with pytest.raises(OperatorFailed, match="'Interval Join' failed at record 'x'") as failed:
            harness.push_run(["x"], timestamps, second=second)
        assert isinstance(failed.value.__cause__, NoEventTime)
        assert "assign_timestamps_and_watermarks" in str(failed.value.__cause__)


def test_a_failure_names_the_operator_and_the_record() -> None:
    with OperatorHarness(bare, inputs=2) as harness:
        harness.push("yes", 1)
        with pytest.raises(OperatorFailed, match="'Interval Join' failed at record 'bad'"):
            harness.push_second("bad", 1)


@pytest.mark.parametrize("saved", [False, True])
def test_times_at_the_end_of_the_world_are_kept_and_cleaned_up(*, saved: bool) -> None:
    last = (1 << 63) - 2
    with Joins(-5, 5).harness() as harness:
        harness.push(("k", "L"), last)
        harness.push_second(("k", "R"), last - 5)
        harness.push_second(("k", "early"), -(1 << 63) + 1)
        assert harness.output() == [("L", "R")]
        if saved:
            assert buffered(harness, "left", "k") == [last]

        harness.end_input()

        assert stored(harness, "left", "k") == stored(harness, "right", "k") == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_kept_is_part_of_snapshots(backend: str) -> None:
    with Joins(-50, 50).harness(backend) as harness:
        harness.push_run([("k", f"L{n}") for n in range(100)], [n % 40 for n in range(100)])
        snapshot = harness.snapshot()

    with Joins(-50, 50).harness(backend, restore=snapshot) as harness:
        harness.push_second(("k", "R"), 60)
        assert sorted(harness.output()) == sorted(
            (f"L{n}", "R") for n in range(100) if n % 40 >= 10
        )
        harness.watermark(98)
        assert set(buffered(harness, "left", "k")) == set(range(25, 40))
        harness.watermark(99)
        assert buffered(harness, "left", "k") == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bounds", [(-5, 5), (-4000, 4000), (0, 1000)])
def test_a_restored_join_may_have_other_bounds(backend: str, bounds: tuple[int, int]) -> None:
    lower, upper = bounds
    times = [10 * n for n in range(50)]
    with Joins(-100, 100).harness(backend) as harness:
        harness.push_run([("k", time) for time in times], times)
        snapshot = harness.snapshot()

    with Joins(lower, upper).harness(backend, restore=snapshot) as harness:
        harness.push_second(("k", "R"), 300)
        expected = [time for time in times if lower <= 300 - time <= upper]
        assert [left for left, _ in harness.output()] == expected
        width = max(1, (upper - lower + 1) // 4)
        for clock in (99, 199, 400, 4489, 4490, 5998, 5999):
            harness.watermark(clock)
            kept = [time for time in times if time // width * width + width - 1 + upper > clock]
            assert buffered(harness, "left", "k") == kept


times = st.integers(0, 30)
events = st.lists(
    st.one_of(
        st.builds(
            Arrival,
            st.sampled_from(["left", "right"]),
            st.builds(Record, st.sampled_from("ab"), st.just(None), times),
        ),
        times,
    ),
    max_size=40,
)


def numbered(drawn: list[Event]) -> list[Event]:
    """The same events with values that tell records apart."""
    return [
        event if isinstance(event, int) else event._replace(record=event.record._replace(value=n))
        for n, event in enumerate(drawn)
    ]


@settings(max_examples=150, deadline=None)
@given(events, st.integers(-8, 8), st.integers(0, 12))
def test_every_order_gives_what_the_definition_says(
    drawn: list[Event], lower: int, span: int
) -> None:
    sequence, upper = numbered(drawn), lower + span
    expected = interval_join_as_it_happens(sequence, lower, upper)
    joins = Joins(lower, upper)

    harness = joins.harness()
    results: Counter[Any] = Counter()
    late: dict[str, list[Any]] = {"left": [], "right": []}

    def collect() -> None:
        results.update((*pair, time) for pair, time in harness.records())
        late["left"] += [value for _, value in harness.side_output(LEFT_LATE)]
        late["right"] += [value for _, value in harness.side_output(RIGHT_LATE)]

    for number, event in enumerate(sequence):
        feed(harness, event)
        if number == len(sequence) // 2 and not any(isinstance(e, int) for e in sequence):
            collect()
            snapshot = harness.snapshot()
            harness.close()
            harness = joins.harness(restore=snapshot)
    collect()
    harness.close()

    assert results == expected.results
    assert late == expected.late


SAVE = "save"


def joined_with_saves(
    sequence: list[Any], joins: Joins, backend: str
) -> tuple[list[Any], dict[str, list[Any]]]:
    """What comes of records and watermarks with snapshots in between, in order."""
    out: list[Any] = []
    with joins.harness(backend) as harness:
        for event in sequence:
            if event == SAVE:
                harness.snapshot()
            else:
                feed(harness, event)
            out += harness.records()
        late = {
            "left": [value for _, value in harness.side_output(LEFT_LATE)],
            "right": [value for _, value in harness.side_output(RIGHT_LATE)],
        }
    return out, late


@pytest.mark.parametrize(("backend", "examples"), [("hashmap", 150), ("rocksdb", 25)])
@pytest.mark.parametrize("most", [0, 3, None])
def test_records_meet_wherever_they_are_kept(
    monkeypatch: pytest.MonkeyPatch, backend: str, examples: int, most: int | None
) -> None:
    if most is not None:
        monkeypatch.setattr(interval_join, "_most_at_hand", lambda **_: most)

    @settings(max_examples=examples, deadline=None)
    @given(
        st.lists(st.one_of(events, st.just([SAVE])), max_size=4),
        st.integers(-8, 8),
        st.integers(0, 12),
    )
    def check(parts: list[list[Any]], lower: int, span: int) -> None:
        mixed = [event for part in parts for event in part]
        plain = numbered([event for event in mixed if event != SAVE])
        named = iter(plain)
        sequence = [SAVE if event == SAVE else next(named) for event in mixed]
        joins = Joins(lower, lower + span)
        expected = interval_join_as_it_happens(plain, lower, lower + span)

        out, late = joined_with_saves(sequence, joins, backend)

        assert Counter((*pair, time) for pair, time in out) == expected.results
        assert late == expected.late
        # Partners come by time, and those of one time as they came.
        assert out == joined_with_saves(plain, joins, "hashmap")[0]

    check()


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_state_has_what_it_always_had(backend: str) -> None:
    with Joins(0, 39).harness(backend) as harness:
        harness.push_run([("k", n) for n in range(5)], [12, 3, 9, 3, 25])
        harness.push_second(("k", 5), 70)
        harness.snapshot()
        harness.push_run([("k", 6), ("l", 7)], [3, 19])
        harness.snapshot()

        described = MapStateDescriptor("_interval_join.left", Types.LONG())
        state = harness.state(described, "k")
        assert isinstance(state, MapState)
        assert dict(state.items()) == {
            0: [(3, ("k", 1)), (3, ("k", 3)), (3, ("k", 6)), (9, ("k", 2))],
            1: [(12, ("k", 0))],
            2: [(25, ("k", 4))],
        }
        timers = harness._states().keyed.timers("_interval_join.cleanup")
        due = dict(iter(lambda: timers.take(1_000), None))
        assert {time: sorted(keys) for time, keys in due.items()} == {
            48: [("k", 0)],
            58: [("k", 0), ("l", 0)],
            68: [("k", 0)],
            79: [("k", 1)],
        }
