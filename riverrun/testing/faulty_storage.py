"""A store that fails when a test wants it to: before, after or in the middle of an operation, or slowly."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from riverrun.storage.storage import Storage, StorageError

T = TypeVar("T")

OperationKind: TypeAlias = Literal[
    "write",
    "upload",
    "read",
    "download",
    "exists",
    "list",
    "sizes",
    "delete",
    "delete_folder",
    "sweep",
]


class Fault(Enum):
    """What happens to one operation."""

    NONE = auto()
    ERROR_BEFORE = auto()
    """Nothing is done, and StorageError says so."""
    ERROR_AFTER = auto()
    """All is done, and StorageError claims the opposite."""
    PARTIAL = auto()
    """Half of it is done. ``write``, ``upload`` and ``delete`` raise StorageError with half of the bytes in
    place or half of the files gone; ``read`` and ``download`` give half of the bytes without a word; any
    other is ERROR_BEFORE."""
    SLOW = auto()
    """It is done after ``slow`` of the store has returned."""


@dataclass(frozen=True, slots=True)
class StorageOperation:
    """One call of a store's method."""

    number: int
    """How many calls there were before it."""
    kind: OperationKind
    location: str
    """What it was called with; the first of several."""


FaultPlan: TypeAlias = Callable[[StorageOperation], Fault]
"""Decides about each operation; called once for each, in the order of their numbers."""


def no_faults(_: StorageOperation) -> Fault:
    """The plan under which all goes well."""
    return Fault.NONE


def fault_at(number: int, fault: Fault = Fault.ERROR_BEFORE) -> FaultPlan:
    """The plan that lets one operation fail; call a job with 0, 1, 2 ... to try every place."""

    def plan(operation: StorageOperation) -> Fault:
        return fault if operation.number == number else Fault.NONE

    return plan


def random_faults(seed: int, rate: float, faults: Iterable[Fault] = tuple(Fault)[1:]) -> FaultPlan:
    """The plan that lets each operation fail with probability ``rate``, in one of the ways ``faults``."""
    chance = random.Random(seed)  # noqa: S311  (has to be repeatable)
    kinds = tuple(faults)

    def plan(_: StorageOperation) -> Fault:
        return chance.choice(kinds) if chance.random() < rate else Fault.NONE

    return plan


class FaultyStorage:
    """Passes every call on to ``storage``, but for the faults that ``plan`` decides on.

    >>> from riverrun.storage.memory import MemoryStorage
    >>> store = FaultyStorage(MemoryStorage(), fault_at(1))
    >>> store.write("a", b"1")
    >>> store.read("a")
    Traceback (most recent call last):
    riverrun.storage.storage.StorageError: read 'a': the test wants it to fail: ERROR_BEFORE
    >>> store.read("a")
    b'1'
    >>> [operation.kind for operation in store.operations]
    ['write', 'read', 'read']
    """

    def __init__(
        self,
        storage: Storage,
        plan: FaultPlan = no_faults,
        *,
        slow: Callable[[StorageOperation], None] = lambda _: None,
    ) -> None:
        """``slow`` is called, and waited for, before an operation that the plan calls SLOW."""
        self.plan = plan
        """May be changed at any time."""
        self.operations: list[StorageOperation] = []
        """All calls so far, also those that failed."""
        self._storage = storage
        self._slow = slow
        self._lock = threading.Lock()

    def write(self, location: str, data: bytes | memoryview, *, new: bool = False) -> None:
        half = memoryview(data).cast("B")
        half = half[: len(half) // 2]
        self._do(
            "write",
            location,
            lambda: self._storage.write(location, data, new=new),
            lambda: self._storage.write(location, half, new=new),
        )

    def upload(self, source: Path, location: str) -> None:
        def half() -> None:
            data = source.read_bytes()
            self._storage.write(location, data[: len(data) // 2])

        self._do("upload", location, lambda: self._storage.upload(source, location), half)

    def read(self, location: str) -> bytes:
        def half() -> bytes:
            data = self._storage.read(location)
            return data[: len(data) // 2]

        return self._do("read", location, lambda: self._storage.read(location), half, silent=True)

    def download(self, location: str, target: Path) -> None:
        def half() -> None:
            data = self._storage.read(location)
            target.write_bytes(data[: len(data) // 2])

        whole = partial(self._storage.download, location, target)
        self._do("download", location, whole, half, silent=True)

    def exists(self, location: str) -> bool:
        return self._do("exists", location, lambda: self._storage.exists(location))

    def list(self, folder: str) -> list[str]:
        return self._do("list", folder, lambda: self._storage.list(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        return self._do("sizes", folder, lambda: self._storage.sizes(folder))

    def delete(self, locations: Iterable[str]) -> None:
        all_of_them = tuple(locations)
        half = all_of_them[: len(all_of_them) // 2]
        self._do(
            "delete",
            next(iter(all_of_them), ""),
            lambda: self._storage.delete(all_of_them),
            lambda: self._storage.delete(half),
        )

    def delete_folder(self, folder: str) -> None:
        self._do("delete_folder", folder, lambda: self._storage.delete_folder(folder))

    def sweep(self, folder: str, older_than_s: float) -> int:
        return self._do("sweep", folder, lambda: self._storage.sweep(folder, older_than_s))

    def _do(
        self,
        kind: OperationKind,
        location: str,
        whole: Callable[[], T],
        half: Callable[[], T] | None = None,
        *,
        silent: bool = False,
    ) -> T:
        with self._lock:
            operation = StorageOperation(len(self.operations), kind, location)
            self.operations.append(operation)
            fault = self.plan(operation)
        if fault is Fault.SLOW:
            self._slow(operation)
        if fault in {Fault.NONE, Fault.SLOW}:
            return whole()
        if fault is Fault.ERROR_AFTER:
            whole()
        if fault is Fault.PARTIAL and half is not None:
            result = half()
            if silent:
                return result
        raise StorageError(f"{kind} {location!r}: the test wants it to fail: {fault.name}")
