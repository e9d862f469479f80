"""Entries of a state as bytes: runs of keys and of stored values, a column each.

A block is a MessagePack array of columns; a column is ``[encoding, bytes]``. The columns in order:

- key, and namespace where the state has one;
- of timers, their times (encoding 3), which are a part of the address, and nothing after them;
- of lists and maps, how many elements each entry has (encoding 2);
- of maps, their keys, all in one run;
- the values, elements or values of maps, all in one run;
- with TTL, the time of last use of each of these (encoding 3).

Encodings: 0 and 1 are the run codecs of ``riverrun.serde.runs`` (pickle; Arrow by the declared type),
2 is little-endian uint32, 3 is little-endian int64. A block of tombstones ends after the address.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Final

import msgspec
import numpy as np

from riverrun.core.errors import ProgramError
from riverrun.protocol.snapshots import StateKind
from riverrun.serde.check import TypeMismatch
from riverrun.serde.pickled_runs import UnpicklableValue
from riverrun.serde.runs import decode_run
from riverrun.serde.stable_hash import hash_keys
from riverrun.state.entry_columns import (
    EncodedColumn,
    EntryColumn,
    Hashes,
    Numbers,
    Objects,
    Order,
    Times,
    column_of,
    encoded_keys,
    encoded_run,
    number_column,
)
from riverrun.state.schema import MAPS, StateSchema

_COUNTS: Final = 2
_TIMES: Final = 3
_decode_columns: Final = msgspec.msgpack.Decoder(list[tuple[int, bytes]]).decode


class UnstorableValue(ProgramError):  # noqa: N818
    """A value in a state cannot be written as the state's type says."""

    def __init__(self, operator: str, state: str, reason: str) -> None:
        super().__init__(operator, state, reason)
        self.operator, self.state, self.reason = operator, state, reason

    def __str__(self) -> str:
        return f"operator {self.operator!r}: state {self.state!r} cannot be written: {self.reason}"


@dataclass(frozen=True, slots=True)
class EntryRun:
    """Entries of one state on their way into blocks."""

    state: str
    operator: str
    keys: Sequence[Any]
    """In the order in which they came."""
    columns: Sequence[EntryColumn]
    """The first one is of the keys."""

    def hashes(self) -> Hashes:
        """The stable hash of each of ``keys``."""
        hashes = self.columns[0].hashed()
        return hash_keys(self.keys) if hashes is None else hashes

    def taken(self, order: Order) -> EntryRun:
        """The same with all columns in another order."""
        return replace(self, columns=[column.taken(order) for column in self.columns])

    def encode(self, start: int, end: int) -> bytes:
        """A block of the entries from ``start`` to ``end``.

        Raises:
            UnstorableValue: one of them is not of the declared type, or cannot be pickled.
        """
        try:
            columns = [part for column in self.columns for part in column.encoded(start, end)]
        except (TypeMismatch, UnpicklableValue) as error:
            raise UnstorableValue(self.operator, self.state, str(error)) from error
        return msgspec.msgpack.encode(columns)


class EntrySerializer:
    """Encodes and decodes blocks of entries of one state; used from any thread."""

    def __init__(self, schema: StateSchema, operator: str) -> None:
        self._schema = schema
        self._operator = operator
        self._namespaced = schema.meta.namespaced
        self._kind = schema.meta.kind
        self._ttl = schema.meta.ttl

    def encode(self, addresses: Sequence[Any], values: Sequence[Any]) -> bytes:
        """A block; an address is a key, or a pair of key and namespace where the state has them."""
        return self.entries(addresses, values).encode(0, len(addresses))

    def entries(
        self,
        addresses: Sequence[Any],
        values: Sequence[Any] | Numbers,
        known: EntryColumn | None = None,
    ) -> EntryRun:
        """Entries to bring into order and to encode in several blocks.

        Args:
            addresses: of the entries; nobody looks at them if ``known`` is given.
            values: stored values, or an array of numbers where `number_of` says so.
            known: the column of the addresses.
        """
        keys, columns = self._addresses(addresses) if known is None else (addresses, [known])
        if self._kind is not StateKind.TIMERS:
            columns += self._values(values)
        return EntryRun(self._schema.meta.name, self._operator, keys, columns)

    def tombstones(self, addresses: Sequence[Any]) -> EntryRun:
        """The same for blocks of addresses alone."""
        return EntryRun(self._schema.meta.name, self._operator, *self._addresses(addresses))

    def decode(self, block: bytes | memoryview) -> tuple[list[Any], list[Any]]:
        """The addresses and values of a block."""
        columns = iter(_decode_columns(block))
        addresses = self._read_addresses(columns)
        if self._kind is StateKind.TIMERS:
            return addresses, [True] * len(addresses)
        return addresses, self._read_values(columns)

    def decode_tombstones(self, block: bytes | memoryview) -> list[Any]:
        """The addresses of a block of tombstones."""
        return self._read_addresses(iter(_decode_columns(block)))

    def _addresses(self, addresses: Sequence[Any]) -> tuple[Sequence[Any], list[EntryColumn]]:
        """The keys, and the columns of the addresses."""
        if not self._namespaced:
            return addresses, [column_of(self._schema.key, addresses, encoded_keys)]
        keys = [key for key, _ in addresses]
        namespaces = [namespace for _, namespace in addresses]
        columns = [column_of(self._schema.key, keys, encoded_keys)]
        if self._kind is not StateKind.TIMERS:
            return keys, [*columns, column_of(None, namespaces)]
        times = np.fromiter((time for time, _ in namespaces), "<i8", len(namespaces))
        inner = column_of(None, [namespace for _, namespace in namespaces])
        return keys, [*columns, inner, Times(times, _TIMES)]

    def _values(self, values: Sequence[Any] | Numbers) -> list[EntryColumn]:
        if isinstance(values, np.ndarray):
            return [number_column(self._schema.value, values)]
        if self._kind is StateKind.LIST or self._kind in MAPS:
            return [Objects(values, self._collections)]
        if not self._ttl:
            return [column_of(self._schema.value, values)]
        times = np.fromiter((time for _, time in values), "<i8", len(values))
        plain = [value for value, _ in values]
        return [column_of(self._schema.value, plain), Times(times, _TIMES)]

    def _collections(self, values: list[Any]) -> list[EncodedColumn]:
        """The columns of lists or of maps."""
        counts = np.fromiter(map(len, values), "<u4", len(values))
        columns: list[EncodedColumn] = [(_COUNTS, counts.tobytes())]
        flat = chain.from_iterable(values)
        if self._kind in MAPS:
            columns.append(encoded_run(self._schema.map_key, list(flat)))
            flat = chain.from_iterable(map(dict.values, values))
        stored = list(flat)
        if not self._ttl:
            return [*columns, encoded_run(self._schema.value, stored)]
        times = np.fromiter((time for _, time in stored), "<i8", len(stored))
        plain = [value for value, _ in stored]
        return [*columns, encoded_run(self._schema.value, plain), (_TIMES, times.tobytes())]

    def _read_addresses(self, columns: Iterable[EncodedColumn]) -> list[Any]:
        keys = decode_run(*_next(columns), self._schema.key)
        if not self._namespaced:
            return keys
        namespaces: Iterable[Any] = decode_run(*_next(columns), None)
        if self._kind is StateKind.TIMERS:
            times = np.frombuffer(_next(columns)[1], "<i8").tolist()
            namespaces = zip(times, namespaces, strict=True)
        return list(zip(keys, namespaces, strict=True))

    def _read_values(self, columns: Iterable[EncodedColumn]) -> list[Any]:
        is_map = self._kind in MAPS
        counts = None
        if is_map or self._kind is StateKind.LIST:
            counts = np.frombuffer(_next(columns)[1], "<u4").tolist()
        map_keys = decode_run(*_next(columns), self._schema.map_key) if is_map else None
        stored = decode_run(*_next(columns), self._schema.value)
        if self._ttl:
            times = np.frombuffer(_next(columns)[1], "<i8").tolist()
            stored = list(zip(stored, times, strict=True))
        if counts is None:
            return stored
        if map_keys is None:
            elements = iter(stored)
            return [list(islice(elements, count)) for count in counts]
        pairs = zip(map_keys, stored, strict=True)
        return [dict(islice(pairs, count)) for count in counts]


def _next(columns: Iterable[EncodedColumn]) -> EncodedColumn:
    return next(iter(columns))
