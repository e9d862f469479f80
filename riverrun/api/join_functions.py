"""Functions over records of two streams that belong together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from riverrun.api.function import Function

__all__ = [
    "CoGroupFunction",
    "FlatJoinFunction",
    "JoinFunction",
    "ProcessJoinFunction",
]

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """One record out for each pair."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """What becomes of the pair."""


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of records out for each pair."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """What becomes of the pair; None: nothing."""


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """Works on all records of a key and window of both streams; one side may be empty."""

    @abstractmethod
    def co_group(self, first: Iterable[IN1], second: Iterable[IN2]) -> Iterable[OUT] | None:
        """What becomes of the records; None: nothing."""


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Works on each pair that an interval join finds; has side outputs."""

    class Context(ABC):
        """The times of the pair at hand; valid during the call only."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Event time of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """Event time of the right record."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """The greater of the two, which results have."""

    @abstractmethod
    def process_element(self, left: IN1, right: IN2, ctx: ProcessJoinFunction.Context) -> Any:
        """Handle the pair and yield what comes of it."""
