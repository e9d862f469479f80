"""A keyed state becomes files: checked, sorted by key group, every key once, a file for each subtask."""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from riverrun.graph.key_groups import group_range
from riverrun.protocol.snapshots import KeyedPart, StateMeta
from riverrun.serde.check import TypeMismatch
from riverrun.serde.pickled_runs import UnpicklableValue
from riverrun.state.parquet.columns import GROUP, Rows, StateColumns, columns_for
from riverrun.state.parquet.facts import VERSION, FileFacts, Owner
from riverrun.state.parquet.items import scratch_file
from riverrun.state.parquet.snapshot import FOLDER
from riverrun.state.parquet.writer import TableFile
from riverrun.state.serializers import UnstorableValue
from riverrun.state_processor.writing.checks import EntryCheck, Labels
from riverrun.state_processor.writing.entries import Entries, Named, Numbering, columns_of
from riverrun.state_processor.writing.meeting import Meeting, Meetings
from riverrun.state_processor.writing.sorting import Sorter, groups_of, ranks_of
from riverrun.storage.snapshot_files import NamedFiles


@dataclass(frozen=True, slots=True)
class StateTarget:
    """What the entries of a state shall become."""

    named: Named
    meta: StateMeta
    rule: Meeting
    labels: Labels = field(default_factory=Labels)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the key groups of an operator are dealt out to subtasks."""

    name: str
    """Of the operator."""
    operator_id: str
    parallelism: int
    max_parallelism: int

    def last_group(self, subtask: int) -> int:
        """The last key group of ``subtask``."""
        return group_range(subtask, self.parallelism, self.max_parallelism)[1]


def settled(
    target: StateTarget,
    entries: Iterable[Entries],
    max_parallelism: int,
    scratch: Path | None = None,
) -> Iterator[Rows]:
    """The rows with their key groups, in the order of these, every key once.

    ``scratch`` is for what does not fit into memory; without it that is the machine's own place.

    Raises:
        RowRefused: a row cannot be an entry.
        DuplicateKey: two rows have one key.
        StorageError: the local disk did not take them.
    """
    check = EntryCheck(target.named, target.meta, target.labels)
    columns: StateColumns | None = None
    parts = False
    with tempfile.TemporaryDirectory(prefix="sorting-", dir=scratch) as folder:
        sorter = Sorter(Path(folder))
        for some in entries:
            if not some.numbers:
                continue
            ranks = ranks_of(check.hashes(some), max_parallelism)
            rows = {**some.rows, GROUP: groups_of(ranks)}
            columns = columns or columns_for(target.meta, rows)
            try:
                batch = columns.batch(rows)
            except (TypeMismatch, UnpicklableValue) as error:
                named = target.named
                raise UnstorableValue(named.operator, named.state, str(error)) from error
            sorter.add(batch, ranks, some.numbers)
            parts = parts or some.parts
        if columns is None:
            return
        meetings = Meetings(target.named, target.meta, target.rule, parts=parts)
        for batch, sorted_ranks, numbers in sorter.sorted():
            complete = meetings.add(columns.rows(batch), sorted_ranks, numbers)
            if complete is not None:
                yield complete
        last = meetings.finish()
        if last is not None:
            yield last


def settled_entries(target: StateTarget, entries: Iterable[Entries]) -> Iterator[Entries]:
    """What ``settled`` gives, to be worked on further."""
    numbering = Numbering(target.meta)
    names = columns_of(target.meta)
    # One key group will do: the rows are sorted anew when they are written.
    for rows in settled(target, entries, 1):
        yield numbering.of({name: rows[name] for name in names})


def write_sorted(
    meta: StateMeta, sorted_rows: Iterable[Rows], layout: Layout, files: NamedFiles
) -> dict[int, KeyedPart]:
    """Write rows that come in the order of their key groups; the files by subtask.

    Raises:
        UnstorableValue: a value is not what the state's type says, or cannot be pickled.
        StorageError: a file could not be written.
    """
    written: dict[int, KeyedPart] = {}
    pieces = _by_subtask(sorted_rows, layout)
    piece = next(pieces, None)
    while piece is not None:
        subtask = piece[0]
        owner = Owner(layout.name, layout.operator_id, subtask)
        facts = FileFacts(VERSION, owner, meta, max_parallelism=layout.max_parallelism)
        name = files.name_for(f"{FOLDER}/{layout.operator_id}", meta.name, subtask)
        with ExitStack() as stack:
            path = stack.enter_context(scratch_file(files))
            with TableFile(path, facts, lambda sample: columns_for(meta, sample)) as file:
                while piece is not None and piece[0] == subtask:
                    file.add(piece[1])
                    piece = next(pieces, None)
            written[subtask] = KeyedPart(meta.name, files.keep(path, name), shared=False)
    return written


def _by_subtask(sorted_rows: Iterable[Rows], layout: Layout) -> Iterator[tuple[int, Rows]]:
    """The rows, cut where a subtask begins."""
    for rows in sorted_rows:
        groups = rows[GROUP]
        start = 0
        while start < len(groups):
            subtask = groups[start] * layout.parallelism // layout.max_parallelism
            end = bisect_right(groups, layout.last_group(subtask), start)
            yield subtask, {name: column[start:end] for name, column in rows.items()}
            start = end
