"""Share a run out by the groups of its keys: group ``g`` goes to consumer ``g * parallelism // max_parallelism``.

The compiled loop works out where whole numbers go. Where another key goes is remembered, one look into a dict a
record, as long as there are not too many keys for that: a dict of a million keys is slow, since it is never in the
CPU's caches, and large. Beyond that runs of keys that can be hashed as arrays are, all at once, and only others are
still looked up.

Plain records of a stream without a type are written for their consumers at once, while they are in the CPU's caches;
others wait in lists until their run is encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np

from riverrun.api.functions import KeySelector
from riverrun.api.resolve import key_callable
from riverrun.graph.key_groups import owner_of
from riverrun.loops import share, share_written
from riverrun.runtime.buffers import ChannelBuffer
from riverrun.runtime.run_keys import run_keys
from riverrun.serde.stable_hash import hash_alike, key_group

_FEW_KEYS: Final = 1 << 16
"""Up to here a look into a dict costs less than to hash anew."""
_MOST_KEYS: Final = 1 << 20
"""How many keys are remembered before that starts again: bounds memory, costs a hash a key."""
_RUNS_IN_LISTS: Final = 64
"""After a record that cannot be written: as many runs are not tried."""


class _Owners(dict[Any, int]):
    """Key -> consumer; a key is hashed once and remembered."""

    def __init__(self, by_group: Sequence[int]) -> None:
        super().__init__()
        self._by_group = by_group

    def __missing__(self, key: Any) -> int:
        if len(self) >= _MOST_KEYS:
            self.clear()
        owner = self[key] = self._by_group[key_group(key, len(self._by_group))]
        return owner


class ByKey:
    """The strategy of an edge with keys; ``buffers[i]`` belongs to its consumer ``i``."""

    def __init__(
        self,
        selector: KeySelector | Callable[[Any], Any],
        buffers: Sequence[ChannelBuffer],
        max_parallelism: int,
        parallelism: int,
    ) -> None:
        self._key = key_callable(selector)
        self._keys_of = run_keys(selector)
        self._buffers = buffers
        owners = [owner_of(group, parallelism, max_parallelism) for group in range(max_parallelism)]
        self._by_group = np.array(owners, np.int32)
        self._groups = self._by_group.tobytes()
        self._owners = _Owners(owners)
        self._values = tuple(buffer.values for buffer in buffers)
        self._times = tuple(buffer.timestamps for buffer in buffers)
        self._writers = tuple(buffer.writer for buffer in buffers if buffer.may_write)
        self._in_lists = 0
        """Runs that are not tried to be written."""

    def __call__(self, values: list[Any], timestamps: list[int] | None) -> None:
        try:
            keys = self._keys_of(values)
            if len(self._owners) > _FEW_KEYS and (hashes := hash_alike(keys)) is not None:
                self._share(hashes, values, timestamps)
                return
            if self._writers and (written := self._write(keys, values, timestamps)):
                if written == len(values):
                    return
                keys, values = keys[written:], values[written:]
                timestamps = None if timestamps is None else timestamps[written:]
            share(self._owners, keys, values, self._values, timestamps, self._times, self._groups)
        except Exception:
            for value in values:  # fails again where it failed, with the record in hand
                self._owners[self._key(value)]
            raise

    def _write(self, keys: list[Any], values: list[Any], timestamps: list[int] | None) -> int:
        """Write records up to the first that must go into a list; how many."""
        if self._in_lists:
            self._in_lists -= 1
            return 0
        for buffer in self._buffers:
            if buffer.values:
                buffer.seal()
        written = share_written(self._writers, self._owners, keys, values, timestamps, self._groups)
        if written < len(values):
            self._in_lists = _RUNS_IN_LISTS
        return written

    def _share(self, hashes: Any, values: list[Any], timestamps: list[int] | None) -> None:
        owners = self._by_group[(hashes % np.uint64(len(self._by_group))).astype(np.intp)]
        in_order = itemgetter(*np.argsort(owners, kind="stable").tolist())
        ends = np.bincount(owners, minlength=len(self._buffers)).cumsum().tolist()
        sorted_values = in_order(values)
        sorted_times = None if timestamps is None else in_order(timestamps)
        start = 0
        for buffer, end in zip(self._buffers, ends, strict=True):
            buffer.values.extend(sorted_values[start:end])
            if sorted_times is not None:
                buffer.timestamps.extend(sorted_times[start:end])
            start = end
