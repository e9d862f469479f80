"""How values are folded into what a state holds: by a reduce function or by an aggregate function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Reducing:
    """The first value is what is held; ``reduce(held, value)`` takes in each further one."""

    reduce: Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Aggregating:
    """``create()`` is what is held at first; ``add(value, held)`` takes in each value."""

    create: Callable[[], Any]
    add: Callable[[Any, Any], Any]


Folding: TypeAlias = Reducing | Aggregating


def fold_one(folding: Folding, held: Any, value: Any) -> Any:
    """What is held once ``value`` is taken in; None stands for nothing, before and after.

    >>> fold_one(Reducing(max), None, 3), fold_one(Aggregating(int, lambda v, n: n + v), 4, 3)
    (3, 7)
    """
    if isinstance(folding, Reducing):
        return value if held is None else folding.reduce(held, value)
    return folding.add(value, folding.create() if held is None else held)
