"""The stable hash of many keys at once: of an Arrow column, or of the keys of a run.

Each function gives what `stable_hash` gives for each key; numbers and texts are hashed as arrays,
at a small part of the cost.
"""

import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from riverrun.serde.key_hash import (
    BYTES,
    FIRST,
    GOLDEN,
    INFINITY,
    MASK,
    NAN_HASH,
    NONE_HASH,
    NUMBER,
    PRIME,
    SECOND,
    STR,
    TUPLE,
    leaf,
    stable_hash,
)
from riverrun.serde.transpose import columns_of

__all__ = ["hash_alike", "hash_column", "hash_integers", "hash_keys", "key_groups"]

_Hashes: TypeAlias = npt.NDArray[np.uint64]

# Below this the fixed cost of the array operations is more than the keys one by one.
_FEW_KEYS: Final = 24
_BITS: Final = 61
_MANTISSA_BITS: Final = 53


def key_groups(keys: Sequence[Any], max_parallelism: int) -> list[int]:
    """The key group of each key of a run: ``key_group(key, max_parallelism)`` for each."""
    groups: list[int] = (hash_keys(keys) % np.uint64(max_parallelism)).tolist()
    return groups


def hash_keys(keys: Sequence[Any]) -> _Hashes:
    """The stable hash of each key of a run; `KeyHashError` for a key that has none."""
    hashes = hash_alike(keys)
    if hashes is None:
        return np.fromiter(map(stable_hash, keys), np.uint64, len(keys))
    return hashes


def hash_alike(keys: Sequence[Any]) -> _Hashes | None:
    """The same for keys that can be hashed as arrays, all at once; None for others, and for a few."""
    if len(keys) < _FEW_KEYS:
        return None
    classes = set(map(type, keys))
    hash_all = _ALIKE.get(classes.pop()) if len(classes) == 1 else None
    if hash_all is None:
        return None
    try:
        return hash_all(keys)
    except (OverflowError, UnicodeEncodeError, _Unlike):
        return None


class _Unlike(Exception):  # noqa: N818 - a signal inside this module
    """Keys of one class that do not have one form, so they are hashed one by one."""


def _hash_ints(keys: Sequence[int]) -> _Hashes:
    return hash_integers(np.frombuffer(array("q", keys), np.int64))


def _hash_doubles(keys: Sequence[float]) -> _Hashes:
    return _hash_floats(np.frombuffer(array("d", keys), np.float64))


def _hash_strs(keys: Sequence[str]) -> _Hashes:
    return _hash_texts(STR, [key.encode() for key in keys])


def _hash_bytes(keys: Sequence[bytes]) -> _Hashes:
    return _hash_texts(BYTES, keys)


def _hash_tuples(keys: Sequence[tuple[Any, ...]]) -> _Hashes:
    try:
        columns = columns_of(keys, len(keys[0]))
    except ValueError:
        raise _Unlike from None
    return _fold_tuples(len(keys), [hash_keys(column) for column in columns])


_ALIKE: Final[Mapping[type, Callable[[Any], _Hashes]]] = {
    int: _hash_ints,
    float: _hash_doubles,
    str: _hash_strs,
    bytes: _hash_bytes,
    tuple: _hash_tuples,
}


def hash_column(column: pa.Array | pa.ChunkedArray) -> _Hashes:
    """The stable hash of each value of an Arrow column.

    A struct counts as the tuple of its fields, every other value as the Python value that Arrow
    makes of it. `KeyHashError` for a type that cannot be a key, such as a list.
    """
    if isinstance(column, pa.ChunkedArray):
        return np.concatenate([np.empty(0, np.uint64), *map(hash_column, column.chunks)])
    if isinstance(column, pa.ExtensionArray):
        return hash_column(column.storage)
    hashes = _hash_values(column)
    if column.null_count:
        hashes[column.is_null().to_numpy(zero_copy_only=False)] = NONE_HASH
    return hashes


def _hash_values(column: pa.Array) -> _Hashes:
    """The hashes of the values that are not null; those of the others are undefined."""
    for is_of, hash_values in _BY_TYPE:
        if is_of(column.type):
            return hash_values(column)
    return _hash_dictionary(column.dictionary_encode())


def _hash_nulls(column: pa.Array) -> _Hashes:
    return np.full(len(column), NONE_HASH, np.uint64)


def _hash_booleans(column: pa.Array) -> _Hashes:
    return _hash_integer_column(column.cast(pa.int8()))


def _hash_integer_column(column: pa.Array) -> _Hashes:
    values = column.fill_null(0).to_numpy()
    wide = np.uint64 if values.dtype == np.uint64 else np.int64
    return hash_integers(values.astype(wide, copy=False))


def _hash_float_column(column: pa.Array) -> _Hashes:
    return _hash_floats(column.cast(pa.float64()).fill_null(0.0).to_numpy())


def _hash_structs(column: pa.Array) -> _Hashes:
    return _fold_tuples(len(column), [hash_column(field) for field in column.flatten()])


def _hash_dictionary(column: pa.DictionaryArray) -> _Hashes:
    distinct = hash_keys(column.dictionary.to_pylist())
    if not len(distinct):
        return _hash_nulls(column)
    hashes: _Hashes = distinct[column.indices.fill_null(0).to_numpy()]
    return hashes


def _hash_one_by_one(column: pa.Array) -> _Hashes:
    return hash_keys(column.to_pylist())


_BY_TYPE: Final[Sequence[tuple[Callable[[Any], bool], Callable[[Any], _Hashes]]]] = (
    (pa.types.is_null, _hash_nulls),
    (pa.types.is_boolean, _hash_booleans),
    (pa.types.is_integer, _hash_integer_column),
    (pa.types.is_floating, _hash_float_column),
    (pa.types.is_struct, _hash_structs),
    (pa.types.is_dictionary, _hash_dictionary),
    (pa.types.is_nested, _hash_one_by_one),
)


def hash_integers(values: npt.NDArray[np.int64] | _Hashes) -> _Hashes:
    """The stable hash of each whole number of an array."""
    negative = values < 0
    magnitudes = values.astype(np.uint64)
    magnitudes[negative] = -magnitudes[negative]
    return _hash_residues(magnitudes % np.uint64(PRIME), negative)


def _hash_floats(values: npt.NDArray[np.float64]) -> _Hashes:
    finite = np.isfinite(values)
    fractions, exponents = np.frexp(np.abs(np.where(finite, values, 0.0)))
    mantissas = np.ldexp(fractions, _MANTISSA_BITS).astype(np.uint64)
    # Modulo 2**61 - 1 a multiplication by a power of two is a rotation of 61 bits.
    turns = ((exponents.astype(np.int64) - _MANTISSA_BITS) % _BITS).astype(np.uint64)
    rotated = (mantissas << turns) & np.uint64(PRIME) | mantissas >> (np.uint64(_BITS) - turns)
    rotated[np.isinf(values)] = INFINITY
    hashes = _hash_residues(rotated, values < 0)
    hashes[np.isnan(values)] = NAN_HASH
    return hashes


def _hash_residues(magnitudes: _Hashes, negative: npt.NDArray[np.bool_]) -> _Hashes:
    residues = magnitudes
    residues[negative] = -residues[negative]
    residues[residues == np.uint64(MASK)] = MASK - 1  # -1 becomes -2, as in Python
    return _leaves(NUMBER, residues)


def _hash_texts(kind: int, texts: Sequence[bytes]) -> _Hashes:
    checksums = np.fromiter(map(zlib.crc32, texts), np.uint64, len(texts))
    lengths = np.fromiter(map(len, texts), np.uint64, len(texts))
    return _leaves(kind, checksums + (lengths << np.uint64(32)))


def _fold_tuples(count: int, columns: Sequence[_Hashes]) -> _Hashes:
    folded = np.full(count, leaf(TUPLE, len(columns)), np.uint64)
    for hashes in columns:
        folded = _mixed((folded ^ hashes) + np.uint64(GOLDEN))
    return folded


def _leaves(kind: int, values: _Hashes) -> _Hashes:
    return _mixed(values + np.uint64(kind * GOLDEN & MASK))


def _mixed(x: _Hashes) -> _Hashes:
    """`mix` of each, in place."""
    x ^= x >> np.uint64(30)
    x *= np.uint64(FIRST)
    x ^= x >> np.uint64(27)
    x *= np.uint64(SECOND)
    x ^= x >> np.uint64(31)
    return x
