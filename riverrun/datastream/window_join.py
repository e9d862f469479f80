"""Joins and co-groups of two streams by key and window.

Both are windows over one stream: the records of the two, each with a mark of the side that it comes
from. When a window fires, its function takes the two sides apart again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

from riverrun.api.evictor import Evictor
from riverrun.api.function import Function
from riverrun.api.functions import KeySelector
from riverrun.api.join_functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from riverrun.api.output_tag import OutputTag
from riverrun.api.resolve import Callable1, Callable2, key_callable
from riverrun.api.trigger import Trigger
from riverrun.api.window_assigner import WindowAssigner
from riverrun.api.window_lengths import Length
from riverrun.core.errors import ProgramError
from riverrun.datastream.connected import Connectable, check_same_program
from riverrun.datastream.output_types import output_type_of
from riverrun.datastream.program import Environment
from riverrun.datastream.tagged_records import (
    UnionKey,
    WindowCoGroup,
    WindowJoin,
    tag_one,
    tag_two,
    untagged,
)
from riverrun.datastream.windowed import WindowedStream
from riverrun.graph.specs import MapSpec, OperatorSpec, WindowSpec
from riverrun.graph.transformations import Transformation, UnionTransformation, Upstream
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["CoGroupedStreams", "JoinedStreams"]

Type: TypeAlias = TypeInformation | None
Selector: TypeAlias = KeySelector | Callable1
Joining: TypeAlias = JoinFunction[Any, Any, Any] | FlatJoinFunction[Any, Any, Any] | Callable2


class Combinable(Protocol):
    """A stream as it is seen from here."""

    def _operator(self, method: str) -> Transformation:
        """The operator that makes the stream's records."""

    def union(self, *streams: Any) -> Any:
        """The records of all streams."""

    def key_by(self, key_selector: Selector, key_type: Type = None) -> Any:
        """The same records by key."""

    def get_execution_environment(self) -> Environment:
        """The environment."""


S = TypeVar("S", bound=Combinable)
T = TypeVar("T")


class _Pairing(Generic[S]):
    """The records of two streams as one keyed stream, which comes to be with its first operator."""

    def __init__(self, first: Connectable[S], second: Connectable[S], method: str) -> None:
        self.first = first
        self.second = second
        self.method = method
        check_same_program(method, first, second)
        self._program = first._program  # noqa: SLF001
        self.first_key: tuple[Callable1, Type] | None = None
        self.second_key: tuple[Callable1, Type] | None = None

    def keyed(
        self,
        first: tuple[Callable1, Type] | None = None,
        second: tuple[Callable1, Type] | None = None,
    ) -> _Pairing[S]:
        """The same with keys."""
        made = _Pairing(self.first, self.second, self.method)
        made.first_key = first or self.first_key
        made.second_key = second or self.second_key
        return made

    def get_type(self) -> TypeInformation:
        return Types.PICKLED_BYTE_ARRAY()

    def get_execution_environment(self) -> Environment:
        environment = self._program.environment
        if environment is None:
            raise ProgramError("get_execution_environment: these streams were made without one")
        return environment

    def _then(
        self,
        name: str,
        spec: OperatorSpec,
        output_type: Type,
        *,
        declared: bool = False,
        second: Upstream | None = None,
    ) -> S:
        assert self.first_key is not None and self.second_key is not None  # noqa: S101, PT018  (see EqualTo)
        if isinstance(spec, WindowSpec):
            spec = replace(spec, late_value=untagged)
        both = _tagged(self.first, "Tag first", tag_one).union(
            _tagged(self.second, "Tag second", tag_two)
        )
        key = UnionKey(self.first_key[0], self.second_key[0])
        made: S = both.key_by(key, self._key_type())._then(  # noqa: SLF001
            name, spec, output_type, declared=declared, second=second
        )
        return made

    def _key_type(self) -> Type:
        first, second = (
            None if key is None else key[1] for key in (self.first_key, self.second_key)
        )
        return first if second is not None else None


def _tagged(stream: Connectable[S], name: str, tag: Callable1) -> S:
    made = stream._then(name, MapSpec(tag), None)  # noqa: SLF001
    operator = made._operator(name)  # noqa: SLF001
    # In the task of the operator before it, whatever parallelism that has.
    operator.parallelism = _parallelism_of(stream._upstream)  # noqa: SLF001
    return made


def _parallelism_of(upstream: Upstream) -> int | None:
    while not isinstance(upstream, Transformation | UnionTransformation):
        upstream = upstream.input
    if isinstance(upstream, UnionTransformation):
        return None
    return upstream.forced_parallelism or upstream.parallelism


class Where(Generic[S, T]):
    """Two streams of which the first has keys; what ``where`` gives."""

    def __init__(
        self, pairing: _Pairing[S], finish: Callable[[_Pairing[S], WindowAssigner[Any, Any]], T]
    ) -> None:
        self._pairing = pairing
        self._finish = finish

    def equal_to(self, key_selector: Selector, key_type: Type = None) -> EqualTo[S, T]:
        """Give each record of the second stream the key that ``key_selector`` says."""
        key = _checked_key("equal_to", key_selector, key_type)
        assert self._pairing.first_key is not None  # noqa: S101  (made by ``where``)
        first_type, second_type = self._pairing.first_key[1], key[1]
        if first_type is not None and second_type is not None and first_type != second_type:
            raise ProgramError(
                f"{self._pairing.method}: where() gives keys of type {first_type!r}, equal_to() of type "
                f"{second_type!r}; keys that are to be equal need one type"
            )
        return EqualTo(self._pairing.keyed(second=key), self._finish)


class EqualTo(Generic[S, T]):
    """Two streams with keys; what ``equal_to`` gives."""

    def __init__(
        self, pairing: _Pairing[S], finish: Callable[[_Pairing[S], WindowAssigner[Any, Any]], T]
    ) -> None:
        self._pairing = pairing
        self._finish = finish

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> T:
        """Bring records of one key and window together.

        The assigner, and a trigger or evictor, get the records of both streams as ``TaggedUnion``.
        """
        return self._finish(self._pairing, window_assigner)


class _Windowed(Generic[S]):
    """When windows fire, and what happens to late records."""

    def __init__(self, pairing: _Pairing[S], window_assigner: WindowAssigner[Any, Any]) -> None:
        self._windows: WindowedStream[S] = WindowedStream(pairing, window_assigner)

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Let windows fire when ``trigger`` says, instead of the assigner's own trigger."""
        self._windows.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Let ``evictor`` take records out of a window before or after its function is called."""
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: Length) -> Self:
        """Keep windows for so long after their end; a late record in that time makes them fire again."""
        self._windows.allowed_lateness(time_ms)
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Put records of either stream that are too late out under ``output_tag``, as they came."""
        self._windows.side_output_late_data(output_tag)
        return self


class WindowedJoin(_Windowed[S]):
    """A join that only lacks its function; what ``window`` gives."""

    def apply(self, function: Joining, output_type: Type = None) -> S:
        """Call the function for each pair of records of one key and window.

        Args:
            function: a JoinFunction or a callable, which gives one record, or a FlatJoinFunction,
                which gives any number. A record without a partner in its window gives nothing.
            output_type: the type of what it gives.
        """
        flat = isinstance(function, FlatJoinFunction)
        bare = _join_callable(function)
        type_info = output_type_of("apply", output_type, bare, element=flat)
        return self._windows._add(  # noqa: SLF001
            None, WindowJoin(function), type_info, declared=output_type is not None
        )


class WindowedCoGroup(_Windowed[S]):
    """A co-group that only lacks its function; what ``window`` gives."""

    def apply(self, function: CoGroupFunction[Any, Any, Any], output_type: Type = None) -> S:
        """Call the function for each key and window with the records of both streams.

        One of the two may be empty; so outer joins can be written.
        """
        if not isinstance(function, CoGroupFunction):
            raise TypeError(f"apply: got {function!r}; expected a CoGroupFunction object")
        type_info = output_type_of("apply", output_type, function.co_group, element=True)
        return self._windows._add(  # noqa: SLF001
            None, WindowCoGroup(function), type_info, declared=output_type is not None
        )


class JoinedStreams(Generic[S]):
    """Two streams to be joined by key and window; what ``a.join(b)`` gives.

    ``a.join(b).where(key_of_a).equal_to(key_of_b).window(assigner).apply(function)``
    """

    def __init__(self, input1: Connectable[S], input2: Connectable[S]) -> None:
        self._pairing = _Pairing(input1, input2, "join")

    def where(self, key_selector: Selector, key_type: Type = None) -> Where[S, WindowedJoin[S]]:
        """Give each record of the first stream the key that ``key_selector`` says."""
        key = _checked_key("where", key_selector, key_type)
        return Where(self._pairing.keyed(first=key), WindowedJoin)


class CoGroupedStreams(Generic[S]):
    """Two streams to be grouped by key and window; what ``a.co_group(b)`` gives.

    ``a.co_group(b).where(key_of_a).equal_to(key_of_b).window(assigner).apply(function)``
    """

    def __init__(self, input1: Connectable[S], input2: Connectable[S]) -> None:
        self._pairing = _Pairing(input1, input2, "co_group")

    def where(self, key_selector: Selector, key_type: Type = None) -> Where[S, WindowedCoGroup[S]]:
        """Give each record of the first stream the key that ``key_selector`` says."""
        key = _checked_key("where", key_selector, key_type)
        return Where(self._pairing.keyed(first=key), WindowedCoGroup)


def _checked_key(method: str, selector: Selector, key_type: Type) -> tuple[Callable1, Type]:
    bare = key_callable(selector)
    return bare, output_type_of(method, key_type, bare)


def _join_callable(function: Any) -> Callable2:
    if isinstance(function, JoinFunction | FlatJoinFunction):
        return function.join
    if isinstance(function, Function | type) or not callable(function):
        raise TypeError(
            f"apply: got {function!r}; expected a JoinFunction or FlatJoinFunction object, or a "
            f"callable that takes a record of each stream"
        )
    return function  # type: ignore[no-any-return]  # callable(), as far as mypy can follow it
