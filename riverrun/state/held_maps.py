"""Map states whose maps are there as they are, so that a run of records can work on those of many keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any


class HeldMaps(ABC):
    """A map state that gives out its maps themselves, whatever key is current."""

    __slots__ = ()

    @abstractmethod
    def maps(self) -> tuple[Callable[[Any], dict[Any, Any] | None], dict[Any, dict[Any, Any]]]:
        """How to find the map of a key, and where to put or remove one, until the run is over.

        What is found may be changed, but is not to be left empty.
        """

    @abstractmethod
    def note(self, keys: Iterable[Any]) -> None:
        """The maps of these keys were changed, put or removed."""
