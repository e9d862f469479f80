"""Entries of a state changed, left out, or given to other keys, as they go by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, TypeAlias

import pyarrow as pa

from riverrun.core.short_repr import short_repr
from riverrun.protocol.snapshots import StateMeta
from riverrun.serde.type_info import TypeInformation
from riverrun.state.parquet.columns import GROUP, STRAYS, Rows, StateColumns, columns_for
from riverrun.state.schema import MAPS, schema_from
from riverrun.state_processor.names import NotInSavepoint
from riverrun.state_processor.writing.arrow_values import fit_for, keys_in, values_in
from riverrun.state_processor.writing.drafts import KeptKeyed, KeyedDraft
from riverrun.state_processor.writing.entries import (
    Entries,
    EntrySource,
    Named,
    StateRow,
    columns_of,
    rows_from,
    state_rows,
)
from riverrun.state_processor.writing.keyed_files import settled_entries
from riverrun.state_processor.writing.refusals import RowRefused, WriteRefused

RowFunction: TypeAlias = Callable[[StateRow], StateRow | None]
BatchFunction: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]
KeyFunction: TypeAlias = Callable[[Any, Any], Any]


def entries_now(draft: KeyedDraft) -> EntrySource:
    """The entries of a state with every key once, as all changes so far left them."""
    if isinstance(draft, KeptKeyed):
        return draft.entries
    return lambda: settled_entries(draft.target, draft.entries())


def by_rows(
    source: EntrySource, function: RowFunction, old: StateMeta, new: StateMeta, named: Named
) -> EntrySource:
    """Each row as the function gives it; None leaves it out."""

    def changed() -> Iterator[Entries]:
        for entries in source():
            kept: list[StateRow] = []
            numbers: list[int] = []
            for row, number in zip(state_rows(entries, old), entries.numbers, strict=False):
                made = function(row)
                if made is None:
                    continue
                _check_row(row, made, number, named)
                kept.append(made)
                numbers.append(number)
            yield Entries(rows_from(kept, new), numbers, entries.parts)

    return changed


def _check_row(row: StateRow, made: Any, number: int, named: Named) -> None:
    if not isinstance(made, StateRow):
        reason = (
            f"the function gave {short_repr(made)}; expected a StateRow, as from row._replace(value=...), "
            f"or None to leave the row out"
        )
        raise RowRefused(named.operator, named.state, number, "value", reason)
    if made.key != row.key:
        reason = f"the function changed the key from {short_repr(row.key)} to {short_repr(made.key)}; use rekey"
        raise RowRefused(named.operator, named.state, number, "key", reason)


def by_batches(
    source: EntrySource, function: BatchFunction, old: StateMeta, new: StateMeta, named: Named
) -> EntrySource:
    """Some thousand rows at a time, as Arrow columns with the names that a savepoint's files have."""

    def changed() -> Iterator[Entries]:
        columns: StateColumns | None = None
        number = 0
        for entries in source():
            if not entries.numbers:
                continue
            rows = {**entries.rows, GROUP: [0] * len(entries.numbers)}
            columns = columns or columns_for(old, rows)
            batch = columns.batch(rows)
            names = list(columns_of(old))
            if STRAYS in batch.schema.names and batch.column(STRAYS).null_count < batch.num_rows:
                raise WriteRefused(
                    f"{named}: some values have no exact form in columns, so a function over batches "
                    f"would lose them; use a function over rows"
                )
            made = function(batch.select(names))
            if not isinstance(made, pa.RecordBatch | pa.Table):
                raise WriteRefused(
                    f"{named}: the function over batches gave {short_repr(made)}; expected a RecordBatch"
                )
            for part in [made] if isinstance(made, pa.RecordBatch) else made.to_batches():
                size = part.num_rows
                numbers = list(range(number, number + size))
                yield Entries(_decoded(part, columns, new, named), numbers, entries.parts)
                number += size

    return changed


def _decoded(batch: pa.RecordBatch, columns: StateColumns, meta: StateMeta, named: Named) -> Rows:
    schema = schema_from(meta)
    types: dict[str, TypeInformation | None] = {
        "key": schema.key,
        "map_key": schema.map_key,
        "value": schema.value,
        "map_value": schema.value,
    }
    known = {part.name: part.column for part in columns.parts}
    rows: Rows = {}
    for name in columns_of(meta):
        if name not in batch.schema.names:
            given = tuple(batch.schema.names)
            raise NotInSavepoint(f"{named}: what the function gave", "column", name, given)
        array = batch.column(name)
        if array.type == known[name].arrow_type:
            own = pa.concat_arrays([array]) if array.offset else array
            rows[name] = known[name].from_array(own)
        elif name == "elements":
            fit = fit_for(schema.value)
            lists = values_in(array, None)
            rows[name] = [None if one is None else [fit(each) for each in one] for one in lists]
        elif name in {"key", "namespace", "map_key"}:
            rows[name] = keys_in(array, types.get(name))
        else:
            rows[name] = values_in(array, types.get(name))
    return rows


def rekeyed(source: EntrySource, new_key: KeyFunction, meta: StateMeta) -> EntrySource:
    """Every entry with the key that the function has for its key and its value, list or dict."""

    def changed() -> Iterator[Entries]:
        for entries in source():
            found = state_rows(entries, meta)
            # The rows of timers have no values, and end where their keys do.
            keys = [new_key(row.key, row.value) for row in found]
            yield Entries({**entries.rows, "key": keys}, entries.numbers)

    def changed_maps() -> Iterator[Entries]:
        for rows in _maps(source(), meta):
            whole = {row.map_key: row.value for _, row in rows}
            key = new_key(rows[0][1].key, whole)
            made = rows_from([row._replace(key=key) for _, row in rows], meta)
            yield Entries(made, [number for number, _ in rows])

    return changed_maps if meta.kind in MAPS else changed


def _maps(source: Iterable[Entries], meta: StateMeta) -> Iterator[list[tuple[int, StateRow]]]:
    """The rows of one map after the other."""
    rows = (
        (number, row)
        for entries in source
        for number, row in zip(entries.numbers, state_rows(entries, meta), strict=False)
    )
    for _, same in groupby(rows, key=lambda numbered: numbered[0]):
        yield list(same)
