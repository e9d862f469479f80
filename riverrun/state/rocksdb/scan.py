"""Which addresses have rows, for those who go through all keys of a state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from riverrun.state.rocksdb.rows import RowFormat, address_prefix, state_number, state_prefix
from riverrun.state.rocksdb.store import Store
from riverrun.state.ttl_rules import TtlRules


def visible_addresses(
    store: Store, formats: Sequence[RowFormat], groups: range, rules: TtlRules | None
) -> Iterator[Any]:
    """Every address with a row that the user can see, once.

    The rows are those of the moment of this call; the state may change while one goes through them.
    """
    numbers = {rows.number: rows for rows in formats}
    found = store.scan_each(state_prefix(group, number) for number in numbers for group in groups)
    if rules is not None and rules.show_expired:
        rules = None
    return _addresses(found, numbers, rules)


def _addresses(
    found: Iterator[tuple[bytes, bytes]], numbers: dict[int, RowFormat], rules: TtlRules | None
) -> Iterator[Any]:
    last = b""
    for row_key, row_value in found:
        prefix = address_prefix(row_key)
        if prefix == last:
            continue
        rows = numbers[state_number(row_key)]
        if rules is None or not rules.expired((None, rows.last_use(row_value))):
            last = prefix
            yield rows.row(row_key, row_value).address
