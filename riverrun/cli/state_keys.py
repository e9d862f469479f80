"""From the text of a key on the command line to the key."""

from __future__ import annotations

import ast
from typing import Any

from riverrun.serde.types import BasicType, BasicTypeInfo, TypeInformation
from riverrun.state_processor.names import NotInSavepoint
from riverrun.state_processor.table import StateTable


def rows_of_key(table: StateTable, written: str) -> StateTable:
    """The rows of the key that ``written`` means.

    Where the type of keys is not declared, the text itself is looked for first, and then what Python takes it
    for: ``42``, ``('a', 1)``.

    Raises:
        NotInSavepoint: there is no such key.
    """
    for key in key_candidates(table.types.get("key"), written):
        found = table.where_key(key)
        if next(found.rows(), None) is not None:
            return found
    place = f"state {table.name!r} of operator {table.operator!r}"
    raise NotInSavepoint(place, "key", written, ())


def key_candidates(key_type: TypeInformation | None, written: str) -> list[Any]:
    """What the text may mean, the likeliest first.

    >>> key_candidates(None, "42"), key_candidates(None, "('a', 1)"), key_candidates(None, "x")
    (['42', 42], ["('a', 1)", ('a', 1)], ['x'])
    """
    try:
        literal = [ast.literal_eval(written)]
    except (ValueError, SyntaxError):
        literal = []
    if key_type is None:
        return [written, *literal]
    if isinstance(key_type, BasicTypeInfo) and key_type.basic_type is BasicType.STRING:
        return [written]
    return [key_type.coerce(each) for each in literal] + [written]
