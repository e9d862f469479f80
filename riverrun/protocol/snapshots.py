"""What is known about a snapshot: plain data that tasks send, the JobMaster keeps and `_metadata` holds.

A checkpoint is one ``SubtaskSnapshot`` per subtask. Keyed state is addressed by key group, operator
state is a list of items whose borders are known, channel state is what an unaligned checkpoint found
in flight: each can be handed to other subtasks without reading the bytes.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from riverrun.storage.blobs import Blob

FORMAT_VERSION: Final = 1
"""Of everything below and of the files it refers to. A change that an older reader cannot read adds one."""

COMMITTABLES_STATE: Final = "riverrun.committables"
"""Name of the operator state in which sinks keep what is to be committed."""


class StateKind(Enum):
    """What a state is to the program."""

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    REDUCING = "reducing"
    AGGREGATING = "aggregating"
    BROADCAST = "broadcast"
    TIMERS = "timers"


class Redistribution(Enum):
    """Who gets the items of an operator state after a restart."""

    SPLIT = "split"
    """Each item goes to one subtask; items are dealt out evenly."""
    UNION = "union"
    """Every subtask gets all items."""
    BROADCAST = "broadcast"
    """Every subtask had the same items and gets them again."""


class StateMeta(msgspec.Struct, frozen=True):
    """One state by its name, with the serializers that wrote it.

    ``types`` maps a role ("key", "namespace", "value", "map_key") to a serializer snapshot, which is
    JSON of ``serde.evolution``; a role that is left out was pickled.
    """

    name: str
    kind: StateKind
    types: dict[str, str] = {}
    namespaced: bool = False
    ttl: bool = False


class KeyedPart(msgspec.Struct, frozen=True):
    """One file of a backend; ``name`` tells the backend which (an SST file, a base, a delta)."""

    name: str
    blob: Blob
    shared: bool


class KeyedSnapshot(msgspec.Struct, frozen=True):
    """The keyed state of one operator in one subtask."""

    backend: str
    first_group: int
    last_group: int
    """Inclusive."""
    states: tuple[StateMeta, ...]
    parts: tuple[KeyedPart, ...]
    """In the order in which they must be read."""
    meta: bytes = b""
    """The backend's own business."""
    full_bytes: int = 0
    """Size of the whole state, also of what this checkpoint did not write again."""


class OperatorStatePart(msgspec.Struct, frozen=True):
    """Items of one operator state of one subtask: where each begins and ends in the blob.

    After a restart a part may name only some of the blob's items: those of the subtask that gets it.
    """

    meta: StateMeta
    redistribution: Redistribution
    blob: Blob
    items: tuple[tuple[int, int], ...]
    rows: bool = False
    """Whether the blob is a table of a savepoint, and ``items`` are the numbers of its rows."""


class OperatorSnapshot(msgspec.Struct, frozen=True):
    """All state of one operator in one subtask."""

    operator_id: str
    keyed: KeyedSnapshot | None = None
    lists: tuple[OperatorStatePart, ...] = ()


class ChannelSnapshot(msgspec.Struct, frozen=True):
    """Elements that were in flight on one input channel; the blob is their encoded concatenation.

    A subtask may have several of one channel. Their order is that in which they have to be taken in.
    """

    edge: int
    producer: int
    blob: Blob
    doubtful: bool = False
    """Whether they were restored as ``Share.DOUBTFUL`` and not taken in since."""


class SubtaskSnapshot(msgspec.Struct, frozen=True):
    """What one subtask contributes to a checkpoint."""

    vertex: str
    subtask: int
    operators: tuple[OperatorSnapshot, ...] = ()
    channels: tuple[ChannelSnapshot, ...] = ()
    finished: bool = False
    """Whether the subtask had seen the end of its input: nothing is left for it to do."""


class OperatorRestore(msgspec.Struct, frozen=True):
    """What one operator of one subtask starts from."""

    keyed: tuple[KeyedSnapshot, ...] = ()
    """Every snapshot that holds a key group of this subtask; other groups in them are skipped."""
    lists: tuple[OperatorStatePart, ...] = ()
    """With the items of this subtask; a state may come in several parts."""


class Share(Enum):
    """Which records of a channel's state a subtask takes; other subtasks may be given the same state."""

    ALL = "all"
    OWN = "own"
    """Those that the edge, as it is now, gives to the subtask: by key group, or by the user's partitioner."""
    ALL_UNLESS_KEYED = "all unless keyed"
    """All, but ``OWN`` by its key if the stream was reinterpreted as keyed."""
    NONE_UNLESS_KEYED = "none unless keyed"
    """None, but ``OWN`` by its key if the stream was reinterpreted as keyed."""
    DOUBTFUL = "doubtful"
    """All: broadcast records that had been taken in for some of the subtask's keys and not for others."""


class ChannelRestore(msgspec.Struct, frozen=True):
    """What one subtask takes of the elements that were in flight on one channel."""

    edge: int
    producer: int
    """Of the channel that they come from now; it need not be the one that they were on."""
    blob: Blob
    share: Share = Share.ALL


class TaskRestore(msgspec.Struct, frozen=True):
    """What one subtask starts from; empty parts where the checkpoint had nothing for it."""

    checkpoint: int
    operators: dict[str, OperatorRestore] = {}
    channels: tuple[ChannelRestore, ...] = ()
    """In the order in which they are to be taken in, before anything new."""
    finished: bool = False
    """Its vertex had finished: open nothing, send the end of input."""
    owned: bool = True
    """Whether the checkpoint belongs to this job, so that its next one may refer to the same files."""


class SnapshotTimes(msgspec.Struct, frozen=True):
    """How long the phases of a subtask's snapshot took."""

    start_delay_ms: float = 0.0
    """From the trigger until the first barrier came."""
    alignment_ms: float = 0.0
    sync_ms: float = 0.0
    async_ms: float = 0.0
    aligned_bytes: int = 0
    """Bytes that had to wait for the barrier of other channels."""
    channel_bytes: int = 0
    """Bytes of channel state."""
    state_bytes: int = 0
    """Bytes that this checkpoint wrote."""
    full_bytes: int = 0
    """Bytes of the whole state."""
    unaligned: bool = False
