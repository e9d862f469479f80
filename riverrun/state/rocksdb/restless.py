"""Whether what one checkpoint writes changes again before the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

_LOOKED_AT: Final = 256
"""Entries that are looked at again: all are taken to be like them."""
_SHARE: Final = 4
"""When one of so many has changed, rows are not worth while: one costs more than so many places in a file."""


class Restless:
    """Remembers some of the entries that a checkpoint wrote, to see at the next one what became of them.

    A value that was replaced by the very same object counts as one that stayed.
    """

    __slots__ = ("_before", "_turn")

    def __init__(self) -> None:
        self._before: list[tuple[Any, Any]] = []
        self._turn = 0

    def are(self, cache: Mapping[Any, Any], changed: AbstractSet[Any]) -> bool:
        """Whether at least a quarter of what was remembered has changed since; not if there is nothing."""
        again = sum(
            address in changed and cache.get(address) is not value
            for address, value in self._before
        )
        return 0 < len(self._before) <= _SHARE * again

    def remember(self, addresses: Sequence[Any], cache: Mapping[Any, Any]) -> None:
        """Remember some entries out of all parts of ``addresses``, each time others."""
        step = max(1, len(addresses) // _LOOKED_AT)
        self._turn += 1
        some = addresses[self._turn % step :: step]
        self._before = [(address, cache.get(address)) for address in some]
