"""What process functions yield over a run of records: main output and side outputs apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

from riverrun.api.output_tag import OutputTag
from riverrun.runtime.emit import Emit

Output: TypeAlias = tuple[list[Any], list[int]]
"""Values and their timestamps."""


class Gathered:
    """What process functions yield over a run, main output and side outputs apart."""

    __slots__ = ("_side", "_timed", "main")

    def __init__(self, *, timed: bool) -> None:
        self._timed = timed
        self.main: Output = ([], [])
        self._side: dict[str, Output] = {}

    def add(self, made: Any, time: int | None) -> None:
        """Take all that a call made."""
        values, times = self.main
        for item in made:
            if type(item) is tuple and is_tagged(item):
                self.add_side(item, time)
                continue
            values.append(item)
            if time is not None:
                times.append(time)

    def add_side(self, item: tuple[OutputTag, Any], time: int | None) -> None:
        """Take a pair of a tag and a value."""
        values, times = self._side.setdefault(item[0].tag_id, ([], []))
        values.append(item[1])
        if time is not None:
            times.append(time)

    def emit(self, main: Emit, side_output: Callable[[str], Emit]) -> None:
        """Send everything on."""
        for tag, (values, times) in self._side.items():
            side_output(tag)(values, times if self._timed else None)
        values, times = self.main
        if values:
            main(values, times if self._timed else None)


class RecordContext(Protocol):
    """The context that a function gets with a record; moved from one to the next."""

    time: int | None


class _KeyHolder(Protocol):
    key: Any


def gather_keyed(
    call: Callable[[Any, Any], Any],
    run: tuple[list[Any], list[int] | None],
    context: RecordContext,
    backend: _KeyHolder,
    keys: list[Any],
) -> Gathered:
    """What ``call`` yields for each record; its key is the backend's and ``context`` has its time meanwhile."""
    values, timestamps = run
    gathered = Gathered(timed=timestamps is not None)
    if timestamps is None:
        _gather_plain(call, zip(values, keys, strict=True), context, backend, gathered)
    else:
        _gather_timed(call, zip(values, keys, timestamps, strict=True), context, backend, gathered)
    return gathered


def _gather_plain(
    call: Callable[[Any, Any], Any],
    each: Iterable[tuple[Any, Any]],
    context: RecordContext,
    backend: _KeyHolder,
    gathered: Gathered,
) -> None:
    """One of the two loops that most stateful jobs spend their time in."""
    append, tag = gathered.main[0].append, OutputTag
    for value, backend.key in each:
        made = call(value, context)
        if made is None:
            continue
        for item in made:
            if type(item) is tuple and item and type(item[0]) is tag and is_tagged(item):
                gathered.add_side(item, None)
            else:
                append(item)


def _gather_timed(
    call: Callable[[Any, Any], Any],
    each: Iterable[tuple[Any, Any, int]],
    context: RecordContext,
    backend: _KeyHolder,
    gathered: Gathered,
) -> None:
    """The other one."""
    append, append_time, tag = gathered.main[0].append, gathered.main[1].append, OutputTag
    for value, backend.key, time in each:
        context.time = time
        made = call(value, context)
        if made is None:
            continue
        for item in made:
            if type(item) is tuple and item and type(item[0]) is tag and is_tagged(item):
                gathered.add_side(item, time)
            else:
                append(item)
                append_time(time)
    context.time = None


def gather(
    call: Callable[[Any, Any], Any],
    each: Iterable[Any],
    timestamps: list[int] | None,
    context: RecordContext,
) -> Gathered:
    """What ``call`` yields for each record; ``context`` has the record's time meanwhile."""
    gathered = Gathered(timed=timestamps is not None)
    add = gathered.add
    if timestamps is None:
        for value in each:
            made = call(value, context)
            if made is not None:
                add(made, None)
        return gathered
    for value, time in zip(each, timestamps, strict=True):
        context.time = time
        made = call(value, context)
        if made is not None:
            add(made, time)
    context.time = None
    return gathered


def is_tagged(item: tuple[Any, ...]) -> bool:
    """Whether a function that yields ``item`` means a side output."""
    return len(item) == 2 and isinstance(item[0], OutputTag)  # noqa: PLR2004
