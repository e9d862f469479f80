"""Stored values that are numbers, as arrays: what a snapshot takes of them instead of references.

To read each number once is cheaper than to count a reference to it, read it later and give it up: they lie
anywhere in memory, and each time is a miss of the processor's caches. And the memory of those that are replaced while
the snapshot is written is free at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from riverrun import loops
from riverrun.protocol.snapshots import StateKind
from riverrun.state.entry_columns import Numbers, number_of
from riverrun.state.schema import MAPS, StateSchema


def number_in(schema: StateSchema) -> type[int | float] | None:
    """The class of a state's values, where they are numbers that can be an array."""
    meta = schema.meta
    is_plain = meta.kind is not StateKind.LIST and meta.kind not in MAPS and not meta.ttl
    return number_of(schema.value) if is_plain and not meta.namespaced else None


def numbers_in(data: dict[Any, Any], number: type[int | float] | None) -> Numbers | None:
    """The values of a dict, if all are of the class and fit; not without C, where a list is made sooner."""
    if number is None or not loops.COMPILED:
        return None
    found = loops.words(data, number)
    return None if found is None else np.frombuffer(found, "=i8" if number is int else "=f8")
