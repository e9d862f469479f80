"""A selector that only looks something up is replaced by a getter; every other one is called."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any

import pytest

from riverrun.api.functions import KeySelector
from riverrun.runtime.failures import operator_failed
from riverrun.runtime.run_keys import getter_like, run_keys


@dataclass
class Click:
    user: str
    page: int

    @property
    def shout(self) -> str:
        return self.user.upper()


class ByUser(KeySelector):
    def get_key(self, value: Any) -> Any:
        return value.user


class Counting(KeySelector):
    def __init__(self) -> None:
        self.calls = 0

    def get_key(self, value: Any) -> Any:
        self.calls += 1
        return value


def by_name(record: dict[str, Any]) -> Any:
    """With a docstring, which is a constant of its own."""
    return record["user"]


def of_another(record: Any, other: Any = (9,)) -> Any:
    del record
    return other[0]


def of_a_default(record: Any, other: Any = (9,)) -> Any:
    return other[0]


OFFSET = 1

LOOKS: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda record: record[0], ("ann", 7)),
    (lambda record: record[-1], ("ann", 7)),
    (by_name, {"user": "ann"}),
    (lambda record: record.user, Click("ann", 7)),
    (lambda record: record.shout, Click("ann", 7)),
    (lambda record: (record[0], record[1]), ("ann", 7)),
    (lambda record: (record.user, record.page), Click("ann", 7)),
    (ByUser().get_key, Click("ann", 7)),
    (itemgetter(1), ("ann", 7)),
]

OTHERS: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda record: record, 5),
    (lambda record: record[0] + 1, (5,)),
    (lambda record: (record[0],), (5,)),
    (lambda record: record[OFFSET], (5, 6)),
    (lambda record: record.user.upper(), Click("ann", 7)),
    (lambda record: (record.user, record.page, 1), Click("ann", 7)),
    (lambda record: [record[0], record[1]], (5, 6)),
    (lambda record: record[0:1], "ann"),
    (of_another, (5,)),
    (of_a_default, (5,)),
    (lambda _: 3, 5),
    (str, 5),
]


@pytest.mark.parametrize(("selector", "record"), LOOKS)
def test_a_look_is_a_getter_that_gives_the_same(
    selector: Callable[[Any], Any], record: Any
) -> None:
    getter = getter_like(selector)
    assert isinstance(getter, itemgetter | attrgetter)
    assert getter(record) == selector(record)
    assert run_keys(selector)([record, record]) == [selector(record)] * 2


@pytest.mark.parametrize(("selector", "record"), OTHERS)
def test_anything_else_is_called(selector: Callable[[Any], Any], record: Any) -> None:
    assert getter_like(selector) is None
    assert run_keys(selector)([record]) == [selector(record)]


def test_a_selector_with_more_to_do_sees_every_record_once() -> None:
    selector = Counting()
    assert run_keys(selector)([1, 2, 3]) == [1, 2, 3]
    assert selector.calls == 3


def test_a_failure_is_the_selectors_own() -> None:
    with pytest.raises(IndexError) as caught:
        run_keys(lambda record: record[0])([(1,), (), (2,)])
    assert operator_failed("keys", caught.value).record == "()"
    frames = [entry.name for entry in caught.traceback]
    assert frames[-1] == "<lambda>"


def test_who_steps_through_the_program_sees_the_calls() -> None:
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        assert getter_like(by_name) is None
    finally:
        sys.settrace(before)
