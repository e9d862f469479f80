"""Runs as bytes, in Python: what the compiled loops do, and what runs without them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, Final

_PROTOCOL: Final = 5
_PLAIN: Final = frozenset({bool, bytes, float, int, str, type(None)})


def encode(values: list[Any]) -> bytes | None:
    """The values as one pickle; None where they are not plain.

    Such a pickle does not remember what it holds already, which takes half the time. Worth it where values
    have no parts in common, as plain ones have not.
    """
    if not values or not is_plain(values[0]):
        return None
    data = io.BytesIO()
    pickler = pickle.Pickler(data, _PROTOCOL)
    pickler.fast = True
    try:
        pickler.dump(values)
    except (pickle.PicklingError, AttributeError, TypeError, ValueError, RecursionError):
        return None  # the usual way can do more, or says what is wrong
    return data.getvalue()


def decode(data: bytes | memoryview) -> list[Any] | None:
    """The values that ``encode`` was given; None where it is for the pickle module to read them."""
    del data
    return None


class Shape:
    """How records of a type are plain values.

    Attributes:
        cls: The class of the records: tuple, a named tuple's, or one whose instances are their fields. None: they
            have no fields.
        names: Those of the fields; None where they are the items of a tuple, or of a list.
        kinds: A letter a field: b, h, i and q for whole numbers of 8 to 64 bits, d for floats, s for text, y for
            bytes, ? for booleans, p for anything plain; of a tuple those of its parts, in parentheses. Each may be
            None.
        listed: The attribute that is this list, if there is one.
        fixed: Attributes that such records have beside it: the name, what it gets, and what it may be, too, when a
            record is written.
    """

    __slots__ = ("cls", "fixed", "kinds", "listed", "names")

    def __init__(
        self,
        cls: type[Any] | None,
        names: tuple[str, ...] | None,
        kinds: str,
        listed: str | None = None,
        fixed: tuple[tuple[str, Any, Any], ...] = (),
    ) -> None:
        self.cls = cls
        self.names = names
        self.kinds = kinds
        self.listed = listed
        self.fixed = fixed


def encode_shaped(values: list[Any], shape: Shape) -> bytes | None:
    """The values as one pickle of plain values, after a mark; None where one of them has another shape.

    Without a compiler nothing is gained: here there is always another way.
    """
    del values, shape
    return None


def decode_shaped(data: bytes | memoryview, shape: Shape) -> list[Any]:
    """The values that ``encode_shaped`` was given; the compiled one returns None where it cannot tell."""
    values: list[Any] = pickle.loads(memoryview(data)[1:])
    cls, names = shape.cls, shape.names
    if cls is None or cls is tuple:
        return values
    if shape.listed is not None:
        fixed = [(name, value) for name, value, _ in shape.fixed]
        return [_filled(cls, [(shape.listed, list(parts)), *fixed]) for parts in values]
    if names is not None:
        return [_filled(cls, zip(names, parts, strict=True)) for parts in values]
    return list(map(tuple.__new__, repeat(cls), values))


def _filled(cls: type[Any], attributes: Iterable[tuple[str, Any]]) -> Any:
    record = object.__new__(cls)
    for name, value in attributes:
        object.__setattr__(record, name, value)
    return record


def is_plain(value: Any) -> bool:
    """Whether a value is one of a type that has no parts of the user's making, or a tuple of such."""
    kind = type(value)
    return kind in _PLAIN or (kind is tuple and _PLAIN.issuperset(map(type, value)))


class Writer:
    """A run for one consumer, written while its records are shared out.

    Attributes:
        count: How many records it has.
    """

    __slots__ = ("count",)

    def __init__(self, shape: Shape | None = None) -> None:  # noqa: ARG002  (the shape of all its records, if they have one)
        self.count = 0

    def take(self) -> tuple[bytes, bytes | None] | None:
        """The values as one pickle, and the times, if they have any, as 64-bit numbers in a row; the next run begins.

        None where nothing was written.
        """
        return None


def share_written(
    writers: tuple[Writer, ...],
    owners: Mapping[Any, int],
    keys: Sequence[Any],
    values: Sequence[Any],
    times: Sequence[int] | None,
    by_group: bytes | None,
) -> int:
    """Write records for the owners of their keys, up to the first that is large or not plain; how many.

    As ``share``, but a record is written while it is in the CPU's caches, and may be gone right afterwards. All runs
    that writers have at a time have times, or none has. Without a compiler nothing is gained: here none is written.
    """
    del writers, owners, keys, values, times, by_group
    return 0
