"""Whether two runs of a program gave the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from riverrun.core.short_repr import short_repr

_SHOWN: Final = 5


def difference(expected: Sequence[Any], found: Sequence[Any], *, may_repeat: bool) -> str | None:
    """What ``found`` has too little or too much; ``None`` when it has the same values, in any order.

    With ``may_repeat`` too much is fine.

    >>> difference(["a", "b", "b"], ["b", "a", "b"], may_repeat=False)
    >>> difference(["a", "b"], ["b", "b"], may_repeat=False)
    "1 value missing: 'a'; 1 value too many: 'b'"
    """
    missing, extra = _compared(expected, found)
    parts = []
    if missing:
        parts.append(f"{_count(missing)} missing: {_some(missing)}")
    if extra and not may_repeat:
        parts.append(f"{_count(extra)} too many: {_some(extra)}")
    return "; ".join(parts) or None


def _compared(expected: Sequence[Any], found: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    try:
        wanted, had = Counter(expected), Counter(found)
    except TypeError:  # a value that cannot be hashed
        return _without(expected, found), _without(found, expected)
    return list((wanted - had).elements()), list((had - wanted).elements())


def _without(values: Sequence[Any], others: Iterable[Any]) -> list[Any]:
    left = list(values)
    for other in others:
        if other in left:
            left.remove(other)
    return left


def _count(values: list[Any]) -> str:
    return f"{len(values)} value{'' if len(values) == 1 else 's'}"


def _some(values: list[Any]) -> str:
    shown = ", ".join(short_repr(value) for value in values[:_SHOWN])
    return shown + (", ..." if len(values) > _SHOWN else "")
