"""Keys are restored into the key groups that they were saved in, or not at all."""

from __future__ import annotations

import msgspec

from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.state.backend import BackendSettings, StateRefused
from riverrun.storage.storage import FileCorrupt


class _Facts(msgspec.Struct, frozen=True):
    """What every format keeps in ``KeyedSnapshot.meta``, whatever else is there."""

    max_parallelism: int


def require_same_groups(snapshot: KeyedSnapshot, settings: BackendSettings) -> None:
    """Refuse a snapshot whose keys are in other key groups than they would be now.

    Raises:
        StateRefused: it was written with another max parallelism.
        FileCorrupt: what it says about that cannot be read.
    """
    if not snapshot.meta:
        return
    try:
        found = msgspec.msgpack.decode(snapshot.meta, type=_Facts).max_parallelism
    except msgspec.MsgspecError as error:
        raise FileCorrupt(
            f"the facts of a {snapshot.backend} snapshot of key groups {snapshot.first_group} to "
            f"{snapshot.last_group} cannot be read: {error}; use another checkpoint"
        ) from error
    if found != settings.max_parallelism:
        raise StateRefused(
            f"operator {settings.operator!r}: its state was written with max parallelism {found} and is "
            f"restored with {settings.max_parallelism}; keys would be looked for in other key groups, so "
            f"set max parallelism to {found}"
        )
