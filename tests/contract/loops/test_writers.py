"""Runs that are written while they are shared out, in Python (not at all) and in C alike."""

import pickle
import sys
from array import array
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.loops import pure
from riverrun.serde.stable_hash import key_group
from tests.contract.loops.shared import Groups, Halves, both, plain, same

_GROUPS = 7
_BY_GROUP = array("i", range(_GROUPS)).tobytes()
_TIMES = st.integers(-(2**63), 2**63 - 1)


def _written(writer: Any) -> tuple[list[Any], list[int] | None]:
    """What a writer has, once its count was seen to be right."""
    count, taken = writer.count, writer.take()
    assert writer.count == 0
    assert writer.take() is None
    if taken is None:
        assert count == 0
        return [], None
    run, times = taken
    values = pickle.loads(run)
    assert len(values) == count
    for module in both():
        assert module.decode(run) in (None, values)
    return values, None if times is None else list(memoryview(times).cast("q"))


@given(st.lists(st.tuples(st.integers() | st.text(max_size=2), plain, _TIMES)), st.booleans())
def test_each_owner_gets_its_records_in_their_order(
    records: list[tuple[Any, Any, int]],
    timed: bool,
) -> None:
    keys, values, times = map(list, zip(*records, strict=True)) if records else ([], [], [])
    for module in both():
        writers = tuple(module.Writer() for _ in range(_GROUPS))

        written = module.share_written(
            writers, Groups(_GROUPS), keys, values, times if timed else None, _BY_GROUP
        )

        assert written == (0 if module is pure else len(values))
        for group, writer in enumerate(writers):
            mine = [i for i in range(written) if key_group(keys[i], _GROUPS) == group]
            found, when = _written(writer)
            assert same(found, [values[i] for i in mine])
            assert when == ([times[i] for i in mine] if timed and mine else None)


@pytest.mark.parametrize(
    "odd",
    [[1], {"a": 1}, 2**63, bytearray(b"x"), "\ud800", b"x" * (1 << 16), "x" * (1 << 16)],
    ids=lambda odd: f"{type(odd).__name__}-{len(repr(odd))}",
)
@pytest.mark.parametrize(
    "wrap", [lambda odd: odd, lambda odd: (1, "a", (odd,))], ids=["it", "part"]
)
def test_writing_ends_at_what_is_large_or_not_plain(
    module: ModuleType, odd: Any, wrap: Any
) -> None:
    writers = (module.Writer(), module.Writer())
    values = ["a", "b", wrap(odd), "c"]

    written = module.share_written(writers, Halves(), [0, 1, 1, 1], values, [4, 5, 6, 7], None)

    assert written in ((0,) if module is pure else (2,))
    if written:
        assert [_written(writer) for writer in writers] == [(["a"], [4]), (["b"], [5])]


@pytest.mark.parametrize("time", [2**63, -(2**63) - 1, 1.5, None, True])
def test_writing_ends_at_a_time_that_is_no_number_of_64_bits(module: ModuleType, time: Any) -> None:
    writers = (module.Writer(),)

    written = module.share_written(writers, {0: 0}, [0, 0], ["a", "b"], [1, time], None)

    assert written in ((0,) if module is pure else (1,))


def test_runs_with_times_and_without_may_follow_each_other(module: ModuleType) -> None:
    writers = (module.Writer(),)

    def write(value: Any, times: list[int] | None) -> int:
        return int(module.share_written(writers, {0: 0}, [0], [value], times, None))

    write([1], [5])  # not plain: nothing is written, its time neither
    if write("a", None):
        with pytest.raises(ValueError, match="times"):
            write("b", [6])
        assert _written(writers[0]) == (["a"], None)
        write("b", [6])
        assert _written(writers[0]) == (["b"], [6])


def test_very_deep_tuples_are_left(module: ModuleType) -> None:
    deep: Any = 1
    for _ in range(200_000):
        deep = (deep,)

    assert module.share_written((module.Writer(),), {0: 0}, [0], [deep], None, None) == 0


def test_a_writer_takes_more_after_a_run_was_taken(module: ModuleType) -> None:
    writer = module.Writer()
    for size in (1, 5_000, 3):
        values = [(i, "text", i * 1.5) for i in range(size)]
        written = module.share_written((writer,), {0: 0}, [0] * size, values, None, None)
        assert _written(writer) == (values[:written], None)


def test_what_is_no_writer_owner_or_run_is_refused() -> None:
    compiled = both()[-1]
    if compiled is pure:
        pytest.skip("no compiler was there")
    writers = (compiled.Writer(),)
    with pytest.raises(TypeError, match="writers"):
        compiled.share_written(([],), {}, [], [], None, None)
    with pytest.raises(IndexError, match="owner 5 of 1"):
        compiled.share_written(writers, {0: 5}, [0], ["a"], None, None)
    with pytest.raises(IndexError, match="owner -1 of 1"):
        compiled.share_written(writers, {0: -1}, [0], ["a"], None, None)
    with pytest.raises(ValueError, match="columns of 1 and 2"):
        compiled.share_written(writers, {}, [0], ["a", "b"], None, None)
    with pytest.raises(KeyError):
        compiled.share_written(writers, Halves(), ["bad"], ["a"], None, None)
    with pytest.raises(TypeError, match="unhashable"):
        compiled.share_written(writers, Halves(), [[]], ["a"], None, None)


def test_writers_keep_nothing(module: ModuleType) -> None:
    key, value, time = ("some", "key"), ("some", "value", b"bytes"), 2**40
    before = [sys.getrefcount(each) for each in (key, value, time)]
    for _ in range(50):
        writers = (module.Writer(), module.Writer())
        module.share_written(
            writers, {key: 1}, [key] * 3, [value, value, [value]], [time] * 3, None
        )
        writers[1].take()
        module.share_written(writers, {key: 1}, [key], [value], [time], None)

    assert [sys.getrefcount(each) for each in (key, value, time)] == before


class TestExtent:
    @given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
    def test_the_least_and_the_greatest(self, numbers: list[int]) -> None:
        for module in both():
            assert module.extent(numbers) == (min(numbers), max(numbers))

    @pytest.mark.parametrize("other", [2**63, -(2**63) - 1, True, 1.0, None, "1"])
    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_none_where_one_is_no_number_of_64_bits(
        self, module: ModuleType, other: Any, place: int
    ) -> None:
        numbers: list[Any] = [1, 2, 3]
        numbers[place] = other

        assert module.extent(numbers) is None

    def test_none_of_none(self, module: ModuleType) -> None:
        assert module.extent([]) is None
