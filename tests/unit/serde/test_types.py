import pickle
from dataclasses import FrozenInstanceError, dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any, NamedTuple

import pytest

from riverrun.serde.instant import Instant
from riverrun.serde.row import Row, RowKind
from riverrun.serde.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DataclassTypeInfo,
    ExternalTypeInfo,
    InstantTypeInfo,
    LocalTimeTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    PrimitiveArrayTypeInfo,
    SqlTimeTypeInfo,
    TypeInformation,
    Types,
)


@dataclass
class Order:
    customer: str
    amount: int


class Pair(NamedTuple):
    left: int
    right: str


def one_of_each() -> list[TypeInformation]:
    local_date = LocalTimeTypeInfo.TimeType.LOCAL_DATE
    return [
        *(BasicTypeInfo(basic) for basic in BasicType if basic is not BasicType.INSTANT),
        Types.INSTANT(),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.PICKLED_BYTE_ARRAY(),
        Types.ROW([Types.INT()]),
        Types.ROW_NAMED(["a"], [Types.INT()]),
        Types.TUPLE([Types.INT()]),
        Types.PRIMITIVE_ARRAY(Types.INT()),
        Types.BASIC_ARRAY(Types.INT()),
        Types.OBJECT_ARRAY(Types.INT()),
        Types.LIST(Types.INT()),
        Types.MAP(Types.STRING(), Types.INT()),
        LocalTimeTypeInfo(local_date),
        ExternalTypeInfo(Types.INT()),
        OptionalTypeInfo(Types.INT()),
        DataclassTypeInfo(Order, [Types.STRING(), Types.INT()]),
        NamedTupleTypeInfo(Pair, [Types.INT(), Types.STRING()]),
    ]


def test_types_are_equal_by_structure_hashable_and_all_different() -> None:
    assert one_of_each() == one_of_each()
    assert len(set(one_of_each() + one_of_each())) == len(one_of_each())


def test_a_type_survives_pickle() -> None:
    assert pickle.loads(pickle.dumps(one_of_each())) == one_of_each()


def test_the_repr_of_a_type_is_what_makes_it() -> None:
    names: dict[str, Any] = {**globals()}

    for type_info in one_of_each():
        assert eval(repr(type_info), names) == type_info


def test_the_repr_reads_as_a_program_would_write_it() -> None:
    assert repr(Types.TUPLE([Types.STRING(), Types.INT()])) == (
        "Types.TUPLE([Types.STRING(), Types.INT()])"
    )
    assert repr(Types.ROW_NAMED(["a"], [Types.LIST(Types.LONG())])) == (
        "Types.ROW_NAMED(['a'], [Types.LIST(Types.LONG())])"
    )


def test_a_type_cannot_be_changed() -> None:
    names = ["a"]
    row = Types.ROW_NAMED(names, [Types.INT()])

    names.append("b")
    row.get_field_names().append("c")

    assert row.get_field_names() == ["a"]
    with pytest.raises(FrozenInstanceError):
        row.field_names = ["x"]  # type: ignore[misc]


def test_basic_types_have_pyflinks_other_names_too() -> None:
    assert BasicTypeInfo.STRING_TYPE_INFO() == Types.STRING()
    assert BasicTypeInfo.INSTANT_TYPE_INFO() == InstantTypeInfo() == Types.INSTANT()
    assert SqlTimeTypeInfo.TIMESTAMP() == Types.SQL_TIMESTAMP()


def test_there_is_no_jvm_type_and_the_error_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r"Types\.INT\(\) has no JVM counterpart"):
        Types.INT().get_java_type_info()


def test_an_uncalled_type_is_refused_with_a_hint() -> None:
    with pytest.raises(TypeError, match=r"called, as in Types\.INT\(\)"):
        Types.TUPLE([Types.INT])  # type: ignore[list-item]


def test_named_rows_need_one_name_a_field() -> None:
    with pytest.raises(ValueError, match=r"names \['a'\] for 2 field types"):
        Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()])
    with pytest.raises(ValueError, match="name of its own"):
        Types.ROW_NAMED(["a", "a"], [Types.INT(), Types.INT()])


def test_fields_of_a_row_type_without_names_are_numbered() -> None:
    row = Types.ROW([Types.INT(), Types.STRING()])

    assert row.get_field_names() == ["f0", "f1"]
    assert row.get_field_index("f1") == 1
    assert row.get_field_types() == [Types.INT(), Types.STRING()]


def test_arrays_take_only_their_elements() -> None:
    with pytest.raises(
        TypeError, match=r"PRIMITIVE_ARRAY holds elements of .* found Types\.STRING"
    ):
        PrimitiveArrayTypeInfo(Types.STRING())
    with pytest.raises(TypeError, match="BASIC_ARRAY"):
        BasicArrayTypeInfo(Types.LIST(Types.INT()))


def test_class_types_need_a_type_for_each_field() -> None:
    with pytest.raises(ValueError, match=r"Order has the fields \['customer', 'amount'\]"):
        DataclassTypeInfo(Order, [Types.STRING()])
    with pytest.raises(TypeError, match="needs a dataclass"):
        DataclassTypeInfo(int, [])


ROW = Types.ROW_NAMED(["customer", "amount"], [Types.STRING(), Types.DOUBLE()])


@pytest.mark.parametrize(
    "given",
    [
        ("Ann", 3),
        ["Ann", 3],
        {"amount": 3, "customer": "Ann"},
        Order("Ann", 3),
        Row("Ann", 3),
        Row(amount=3, customer="Ann"),
    ],
    ids=repr,
)
def test_what_pyflink_takes_for_a_row_becomes_a_row(given: Any) -> None:
    coerced = ROW.coerce(given)

    assert coerced == Row(customer="Ann", amount=3.0)
    assert type(coerced.amount) is float


def test_coercion_reaches_inner_values_and_keeps_the_kind() -> None:
    inner = Types.TUPLE([Types.INT(), Types.LIST(Types.ROW([Types.INT()]))])

    assert inner.coerce([1, [(2,), (3,)]]) == (1, [Row(2), Row(3)])
    assert Types.MAP(Types.STRING(), inner).coerce({"k": [1, []]}) == {"k": (1, [])}
    assert ROW.coerce(Row.of_kind(RowKind.DELETE, "a", 1)).get_row_kind() is RowKind.DELETE
    assert OptionalTypeInfo(inner).coerce(None) is None
    assert ROW.coerce(None) is None


def test_what_has_another_shape_is_left_for_the_check() -> None:
    assert ROW.coerce(("too", "many", "fields")) == ("too", "many", "fields")
    assert ROW.coerce(5) == 5
    assert Types.TUPLE([Types.INT()]).coerce("a") == "a"


@pytest.mark.parametrize(
    ("type_info", "value", "internal"),
    [
        (Types.SQL_DATE(), date(1970, 1, 3), 2),
        (Types.SQL_TIME(), time(0, 1, 0, 5), 60_000_005),
        (Types.SQL_TIMESTAMP(), datetime(1970, 1, 1, 0, 0, 1, 2), 1_000_002),  # noqa: DTZ001
        (Types.SQL_TIMESTAMP(), datetime(1969, 12, 31, 23, 59, 59), -1_000_000),  # noqa: DTZ001
        (Types.INSTANT(), Instant(1, 5_000_000), 1_005_000),
        (Types.ROW([Types.SQL_DATE()]), Row(date(1970, 1, 2)), (0, 1)),
        (Types.TUPLE([Types.SQL_DATE(), Types.INT()]), (date(1970, 1, 2), 5), (1, 5)),
    ],
    ids=repr,
)
def test_the_internal_form_is_pyflinks_and_has_an_inverse(
    type_info: TypeInformation, value: Any, internal: Any
) -> None:
    assert type_info.need_conversion()
    assert type_info.to_internal_type(value) == internal
    assert type_info.from_internal_type(internal) == value
    assert type_info.to_internal_type(None) is None
    assert type_info.from_internal_type(None) is None


def test_the_internal_form_of_a_zoned_timestamp_is_its_instant() -> None:
    east = datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))

    assert Types.SQL_TIMESTAMP().to_internal_type(east) == 0
    assert Types.SQL_TIMESTAMP().to_internal_type(datetime(1970, 1, 1, tzinfo=UTC)) == 0
    assert Types.SQL_TIME().to_internal_type(time(2, tzinfo=east.tzinfo)) == 0


def test_an_internal_form_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot hold 5"):
        Types.TUPLE([Types.INT()]).to_internal_type(5)
    with pytest.raises(ValueError, match="cannot hold 5"):
        ROW.to_internal_type(5)


def test_an_instant_counts_from_the_epoch_in_milliseconds() -> None:
    assert Instant.of_epoch_milli(-1) == Instant(-1, 999_000_000)
    assert Instant.of_epoch_milli(-1).to_epoch_milli() == -1
    assert Instant(1, 5_000_000).to_epoch_milli() == 1005
    assert repr(Instant(1, 2)) == "Instant<1, 2>"
    assert pickle.loads(pickle.dumps(Instant(1, 2))) == Instant(1, 2)
    with pytest.raises(ValueError, match="nanos must be"):
        Instant(0, -1)
