"""What a function can remember: state interfaces and the descriptors that ask for them.

Keyed state belongs to the key of the record or timer at hand; list and broadcast state of an
``OperatorStateStore`` belongs to the operator in its subtask.

Nothing and None: ``ValueState.value`` gives None when nothing is set, so ``update(None)`` is ``clear``;
a list refuses None; a map may hold None as a value, which ``contains`` tells from an absent key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from riverrun.api.state_ttl import StateTtlConfig
from riverrun.protocol.snapshots import StateKind
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class State(ABC):
    """What is remembered in one place: for the current key, or for the operator."""

    @abstractmethod
    def clear(self) -> None:
        """Forget it."""


class ValueState(State, Generic[T]):
    """A single value."""

    @abstractmethod
    def value(self) -> T | None:
        """The value, or None if there is none.

        What is changed inside the value counts only after ``update``.
        """

    @abstractmethod
    def update(self, value: T | None) -> None:
        """Set the value; None clears it."""


class AppendingState(State, Generic[IN, OUT]):
    """State that values are added to."""

    @abstractmethod
    def get(self) -> OUT:
        """What the added values make together."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Take in one more value; not None."""


class MergingState(AppendingState[IN, OUT]):
    """Appending state of which two can become one, as session windows need it."""


class ReducingState(MergingState[T, T | None]):
    """One value into which a reduce function folds what is added; ``get`` gives None if there is none."""


class AggregatingState(MergingState[IN, OUT | None]):
    """An accumulator that takes in what is added; ``get`` gives its result, or None if there is none."""


class ListState(MergingState[T, Iterable[T]]):
    """A list; ``get`` gives an iterable that is empty, never None, when there is nothing."""

    @abstractmethod
    def update(self, values: Iterable[T]) -> None:
        """Replace the list; no values clear it. A None among them is refused."""

    @abstractmethod
    def add_all(self, values: Iterable[T]) -> None:
        """Append all of ``values``. A None among them is refused."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class MapState(State, Generic[K, V]):
    """A map; also used like a dict with ``[]``, ``in``, ``del`` and iteration over its keys."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value at ``key``, or None if there is none."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value at ``key``; None is a value."""

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set all the pairs of ``dict_value``."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Delete ``key``; nothing happens if it is not there."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether there is a value, also None, at ``key``."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All pairs."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """All keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """All values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there is no pair."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class ReadOnlyBroadcastState(State, Generic[K, V]):
    """Broadcast state as the records of the other side see it: a map that must not be changed."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value at ``key``, or None if there is none."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether there is a value, also None, at ``key``."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All pairs."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """All keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """All values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there is no pair."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """A map of which every subtask has the same copy, as long as all of them change it alike."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value at ``key``; None is a value."""

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set all the pairs of ``dict_value``."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Delete ``key``; nothing happens if it is not there."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


@runtime_checkable
class Reducer(Protocol):
    """What a ``ReduceFunction`` is to a state."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        """The value so far joined with the next."""


@runtime_checkable
class Aggregator(Protocol):
    """What an ``AggregateFunction`` is to a state."""

    def create_accumulator(self) -> Any:
        """A fresh accumulator."""

    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator with ``value`` taken in."""

    def get_result(self, accumulator: Any) -> Any:
        """The result that ``accumulator`` stands for."""

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Both accumulators in one."""


ReduceLike: TypeAlias = Reducer | Callable[[Any, Any], Any]


class StateDescriptor(ABC):
    """Names a state and says what it holds; the same name in an operator is the same state.

    Attributes:
        name: The name, part of every snapshot.
        type_info: The type of the whole state as PyFlink has it, or None if it is pickled.
        value_type_info: The type of what is stored: the value, one element of a list, one value of a
            map, the accumulator. None means pickled.
        ttl_config: How long entries live, or None for ever.
    """

    kind: ClassVar[StateKind]
    value_type_info: TypeInformation | None

    def __init__(self, name: str, type_info: TypeInformation | None = None) -> None:
        if not isinstance(name, str) or not name:
            raise TypeError(
                f"{type(self).__name__}: the name of the state is {name!r}; expected a str that is not empty"
            )
        self.name = name
        self.type_info = _type(self, "the type", type_info)
        self.value_type_info = self.type_info
        self.ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """The name."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let entries expire as ``ttl_config`` says."""
        if not isinstance(ttl_config, StateTtlConfig):
            raise TypeError(
                f"state {self.name!r}: its time to live is {ttl_config!r}; expected a "
                f"StateTtlConfig, as from StateTtlConfig.new_builder(Time.hours(1)).build()"
            )
        self.ttl_config = ttl_config

    def types(self) -> dict[str, TypeInformation]:
        """Declared types by their role in ``StateMeta.types``; a role left out is pickled."""
        return {} if self.value_type_info is None else {"value": self.value_type_info}

    def __repr__(self) -> str:
        shown = [repr(self.name)]
        shown += [f"{role}={type_info!r}" for role, type_info in self.types().items()]
        if self.ttl_config is not None:
            shown.append(f"ttl={self.ttl_config.ttl_ms} ms")
        return f"{type(self).__name__}({', '.join(shown)})"


class ValueStateDescriptor(StateDescriptor):
    """Asks for a ``ValueState``."""

    kind = StateKind.VALUE

    def __init__(self, name: str, value_type_info: TypeInformation | None = None) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """Asks for a ``ListState`` of elements of ``elem_type_info``."""

    kind = StateKind.LIST

    def __init__(self, name: str, elem_type_info: TypeInformation | None = None) -> None:
        element = _type(self, "the type of its elements", elem_type_info)
        super().__init__(name, None if element is None else Types.LIST(element))
        self.value_type_info = element


class MapStateDescriptor(StateDescriptor):
    """Asks for a ``MapState`` or a ``BroadcastState``."""

    kind = StateKind.MAP

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation | None = None,
        value_type_info: TypeInformation | None = None,
    ) -> None:
        key = _type(self, "the type of its keys", key_type_info)
        value = _type(self, "the type of its values", value_type_info)
        super().__init__(name, None if key is None or value is None else Types.MAP(key, value))
        self.key_type_info = key
        self.value_type_info = value

    def types(self) -> dict[str, TypeInformation]:
        key = {} if self.key_type_info is None else {"map_key": self.key_type_info}
        return {**key, **super().types()}


class ReducingStateDescriptor(StateDescriptor):
    """Asks for a ``ReducingState`` folded by a ``ReduceFunction`` or a callable of two values."""

    kind = StateKind.REDUCING

    def __init__(
        self, name: str, reduce_function: ReduceLike, type_info: TypeInformation | None = None
    ) -> None:
        super().__init__(name, type_info)
        if isinstance(reduce_function, type) or not (
            isinstance(reduce_function, Reducer) or callable(reduce_function)
        ):
            raise TypeError(
                f"state {name!r}: its reduce function is {reduce_function!r}; expected a "
                f"ReduceFunction object or a callable of two values"
            )
        self._reduce_function = reduce_function

    def get_reduce_function(self) -> ReduceLike:
        """The function as it was passed."""
        return self._reduce_function

    @property
    def reduce(self) -> Callable[[Any, Any], Any]:
        """What to call with the value so far and the next one."""
        fn = self._reduce_function
        # Callables come first: those of numpy have a method named reduce, which does another thing.
        return fn if callable(fn) else fn.reduce


class AggregatingStateDescriptor(StateDescriptor):
    """Asks for an ``AggregatingState``; ``state_type_info`` is the type of its accumulator."""

    kind = StateKind.AGGREGATING

    def __init__(
        self, name: str, agg_function: Aggregator, state_type_info: TypeInformation | None = None
    ) -> None:
        super().__init__(name, state_type_info)
        if isinstance(agg_function, type) or not isinstance(agg_function, Aggregator):
            raise TypeError(
                f"state {name!r}: its aggregate function is {agg_function!r}; expected an "
                f"AggregateFunction object"
            )
        self._agg_function = agg_function

    def get_agg_function(self) -> Aggregator:
        """The function as it was passed."""
        return self._agg_function


class OperatorStateStore(ABC):
    """State of the operator in its subtask: it has no key and changes hands when the job is rescaled."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """A map of which every subtask has the same copy."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list whose elements are dealt out to the subtasks after a restart."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list of which every subtask gets all elements of all subtasks after a restart."""


def _type(
    descriptor: StateDescriptor, role: str, type_info: TypeInformation | None
) -> TypeInformation | None:
    if type_info is None or isinstance(type_info, TypeInformation):
        return type_info
    raise TypeError(
        f"{type(descriptor).__name__}: {role} is {type_info!r}; expected a type such as "
        f"Types.STRING(), or None to pickle"
    )
