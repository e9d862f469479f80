"""State goes on when its type changes in a way that keeps its values, and is refused otherwise."""

import json
import sys
from dataclasses import InitVar, dataclass, field, make_dataclass
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.serde import stand_ins
from riverrun.serde.check import TypeMismatch, checker_for
from riverrun.serde.composite_types import (
    DataclassTypeInfo,
    ExternalTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
)
from riverrun.serde.evolution import (
    AfterMigration,
    AsIs,
    Incompatible,
    UnreadableType,
    resolve,
    type_from_json,
    type_to_json,
)
from riverrun.serde.infer import type_of_annotation
from riverrun.serde.row import Row, RowKind
from riverrun.serde.runs import codec_for
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import LocalTimeTypeInfo, Types
from tests.unit.serde.types_for_tests import BASIC, Named, Pair, Point, later, types, values_of

INT, LONG, STRING = Types.INT(), Types.LONG(), Types.STRING()


def migrated(old: TypeInformation | None, new: TypeInformation | None, value: Any) -> Any:
    found = resolve(old, new)
    assert isinstance(found, AfterMigration), found
    return found.convert(value)


def reason(old: TypeInformation | None, new: TypeInformation | None) -> str:
    found = resolve(old, new)
    assert isinstance(found, Incompatible), found
    return found.reason


@pytest.fixture
def shop() -> Any:
    """A module of the program, whose classes come and go."""
    module = ModuleType("shop_of_tests")
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def saved_class(shop: Any, cls: type[Any], field_types: list[TypeInformation]) -> str:
    """The JSON of a class that is gone from the program right after."""
    cls.__module__, cls.__qualname__ = shop.__name__, "Order"
    make = NamedTupleTypeInfo if issubclass(cls, tuple) else DataclassTypeInfo
    saved = type_to_json(make(cls, field_types))
    del stand_ins._SEEN["shop_of_tests:Order"]
    return saved


@settings(max_examples=60)
@given(types())
def test_a_type_comes_back_from_its_json(type_info: TypeInformation) -> None:
    assert type_from_json(type_to_json(type_info)) == type_info
    assert resolve(type_from_json(type_to_json(type_info)), type_info) == AsIs()


@settings(max_examples=50)
@given(st.data())
def test_values_that_can_go_on_are_values_of_the_new_type(data: st.DataObject) -> None:
    old = data.draw(types())
    new = data.draw(later(old))
    value = data.draw(values_of(old))

    found = resolve(old, new)

    assert not isinstance(found, Incompatible)
    checker_for(new)([value if isinstance(found, AsIs) else found.convert(value)])


@settings(max_examples=40)
@given(st.data())
def test_between_any_two_types_values_go_over_whole_or_the_change_is_refused(
    data: st.DataObject,
) -> None:
    old, new = data.draw(types()), data.draw(types())
    value = data.draw(values_of(old))
    match resolve(old, new):
        case AsIs():
            assert old == new
        case AfterMigration(convert):
            try:
                after = convert(value)
            except TypeMismatch:
                assert "PICKLED" in repr(old)
            else:
                checker_for(new)([after])
        case Incompatible(why):
            assert repr(old) in why
            assert repr(new) in why


@settings(max_examples=25)
@given(st.data())
def test_values_that_stay_equal_are_said_to(data: st.DataObject) -> None:
    old = data.draw(types())
    new = data.draw(later(old))
    value = data.draw(values_of(old))
    found = resolve(old, new)

    if isinstance(found, AfterMigration) and found.equal:
        assert found.convert(value) == value


@pytest.mark.parametrize("type_info", [None, Types.PICKLED_BYTE_ARRAY()])
def test_pickled_values_stay_pickled_as_they_are(type_info: TypeInformation | None) -> None:
    assert resolve(type_info, None) == AsIs()


@pytest.mark.parametrize("type_info", BASIC)
def test_typed_values_may_be_pickled_from_now_on(type_info: TypeInformation) -> None:
    marker = object()

    assert migrated(type_info, None, marker) is marker


def test_pickled_values_are_checked_when_they_get_a_type() -> None:
    assert migrated(None, Types.TUPLE([INT, STRING]), (1, "a")) == (1, "a")

    with pytest.raises(TypeMismatch, match="expected an int of 32 bits"):
        migrated(None, Types.TUPLE([INT, STRING]), ("1", "a"))


def test_whole_numbers_become_floats_only_where_that_is_exact() -> None:
    after = migrated(INT, Types.DOUBLE(), 7)

    assert (after, type(after)) == (7.0, float)
    assert migrated(INT, Types.DOUBLE(), None) is None
    assert "numbers would not be exact" in reason(LONG, Types.DOUBLE())


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (LONG, INT, "numbers would not fit"),
        (Types.DOUBLE(), Types.FLOAT(), "numbers would not be exact"),
        (STRING, INT, "they have nothing in common"),
        (Types.BOOLEAN(), INT, "they have nothing in common"),
        (Types.LIST(LONG), Types.LIST(INT), "elements: numbers would not fit"),
        (Types.MAP(LONG, INT), Types.MAP(INT, INT), "keys: numbers would not fit"),
        (Types.MAP(INT, LONG), Types.MAP(INT, INT), "values: numbers would not fit"),
        (Types.TUPLE([INT, LONG]), Types.TUPLE([INT, INT]), "field 1: numbers would not fit"),
        (Types.TUPLE([INT]), Types.TUPLE([INT, INT]), "there were 1 fields and are 2"),
        (Types.ROW_NAMED(["a"], [LONG]), Types.ROW_NAMED(["a"], [INT]), "field 'a': numbers"),
        (Types.ROW_NAMED(["a"], [LONG]), Types.ROW_NAMED(["b"], [LONG]), "no field is in both"),
        (OptionalTypeInfo(Types.LIST(INT)), Types.LIST(INT), "None was allowed"),
        (Types.BASIC_ARRAY(INT), Types.PRIMITIVE_ARRAY(INT), "elements may be None"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.PRIMITIVE_ARRAY(INT), "nothing in common"),
        (DataclassTypeInfo(Pair, [INT, INT]), DataclassTypeInfo(Point, [INT, INT]), "different"),
        (NamedTupleTypeInfo(Named, [INT, INT]), Types.TUPLE([INT, INT]), "nothing in common"),
        (
            Types.MAP(Types.ROW_NAMED(["a", "b"], [INT, INT]), INT),
            Types.MAP(Types.ROW_NAMED(["a"], [INT]), INT),
            "would not stay equal",
        ),
    ],
)
def test_what_would_change_or_lose_values_is_refused_with_both_types(
    old: TypeInformation, new: TypeInformation, why: str
) -> None:
    found = reason(old, new)

    assert found.startswith(f"state of type {old!r} cannot become {new!r}: ")
    assert why in found


def test_a_row_gains_fields_that_are_none_and_drops_those_that_are_gone() -> None:
    old = Types.ROW_NAMED(["a", "gone"], [INT, STRING])
    new = Types.ROW_NAMED(["new", "a"], [STRING, LONG])
    row = Row.of_kind(RowKind.UPDATE_AFTER, a=1, gone="x")

    after = migrated(old, new, row)

    assert after == Row.of_kind(RowKind.UPDATE_AFTER, new=None, a=1)
    assert migrated(old, new, None) is None


def test_a_row_without_names_goes_by_position() -> None:
    assert migrated(Types.ROW([INT]), Types.ROW([LONG, STRING]), Row(1)) == Row(1, None)
    assert migrated(Types.ROW([INT]), Types.ROW_NAMED(["a"], [INT]), Row(1)) == Row(a=1)


def test_times_by_the_names_of_java_are_the_same_times() -> None:
    local = LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE)

    assert isinstance(resolve(Types.SQL_DATE(), local), AfterMigration)
    assert isinstance(resolve(local, Types.SQL_TIME()), Incompatible)


def test_an_optional_or_external_type_is_still_that_type() -> None:
    listed = Types.LIST(INT)

    assert migrated(listed, OptionalTypeInfo(Types.LIST(LONG)), [1]) == [1]
    assert migrated(ExternalTypeInfo(listed), listed, [1]) == [1]
    assert migrated(listed, ExternalTypeInfo(listed), [1]) == [1]


def order_with(*fields: Any, **options: Any) -> type[Any]:
    cls = make_dataclass("Order", fields, **options)
    cls.__module__, cls.__qualname__ = "shop_of_tests", "Order"
    return cls


def test_a_dataclass_gains_fields_with_defaults_or_that_can_be_none(shop: Any) -> None:
    saved = saved_class(shop, order_with(("id", int), ("gone", str)), [INT, STRING])
    shop.Order = order_with(
        ("id", int),
        ("note", str | None),
        ("count", int, field(default=3)),
        ("tags", list[str], field(default_factory=list)),
    )
    new = DataclassTypeInfo(shop.Order, [LONG, STRING, INT, Types.LIST(STRING)])
    old = type_from_json(saved)
    [value] = codec_for(old).decode(codec_for(old).encode([old.cls(1, "x")]))  # type: ignore[attr-defined]

    after = migrated(old, new, value)

    assert after == shop.Order(1, None, 3, [])
    assert resolve(old, new).equal is False  # type: ignore[union-attr]


def test_a_new_field_that_must_have_a_value_is_refused(shop: Any) -> None:
    old = type_from_json(saved_class(shop, order_with(("id", int)), [INT]))
    shop.Order = order_with(("id", int), ("count", int))

    assert "field 'count' is new, has no default and cannot be None" in reason(
        old, DataclassTypeInfo(shop.Order, [INT, INT])
    )


def test_a_named_tuple_gains_fields_with_defaults(shop: Any) -> None:
    class Before(NamedTuple):
        number: int

    class After(NamedTuple):
        note: str | None
        number: int
        amount: int = 3

    old = type_from_json(saved_class(shop, Before, [INT]))
    After.__module__, After.__qualname__ = shop.__name__, "Order"
    new = NamedTupleTypeInfo(After, [STRING, INT, INT])

    assert migrated(old, new, old.cls(1)) == After(None, 1, 3)  # type: ignore[attr-defined]


def test_a_class_that_moved_is_known_by_its_fields(shop: Any) -> None:
    old = type_from_json(saved_class(shop, order_with(("left", int), ("right", int)), [INT, INT]))

    assert migrated(old, DataclassTypeInfo(Pair, [INT, LONG]), old.cls(1, 2)) == Pair(1, 2)  # type: ignore[attr-defined]


def test_values_of_a_class_that_is_gone_can_be_had_as_rows(shop: Any) -> None:
    inside = type_from_json(saved_class(shop, order_with(("id", int)), [INT]))
    value = inside.cls(1)  # type: ignore[attr-defined]

    assert migrated(inside, Types.ROW_NAMED(["id"], [INT]), value) == Row(id=1)
    assert migrated(Types.LIST(inside), None, [value, None]) == [Row(id=1), None]
    assert "DataclassTypeInfo(Order, [Types.INT()])" in reason(inside, STRING)


def test_pickled_values_get_the_class_as_it_is_now(shop: Any) -> None:
    saved = saved_class(shop, order_with(("id", int)), [INT])
    shop.Order = order_with(("id", int), ("count", int, field(default=3)))
    old = type_from_json(saved)

    after = migrated(Types.TUPLE([old, INT]), None, (old.cls(1), 2))  # type: ignore[attr-defined]

    assert after == (shop.Order(1, 3), 2)


def test_a_class_that_came_by_value_is_found_again() -> None:
    @dataclass
    class Local:
        id: int

    type_info = DataclassTypeInfo(Local, [INT])

    assert type_from_json(type_to_json(type_info)) == type_info


def test_a_class_of_the_same_fields_that_stands_in_gives_the_declared_class(shop: Any) -> None:
    old = type_from_json(saved_class(shop, order_with(("id", int)), [INT]))
    declared = order_with(("id", int))

    found = resolve(old, DataclassTypeInfo(declared, [INT]))

    assert isinstance(found, AfterMigration)
    assert found.equal
    assert type(found.convert(old.cls(1))) is declared  # type: ignore[attr-defined]


def test_a_dataclass_that_makes_itself_in_another_way_by_now_is_still_read(shop: Any) -> None:
    saved = saved_class(shop, order_with(("id", int)), [INT])
    shop.Order = order_with(("id", int), kw_only=True)
    old, new = type_from_json(saved), DataclassTypeInfo(shop.Order, [INT])

    assert type_to_json(old) == saved
    assert migrated(old, new, old.cls(1)) == shop.Order(id=1)  # type: ignore[attr-defined]


@dataclass
class Derived:
    id: int
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        self.twice = 2 * self.id


@dataclass
class NeedsMore:
    id: int
    rate: InitVar[int]


def test_fields_that_init_does_not_take_are_set() -> None:
    old = type_of_annotation(Derived)
    assert isinstance(old, DataclassTypeInfo)
    value = Derived(2)
    value.twice = 5

    assert migrated(old, DataclassTypeInfo(Derived, [Types.BIG_INT()] * 2), value).twice == 5


def test_a_class_that_cannot_be_made_from_its_fields_is_refused() -> None:
    old, new = DataclassTypeInfo(NeedsMore, [INT]), DataclassTypeInfo(NeedsMore, [LONG])

    assert "a NeedsMore cannot be made from its fields alone" in reason(old, new)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        json.dumps({"version": 2, "type": {"kind": "pickled"}}),
        json.dumps({"version": 1, "type": {"kind": "marvel"}}),
        json.dumps({"version": 1, "type": {"kind": "basic", "name": "HUGE"}}),
        json.dumps({"version": 1}),
    ],
)
def test_what_is_no_type_of_this_version_is_refused(text: str) -> None:
    with pytest.raises(UnreadableType, match="expected"):
        type_from_json(text)


def test_a_type_of_nobody_is_refused() -> None:
    class Odd(TypeInformation):
        pass

    with pytest.raises(TypeError, match="is not a type that riverrun knows"):
        type_to_json(Odd())
