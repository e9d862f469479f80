import functools
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Generic, NamedTuple, NewType, Optional, TypeVar

import pytest

from riverrun.serde.infer import return_type_of, type_of_annotation
from riverrun.serde.instant import Instant
from riverrun.serde.row import Row
from riverrun.serde.types import (
    DataclassTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    TypeInformation,
    Types,
)

PICKLED = Types.PICKLED_BYTE_ARRAY()
T = TypeVar("T")
CustomerId = NewType("CustomerId", str)


class Foo: ...


class Colour(Enum):
    RED = 1


@dataclass
class Order:
    customer: str
    amount: int | None
    tags: "list[str]" = field(default_factory=list)


@dataclass
class Node:
    value: int
    next: "Node | None" = None


@dataclass
class Broken:
    value: "Missing"  # type: ignore[name-defined]  # noqa: F821


@dataclass
class Box(Generic[T]):
    content: T


class Point(NamedTuple):
    x: float
    y: float


ORDER = DataclassTypeInfo(Order, [Types.STRING(), Types.LONG(), Types.LIST(Types.STRING())])
POINT = NamedTupleTypeInfo(Point, [Types.DOUBLE(), Types.DOUBLE()])


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, Types.LONG()),
        (float, Types.DOUBLE()),
        (str, Types.STRING()),
        (bool, Types.BOOLEAN()),
        (bytes, Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (Decimal, Types.BIG_DEC()),
        (date, Types.SQL_DATE()),
        (time, Types.SQL_TIME()),
        (datetime, Types.SQL_TIMESTAMP()),
        (Instant, Types.INSTANT()),
        (tuple[str, int], Types.TUPLE([Types.STRING(), Types.LONG()])),
        (list[int], Types.LIST(Types.LONG())),
        (dict[str, float], Types.MAP(Types.STRING(), Types.DOUBLE())),
        (tuple[str, Foo], Types.TUPLE([Types.STRING(), PICKLED])),
        (list[Any], Types.LIST(PICKLED)),
        (int | None, Types.LONG()),
        (Optional[str], Types.STRING()),  # noqa: UP045 - the old spelling is what is tested
        (tuple[int | None, list[Order | None]], Types.TUPLE([Types.LONG(), Types.LIST(ORDER)])),
        (Order | None, OptionalTypeInfo(ORDER)),
        (Order, ORDER),
        (Point, POINT),
        (Node, DataclassTypeInfo(Node, [Types.LONG(), PICKLED])),
        (Box, DataclassTypeInfo(Box, [PICKLED])),
        (Annotated[int, "cents"], Types.LONG()),
        (CustomerId, Types.STRING()),
    ],
    ids=lambda x: getattr(x, "__name__", type(x).__name__),
)
def test_an_annotation_gives_its_type(annotation: Any, expected: TypeInformation) -> None:
    assert type_of_annotation(annotation) == expected


@pytest.mark.parametrize(
    "annotation",
    [
        None,
        Any,
        object,
        Foo,
        Colour,
        Row,
        Broken,
        Box[int],
        T,
        tuple,
        tuple[int, ...],
        list,
        dict,
        set[int],
        int | str,
        int | str | None,
        Iterable[int],
        Callable[[int], int],
        "int",
        5,
    ],
    ids=lambda x: getattr(x, "__name__", type(x).__name__),
)
def test_an_annotation_that_says_nothing_certain_gives_none(annotation: Any) -> None:
    assert type_of_annotation(annotation) is None


def plain(value: int) -> tuple[str, int]:
    return str(value), value


def quoted(value: "Missing") -> "Order":  # type: ignore[name-defined]  # noqa: F821
    return Order(str(value), 1)


def half_quoted(_value: int) -> list["Order"]:
    return []


def unresolved(value: int) -> "Missing":  # type: ignore[name-defined]  # noqa: F821
    return value


class Scale:
    def __call__(self, value: int) -> float:
        return value * 1.0

    def apply(self, value: int) -> str:
        return str(value)

    @staticmethod
    def still(value: int) -> bool:
        return bool(value)

    @classmethod
    def made(cls, value: int) -> bytes:
        return bytes(value)


@functools.wraps(plain)
def wrapped(value: Any) -> Any:
    return plain(value)


@functools.lru_cache
def cached(value: int) -> int:
    return value


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (plain, Types.TUPLE([Types.STRING(), Types.LONG()])),
        (quoted, ORDER),
        (half_quoted, Types.LIST(ORDER)),
        (unresolved, None),
        (lambda value: value, None),
        (Scale(), Types.DOUBLE()),
        (Scale().apply, Types.STRING()),
        (Scale.still, Types.BOOLEAN()),
        (Scale.made, Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (functools.partial(plain, 1), Types.TUPLE([Types.STRING(), Types.LONG()])),
        (functools.partial(functools.partial(Scale()), 1), Types.DOUBLE()),
        (wrapped, Types.TUPLE([Types.STRING(), Types.LONG()])),
        (cached, Types.LONG()),
        (Order, ORDER),
        (Foo, None),
        (len, None),
        (5, None),
    ],
    ids=lambda x: getattr(x, "__name__", type(x).__name__),
)
def test_a_function_gives_the_type_of_its_return_annotation(
    fn: Any, expected: TypeInformation | None
) -> None:
    assert return_type_of(fn) == expected


def iterable() -> Iterable[int]: ...  # type: ignore[empty-body]
def iterator() -> Iterator[tuple[str, int]]: ...  # type: ignore[empty-body]
def generator() -> Generator[Order, None, None]: ...  # type: ignore[empty-body]
def listed() -> list[str]: ...  # type: ignore[empty-body]
def listed_or_none() -> list[str] | None: ...
def same_tuple() -> tuple[int, ...]: ...  # type: ignore[empty-body]
def mixed_tuple() -> tuple[int, str]: ...  # type: ignore[empty-body]
def bare() -> list: ...  # type: ignore[type-arg, empty-body]
def single() -> int: ...  # type: ignore[empty-body]
def text() -> str: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (iterable, Types.LONG()),
        (iterator, Types.TUPLE([Types.STRING(), Types.LONG()])),
        (generator, ORDER),
        (listed, Types.STRING()),
        (listed_or_none, Types.STRING()),
        (same_tuple, Types.LONG()),
        (mixed_tuple, None),
        (bare, None),
        (single, None),
        (text, None),
        (lambda: [1], None),
    ],
    ids=lambda x: getattr(x, "__name__", type(x).__name__),
)
def test_a_function_of_many_values_gives_the_type_of_one(
    fn: Any, expected: TypeInformation | None
) -> None:
    assert return_type_of(fn, element=True) == expected
