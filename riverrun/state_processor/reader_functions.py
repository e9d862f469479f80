"""What users write to read the state of keys."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from riverrun.api.function import Function


class KeyedStateReaderFunction(Function):
    """Reads the states of each key: ``open`` asks for them, ``read_key`` is called for each key.

    The function is called with every key that has an entry in one of the states that it asked for.
    """

    class Context:
        """What a key has beside its states."""

        def registered_event_time_timers(self) -> set[int]:
            """The times, in milliseconds, of the key's timers by event time."""
            raise NotImplementedError

        def registered_processing_time_timers(self) -> set[int]:
            """The times, in milliseconds, of the key's timers by the wall clock."""
            raise NotImplementedError

    @abstractmethod
    def read_key(self, key: Any, ctx: Context) -> Iterable[Any] | None:
        """Give what the key is to be in the result: ``yield`` as many values as you like."""
