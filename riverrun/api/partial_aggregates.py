"""Aggregates of some of a key's records, made before these travel to their key, and how they travel.

Only aggregates for which it makes no difference in which portions records are added up can be made so:
counts, sums and means of whole numbers, least and greatest values. A sum of floats depends on the order of
its additions, so it is made of the records themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from riverrun.api.column_aggregates import Aggregate, AggregateKind
from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.columns import ColumnLayout, plain_type
from riverrun.serde.composite_types import OptionalTypeInfo
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["PartialRows", "is_big", "is_native", "part_types", "partial_rows"]


@dataclass(frozen=True, slots=True)
class PartialRows:
    """What is in which column of the rows that travel.

    A row is a partial aggregate: of how many records it is, and the parts of each aggregate. Or it is a
    single record: the columns that the aggregates read, and None for all that. Both have the columns of
    the key, which come first, and the start of the slice of time.
    """

    type_info: TypeInformation
    key: tuple[int, ...]
    """Which columns of the records are the key."""
    read: Mapping[int, int]
    """Where the columns of records are that the aggregates read."""
    rows: int
    """Of how many records a row is."""

    @property
    def start(self) -> int:
        """When the slice begins."""
        return len(self.key)

    @property
    def parts(self) -> int:
        """The first part of the first aggregate."""
        return self.rows + 1


def partial_rows(
    aggregates: Sequence[Aggregate], layout: ColumnLayout, key: Sequence[int]
) -> PartialRows | None:
    """How partial aggregates of records of ``layout`` travel; None where there are none that are exact."""
    parts: list[TypeInformation] = []
    for aggregate in aggregates:
        types = part_types(aggregate, layout)
        if types is None:
            return None
        parts += types
    columns = {layout.position(each.column) for each in aggregates if each.column is not None}
    places = {position: place for place, position in enumerate(key)}
    read = sorted(columns - places.keys())
    places |= {position: len(key) + 1 + place for place, position in enumerate(read)}
    types = [
        *(layout.types[position] for position in key),
        Types.LONG(),
        *(_optional(layout.types[position]) for position in read),
        _optional(Types.INT()),
        *map(_optional, parts),
    ]
    return PartialRows(Types.TUPLE(types), tuple(key), places, len(key) + 1 + len(read))


def part_types(aggregate: Aggregate, layout: ColumnLayout) -> list[TypeInformation] | None:
    """What a partial aggregate consists of, beside the number of its records; None if it cannot be had."""
    if aggregate.column is None:
        return []
    position = layout.position(aggregate.column)
    kind, type_info = layout.columns[position].arrow_type, layout.types[position]
    match aggregate.kind:
        case AggregateKind.COUNT:
            return [Types.INT()]
        case AggregateKind.SUM | AggregateKind.MEAN if is_native(kind, type_info):
            # The sum, and of how many values.
            return [Types.LONG(), Types.INT()] if pa.types.is_integer(kind) else None
        case AggregateKind.MIN | AggregateKind.MAX if is_native(kind, type_info):
            return [type_info]
        case _:
            return None


def is_native(kind: pa.DataType, type_info: TypeInformation) -> bool:
    """Whether values of a column are numbers, or dates and times that count as such."""
    plain_number = (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    )
    return (plain_number or pa.types.is_temporal(kind)) and not is_big(type_info)


def is_big(type_info: TypeInformation) -> bool:
    """Whether values have as many digits as they need."""
    plain = plain_type(type_info)
    return isinstance(plain, BasicTypeInfo) and plain.basic_type in (
        BasicType.BIG_INT,
        BasicType.BIG_DEC,
    )


def _optional(type_info: TypeInformation) -> TypeInformation:
    return type_info if isinstance(type_info, OptionalTypeInfo) else OptionalTypeInfo(type_info)
