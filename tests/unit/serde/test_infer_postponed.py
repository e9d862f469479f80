"""The same as test_infer, in a module whose annotations are all strings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from riverrun.serde.infer import return_type_of
from riverrun.serde.types import DataclassTypeInfo, Types

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass
class Order:
    customer: str
    amount: int


@dataclass
class Priced:
    price: Fraction


class Double:
    def __call__(self, value: int) -> int:
        return value * 2


def orders(names: Fraction) -> Iterator[Order]:
    yield Order(str(names), 1)


def price() -> Fraction: ...  # type: ignore[empty-body]


def priced() -> Priced: ...  # type: ignore[empty-body]


def test_annotations_that_are_strings_are_resolved() -> None:
    expected = DataclassTypeInfo(Order, [Types.STRING(), Types.LONG()])

    assert return_type_of(orders, element=True) == expected
    assert return_type_of(Double()) == Types.LONG()


def test_names_that_only_a_type_checker_sees_give_none() -> None:
    assert return_type_of(price) is None
    assert return_type_of(priced) is None


def test_a_class_inside_a_function_is_not_seen_from_outside() -> None:
    @dataclass
    class Local:
        value: int

    def make() -> Local: ...  # type: ignore[empty-body]

    assert return_type_of(make) is None
