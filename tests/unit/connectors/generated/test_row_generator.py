"""Made-up rows: values of every type, the same ones each time, within what was asked for."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.api.source import Boundedness, SourceReaderContext, SourceStatus
from riverrun.connectors.generated.fields import FieldGenerator, RandomField, SequenceField
from riverrun.connectors.generated.source import RowGeneratorSource
from riverrun.core.clock import ManualClock
from riverrun.serde.check import checker_for
from riverrun.serde.infer import type_of_annotation
from riverrun.serde.instant import Instant
from riverrun.serde.time_types import LocalTimeTypeInfo
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

NOON = 1_700_000_000_000


@dataclass
class Point:
    x: int
    label: str


BASIC = [
    Types.BYTE(),
    Types.SHORT(),
    Types.INT(),
    Types.LONG(),
    Types.BIG_INT(),
    Types.FLOAT(),
    Types.DOUBLE(),
    Types.BIG_DEC(),
    Types.STRING(),
    Types.CHAR(),
    Types.BOOLEAN(),
    Types.SQL_DATE(),
    Types.SQL_TIME(),
    Types.SQL_TIMESTAMP(),
    Types.INSTANT(),
    *map(LocalTimeTypeInfo, LocalTimeTypeInfo.TimeType),
]
NESTED: list[TypeInformation] = [
    Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Types.PRIMITIVE_ARRAY(Types.DOUBLE()),
    Types.BASIC_ARRAY(Types.STRING()),
    Types.OBJECT_ARRAY(Types.BIG_DEC()),
    Types.LIST(Types.MAP(Types.INT(), Types.LIST(Types.BOOLEAN()))),
    Types.TUPLE([Types.INT(), Types.INSTANT()]),
    Types.ROW([Types.STRING(), Types.ROW_NAMED(["a"], [Types.BIG_INT()])]),
    Types.MAP(Types.STRING(), Types.TUPLE([Types.BOOLEAN()])),
]
ALL = BASIC + NESTED


def rows(source: RowGeneratorSource, parallelism: int = 1, limit: int = 7) -> list[Any]:
    """All rows, in the order of their indices if there is one reader."""
    source = pickle.loads(pickle.dumps(source))
    found: list[Any] = []
    for subtask in range(parallelism):
        splits = source.create_splits(parallelism)[subtask::parallelism]
        clock = ManualClock()
        reader = source.create_reader(splits, SourceReaderContext(subtask, parallelism, clock))
        reader.open()
        while True:
            polled = reader.poll(limit)
            found += list(polled.values)
            if polled.status is SourceStatus.END_OF_INPUT:
                break
            clock.advance(100)
        reader.close()
    return found


def values(field: FieldGenerator | TypeInformation, count: int = 200, **more: Any) -> list[Any]:
    return [row.v for row in rows(RowGeneratorSource({"v": field}, count, **more), limit=50)]


@pytest.mark.parametrize("type_info", ALL, ids=repr)
def test_values_are_of_their_type_and_differ(type_info: TypeInformation) -> None:
    found = values(RandomField(type_info, null_rate=0.25, var_len=True), 60, start_ms=NOON)

    checker_for(Types.LIST(type_info))([found])
    assert None in found
    present = [each for each in found if each is not None]
    assert len(present) > 20
    if type_info not in (Types.SQL_DATE(), Types.SQL_TIMESTAMP(), Types.INSTANT()):
        assert any(each != present[0] for each in present) or "LOCAL_DATE" in repr(type_info)


@pytest.mark.parametrize("type_info", ALL, ids=repr)
def test_without_a_null_rate_nothing_is_none(type_info: TypeInformation) -> None:
    assert None not in values(type_info, 30)


@settings(max_examples=20)
@given(seed=st.integers(-(2**70), 2**70), cut=st.integers(0, 30), parallelism=st.integers(1, 3))
def test_a_row_is_the_same_whoever_makes_it(seed: int, cut: int, parallelism: int) -> None:
    fields: dict[str, FieldGenerator | TypeInformation] = {
        "id": SequenceField(0),
        "text": RandomField(Types.STRING(), length=9, var_len=True, null_rate=0.2),
        "list": RandomField(Types.LIST(Types.INT()), var_len=True),
    }
    source = RowGeneratorSource(fields, 30, seed=seed, start_ms=0)
    straight = rows(source)

    context = SourceReaderContext(0, 1, ManualClock())
    first = source.create_reader(source.create_splits(1), context)
    first.open()
    taken = list(first.poll(cut).values) if cut else []
    first.close()
    second = source.create_reader(first.snapshot_splits(), context)
    second.open()
    while (polled := second.poll(4)).status is not SourceStatus.END_OF_INPUT:
        taken += list(polled.values)
    second.close()

    assert taken == straight
    assert sorted(rows(source, parallelism), key=lambda row: row.id) == straight


def test_another_seed_and_another_field_give_other_values() -> None:
    one, other = (values(Types.LONG(), 20, seed=seed) for seed in (1, 2))
    twins = rows(RowGeneratorSource({"a": Types.LONG(), "b": Types.LONG()}, 20, seed=1))

    assert not set(one) & set(other)
    assert all(row.a != row.b for row in twins)


@pytest.mark.parametrize(
    ("type_info", "low", "high"),
    [
        (Types.BYTE(), -2, 1),
        (Types.INT(), 5, 5),
        (Types.LONG(), -(2**63), 2**63 - 1),
        (Types.BIG_INT(), 2**62, 2**63 - 1),
        (Types.DOUBLE(), 0.5, 0.75),
        (Types.BIG_DEC(), Decimal("-1.00"), Decimal("1.00")),
    ],
)
def test_numbers_are_within_their_range(type_info: TypeInformation, low: Any, high: Any) -> None:
    found = values(RandomField(type_info, min=low, max=high))

    assert all(low <= each <= high for each in found)
    if isinstance(low, int) and high - low < 5:
        assert set(found) == set(range(low, high + 1))


def test_decimals_have_their_scale() -> None:
    found = values(RandomField(Types.BIG_DEC(), min=0, max=1, scale=4))

    assert {each.as_tuple().exponent for each in found} == {-4}


@pytest.mark.parametrize("var_len", [False, True])
def test_lengths_are_as_asked_for(var_len: bool) -> None:
    fields: Sequence[RandomField] = [
        RandomField(Types.STRING(), length=6, var_len=var_len),
        RandomField(Types.PRIMITIVE_ARRAY(Types.BYTE()), length=6, var_len=var_len),
        RandomField(Types.LIST(Types.LONG()), length=6, var_len=var_len),
        RandomField(Types.MAP(Types.LONG(), Types.BYTE()), length=6, var_len=var_len),
    ]
    for field in fields:
        sizes = {len(each) for each in values(field)}
        assert sizes == (set(range(1, 7)) if var_len else {6})


def test_defaults_are_those_of_flinks_tables() -> None:
    assert {len(each) for each in values(Types.STRING(), 5)} == {100}
    assert {len(each) for each in values(Types.LIST(Types.INT()), 5)} == {3}
    assert set("".join(values(Types.STRING(), 5))) <= set("0123456789abcdef")


def test_nulls_come_at_their_rate() -> None:
    found = values(RandomField(Types.INT(), null_rate=0.3), 5000)

    assert 0.25 < found.count(None) / len(found) < 0.35


def test_timestamps_lie_before_the_moment_at_which_their_row_is_due() -> None:
    past = RandomField(Types.SQL_TIMESTAMP(), max_past=timedelta(seconds=10))
    found = values(past, 100, rows_per_second=10, start_ms=NOON)

    for index, each in enumerate(found):
        due = datetime.fromtimestamp(NOON / 1000 + index / 10, UTC).replace(tzinfo=None)
        assert timedelta() <= due - each <= timedelta(seconds=10, milliseconds=1)
    assert values(Types.INSTANT(), 2, start_ms=1500) == [Instant(1, 500_000_000)] * 2


def test_a_sequence_ends_the_source() -> None:
    source = RowGeneratorSource({"a": SequenceField(3, 5), "b": SequenceField(0)})

    assert source.get_boundedness() is Boundedness.BOUNDED
    assert [(row.a, row.b) for row in rows(source)] == [(3, 0), (4, 1), (5, 2)]
    unbounded = RowGeneratorSource({"b": SequenceField(0)})
    assert unbounded.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED


@pytest.mark.parametrize(
    ("type_info", "second"),
    [
        (Types.STRING(), "1"),
        (Types.DOUBLE(), 1.0),
        (Types.BIG_DEC(), Decimal(1)),
        (Types.BIG_INT(), 1),
        (Types.BYTE(), 1),
    ],
)
def test_sequences_are_of_any_type_of_numbers(type_info: TypeInformation, second: Any) -> None:
    assert values(SequenceField(0, 1, type_info))[1] == second


def test_parts_of_lists_maps_and_rows_are_described_too() -> None:
    point = type_of_annotation(Point)
    assert point is not None
    inner = RandomField(point, fields={"x": RandomField(Types.LONG(), min=1, max=3)})
    found = values(RandomField(Types.LIST(point), element=inner))
    keyed = RandomField(
        Types.MAP(Types.INT(), Types.STRING()),
        key=RandomField(Types.INT(), min=0, max=9),
        value=RandomField(Types.STRING(), length=1),
    )

    assert {each.x for points in found for each in points} == {1, 2, 3}
    for each in values(keyed):
        assert all(0 <= key <= 9 and len(value) == 1 for key, value in each.items())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RowGeneratorSource({}), "has no fields"),
        (lambda: RowGeneratorSource({"a": 3}), "field 'a': is 3; expected a RandomField"),  # type: ignore[dict-item]
        (lambda: RandomField(Types.INT(), min=5, max=4), "the range goes from 5 to 4"),
        (lambda: RandomField(Types.BYTE(), max=300), "within -128 to 127"),
        (lambda: RandomField(Types.STRING(), min=1), "has a range although"),
        (lambda: RandomField(Types.INT(), null_rate=2), "the null rate is 2"),
        (lambda: RandomField(Types.STRING(), length=-1), "the length is -1"),
        (lambda: RandomField(Types.PICKLED_BYTE_ARRAY()), "cannot make values"),
        (lambda: RandomField(int), "expected one of Types, called"),  # type: ignore[arg-type]
        (
            lambda: RandomField(Types.LIST(Types.INT()), element=RandomField(Types.LONG())),
            r"'element' makes Types.LONG\(\); expected Types.INT\(\)",
        ),
        (
            lambda: RandomField(
                Types.PRIMITIVE_ARRAY(Types.INT()), element=RandomField(Types.INT(), null_rate=0.1)
            ),
            "it holds no None",
        ),
        (
            lambda: RandomField(Types.ROW_NAMED(["a"], [Types.INT()]), fields={"b": Types.INT()}),
            r"has the parts \['b'\]",
        ),
        (lambda: SequenceField(2, 1), "goes from 2 to 1"),
        (lambda: SequenceField(0, 300, Types.BYTE()), r"fit Types.BYTE\(\)"),
        (lambda: SequenceField(0, 3, Types.BOOLEAN()), "expected ints, floats"),
    ],
)
def test_what_cannot_be_made_is_refused_when_it_is_described(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()
