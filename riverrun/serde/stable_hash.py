"""The stable hash: which key group, and so which subtask, a key belongs to.

`riverrun.serde.key_hash` holds the specification and the hash of one key,
`riverrun.serde.column_hash` the same hash for many keys at once.
"""

from riverrun.serde.column_hash import (
    hash_alike,
    hash_column,
    hash_integers,
    hash_keys,
    key_groups,
)
from riverrun.serde.key_hash import KeyHashError, key_group, stable_hash

__all__ = [
    "KeyHashError",
    "hash_alike",
    "hash_column",
    "hash_integers",
    "hash_keys",
    "key_group",
    "key_groups",
    "stable_hash",
]
