"""What the readers of a source and its enumerator say to each other; the JobMaster passes it on unopened."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, TypeAlias

from riverrun.graph.pickling import dumps_fast


@dataclass(frozen=True, slots=True)
class ReaderThere:
    """A reader is open."""


@dataclass(frozen=True, slots=True)
class SplitsWanted:
    """A reader asks for something to read."""


@dataclass(frozen=True, slots=True)
class ReaderEvent:
    """An object of the connector's own, from a reader."""

    event: Any


@dataclass(frozen=True, slots=True)
class SplitsGiven:
    """Splits for a reader."""

    splits: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class NoMoreSplits:
    """Nothing follows for a reader."""


@dataclass(frozen=True, slots=True)
class EnumeratorEvent:
    """An object of the connector's own, from the enumerator."""

    event: Any


ReaderMessage: TypeAlias = ReaderThere | SplitsWanted | ReaderEvent
"""Reader -> enumerator."""

EnumeratorMessage: TypeAlias = SplitsGiven | NoMoreSplits | EnumeratorEvent
"""Enumerator -> reader."""


def packed(message: ReaderMessage | EnumeratorMessage) -> bytes:
    """The message for the control connection."""
    return dumps_fast(message)


def unpacked(payload: bytes) -> Any:
    """What ``packed`` was given; it comes from a task of the same job, past the job's handshake."""
    return pickle.loads(payload)
