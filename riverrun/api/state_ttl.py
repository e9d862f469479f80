"""How long state lives, and who removes what is over: PyFlink's ``StateTtlConfig``."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from enum import Enum
from typing import ClassVar, Final

from riverrun.core.time import Duration, DurationLike, Time, to_millis

__all__ = ["StateTtlConfig"]

_DEFAULT_CLEANUP_SIZE: Final = 5
_DEFAULT_QUERY_AFTER: Final = 1000
_DEFAULT_PERIODIC_COMPACTION: Final = Duration.of_days(30)


class _UpdateType(Enum):
    """What makes an entry young again."""

    Disabled = 0
    """Nothing ever expires."""
    OnCreateAndWrite = 1
    """Only writing."""
    OnReadAndWrite = 2
    """Writing and reading."""


class _StateVisibility(Enum):
    """Whether an expired entry that was not removed yet can be seen."""

    ReturnExpiredIfNotCleanedUp = 0
    """It can."""
    NeverReturnExpired = 1
    """It is as good as removed."""


class _TtlTimeCharacteristic(Enum):
    """Which clock tells the age of an entry."""

    ProcessingTime = 0
    """The wall clock of the machine."""


class _Strategies(Enum):
    """The ways to get rid of expired entries that nobody asks for."""

    FULL_STATE_SCAN_SNAPSHOT = 0
    INCREMENTAL_CLEANUP = 1
    ROCKSDB_COMPACTION_FILTER = 2


class _CleanupStrategy(ABC):  # noqa: B024  (a common name for the strategies, nothing more)
    """One way to get rid of expired entries."""


class _EmptyCleanupStrategy(_CleanupStrategy):
    """A strategy without parameters."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _EmptyCleanupStrategy)

    def __hash__(self) -> int:
        return hash(_EmptyCleanupStrategy)

    def __repr__(self) -> str:
        return "EmptyCleanupStrategy()"


class _IncrementalCleanupStrategy(_CleanupStrategy):
    """Looks at a few entries at each access to the state."""

    def __init__(self, cleanup_size: int, run_cleanup_for_every_record: int | bool) -> None:  # noqa: FBT001  (PyFlink's signature)
        if cleanup_size <= 0:
            raise ValueError(
                f"state TTL: incremental cleanup looks at {cleanup_size!r} entries at a time; "
                f"expected more than 0"
            )
        self._cleanup_size = cleanup_size
        self._run_cleanup_for_every_record = bool(run_cleanup_for_every_record)

    def get_cleanup_size(self) -> int:
        """How many entries are looked at each time."""
        return self._cleanup_size

    def run_cleanup_for_every_record(self) -> bool:
        """Whether each record triggers a look, also one that does not touch the state."""
        return self._run_cleanup_for_every_record

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _IncrementalCleanupStrategy):
            return NotImplemented
        return (self._cleanup_size, self._run_cleanup_for_every_record) == (
            other._cleanup_size,
            other._run_cleanup_for_every_record,
        )

    def __hash__(self) -> int:
        return hash((self._cleanup_size, self._run_cleanup_for_every_record))

    def __repr__(self) -> str:
        return (
            f"IncrementalCleanupStrategy({self._cleanup_size!r}, "
            f"{self._run_cleanup_for_every_record!r})"
        )


class _RocksdbCompactFilterCleanupStrategy(_CleanupStrategy):
    """Removes expired entries while RocksDB compacts its files."""

    def __init__(
        self,
        query_time_after_num_entries: int,
        periodic_compaction_time: DurationLike | None = None,
    ) -> None:
        self._query_time_after_num_entries = query_time_after_num_entries
        self._periodic_compaction_time = (
            _DEFAULT_PERIODIC_COMPACTION
            if periodic_compaction_time is None
            else Duration.of_millis(to_millis(periodic_compaction_time))
        )

    def get_query_time_after_num_entries(self) -> int:
        """After how many entries the clock is asked again."""
        return self._query_time_after_num_entries

    def get_periodic_compaction_time(self) -> Duration:
        """The age at which a file is compacted only to get rid of expired entries."""
        return self._periodic_compaction_time

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _RocksdbCompactFilterCleanupStrategy):
            return NotImplemented
        return (self._query_time_after_num_entries, self._periodic_compaction_time) == (
            other._query_time_after_num_entries,
            other._periodic_compaction_time,
        )

    def __hash__(self) -> int:
        return hash((self._query_time_after_num_entries, self._periodic_compaction_time))

    def __repr__(self) -> str:
        return (
            f"RocksdbCompactFilterCleanupStrategy({self._query_time_after_num_entries!r}, "
            f"{self._periodic_compaction_time!r})"
        )


class _CleanupStrategies:
    """Which strategies are in use; in the background each has a default."""

    EMPTY_STRATEGY: ClassVar[_EmptyCleanupStrategy] = _EmptyCleanupStrategy()

    Strategies = _Strategies
    CleanupStrategy = _CleanupStrategy
    EmptyCleanupStrategy = _EmptyCleanupStrategy
    IncrementalCleanupStrategy = _IncrementalCleanupStrategy
    RocksdbCompactFilterCleanupStrategy = _RocksdbCompactFilterCleanupStrategy

    def __init__(
        self,
        strategies: Mapping[_Strategies, _CleanupStrategy],
        is_cleanup_in_background: bool,  # noqa: FBT001  (PyFlink's signature)
    ) -> None:
        self._strategies = dict(strategies)
        self._is_cleanup_in_background = is_cleanup_in_background

    def is_cleanup_in_background(self) -> bool:
        """Whether backends remove expired entries by themselves."""
        return self._is_cleanup_in_background

    def in_full_snapshot(self) -> bool:
        """Whether full snapshots leave expired entries out."""
        return _Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

    def get_incremental_cleanup_strategy(self) -> _IncrementalCleanupStrategy | None:
        """How a backend in memory cleans up; None if it must not."""
        found = self._strategies.get(_Strategies.INCREMENTAL_CLEANUP)
        if isinstance(found, _IncrementalCleanupStrategy):
            return found
        if self._is_cleanup_in_background:
            return _IncrementalCleanupStrategy(
                _DEFAULT_CLEANUP_SIZE, run_cleanup_for_every_record=False
            )
        return None

    def get_rocksdb_compact_filter_cleanup_strategy(
        self,
    ) -> _RocksdbCompactFilterCleanupStrategy | None:
        """How a backend on disk cleans up; None if it must not."""
        found = self._strategies.get(_Strategies.ROCKSDB_COMPACTION_FILTER)
        if isinstance(found, _RocksdbCompactFilterCleanupStrategy):
            return found
        if self._is_cleanup_in_background:
            return _RocksdbCompactFilterCleanupStrategy(_DEFAULT_QUERY_AFTER)
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _CleanupStrategies):
            return NotImplemented
        return (self._strategies, self._is_cleanup_in_background) == (
            other._strategies,
            other._is_cleanup_in_background,
        )

    def __hash__(self) -> int:
        return hash((frozenset(self._strategies.items()), self._is_cleanup_in_background))

    def __repr__(self) -> str:
        found = {name.name: strategy for name, strategy in self._strategies.items()}
        return f"CleanupStrategies({found!r}, {self._is_cleanup_in_background!r})"


class _Builder:
    """Collects the settings of a ``StateTtlConfig``; each method gives the builder itself."""

    def __init__(self, ttl: DurationLike) -> None:
        self._ttl = ttl
        self._update_type = _UpdateType.OnCreateAndWrite
        self._state_visibility = _StateVisibility.NeverReturnExpired
        self._ttl_time_characteristic = _TtlTimeCharacteristic.ProcessingTime
        self._is_cleanup_in_background = True
        self._strategies: dict[_Strategies, _CleanupStrategy] = {}

    def set_update_type(self, update_type: _UpdateType) -> _Builder:
        """Set what makes an entry young again."""
        self._update_type = update_type
        return self

    def update_ttl_on_create_and_write(self) -> _Builder:
        """Entries become young again when they are written; the default."""
        return self.set_update_type(_UpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> _Builder:
        """Entries become young again when they are written or read."""
        return self.set_update_type(_UpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: _StateVisibility) -> _Builder:
        """Set whether expired entries that are still there can be seen."""
        self._state_visibility = state_visibility
        return self

    def return_expired_if_not_cleaned_up(self) -> _Builder:
        """Expired entries can be seen until they are removed."""
        return self.set_state_visibility(_StateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> _Builder:
        """Expired entries are never seen; the default."""
        return self.set_state_visibility(_StateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(
        self, ttl_time_characteristic: _TtlTimeCharacteristic
    ) -> _Builder:
        """Set the clock that ages are told by."""
        self._ttl_time_characteristic = ttl_time_characteristic
        return self

    def use_processing_time(self) -> _Builder:
        """Tell ages by the wall clock; the default."""
        return self.set_ttl_time_characteristic(_TtlTimeCharacteristic.ProcessingTime)

    def cleanup_full_snapshot(self) -> _Builder:
        """Leave expired entries out of full snapshots."""
        self._strategies[_Strategies.FULL_STATE_SCAN_SNAPSHOT] = _CleanupStrategies.EMPTY_STRATEGY
        return self

    def cleanup_incrementally(
        self,
        cleanup_size: int,
        run_cleanup_for_every_record: bool,  # noqa: FBT001  (PyFlink's signature)
    ) -> _Builder:
        """Look at ``cleanup_size`` entries at each access, and for each record if so wanted."""
        self._strategies[_Strategies.INCREMENTAL_CLEANUP] = _IncrementalCleanupStrategy(
            cleanup_size, run_cleanup_for_every_record
        )
        return self

    def cleanup_in_rocksdb_compact_filter(
        self,
        query_time_after_num_entries: int,
        periodic_compaction_time: DurationLike | None = None,
    ) -> _Builder:
        """Remove expired entries when the backend compacts its files."""
        self._strategies[_Strategies.ROCKSDB_COMPACTION_FILTER] = (
            _RocksdbCompactFilterCleanupStrategy(
                query_time_after_num_entries, periodic_compaction_time
            )
        )
        return self

    def disable_cleanup_in_background(self) -> _Builder:
        """Remove expired entries only by the strategies that were named."""
        self._is_cleanup_in_background = False
        return self

    def set_ttl(self, ttl: DurationLike) -> _Builder:
        """Set how long entries live."""
        self._ttl = ttl
        return self

    def build(self) -> StateTtlConfig:
        """The configuration as set up to now."""
        return StateTtlConfig(
            self._update_type,
            self._state_visibility,
            self._ttl_time_characteristic,
            self._ttl,
            _CleanupStrategies(self._strategies, self._is_cleanup_in_background),
        )


class StateTtlConfig:
    """How long the entries of a state live: values, list elements and map entries each by themselves.

    >>> ttl = StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build()
    >>> ttl.ttl_ms, ttl.get_update_type().name
    (3600000, 'OnReadAndWrite')
    """

    UpdateType = _UpdateType
    StateVisibility = _StateVisibility
    TtlTimeCharacteristic = _TtlTimeCharacteristic
    CleanupStrategies = _CleanupStrategies
    Builder = _Builder

    def __init__(
        self,
        update_type: _UpdateType,
        state_visibility: _StateVisibility,
        ttl_time_characteristic: _TtlTimeCharacteristic,
        ttl: DurationLike,
        cleanup_strategies: _CleanupStrategies,
    ) -> None:
        self.ttl_ms: Final = to_millis(ttl)
        if self.ttl_ms <= 0:
            raise ValueError(f"state TTL: entries live for {self.ttl_ms} ms; expected more than 0")
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: DurationLike) -> _Builder:
        """A builder with the defaults: entries are renewed by writing and never seen when expired."""
        return _Builder(ttl)

    def get_update_type(self) -> _UpdateType:
        """What makes an entry young again."""
        return self._update_type

    def get_state_visibility(self) -> _StateVisibility:
        """Whether expired entries that are still there can be seen."""
        return self._state_visibility

    def get_ttl(self) -> Time:
        """How long entries live."""
        return Time.milliseconds(self.ttl_ms)

    def get_ttl_time_characteristic(self) -> _TtlTimeCharacteristic:
        """The clock that ages are told by."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Whether anything expires at all."""
        return self._update_type is not _UpdateType.Disabled

    def get_cleanup_strategies(self) -> _CleanupStrategies:
        """Who removes expired entries."""
        return self._cleanup_strategies

    def _facts(self) -> tuple[object, ...]:
        return (
            self._update_type,
            self._state_visibility,
            self._ttl_time_characteristic,
            self.ttl_ms,
            self._cleanup_strategies,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StateTtlConfig) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def __repr__(self) -> str:
        return (
            f"StateTtlConfig(ttl={self.ttl_ms} ms, update_type={self._update_type.name}, "
            f"state_visibility={self._state_visibility.name}, "
            f"ttl_time_characteristic={self._ttl_time_characteristic.name}, "
            f"cleanup_strategies={self._cleanup_strategies!r})"
        )


def _nest(outer: type, *names: str) -> None:
    """Call classes what users call them, in messages and in pickles."""
    for name in names:
        inner = getattr(outer, name)
        inner.__name__, inner.__qualname__ = name, f"{outer.__qualname__}.{name}"


_nest(
    StateTtlConfig,
    "UpdateType",
    "StateVisibility",
    "TtlTimeCharacteristic",
    "CleanupStrategies",
    "Builder",
)
_nest(
    _CleanupStrategies,
    "Strategies",
    "CleanupStrategy",
    "EmptyCleanupStrategy",
    "IncrementalCleanupStrategy",
    "RocksdbCompactFilterCleanupStrategy",
)
