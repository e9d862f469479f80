"""What the hottest loops do, in Python and in C alike."""

import gc
import importlib
import pickle
import sys
import weakref
from array import array
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun import loops
from riverrun.api.output_tag import OutputTag
from riverrun.loops import at_record, pure
from riverrun.loops.written import is_plain
from riverrun.runtime.failures import operator_failed
from riverrun.serde.stable_hash import key_group
from tests.contract.loops.shared import EDGES, Groups, Halves, both, plain, same


class TestPickles:
    @given(st.lists(plain, max_size=40))
    def test_plain_values_are_read_as_they_were_by_either_and_by_pickle(
        self, values: list[Any]
    ) -> None:
        for module in both():
            data = module.encode(values)
            if data is None:
                assert module is pure  # only the first value's parts are looked at, one level deep
                continue
            for reader in both():
                read = reader.decode(data)
                assert read is None or same(read, values)
            assert same(pickle.loads(data), values)

    def test_every_width_of_number_comes_back(self, module: ModuleType) -> None:
        data = module.encode(EDGES)

        assert pickle.loads(data) == EDGES
        assert module.decode(data) in (None, EDGES)

    @pytest.mark.parametrize(
        "value", [[1], {"a": 1}, {1}, 2**63, 1 + 2j, bytearray(b"x"), "\ud800", OutputTag("x")]
    )
    def test_what_is_not_plain_is_left_to_the_pickle_module(
        self, module: ModuleType, value: Any
    ) -> None:
        data = module.encode([(value,)])

        assert data is None or same(pickle.loads(data), [(value,)])

    def test_subclasses_of_plain_types_are_not_plain(self, module: ModuleType) -> None:
        class Named(tuple[int, int]):  # noqa: SLOT001
            pass

        assert module.encode([Named((1, 2))]) is None

    def test_very_deep_tuples_are_left(self, module: ModuleType) -> None:
        deep: Any = 1
        for _ in range(5_000):
            deep = (deep,)

        assert module.encode([deep]) is None

    @given(st.binary(max_size=80))
    def test_any_bytes_are_read_as_pickle_reads_them_or_not_at_all(self, tail: bytes) -> None:
        data = b"\x80\x05](" + tail
        for module in both():
            try:
                read = module.decode(data)
            except UnicodeDecodeError:
                read = None
            if read is not None:
                assert same(read, pickle.loads(data))

    @given(st.lists(plain, min_size=1, max_size=10), st.data())
    def test_pickles_that_break_off_are_left(self, values: list[Any], data: st.DataObject) -> None:
        for module in both():
            whole = module.encode(values)
            if whole is not None:
                size = data.draw(st.integers(0, len(whole) - 1))
                assert module.decode(memoryview(whole)[:size]) is None


class TestItems:
    def test_an_item_of_each(self, module: ModuleType) -> None:
        assert module.items([("a", 1), ("b", 2)], 1) == [1, 2]
        assert module.items([], 0) == []

    @pytest.mark.parametrize("values", [[("a",), ("b", 2)], [("a", 1), None]])
    def test_none_where_one_has_no_such_item(self, module: ModuleType, values: list[Any]) -> None:
        assert module.items(values, 1) is None

    @pytest.mark.parametrize(("values", "index"), [([["a", 1]], 1), (["ab"], 1), ([(1, 2)], -1)])
    def test_nothing_else_than_the_item(
        self, module: ModuleType, values: list[Any], index: int
    ) -> None:
        assert module.items(values, index) in (None, [value[index] for value in values])


class TestShare:
    def test_each_value_to_its_owner_in_order(self, module: ModuleType) -> None:
        sinks: tuple[list[Any], ...] = ([], [])

        module.share(Halves(), [1, 2, 3, 1], ["a", "b", "c", "d"], sinks)

        assert sinks == (["b"], ["a", "c", "d"])

    def test_times_go_where_their_values_go(self, module: ModuleType) -> None:
        sinks: tuple[list[Any], ...] = ([], [])
        times: tuple[list[int], ...] = ([], [])

        module.share(Halves(), [1, 2, 3, 1], "abcd", sinks, [10, 20, 30, 40], times, None)

        assert sinks == (["b"], ["a", "c", "d"])
        assert times == ([20], [10, 30, 40])

    @given(
        st.lists(st.one_of(st.integers(), st.text(max_size=2), st.booleans(), st.floats())),
        st.integers(1, 300),
    )
    def test_groups_are_those_of_the_stable_hash(self, keys: list[Any], groups: int) -> None:
        by_group = array("i", range(groups)).tobytes()
        for module in both():
            sinks: tuple[list[Any], ...] = tuple([] for _ in range(groups))

            module.share(Groups(groups), keys, keys, sinks, None, (), by_group)

            for group, found in enumerate(sinks):
                expected = [key for key in keys if key_group(key, groups) == group]
                assert list(map(repr, found)) == list(map(repr, expected))

    @pytest.mark.parametrize("by_group", [b"", b"123", "text"])
    def test_groups_that_are_no_numbers_are_refused(self, by_group: Any) -> None:
        if len(both()) == 1:
            pytest.skip("no compiler was there")
        with pytest.raises(TypeError, match="32-bit"):
            both()[-1].share({}, [], [], (), None, (), by_group)

    def test_an_owner_that_cannot_be_worked_out_is_an_error(self, module: ModuleType) -> None:
        with pytest.raises(KeyError):
            module.share(Halves(), ["bad"], ["a"], ([], []))

    def test_a_key_without_a_hash_is_an_error(self, module: ModuleType) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            module.share(Halves(), [[]], ["a"], ([], []))


def _add(total: int, value: int) -> int | None:
    if value == 13:
        raise ValueError("thirteen")
    return total + value or None


class TestFold:
    def test_entries_after_each_value(self, module: ModuleType) -> None:
        data = {"a": 1}

        out = module.fold(data, ["a", "b", "a", "b"], [2, 5, 3, -5], _add)

        assert out == [3, 5, 6, None]
        assert data == {"a": 6}

    @given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=30))
    def test_all_do_the_same(self, records: list[tuple[int, int]]) -> None:
        keys, values = [key for key, _ in records], [value for _, value in records]
        found: list[Any] = []
        for module in both():
            data: dict[int, int] = {}
            entries: dict[int, int] = {}
            fresh: list[int] = []
            out = module.fold(data, keys, values, _add)
            module.fold_new(entries, keys, values, lambda v, held: held + v or None, int, fresh)
            found.append((out, data, entries, fresh))

        assert all(each == found[0] for each in found)

    def test_an_error_has_the_record_in_hand(self, module: ModuleType) -> None:
        with pytest.raises(ValueError, match="thirteen") as caught:
            module.fold({"a": 1}, ["a", "a"], [2, 13], _add)

        assert operator_failed("sum", caught.value).record == "13"
        assert any(entry.name == "_add" for entry in caught.traceback)

    def test_columns_of_different_lengths_are_refused(self, module: ModuleType) -> None:
        with pytest.raises(ValueError, match=r"columns|argument 2"):
            module.fold({}, ["a"], [1, 2], _add)

    def test_any_sequence_is_a_column(self, module: ModuleType) -> None:
        assert module.fold({}, ("a", "a"), range(2), max) == [0, 1]


class TestQuiet:
    """Tuples of plain values that a state keeps are no work for the collector."""

    @pytest.mark.parametrize(
        ("parts", "plain"),
        [([1, "a", 2.5, b"x", None, True], True), ([[]], False), ([1, [2]], False)],
    )
    def test_what_a_fold_keeps(
        self,
        module: ModuleType,
        parts: list[Any],
        plain: bool,
    ) -> None:
        made = tuple(parts)
        data: dict[str, Any] = {"a": 1}

        module.fold(data, ["a"], [2], lambda _before, _value: made)

        assert data["a"] is made
        assert gc.is_tracked(made) is not (plain and module is not pure)


class _Holder(loops.KeyHolder):
    pass


class _Context(loops.Moment):
    pass


@pytest.mark.parametrize("name", ["gather", "gather_timed"])
class TestGather:
    """On the holders that were chosen, so only the chosen module."""

    def test_what_is_yielded_goes_its_way(self, name: str) -> None:
        seen, side = [], []
        tag = OutputTag("late")
        holder, context = _Holder(), _Context()
        context.time = None

        def function(value: int, given: _Context) -> Iterator[Any] | None:
            seen.append((value, holder.key, given.time))
            return None if value == 0 else iter([value, (tag, value), (value, value), (tag,)])

        out: list[Any] = []
        times: list[int] = []
        more = ([7, 8], times) if name == "gather_timed" else ()

        getattr(loops, name)(
            function, [0, 1], ["a", "b"], context, holder, out, OutputTag,
            lambda item, time: side.append((item, time)), *more,
        )  # fmt: skip

        timed = name == "gather_timed"
        assert seen == [(0, "a", 7 if timed else None), (1, "b", 8 if timed else None)]
        assert out == [1, (1, 1), (tag,)]
        assert side == [((tag, 1), 8 if timed else None)]
        assert times == ([8, 8, 8] if timed else [])

    def test_an_error_has_the_record_in_hand(self, name: str) -> None:
        def function(value: int, _context: Any) -> Iterator[int]:
            yield value
            raise ValueError("in the middle")

        out: list[Any] = []
        more = ([7], []) if name == "gather_timed" else ()
        with pytest.raises(ValueError, match="middle") as caught:
            getattr(loops, name)(
                function, [5], ["a"], _Context(), _Holder(), out, OutputTag, out.append, *more
            )

        assert operator_failed("process", caught.value).record == "5"


_FIRST, _LAST = -(1 << 63), (1 << 63) - 1
timed = st.lists(st.tuples(st.integers(0, 2), st.integers(-20, 20)), max_size=30)


class TestHold:
    @given(st.lists(timed, max_size=3), st.integers(1, 12))
    def test_by_bucket_and_key_the_records_are_sorted_by_time_as_they_came(
        self, runs: list[list[tuple[int, int]]], width: int
    ) -> None:
        numbered = [(key, time, n) for n, (key, time) in enumerate(chain.from_iterable(runs))]
        expected: dict[int, dict[int, Any]] = {}
        for key, time, number in sorted(numbered, key=lambda record: record[1]):
            held = expected.setdefault(time // width, {}).setdefault(key, [])
            held.append((time, number))
        for bucket in expected.values():
            bucket.update({key: held[0] for key, held in bucket.items() if len(held) == 1})

        for module in both():
            buckets: dict[int, dict[int, Any]] = {}
            new: list[int] = []
            done = 0
            for run in runs:
                keys, times = [key for key, _ in run], [time for _, time in run]
                values = list(range(done, done + len(run)))
                new += module.hold(buckets, width, keys, values, times)
                done += len(run)
            assert buckets == expected
            assert sorted(new) == sorted(expected)

    def test_the_first_and_the_last_time(self, module: ModuleType) -> None:
        buckets: dict[int, dict[str, Any]] = {}

        assert module.hold(buckets, 1, "ab", "xy", [_FIRST, _LAST]) == [_FIRST, _LAST]
        assert buckets == {_FIRST: {"a": (_FIRST, "x")}, _LAST: {"b": (_LAST, "y")}}

    def test_a_key_without_a_hash_is_an_error(self, module: ModuleType) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            module.hold({}, 1, [[]], ["x"], [1])

    def test_records_in_cycles_are_found_by_the_collector(self, module: ModuleType) -> None:
        class Record:
            """Refers to where it is held."""

        record = Record()
        buckets: dict[int, dict[str, Any]] = {}
        record.buckets = buckets  # type: ignore[attr-defined]
        module.hold(buckets, 1, ["a"], [(record,)], [1])
        gone = weakref.ref(record)
        del record, buckets
        gc.collect()

        assert gone() is None


class _Pair(loops.PairTimes):
    pass


def _met(module: ModuleType, **given: Any) -> tuple[list[Any], list[int], list[Any]]:
    """What ``meet`` gives: main output, its times, side output. The holders are those that were chosen."""
    held, run = given["held"], given["run"]
    buckets: dict[int, dict[Any, Any]] = {}
    keys, times, values = zip(*held, strict=True) if held else ((), (), ())
    module.hold(buckets, given["width"], keys, values, times)
    keys, times, values = zip(*run, strict=True) if run else ((), (), ())
    holder, context, tag = _Holder(), _Pair(), OutputTag("late")
    out: list[Any] = []
    out_times: list[int] = []
    side: list[Any] = []

    def pair(left: Any, right: Any, times: _Pair) -> Iterator[Any] | None:
        if "bad" in (left, right):
            raise ValueError("bad")
        if (left + right) % 5 == 0:
            return None
        made = (holder.key, left, right, times.left, times.right)
        return iter([made, (tag, made)])

    module.meet(
        pair, values, keys, context, holder, out, OutputTag, lambda *item: side.append(item),
        times, out_times, buckets, given["width"], given["lower"], given["upper"], given["left"],
    )  # fmt: skip
    assert [(item[1], time) for item, time in side] == list(zip(out, out_times, strict=True))
    return out, out_times, side


class TestMeet:
    """The compiled one needs compiled holders, which the pure one can use too."""

    @given(
        timed, timed, st.integers(1, 12), st.integers(-15, 15), st.integers(-1, 20), st.booleans()
    )
    def test_each_pair_within_the_interval_by_record_and_time(
        self, held: list[Any], run: list[Any], width: int, lower: int, span: int, left: bool
    ) -> None:
        waiting = [(*record, number) for number, record in enumerate(held)]
        coming = [(*record, number) for number, record in enumerate(run, 100)]
        upper = lower + span
        expected = []
        for key, time, value in coming:
            for other, at, partner in sorted(waiting, key=lambda record: record[1]):
                if other == key and lower <= at - time <= upper and (value + partner) % 5:
                    pair = (value, partner, time, at) if left else (partner, value, at, time)
                    expected.append(((key, *pair), max(time, at)))

        for module in both():
            out, times, _ = _met(
                module, held=waiting, run=coming, width=width, lower=lower, upper=upper, left=left
            )
            assert list(zip(out, times, strict=True)) == expected

    @pytest.mark.parametrize("bound", [5, _LAST])
    def test_intervals_that_reach_beyond_all_times(self, module: ModuleType, bound: int) -> None:
        width = (bound + 1) // 2
        held = [("a", _FIRST + 1, 1), ("a", _LAST, 2)]
        for time, partner in ((_FIRST + 2, 1), (_LAST - 1, 2)):
            out, _, _ = _met(
                module, held=held, run=[("a", time, 6)], width=width, lower=-bound, upper=bound,
                left=True,
            )  # fmt: skip
            assert [made[2] for made in out] == [partner]

    def test_an_error_has_the_record_in_hand(self, module: ModuleType) -> None:
        with pytest.raises(ValueError, match="bad") as caught:
            _met(
                module, held=[("a", 1, 1)], run=[("b", 1, 2), ("a", 1, "bad")], width=1, lower=0,
                upper=0, left=True,
            )  # fmt: skip

        assert operator_failed("join", caught.value).record == "'bad'"


class TestColumns:
    def test_the_same_keys_are_the_same_objects_in_the_same_order(self, module: ModuleType) -> None:
        data = {(1, 2): 1, "b": 2, 3000: 3}
        keys = tuple(data)

        assert module.same_keys(data, keys)
        assert module.same_keys({}, ())
        assert not module.same_keys(data, keys[::-1])
        assert not module.same_keys(data, keys[:2])
        assert not module.same_keys(data, (*keys, "c"))
        assert not module.same_keys(data, (*keys[:2], int("3000")))  # equal, and another one

    def test_keys_after_others_were_removed(self, module: ModuleType) -> None:
        data = dict.fromkeys(range(1000, 1100))
        keys = tuple(data)
        del data[1050]
        assert not module.same_keys(data, keys)
        keys = keys[:50] + keys[51:]
        assert module.same_keys(data, keys)
        data[1050] = None
        assert not module.same_keys(data, (*keys[:50], 1050, *keys[50:]))

    @given(st.lists(st.one_of(plain, plain.map(lambda value: [value])), max_size=40))
    def test_all_are_plain_or_one_is_not(self, values: list[Any]) -> None:
        expected = all(map(is_plain, values))

        for module in both():
            assert module.all_plain(dict(enumerate(values))) == expected

    @given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.sampled_from(EDGES)))
    def test_whole_numbers_are_words(self, values: list[int]) -> None:
        for module in both():
            found = module.words(dict(enumerate(values)), int)
            assert list(memoryview(found).cast("q")) == values

    @given(st.lists(st.floats()))
    def test_floats_are_words_with_all_their_bits(self, values: list[float]) -> None:
        for module in both():
            found = module.words(dict(enumerate(values)), float)
            assert found == array("d", values).tobytes()

    @pytest.mark.parametrize("other", [2**63, -(2**63) - 1, True, 1.0, None, "1", (1,)])
    @pytest.mark.parametrize("place", [0, 30, 59])
    def test_no_words_where_one_is_something_else(
        self, module: ModuleType, other: Any, place: int
    ) -> None:
        data: dict[int, Any] = dict.fromkeys(range(60), 7)
        data[place] = other

        assert module.words(data, int) is None
        assert module.words(dict.fromkeys(range(60), 0.5) | {place: 1}, float) is None


class TestReferences:
    """Nothing is kept and nothing let go too often, on the ways of errors too."""

    def test_loops_keep_nothing(self, module: ModuleType) -> None:
        key, value = ("some", "key"), ("some", "value")
        before = sys.getrefcount(key), sys.getrefcount(value)
        for _ in range(50):
            module.items([value], 0)
            module.share({key: 0}, [key], [value], ([],))
            module.share({7: 0}, [7], [value], ([],), [key], ([],), array("i", [0]).tobytes())
            with pytest.raises(IndexError):
                module.share({7: 1}, [7], [value], ([],), [key], ([],), array("i", [1]).tobytes())
            module.fold({key: 1}, [key], [value], lambda _before, _value: None)
            module.fold_new({}, [key], [value], lambda _value, _held: None, int, [])
            module.decode(module.encode([value, key]))
            buckets: dict[int, Any] = {}
            module.hold(buckets, 5, [key] * 3, [value] * 3, [3, 2, 3])
            for function in (lambda *_: [value], lambda *_: 1 // 0):
                with suppress(ZeroDivisionError):
                    module.meet(
                        function, [value], [key], _Pair(), _Holder(), [], OutputTag, print,
                        [2], [], buckets, 5, 0, 1, True,
                    )  # fmt: skip
            module.same_keys({key: value}, (key,))
            module.same_keys({key: value}, (value,))
            module.all_plain({key: value})
            module.words({key: value}, int)
            with pytest.raises(ZeroDivisionError):
                module.fold({key: 1}, [key], [value], lambda _before, _value: 1 // 0)

        del buckets, function
        assert (sys.getrefcount(key), sys.getrefcount(value)) == before

    def test_holders_let_go_of_what_they_held(self) -> None:
        key = ("some", "key")
        before = sys.getrefcount(key)
        for _ in range(50):
            holder, moment, pair = _Holder(), _Context(), _Pair()
            holder.key = holder.namespace = key
            moment.time = key  # type: ignore[assignment]
            pair.left = pair.right = key  # type: ignore[assignment]
            del holder, moment, pair

        assert sys.getrefcount(key) == before


def test_at_record_raises_the_same_error() -> None:
    error = ValueError("x")

    with pytest.raises(ValueError, match="x") as caught:
        at_record(error, 5)

    assert caught.value is error


def test_the_compiled_module_has_all_names() -> None:
    if not loops.COMPILED:
        pytest.skip("riverrun was installed where there is no C compiler, or RIVERRUN_PURE is set")
    compiled = importlib.import_module("riverrun.loops._compiled")

    assert set(pure.__all__) <= set(vars(compiled))
    assert Path(loops.__file__).with_name("pure.py").exists()
