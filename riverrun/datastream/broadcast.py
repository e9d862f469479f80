"""Streams whose records every subtask keeps in broadcast state, and streams that read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from riverrun.api.functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from riverrun.api.state import MapStateDescriptor
from riverrun.core.errors import ProgramError
from riverrun.datastream.output_types import checked_type
from riverrun.datastream.program import Program
from riverrun.graph.partitioning import Broadcast
from riverrun.graph.specs import BroadcastProcessSpec, KeyedBroadcastProcessSpec, OperatorSpec
from riverrun.graph.transformations import PartitionTransformation, Upstream
from riverrun.serde.infer import return_type_of
from riverrun.serde.type_info import TypeInformation

__all__ = ["BroadcastConnectedStream", "BroadcastStream"]

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
BroadcastFunction: TypeAlias = (
    BroadcastProcessFunction[Any, Any, Any] | KeyedBroadcastProcessFunction[Any, Any, Any, Any]
)

_KEYED_NAME: Final = "Co-Process-Broadcast-Keyed"
_NAME: Final = "Co-Process-Broadcast"


class Records(Protocol[S_co]):
    """A stream as it is seen from here; ``S_co`` is the kind of stream that its operators give."""

    _program: Program
    _upstream: Upstream

    def _is_keyed(self) -> bool:
        """Whether records have a key."""

    def _then(
        self,
        name: str,
        spec: OperatorSpec,
        output_type: TypeInformation | None,
        *,
        declared: bool = False,
        second: Upstream | None = None,
    ) -> S_co:
        """The stream of a new operator that reads this one, and ``second`` as its second input."""


class BroadcastStream:
    """A stream of which every subtask of the operator that reads it gets all records.

    What ``DataStream.broadcast(descriptor, ...)`` gives; it is only good for ``connect``.
    """

    def __init__(
        self, input_stream: Records[Any], broadcast_state_descriptors: Sequence[MapStateDescriptor]
    ) -> None:
        self.input_stream: Final = input_stream
        self.broadcast_state_descriptors: Final = tuple(broadcast_state_descriptors)
        _check_descriptors(self.broadcast_state_descriptors)


class BroadcastConnectedStream(Generic[S]):
    """A stream and a broadcast stream, to be read by one operator.

    What ``stream.connect(broadcast_stream)`` gives.
    """

    def __init__(
        self,
        non_broadcast_stream: Records[S],
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        if broadcast_stream.input_stream._program is not non_broadcast_stream._program:  # noqa: SLF001
            raise ProgramError(
                "connect: the streams come from different environments; "
                "make them all with the same StreamExecutionEnvironment"
            )
        self._records = non_broadcast_stream
        self._broadcast = broadcast_stream
        self._descriptors = tuple(broadcast_state_descriptors)

    def process(self, func: BroadcastFunction, output_type: TypeInformation | None = None) -> S:
        """Any number of records out for each record in of either side.

        Args:
            func: a KeyedBroadcastProcessFunction if the stream is keyed, else a
                BroadcastProcessFunction.
            output_type: the type of what it gives.
        """
        spec = self._spec(func)
        declared = output_type is not None
        type_info = checked_type("process", output_type) if declared else _inferred(func)
        everything = self._broadcast.input_stream._upstream  # noqa: SLF001
        return self._records._then(  # noqa: SLF001
            _KEYED_NAME if isinstance(spec, KeyedBroadcastProcessSpec) else _NAME,
            spec,
            type_info,
            declared=declared,
            second=PartitionTransformation(everything, Broadcast()),
        )

    def _spec(self, func: BroadcastFunction) -> OperatorSpec:
        if self._records._is_keyed():  # noqa: SLF001
            if isinstance(func, KeyedBroadcastProcessFunction):
                return KeyedBroadcastProcessSpec(func, self._descriptors)
            raise TypeError(
                f"process: got {func!r} on a keyed stream; expected a "
                f"KeyedBroadcastProcessFunction object"
            )
        if isinstance(func, BroadcastProcessFunction):
            return BroadcastProcessSpec(func, self._descriptors)
        raise TypeError(
            f"process: got {func!r} on a stream without keys; expected a BroadcastProcessFunction "
            f"object, or call key_by() before connect()"
        )


def _inferred(func: BroadcastFunction) -> TypeInformation | None:
    """The type of the records of both sides, where the annotations agree on one."""
    broadcast_side: Any = func.process_broadcast_element
    found = return_type_of(func.process_element, element=True)
    if getattr(broadcast_side, "__annotations__", {}).get("return", "unknown") in (None, "None"):
        return found
    return found if found == return_type_of(broadcast_side, element=True) else None


def _check_descriptors(descriptors: tuple[MapStateDescriptor, ...]) -> None:
    names = set()
    for descriptor in descriptors:
        if not isinstance(descriptor, MapStateDescriptor):
            raise TypeError(
                f"broadcast: got {descriptor!r}; expected MapStateDescriptors, which describe the "
                f"broadcast state"
            )
        if descriptor.name in names:
            raise ProgramError(
                f"broadcast: two descriptors have the name {descriptor.name!r}; give each state a "
                f"name of its own"
            )
        names.add(descriptor.name)
