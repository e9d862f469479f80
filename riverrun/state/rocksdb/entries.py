"""What the rows of a database say, entry by entry and in the order of key groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import compress, groupby
from typing import Any, Final

from riverrun.state.interchange import StateBlock
from riverrun.state.rocksdb.database import Database
from riverrun.state.rocksdb.rows import Row, RowFormat, address_prefix, state_prefix

_BLOCK: Final = 1000
"""Rows of a block at most."""


def row_blocks(
    database: Database, rows: RowFormat, groups: range, hidden: Mapping[Any, Any] | None = None
) -> Iterator[StateBlock]:
    """The entries of a state that are in ``groups``; a large map comes in several blocks.

    ``hidden``: by addresses, of a state that is neither map nor list, whose rows do not count.
    """
    meta = rows.schema.meta
    for group in groups:
        for found, stored in _entries(database, rows, group):
            addresses, values = _without(hidden, found, stored) if hidden else (found, stored)
            keys, namespaces = addresses, None
            if meta.namespaced:
                keys = [key for key, _ in addresses]
                namespaces = [namespace for _, namespace in addresses]
            if keys:
                yield StateBlock(meta, group, keys, namespaces, values)


def _without(
    hidden: Mapping[Any, Any], addresses: list[Any], values: list[Any]
) -> tuple[list[Any], list[Any]]:
    if hidden.keys().isdisjoint(addresses):
        return addresses, values
    there = [address not in hidden for address in addresses]
    return list(compress(addresses, there)), list(compress(values, there))


def _entries(
    database: Database, rows: RowFormat, group: int
) -> Iterator[tuple[list[Any], list[Any]]]:
    """Addresses and their stored values, in blocks; one with a part of a large map stands alone."""
    prefix = state_prefix(group, rows.number)
    if not rows.is_list and not rows.is_map:
        for row_keys, row_values in database.scan_runs(prefix, _BLOCK):
            addresses, values = rows.singles(row_keys, row_values)
            yield addresses, list(values)
        return
    scan = database.scan(prefix)
    for block in _gathered(rows, scan):
        yield [address for address, _ in block], [value for _, value in block]


def _gathered(
    rows: RowFormat, scan: Iterator[tuple[bytes, bytes]]
) -> Iterator[list[tuple[Any, Any]]]:
    """The maps or lists of rows."""
    block: list[tuple[Any, Any]] = []
    for _, same in groupby(scan, key=lambda row: address_prefix(row[0])):
        pieces = (rows.row(*row) for row in same)
        if rows.is_list:
            listed = list(pieces)
            elements = [item for row in listed for item in rows.elements_of(row.payload)]
            block.append((listed[0].address, elements))
        else:
            for part in _map_parts(rows, pieces):
                if len(part[1]) < _BLOCK:
                    block.append(part)
                else:
                    yield [part]
        if len(block) >= _BLOCK:
            yield block
            block = []
    if block:
        yield block


def _map_parts(rows: RowFormat, found: Iterator[Row]) -> Iterator[tuple[Any, dict[Any, Any]]]:
    address, part = None, {}
    for row in found:
        address = row.address
        part[row.map_key] = rows.stored_of(row.payload)
        if len(part) >= _BLOCK:
            yield address, part
            part = {}
    if part:
        yield address, part
