"""Two streams side by side, for an operator that reads both and keeps them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

from riverrun.api.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeySelector,
)
from riverrun.api.resolve import Callable1, key_callable
from riverrun.core.errors import ProgramError
from riverrun.datastream.output_types import checked_type
from riverrun.datastream.program import Program
from riverrun.graph.specs import (
    CoFlatMapSpec,
    CoMapSpec,
    CoProcessSpec,
    KeyedCoProcessSpec,
    OperatorSpec,
)
from riverrun.graph.transformations import Transformation, Upstream
from riverrun.serde.infer import return_type_of
from riverrun.serde.type_info import TypeInformation

__all__ = ["ConnectedStreams"]

S = TypeVar("S", bound="OperatorStream")
Type: TypeAlias = TypeInformation | None
Keys: TypeAlias = tuple[Callable1, Type]
"""What gives a record's key, and the type of keys."""


class OperatorStream(Protocol):
    """The stream of an operator's records, as it is seen from here."""

    def _operator(self, method: str) -> Transformation:
        """The operator."""


S_co = TypeVar("S_co", bound=OperatorStream, covariant=True)


class Connectable(Protocol[S_co]):
    """A stream as it is seen from here; ``S_co`` is the kind of stream that its operators give."""

    _program: Program
    _upstream: Upstream

    def _keys(self) -> Keys | None:
        """How the stream is keyed, if it is."""

    def key_by(self, key_selector: KeySelector | Callable1, key_type: Type = None) -> Self:
        """The same records by key."""

    def _then(
        self,
        name: str,
        spec: OperatorSpec,
        output_type: Type,
        *,
        declared: bool = False,
        second: Upstream | None = None,
    ) -> S_co:
        """The stream of a new operator that reads this one, and ``second`` as its second input."""


class ConnectedStreams(Generic[S]):
    """Two streams whose records one operator reads, each with a method of its own.

    What ``stream.connect(other)`` gives. If both are keyed, the two methods share the state and the
    timers of a key.
    """

    def __init__(self, stream1: Connectable[S], stream2: Connectable[S]) -> None:
        self.stream1 = stream1
        self.stream2 = stream2
        check_same_program("connect", stream1, stream2)

    def key_by(
        self,
        key_selector1: KeySelector | Callable1,
        key_selector2: KeySelector | Callable1,
        key_type: Type = None,
    ) -> ConnectedStreams[S]:
        """Both streams by key: records of one key meet in one subtask, whichever stream they are of."""
        first = self.stream1.key_by(key_callable(key_selector1), key_type)
        second = self.stream2.key_by(key_callable(key_selector2), key_type)
        return ConnectedStreams(first, second)

    def map(self, func: CoMapFunction, output_type: Type = None) -> S:
        """One record out for each record of either stream; None is no record."""
        if not isinstance(func, CoMapFunction):
            raise TypeError(
                f"map: got {func!r} on connected streams; expected a CoMapFunction object"
            )
        inferred = agreed_type(func.map1, func.map2)
        return self._add("Co-Map", CoMapSpec(func), "map", output_type, inferred)

    def flat_map(self, func: CoFlatMapFunction, output_type: Type = None) -> S:
        """Any number of records out for each record of either stream."""
        if not isinstance(func, CoFlatMapFunction):
            raise TypeError(
                f"flat_map: got {func!r} on connected streams; expected a CoFlatMapFunction object"
            )
        inferred = agreed_type(func.flat_map1, func.flat_map2, element=True)
        return self._add("Co-Flat Map", CoFlatMapSpec(func), "flat_map", output_type, inferred)

    def process(
        self, func: CoProcessFunction | KeyedCoProcessFunction, output_type: Type = None
    ) -> S:
        """Any number of records out for each record of either stream, with side outputs and clocks.

        Args:
            func: a KeyedCoProcessFunction if both streams are keyed; it has timers, too. Otherwise a
                CoProcessFunction.
            output_type: the type of what it gives.
        """
        name, spec = self._process_spec(func)
        inferred = agreed_type(func.process_element1, func.process_element2, element=True)
        return self._add(name, spec, "process", output_type, inferred)

    def _process_spec(self, func: Any) -> tuple[str, OperatorSpec]:
        if isinstance(func, KeyedCoProcessFunction):
            unkeyed = [
                name
                for name, stream in (("first", self.stream1), ("second", self.stream2))
                if stream._keys() is None  # noqa: SLF001
            ]
            if unkeyed:
                raise TypeError(
                    f"process: got the keyed function {func!r}, but there are no keys on the "
                    f"{' and the '.join(unkeyed)} stream; call key_by(selector1, selector2) on the connected streams, "
                    f"or write a CoProcessFunction"
                )
            return "Co-Keyed-Process", KeyedCoProcessSpec(func)
        if not isinstance(func, CoProcessFunction):
            raise TypeError(
                f"process: got {func!r} on connected streams; expected a CoProcessFunction or "
                f"KeyedCoProcessFunction object"
            )
        return "Co-Process", CoProcessSpec(func)

    def _add(self, name: str, spec: OperatorSpec, method: str, declared: Any, inferred: Type) -> S:
        type_info = inferred if declared is None else checked_type(method, declared)
        return two_inputs(
            "connect",
            (self.stream1, self.stream2),
            name,
            spec,
            type_info,
            declared=declared is not None,
        )


def two_inputs(
    method: str,
    streams: tuple[Connectable[S], Connectable[S]],
    name: str,
    spec: OperatorSpec,
    output_type: Type,
    *,
    declared: bool,
) -> S:
    """The stream of a new operator that reads both streams; it has keys if both do.

    Raises:
        ProgramError: both streams are keyed, by keys of different types.
    """
    first, second = streams
    keys, second_keys = first._keys(), second._keys()  # noqa: SLF001
    keyed: tuple[Callable1 | None, Callable1 | None, Type] = None, None, None
    if keys is not None and second_keys is not None:
        keyed = keys[0], second_keys[0], _key_type(method, keys[1], second_keys[1])
    made = first._then(name, spec, output_type, declared=declared, second=second._upstream)  # noqa: SLF001
    operator = made._operator(name)  # noqa: SLF001
    operator.key_selector, operator.second_key_selector, operator.key_type = keyed
    return made


def check_same_program(method: str, first: Connectable[Any], second: Connectable[Any]) -> None:
    """Refuse streams that cannot meet in one job.

    Raises:
        ProgramError: the streams belong to different environments.
    """
    if first._program is not second._program:  # noqa: SLF001
        raise ProgramError(
            f"{method}: the streams come from different environments; "
            f"make them all with the same StreamExecutionEnvironment"
        )


def agreed_type(
    first: Callable[..., Any], second: Callable[..., Any], *, element: bool = False
) -> Type:
    """The type of what both functions give, where their annotations agree on one.

    A function that gives nothing, which the annotation None says, agrees with any other.
    """
    silent = [_gives_nothing(fn) for fn in (first, second)]
    found = [return_type_of(fn, element=element) for fn in (first, second)]
    if silent[0]:
        return found[1]
    return found[0] if silent[1] or found[0] == found[1] else None


def _gives_nothing(fn: Callable[..., Any]) -> bool:
    return getattr(fn, "__annotations__", {}).get("return", "unknown") in (None, "None")


def _key_type(method: str, first: Type, second: Type) -> Type:
    if first is not None and second is not None and first != second:
        raise ProgramError(
            f"{method}: the first stream has keys of type {first!r}, the second of type {second!r}; "
            f"keys that are to meet need one type: give both key_by() calls the same key type"
        )
    return first if second is not None else None
