"""The layout of the database, version 1: which bytes an entry of a state has.

    row key   = group state key namespace rest
    group     = key group, uint16
    state     = number of the state in this database, uint16
    key       = uint32 length and the bytes of `riverrun.state.rocksdb.canonical`
    namespace = the same; length 0 in a state without namespaces
    rest      = of maps: the bytes of the map key; of lists: number of the piece, uint64; else nothing

The rows of timers have their time, an int64 with its sign turned over, between state and key, so that
they stand in the order of time in each group; and they have no payload.

    row value = kept time payload
    kept      = one byte: 1 key, 2 namespace, 4 map key; those whose bytes say only what they equal
                follow, each with its length, as `riverrun.state.rocksdb.values` encodes it
    time      = with TTL: time of last use in ms, int64; lists have one for each element, with the
                length of them all before
    payload   = the value; of lists: the elements of this piece

Numbers are big-endian, so the rows of a key group, and in it those of a state, stand together. A map
has a row for each entry. A list has a row for each piece that was written: elements that are added are
written without reading what is there.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from riverrun.protocol.snapshots import StateKind
from riverrun.serde.check import TypeMismatch
from riverrun.serde.key_hash import key_group
from riverrun.serde.pickled_runs import UnpicklableValue
from riverrun.serde.stable_hash import hash_keys
from riverrun.state.rocksdb.canonical import decode, encode, put_length, take_length
from riverrun.state.rocksdb.number_rows import int_row_values, numbers_of
from riverrun.state.rocksdb.plain_keys import keys_of, row_keys_in, row_keys_of
from riverrun.state.rocksdb.values import ValueCodec
from riverrun.state.schema import MAPS, StateSchema
from riverrun.state.serializers import UnstorableValue

LAYOUT_VERSION: Final = 1
_PLACE: Final = struct.Struct(">HHI")
_LENGTH: Final = struct.Struct(">I")
_PIECE: Final = struct.Struct(">Q")
_TIME: Final = struct.Struct(">q")
_TIMER: Final = struct.Struct(">HHQI")
_EARLIEST: Final = -(1 << 63)
_KEY, _NAMESPACE, _MAP_KEY = 1, 2, 4
_FLAGS: Final = [bytes((flags,)) for flags in range(8)]
UNKEPT: Final = _FLAGS[0]
"""What row values begin with whose row keys say everything."""
_flags: Final = operator.itemgetter(0)
_TOGETHER: Final = 2048
"""Rows that are made together."""
_NO_NAMESPACE: Final = _LENGTH.pack(0)
_NONE_NAMESPACE: Final = _LENGTH.pack(1) + encode(None)[0]


class Place(NamedTuple):
    """Where the rows of one address are, and what each of them keeps of it."""

    prefix: bytes
    kept: bytes
    """The bytes of the kept parts, without the first."""
    flags: int


class Row(NamedTuple):
    """A row as it is found by a scan."""

    address: Any
    """The key, or (key, namespace)."""
    rest: bytes
    map_key: Any
    """None unless the state is a map."""
    payload: bytes
    """With the time before it, where the state has TTL."""


def group_prefix(group: int) -> bytes:
    """What the rows of a key group begin with."""
    return group.to_bytes(2, "big")


def state_prefix(group: int, number: int) -> bytes:
    """What the rows of a state in a key group begin with."""
    return _PLACE.pack(group, number, 0)[:4]


def state_number(row_key: bytes) -> int:
    """The state that a row belongs to."""
    return int.from_bytes(row_key[2:4], "big")


def timer_time(row_key: bytes) -> int:
    """The time of a row of timers."""
    return int(_TIMER.unpack_from(row_key)[2]) + _EARLIEST


def timers_from(group: int, number: int, time: int) -> bytes:
    """What stands before all timers of a group from ``time`` on."""
    return _TIMER.pack(group, number, time - _EARLIEST, 0)[:-4]


def renumbered(row_key: bytes, number: int) -> bytes:
    """The key of the same row in a database where its state has another number."""
    return row_key[:2] + number.to_bytes(2, "big") + row_key[4:]


class RowFormat:
    """Rows of one state."""

    def __init__(self, schema: StateSchema, number: int, max_parallelism: int, owner: str) -> None:
        meta = schema.meta
        self.schema = schema
        self.number = number
        self.is_map = meta.kind in MAPS
        self.is_list = meta.kind is StateKind.LIST
        self.is_timers = meta.kind is StateKind.TIMERS
        self.max_parallelism = max_parallelism
        self._owner = owner
        self._namespaced = meta.namespaced
        self._ttl = meta.ttl
        self._values = ValueCodec(schema.value)
        self._keys = ValueCodec(schema.key)
        self._map_keys = ValueCodec(schema.map_key)
        self._any = ValueCodec(None)
        self.holds_ints = self._values.keeps_plain and not meta.ttl
        """Whether an int in a row is a plain one; ``keeps_ints`` also if it is pickled."""
        self.keeps_ints = not meta.ttl and (self._values.keeps_plain or schema.value is None)

    def place(self, address: Any) -> Place:
        """Where the rows of an address are."""
        key = address[0] if self._namespaced else address
        return self._place(key_group(key, self.max_parallelism), address)

    def places(self, addresses: Sequence[Any]) -> Iterator[Place]:
        """The same for many, in their order, at a fraction of the cost."""
        if not addresses:
            return iter(())
        keys = [key for key, _ in addresses] if self._namespaced else list(addresses)
        groups = (hash_keys(keys) % np.uint64(self.max_parallelism)).tolist()
        return map(self._place, groups, addresses)

    def row_keys(self, addresses: Sequence[Any]) -> list[bytes]:
        """The row keys of many addresses of a state that is neither map nor list, in their order."""
        if not self._namespaced and set(map(type, addresses)) == {int}:
            groups = (hash_keys(addresses) % np.uint64(self.max_parallelism)).tolist()
            found = row_keys_in(groups, self.number, addresses)
            if found is not None:
                return found
        return [place.prefix for place in self.places(addresses)]

    def places_in(self, group: int, addresses: Sequence[Any]) -> list[Place]:
        """The same for addresses whose key group is known."""
        return [self._place(group, address) for address in addresses]

    def _place(self, group: int, address: Any) -> Place:
        if not self._namespaced:
            data, exact = encode(address)
            prefix = _PLACE.pack(group, self.number, len(data)) + data + _NO_NAMESPACE
            return Place(prefix, b"", 0) if exact else Place(prefix, self._kept_key(address), _KEY)
        key, namespace = address
        time = 0
        if self.is_timers:
            time, namespace = namespace
        data, exact = encode(key)
        flags, kept = (0, b"") if exact else (_KEY, self._kept_key(key))
        named, exact = encode(namespace)
        if not exact:
            flags, kept = flags | _NAMESPACE, kept + _sized(self._any.encode(namespace))
        if self.is_timers:
            head = _TIMER.pack(group, self.number, time - _EARLIEST, len(data))
        else:
            head = _PLACE.pack(group, self.number, len(data))
        return Place(b"".join((head, data, _LENGTH.pack(len(named)), named)), kept, flags)

    def timer_rows(self, addresses: Sequence[Any]) -> Iterator[tuple[int, bytes, bytes]]:
        """Group, row key and row value of many timers, in their order."""
        keys = [key for key, _ in addresses]
        groups = (hash_keys(keys) % np.uint64(self.max_parallelism)).tolist()
        number, pack = self.number, _TIMER.pack
        for group, address in zip(groups, addresses, strict=True):
            key, (time, namespace) = address
            data, exact = encode(key)
            if exact and namespace is None:  # as nearly all timers of functions are
                head = pack(group, number, time - _EARLIEST, len(data))
                yield group, head + data + _NONE_NAMESPACE, _FLAGS[0]
            else:
                place = self._place(group, address)
                yield group, place.prefix, self.value(place, stored=True)

    def timer(self, row_key: bytes, row_value: bytes) -> tuple[Any, Any]:
        """Key and namespace of a row of timers."""
        if row_value == _FLAGS[0] and row_key.endswith(_NONE_NAMESPACE):
            data = row_key[_TIMER.size : -len(_NONE_NAMESPACE)]
            if _TIMER.unpack_from(row_key)[3] == len(data):
                return decode(data), None
        key, (_, namespace) = self.row(row_key, row_value).address
        return key, namespace

    def map_row(self, place: Place, map_key: Any) -> bytes:
        """The key of the row of a map's entry."""
        return place.prefix + encode(map_key)[0]

    def piece_row(self, place: Place, piece: int) -> bytes:
        """The key of the row of a list's piece."""
        return place.prefix + _PIECE.pack(piece)

    def value(self, place: Place, stored: Any) -> bytes:
        """The row value of a stored value."""
        return _FLAGS[place.flags] + place.kept + self._payload(stored)

    def _row_values(self, places: Iterable[Place], stored: Sequence[Any]) -> Iterator[bytes]:
        """The row values of many stored values."""
        heads = (_FLAGS[place.flags] + place.kept for place in places)
        return map(operator.add, heads, self.payloads(stored))

    def row_values(self, stored: Sequence[Any]) -> Iterable[bytes]:
        """The row values of many stored values whose row keys say everything."""
        if self.holds_ints:
            self.check_values(stored)
            numbers = numbers_of(stored)
            if numbers is not None:
                return int_row_values(numbers)
        return map(UNKEPT.__add__, self.payloads(stored))

    def check_values(self, stored: Sequence[Any]) -> None:
        """Raise UnstorableValue unless all values, of a state without TTL, are of its type."""
        try:
            self._values.check_all(stored)
        except TypeMismatch as error:
            raise self._unstorable(error) from error

    def payloads(self, stored: Sequence[Any]) -> Sequence[bytes]:
        """The payloads of many stored values.

        Raises:
            UnstorableValue: a value is not of the state's type, or cannot be pickled.
        """
        if self.is_timers:
            return [b""] * len(stored)
        values, times = stored, None
        if self._ttl:
            values = [value for value, _ in stored]
            times = [_TIME.pack(time) for _, time in stored]
        try:
            payloads = self._values.encode_each(values)
        except (TypeMismatch, UnpicklableValue) as error:
            raise self._unstorable(error) from error
        return payloads if times is None else list(map(operator.add, times, payloads))

    def map_value(self, place: Place, map_key: Any, stored: Any) -> tuple[bytes, bytes]:
        """The row key and row value of a map's entry."""
        data, exact = encode(map_key)
        flags, kept = place.flags, place.kept
        try:
            self._map_keys.check(map_key)
            if not exact:
                flags, kept = flags | _MAP_KEY, kept + _sized(self._map_keys.encode(map_key))
        except (TypeMismatch, UnpicklableValue) as error:
            raise self._unstorable(error) from error
        return place.prefix + data, _FLAGS[flags] + kept + self._payload(stored)

    def list_value(self, place: Place, elements: list[Any]) -> bytes:
        """The row value of a list's piece."""
        times, values = b"", elements
        if self._ttl:
            times = _sized(b"".join(_TIME.pack(time) for _, time in elements))
            values = [value for value, _ in elements]
        try:
            data = self._values.encode_all(values)
        except (TypeMismatch, UnpicklableValue) as error:
            raise self._unstorable(error) from error
        return _FLAGS[place.flags] + place.kept + times + data

    def stored(self, row_value: bytes) -> Any:
        """The stored value of a row."""
        return self.stored_of(row_value[_payload_at(row_value) :])

    def stored_each(self, row_values: Sequence[bytes]) -> Sequence[Any]:
        """The stored values of many rows."""
        if self._ttl or self.is_timers or set(map(_flags, row_values)) != {0}:
            return list(map(self.stored, row_values))
        return self._values.decode_each([row_value[1:] for row_value in row_values])

    def stored_in(self, payloads: Sequence[bytes]) -> Sequence[Any]:
        """The stored values of many payloads of a state without TTL."""
        return self._values.decode_each(payloads)

    def elements(self, row_value: bytes) -> list[Any]:
        """The elements of a list's piece."""
        return self.elements_of(row_value[_payload_at(row_value) :])

    def stored_of(self, payload: bytes) -> Any:
        """The stored value of a payload."""
        if self.is_timers:
            return True
        if not self._ttl:
            return self._values.decode(payload)
        return self._values.decode(payload[_TIME.size :]), _TIME.unpack_from(payload)[0]

    def singles(
        self, row_keys: Sequence[bytes], row_values: Sequence[bytes]
    ) -> tuple[list[Any], Sequence[Any]]:
        """Addresses and stored values of many rows of a state that is neither map nor list."""
        keys = None
        if not self._namespaced and set(map(_flags, row_values)) == {0}:  # as nearly all rows are
            keys = keys_of(row_keys)
        if keys is not None:
            addresses, payloads = keys, [row_value[1:] for row_value in row_values]
        else:
            rows = list(map(self.row, row_keys, row_values))
            addresses, payloads = [row.address for row in rows], [row.payload for row in rows]
        if self.is_timers:
            return addresses, [True] * len(addresses)
        if not self._ttl:
            return addresses, self._values.decode_each(payloads)
        values = self._values.decode_each([payload[_TIME.size :] for payload in payloads])
        times = [_TIME.unpack_from(payload)[0] for payload in payloads]
        return addresses, list(zip(values, times, strict=True))

    def single_rows(
        self, group: int, addresses: Sequence[Any], stored: Sequence[Any]
    ) -> tuple[list[bytes], Iterable[bytes]]:
        """Row keys and row values of many entries of one key group; neither of maps nor of lists."""
        if not self._namespaced:
            row_keys = row_keys_of(group, self.number, addresses)
            if row_keys is not None:
                return row_keys, self.row_values(stored)
        places = self.places_in(group, addresses)
        return [place.prefix for place in places], self._row_values(places, stored)

    def groups_of(self, addresses: Sequence[Any]) -> Iterator[tuple[int, list[Any]]]:
        """The addresses by their key groups, some thousand at most at a time."""
        keys = [key for key, _ in addresses] if self._namespaced else list(addresses)
        if not keys:
            return
        groups = (hash_keys(keys) % np.uint64(self.max_parallelism)).astype(np.uint16)
        order = np.argsort(groups, kind="stable")
        ends = (np.flatnonzero(np.diff(groups[order])) + 1).tolist()
        places = order.tolist()
        for start, end in zip([0, *ends], [*ends, len(places)], strict=True):
            group = int(groups[places[start]])
            for first in range(start, end, _TOGETHER):
                yield group, [addresses[at] for at in places[first : min(first + _TOGETHER, end)]]

    def elements_of(self, payload: bytes) -> list[Any]:
        """The elements of the payload of a list's piece."""
        if not self._ttl:
            return self._values.decode_all(payload)
        size, at = take_length(payload, 0)
        times = [time for (time,) in _TIME.iter_unpack(payload[at : at + size])]
        return list(zip(self._values.decode_all(payload[at + size :]), times, strict=True))

    def last_use(self, row_value: bytes) -> int:
        """When the youngest of what is in the row was last used; only with TTL."""
        at = _payload_at(row_value)
        if not self.is_list:
            return int(_TIME.unpack_from(row_value, at)[0])
        size, at = take_length(row_value, at)
        return max(int(time) for (time,) in _TIME.iter_unpack(row_value[at : at + size]))

    def row(self, row_key: bytes, row_value: bytes) -> Row:
        """What a row of this state is."""
        time = 0
        if self.is_timers:
            time, row_key = timer_time(row_key), row_key[:4] + row_key[12:]
        _, _, size = _PLACE.unpack_from(row_key)
        key_end = _PLACE.size + size
        rest_at = key_end + 4 + _LENGTH.unpack_from(row_key, key_end)[0]
        rest = row_key[rest_at:]
        kept, at = _kept_parts(row_value)
        key = self._part(kept, _KEY, self._keys, row_key[_PLACE.size : key_end])
        address = key
        if self._namespaced:
            named = row_key[key_end + 4 : rest_at]
            namespace = self._part(kept, _NAMESPACE, self._any, named)
            address = (key, (time, namespace) if self.is_timers else namespace)
        map_key = self._part(kept, _MAP_KEY, self._map_keys, rest) if self.is_map else None
        return Row(address, rest, map_key, row_value[at:])

    def map_key(self, row_key: bytes, row_value: bytes, prefix: bytes) -> Any:
        """The map key of a row whose address is known."""
        if row_value[0] & _MAP_KEY:
            return self._map_keys.decode(_kept_parts(row_value)[0][_MAP_KEY])
        return decode(row_key[len(prefix) :])

    def _part(self, kept: dict[int, bytes], flag: int, codec: ValueCodec, data: bytes) -> Any:
        return codec.decode(kept[flag]) if flag in kept else decode(data)

    def _kept_key(self, key: Any) -> bytes:
        try:
            return _sized(self._keys.encode(key))
        except TypeMismatch:
            # The type of a key is a hint of the program; a key that does not fit is a key all the same.
            return _sized(self._any.encode(key))

    def _payload(self, stored: Any) -> bytes:
        if self.is_timers:
            return b""
        value, time = stored if self._ttl else (stored, 0)
        try:
            data = self._values.encode(value)
        except (TypeMismatch, UnpicklableValue) as error:
            raise self._unstorable(error) from error
        return _TIME.pack(time) + data if self._ttl else data

    def _unstorable(self, error: Exception) -> UnstorableValue:
        return UnstorableValue(self._owner, self.schema.meta.name, str(error))


def address_prefix(row_key: bytes) -> bytes:
    """What all rows of the same address begin with."""
    _, _, size = _PLACE.unpack_from(row_key)
    key_end = _PLACE.size + size
    return row_key[: key_end + 4 + _LENGTH.unpack_from(row_key, key_end)[0]]


def _sized(data: bytes) -> bytes:
    out = bytearray()
    put_length(out, len(data))
    return bytes(out) + data


def _payload_at(row_value: bytes) -> int:
    return 1 if row_value[0] == 0 else _kept_parts(row_value)[1]


def _kept_parts(row_value: bytes) -> tuple[dict[int, bytes], int]:
    """The kept parts by their flags, and where they end."""
    flags, at = row_value[0], 1
    found: dict[int, bytes] = {}
    for flag in (_KEY, _NAMESPACE, _MAP_KEY):
        if flags & flag:
            length, at = take_length(row_value, at)
            found[flag] = row_value[at : at + length]
            at += length
    return found, at
