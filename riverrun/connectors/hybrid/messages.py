"""What the two sides of a hybrid source say to each other, and what they keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class HybridSplit:
    """A split of one of the sources."""

    source: int
    split: Any


@dataclass(frozen=True, slots=True)
class HybridState:
    """Which source is being read, and what its enumerator knows."""

    source: int
    inner: Any


@dataclass(frozen=True, slots=True)
class SwitchTo:
    """To a reader: all before are read to the end, go on with this source."""

    source: int


@dataclass(frozen=True, slots=True)
class NoMoreOf:
    """To a reader: nothing of this source follows, but there is another one."""

    source: int


@dataclass(frozen=True, slots=True)
class Finished:
    """To the enumerator: this reader has read its part of the source to the end."""

    source: int


@dataclass(frozen=True, slots=True)
class InnerEvent:
    """Either way: what the source's own reader and enumerator say to each other."""

    source: int
    event: Any
