"""Files of states in a folder of the test."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from riverrun.protocol.snapshots import StateMeta
from riverrun.state.interchange import StateBlock
from riverrun.state.parquet.columns import columns_for, rows_of
from riverrun.state.parquet.facts import VERSION, FileFacts, Owner
from riverrun.state.parquet.reader import opened
from riverrun.state.parquet.writer import TableFile
from riverrun.storage.local import LocalStorage
from riverrun.storage.savepoint_files import SavedSavepointFiles, SavepointFiles

OWNER = Owner("counter", "ab" * 16, 3)
GROUPS = 16


def write_blocks(path: Path, meta: StateMeta, blocks: Sequence[StateBlock]) -> None:
    """A file of these entries."""
    facts = FileFacts(VERSION, OWNER, meta, max_parallelism=GROUPS)
    with TableFile(path, facts, lambda sample: columns_for(meta, sample)) as file:
        for block in blocks:
            file.add(rows_of(block))


def read_blocks(path: Path, groups: range = range(GROUPS)) -> list[StateBlock]:
    """The entries of a file."""
    with opened(path, str(path)) as table:
        return list(table.blocks(groups))


def through_a_file(
    meta: StateMeta, keys: list[Any], values: list[Any], namespaces: list[Any] | None = None
) -> list[tuple[Any, Any, Any]]:
    """Entries (key, namespace, value) after they were written and read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.parquet"
        write_blocks(path, meta, [StateBlock(meta, 5, keys, namespaces, values)])
        return [
            entry
            for block in read_blocks(path)
            for entry in zip(
                block.keys, block.namespaces or [None] * len(block.keys), block.values, strict=True
            )
        ]


@pytest.fixture
def files(tmp_path: Path) -> SavepointFiles:
    return SavepointFiles(LocalStorage(), str(tmp_path / "savepoint"), tmp_path / "scratch")


@pytest.fixture
def saved(tmp_path: Path) -> Iterator[SavedSavepointFiles]:
    return SavedSavepointFiles(LocalStorage(), str(tmp_path / "savepoint"))  # type: ignore[return-value]
