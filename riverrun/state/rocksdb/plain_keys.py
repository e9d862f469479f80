"""Row keys of many plain keys at once: all text, or all whole numbers, in a state without namespaces.

The bytes are those of `riverrun.state.rocksdb.rows` and `riverrun.state.rocksdb.canonical`; here they are
made and read with hardly any Python for each key.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

_HEAD: Final = struct.Struct(">HHIcB")
_SIZES: Final = range(0x80)
"""Sizes that are one byte."""
_NO_NAMESPACE: Final = bytes(4)
_tag: Final = itemgetter(8)
_size: Final = itemgetter(9)


def row_keys_of(group: int, number: int, keys: Sequence[Any]) -> list[bytes] | None:
    """The row keys in one key group and state; None if the keys are not all of one plain kind."""
    classes = set(map(type, keys))
    if classes == {int}:
        tag = b"I"
        parts = [key.to_bytes(key.bit_length() // 8 + 1, "big", signed=True) for key in keys]
    elif classes == {str}:
        tag = b"S"
        try:
            parts = [key.encode() for key in keys]
        except UnicodeEncodeError:  # a lone surrogate
            return None
    else:
        return None
    sizes = set(map(len, parts))
    if not all(size in _SIZES for size in sizes):
        return None
    heads = {size: _HEAD.pack(group, number, size + 2, tag, size) for size in sizes}
    return [heads[len(part)] + part + _NO_NAMESPACE for part in parts]


def row_keys_in(groups: Sequence[int], number: int, keys: Sequence[int]) -> list[bytes] | None:
    """The row keys of whole numbers, each in a key group of its own; None if one is very large."""
    parts = [key.to_bytes(key.bit_length() // 8 + 1, "big", signed=True) for key in keys]
    sizes = list(map(len, parts))
    if max(sizes, default=0) not in _SIZES:
        return None
    places = list(zip(groups, sizes, strict=True))
    heads = {
        (group, size): _HEAD.pack(group, number, size + 2, b"I", size)
        for group, size in set(places)
    }
    return [heads[place] + part + _NO_NAMESPACE for place, part in zip(places, parts, strict=True)]


def keys_of(row_keys: Sequence[bytes]) -> list[Any] | None:
    """The keys of row keys of one state; None if they are not all of one plain kind."""
    tags = set(map(_tag, row_keys))
    if len(tags) != 1 or max(map(_size, row_keys)) not in _SIZES:
        return None
    begin, end = _HEAD.size, -len(_NO_NAMESPACE)
    if tags == {ord("I")}:
        return [int.from_bytes(key[begin:end], "big", signed=True) for key in row_keys]
    if tags == {ord("S")}:
        try:
            return [str(key[begin:end], "utf-8") for key in row_keys]
        except UnicodeDecodeError:  # a lone surrogate
            return None
    return None
