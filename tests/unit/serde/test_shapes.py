"""Which types have a shape."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from riverrun.serde.row import Row
from riverrun.serde.shapes import shape_of
from riverrun.serde.types import (
    DataclassTypeInfo,
    ExternalTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    TypeInformation,
    Types,
)


class Named(NamedTuple):
    a: Any
    b: Any


@dataclass
class Plain:
    a: Any
    b: Any


@dataclass
class Own:
    a: Any
    b: Any

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = b, a


@dataclass
class Watchful:
    a: Any
    b: Any

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, (value, "seen"))


LONG, TEXT = Types.LONG(), Types.STRING()


@pytest.mark.parametrize(
    ("type_info", "expected"),
    [
        (LONG, (None, None, "q")),
        (OptionalTypeInfo(TEXT), (None, None, "s")),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), (None, None, "y")),
        (Types.TUPLE([TEXT, Types.INT(), Types.SHORT()]), (tuple, None, "sih")),
        (Types.TUPLE([Types.TUPLE([LONG, Types.BYTE()]), Types.FLOAT()]), (tuple, None, "(qb)d")),
        (NamedTupleTypeInfo(Named, [LONG, Types.BOOLEAN()]), (Named, None, "q?")),
        (
            ExternalTypeInfo(
                NamedTupleTypeInfo(
                    Named, [Types.PICKLED_BYTE_ARRAY(), OptionalTypeInfo(Types.DOUBLE())]
                )
            ),
            (Named, None, "pd"),
        ),
        (DataclassTypeInfo(Plain, [LONG, Types.TUPLE([TEXT])]), (Plain, ("a", "b"), "q(s)")),
    ],
    ids=repr,
)
def test_types_of_plain_parts_have_a_shape(
    type_info: TypeInformation, expected: tuple[Any, ...]
) -> None:
    shape = shape_of(type_info)

    assert shape is not None
    assert (shape.cls, shape.names, shape.kinds) == expected


def _deep(levels: int) -> TypeInformation:
    return Types.TUPLE([_deep(levels - 1)]) if levels else LONG


@pytest.mark.parametrize(
    "type_info",
    [
        Types.PICKLED_BYTE_ARRAY(),
        Types.BIG_INT(),
        Types.CHAR(),
        Types.SQL_TIMESTAMP(),
        Types.LIST(LONG),
        Types.ROW([LONG, Types.LIST(LONG)]),
        OptionalTypeInfo(Types.ROW([LONG])),
        Types.TUPLE([LONG, Types.ROW([LONG])]),
        Types.TUPLE([LONG, Types.LIST(LONG)]),
        Types.TUPLE([NamedTupleTypeInfo(Named, [LONG, LONG])]),
        OptionalTypeInfo(Types.TUPLE([LONG])),
        OptionalTypeInfo(NamedTupleTypeInfo(Named, [LONG, LONG])),
        OptionalTypeInfo(ExternalTypeInfo(Types.TUPLE([LONG]))),
        DataclassTypeInfo(Own, [LONG, LONG]),
        DataclassTypeInfo(Watchful, [LONG, LONG]),
        _deep(20),
    ],
    ids=repr,
)
def test_others_have_none(type_info: TypeInformation) -> None:
    assert shape_of(type_info) is None


@pytest.mark.parametrize("names", [None, ("a", "b")])
def test_rows_have_a_shape_with_their_names(names: tuple[str, ...] | None) -> None:
    type_info = Types.ROW([LONG, TEXT]) if names is None else Types.ROW_NAMED(names, [LONG, TEXT])

    shape = shape_of(type_info)

    assert shape is not None
    assert (shape.cls, shape.names, shape.kinds, shape.listed) == (Row, None, "qs", "_values")
    assert shape.fixed[0] == ("_fields", names, None)
