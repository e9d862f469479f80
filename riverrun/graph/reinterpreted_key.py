"""Keys of a stream that the program says is partitioned by them already.

Nothing was exchanged, so nothing made sure that a record is where its key belongs. Each subtask
therefore looks at the key group of every key that it meets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from riverrun.core.errors import ProgramError
from riverrun.core.short_repr import short_repr
from riverrun.graph.key_groups import group_range
from riverrun.serde.stable_hash import key_group

_REMEMBERED: Final = 100_000
"""So many keys are remembered as being in the right place."""


class MisplacedKey(ProgramError):  # noqa: N818
    """A record of a stream that was reinterpreted as keyed is in the wrong subtask."""

    def __init__(
        self, operator: str, key: str, found: tuple[int, int], own: tuple[int, int]
    ) -> None:
        super().__init__(operator, key, found, own)
        self.operator, self.key, self.found, self.own = operator, key, found, own

    def __str__(self) -> str:
        subtask, group = self.found
        return (
            f"operator {self.operator!r}: subtask {subtask} got a record with the key {self.key} of key "
            f"group {group}, but has the key groups {self.own[0]} to {self.own[1]}; a stream may only be "
            f"reinterpreted as keyed if it is partitioned by exactly this key with the same parallelism "
            f"and max parallelism; use key_by() instead"
        )


@dataclass(frozen=True, slots=True)
class ReinterpretedKey:
    """A key selector whose keys are checked in the subtask that asks for them."""

    select: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        return self.select(value)


@dataclass(frozen=True, slots=True)
class Place:
    """The subtask that asks."""

    operator: str
    subtask: int
    parallelism: int
    max_parallelism: int


def checked_in(place: Place, selector: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """``selector`` as the subtask uses it: with a check if the stream was reinterpreted."""
    if not isinstance(selector, ReinterpretedKey):
        return selector
    select = selector.select
    own = group_range(place.subtask, place.parallelism, place.max_parallelism)
    seen: set[Any] = set()

    def checked(value: Any) -> Any:
        key = select(value)
        if key not in seen:
            group = key_group(key, place.max_parallelism)
            if not own[0] <= group <= own[1]:
                raise MisplacedKey(place.operator, short_repr(key), (place.subtask, group), own)
            if len(seen) >= _REMEMBERED:
                seen.clear()
            seen.add(key)
        return key

    return checked
