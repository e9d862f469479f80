"""What the rows of a database say, entry by entry and in the order of key groups."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import groupby
from typing import Any, Final

from riverrun.state.interchange import StateBlock
from riverrun.state.rocksdb.database import Database
from riverrun.state.rocksdb.rows import Row, RowFormat, address_prefix, state_prefix

_BLOCK: Final = 1000
"""Rows of a block at most."""


def row_blocks(
    database: Database, rows: RowFormat, groups: range, hidden: Container[Any] = ()
) -> Iterator[StateBlock]:
    """The entries of a state that are in ``groups``; a large map comes in several blocks.

    ``hidden``: addresses, of a state that is neither map nor list, whose rows do not count.
    """
    meta = rows.schema.meta
    for group in groups:
        for found in _entries(database, rows, group):
            entries = [pair for pair in found if pair[0] not in hidden] if hidden else found
            if not entries:
                continue
            addresses = [address for address, _ in entries]
            keys, namespaces = addresses, None
            if meta.namespaced:
                keys = [key for key, _ in addresses]
                namespaces = [namespace for _, namespace in addresses]
            values = [value for _, value in entries]
            yield StateBlock(meta, group, keys, namespaces, values)


def _entries(database: Database, rows: RowFormat, group: int) -> Iterator[list[tuple[Any, Any]]]:
    """Addresses with their stored values, in blocks; one with a part of a large map stands alone."""
    prefix = state_prefix(group, rows.number)
    if not rows.is_list and not rows.is_map:
        for row_keys, row_values in database.scan_runs(prefix, _BLOCK):
            yield list(zip(*rows.singles(row_keys, row_values), strict=True))
        return
    scan = database.scan(prefix)
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
