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
from itertools import chain, islice
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from riverrun.core.errors import ProgramError
from riverrun.protocol.snapshots import StateKind
from riverrun.serde.check import TypeMismatch
from riverrun.serde.pickled_runs import PickleRunCodec, UnpicklableValue
from riverrun.serde.runs import codec_for, decode_run
from riverrun.serde.type_info import TypeInformation
from riverrun.state.schema import MAPS, StateSchema

_Column: TypeAlias = tuple[int, bytes]

_COUNTS: Final = 2
_TIMES: Final = 3
_PICKLED: Final = PickleRunCodec()
_decode_columns: Final = msgspec.msgpack.Decoder(list[tuple[int, bytes]]).decode


class UnstorableValue(ProgramError):  # noqa: N818
    """A value in a state cannot be written as the state's type says."""

    def __init__(self, operator: str, state: str, reason: str) -> None:
        super().__init__(operator, state, reason)
        self.operator, self.state, self.reason = operator, state, reason

    def __str__(self) -> str:
        return f"operator {self.operator!r}: state {self.state!r} cannot be written: {self.reason}"


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
        timers = self._kind is StateKind.TIMERS
        try:
            columns = self._addresses(addresses)
            columns += () if timers else self._values(values)
        except (TypeMismatch, UnpicklableValue) as error:
            raise UnstorableValue(self._operator, self._schema.meta.name, str(error)) from error
        return msgspec.msgpack.encode(columns)

    def encode_tombstones(self, addresses: Sequence[Any]) -> bytes:
        """A block of addresses alone."""
        return msgspec.msgpack.encode(self._addresses(addresses))

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

    def _addresses(self, addresses: Sequence[Any]) -> list[_Column]:
        if not self._namespaced:
            return [self._keys(list(addresses))]
        keys = [key for key, _ in addresses]
        namespaces = [namespace for _, namespace in addresses]
        if self._kind is not StateKind.TIMERS:
            return [self._keys(keys), (_PICKLED.tag, _PICKLED.encode(namespaces))]
        times = np.fromiter((time for time, _ in namespaces), "<i8", len(namespaces))
        inner = _PICKLED.encode([namespace for _, namespace in namespaces])
        return [self._keys(keys), (_PICKLED.tag, inner), (_TIMES, times.tobytes())]

    def _keys(self, keys: list[Any]) -> _Column:
        try:
            return _run(self._schema.key, keys)
        except TypeMismatch:
            # The type of a key is a hint of the program; a key that does not fit is a key all the same.
            return _PICKLED.tag, _PICKLED.encode(keys)

    def _values(self, values: Sequence[Any]) -> list[_Column]:
        columns: list[_Column] = []
        flat: Iterable[Any] = values
        if self._kind is StateKind.LIST or self._kind in MAPS:
            columns.append((_COUNTS, np.fromiter(map(len, values), "<u4", len(values)).tobytes()))
            flat = chain.from_iterable(values)
        if self._kind in MAPS:
            columns.append(_run(self._schema.map_key, list(flat)))
            flat = chain.from_iterable(map(dict.values, values))
        stored = list(flat)
        if not self._ttl:
            return [*columns, _run(self._schema.value, stored)]
        times = np.fromiter((time for _, time in stored), "<i8", len(stored))
        plain = [value for value, _ in stored]
        return [*columns, _run(self._schema.value, plain), (_TIMES, times.tobytes())]

    def _read_addresses(self, columns: Iterable[_Column]) -> list[Any]:
        keys = decode_run(*_next(columns), self._schema.key)
        if not self._namespaced:
            return keys
        namespaces: Iterable[Any] = decode_run(*_next(columns), None)
        if self._kind is StateKind.TIMERS:
            times = np.frombuffer(_next(columns)[1], "<i8").tolist()
            namespaces = zip(times, namespaces, strict=True)
        return list(zip(keys, namespaces, strict=True))

    def _read_values(self, columns: Iterable[_Column]) -> list[Any]:
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


def _run(type_info: TypeInformation | None, values: list[Any]) -> _Column:
    codec = codec_for(type_info)
    return codec.tag, codec.encode(values)


def _next(columns: Iterable[_Column]) -> _Column:
    return next(iter(columns))
