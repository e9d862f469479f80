"""Time cut into slices."""

from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.window_assigners import SlidingEventTimeWindows
from riverrun.runtime.slices import Slicing

times = st.integers(-200, 200)


@st.composite
def slicings(draw: st.DrawFn) -> Slicing:
    size = draw(st.integers(1, 40))
    slide = draw(st.integers(1, size))
    return Slicing(size, slide, draw(st.integers(1 - slide, slide - 1)))


@given(slicings(), times)
def test_windows_of_a_time_are_those_of_the_assigner(slicing: Slicing, time: int) -> None:
    assigner: SlidingEventTimeWindows[int] = SlidingEventTimeWindows(
        slicing.size, slicing.slide, slicing.offset
    )
    assert list(slicing.windows(time)) == [window.start for window in assigner.windows_at(time)]


@given(slicings(), times)
def test_a_slice_holds_its_time_and_all_its_times_are_in_the_same_windows(
    slicing: Slicing, time: int
) -> None:
    start, end = slicing.bounds(time)
    assert start <= time < end
    for other in range(start, end):
        assert slicing.bounds(other) == (start, end)
        assert list(slicing.windows(other)) == list(slicing.windows(start))


@given(slicings(), times)
def test_the_slices_of_a_window_follow_each_other_and_fill_it(slicing: Slicing, time: int) -> None:
    window = slicing.windows(time)[0]
    slices = slicing.slices(window)
    ends = [slicing.bounds(start)[1] for start in slices]
    assert slices[0] == window
    assert ends == [*slices[1:], window + slicing.size]
    assert all(slicing.bounds(start)[0] == start for start in slices)
    assert len(slices) <= 2 * -(-slicing.size // slicing.slide)


@given(slicings(), times)
def test_slices_leave_with_the_last_window_that_they_are_in(slicing: Slicing, time: int) -> None:
    window = slicing.windows(time)[0]
    last = [start for start in slicing.slices(window) if slicing.windows(start)[0] == window]
    assert slicing.leaving(window) == last


@given(slicings(), times, times)
def test_from_the_horizon_on_no_window_is_over(slicing: Slicing, watermark: int, time: int) -> None:
    none_over = all(start + slicing.size - 1 > watermark for start in slicing.windows(time))
    assert none_over == (time >= slicing.horizon(watermark))


@given(slicings(), st.lists(times, min_size=1))
def test_a_run_is_split_by_slices_and_nothing_is_lost(slicing: Slicing, moments: list[int]) -> None:
    places = list(range(len(moments)))
    pieces = slicing.split(places, moments, moments)
    for start, keys, values in pieces:
        assert {slicing.bounds(value)[0] for value in values} == {start}
        assert [moments[key] for key in keys] == values
        assert keys == sorted(keys)
    assert sorted(key for _, keys, _ in pieces for key in keys) == places
