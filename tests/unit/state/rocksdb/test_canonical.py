"""Bytes of keys: equal keys have equal bytes, others have others."""

from __future__ import annotations

import dataclasses
import datetime as dt
import pickle
import uuid
from decimal import Decimal
from enum import Enum, IntEnum, IntFlag
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.serde.row import Row
from riverrun.state.rocksdb.canonical import decode, encode, put_length, take_length


class Point(NamedTuple):
    x: int
    y: int


class Color(Enum):
    RED = 1


class Level(IntEnum):
    ONE = 1


class Rights(IntFlag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass(frozen=True)
class Account:
    bank: str
    number: Any
    seen: int = dataclasses.field(default=0, compare=False)


class Plain:
    """Hashable, equal by what it holds, and neither a dataclass nor a tuple."""

    def __init__(self, first: str, second: str) -> None:
        self.first, self.second = first, second

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.first, self.second))


class Name(str):
    __slots__ = ()


numbers = st.one_of(
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, places=3, min_value=-1000, max_value=1000),
    st.fractions(max_denominator=8),
)
leaves = st.one_of(
    st.none(),
    numbers,
    st.text(st.characters(codec=None)),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(dt.UTC)),
    st.times(),
    st.timedeltas(),
    st.uuids(),
)
keys = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, inner), st.frozensets(inner, max_size=3), st.builds(Point, inner, inner)
    ),
    max_leaves=6,
)


@settings(max_examples=120, deadline=None)
@given(keys, keys)
def test_keys_are_equal_exactly_when_their_bytes_are(first: Any, second: Any) -> None:
    assert (first == second) == (encode(first)[0] == encode(second)[0])


@settings(max_examples=120, deadline=None)
@given(numbers, numbers)
def test_numbers_of_all_classes_are_equal_exactly_when_their_bytes_are(
    first: Any, second: Any
) -> None:
    assert (first == second) == (encode(first)[0] == encode(second)[0])


@settings(max_examples=120, deadline=None)
@given(keys)
def test_exact_bytes_give_the_very_key_back(key: Any) -> None:
    data, exact = encode(key)

    if exact:
        back = decode(data)
        assert back == key
        assert type(back) is type(key)
        assert sorted(repr(back)) == sorted(repr(key))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (1, Decimal("1.000")),
        (1, Level.ONE),
        (1, np.int64(1)),
        (1, np.bool_(True)),
        (3, Rights.READ | Rights.WRITE),
        (0.5, Fraction(1, 2)),
        (0.5, np.float64(0.5)),
        (0.0, -0.0),
        (10**400, Decimal("1e400")),
        (Decimal("1e9999999"), Decimal("10e9999998")),
        ((1, 2), Point(1.0, 2)),  # type: ignore[arg-type]
        ("a", Name("a")),
        (Account("b", 1), Account("b", 1.0, seen=7)),
        (Row(a=1, b=2), Row(b=2, a=1)),
        (frozenset({1, 2, 3}), frozenset({3.0, 2, True})),
        (
            dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC),
            dt.datetime(2026, 1, 1, 13, tzinfo=dt.timezone(dt.timedelta(hours=1))),
        ),
    ],
    ids=repr,
)
def test_equal_keys_of_different_classes_have_the_same_bytes(one: Any, other: Any) -> None:
    assert one == other

    assert encode(one)[0] == encode(other)[0]


@pytest.mark.parametrize(
    "key",
    [True, 1.0, Point(1, 2), Account("b", 1), Color.RED, Name("a"), Row(1), Decimal(2)],
    ids=repr,
)
def test_a_key_that_is_known_only_by_what_it_equals_is_called_inexact(key: Any) -> None:
    assert not encode(key)[1]


@pytest.mark.parametrize(
    "key",
    [None, 7, -1, 2**70, "text", "\ud800", b"x" * 300, 0.1, uuid.UUID(int=5), ("a", (None, 1))],
    ids=repr,
)
def test_common_keys_are_exact(key: Any) -> None:
    assert encode(key)[1]


def test_equal_objects_of_any_class_have_the_same_bytes_whatever_they_share() -> None:
    shared = "aaa"
    apart = shared.encode().decode()
    assert shared is not apart

    data, exact = encode(Plain(shared, shared))

    assert exact
    assert data == encode(Plain(shared, apart))[0]
    assert decode(data) == Plain("aaa", "aaa")


def test_bytes_that_no_key_has_are_refused() -> None:
    with pytest.raises(ValueError, match="which no exact key has"):
        decode(encode(Color.RED)[0])


@given(st.integers(min_value=0, max_value=2**40))
def test_lengths_come_back(length: int) -> None:
    out = bytearray(b"before")
    put_length(out, length)
    out += b"after"

    found, end = take_length(bytes(out), 6)

    assert (found, bytes(out[end:])) == (length, b"after")


def test_keys_pickled_with_the_oldest_protocol_are_not_used() -> None:
    """The protocol is part of the layout: other bytes would be another row."""
    assert encode(Plain("a", "b"))[0][2:4] == pickle.PROTO + b"\x04"
