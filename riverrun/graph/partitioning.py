"""How an edge shares records out, and which subtasks it connects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Forward:
    """Subtask i sends to subtask i only; parallelism must be equal."""


@dataclass(frozen=True, slots=True)
class Hash:
    """By key group of the key."""

    key_selector: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Rebalance:
    """Round robin over all consumers."""


@dataclass(frozen=True, slots=True)
class Rescale:
    """Round robin over the few consumers that belong to this producer."""


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Uniformly at random over all consumers."""


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Each record to every consumer."""


@dataclass(frozen=True, slots=True)
class Global:
    """Everything to consumer 0."""


@dataclass(frozen=True, slots=True)
class Custom:
    """Where the user's partitioner says: ``partition(key, consumers) -> index``."""

    partition: Callable[[Any, int], int]
    key_selector: Callable[[Any], Any]


Partitioning: TypeAlias = (
    Forward | Hash | Rebalance | Rescale | Shuffle | Broadcast | Global | Custom
)
