"""Operator state of a savepoint that is written: kept files, and items that get new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from riverrun.protocol.snapshots import OperatorStatePart, Redistribution, StateMeta
from riverrun.serde.check import TypeMismatch, checker_for
from riverrun.state.operator_state import OperatorStateBackend
from riverrun.state.parquet.facts import Owner
from riverrun.state.parquet.items import FOLDER, write_items, write_pickled_items
from riverrun.state.schema import MAPS, schema_from
from riverrun.state_processor.kinds import operator_kind
from riverrun.state_processor.writing.checks import mismatch_reason
from riverrun.state_processor.writing.drafts import KeptList, ListDraft, MadeList
from riverrun.state_processor.writing.keyed_files import Layout
from riverrun.state_processor.writing.refusals import RowRefused
from riverrun.storage.blobs import Blob, FileRef
from riverrun.storage.snapshot_files import NamedFiles, SavedFiles

Keep: TypeAlias = Callable[[Blob, SavedFiles, str], FileRef]
"""Keeps a file of another savepoint under a name in this one."""


def write_list(
    draft: ListDraft, how: Redistribution, layout: Layout, files: NamedFiles, keep: Keep
) -> dict[int, list[OperatorStatePart]]:
    """Write an operator state; its parts by subtask.

    Raises:
        UnstorableValue: an item is not what the state's type says, or cannot be pickled.
        StorageError: a file could not be read or written.
    """
    parts: dict[int, list[OperatorStatePart]] = {}
    if isinstance(draft, MadeList):
        for subtask, part in write_made(draft, how, layout, files).items():
            parts.setdefault(subtask, []).append(part)
        return parts
    last = layout.parallelism - 1
    for subtask, part in draft.parts:
        # The parallelism can have become less than it was; broadcast state is the same in all.
        if part.items and (subtask <= last or how is not Redistribution.BROADCAST):
            place = min(subtask, last)
            owner = Owner(layout.name, layout.operator_id, place)
            kept = _kept(part, draft, owner, files, keep)
            parts.setdefault(place, []).append(kept)
    return parts


def check_items(operator: str, meta: StateMeta, items: Sequence[Any]) -> None:
    """See whether items are what the state's types say.

    Raises:
        RowRefused: one is not.
    """
    schema = schema_from(meta)
    columns = [("value", schema.value, items)]
    if meta.kind in MAPS:
        columns = [
            ("map_key", schema.map_key, [key for key, _ in items]),
            ("map_value", schema.value, [value for _, value in items]),
        ]
    for column, type_info, values in columns:
        if type_info is None:
            continue
        try:
            checker_for(type_info)(values)
        except TypeMismatch as error:
            raise RowRefused(
                operator, meta.name, error.index, column, mismatch_reason(error)
            ) from error


def write_made(
    draft: MadeList, how: Redistribution, layout: Layout, files: NamedFiles
) -> dict[int, OperatorStatePart]:
    """Write items, dealt out to the subtasks; the part of each.

    Raises:
        UnstorableValue: an item is not what the state's type says, or cannot be pickled.
    """
    meta, items, subtasks = draft.meta, draft.items, layout.parallelism

    def written(subtask: int, some: Sequence[Any]) -> OperatorStatePart:
        owner = Owner(layout.name, layout.operator_id, subtask)
        return write_items(meta, how, some, files, owner)

    if not items:
        return {}
    if how is Redistribution.UNION:
        return {0: written(0, items)}
    if how is Redistribution.BROADCAST:
        part = written(0, items)
        return dict.fromkeys(range(subtasks), part)
    borders = [len(items) * subtask // subtasks for subtask in range(subtasks + 1)]
    # In their order: then it is the same again for a job with one subtask.
    return {
        subtask: written(subtask, items[borders[subtask] : borders[subtask + 1]])
        for subtask in range(subtasks)
        if borders[subtask] < borders[subtask + 1]
    }


def _kept(
    part: OperatorStatePart, draft: KeptList, owner: Owner, files: NamedFiles, keep: Keep
) -> OperatorStatePart:
    if part.rows and isinstance(part.blob, FileRef):
        name = files.name_for(f"{FOLDER}/{owner.operator_id}", part.meta.name, owner.subtask)
        return msgspec.structs.replace(part, blob=keep(part.blob, draft.files, name))
    if operator_kind(part).is_system:
        data = draft.files.read(part.blob)
        pickles = [data[start:end] for start, end in part.items]
        return write_pickled_items(part.meta, part.redistribution, pickles, files, owner)
    items = items_of(part, draft.files)
    return write_items(part.meta, part.redistribution, items, files, owner)


def items_of(part: OperatorStatePart, files: SavedFiles) -> list[Any]:
    """The elements, or pairs of key and value, of a part that is not riverrun's own."""
    backend = OperatorStateBackend("state processor")
    backend.restore([part], files)
    return [item for _, _, items in backend.freeze().items() for item in items]
