import json
import math
import pickle
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from riverrun.serde import key_hash
from riverrun.serde.instant import Instant
from riverrun.serde.row import Row, RowKind
from riverrun.serde.stable_hash import (
    KeyHashError,
    hash_column,
    hash_keys,
    key_group,
    key_groups,
    stable_hash,
)

GOLDEN = Path(__file__).with_name("stable_hash_golden.json")


class Colour(Enum):
    RED = 1
    BLUE = 2


class Level(IntEnum):
    LOW = 1


class City(StrEnum):
    ROME = "rome"


class Right(Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Key:
    customer: str
    shop: int
    note: str = field(default="", compare=False)


@dataclass(frozen=True)
class OtherKey:
    customer: str
    shop: int


@dataclass
class Mutable:
    value: int


@dataclass(frozen=True, eq=False)
class Identity:
    value: int


EAST = timezone(timedelta(hours=5))


@pytest.mark.parametrize("entry", json.loads(GOLDEN.read_text()), ids=lambda entry: entry["key"])
def test_the_hash_of_a_key_never_changes(entry: dict[str, Any]) -> None:
    key = eval(entry["key"], globals())

    assert stable_hash(key) == int(entry["hash"], 16)


def test_the_golden_keys_are_of_all_kinds() -> None:
    keys = [eval(entry["key"], globals()) for entry in json.loads(GOLDEN.read_text())]

    assert len(keys) >= 60
    assert {type(key) for key in keys} >= {
        *(type(None), bool, int, float, str, bytes, tuple, Decimal, Fraction, date, datetime),
        *(time, timedelta, UUID, Colour, Right, frozenset, Key, Row, Point, Instant),
    }


@pytest.mark.parametrize(
    "keys",
    [
        (1, 1.0, True, Decimal(1), Decimal("1.00"), Fraction(1), Level.LOW, np.int64(1), np.True_),
        (0, 0.0, -0.0, False, Decimal("-0"), np.float32(0)),
        (0.5, Decimal("0.5"), Fraction(1, 2), np.float64(0.5), np.float16(0.5)),
        (Decimal("0.1"), Fraction(1, 10)),
        (2**70, float(2**70), Decimal(2**70)),
        (-(2**63), float(-(2**63)), np.int64(-(2**63))),
        (math.inf, Decimal("Infinity")),
        (math.nan, -math.nan, Decimal("nan"), Decimal("sNaN"), np.float64("nan")),
        (b"ab", bytearray(b"ab"), memoryview(b"ab")),
        ("rome", City.ROME, np.str_("rome")),
        ((1, 2), Point(1, 2), (1.0, Decimal(2))),
        (Row(a=1, b=2), Row(b=2, a=1), Row(a=1.0, b=2)),
        (frozenset(["a", "b", 3]), frozenset([3.0, "b", "a"])),
        (Key("a", 1), Key("a", 1, note="not compared")),
        (datetime(2024, 1, 1, 5, tzinfo=EAST), datetime(2024, 1, 1, tzinfo=UTC)),
        (time(7, tzinfo=EAST), time(2, tzinfo=UTC)),
        (timedelta(days=1), timedelta(hours=24)),
    ],
    ids=lambda keys: type(keys[0]).__name__,
)
def test_equal_keys_have_equal_hashes(keys: tuple[Any, ...]) -> None:
    assert len({stable_hash(key) for key in keys}) == 1


def test_keys_that_are_not_equal_have_different_hashes() -> None:
    midnight = datetime(2024, 1, 1)  # noqa: DTZ001 - no zone is what is tested
    keys = [
        *(None, 0, 1, -1, 2, 0.1, Decimal("0.1"), math.nan, math.inf, -math.inf, 2**64),
        *(
            "",
            "a",
            "1",
            b"",
            b"a",
            (),
            (None,),
            ("",),
            (1, 2),
            (2, 1),
            ((1, 2),),
            ("ab", ""),
            ("a", "b"),
        ),
        *(date(2024, 1, 1), midnight, midnight.replace(tzinfo=UTC), time(1), time(1, tzinfo=UTC)),
        *(timedelta(1), timedelta(2), UUID(int=1), UUID(int=1 << 64)),
        *(
            Colour.RED,
            Colour.BLUE,
            Right.READ,
            Right.READ | Right.WRITE,
            frozenset(),
            frozenset([1]),
        ),
        *(Key("a", 1), OtherKey("a", 1), Row(1, 2), Row(a=1, b=2), Row(a=1, c=2)),
        Row.of_kind(RowKind.DELETE, 1, 2),
    ]

    assert len({stable_hash(key) for key in keys}) == len(keys)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.text(),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.uuids(),
)
KEYS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner),
    max_leaves=4,
)


@given(st.integers() | st.floats() | st.decimals() | st.fractions())
@example(-1)
@example(2**61 - 1)
@example(2**61 - 2)
@example(Fraction(1, 2**61 - 1))
@example(Decimal("1E+999999"))
def test_numbers_hash_as_the_specification_says_on_any_build_of_python(number: Any) -> None:
    if isinstance(number, float):
        residue = None if math.isnan(number) else key_hash._portable_residue_of_float(number)
    elif isinstance(number, Decimal):
        residue = None if number.is_nan() else key_hash._portable_residue_of_decimal(number)
    else:
        residue = key_hash._residue(*number.as_integer_ratio())

    expected = key_hash.NAN_HASH if residue is None else key_hash.leaf(key_hash.NUMBER, residue)
    assert stable_hash(number) == expected


@given(KEYS)
def test_a_hash_is_an_unsigned_number_of_64_bits(key: Any) -> None:
    assert 0 <= stable_hash(key) < 2**64
    assert key_group(key, 128) == stable_hash(key) % 128


@given(st.lists(KEYS, max_size=40) | st.lists(st.tuples(st.text(), st.integers()), min_size=30))
def test_the_keys_of_a_run_hash_as_each_key_does(keys: list[Any]) -> None:
    assert hash_keys(keys).tolist() == [stable_hash(key) for key in keys]
    assert key_groups(keys, 128) == [key_group(key, 128) for key in keys]


@pytest.mark.parametrize(
    "keys",
    [
        [-(2**63), 2**63 - 1, -1, -2, 0, 2**61 - 1, 2**61 - 2, 1 - 2**61, *range(-20, 20)],
        [2**63, *range(40)],
        [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, math.inf, -math.inf, math.nan] * 5,
        [2.0**61, 2.0**61 - 256, 1e300, -1e300, 0.1, -1.0, -2.0, 2.0**-61, 2.0**-122] * 5,
        [f"customer-{i}" for i in range(40)],
        ["\ud800", "é", ""] * 10,
        [b"", b"\x00", b"a" * 1000] * 10,
        [("a", 1), ("b",), ()] * 10,
        [(f"c{i}", i, float(i), None) for i in range(40)],
        [()] * 30,
    ],
    ids=lambda keys: repr(keys[:3]),
)
def test_a_long_run_of_one_class_hashes_as_each_key_does(keys: list[Any]) -> None:
    assert hash_keys(keys).tolist() == [stable_hash(key) for key in keys]


INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()]


def range_of(arrow_type: pa.DataType) -> st.SearchStrategy[int]:
    bits = arrow_type.bit_width
    if pa.types.is_signed_integer(arrow_type):
        return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return st.integers(0, 2**bits - 1)


COLUMNS = st.one_of(
    *(st.tuples(st.just(kind), st.lists(st.none() | range_of(kind))) for kind in INTEGERS),
    st.tuples(st.just(pa.float64()), st.lists(st.none() | st.floats())),
    st.tuples(st.just(pa.float64()), st.lists(st.integers(-(2**60), 2**60).map(float))),
    st.tuples(st.just(pa.float32()), st.lists(st.none() | st.floats(width=32))),
    st.tuples(st.just(pa.bool_()), st.lists(st.none() | st.booleans())),
    st.tuples(st.sampled_from([pa.string(), pa.large_string()]), st.lists(st.none() | st.text())),
    st.tuples(st.just(pa.binary()), st.lists(st.none() | st.binary())),
    st.tuples(st.just(pa.date32()), st.lists(st.none() | st.dates())),
    st.tuples(st.just(pa.timestamp("us")), st.lists(st.none() | st.datetimes())),
    st.tuples(st.just(pa.time64("us")), st.lists(st.none() | st.times())),
    st.tuples(st.just(pa.null()), st.lists(st.none())),
)


@given(COLUMNS)
@example((pa.int64(), [-(2**63), 2**63 - 1, None, -1]))
@example((pa.uint64(), [2**64 - 1, 2**63, 0]))
@example((pa.float64(), [math.nan, -0.0, 0.0, 5e-324, 1.0, None, math.inf, -math.inf, -1.0]))
def test_a_column_hashes_as_each_of_its_values_does(typed: tuple[pa.DataType, list[Any]]) -> None:
    arrow_type, values = typed
    column = pa.array(values, arrow_type)

    hashes = hash_column(column)

    assert hashes.dtype == np.uint64
    assert hashes.tolist() == [stable_hash(value) for value in values]
    assert hash_column(pa.chunked_array([column, column])).tolist() == 2 * hashes.tolist()
    assert hash_column(column[1:]).tolist() == hashes.tolist()[1:]


@given(st.lists(st.none() | st.tuples(st.none() | st.integers(-9, 9), st.none() | st.text())))
def test_a_struct_hashes_as_the_tuple_of_its_fields(values: list[Any]) -> None:
    arrow_type = pa.struct([("a", pa.int64()), ("b", pa.string())])
    column = pa.array([value and {"a": value[0], "b": value[1]} for value in values], arrow_type)

    assert hash_column(column).tolist() == [stable_hash(value) for value in values]


def test_dictionaries_decimals_zones_and_empty_columns_hash_as_their_values() -> None:
    zoned = [datetime(2024, 1, 1, tzinfo=UTC), None]
    decimals = [Decimal("1.50"), None, Decimal("0.10")]
    dictionary = pa.array(["a", None, "b", "a"]).dictionary_encode()

    assert hash_column(dictionary).tolist() == [stable_hash(key) for key in ["a", None, "b", "a"]]
    assert hash_column(pa.array(decimals)).tolist() == [stable_hash(key) for key in decimals]
    assert hash_column(pa.array(zoned)).tolist() == [stable_hash(key) for key in zoned]
    assert hash_column(pa.array([None], pa.string())).tolist() == [stable_hash(None)]
    assert hash_column(pa.chunked_array([], pa.int64())).tolist() == []
    assert hash_column(pa.array([{}], pa.struct([]))).tolist() == [stable_hash(())]


def test_a_column_that_cannot_be_a_key_is_refused() -> None:
    with pytest.raises(KeyHashError, match="class list cannot be a key"):
        hash_column(pa.array([[1, 2]]))


@pytest.mark.parametrize(
    "key",
    [[1], {"a": 1}, {1}, object(), Mutable(1), Identity(1), 1j, ("a", [1])],
    ids=lambda key: type(key).__name__,
)
def test_what_cannot_be_a_key_is_refused_with_what_can(key: Any) -> None:
    with pytest.raises(KeyHashError, match="cannot be a key; a key is None, a bool, int, float"):
        stable_hash(key)


def test_the_error_names_the_part_that_has_no_hash_and_survives_pickle() -> None:
    with pytest.raises(KeyHashError) as caught:
        stable_hash(("a", {"b": [1]}))

    copied = pickle.loads(pickle.dumps(caught.value))
    assert (copied.type_name, copied.value_repr) == ("dict", "{'b': [1]}")
    assert str(copied) == str(caught.value)


def test_another_process_finds_the_same_hash_whatever_its_hash_seed() -> None:
    keys = "['a', ('b', 1), frozenset(['x', 'y', 'z']), None, 1.5, b'c']"
    code = f"from riverrun.serde.stable_hash import *; print([stable_hash(k) for k in {keys}])"
    expected = str([stable_hash(key) for key in eval(keys)])

    for seed in ("0", "7"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONHASHSEED": seed},
        )
        assert run.stdout.strip() == expected


@pytest.mark.parametrize(
    "keys",
    [
        [f"customer-{i}" for i in range(10_000)],
        list(range(10_000)),
        [i << 22 for i in range(10_000)],
        [float(i) / 8 for i in range(10_000)],
        [("shop", i) for i in range(10_000)],
        [date.fromordinal(700_000 + i) for i in range(10_000)],
    ],
    ids=lambda keys: repr(keys[1]),
)
def test_keys_spread_evenly_over_the_key_groups(keys: list[Any]) -> None:
    counts = Counter(key_groups(keys, 128))
    expected = len(keys) / 128

    chi_square = sum((counts[group] - expected) ** 2 / expected for group in range(128))

    # 127 degrees of freedom: a fair hash exceeds 200 once in twenty thousand draws.
    assert chi_square < 200
