"""What a connector that does not conform is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from riverrun.core.short_repr import short_repr

_SHOWN: Final = 5


class NotConforming(AssertionError):  # noqa: N818
    """A connector lost, repeated or invented records; the message has the steps that led there."""


def difference(expected: Iterable[Any], found: Iterable[Any]) -> str | None:
    """In what ``found`` differs, in any order; records that cannot be hashed are compared by their repr.

    >>> difference([1, 2, 2], [2, 1, 2]) is None
    True
    >>> difference([1, 2], [2, 2])
    '1 lost: 1; 1 too many: 2'
    """
    wanted, there = Counter(map(_hashable, expected)), Counter(map(_hashable, found))
    parts = [
        f"{sum(each.values())} {what}: {_shown(list(each.elements()))}"
        for what, each in (("lost", wanted - there), ("too many", there - wanted))
        if each
    ]
    return "; ".join(parts) or None


def not_conforming(what: str, steps: Sequence[str]) -> NotConforming:
    """The error, with the steps."""
    return NotConforming("\n".join([what, "after these steps:", *(f"  {each}" for each in steps)]))


def _shown(values: list[Any]) -> str:
    rest = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return ", ".join(short_repr(value) for value in values[:_SHOWN]) + rest


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value
