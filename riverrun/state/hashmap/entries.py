"""What was frozen, entry by entry and in the order of key groups, for who writes it in another form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, Protocol

import numpy as np

from riverrun.serde.stable_hash import hash_keys
from riverrun.state.hashmap.reader import gathered, identity
from riverrun.state.hashmap.snapshot_file import RawSection
from riverrun.state.interchange import StateBlock
from riverrun.state.schema import StateSchema

_STRETCH: Final = 8192
_BLOCK: Final = 4096
_GROUPS: Final = 8
"""Key groups of sections that are decoded together: about as many as one of their blocks spans."""


class Stretched(Protocol):
    """Frozen entries of one state."""

    @property
    def schema(self) -> StateSchema:
        """Of the state."""

    def stretches(self, size: int) -> Iterator[tuple[list[Any], list[Any]]]:
        """Addresses and stored values, at most ``size`` at a time."""


def table_blocks(frozen: Stretched, max_parallelism: int) -> Iterator[StateBlock]:
    """The entries of a table; beside the table there are only references to them in memory."""
    meta = frozen.schema.meta
    keys: list[Any] = []
    namespaces: list[Any] = []
    values: list[Any] = []
    hashed: list[Any] = []
    for addresses, stored in frozen.stretches(_STRETCH):
        found = addresses
        if meta.namespaced:
            found = [key for key, _ in addresses]
            namespaces += [namespace for _, namespace in addresses]
        keys += found
        values += stored
        if found:
            hashed.append((hash_keys(found) % np.uint64(max_parallelism)).astype(np.uint16))
    if not keys:
        return
    groups = np.concatenate(hashed)
    hashed.clear()
    order = np.argsort(groups, kind="stable")
    end = 0
    for group, count in enumerate(np.bincount(groups).tolist()):
        start, end = end, end + count
        for first in range(start, end, _BLOCK):
            taken = order[first : min(first + _BLOCK, end)].tolist()
            yield StateBlock(
                meta,
                group,
                [keys[place] for place in taken],
                [namespaces[place] for place in taken] if meta.namespaced else None,
                [values[place] for place in taken],
            )


def section_blocks(
    sections: Sequence[RawSection], groups: range, owner: str
) -> Iterator[StateBlock]:
    """The entries of restored sections that nobody asked for; few key groups of them at a time."""
    by_meta = sorted(sections, key=lambda section: identity(section.meta))
    for _, same in groupby(by_meta, key=lambda section: identity(section.meta)):
        found = list(same)
        for first in range(groups.start, groups.stop, _GROUPS):
            few = range(first, min(first + _GROUPS, groups.stop))
            yield from gathered(_holding(found, few), few, owner)


def _holding(sections: Sequence[RawSection], groups: range) -> Iterator[RawSection]:
    for section in sections:
        blocks = [
            block for block in section.blocks if any(group in groups for group, _ in block.groups)
        ]
        yield RawSection(section.meta, blocks)
