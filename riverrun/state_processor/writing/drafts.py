"""A savepoint before it is written: operators with their states, each kept as it was or made anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from riverrun.checkpoint.saved_operators import ListState, SavedOperator
from riverrun.protocol.snapshots import (
    KeyedPart,
    KeyedSnapshot,
    OperatorStatePart,
    StateMeta,
)
from riverrun.state.parquet.snapshot import NAME as PARQUET
from riverrun.state_processor.bootstrap import BootstrapTransformation
from riverrun.state_processor.keyed_scan import KeyedScan
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.writing.entries import Entries, EntrySource, Named, entries_of
from riverrun.state_processor.writing.keyed_files import StateTarget
from riverrun.state_processor.writing.meeting import Meeting
from riverrun.state_processor.writing.refusals import WriteRefused
from riverrun.storage.blobs import FileRef
from riverrun.storage.snapshot_files import SavedFiles


@dataclass(frozen=True, slots=True)
class KeptKeyed:
    """A keyed state as a savepoint or checkpoint has it."""

    meta: StateMeta
    savepoint: Savepoint
    operator: str
    """As the savepoint calls it."""
    snapshots: Sequence[KeyedSnapshot]
    """Of all subtasks; those of a savepoint have only this state."""
    parallelism: int
    max_parallelism: int

    def fits(self, parallelism: int, max_parallelism: int) -> bool:
        """Whether it has files of its own, in the format of savepoints and laid out like this."""
        same = (self.parallelism, self.max_parallelism) == (parallelism, max_parallelism)
        return same and all(
            snapshot.backend == PARQUET and isinstance(part.blob, FileRef)
            for snapshot in self.snapshots
            for part in snapshot.parts
        )

    def parts(self) -> Iterator[tuple[int, KeyedPart]]:
        """Its files, each with the subtask that wrote it."""
        for snapshot in self.snapshots:
            subtask = snapshot.first_group * self.parallelism // self.max_parallelism
            yield from ((subtask, part) for part in snapshot.parts)

    def entries(self) -> Iterator[Entries]:
        """All entries."""
        files, name = self.savepoint.files, self.meta.name
        with KeyedScan(self.snapshots, files, name, self.operator) as scan:
            yield from entries_of(self.meta, scan.blocks(range(self.max_parallelism)))


@dataclass(frozen=True, slots=True)
class MadeKeyed:
    """A keyed state that gets new files."""

    target: StateTarget
    entries: EntrySource

    @property
    def meta(self) -> StateMeta:
        """The state."""
        return self.target.meta


KeyedDraft: TypeAlias = KeptKeyed | MadeKeyed


@dataclass(frozen=True, slots=True)
class KeptList:
    """An operator state as a savepoint or checkpoint has it, with the subtask of each part."""

    files: SavedFiles
    parts: Sequence[tuple[int, OperatorStatePart]]


@dataclass(frozen=True, slots=True)
class MadeList:
    """An operator state that gets new files: elements, or pairs of key and value."""

    meta: StateMeta
    items: Sequence[Any]


ListDraft: TypeAlias = KeptList | MadeList


@dataclass(slots=True)
class OperatorDraft:
    """An operator of the savepoint that shall be written."""

    operator_id: str
    name: str
    uid: str | None
    parallelism: int
    max_parallelism: int
    finished: frozenset[int] = frozenset()
    keyed: dict[str, KeyedDraft] = field(default_factory=dict)
    lists: dict[ListState, ListDraft] = field(default_factory=dict)
    bootstrap: BootstrapTransformation | None = None

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.uid or self.name

    def copy(self) -> OperatorDraft:
        """One that can be changed without this one."""
        return OperatorDraft(
            self.operator_id,
            self.name,
            self.uid,
            self.parallelism,
            self.max_parallelism,
            self.finished,
            dict(self.keyed),
            dict(self.lists),
            self.bootstrap,
        )

    def list_names(self) -> set[str]:
        """The names of its operator states."""
        return {name for name, _ in self.lists}


def draft_of(savepoint: Savepoint, saved: SavedOperator) -> OperatorDraft:
    """The operator as the savepoint has it.

    Raises:
        WriteRefused: its subtasks disagree about a state.
    """
    lists: dict[ListState, ListDraft] = {
        state: KeptList(savepoint.files, parts) for state, parts in saved.lists.items()
    }
    return OperatorDraft(
        saved.operator_id,
        saved.name,
        saved.uid,
        saved.parallelism,
        saved.max_parallelism,
        frozenset(saved.finished),
        {meta.name: _kept(savepoint, saved, meta) for meta in _metas(savepoint, saved)},
        lists,
    )


def remade(draft: KeyedDraft, operator: str) -> MadeKeyed:
    """The same state to be written anew."""
    if isinstance(draft, MadeKeyed):
        return draft
    target = StateTarget(Named(operator, draft.meta.name), draft.meta, Meeting())
    return MadeKeyed(target, draft.entries)


def _metas(savepoint: Savepoint, saved: SavedOperator) -> Iterator[StateMeta]:
    found: dict[str, StateMeta] = {}
    for snapshot in saved.keyed:
        for meta in snapshot.states:
            other = found.setdefault(meta.name, meta)
            if (other.kind, other.namespaced, other.ttl) != (meta.kind, meta.namespaced, meta.ttl):
                raise WriteRefused(
                    f"{savepoint.describe()}: state {meta.name!r} of {saved.describe()} was saved in two "
                    f"forms, because some subtasks never used it since it changed; let a job go on "
                    f"from it that uses the state in every subtask, and take another savepoint"
                )
    yield from found.values()


def _kept(savepoint: Savepoint, saved: SavedOperator, meta: StateMeta) -> KeptKeyed:
    own = []
    for snapshot in saved.keyed:
        if snapshot.backend != PARQUET:
            own.append(snapshot)
            continue
        parts = tuple(part for part in snapshot.parts if part.name == meta.name)
        own.append(msgspec.structs.replace(snapshot, parts=parts))
    return KeptKeyed(meta, savepoint, saved.name, own, saved.parallelism, saved.max_parallelism)
