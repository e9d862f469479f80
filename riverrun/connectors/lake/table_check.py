"""Do records fit a table? Found out before the first one moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from riverrun.core.errors import ProgramError

__all__ = ["TableMismatch", "check_columns", "missing_columns", "wanted_columns"]

_INTEGERS: Final = ("int8", "int16", "int32", "int64")


class TableMismatch(ProgramError):  # noqa: N818  (the name says what happened)
    """The columns of a table are not those of the records."""


def missing_columns(records: pa.Schema, table: pa.Schema) -> list[str]:
    """The columns that records have and the table has not."""
    return [name for name in records.names if name not in table.names]


def check_columns(who: str, records: pa.Schema, table: pa.Schema) -> None:
    """Raise TableMismatch unless each record can be a row of the table."""
    missing = missing_columns(records, table)
    if missing:
        field = records.field(missing[0])
        raise TableMismatch(
            f"{who}: the table has no column {field.name!r}; the records have it as {field.type}, the "
            f"table has {table.names!r}; leave it out, or set LakeSettings(add_columns=True)"
        )
    for field in table:
        if field.name not in records.names:
            if not field.nullable:
                raise TableMismatch(
                    f"{who}: the table needs the column {field.name!r} ({field.type}, never null), which "
                    f"the records lack; they have {records.names!r}"
                )
            continue
        found = records.field(field.name).type
        if not fits(found, field.type):
            raise TableMismatch(
                f"{who}: the column {field.name!r} of the table is {field.type}; the records have it as "
                f"{found}, which does not fit without loss; map it before"
            )


def check_partitions(who: str, asked: Sequence[str], found: Sequence[str]) -> None:
    """Raise TableMismatch if a sink names other partition columns than its table has."""
    if asked and list(asked) != list(found):
        raise TableMismatch(
            f"{who}: the table is partitioned by {list(found)!r}, the sink by {list(asked)!r}; "
            f"leave partition_by out for a table that exists"
        )


def wanted_columns(records: pa.Schema, table: pa.Schema) -> pa.Schema:
    """The table's columns that records have, as the table has them and in its order."""
    return pa.schema([field for field in table if field.name in records.names])


def fits(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether every value, or of decimals those that turn up, can be held without loss.

    >>> fits(pa.int32(), pa.int64()), fits(pa.int64(), pa.int32()), fits(pa.string(), pa.int64())
    (True, False, False)
    """
    if found == wanted:
        return True
    types = pa.types
    if str(found) in _INTEGERS and str(wanted) in _INTEGERS:
        return _INTEGERS.index(str(found)) <= _INTEGERS.index(str(wanted))
    if types.is_nested(found) or types.is_nested(wanted):
        return _nested_fits(found, wanted)
    if types.is_timestamp(found) and types.is_timestamp(wanted):
        return (found.tz is None) == (wanted.tz is None)
    return any(
        is_of(found) and is_of(wanted)
        for is_of in (_is_text, _is_bytes, types.is_decimal, types.is_time)
    )


def _nested_fits(found: pa.DataType, wanted: pa.DataType) -> bool:
    types = pa.types
    if _is_list(found) and _is_list(wanted):
        return fits(found.value_type, wanted.value_type)
    if types.is_map(found) and types.is_map(wanted):
        return fits(found.key_type, wanted.key_type) and fits(found.item_type, wanted.item_type)
    if types.is_struct(found) and types.is_struct(wanted):
        names = [field.name for field in found]
        return names == [field.name for field in wanted] and all(
            fits(ours.type, theirs.type) for ours, theirs in zip(found, wanted, strict=True)
        )
    return False


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))
