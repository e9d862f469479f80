"""When an entry is over, and the search for those that are.

With TTL every value, element and value of a map is stored as ``(value, time of last use in ms)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from riverrun.api.state import StateDescriptor
from riverrun.api.state_ttl import StateTtlConfig
from riverrun.core.clock import Clock
from riverrun.protocol.snapshots import StateKind
from riverrun.state.schema import MAPS


class TtlRules:
    """The settings of one state and the clock, as the state needs them.

    Attributes:
        ttl_ms: How long an entry lives after its last use.
        renew_on_read: Whether reading makes an entry young again.
        show_expired: Whether an expired entry that is still there can be seen.
        in_full_snapshot: Whether full snapshots leave expired entries out.
        cleanup: How a backend in memory looks for expired entries; None if it must not.
    """

    def __init__(self, descriptor: StateDescriptor, clock: Clock) -> None:
        config = descriptor.ttl_config
        if config is None:
            raise ValueError(f"state {descriptor.name!r} has no TTL")
        strategies = config.get_cleanup_strategies()
        self.ttl_ms = config.ttl_ms
        self._kind = descriptor.kind
        self.now: Callable[[], int] = clock.now
        self.renew_on_read = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        self.show_expired = (
            config.get_state_visibility()
            is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        )
        self.in_full_snapshot = strategies.in_full_snapshot()
        self.cleanup = strategies.get_incremental_cleanup_strategy()

    def expired(self, pair: tuple[Any, int]) -> bool:
        """Whether the pair's time is over."""
        return pair[1] + self.ttl_ms <= self.now()

    def pruner(self) -> Callable[[Any], Any]:
        """A function that gives what is alive now of a stored value: the same object, less, or None."""
        cutoff = self.now() - self.ttl_ms

        def prune_pair(pair: tuple[Any, int]) -> Any:
            return pair if pair[1] > cutoff else None

        def prune_list(pairs: list[tuple[Any, int]]) -> Any:
            alive = [pair for pair in pairs if pair[1] > cutoff]
            return pairs if len(alive) == len(pairs) else alive or None

        def prune_map(entries: dict[Any, tuple[Any, int]]) -> Any:
            alive = {key: pair for key, pair in entries.items() if pair[1] > cutoff}
            return entries if len(alive) == len(entries) else alive or None

        if self._kind is StateKind.LIST:
            return prune_list
        return prune_map if self._kind in MAPS else prune_pair

    def oldest(self, stored: Any) -> int:
        """The earliest time in a stored value."""
        pairs = [stored]
        if self._kind is StateKind.LIST:
            pairs = stored
        elif self._kind in MAPS:
            pairs = stored.values()
        found: int = min(time for _, time in pairs)
        return found


class Swept(Protocol):
    """A state whose expired entries are looked for."""

    def stored(self) -> Iterator[tuple[Any, Any]]:
        """Addresses and stored values; the state may change while one goes through them."""

    def replace(self, address: Any, value: Any) -> None:
        """Put a stored value."""

    def drop(self, address: Any) -> None:
        """Remove the entry."""


class Sweeper:
    """Goes through a state a few entries at a time, round and round, and removes what is expired.

    After a round it rests until the oldest entry that it left can be expired.
    """

    def __init__(self, swept: Swept, rules: TtlRules, size: int) -> None:
        self._swept = swept
        self._rules = rules
        self._size = size
        self._round: Iterator[tuple[Any, Any]] | None = None
        self._oldest = 0
        self._rest_until = 0

    def step(self, times: int = 1) -> None:
        """Look at the next few entries, ``times`` as many."""
        rules = self._rules
        now = rules.now()
        if now < self._rest_until:
            return
        if self._round is None:
            # What is written from now on is younger than the round.
            self._round, self._oldest = self._swept.stored(), now
        prune = rules.pruner()
        for _ in range(self._size * times):
            found = next(self._round, None)
            if found is None:
                self._round, self._rest_until = None, self._oldest + rules.ttl_ms
                return
            address, stored = found
            left = prune(stored)
            if left is None:
                self._swept.drop(address)
                continue
            if left is not stored:
                self._swept.replace(address, left)
            self._oldest = min(self._oldest, rules.oldest(left))
