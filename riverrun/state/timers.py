"""Timers of one subtask, by the time at which they are due.

A timer is a (time, key, namespace) triple; the same triple twice is one timer. A backend gives queues by
name (``KeyedStateBackend.timers``) and makes them part of its snapshots, by key group like all keyed state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from operator import index
from typing import Any, Final, TypeAlias

from riverrun.core.errors import ProgramError
from riverrun.protocol.snapshots import StateKind, StateMeta
from riverrun.serde.evolution import type_to_json
from riverrun.serde.type_info import TypeInformation
from riverrun.state.schema import StateSchema

DueTimers: TypeAlias = tuple[int, list[tuple[Any, Any]]]
"""A time, and the (key, namespace) pairs whose timers are due then."""


EARLIEST: Final = -(1 << 63)
LATEST: Final = (1 << 63) - 1
"""The last time that a timer can have; ``EARLIEST`` is the first."""


def timers_schema(name: str, key_type: TypeInformation | None) -> StateSchema:
    """The schema of the timers called ``name``; their namespace is the pair of time and namespace."""
    types = {} if key_type is None else {"key": type_to_json(key_type)}
    return StateSchema(StateMeta(name, StateKind.TIMERS, types, namespaced=True), key_type)


def checked_time(time: Any) -> int:
    """``time`` as a plain number.

    Raises:
        ProgramError: it is none, or does not fit 64 bits.
    """
    try:
        number = index(time)
    except TypeError:
        number = LATEST + 1
    if not EARLIEST <= number <= LATEST:
        raise ProgramError(
            f"timer for {time!r}: expected whole milliseconds since the Unix epoch between {EARLIEST} "
            f"and {LATEST}; round the time to an int"
        )
    return number


class TimerQueue(ABC):
    """Timers of one clock; nothing is ever scanned to find the next one."""

    __slots__ = ()

    @abstractmethod
    def add(self, time: int, key: Any, namespace: Any) -> None:
        """Set a timer; nothing changes if there is such a one.

        Raises:
            ProgramError: ``time`` is no number of 64 bits.
        """

    def add_all(self, time: int, keys: Iterable[Any], namespace: Any) -> None:
        """Set a timer of the same time and namespace for each key."""
        for key in keys:
            self.add(time, key, namespace)

    @abstractmethod
    def remove(self, time: int, key: Any, namespace: Any) -> None:
        """Forget a timer; nothing changes if there is none."""

    @abstractmethod
    def next_time(self) -> int | None:
        """When the earliest timer is due; ``None``: there are no timers."""

    @abstractmethod
    def take(self, until: int) -> DueTimers | None:
        """Remove and give all timers of the earliest time, if it is not after ``until``.

        The caller goes on until it gets ``None``: a timer set meanwhile for a time up to ``until`` is
        given too, in its turn.
        """

    @abstractmethod
    def __len__(self) -> int:
        """How many timers are set."""
