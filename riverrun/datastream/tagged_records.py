"""Records of two streams in one, each with the side it comes from, and window functions over them.

Workers load this module with the functions in it; it needs nothing of the program that was built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from riverrun.api.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from riverrun.api.functions import WindowFunction
from riverrun.api.join_functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from riverrun.api.resolve import lifecycle
from riverrun.api.runtime_context import RuntimeContext

__all__ = ["TaggedUnion"]

_ONE: Final = 1
_TWO: Final = 2


class TaggedUnion(NamedTuple):
    """A record of one of two streams, as triggers, evictors and assigners of a join see it."""

    side: int
    """1 or 2."""
    value: Any

    def is_one(self) -> bool:
        """Whether the record comes from the first stream."""
        return self.side == _ONE

    def is_two(self) -> bool:
        """Whether the record comes from the second stream."""
        return self.side == _TWO

    def get_one(self) -> Any:
        """The record of the first stream, or None."""
        return self.value if self.side == _ONE else None

    def get_two(self) -> Any:
        """The record of the second stream, or None."""
        return self.value if self.side == _TWO else None


def tag_one(value: Any) -> TaggedUnion:
    """A record of the first stream."""
    return TaggedUnion(_ONE, value)


def tag_two(value: Any) -> TaggedUnion:
    """A record of the second stream."""
    return TaggedUnion(_TWO, value)


def untagged(tagged: TaggedUnion) -> Any:
    """The record as it was."""
    return tagged.value


class UnionKey:
    """The key of a tagged record, by the selector of its side."""

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
        self._first, self._second = first, second

    def __call__(self, tagged: TaggedUnion) -> Any:
        """The key of ``tagged``."""
        side, value = tagged
        return self._first(value) if side == _ONE else self._second(value)


class _OfBothSides(
    WindowFunction[TaggedUnion, Any, Any, Any], CheckpointedFunction, CheckpointListener
):
    """A window function that sorts records by side, and passes the life of the user's function on."""

    def __init__(self, fn: Any) -> None:
        self._function = lifecycle(fn)

    def open(self, runtime_context: RuntimeContext) -> None:
        if self._function is not None:
            self._function.open(runtime_context)

    def close(self) -> None:
        if self._function is not None:
            self._function.close()

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        if isinstance(self._function, CheckpointedFunction):
            self._function.initialize_state(context)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        if isinstance(self._function, CheckpointedFunction):
            self._function.snapshot_state(context)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if isinstance(self._function, CheckpointListener):
            self._function.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        if isinstance(self._function, CheckpointListener):
            self._function.notify_checkpoint_aborted(checkpoint_id)


class WindowJoin(_OfBothSides):
    """Calls a function for each pair of a window's records."""

    def __init__(
        self,
        fn: JoinFunction[Any, Any, Any]
        | FlatJoinFunction[Any, Any, Any]
        | Callable[[Any, Any], Any],
    ) -> None:
        super().__init__(fn)
        self._flat = isinstance(fn, FlatJoinFunction)
        named = isinstance(fn, JoinFunction | FlatJoinFunction)
        self._join: Callable[[Any, Any], Any] = fn.join if named else fn  # type: ignore[union-attr, assignment]

    def apply(self, key: Any, window: Any, inputs: Iterable[TaggedUnion]) -> Iterator[Any]:
        del key, window
        join = self._join
        first, second = _sides(inputs)
        if not self._flat:
            for left in first:
                for right in second:
                    yield join(left, right)
            return
        for left in first:
            for right in second:
                made = join(left, right)
                if made is not None:
                    yield from made


class WindowCoGroup(_OfBothSides):
    """Calls a function with all of a window's records, by side."""

    def __init__(self, fn: CoGroupFunction[Any, Any, Any]) -> None:
        super().__init__(fn)
        self._co_group = fn.co_group

    def apply(self, key: Any, window: Any, inputs: Iterable[TaggedUnion]) -> Iterable[Any]:
        del key, window
        made = self._co_group(*_sides(inputs))
        return () if made is None else made


def _sides(inputs: Iterable[TaggedUnion]) -> tuple[list[Any], list[Any]]:
    first: list[Any] = []
    second: list[Any] = []
    for side, value in inputs:
        (first if side == _ONE else second).append(value)
    return first, second
