"""What an operator does, as frozen data: it can be printed, compared and pickled.

Only a worker builds the live operator from it (``riverrun.runtime.operators``). A function is
either one of the function classes of ``riverrun.api.functions`` or a plain callable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from riverrun.api.functions import (
    BroadcastProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from riverrun.api.sink import Sink
from riverrun.api.source import Source
from riverrun.api.state import MapStateDescriptor
from riverrun.api.watermark_strategy import WatermarkStrategy

Callable1: TypeAlias = Callable[[Any], Any]
Callable2: TypeAlias = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Read from ``source``; the only kind of spec without input."""

    source: Source[Any]
    watermark_strategy: WatermarkStrategy | None = None


@dataclass(frozen=True, slots=True)
class MapSpec:
    """One record in, one record out."""

    fn: MapFunction | Callable1


@dataclass(frozen=True, slots=True)
class FlatMapSpec:
    """One record in, any number out."""

    fn: FlatMapFunction | Callable1


@dataclass(frozen=True, slots=True)
class FilterSpec:
    """Keep the records for which the function is true."""

    fn: FilterFunction | Callable1


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A process function without keys: any number out, side outputs, time."""

    fn: ProcessFunction


@dataclass(frozen=True, slots=True)
class KeyedProcessSpec:
    """A process function with a current key."""

    fn: KeyedProcessFunction


@dataclass(frozen=True, slots=True)
class ReduceSpec:
    """A rolling reduce per key: each record in gives the key's updated value out.

    With ``final_only`` (BATCH execution mode) each key's last value leaves at the end of input.
    """

    fn: ReduceFunction | Callable2
    final_only: bool = False


@dataclass(frozen=True, slots=True)
class BroadcastProcessSpec:
    """A process function over records (input 0) and broadcast records (input 1), without keys.

    Every subtask keeps the states that ``descriptors`` describe; the function may ask for no others.
    """

    fn: BroadcastProcessFunction[Any, Any, Any]
    descriptors: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True, slots=True)
class KeyedBroadcastProcessSpec:
    """A process function over keyed records (input 0) and broadcast records (input 1).

    The operator's key selector is for input 0; broadcast records have no key.
    """

    fn: KeyedBroadcastProcessFunction[Any, Any, Any, Any]
    descriptors: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """Write to ``sink``; nothing comes out."""

    sink: Sink[Any]


OperatorSpec: TypeAlias = (
    SourceSpec
    | MapSpec
    | FlatMapSpec
    | FilterSpec
    | ProcessSpec
    | KeyedProcessSpec
    | ReduceSpec
    | BroadcastProcessSpec
    | KeyedBroadcastProcessSpec
    | SinkSpec
)
