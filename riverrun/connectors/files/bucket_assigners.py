"""Which bucket a record goes to: a folder below the base path of the sink."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

import numpy as np

from riverrun.connectors.files.bucket_times import time_pattern, time_zone
from riverrun.connectors.files.paths import is_hidden
from riverrun.serde.columns import ColumnRun

__all__ = ["BucketAssigner", "BucketContext", "checked_bucket", "grouped"]

_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
_PLAIN: Final = " !$&(),;@+-_.~"
"""What stays as it is in the value of a partition, beside letters and digits."""


class BucketContext:
    """What an assigner knows beside the record; times in milliseconds."""

    __slots__ = ("_now", "_timestamp")

    def __init__(self, now: int, timestamp: int | None = None) -> None:
        self._now = now
        self._timestamp = timestamp

    def timestamp(self) -> int | None:
        """The record's own time, if it has one."""
        return self._timestamp

    def current_processing_time(self) -> int:
        """The time of the machine."""
        return self._now


class BucketAssigner(ABC):
    """Names the bucket of each record; ``""`` is the base path itself, ``"a/b"`` a folder in a folder."""

    @abstractmethod
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """The bucket of ``element``."""

    def bucket_ids(
        self, values: Sequence[Any], timestamps: Sequence[int] | None, now: int
    ) -> str | list[str]:
        """The buckets of a run: one for all of it, or one for each record."""
        if timestamps is None:
            context = BucketContext(now)
            return [self.get_bucket_id(value, context) for value in values]
        return [
            self.get_bucket_id(value, BucketContext(now, timestamp))
            for value, timestamp in zip(values, timestamps, strict=True)
        ]

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """All records go to the base path."""
        return _BasePath()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """By the time at which a record is written, in one of Java's patterns.

        Without ``timezone_id`` the zone of the machine counts.
        """
        return _ByTime(format_str, timezone_id, by_event=False)

    @staticmethod
    def event_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str = "UTC"
    ) -> BucketAssigner:
        """By the record's own timestamp: the same bucket for the same record, whenever it is written."""
        return _ByTime(format_str, timezone_id, by_event=True)

    @staticmethod
    def field_bucket_assigner(*fields: str) -> BucketAssigner:
        """By the values of fields, as ``dt=2026-03-05/country=DE``."""
        return _ByFields(fields)

    @staticmethod
    def of(assign: Callable[[Any], str]) -> BucketAssigner:
        """By a function from a record to the name of its bucket."""
        return _ByFunction(assign)


class _BasePath(BucketAssigner):
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        del element, context
        return ""

    def bucket_ids(
        self, values: Sequence[Any], timestamps: Sequence[int] | None, now: int
    ) -> str | list[str]:
        del values, timestamps, now
        return ""


class _ByTime(BucketAssigner):
    def __init__(self, pattern: str, zone: str | None, *, by_event: bool) -> None:
        time_pattern(pattern)
        time_zone(zone)
        self._pattern = pattern
        self._zone = zone
        self._by_event = by_event
        self._finer = not {"S", "n"}.isdisjoint(pattern)

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        if not self._by_event:
            return self._name(context.current_processing_time())
        timestamp = context.timestamp()
        if timestamp is None:
            raise ValueError(
                f"bucket by event time: the record {element!r} has no timestamp; assign timestamps with a "
                f"watermark strategy before the sink"
            )
        return self._name(timestamp)

    def bucket_ids(
        self, values: Sequence[Any], timestamps: Sequence[int] | None, now: int
    ) -> str | list[str]:
        if not self._by_event:
            return self._name(now)
        if timestamps is None:
            return super().bucket_ids(values, None, now)
        known: dict[int, str] = {}
        ids = []
        for timestamp in timestamps:
            second = timestamp if self._finer else timestamp // 1000
            name = known.get(second)
            if name is None:
                name = known[second] = self._name(timestamp)
            ids.append(name)
        return ids

    def _name(self, millis: int) -> str:
        time = datetime.fromtimestamp(millis // 1000, UTC).replace(microsecond=millis % 1000 * 1000)
        return time_pattern(self._pattern)(time.astimezone(time_zone(self._zone)))


class _ByFields(BucketAssigner):
    def __init__(self, fields: tuple[str, ...]) -> None:
        if not fields or not all(isinstance(field, str) and field for field in fields):
            raise ValueError(
                f"bucket by fields: got {fields!r}; expected the name of one field at least"
            )
        self._fields = fields

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        del context
        return self._name([_field(element, field) for field in self._fields])

    def bucket_ids(
        self, values: Sequence[Any], timestamps: Sequence[int] | None, now: int
    ) -> str | list[str]:
        if not isinstance(values, ColumnRun):
            return super().bucket_ids(values, timestamps, now)
        layout = values.layout
        try:
            columns = [values.column(layout.position(field)) for field in self._fields]
        except KeyError as error:
            raise _no_field(error.args[0], list(layout.names)) from None
        known: dict[tuple[Any, ...], str] = {}
        ids = []
        for parts in zip(*(column.to_pylist() for column in columns), strict=True):
            name = known.get(parts)
            if name is None:
                name = known[parts] = self._name(parts)
            ids.append(name)
        return ids

    def _name(self, parts: Iterable[Any]) -> str:
        return "/".join(
            f"{field}={_part(part)}" for field, part in zip(self._fields, parts, strict=True)
        )


class _ByFunction(BucketAssigner):
    def __init__(self, assign: Callable[[Any], str]) -> None:
        if not callable(assign):
            raise TypeError(
                f"bucket assigner: got {assign!r}; expected a BucketAssigner, or a callable from a "
                f"record to the name of its bucket"
            )
        self._assign = assign

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        del context
        return self._assign(element)

    def bucket_ids(
        self, values: Sequence[Any], timestamps: Sequence[int] | None, now: int
    ) -> str | list[str]:
        del timestamps, now
        return [self._assign(value) for value in values]


def checked_bucket(bucket: Any) -> str:
    """``bucket`` if it names a folder below the base path that readers see.

    >>> checked_bucket("dt=2026-03-05/country=DE")
    'dt=2026-03-05/country=DE'
    """
    if isinstance(bucket, str):
        parts = bucket.split("/") if bucket else []
        if all(part and not is_hidden(part) and "\0" not in part for part in parts):
            return bucket
    raise ValueError(
        f"bucket {bucket!r}: expected the name of a folder below the base path such as 'dt=2026-03-05', "
        f"of parts that are not empty and do not begin with '.' or '_'"
    )


def grouped(values: Sequence[Any], buckets: list[str]) -> Iterable[tuple[str, Any]]:
    """The records of each bucket, in order.

    >>> list(grouped([1, 2, 3], ["a", "b", "a"]))
    [('a', [1, 3]), ('b', [2])]
    """
    first = buckets[0] if buckets else ""
    if all(bucket == first for bucket in buckets):
        return [(first, values)] if buckets else []
    if isinstance(values, ColumnRun):
        return _cut(values, buckets)
    parts: dict[str, list[Any]] = {}
    for bucket, value in zip(buckets, values, strict=True):
        parts.setdefault(bucket, []).append(value)
    return parts.items()


def _cut(run: ColumnRun, buckets: list[str]) -> Iterable[tuple[str, Any]]:
    """Columns ordered by bucket, once, and a view of them for each."""
    known: dict[str, int] = {}
    codes = np.array([known.setdefault(bucket, len(known)) for bucket in buckets], np.int64)
    ordered = run.take(np.argsort(codes, kind="stable"))
    ends = np.cumsum(np.bincount(codes, minlength=len(known))).tolist()
    return [
        (bucket, ordered[start:end])
        for bucket, start, end in zip(known, [0, *ends], ends, strict=False)
    ]


def _field(element: Any, field: str) -> Any:
    if isinstance(element, dict):
        if field in element:
            return element[field]
        raise _no_field(field, list(element))
    found = getattr(element, field, _NO_VALUE)
    if found is _NO_VALUE:
        raise _no_field(field, type(element).__name__)
    return found


def _no_field(field: str, found: Any) -> ValueError:
    return ValueError(
        f"bucket by fields: a record has no field {field!r}, only {found!r}; expected rows, dicts or "
        f"dataclasses that have it"
    )


def _part(value: Any) -> str:
    if value is None or value == "":
        return _NO_VALUE
    return quote(str(value), safe=_PLAIN)
