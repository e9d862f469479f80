"""Runs a source's enumerator in the task of its first subtask: messages in, messages out, calls beside."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, assert_never

from riverrun.api.source import Source
from riverrun.api.split_enumerator import SplitEnumerator
from riverrun.core.clock import Clock
from riverrun.core.errors import ProgramError
from riverrun.graph.pickling import dumps_fast, loads
from riverrun.protocol.control import EnumeratorPrepared, ToReader
from riverrun.runtime.split_messages import (
    EnumeratorEvent,
    EnumeratorMessage,
    NoMoreSplits,
    ReaderEvent,
    ReaderMessage,
    ReaderThere,
    SplitsGiven,
    SplitsWanted,
    packed,
)

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class PackedState:
    """The state of an enumerator as it was at one moment, whatever becomes of the object that it gave."""

    pickled: bytes

    @staticmethod
    def of(state: Any) -> PackedState:
        """The state as it is now."""
        return PackedState(dumps_fast(state))

    def unpacked(self) -> Any:
        """A state like that one."""
        return loads(self.pickled)

    def __repr__(self) -> str:
        return repr(self.unpacked())


@dataclass(frozen=True, slots=True)
class SavedEnumerator:
    """The enumerator's part of a checkpoint; every subtask gets it, the first goes on from it."""

    state: PackedState
    parallelism: int
    told: frozenset[int]
    """The readers that know that nothing follows."""

    @property
    def is_done(self) -> bool:
        """Whether every reader knew that nothing follows."""
        return len(self.told) == self.parallelism

    def is_told(self, subtask: int, parallelism: int) -> bool:
        """Whether the reader of ``subtask``, of now ``parallelism``, knew that nothing follows."""
        if self.is_done:
            return True
        return self.parallelism == parallelism and subtask in self.told


@dataclass(slots=True, eq=False)
class _Call:
    call: Callable[[], Any]
    then: Callable[[Any, Exception | None], None]
    period_ms: float | None
    due: float
    """Monotonic milliseconds; infinite while it runs."""


class EnumeratorHost:
    """Makes the enumerator, calls it, and is its context. All methods are called from the task thread.

    Args:
        source: whose enumerator it is.
        parallelism: how many readers there are.
        clock: the task's.
        aside: runs something that may block, in another thread or at once.
        wake: asks for a turn of the task; called from ``aside``.
        saved: what an earlier enumerator left, if there was one.
        config: the job's.
    """

    def __init__(  # noqa: PLR0913  (settings by name)
        self,
        source: Source[Any],
        parallelism: int,
        clock: Clock,
        *,
        aside: Callable[[Callable[[], None]], None],
        wake: Callable[[], None],
        saved: SavedEnumerator | None,
        config: Mapping[str, str] | None = None,
    ) -> None:
        self._config = config or {}
        self._parallelism = parallelism
        self._clock = clock
        self._aside = aside
        self._wake = wake
        self._readers: list[int] = []
        self._told: set[int] = set()
        if saved is not None:
            self._told = {i for i in range(parallelism) if saved.is_told(i, parallelism)}
        self._outgoing: list[ToReader | EnumeratorPrepared] = []
        self._calls: list[_Call] = []
        self._results: deque[tuple[_Call, Any, Exception | None]] = deque()
        self._prepared: dict[int, SavedEnumerator] = {}
        self._last_prepared = 0
        self._cut: SavedEnumerator | None = saved
        self._enumerator: SplitEnumerator[Any] = (
            source.create_enumerator(self)
            if saved is None
            else source.restore_enumerator(self, saved.state.unpacked())
        )

    @property
    def parallelism(self) -> int:
        return self._parallelism

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def config(self) -> Mapping[str, str]:
        return self._config

    @property
    def registered_readers(self) -> Sequence[int]:
        return tuple(self._readers)

    @property
    def is_done(self) -> bool:
        """Whether every reader knows that nothing follows."""
        return len(self._told) == self._parallelism

    @property
    def may_end(self) -> bool:
        """Whether the task may end with its reader.

        Not while a checkpoint is under way whose part was fixed before every reader was told: the task
        would count as finished in it, and nobody would go on from that part.
        """
        return self.is_done and all(part.is_done for part in self._prepared.values())

    def start(self) -> None:
        """Let the enumerator begin."""
        self._enumerator.start()

    def hear(self, subtask: int, message: ReaderMessage) -> None:
        """A reader said something."""
        match message:
            case ReaderThere():
                if subtask not in self._readers:
                    self._readers.append(subtask)
                    self._readers.sort()
                self._enumerator.add_reader(subtask)
            case SplitsWanted():
                self._enumerator.handle_split_request(subtask)
            case ReaderEvent(event):
                self._enumerator.handle_source_event(subtask, event)
            case _:
                assert_never(message)

    def prepare(self, checkpoint: int) -> None:
        """Fix the enumerator's part of ``checkpoint``; no reader takes part in it before that.

        Only once: what is assigned after the first time is not in the readers' parts.
        """
        if checkpoint <= self._last_prepared:
            return
        self._last_prepared = checkpoint
        # Now, because the enumerator goes on before the task takes part in the checkpoint.
        state = PackedState.of(self._enumerator.snapshot_state(checkpoint))
        self._prepared[checkpoint] = SavedEnumerator(
            state, self._parallelism, frozenset(self._told)
        )
        self._outgoing.append(EnumeratorPrepared(checkpoint))

    def cut(self, checkpoint: int) -> None:
        """The task takes part in ``checkpoint`` now: ``saved`` is the part that was prepared for it."""
        prepared = self._prepared.pop(checkpoint, None)
        if prepared is not None:
            self._cut = prepared
        for older in [each for each in self._prepared if each < checkpoint]:
            del self._prepared[older]

    def saved(self) -> list[SavedEnumerator]:
        """The enumerator's part of the checkpoint that is being taken."""
        return [] if self._cut is None else [self._cut]

    def checkpoint_completed(self, checkpoint: int) -> None:
        """``checkpoint`` can be relied on."""
        self._enumerator.notify_checkpoint_complete(checkpoint)

    def checkpoint_aborted(self, checkpoint: int) -> None:
        """``checkpoint`` will never exist."""
        self._prepared.pop(checkpoint, None)

    def due_at(self) -> float:
        """When ``run_due`` has something to do, in monotonic milliseconds."""
        if self._results:
            return -math.inf
        return min((each.due for each in self._calls), default=math.inf)

    def run_due(self, now: float) -> None:
        """Begin calls that are due, and hand over results."""
        for each in [each for each in self._calls if each.due <= now]:
            each.due = math.inf
            self._aside(lambda due=each: self._run(due))  # type: ignore[misc]
        while self._results:
            call, result, error = self._results.popleft()
            if call.period_ms is None:
                self._calls.remove(call)
            else:
                call.due = self._clock.monotonic() + call.period_ms
            call.then(result, error)

    def take(self) -> list[ToReader | EnumeratorPrepared]:
        """What is to be sent to the JobMaster now, in order."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def close(self) -> None:
        """Close the enumerator."""
        self._calls.clear()
        self._enumerator.close()

    def assign_splits(self, splits: Sequence[Any], subtask: int) -> None:
        self._check(subtask)
        if subtask in self._told:
            raise ProgramError(
                f"split enumerator: assigned {len(splits)} splits to the reader of subtask {subtask} "
                f"after signal_no_more_splits({subtask})"
            )
        if splits:
            self._send(subtask, SplitsGiven(tuple(splits)))

    def signal_no_more_splits(self, subtask: int) -> None:
        self._check(subtask)
        if subtask not in self._told:
            self._told.add(subtask)
            self._send(subtask, NoMoreSplits())

    def send_event_to_reader(self, subtask: int, event: Any) -> None:
        self._check(subtask)
        self._send(subtask, EnumeratorEvent(event))

    def call_async(
        self,
        call: Callable[[], R],
        then: Callable[[R | None, Exception | None], None],
        *,
        initial_delay_ms: float = 0.0,
        period_ms: float | None = None,
    ) -> None:
        due = self._clock.monotonic() + initial_delay_ms
        self._calls.append(_Call(call, then, period_ms, due))

    def _run(self, call: _Call) -> None:
        """Beside the task."""
        try:
            result, error = call.call(), None
        except Exception as raised:  # noqa: BLE001  (handed to the enumerator)
            result, error = None, raised
        self._results.append((call, result, error))
        self._wake()

    def _send(self, subtask: int, message: EnumeratorMessage) -> None:
        self._outgoing.append(ToReader(subtask, packed(message)))

    def _check(self, subtask: int) -> None:
        if subtask not in self._readers:
            raise ProgramError(
                f"split enumerator: spoke to the reader of subtask {subtask}; registered are "
                f"{self._readers} of {self._parallelism}"
            )
