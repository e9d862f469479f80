"""The hottest loops in Python: what each must do, and what runs where they are not compiled."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import call as called
from operator import is_, itemgetter
from typing import Any, Final, TypeAlias

from riverrun.loops.written import (
    Shape,
    Writer,
    decode,
    decode_shaped,
    encode,
    encode_shaped,
    is_plain,
    share_written,
)

__all__ = [
    "Entries",
    "KeyHolder",
    "Moment",
    "PairTimes",
    "Shape",
    "Writer",
    "all_plain",
    "decode",
    "decode_shaped",
    "encode",
    "encode_shaped",
    "extent",
    "fold",
    "fold_new",
    "gather",
    "gather_timed",
    "hold",
    "items",
    "meet",
    "same_keys",
    "share",
    "share_written",
    "words",
]
"""What the compiled module has too."""

_INT: Final = frozenset({int})
_LEAST, _GREATEST = -(2**63), 2**63 - 1
_PAIR: Final = 2
_TIME: Final = itemgetter(0)

Entry: TypeAlias = tuple[int, Any]
"""A time and a record."""
Held: TypeAlias = "Entry | list[Entry]"
"""What a key has in a bucket."""


class KeyHolder:
    """Whoever has a current key."""

    key: Any
    namespace: Any


class Moment:
    """The record in hand as a context tells of it."""

    __slots__ = ("time",)

    time: int | None


class PairTimes:
    """The times of the pair of records in hand as a context tells of them."""

    __slots__ = ("left", "right")

    left: int
    right: int


class Entries:
    """The entries of one state by key.

    Attributes:
        data: The entries.
        changed: Keys put since somebody took note of it; None when nobody wants to know.
    """

    __slots__ = ("_backend", "_get", "_plain", "changed", "data")

    _backend: KeyHolder
    _get: Callable[[Any], Any]
    """How an entry is read to be given out, while ``_plain`` is false."""
    _plain: bool
    data: dict[Any, Any]
    changed: set[Any] | None

    def entry(self) -> Any:
        """The current key's entry, or None."""
        try:
            return self._get(self._backend.key)
        except TypeError:
            self._address()  # says so when there is no key, which has no hash
            raise

    def put_entry(self, value: Any) -> None:
        """Set the current key's entry; None removes it."""
        if value is None:
            self.clear()
            return
        key = self._backend.key
        try:
            self.data[key] = value
        except TypeError:
            self._address()
            raise
        if self.changed is not None:
            self.changed.add(key)

    def clear(self) -> None:
        """Remove the current key's entry."""
        raise NotImplementedError  # a table's own

    def _address(self) -> Any:
        raise NotImplementedError  # a table's own


def items(values: list[Any], index: int) -> list[Any] | None:
    """The item at ``index`` of each value; None where that cannot be said, as of a tuple that has none."""
    try:
        return list(map(itemgetter(index), values))
    except Exception:  # noqa: BLE001  (whoever asks looks again, and fails in the user's own frame)
        return None


def share(  # noqa: PLR0913, PLR0917
    owners: Mapping[Any, int],
    keys: Sequence[Any],
    values: Sequence[Any],
    sinks: tuple[list[Any], ...],
    times: Sequence[int] | None = None,
    time_sinks: tuple[list[int], ...] = (),
    by_group: bytes | None = None,
) -> None:
    """Append each value to the list of its key's owner, and each time to the other list of that owner.

    Args:
        owners: A dict that may work out what it has not.
        keys: Those of the values.
        values: What is shared out.
        sinks: A list for each owner.
        times: Those of the values, if they have any.
        time_sinks: A list for each owner, if there are times.
        by_group: The owner of each group of keys, as 32-bit numbers in a row. With it the compiled loop works out
            the owners of whole numbers itself, which takes less than a look into a dict.
    """
    del by_group
    appends = [sink.append for sink in sinks]
    deque(map(called, map(appends.__getitem__, map(owners.__getitem__, keys)), values), 0)
    if times is not None:
        share(owners, keys, times, time_sinks)


def fold(
    data: dict[Any, Any],
    keys: Sequence[Any],
    values: Sequence[Any],
    function: Callable[[Any, Any], Any],
    get: Callable[[Any], Any] | None = None,
) -> list[Any]:
    """Reduce each value into its key's entry, which is the value itself where there is none; the entries after.

    ``get`` is how an entry is read, if not from the dict; the compiled one does without.
    """
    get, out = get or data.get, []
    for key, value in zip(keys, values, strict=True):
        before = get(key)
        after = value if before is None else function(before, value)
        if after is None:
            data.pop(key, None)
        else:
            data[key] = after
        out.append(after)
    return out


def fold_new(
    entries: dict[Any, Any],
    keys: Sequence[Any],
    values: Sequence[Any],
    add: Callable[[Any, Any], Any],
    create: Callable[[], Any],
    fresh: list[Any],
) -> None:
    """Add each value to its key's accumulator; keys that had none go to ``fresh``."""
    for key, value in zip(keys, values, strict=True):
        try:  # costs nothing unless the key is new
            held = entries[key]
        except KeyError:
            held = create()
            fresh.append(key)
        held = add(value, held)
        if held is None:
            entries.pop(key, None)
        else:
            entries[key] = held


def gather(  # noqa: PLR0913, PLR0917
    function: Callable[[Any, Any], Any],
    values: Sequence[Any],
    keys: Sequence[Any],
    context: object,
    holder: KeyHolder,
    out: list[Any],
    tag: type,
    side: Callable[[tuple[Any, Any], int | None], None],
) -> None:
    """Call ``function`` with each record and the context, its key being the holder's meanwhile.

    What it yields goes to ``out``, and pairs of a tag and a value to ``side``.
    """
    append = out.append
    for value, holder.key in zip(values, keys, strict=True):
        made = function(value, context)
        if made is None:
            continue
        for item in made:
            if type(item) is tuple and item and type(item[0]) is tag and len(item) == _PAIR:
                side(item, None)
            else:
                append(item)


def gather_timed(  # noqa: PLR0913, PLR0917
    function: Callable[[Any, Any], Any],
    values: Sequence[Any],
    keys: Sequence[Any],
    context: Moment,
    holder: KeyHolder,
    out: list[Any],
    tag: type,
    side: Callable[[tuple[Any, Any], int | None], None],
    times: Sequence[int],
    out_times: list[int],
) -> None:
    """The same for records with times: the context has that of the record in hand."""
    append, append_time = out.append, out_times.append
    for value, holder.key, time in zip(values, keys, times, strict=True):
        context.time = time
        made = function(value, context)
        if made is None:
            continue
        for item in made:
            if type(item) is tuple and item and type(item[0]) is tag and len(item) == _PAIR:
                side(item, time)
            else:
                append(item)
                append_time(time)


def hold(
    buckets: dict[int, dict[Any, Held]],
    width: int,
    keys: Sequence[Any],
    values: Sequence[Any],
    times: Sequence[int],
) -> list[int]:
    """Put each record to the others of its key in the bucket of its time; the numbers of buckets that are new.

    A bucket is a stretch of ``width``. A key has the only record of a bucket as it is, several as a list by time,
    those of one time as they came.
    """
    new = []
    for key, value, time in zip(keys, values, times, strict=True):
        number = time // width
        bucket = buckets.get(number)
        if bucket is None:
            bucket = buckets[number] = {}
            new.append(number)
        entry = (time, value)
        held = bucket.setdefault(key, entry)
        if held is entry:
            continue
        if isinstance(held, tuple):
            held = bucket[key] = [held]
        insort_right(held, entry, key=_TIME)
    return new


def partners(
    buckets: Mapping[int, Mapping[Any, Held]], width: int, key: Any, first: int, last: int
) -> list[Entry]:
    """The records of a key from ``first`` to ``last``, both inclusive, by time.

    >>> partners({0: {"a": (3, "x")}, 1: {"a": [(12, "y"), (15, "z")]}}, 10, "a", 3, 12)
    [(3, 'x'), (12, 'y')]
    """
    near = map(buckets.get, range(first // width, last // width + 1))
    held = [bucket[key] for bucket in near if bucket is not None and key in bucket]
    return _within({key: held}, key, first, last)


def meet(  # noqa: PLR0913, PLR0917
    function: Callable[[Any, Any, Any], Any],
    values: Sequence[Any],
    keys: Sequence[Any],
    context: PairTimes,
    holder: KeyHolder,
    out: list[Any],
    tag: type,
    side: Callable[[tuple[Any, Any], int | None], None],
    times: Sequence[int],
    out_times: list[int],
    buckets: Mapping[int, Mapping[Any, Held]],
    width: int,
    lower: int,
    upper: int,
    left: bool,  # noqa: FBT001
) -> None:
    """Call ``function`` with each pair of a record and one of its key that ``hold`` put into ``buckets``.

    The other one is from ``lower`` to ``upper`` after the record, which is the pair's left one or its right one.
    The context has the times of the pair, and what comes of it goes the same ways as in ``gather_timed``, with the
    later one of the two.
    """
    if not times:
        return
    first, last = (min(times) + lower) // width, (max(times) + upper) // width
    wanted = set(keys)
    known: dict[Any, list[Held]] = {}
    for number in range(first, last + 1) if last - first < len(buckets) else sorted(buckets):
        bucket = buckets.get(number, {})
        for key in bucket.keys() & wanted:
            known.setdefault(key, []).append(bucket[key])
    if not known:  # most often of the side that is ahead of the other
        return
    meet_found(
        function, values, keys, context, holder, out, tag, side, times, out_times,
        partial(_within, known), lower, upper, left,
    )  # fmt: skip


def _within(known: Mapping[Any, list[Held]], key: Any, first: int, last: int) -> list[Entry]:
    """Those from ``first`` to ``last`` of the records that are known of a key, bucket by bucket."""
    found: list[Entry] = []
    for held in known.get(key, ()):
        if not isinstance(held, tuple):
            start, end = bisect_left(held, first, key=_TIME), bisect_right(held, last, key=_TIME)
            found += held[start:end]
        elif first <= held[0] <= last:
            found.append(held)
    return found


def meet_found(  # noqa: PLR0913, PLR0917
    function: Callable[[Any, Any, Any], Any],
    values: Sequence[Any],
    keys: Sequence[Any],
    context: PairTimes,
    holder: KeyHolder,
    out: list[Any],
    tag: type,
    side: Callable[[tuple[Any, Any], int | None], None],
    times: Sequence[int],
    out_times: list[int],
    find: Callable[[Any, int, int], list[Entry]],
    lower: int,
    upper: int,
    left: bool,  # noqa: FBT001
) -> None:
    """The same with what ``find`` gives of a key from a first time to a last one; never compiled."""
    append, append_time = out.append, out_times.append
    for value, key, time in zip(values, keys, times, strict=True):
        for at, partner in find(key, time + lower, time + upper):
            holder.key = key
            if left:
                context.left, context.right = time, at
                made = function(value, partner, context)
            else:
                context.left, context.right = at, time
                made = function(partner, value, context)
            if made is None:
                continue
            later = at if at > time else time  # noqa: FURB136  (a call of max per pair)
            for item in made:
                if type(item) is tuple and item and type(item[0]) is tag and len(item) == _PAIR:
                    side(item, later)
                else:
                    append(item)
                    append_time(later)


def all_plain(data: dict[Any, Any]) -> bool:
    """Whether all values of the dict are plain, so that nobody can change one."""
    return all(map(is_plain, data.values()))


def extent(numbers: list[int]) -> tuple[int, int] | None:
    """The least and the greatest of whole numbers of 64 bits; None where there are none, or others."""
    if not numbers or not _INT.issuperset(map(type, numbers)):
        return None
    least, greatest = min(numbers), max(numbers)
    return (least, greatest) if least >= _LEAST and greatest <= _GREATEST else None


def same_keys(data: dict[Any, Any], keys: tuple[Any, ...]) -> bool:
    """Whether the dict has these very objects as its keys, in this order."""
    return len(data) == len(keys) and all(map(is_, data, keys))


def words(data: dict[Any, Any], kind: type[int | float]) -> bytes | None:
    """The values of the dict as machine numbers of eight bytes; None where not all are of ``kind`` and fit."""
    values = list(data.values())  # an array is made of a list in half the time
    if not set(map(type, values)) <= {kind}:
        return None
    try:
        return array("q" if kind is int else "d", values).tobytes()
    except OverflowError:
        return None
