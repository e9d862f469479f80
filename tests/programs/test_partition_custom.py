"""Custom partitioners through the front door: where records go, and what a partitioner may not do."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.api.functions import KeySelector, MapFunction, Partitioner
from riverrun.api.runtime_context import RuntimeContext
from riverrun.core.errors import JobFailed
from tests.programs.conftest import MakeEnv


class WithSubtask(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        return value, self.subtask


class ByDigit(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        assert num_partitions == 3
        return key % 2 + 1


class LastDigit(KeySelector):
    def get_key(self, value: int) -> int:
        return value % 10


@pytest.mark.parametrize("objects", [True, False])
def test_each_record_goes_where_the_partitioner_says(make_env: MakeEnv, *, objects: bool) -> None:
    env = make_env(3)
    numbers = env.from_sequence(0, 29).map(lambda value: value)
    partitioner: Any = ByDigit() if objects else lambda key, count: key % 2 + count - 2
    selector: Any = LastDigit() if objects else lambda value: value % 10

    placed = numbers.partition_custom(partitioner, selector).map(WithSubtask())

    assert sorted(placed.execute_and_collect(limit=100)) == [(n, n % 2 + 1) for n in range(30)]


class Strange(int):
    """A number of a class of its own."""


def test_any_whole_number_will_do(make_env: MakeEnv) -> None:
    env = make_env(2)
    numbers = env.from_sequence(0, 9)

    placed = numbers.partition_custom(lambda key, _: Strange(key > 4), lambda v: v)

    found = placed.map(WithSubtask()).execute_and_collect(limit=100)
    assert sorted(found) == [(n, int(n > 4)) for n in range(10)]


class Number:
    """A whole number that is no int, such as numpy has them."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_numbers_of_other_libraries_will_do(make_env: MakeEnv) -> None:
    env = make_env(2)

    placed = env.from_sequence(0, 9).partition_custom(lambda key, _: Number(key % 2), lambda v: v)

    found = placed.map(WithSubtask()).execute_and_collect(limit=100)
    assert sorted(found) == [(n, n % 2) for n in range(10)]


RANGE = "; expected an int from 0 to 1"
WRONG = [
    pytest.param("source", lambda key, count: count, f"returned 2{RANGE}", id="too high"),
    pytest.param("map", lambda key, count: -1, f"returned -1{RANGE}", id="negative"),
    pytest.param("union", lambda key, count: None, f"returned None{RANGE}", id="none"),
    pytest.param("map", lambda key, count: 1 / 2, f"returned 0.5{RANGE}", id="fraction"),
    pytest.param("source", lambda key, count: "1", f"returned '1'{RANGE}", id="text"),
    pytest.param("union", lambda key, count: key // 0, "ZeroDivisionError", id="raises"),
]


@pytest.mark.parametrize(("behind", "partitioner", "message"), WRONG)
def test_a_partitioner_that_goes_wrong_is_named_with_its_record(
    make_env: MakeEnv, behind: str, partitioner: Any, message: str
) -> None:
    env = make_env(2)
    numbers = env.from_collection([41, 41])
    if behind == "map":
        numbers = numbers.map(lambda value: value)
    if behind == "union":
        numbers = numbers.map(lambda value: value).union(env.from_collection([41]))

    placed = numbers.partition_custom(partitioner, lambda value: value).map(WithSubtask())

    with pytest.raises(JobFailed, match=message) as failed:
        placed.name("after").execute_and_collect(limit=1)
    assert "operator 'key selector or partitioner of after', subtask" in str(failed.value)
    assert "at record 41: " in str(failed.value)


def test_a_key_selector_that_goes_wrong_is_named_with_its_record(make_env: MakeEnv) -> None:
    env = make_env(2)

    placed = env.from_collection([41]).partition_custom(lambda key, _: 0, lambda value: value["a"])

    with pytest.raises(JobFailed, match="partitioner of after', subtask 0, at record 41: TypeErr"):
        placed.map(WithSubtask()).name("after").execute_and_collect(limit=1)
