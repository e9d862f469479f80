"""Bodies about what savepoints and checkpoints hold. Text of values is bounded; what was cut off says so."""

from __future__ import annotations

import msgspec


class SnapshotFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A savepoint or checkpoint."""

    path: str
    """Its folder."""
    job_id: str
    job_name: str
    checkpoint: int
    """Its number within the job."""
    savepoint: bool
    timestamp: int
    """When it was taken, in milliseconds since the epoch."""
    bytes: int
    """Of all its files."""
    riverrun_version: str = ""


class SnapshotList(msgspec.Struct, frozen=True, kw_only=True):
    """What is below a folder, newest first."""

    path: str
    snapshots: list[SnapshotFacts]
    unreadable: list[str]
    """Why some of what is there cannot be read."""
    complete: bool
    """Whether everything below the folder was looked at."""


class StateInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One state of an operator."""

    name: str
    kind: str
    keyed: bool
    """Whether each entry belongs to a key."""
    key_type: str | None
    """Declared types; null where values are pickled, and where there is no such part."""
    map_key_type: str | None
    value_type: str | None
    namespaced: bool
    """Whether each entry belongs to a window or another namespace."""
    ttl: bool
    entries: int | None
    """Of maps, entries of all maps; null where it would take long to count them."""
    bytes: int | None
    """In its files; null where it would take long to tell."""


class OperatorStates(msgspec.Struct, frozen=True, kw_only=True):
    """One operator with its states."""

    id: str
    uid: str | None
    name: str
    vertex: str
    parallelism: int
    max_parallelism: int
    bytes: int
    states: list[StateInfo]


class SnapshotStates(msgspec.Struct, frozen=True, kw_only=True):
    """All states of a savepoint or checkpoint."""

    snapshot: SnapshotFacts
    operators: list[OperatorStates]
    in_flight_bytes: int
    """Of records that were on their way between tasks: only unaligned checkpoints have such."""


class KeyGroups(msgspec.Struct, frozen=True, kw_only=True):
    """How a keyed state is spread over key groups."""

    parallelism: int
    max_parallelism: int
    subtasks: list[tuple[int, int]]
    """The first and the last key group of each."""
    entries: list[int | None]
    """By key group; null where it was not looked at."""
    bytes: list[int | None]
    """By key group, before compression; null where it was not looked at."""
    complete: bool
    """Whether every key group was looked at: large states are not within the time of a request."""
    estimated: bool
    """Whether values could not be read here, so that the numbers are shares of larger blocks."""


class KeyFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a state."""

    key: str
    """As it can be looked up."""
    key_group: int
    subtask: int


class KeyList(msgspec.Struct, frozen=True, kw_only=True):
    """The first keys of a state, in the order of key groups."""

    keys: list[KeyFacts]
    complete: bool
    """Whether these are all."""


class ValueText(msgspec.Struct, frozen=True, kw_only=True):
    """A value in words."""

    type: str
    """The class of the value."""
    text: str
    json: str | None
    """The same as JSON text; null where it would be too long, or says no more."""
    cut: bool
    """Whether there is more than the text shows."""


class EntryText(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a state."""

    value: ValueText | None
    """Null for timers, which have none."""
    namespace: str | None = None
    """The window, or what else the entry belongs to."""
    time: int | None = None
    """Of timers: when it is due, in milliseconds since the epoch."""
    map_key: str | None = None
    last_used: int | None = None
    """With a time to live, in milliseconds since the epoch; of lists, when the last element was."""
    subtask: int | None = None
    """Of operator state: who wrote it."""


class KeyValues(msgspec.Struct, frozen=True, kw_only=True):
    """What a state holds for a key."""

    key: str
    found: bool
    key_type: str
    """The class of the key."""
    key_group: int | None
    """Also of a key that has nothing here; null where the text is no key."""
    subtask: int | None
    entries: list[EntryText]
    complete: bool
    """Whether these are all, and whether all keys were looked at where the text alone does not tell the key."""


class EntryList(msgspec.Struct, frozen=True, kw_only=True):
    """The first entries of an operator's own state."""

    entries: list[EntryText]
    complete: bool
