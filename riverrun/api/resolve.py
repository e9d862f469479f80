"""From what a user passed (a function object or a plain callable) to the bare callable.

The result is called once per record, so it is the user's own code and nothing around it: the bound
method of a function object, or the callable itself. A wrong kind of object is a TypeError here, when
the program is built, not later in a worker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from riverrun.api.function import Function
from riverrun.api.functions import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)

Callable1: TypeAlias = Callable[[Any], Any]
Callable2: TypeAlias = Callable[[Any, Any], Any]


def map_callable(fn: MapFunction | Callable1) -> Callable1:
    """What to call with a record to get the record that follows from it."""
    return fn.map if isinstance(fn, MapFunction) else _plain(fn, MapFunction)


def flat_map_callable(fn: FlatMapFunction | Callable1) -> Callable1:
    """What to call with a record to get an iterable of records, or None."""
    return fn.flat_map if isinstance(fn, FlatMapFunction) else _plain(fn, FlatMapFunction)


def filter_callable(fn: FilterFunction | Callable1) -> Callable1:
    """What to call with a record to learn whether it stays."""
    return fn.filter if isinstance(fn, FilterFunction) else _plain(fn, FilterFunction)


def reduce_callable(fn: ReduceFunction | Callable2) -> Callable2:
    """What to call with the value so far and the next record to get the next value."""
    return fn.reduce if isinstance(fn, ReduceFunction) else _plain(fn, ReduceFunction)


def key_callable(fn: KeySelector | Callable1) -> Callable1:
    """What to call with a record to get its key."""
    return fn.get_key if isinstance(fn, KeySelector) else _plain(fn, KeySelector)


def partition_callable(fn: Partitioner | Callable2) -> Callable2:
    """What to call with a key and the number of subtasks to get the index of one."""
    return fn.partition if isinstance(fn, Partitioner) else _plain(fn, Partitioner)


def lifecycle(fn: object) -> Function | None:
    """The function object behind ``fn`` whose ``open`` and ``close`` must be called, if there is one.

    A bound method of a function object counts as that object.
    """
    owner = getattr(fn, "__self__", fn)
    return owner if isinstance(owner, Function) else None


def _plain(fn: Any, wanted: type[Function]) -> Callable[..., Any]:
    kind = wanted.__name__
    if isinstance(fn, type) and issubclass(fn, Function):
        raise TypeError(
            f"expected a {kind} object or a callable, got the class {fn.__name__}; "
            f"pass an instance of it: {fn.__name__}(...)"
        )
    if isinstance(fn, Function):
        raise TypeError(f"expected a {kind} object or a callable, got a {_kind_of(fn)}: {fn!r}")
    if not callable(fn):
        raise TypeError(
            f"expected a {kind} object or a callable, got {fn!r} of type {type(fn).__name__}"
        )
    return fn  # type: ignore[no-any-return]  # callable(), as far as mypy can follow it


def _kind_of(fn: Function) -> str:
    for base in type(fn).__mro__:
        if base.__module__.startswith("riverrun.api."):
            return base.__name__
    return type(fn).__name__
