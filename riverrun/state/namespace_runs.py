"""Work on many keys of a namespaced value state at once, as windows do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from riverrun.api.state import ValueState
from riverrun.state.folding import Folding, fold_one
from riverrun.state.immutable import ATOMS, copy_of

Piece: TypeAlias = tuple[Any, Sequence[Any], Sequence[Any]]
"""A namespace, keys in it, and a value for each key; a key may come more than once."""


class NamespaceRuns(ABC):
    """A namespaced value state, many keys at a time, whatever key is current.

    Values that are given out still belong to the state, unless they were taken: they must not be
    changed.
    """

    __slots__ = ()

    @abstractmethod
    def fold_in(self, pieces: Iterable[Piece], folding: Folding) -> list[list[Any]]:
        """Fold each value into what its key holds in the namespace.

        Returns:
            For each piece the keys that held nothing before, each at least once.
        """

    @abstractmethod
    def values_in(self, namespace: Any, keys: Sequence[Any]) -> list[Any]:
        """What each key holds in the namespace; None where it holds nothing."""

    @abstractmethod
    def take_in(self, namespace: Any, keys: Sequence[Any]) -> list[Any]:
        """What each key holds in the namespace, removed; keys are different from each other."""

    @abstractmethod
    def drop_in(self, namespace: Any, keys: Iterable[Any]) -> None:
        """Remove what each key holds in the namespace."""

    def merge_in(
        self,
        namespaces: Iterable[Any],
        keys: Sequence[Any],
        merge: Callable[[Any, Any], Any],
    ) -> dict[Any, Any]:
        """What each key holds in all the namespaces, merged in their order.

        ``merge`` may change what it is given: it gets copies. Keys are different from each other;
        those that hold nothing are left out.
        """
        out: dict[Any, Any] = {}
        for namespace in namespaces:
            for key, held in zip(keys, self.values_in(namespace, keys), strict=True):
                if held is not None:
                    merge_into(out, key, held, merge)
        return out


def merge_into(
    merged: dict[Any, Any], key: Any, held: Any, merge: Callable[[Any, Any], Any]
) -> None:
    """Merge a copy of ``held`` with what ``merged`` has of ``key``."""
    given = held if type(held) in ATOMS else copy_of(held)
    before = merged.get(key)
    merged[key] = given if before is None else merge(before, given)


class _HasCurrent(Protocol):
    key: Any
    namespace: Any


class OneByOne(NamespaceRuns):
    """The same for any state object, by making each key and namespace current in turn."""

    __slots__ = ("_backend", "_state")

    def __init__(self, backend: _HasCurrent, state: ValueState[Any]) -> None:
        self._backend, self._state = backend, state

    def fold_in(self, pieces: Iterable[Piece], folding: Folding) -> list[list[Any]]:
        backend, state = self._backend, self._state
        current = backend.key, backend.namespace
        out = []
        for namespace, keys, values in pieces:
            backend.namespace = namespace
            fresh = []
            for key, value in zip(keys, values, strict=True):
                backend.key = key
                held = state.value()
                if held is None:
                    fresh.append(key)
                state.update(fold_one(folding, held, value))
            out.append(fresh)
        backend.key, backend.namespace = current
        return out

    def values_in(self, namespace: Any, keys: Sequence[Any]) -> list[Any]:
        backend, state = self._backend, self._state
        current = backend.key, backend.namespace
        backend.namespace = namespace
        out = []
        for key in keys:
            backend.key = key
            out.append(state.value())
        backend.key, backend.namespace = current
        return out

    def take_in(self, namespace: Any, keys: Sequence[Any]) -> list[Any]:
        found = self.values_in(namespace, keys)
        self.drop_in(namespace, keys)
        return found

    def drop_in(self, namespace: Any, keys: Iterable[Any]) -> None:
        backend, state = self._backend, self._state
        current = backend.key, backend.namespace
        backend.namespace = namespace
        for key in keys:
            backend.key = key
            state.clear()
        backend.key, backend.namespace = current
