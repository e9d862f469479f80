"""Window assigners: which windows a record belongs to, and what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.session_windows import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from riverrun.api.triggers import (
    CountTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
)
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    GlobalWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from riverrun.api.window_serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    TimeWindowSerializer,
)
from riverrun.api.windows import CountWindow, GlobalWindow, TimeWindow
from riverrun.core.time import Duration, Time
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.serde.type_serializer import TypeSerializer, VoidNamespaceSerializer
from tests.unit.api.fake_windows import FakeAssignerContext, Merges

TIMES = st.integers(-(10**15), 10**15)


class GapOf(SessionWindowTimeGapExtractor):
    """The gap is the record's second field."""

    def extract(self, element: Any) -> int:
        return int(element[1])


def windows(
    assigner: WindowAssigner[Any, Any], timestamp: int, element: Any = "x", now: int = 0
) -> list[Any]:
    return list(assigner.assign_windows(element, timestamp, FakeAssignerContext(now)))


def test_a_tumbling_window_begins_at_a_multiple_of_its_size() -> None:
    assert windows(TumblingEventTimeWindows.of(Time.seconds(5)), 12_345) == [
        TimeWindow(10_000, 15_000)
    ]


def test_an_offset_moves_the_beginning_of_windows() -> None:
    days_in_shanghai = TumblingEventTimeWindows.of(Time.days(1), Time.hours(-8))

    [window] = windows(days_in_shanghai, 0)

    assert window == TimeWindow(-8 * 3_600_000, 16 * 3_600_000)


@pytest.mark.parametrize(
    ("timestamp", "start"), [(-1, -10), (-10, -10), (-11, -20), (0, 0), (9, 0)]
)
def test_times_before_the_epoch_have_windows_like_all_others(timestamp: int, start: int) -> None:
    assert windows(TumblingEventTimeWindows(10, 0), timestamp) == [TimeWindow(start, start + 10)]


@given(TIMES, st.integers(1, 10**6), st.data())
def test_every_record_is_in_exactly_one_tumbling_window(
    timestamp: int, size: int, data: st.DataObject
) -> None:
    offset = data.draw(st.integers(1 - size, size - 1))

    [window] = windows(TumblingEventTimeWindows(size, offset), timestamp)

    assert window.start <= timestamp < window.end
    assert window.end - window.start == size
    assert (window.start - offset) % size == 0
    assert window.start == TimeWindow.get_window_start_with_offset(timestamp, offset, size)


@given(TIMES, st.integers(1, 50), st.integers(1, 50), st.data())
def test_a_record_is_in_all_sliding_windows_that_cover_its_time(
    timestamp: int, size: int, slide: int, data: st.DataObject
) -> None:
    offset = data.draw(st.integers(1 - slide, slide - 1))

    found = windows(SlidingEventTimeWindows(size, slide, offset), timestamp)

    begins = range(timestamp - size + 1, timestamp + 1)
    expected = [TimeWindow(at, at + size) for at in begins if (at - offset) % slide == 0]
    assert sorted(found) == expected


@given(TIMES, st.integers(1, 20), st.integers(1, 20))
def test_a_record_is_in_size_by_slide_windows_where_slides_divide_the_size(
    timestamp: int, slides: int, slide: int
) -> None:
    assert len(windows(SlidingEventTimeWindows(slides * slide, slide), timestamp)) == slides


def test_between_windows_that_leave_gaps_a_record_is_in_none() -> None:
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(4), Time.milliseconds(10))

    assert [len(windows(assigner, time)) for time in range(12)] == [1] * 4 + [0] * 6 + [1] * 2


@pytest.mark.parametrize(
    ("assigner", "expected"),
    [
        (TumblingProcessingTimeWindows.of(10), [TimeWindow(20, 30)]),
        (SlidingProcessingTimeWindows.of(10, 5), [TimeWindow(25, 35), TimeWindow(20, 30)]),
        (ProcessingTimeSessionWindows.with_gap(7), [TimeWindow(27, 34)]),
        (DynamicProcessingTimeSessionWindows(GapOf()), [TimeWindow(27, 30)]),
    ],
)
def test_windows_of_processing_time_go_by_the_wall_clock_and_need_no_timestamps(
    assigner: WindowAssigner[Any, Any], expected: list[TimeWindow]
) -> None:
    assert windows(assigner, MIN_TIMESTAMP, ("x", 3), now=27) == expected
    assert not assigner.is_event_time()
    assert assigner.get_default_trigger(None) == ProcessingTimeTrigger()


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows(10, 0),
        SlidingEventTimeWindows(10, 5, 0),
        EventTimeSessionWindows(10),
        DynamicEventTimeSessionWindows(GapOf()),
    ],
)
def test_windows_of_event_time_refuse_a_record_without_a_timestamp(
    assigner: WindowAssigner[Any, Any],
) -> None:
    with pytest.raises(ValueError, match=r"'x', 3.*assign_timestamps_and_watermarks"):
        windows(assigner, MIN_TIMESTAMP, ("x", 3))
    assert assigner.is_event_time()
    assert assigner.get_default_trigger(None) == EventTimeTrigger()


@pytest.mark.parametrize("timestamp", [253_402_300_799_999, 2**62])
def test_times_of_a_far_future_have_windows(timestamp: int) -> None:
    [window] = windows(TumblingEventTimeWindows(1000, 0), timestamp)

    assert window.start <= timestamp < window.end


def test_a_session_begins_with_its_record_and_lasts_for_the_gap() -> None:
    assert windows(EventTimeSessionWindows.with_gap(Time.seconds(1)), 500) == [
        TimeWindow(500, 1500)
    ]


def test_a_record_may_say_its_own_gap() -> None:
    by_function = EventTimeSessionWindows.with_dynamic_gap(lambda record: record[1])
    by_object = DynamicEventTimeSessionWindows.with_dynamic_gap(GapOf())

    assert (
        windows(by_function, 5, ("x", 7)) == windows(by_object, 5, ("x", 7)) == [TimeWindow(5, 12)]
    )


@pytest.mark.parametrize("gap", [0, -5, None, 1.5])
def test_a_gap_that_is_none_is_refused_with_the_record(gap: Any) -> None:
    assigner = EventTimeSessionWindows.with_dynamic_gap(lambda record: record[1])

    with pytest.raises(ValueError, match=r"the gap of the record \('late', .*at least 1"):
        windows(assigner, 5, ("late", gap))


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 20)), max_size=12))
def test_merging_leaves_windows_apart_that_cover_the_same_time(
    spans: list[tuple[int, int]],
) -> None:
    given_windows = [TimeWindow(start, start + length) for start, length in spans]
    told = Merges()

    EventTimeSessionWindows(1).merge_windows(given_windows, told)

    result = set(given_windows)
    for parts, merged in told.found:
        assert len(parts) > 1
        assert parts <= result
        result = (result - parts) | {merged}
    ordered = sorted(result)
    assert all(left.end < right.start for left, right in pairwise(ordered))
    covered = {time for window in given_windows for time in range(window.start, window.end + 1)}
    assert {time for window in result for time in range(window.start, window.end + 1)} == covered


def test_windows_that_only_touch_become_one() -> None:
    told = Merges()

    TimeWindow.merge_windows([TimeWindow(10, 20), TimeWindow(0, 10), TimeWindow(21, 30)], told)

    assert told.found == [({TimeWindow(0, 10), TimeWindow(10, 20)}, TimeWindow(0, 20))]


def test_count_windows_follow_one_another() -> None:
    assigner, context = CountTumblingWindowAssigner.of(3), FakeAssignerContext()

    found = [list(assigner.assign_windows("x", 0, context)) for _ in range(7)]

    assert found == [[CountWindow(number)] for number in (0, 0, 0, 1, 1, 1, 2)]
    assert assigner.get_default_trigger(None) == PurgingTrigger(CountTrigger(3))


@given(st.integers(1, 8), st.integers(1, 8))
def test_sliding_count_window_n_holds_the_records_from_n_slides_on(size: int, slide: int) -> None:
    assigner, context = CountSlidingWindowAssigner.of(size, slide), FakeAssignerContext()

    held: dict[int, list[int]] = {}
    for position in range(40):
        for window in assigner.assign_windows("x", 0, context):
            held.setdefault(window.id, []).append(position)

    assert held == {
        number: list(range(number * slide, min(number * slide + size, 40)))
        for number in range(len(held))
    }


def test_global_windows_hold_everything_and_never_fire_by_themselves() -> None:
    assigner = GlobalWindows.create()

    assert windows(assigner, MIN_TIMESTAMP) == [GlobalWindow.get()]
    assert assigner.get_default_trigger(None) == NeverTrigger()
    ending = GlobalWindows.create_with_end_of_stream_trigger()
    assert ending.get_default_trigger(None) == EndOfStreamTrigger()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: TumblingEventTimeWindows.of(Time.seconds(0)), "the size is 0 ms"),
        (lambda: TumblingEventTimeWindows(-5, 0), "the size is -5 ms"),
        (lambda: TumblingProcessingTimeWindows.of(10, 10), r"abs\(offset\) < size"),
        (lambda: TumblingEventTimeWindows.of(10, -10), r"abs\(offset\) < size"),
        (lambda: SlidingEventTimeWindows.of(0, 5), "the size is 0 ms"),
        (lambda: SlidingEventTimeWindows.of(10, 0), "the slide is 0 ms"),
        (lambda: SlidingProcessingTimeWindows.of(10, -1), "the slide is -1 ms"),
        (lambda: SlidingProcessingTimeWindows.of(10, 5, 5), r"abs\(offset\) < slide"),
        (lambda: EventTimeSessionWindows.with_gap(Duration.of_millis(-1)), "the gap is -1 ms"),
        (lambda: ProcessingTimeSessionWindows(0), "the gap is 0 ms"),
        (lambda: CountTumblingWindowAssigner(0), "the size is 0"),
        (lambda: CountSlidingWindowAssigner.of(3, -2), "the slide is -2"),
    ],
)
def test_lengths_that_make_no_windows_are_refused(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: TumblingEventTimeWindows.of("5 s"),  # type: ignore[arg-type]
        lambda: TumblingEventTimeWindows.of(True),
        lambda: EventTimeSessionWindows.with_gap(None),  # type: ignore[arg-type]
        lambda: CountTumblingWindowAssigner(2.5),  # type: ignore[arg-type]
        lambda: DynamicEventTimeSessionWindows(GapOf),  # type: ignore[arg-type]
        lambda: DynamicProcessingTimeSessionWindows(5),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_length_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match="expected"):
        make()


def test_a_length_may_be_a_time_a_duration_a_timedelta_or_milliseconds() -> None:
    lengths: list[Any] = [Time.seconds(5), Duration.of_seconds(5), timedelta(seconds=5), 5000]

    assert {TumblingEventTimeWindows.of(length) for length in lengths} == {
        TumblingEventTimeWindows(5000, 0)
    }


@pytest.mark.parametrize(
    ("assigner", "shown"),
    [
        (TumblingEventTimeWindows(5000, 1), "TumblingEventTimeWindows(5000, 1)"),
        (SlidingProcessingTimeWindows(10, 5, 2), "SlidingProcessingTimeWindows(10, 5, 2)"),
        (EventTimeSessionWindows(7), "EventTimeSessionWindows(7)"),
        (DynamicEventTimeSessionWindows(GapOf()), "DynamicEventTimeSessionWindows(GapOf)"),
        (CountTumblingWindowAssigner(3), "CountTumblingWindowAssigner(3)"),
        (CountSlidingWindowAssigner(3, 2), "CountSlidingWindowAssigner(3, 2)"),
        (GlobalWindows.create(), "GlobalWindows()"),
    ],
)
def test_assigners_are_shown_as_they_are_made_and_survive_pickling(
    assigner: WindowAssigner[Any, Any], shown: str
) -> None:
    assert repr(assigner) == repr(pickle.loads(pickle.dumps(assigner))) == shown


@pytest.mark.parametrize(
    ("assigner", "window", "size"),
    [
        (TumblingEventTimeWindows(5, 0), TimeWindow(-(2**63), 2**63 - 1), 16),
        (ProcessingTimeSessionWindows(5), TimeWindow(3, 8), 16),
        (CountTumblingWindowAssigner(5), CountWindow(2**40), 8),
        (GlobalWindows(), GlobalWindow.get(), 1),
    ],
)
def test_windows_are_written_and_read_back(
    assigner: WindowAssigner[Any, Any], window: Any, size: int
) -> None:
    serializer: TypeSerializer[Any] = assigner.get_window_serializer()
    stream = BytesIO()

    serializer.serialize(window, stream)

    assert len(stream.getvalue()) == size
    stream.seek(0)
    assert serializer.deserialize(stream) == window
    assert serializer == pickle.loads(pickle.dumps(serializer))


def test_a_window_that_is_cut_short_is_an_error() -> None:
    with pytest.raises(ValueError, match="ends after 3 bytes; expected 16"):
        TimeWindowSerializer().deserialize(BytesIO(b"abc"))


def test_serializers_are_equal_by_kind_and_no_namespace_takes_no_bytes() -> None:
    stream = BytesIO()
    VoidNamespaceSerializer().serialize(b"", stream)

    assert VoidNamespaceSerializer().deserialize(stream) == stream.getvalue() == b""
    assert CountWindowSerializer() == CountWindowSerializer() != GlobalWindowSerializer()
    assert repr(GlobalWindow.get()) == "GlobalWindow"
