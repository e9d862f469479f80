"""What process functions yield over a run of records: main output and side outputs apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

from riverrun import loops
from riverrun.api.output_tag import OutputTag
from riverrun.loops import KeyHolder, Moment
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


def gather_keyed(
    call: Callable[[Any, Any], Any],
    run: tuple[list[Any], list[int] | None],
    context: Moment,
    backend: KeyHolder,
    keys: list[Any],
) -> Gathered:
    """What ``call`` yields for each record; its key is the backend's and ``context`` has its time meanwhile."""
    values, times = run
    gathered = Gathered(timed=times is not None)
    out, out_times = gathered.main
    side = gathered.add_side
    if times is None:
        loops.gather(call, values, keys, context, backend, out, OutputTag, side)
    else:
        loops.gather_timed(
            call, values, keys, context, backend, out, OutputTag, side, times, out_times
        )
        context.time = None
    return gathered


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
