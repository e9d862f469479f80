"""The fields of values without a declared type: of tuples, rows, dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

from riverrun.serde.row import Row, names_of

Fields: TypeAlias = dict[str, Callable[[Any], Any]]
"""How to get each field of a value, by the name of the field."""


def fields_of(
    cls: type, values: Sequence[Any], pair: tuple[str, str] | None = None
) -> Fields | None:
    """The fields that all of ``values``, which are of class ``cls``, have; None if there are none.

    ``pair``: the names of the two fields of pairs of whole numbers.
    """
    if issubclass(cls, tuple):
        names = getattr(cls, "_fields", None) or _positions(values)
        if pair is not None and cls is tuple and len(names) == len(pair) and _are_numbers(values):
            names = list(pair)
        return {name: itemgetter(place) for place, name in enumerate(names)} or None
    if dataclasses.is_dataclass(cls):
        return {each.name: attrgetter(each.name) for each in dataclasses.fields(cls)} or None
    if issubclass(cls, Row):
        named = set(map(names_of, values))
        names = _positions(values) if named == {None} else list(named.pop() or ())
        if named - {None} or len(names) != len(values[0]):
            return None
        return {name: itemgetter(place) for place, name in enumerate(names)} or None
    return None


def _positions(values: Sequence[Any]) -> list[str]:
    """``f0``, ``f1``, ... if all values have one length."""
    sizes = set(map(len, values))
    return [f"f{place}" for place in range(sizes.pop())] if len(sizes) == 1 else []


def _are_numbers(values: Sequence[Any]) -> bool:
    return {type(part) for value in values for part in value} == {int}
