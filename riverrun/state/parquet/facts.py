"""What a file says about itself, in the key-value metadata of Parquet."""

from __future__ import annotations

from typing import Final

import msgspec
import pyarrow as pa

from riverrun.protocol.snapshots import Redistribution, StateMeta
from riverrun.storage.storage import FileCorrupt

VERSION: Final = 1
"""Of the columns and of these facts. A change that an older reader cannot read adds one."""
KEY: Final = b"riverrun"
"""Where the facts are, as JSON."""


class Owner(msgspec.Struct, frozen=True):
    """Whose state it is."""

    operator: str
    """Name."""
    operator_id: str
    subtask: int


class FileFacts(msgspec.Struct, frozen=True):
    """Enough to understand a file that stands alone."""

    version: int
    owner: Owner
    state: StateMeta
    max_parallelism: int | None = None
    """Of keyed state: how many key groups there are in all."""
    redistribution: Redistribution | None = None
    """Of operator state."""


class _Version(msgspec.Struct, frozen=True):
    """What every version of the facts has."""

    version: int


def with_facts(schema: pa.Schema, facts: FileFacts) -> pa.Schema:
    """The schema of a file that says ``facts``."""
    return schema.with_metadata({KEY: msgspec.json.encode(facts)})


def facts_in(schema: pa.Schema, name: str) -> FileFacts:
    """What the file called ``name`` says about itself.

    Raises:
        FileCorrupt: it says nothing, or a later release wrote it.
    """
    found = (schema.metadata or {}).get(KEY)
    if found is None:
        raise FileCorrupt(
            f"file {name!r}: it is a Parquet file that says nothing about a state of riverrun; give a "
            f"file of a savepoint, or write one with riverrun"
        )
    try:
        version = msgspec.json.decode(found, type=_Version).version
        if version > VERSION:
            raise FileCorrupt(
                f"file {name!r}: it has version {version} of the format of savepoints and this riverrun "
                f"reads versions up to {VERSION}; use the release that wrote it, or a later one"
            )
        return msgspec.json.decode(found, type=FileFacts)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FileCorrupt(
            f"file {name!r}: what it says about its state cannot be read: {error}; it was changed after "
            f"the savepoint was taken, so use another copy of it"
        ) from error
