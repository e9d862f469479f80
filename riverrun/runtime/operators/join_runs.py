"""The buckets of many keys at once, in an interval join whose backend gives out the maps of all keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from riverrun.runtime.operators.join_entries import Entry, Held, as_list, found_between, merged
from riverrun.state.held_maps import HeldMaps

__all__ = ["drop_bucket", "finder", "put_bucket"]


def put_bucket(side: HeldMaps, number: int, bucket: Mapping[Any, Held]) -> list[Any]:
    """Put records of one bucket to those that their keys have in it already; gives the keys that had none."""
    find, held = side.maps()
    fresh = []
    for key, records in bucket.items():
        buckets = find(key)
        if buckets is None:
            held[key] = {number: as_list(records)}
            fresh.append(key)
            continue
        before = buckets.get(number)
        if before is None:
            fresh.append(key)
        buckets[number] = merged(before or [], as_list(records))
    side.note(bucket)
    return fresh


def finder(side: HeldMaps, width: int) -> Callable[[Any, int, int], list[Entry]]:
    """What finds the records of a key from a first time to a last one, until the run is over."""
    find, _ = side.maps()

    def between(key: Any, first: int, last: int) -> list[Entry]:
        buckets = find(key)
        return [] if buckets is None else found_between(buckets.get, width, first, last)

    return between


def drop_bucket(side: HeldMaps, bucket: int, keys: Iterable[Any]) -> None:
    """Forget what ``keys`` hold of a bucket."""
    find, held = side.maps()
    for key in keys:
        buckets = held.get(key)
        if buckets is None or bucket not in buckets:
            continue
        if len(buckets) == 1:
            del held[key]
        else:
            own = find(key)  # unlike ``buckets``, shared with no snapshot
            assert own is not None  # noqa: S101  (it was there just now)
            del own[bucket]
    side.note(keys)
