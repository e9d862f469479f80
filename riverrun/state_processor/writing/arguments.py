"""What users pass to a writer, understood or refused."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from riverrun.api.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from riverrun.graph.stream_graph import MAX_PARALLELISM_LIMIT
from riverrun.protocol.snapshots import StateKind, StateMeta
from riverrun.serde.type_info import TypeInformation
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.writing.entries import Named
from riverrun.state_processor.writing.given import Columns
from riverrun.state_processor.writing.refusals import WriteRefused


def opened(path: str | os.PathLike[str] | Savepoint, config: Mapping[str, str] | None) -> Savepoint:
    """The savepoint or checkpoint to begin with.

    Raises:
        WriteRefused: it holds records that were on their way between tasks.
    """
    savepoint = path if isinstance(path, Savepoint) else Savepoint.read(path, config)
    metadata = savepoint.checkpoint.metadata
    if any(subtask.channels for subtask in metadata.subtasks):
        raise WriteRefused(
            f"{savepoint.describe()}: it is an unaligned checkpoint and holds records that were on their "
            f"way between tasks, which belong to the program as it was; take a savepoint instead"
        )
    return savepoint


def location_of(path: str | os.PathLike[str]) -> str:
    """The folder, as stores take it."""
    given = os.fspath(path)
    return given.rstrip("/") if "://" in given else str(Path(given).absolute())


def checked_groups(max_parallelism: int) -> int:
    """The number of key groups; WriteRefused when it cannot be one."""
    if not 1 <= max_parallelism <= MAX_PARALLELISM_LIMIT:
        raise WriteRefused(
            f"max parallelism {max_parallelism!r}: expected a number from 1 to {MAX_PARALLELISM_LIMIT}"
        )
    return max_parallelism


def descriptor_of(
    state: StateDescriptor | str,
    element: Columns | None,
    map_key: Columns | None,
    value_type: TypeInformation | None,
) -> StateDescriptor:
    """The descriptor, or the one that a name and the columns stand for.

    Raises:
        WriteRefused: there are two types.
    """
    if isinstance(state, StateDescriptor):
        if value_type is not None:
            raise WriteRefused(
                f"state {state.name!r}: its type is {state.value_type_info!r} by the descriptor and "
                f"{value_type!r} by value_type; give one of both"
            )
        return state
    if map_key is not None:
        return MapStateDescriptor(state, None, value_type)
    if element is not None:
        return ListStateDescriptor(state, value_type)
    return ValueStateDescriptor(state, value_type)


def check_choice(
    named: Named, meta: StateMeta, element: Columns | None, map_key: Columns | None
) -> None:
    """WriteRefused when columns are given that the kind of the state does not have."""
    for name, given, kind in (
        ("element", element, StateKind.LIST),
        ("map_key", map_key, StateKind.MAP),
    ):
        if given is not None and meta.kind is not kind:
            raise WriteRefused(
                f"{named}: it is {meta.kind.value} state, and {name}={given!r} is for {kind.value} state; "
                f"leave it out"
            )
