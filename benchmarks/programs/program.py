"""A workload on riverrun, and what it is to give."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from riverrun import DataStream, StreamExecutionEnvironment


@dataclass(frozen=True, slots=True)
class Program:
    """A program as a user would write it.

    Attributes:
        build: The stream of its results over so many records.
        expected: The results that plain Python gives for so many records.
        settled: What of the results must be equal, whichever order they come in.
    """

    build: Callable[[StreamExecutionEnvironment, int], DataStream]
    expected: Callable[[int], Iterable[Any]]
    settled: Callable[[Iterable[Any]], Any] = sorted
