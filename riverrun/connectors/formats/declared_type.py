"""The type that a program declares for the records of a format."""

from __future__ import annotations

from typing import Any

from riverrun.serde.composite_types import RowTypeInfo


def declared_row_type(who: str, type_info: Any) -> RowTypeInfo:
    """The type, if it is one of rows.

    Args:
        who: the format that asks, for the message.
        type_info: what it was given.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(type_info, RowTypeInfo):
        raise TypeError(
            f"{who}: the type is {type_info!r}; expected a row type such as "
            f"Types.ROW_NAMED(['id'], [Types.LONG()])"
        )
    return type_info
