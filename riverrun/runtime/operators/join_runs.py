"""A run of records in an interval join whose backend gives out the buckets of all keys.

The records of a run are all of one side, so none of them is the partner of another: they are kept first, and
then they meet what the other side holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from riverrun.runtime.operators.join_buffer import Entry, found_between, insert, within
from riverrun.state.held_maps import HeldMaps

__all__ = ["Found", "drop_bucket", "keep_run", "partners_of"]

Found: TypeAlias = tuple[Any, Any, int, Sequence[Entry]]
"""Key, record and time, and the record's partners, sorted by time."""


def keep_run(
    side: HeldMaps, width: int, keys: Iterable[Any], entries: Iterable[Entry]
) -> dict[int, list[Any]]:
    """Put records to the others of their keys.

    Returns:
        The keys that have their first record of a bucket, by the number of the bucket.
    """
    find, held = side.maps()
    new: defaultdict[int, list[Any]] = defaultdict(list)
    for key, entry in zip(keys, entries, strict=True):
        bucket = entry[0] // width
        buckets = find(key)
        if buckets is None:
            held[key] = {bucket: [entry]}
            new[bucket].append(key)
            continue
        kept = buckets.get(bucket)
        if kept is None:
            buckets[bucket] = [entry]
            new[bucket].append(key)
        else:
            insert(kept, entry)
    return new


def partners_of(
    side: HeldMaps,
    width: int,
    interval: tuple[int, int],
    keys: Sequence[Any],
    run: tuple[Sequence[Any], Sequence[int]],
) -> Iterator[Found]:
    """The records of a run that have partners on ``side``, with them; the others are left out."""
    find, _ = side.maps()
    known = list(map(find, keys))
    if known.count(None) == len(known):  # most often on the side that is ahead of the other
        return
    lower, upper = interval
    for key, value, time, buckets in zip(keys, *run, known, strict=True):
        if buckets is None:
            continue
        first, last = time + lower, time + upper
        if len(buckets) > 1:
            partners = found_between(buckets.get, width, first, last)
        else:
            (partners,) = buckets.values()
            if len(partners) > 1:
                partners = within(partners, first, last)
            elif not first <= partners[0][0] <= last:
                continue
        if partners:
            yield key, value, time, partners


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
