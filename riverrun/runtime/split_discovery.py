"""One subtask's part in finding splits: its reader's words to the enumerator, and the enumerator if it is here.

The enumerator of a source lives in the task of subtask 0, which therefore ends only when all readers know
that nothing follows. Messages between readers and enumerator go through the JobMaster, in order with its
orders, so that a checkpoint cuts between them: what was assigned before the enumerator's part was fixed
reaches the reader before its trigger, everything else after it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, assert_never

from riverrun.api.source import Source, SourceReader, SourceReaderContext
from riverrun.core.errors import ProgramError
from riverrun.protocol.control import EnumeratorPrepared, ToEnumerator, ToReader
from riverrun.runtime.enumerator import EnumeratorHost, SavedEnumerator
from riverrun.runtime.operator_states import OperatorStates, TaskResources
from riverrun.runtime.split_messages import (
    EnumeratorEvent,
    NoMoreSplits,
    ReaderEvent,
    ReaderThere,
    SplitsGiven,
    SplitsWanted,
    packed,
    unpacked,
)
from riverrun.runtime.system_state import ENUMERATOR


class SplitDiscovery:
    """Of one subtask of a source with ``discovers_splits``; all methods are called from the task thread."""

    def __init__(
        self,
        name: str,
        source: Source[Any],
        context: SourceReaderContext,
        states: OperatorStates,
        resources: TaskResources,
    ) -> None:
        self._name = name
        self._source = source
        self._context = context
        self._states = states
        self._resources = resources
        self._outgoing: list[ToEnumerator | ToReader | EnumeratorPrepared] = []
        self._saved: SavedEnumerator | None = None
        self.host: EnumeratorHost | None = None
        self._may_have_ended = False
        """Whether a checkpoint held the task back, and does so no longer."""
        self.is_told = False
        """Whether the reader knows that nothing follows the splits that it has."""

    def restore(self) -> None:
        """Read what an earlier enumerator left; before anything else."""
        found: list[SavedEnumerator] = self._states.restored_items(ENUMERATOR)
        if found:
            self._saved = found[0]
            self.is_told = found[0].is_told(self._context.subtask_index, self._context.parallelism)

    def context(self) -> SourceReaderContext:
        """What the reader gets."""
        return replace(
            self._context,
            send_split_request=lambda: self._say(packed(SplitsWanted())),
            send_source_event=lambda event: self._say(packed(ReaderEvent(event))),
        )

    def open_enumerator(self) -> None:
        """Let the enumerator begin, if it is here and has anything left to do."""
        if self._context.subtask_index != 0:
            return
        saved, parallelism = self._saved, self._context.parallelism
        if saved is not None and saved.is_done:
            self.keep_saved()
            return
        self.host = EnumeratorHost(
            self._source,
            parallelism,
            self._context.clock,
            aside=self._resources.aside,
            wake=self._resources.wake,
            saved=saved,
            config=self._context.config,
        )
        self._states.provide(ENUMERATOR, self.host.saved)
        self.host.start()

    def keep_saved(self) -> None:
        """The enumerator had nothing left to do: that stays so in the checkpoints to come."""
        saved, parallelism = self._saved, self._context.parallelism
        if saved is not None and self._context.subtask_index == 0:
            done = replace(saved, parallelism=parallelism, told=frozenset(range(parallelism)))
            self._states.provide(ENUMERATOR, lambda: [done])

    def introduce(self, reader: SourceReader[Any]) -> None:
        """Tell the reader, just made and not open yet, and the enumerator of each other."""
        if self.is_told:
            reader.notify_no_more_splits()
        else:
            self._say(packed(ReaderThere()))

    def may_end(self) -> bool:
        """Whether the task may end with its reader."""
        return self.host is None or self.host.may_end

    def from_enumerator(self, payload: bytes, reader: SourceReader[Any]) -> None:
        """The enumerator said something to this subtask's reader."""
        message = unpacked(payload)
        match message:
            case SplitsGiven(splits):
                reader.add_splits(splits)
            case NoMoreSplits():
                self.is_told = True
                reader.notify_no_more_splits()
            case EnumeratorEvent(event):
                reader.handle_source_event(event)
            case _:
                assert_never(message)

    def from_reader(self, subtask: int, payload: bytes) -> None:
        """The reader of ``subtask`` said something to the enumerator."""
        if self.host is not None:
            self.host.hear(subtask, unpacked(payload))

    def prepare(self, checkpoint: int) -> None:
        """Fix the enumerator's part of ``checkpoint``."""
        if self.host is not None:
            self.host.prepare(checkpoint)
        else:
            self._outgoing.append(EnumeratorPrepared(checkpoint))

    def cut(self, checkpoint: int) -> None:
        """The task takes part in ``checkpoint`` now."""
        if self.host is not None:
            self.host.cut(checkpoint)
            self._may_have_ended = True

    def checkpoint_completed(self, checkpoint: int) -> None:
        """``checkpoint`` can be relied on."""
        if self.host is not None:
            self.host.checkpoint_completed(checkpoint)

    def checkpoint_aborted(self, checkpoint: int) -> None:
        """``checkpoint`` will never exist."""
        if self.host is not None:
            self.host.checkpoint_aborted(checkpoint)
            self._may_have_ended = True

    def check_end(self) -> None:
        """The reader says that its input is over."""
        if not self.is_told:
            raise ProgramError(
                f"source {self._name!r}: its reader gave END_OF_INPUT before notify_no_more_splits; "
                f"splits may still come: give NOTHING_AVAILABLE until then"
            )

    def due_at(self) -> float:
        """When ``run_due`` has something to do, in monotonic milliseconds."""
        if self.host is None:
            return math.inf
        return -math.inf if self._may_have_ended else self.host.due_at()

    def run_due(self, now: float) -> None:
        """Let the enumerator's calls begin and end."""
        self._may_have_ended = False
        if self.host is not None:
            self.host.run_due(now)

    def take(self) -> list[ToEnumerator | ToReader | EnumeratorPrepared]:
        """What is to be sent to the JobMaster now, in order."""
        if self.host is not None:
            self._outgoing += self.host.take()
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def close(self) -> None:
        """Close the enumerator if it is here."""
        host, self.host = self.host, None
        if host is not None:
            host.close()

    def _say(self, payload: bytes) -> None:
        self._outgoing.append(ToEnumerator(payload))
