"""Asynchronous calls in one operator, each answered by hand: order, room, time, failures, state, the end."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from riverrun.api.async_functions import AsyncFunction
from riverrun.api.async_retry_strategies import (
    AsyncRetryStrategy,
    ExponentialBackoffDelayRetryStrategyBuilder,
)
from riverrun.api.runtime_context import RuntimeContext
from riverrun.graph.specs import AsyncWaitSpec
from riverrun.runtime.failures import operator_failed
from riverrun.runtime.operators.async_wait import AsyncWaitOperator
from riverrun.runtime.system_state import CALLS
from riverrun.testing import processes
from riverrun.testing.leaks import Snapshot, leaks_since

_PATIENCE_S = 20.0


class Doors(AsyncFunction[Any, Any]):
    """Each call waits until the test answers it."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.cancelled: list[Any] = []
        self.story: list[str] = []
        self._doors: dict[Any, asyncio.Future[Any]] = {}
        self._came = threading.Condition()

    def open(self, runtime_context: RuntimeContext) -> None:
        del runtime_context
        self.story.append(f"open in {threading.current_thread().name}")

    def close(self) -> None:
        self.story.append(f"close in {threading.current_thread().name}")

    async def async_invoke(self, value: Any) -> Any:
        door = asyncio.get_running_loop().create_future()
        with self._came:
            self.calls.append(value)
            self._doors[value] = door
            self._came.notify_all()
        try:
            return await door
        except asyncio.CancelledError:
            self.cancelled.append(value)
            raise

    def await_calls(self, *values: Any) -> None:
        """Wait until these records, and no others, were called."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.calls) >= len(values), _PATIENCE_S)
        assert self.calls == list(values)

    def answer(self, value: Any, result: Any) -> None:
        with self._came:
            assert self._came.wait_for(lambda: value in self._doors, _PATIENCE_S)
        door = self._doors[value]
        answer = door.set_exception if isinstance(result, BaseException) else door.set_result
        door.get_loop().call_soon_threadsafe(answer, result)


class Bench:
    """Drives one operator as its task does."""

    def __init__(
        self,
        function: AsyncFunction[Any, Any],
        *,
        ordered: bool = True,
        capacity: int = 10,
        timeout_ms: int = 0,
        retry: AsyncRetryStrategy[Any] | None = None,
        restored: list[Any] | None = None,
    ) -> None:
        self.out: list[Any] = []
        self.state: Callable[[], list[Any]] = list
        self._woken = threading.Event()
        spec = AsyncWaitSpec(function, timeout_ms, capacity, ordered, retry)
        self.operator = AsyncWaitOperator(spec)
        self._restored = restored or []
        context: Any = SimpleNamespace(
            name="calls",
            key_selector=None,
            runtime=None,
            emit=self.emit,
            time_output=self,
            wake=self._woken.set,
            states=self,
        )
        self.operator.open(context)

    def restored_items(self, name: str) -> list[Any]:
        assert name == CALLS
        return self._restored

    def provide(self, name: str, items: Callable[[], list[Any]]) -> None:
        assert name == CALLS
        self.state = items

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.out += [(value, None) for value in values] if timestamps is None else []
        self.out += zip(values, timestamps, strict=True) if timestamps is not None else []

    def watermark(self, time: int) -> None:
        self.out.append(f"time {time}")

    def status(self, *, idle: bool) -> None:
        self.out.append("idle" if idle else "active")

    def send(self, *values: Any) -> None:
        """Records whose timestamp is ten times their value."""
        self.operator.process(list(values), [value * 10 for value in values], self.emit)

    def advance(self, watermark: int) -> None:
        self.operator.advance(watermark, self.emit)

    def until(self, number: int) -> list[Any]:
        """Let the operator work until so much came out, and give it."""
        while len(self.out) < number:
            assert self._woken.wait(_PATIENCE_S), f"only {self.out}"
            self._woken.clear()
            if self.operator.due_at() is not None:
                self.operator.run_due(1, self.emit)
        out, self.out = self.out, []
        return out

    def failure(self) -> BaseException:
        with pytest.raises(BaseException) as caught:  # noqa: PT011  (the test looks at it)
            self.until(1)
        return caught.value


@pytest.fixture(autouse=True)
def no_leaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = Snapshot.take(processes.mark_descendants())
    yield
    assert leaks_since(before) == []


@pytest.fixture
def bench() -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(*args: Any, **kwargs: Any) -> Bench:
        made.append(Bench(*args, **kwargs))
        return made[-1]

    yield make
    for each in made:
        each.operator.close()


Make = Callable[..., Bench]


def test_ordered_results_come_out_in_the_order_of_their_records(bench: Make) -> None:
    doors = Doors()
    it = bench(doors)

    it.send(1, 2, 3)
    for value in (3, 2, 1):
        doors.answer(value, [value, -value])

    assert it.until(6) == [(1, 10), (-1, 10), (2, 20), (-2, 20), (3, 30), (-3, 30)]
    assert it.operator.drained


def test_unordered_results_come_out_as_they_come_but_not_past_a_watermark(bench: Make) -> None:
    doors = Doors()
    it = bench(doors, ordered=False)

    it.send(1, 2)
    it.advance(25)
    it.send(3)
    doors.answer(3, ["c"])
    doors.answer(2, ["b"])
    assert it.until(1) == [("b", 20)]
    assert not it.operator.drained
    doors.answer(1, ["a"])

    assert it.until(3) == [("a", 10), "time 25", ("c", 30)]


@pytest.mark.parametrize("ordered", [True, False])
def test_time_stands_behind_what_came_before_it_and_passes_an_empty_operator(
    bench: Make, *, ordered: bool
) -> None:
    doors = Doors()
    it = bench(doors, ordered=ordered)

    it.advance(5)
    it.operator.status(idle=True)
    assert it.until(2) == ["time 5", "idle"]

    it.operator.status(idle=False)
    it.send(1)
    it.advance(15)
    it.operator.status(idle=True)
    assert it.out == ["active"]
    doors.answer(1, [])
    assert it.until(3) == ["active", "time 15", "idle"]


def test_no_more_than_the_capacity_are_called_and_the_rest_waits(bench: Make) -> None:
    doors = Doors()
    it = bench(doors, capacity=2)

    it.send(1)
    assert it.operator.accepting
    it.send(2, 3, 4)
    doors.await_calls(1, 2)
    assert not it.operator.accepting
    doors.answer(2, ["b"])
    doors.answer(1, ["a"])
    assert it.until(2) == [("a", 10), ("b", 20)]

    doors.await_calls(1, 2, 3, 4)
    assert not it.operator.accepting
    doors.answer(3, [])
    doors.answer(4, ["d"])
    assert it.until(1) == [("d", 40)]
    assert it.operator.accepting
    assert it.operator.drained


def test_an_ordered_result_that_waits_for_one_before_it_takes_room(bench: Make) -> None:
    doors = Doors()
    it = bench(doors, capacity=2)

    it.send(1, 2, 3)
    doors.answer(2, ["b"])
    doors.await_calls(1, 2)
    assert not it.operator.accepting
    doors.answer(1, ["a"])

    assert it.until(2) == [("a", 10), ("b", 20)]
    doors.await_calls(1, 2, 3)


def test_records_with_and_without_timestamps_keep_what_they_have(bench: Make) -> None:
    doors = Doors()
    it = bench(doors)

    it.operator.process([1], None, it.emit)
    it.send(2)
    it.operator.process([3], None, it.emit)
    for value in (1, 2, 3):
        doors.answer(value, (value, value))

    assert it.until(6) == [(1, None), (1, None), (2, 20), (2, 20), (3, None), (3, None)]


def test_a_snapshot_has_all_records_that_did_not_come_out_in_order(bench: Make) -> None:
    doors = Doors()
    it = bench(doors, ordered=False, capacity=2)

    it.send(1, 2, 3)
    it.advance(35)
    it.send(4)
    doors.answer(2, ["b"])
    assert it.until(1) == [("b", 20)]

    assert it.state() == [(1, 10), (3, 30), (4, 40)]


def test_restored_records_are_called_before_new_ones(bench: Make) -> None:
    doors = Doors()
    it = bench(doors, capacity=2, restored=[(7, 70), (8, None), (9, 90)])
    assert not it.operator.accepting
    assert it.state() == [(7, 70), (8, None), (9, 90)]

    it.send(1)
    for value in (7, 8):
        doors.answer(value, [value])
    assert it.until(2) == [(7, 70), (8, None)]
    for value in (9, 1):
        doors.answer(value, [value])
    assert it.until(2) == [(9, 90), (1, 10)]

    assert doors.calls == [7, 8, 9, 1]
    assert it.state() == []


def test_a_failed_call_names_its_record_and_shows_the_users_own_line(bench: Make) -> None:
    doors = Doors()
    it = bench(doors)

    it.send(1, 2)
    doors.answer(2, ValueError("no good"))

    error = it.failure()
    assert isinstance(error, ValueError)
    assert operator_failed("calls", error).record == "2"
    assert traceback.extract_tb(error.__traceback__)[-1].name == "async_invoke"


@pytest.mark.parametrize("result", [None, 5, "text", b"bytes"])
def test_a_result_that_is_no_list_is_refused_with_words(bench: Make, result: Any) -> None:
    doors = Doors()
    it = bench(doors)

    it.send(1)
    doors.answer(1, result)

    error = it.failure()
    assert isinstance(error, TypeError)
    assert "Doors.async_invoke gave" in str(error)
    assert type(result).__name__ in str(error)
    assert operator_failed("calls", error).record == "1"


def test_a_call_that_cancels_itself_is_a_failure_with_its_record(bench: Make) -> None:
    doors = Doors()
    it = bench(doors)

    it.send(1)
    doors.answer(1, asyncio.CancelledError())

    error = it.failure()
    assert isinstance(error, RuntimeError)
    assert "cancelled by its own code" in str(error)
    assert operator_failed("calls", error).record == "1"


class Quits(AsyncFunction[Any, Any]):
    """Ends the process, or thinks so."""

    async def async_invoke(self, value: Any) -> Any:
        raise SystemExit(value)


class QuitsAside(AsyncFunction[Any, Any]):
    """Ends the loop in a task that nobody awaits."""

    async def async_invoke(self, value: Any) -> Any:
        async def aside() -> None:
            raise SystemExit(value)

        self.task = asyncio.create_task(aside())
        await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("function", [Quits, QuitsAside])
def test_an_exit_in_a_call_is_not_lost(
    bench: Make, function: type[AsyncFunction[Any, Any]]
) -> None:
    it = bench(function())

    it.send(1)

    assert isinstance(it.failure(), SystemExit)


class Substitutes(Doors):
    """Says so when a call takes too long."""

    def timeout(self, value: Any) -> Any:
        return [f"{value} took too long"]


def test_a_timeout_gives_what_the_function_puts_in_its_place_and_cancels_the_call(
    bench: Make,
) -> None:
    doors = Substitutes()
    it = bench(doors, timeout_ms=1)

    it.send(1, 2)

    assert it.until(2) == [("1 took too long", 10), ("2 took too long", 20)]
    it.operator.close()
    assert doors.cancelled == [1, 2]


def test_a_timeout_without_a_substitute_is_a_failure_with_its_record(bench: Make) -> None:
    it = bench(Doors(), timeout_ms=1)

    it.send(3)

    error = it.failure()
    assert isinstance(error, TimeoutError)
    assert "the asynchronous call for 3" in str(error)
    assert operator_failed("calls", error).record == "3"


def test_calls_that_are_answered_in_time_do_not_time_out(bench: Make) -> None:
    doors = Substitutes()
    it = bench(doors, timeout_ms=600_000, capacity=1)

    for value in (1, 2, 3):
        it.send(value)
        doors.answer(value, [value])
        assert it.until(1) == [(value, value * 10)]


class Stubborn(AsyncFunction[int, Any]):
    """Gives an empty list, then raises, then gives the number of the try."""

    def __init__(self) -> None:
        self.tries: dict[int, int] = {}

    async def async_invoke(self, value: int) -> list[Any]:
        number = self.tries[value] = self.tries.get(value, 0) + 1
        if number % 2 == 1 and number < 5:
            return []
        if number < 5:
            raise ConnectionError(f"try {number}")
        return [(value, number)]

    def timeout(self, value: int) -> list[Any]:
        return [(value, "late")]


def again(most: int) -> AsyncRetryStrategy[Any]:
    return (
        ExponentialBackoffDelayRetryStrategyBuilder[Any](most, 1, 2, 2.0)
        .if_result(lambda result: not result)
        .if_exception(lambda error: isinstance(error, ConnectionError))
        .build()
    )


def test_calls_are_made_again_until_the_outcome_is_good(bench: Make) -> None:
    function = Stubborn()
    it = bench(function, retry=again(4), timeout_ms=600_000)

    it.send(1, 2)

    assert it.until(2) == [((1, 5), 10), ((2, 5), 20)]
    assert function.tries == {1: 5, 2: 5}


def test_the_last_outcome_counts_when_there_are_no_more_tries(bench: Make) -> None:
    two, three = bench(Stubborn(), retry=again(1)), bench(Stubborn(), retry=again(2))

    two.send(1)
    three.send(1)
    three.advance(15)

    assert isinstance(two.failure(), ConnectionError)
    assert three.until(1) == ["time 15"]


def test_the_timeout_is_for_all_tries_together(bench: Make) -> None:
    function = Stubborn()
    slow = AsyncRetryStrategy.fixed_delay(9, 600_000, lambda result: not result, None)
    it = bench(function, retry=slow, timeout_ms=1)

    it.send(1)

    assert it.until(1) == [((1, "late"), 10)]
    assert function.tries == {1: 1}


def test_an_exception_that_no_predicate_wants_fails_at_once(bench: Make) -> None:
    doors = Doors()
    it = bench(doors, retry=again(3), timeout_ms=600_000)

    it.send(1)
    doors.answer(1, KeyError("x"))

    assert isinstance(it.failure(), KeyError)
    assert doors.calls == [1]


def test_the_end_cancels_what_is_under_way_and_closes_the_function_after_it() -> None:
    doors = Doors()
    it = Bench(doors)
    it.send(1, 2)
    doors.await_calls(1, 2)

    it.operator.close()

    here = threading.current_thread().name
    assert sorted(doors.cancelled) == [1, 2]
    assert doors.story == [f"open in {here}", f"close in {here}"]
    assert it.out == []
