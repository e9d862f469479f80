"""The latest value of each key, in the process that submitted the job, to be looked at while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import pyarrow as pa

from riverrun.serde.column_views import view_of
from riverrun.serde.columns import layout_of
from riverrun.serde.type_info import TypeInformation

__all__ = ["UpsertView", "ViewChanges"]

Change: TypeAlias = tuple[Hashable, Any] | tuple[Hashable]
"""A key and its new value, or a key alone that is gone."""

_GONE: Final = 1
"""How long the tuple of a key that is gone is."""


@dataclass(frozen=True, slots=True)
class ViewChanges:
    """What changed in one step."""

    updated: Mapping[Any, Any]
    deleted: frozenset[Any]


class UpsertView(Mapping[Any, Any]):
    """A mapping from keys to their latest values that a running job keeps up to date.

    It may be read from any thread. A job that takes checkpoints changes it when a checkpoint is complete,
    by what each subtask wrote for that checkpoint, exactly once; any other job at once. It holds what was
    written since the job was submitted by this program: a job that goes on from a savepoint does not tell
    again what was written before.

    It is a context: outside of it nothing is changed any more.
    """

    def __init__(self, name: str = "View", type_info: TypeInformation | None = None) -> None:
        self.name = name
        self._type_info = type_info
        self._delivery = threading.RLock()
        self._changed = threading.Condition()
        self._values: dict[Any, Any] = {}
        self._version = 0
        self._closed = False
        self._subscribers: list[Callable[[ViewChanges], object]] = []

    @property
    def version(self) -> int:
        """How often it has changed."""
        return self._version

    def snapshot(self) -> dict[Any, Any]:
        """All keys and values at one moment, as a dict of your own."""
        with self._changed:
            return dict(self._values)

    def subscribe(self, callback: Callable[[ViewChanges], object]) -> Callable[[], None]:
        """Call ``callback`` with each step of changes from now on; gives what ends that.

        The calls come from threads of the job, one after the other; an exception fails the job, and a
        slow callback slows it down.
        """
        if not callable(callback):
            raise TypeError(f"view {self.name!r}: got {callback!r}; expected a callable of changes")
        with self._delivery:
            self._subscribers.append(callback)

        def unsubscribe() -> None:
            with self._delivery:
                if callback in self._subscribers:
                    self._subscribers.remove(callback)

        return unsubscribe

    def wait_for(
        self, condition: Callable[[UpsertView], object], timeout_s: float | None = None
    ) -> bool:
        """Wait until ``condition`` holds for the view; False: it did not in that time."""
        with self._changed:
            return bool(self._changed.wait_for(lambda: condition(self), timeout_s))

    def to_arrow(self) -> pa.Table:
        """The values as a table: of a declared type with fields a column each, else ``key`` and ``value``."""
        kept = self.snapshot()
        layout = None if self._type_info is None else layout_of(self._type_info)
        if layout is not None and layout.names != ("value",):
            return pa.Table.from_batches([view_of(layout.run_of(list(kept.values())))])
        try:
            return pa.table({"key": pa.array(list(kept)), "value": pa.array(list(kept.values()))})
        except (pa.ArrowException, TypeError) as error:
            raise TypeError(
                f"view {self.name!r}: its values have no common Arrow type ({error}); declare the "
                f"stream's type, or make a table of snapshot() yourself"
            ) from error

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def close(self) -> None:
        """Let nothing be changed any more; what is there stays."""
        with self._delivery:
            self._closed = True
            self._subscribers.clear()

    def take(self, subtask: int, changes: Sequence[Change]) -> None:
        """Make changes; called by the job's own threads."""
        del subtask
        updated: dict[Any, Any] = {}
        deleted: set[Any] = set()
        for change in changes:
            key = change[0]
            if len(change) == _GONE:
                updated.pop(key, None)
                deleted.add(key)
            else:
                updated[key] = change[1]
                deleted.discard(key)
        # Held for the calls, too: subscribers hear of changes in the order in which they are made.
        with self._delivery:
            if self._closed:
                return
            with self._changed:
                for key in deleted:
                    self._values.pop(key, None)
                self._values.update(updated)
                self._version += 1
                self._changed.notify_all()
            for callback in list(self._subscribers):
                callback(ViewChanges(updated, frozenset(deleted)))

    def __getitem__(self, key: Any) -> Any:
        with self._changed:
            return self._values[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.snapshot())

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        with self._changed:
            return key in self._values

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<UpsertView {self.name!r} of {len(self)} keys, version {self.version}>"

    def __reduce__(self) -> Any:
        raise TypeError(
            f"view {self.name!r}: belongs to the program and cannot be used in functions of the job"
        )
