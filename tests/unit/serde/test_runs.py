import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field, fields
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.serde.check import TypeMismatch, checker_for
from riverrun.serde.instant import Instant
from riverrun.serde.row import Row, RowKind, names_of
from riverrun.serde.runs import (
    ArrowRunCodec,
    PickleRunCodec,
    UnpicklableValue,
    codec_for,
    decode_run,
)
from riverrun.serde.types import (
    DataclassTypeInfo,
    ExternalTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    TypeInformation,
    Types,
)


@dataclass
class Order:
    customer: str | None
    amount: int | None


@dataclass
class RushOrder(Order):
    hours: int = 1


@dataclass(frozen=True)
class Frozen:
    customer: str | None
    amount: int | None


@dataclass(frozen=True, slots=True)
class Slotted:
    customer: str | None
    amount: int | None


@dataclass(frozen=True, slots=True)
class SlottedChild(Slotted):
    extra: int | None = None


@dataclass
class Computed:
    amount: int
    double: int = field(init=False)

    def __post_init__(self) -> None:
        self.double = self.amount * 2


@dataclass
class Seeded:
    amount: int
    seed: InitVar[int]

    def __post_init__(self, seed: int) -> None:
        self.amount += seed


@dataclass(kw_only=True)
class Keyword:
    amount: int


class Point(NamedTuple):
    x: float | None
    y: str | None


class LongerPoint(Point):
    pass


TEXT_AND_LONG = [Types.STRING(), Types.LONG()]
ORDER = DataclassTypeInfo(Order, TEXT_AND_LONG)
POINT = NamedTupleTypeInfo(Point, [Types.DOUBLE(), Types.STRING()])
NAMED = Types.ROW_NAMED(["a", "b"], TEXT_AND_LONG)
DATETIME = datetime(2024, 2, 29, 1, 2, 3, 456789)  # noqa: DTZ001 - no zone is what is tested

Typed = tuple[TypeInformation, st.SearchStrategy[Any]]


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


def ints(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


INSTANTS = st.builds(Instant, ints(64), st.integers(0, 999_999_999))
BASIC: list[Typed] = [
    (Types.STRING(), st.text()),
    (Types.CHAR(), st.characters(exclude_categories=["Cs"])),
    (Types.BOOLEAN(), st.booleans()),
    (Types.BYTE(), ints(8)),
    (Types.SHORT(), ints(16)),
    (Types.INT(), ints(32)),
    (Types.LONG(), ints(64)),
    (Types.FLOAT(), st.floats()),
    (Types.DOUBLE(), st.floats() | ints(50)),
    (Types.BIG_INT(), st.integers() | st.integers(2**200, 2**400)),
    (Types.BIG_DEC(), st.decimals()),
    (Types.INSTANT(), INSTANTS),
    (Types.SQL_DATE(), st.dates()),
    (Types.SQL_TIME(), st.times() | st.times(timezones=st.just(UTC))),
    (Types.SQL_TIMESTAMP(), st.datetimes() | st.datetimes(timezones=st.just(UTC))),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary()),
]


def list_of(part: Typed) -> Typed:
    return Types.LIST(part[0]), st.lists(maybe(part[1]), max_size=3)


def map_of(part: Typed) -> Typed:
    keys = maybe(st.text(max_size=3))
    return Types.MAP(Types.STRING(), part[0]), st.dictionaries(keys, maybe(part[1]), max_size=3)


def tuple_of(parts: list[Typed]) -> Typed:
    fields = [maybe(values) for _, values in parts]
    return Types.TUPLE([type_info for type_info, _ in parts]), st.tuples(*fields)


def row_of(parts: list[Typed]) -> Typed:
    names = [f"n{position}" for position in range(len(parts))]
    person = Row(*names)

    def build(kind: RowKind, values: tuple[Any, ...]) -> Row:
        row = person(*values)
        row.set_row_kind(kind)
        return row

    fields = st.tuples(*(maybe(values) for _, values in parts))
    types = [type_info for type_info, _ in parts]
    return Types.ROW_NAMED(names, types), st.builds(build, st.sampled_from(RowKind), fields)


def positional_row_of(parts: list[Typed]) -> Typed:
    fields = st.tuples(*(maybe(values) for _, values in parts))
    return Types.ROW([type_info for type_info, _ in parts]), fields.map(lambda v: Row(*v))


def made_of(cls: Any, *fields: Typed) -> Typed:
    make = NamedTupleTypeInfo if issubclass(cls, tuple) else DataclassTypeInfo
    types = [type_info for type_info, _ in fields]
    return make(cls, types), st.builds(cls, *(maybe(values) for _, values in fields))


TEXTS, LONGS, DOUBLES = BASIC[0], BASIC[6], BASIC[8]
CLASSES = [
    made_of(Order, TEXTS, LONGS),
    made_of(Frozen, TEXTS, LONGS),
    made_of(Slotted, TEXTS, LONGS),
    made_of(SlottedChild, TEXTS, LONGS, LONGS),
    made_of(Point, DOUBLES, TEXTS),
]


def composed(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        inner.map(list_of),
        inner.map(map_of),
        several.map(tuple_of),
        several.map(row_of),
        several.map(positional_row_of),
    )


TYPED = st.recursive(st.sampled_from(BASIC + CLASSES), composed, max_leaves=5)


def canonical(value: Any) -> Any:
    """What tells apart all that a codec must keep: nan, -0.0, trailing zeros, kinds, zones."""
    kept: Any = value
    match value:
        case int() | float() if not isinstance(value, bool):
            # An int may become a float; beyond 2**53 it is compared as it is.
            return value if abs(value) >= 2**53 else repr(float(value))
        case Decimal() | datetime() | time():
            kept = repr(value)
        case list() | tuple():
            kept = [canonical(item) for item in value]
        case dict():
            kept = [(key, canonical(item)) for key, item in value.items()]
        case Row():
            items = [canonical(item) for item in value]
            kept = value.get_row_kind(), names_of(value), items
        case Frozen() | Order() | Slotted():
            kept = [canonical(getattr(value, field.name)) for field in fields(value)]
    return type(value), kept


def same(left: Any, right: Any) -> bool:
    return bool(canonical(left) == canonical(right))


@given(st.data(), TYPED, st.booleans())
def test_what_is_encoded_is_what_is_decoded(data: st.DataObject, typed: Typed, rows: bool) -> None:
    type_info, values = typed
    run = data.draw(st.lists(values, max_size=6))
    codec = codec_for(type_info, rows=rows)
    assert codec.tag == ArrowRunCodec.tag

    decoded = codec.decode(memoryview(codec.encode(run)))

    assert same(decoded, run)
    assert same(decode_run(codec.tag, codec.encode(run), type_info), run)


@given(st.data(), st.sampled_from(BASIC), st.booleans())
def test_basic_values_may_be_none_as_a_whole(data: st.DataObject, typed: Typed, rows: bool) -> None:
    type_info, values = typed
    run = data.draw(st.lists(maybe(values), max_size=6))
    codec = codec_for(type_info, rows=rows)

    decoded = codec.decode(codec.encode(run))

    assert same(decoded, run)


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=2),
    st.binary(max_size=2),
    st.decimals(),
    st.dates(),
    st.datetimes(),
    st.times(),
    INSTANTS,
    st.lists(st.none() | st.integers() | st.text(max_size=1), max_size=2),
    st.tuples(st.text(max_size=1) | st.integers(), st.integers() | st.none()),
    st.dictionaries(st.text(max_size=1) | st.integers(), st.integers() | st.text(), max_size=2),
    st.builds(Order, st.text(max_size=1) | st.integers(), st.integers()),
    st.builds(Point, st.floats(), st.text(max_size=1) | st.integers()),
    st.builds(Row, st.text(max_size=1), st.integers()),
    st.builds(Row, a=st.text(max_size=1), b=st.integers()),
)
SHAPES = st.sampled_from(
    [
        *(type_info for type_info, _ in BASIC),
        ORDER,
        POINT,
        NAMED,
        OptionalTypeInfo(ORDER),
        ExternalTypeInfo(NAMED),
        Types.ROW(TEXT_AND_LONG),
        Types.TUPLE(TEXT_AND_LONG),
        Types.LIST(Types.LONG()),
        Types.PRIMITIVE_ARRAY(Types.LONG()),
        Types.MAP(Types.STRING(), Types.LONG()),
    ]
)


def outcome(fn: Callable[[list[Any]], Any], run: list[Any]) -> tuple[Any, ...] | None:
    try:
        fn(run)
    except TypeMismatch as mismatch:
        return mismatch.args
    return None


@given(SHAPES, st.lists(ANYTHING, max_size=3), st.booleans())
def test_encoding_enforces_the_type_exactly_as_the_check_does(
    type_info: TypeInformation, run: list[Any], rows: bool
) -> None:
    encode = codec_for(type_info, rows=rows).encode
    assert outcome(encode, run) == outcome(checker_for(type_info), run)


@given(SHAPES, st.lists(ANYTHING, max_size=3))
def test_rows_arrive_as_columns_would(type_info: TypeInformation, run: list[Any]) -> None:
    if outcome(checker_for(type_info), run) is not None:
        return
    rows, columns = (codec_for(type_info, rows=rows) for rows in (True, False))
    assert same(rows.decode(rows.encode(run)), columns.decode(columns.encode(run)))


@pytest.mark.parametrize(
    ("type_info", "run", "path", "index"),
    [
        (Types.INT(), [1, 2, 2**31], "", 2),
        (Types.LONG(), [1, 2**63], "", 1),
        (Types.LONG(), [None, "x"], "", 1),
        (Types.TUPLE([Types.STRING(), Types.LONG()]), [("a", 1), ("b", 1.5)], "[1]", 1),
        (ORDER, [Order("a", 1), Order("b", "c")], ".amount", 1),  # type: ignore[arg-type]
        (Types.LIST(Types.BYTE()), [[1], [2, 300]], "[1]", 1),
    ],
    ids=repr,
)
def test_an_int_that_does_not_fit_is_named_with_its_record(
    type_info: TypeInformation, run: list[Any], path: str, index: int
) -> None:
    with pytest.raises(TypeMismatch) as caught:
        codec_for(type_info).encode(run)

    assert (caught.value.path, caught.value.index) == (path, index)


EAST = timezone(timedelta(hours=5))


@pytest.mark.parametrize(
    ("type_info", "run"),
    [
        (Types.STRING(), ["a", "\ud800"]),
        (Types.SQL_TIMESTAMP(), [datetime(2024, 1, 1, tzinfo=EAST), DATETIME]),
        (Types.SQL_TIMESTAMP(), [DATETIME.replace(fold=1)]),
        (Types.SQL_TIME(), [time(1, tzinfo=UTC)]),
        (ORDER, [Order("a", 1), RushOrder("b", 2, 3)]),
        (POINT, [LongerPoint(1.0, "b")]),
        (Types.ROW(TEXT_AND_LONG), [Row("a", 1), Row(x="b", y=2)]),
        (Types.INSTANT(), [Instant(2**70)]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("rows", [True, False])
def test_values_that_arrow_would_change_travel_pickled(
    type_info: TypeInformation, run: list[Any], rows: bool
) -> None:
    codec = codec_for(type_info, rows=rows)

    data = codec.encode(run)
    decoded = codec.decode(data)

    assert data[0] == 0x80
    assert same(decoded, run)
    assert list(map(type, decoded)) == list(map(type, run))


@pytest.mark.parametrize("rows", [True, False])
def test_a_named_row_type_names_and_orders_the_fields_that_arrive(rows: bool) -> None:
    run = [Row("x", 1), Row(b=1, a="x"), Row(a="x", b=1)]
    with_a_surrogate = [Row("\ud800", 1)]
    pickled = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.PICKLED_BYTE_ARRAY()])

    for type_info in (NAMED, pickled):
        codec = codec_for(type_info, rows=rows)
        for each in (run, run * 10, [run[0]] * 20, [run[2]] * 20):
            decoded = codec.decode(codec.encode(each))
            assert [repr(row) for row in decoded] == ["Row(a='x', b=1)"] * len(each)
        assert codec.decode(codec.encode(with_a_surrogate))[0].a == "\ud800"


@pytest.mark.parametrize("rows", [True, False])
def test_an_int_in_a_float_column_arrives_as_a_float_and_a_bytearray_as_bytes(rows: bool) -> None:
    doubles = codec_for(Types.DOUBLE(), rows=rows)
    binary = codec_for(Types.PRIMITIVE_ARRAY(Types.BYTE()), rows=rows)

    assert list(map(type, doubles.decode(doubles.encode([1, 2.0, 2**60])))) == [float] * 3
    assert list(map(type, binary.decode(binary.encode([bytearray(b"a")])))) == [bytes]


@pytest.mark.parametrize(
    "type_info",
    [
        None,
        Types.PICKLED_BYTE_ARRAY(),
        Types.TUPLE([Types.INT(), Types.PICKLED_BYTE_ARRAY()]),
        Types.LIST(Types.PICKLED_BYTE_ARRAY()),
        Types.MAP(Types.STRING(), Types.PICKLED_BYTE_ARRAY()),
        Types.TUPLE([]),
        DataclassTypeInfo(Computed, [Types.LONG(), Types.LONG()]),
        DataclassTypeInfo(Seeded, [Types.LONG()]),
        DataclassTypeInfo(Keyword, [Types.LONG()]),
    ],
    ids=repr,
)
def test_a_type_that_does_not_map_to_arrow_as_a_whole_is_pickled(
    type_info: TypeInformation | None,
) -> None:
    assert codec_for(type_info).tag == PickleRunCodec.tag


def test_the_arrow_codec_refuses_a_type_that_does_not_map() -> None:
    with pytest.raises(TypeError, match="does not map to Arrow"):
        ArrowRunCodec(Types.PICKLED_BYTE_ARRAY())


def test_dataclasses_that_make_themselves_keep_what_they_made() -> None:
    run = [Computed(3), Computed(4)]
    codec = codec_for(DataclassTypeInfo(Computed, [Types.LONG(), Types.LONG()]))

    assert codec.decode(codec.encode(run)) == run


def test_an_optional_record_may_be_none() -> None:
    codec = codec_for(OptionalTypeInfo(ORDER))
    run = [None, Order("a", 1), None]

    assert codec.tag == ArrowRunCodec.tag
    assert codec.decode(codec.encode(run)) == run


def test_an_arrow_run_carries_no_schema() -> None:
    data = codec_for(Types.TUPLE([Types.LONG(), Types.LONG()])).encode([(1, 2)])

    with pytest.raises(OSError, match="type schema but got record batch"):
        pa.ipc.open_stream(data)


@given(st.lists(st.recursive(ANYTHING, st.lists, max_leaves=5)))
def test_any_values_travel_pickled(run: list[Any]) -> None:
    codec = codec_for(None)

    assert same(codec.decode(codec.encode(run)), run)


def test_ints_stay_ints_and_bools_stay_bools() -> None:
    codec = codec_for(Types.TUPLE([Types.LONG(), Types.BOOLEAN(), Types.BIG_INT()]))

    [decoded] = codec.decode(codec.encode([(1, True, 2)]))

    assert list(map(type, decoded)) == [int, bool, int]


def test_what_pickle_cannot_do_is_left_to_cloudpickle() -> None:
    @dataclass
    class Local:
        value: int

    codec = PickleRunCodec()
    double, local = codec.decode(codec.encode([lambda value: value * 2, Local(3)]))

    assert double(4) == 8
    assert local.value == 3


SCRIPT = """
import sys
from riverrun.serde.runs import PickleRunCodec

class Order:
    def __init__(self, amount):
        self.amount = amount

sys.stdout.buffer.write(PickleRunCodec().encode([Order(5), "text"]))
"""


def test_what_comes_after_a_plain_value_may_be_anything() -> None:
    circle: list[Any] = [1]
    circle.append(circle)
    shared = {"a": [1]}
    plain = [(number, "a") for number in range(100)]
    *numbers, doubled, first, second, round_ = _through_pickle(
        [*plain, lambda x: 2 * x, shared, shared, circle]
    )
    assert numbers == plain
    assert doubled(4) == 8
    assert first == second == shared
    assert round_[1] is round_
    with pytest.raises(UnpicklableValue, match="record 100 of the run"):
        PickleRunCodec().encode([*plain, threading.Lock()])


def _through_pickle(values: list[Any]) -> list[Any]:
    return decode_run(PickleRunCodec.tag, PickleRunCodec().encode(values), None)


def test_a_class_of_the_main_script_travels_by_value() -> None:
    script = [sys.executable, "-c", SCRIPT]

    data = subprocess.run(script, check=True, capture_output=True).stdout
    order, text = PickleRunCodec().decode(data)

    assert (order.amount, text) == (5, "text")


def test_a_value_that_cannot_be_pickled_is_named_with_its_record() -> None:
    with pytest.raises(UnpicklableValue, match=r"record 1 of the run, .*lock.* cannot be pickled"):
        PickleRunCodec().encode([1, threading.Lock()])


def test_an_unpicklable_value_survives_pickle_as_an_error() -> None:
    error = UnpicklableValue("<lock>", "cannot pickle", 3)

    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_tag_that_does_not_belong_to_the_type_is_refused() -> None:
    with pytest.raises(ValueError, match="tag 1, but runs of type None"):
        decode_run(1, b"", None)


def test_a_pickled_run_is_decoded_whatever_the_type() -> None:
    data = PickleRunCodec().encode([1, "a", date(2024, 1, 1)])

    assert decode_run(0, data, Types.LONG()) == [1, "a", date(2024, 1, 1)]


class Tagged(NamedTuple):
    side: int
    value: Any


TAGGED = NamedTupleTypeInfo(Tagged, [Types.INT(), Types.PICKLED_BYTE_ARRAY()])


@given(st.lists(st.builds(Tagged, st.integers(1, 2), ANYTHING), max_size=40))
def test_a_field_of_any_type_is_written_as_it_is_or_pickled(run: list[Tagged]) -> None:
    codec = codec_for(TAGGED, rows=True)
    assert codec.tag == PickleRunCodec.tag

    encoded, pieces = codec.encode(run), b"".join(codec.encode_pieces(run))

    for data in (encoded, pieces):
        assert same(codec.decode(data), run)
        assert same(decode_run(codec.tag, data, TAGGED), run)


def test_plain_values_on_a_stream_of_another_type_are_refused() -> None:
    run = [Tagged(1, number) for number in range(20)]
    data = codec_for(TAGGED, rows=True).encode(run)
    if data[0] != 0x02:
        pytest.skip("nothing is written without a compiler")

    with pytest.raises(ValueError, match="both ends of a stream must declare the same type"):
        decode_run(PickleRunCodec.tag, data, Types.LIST(Types.LONG()))
    with pytest.raises(ValueError, match="found the type None"):
        decode_run(PickleRunCodec.tag, data, None)
