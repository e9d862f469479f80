"""Runs a bootstrap function over a real state backend, and writes the state that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from riverrun.api.checkpointed import FunctionInitializationContext
from riverrun.api.resolve import key_callable
from riverrun.api.runtime_context import DetachedRuntimeContext, KeyedStateStore
from riverrun.api.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    OperatorStateStore,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from riverrun.api.timer_service import TimerService
from riverrun.core import options
from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import RiverrunError, UserCodeError
from riverrun.core.short_repr import short_repr
from riverrun.protocol.snapshots import KeyedPart, OperatorStatePart, StateMeta
from riverrun.runtime.operators.checkpointed import SnapshotContext
from riverrun.runtime.timer_services import USER_TIMERS, KeyedTimers
from riverrun.serde.row import Row
from riverrun.state.backend import NO_KEY, BackendSettings, KeyedStateBackend
from riverrun.state.backends import create_backend
from riverrun.state.operator_state import OperatorStateBackend
from riverrun.state.parquet.columns import rows_of
from riverrun.state_processor.bootstrap import BootstrapTransformation
from riverrun.state_processor.bootstrap_functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)
from riverrun.state_processor.writing.drafts import MadeList
from riverrun.state_processor.writing.incoming import Incoming, tables_or_values
from riverrun.state_processor.writing.keyed_files import Layout, write_sorted
from riverrun.state_processor.writing.list_files import write_made
from riverrun.state_processor.writing.refusals import RowRefused
from riverrun.storage.snapshot_files import NamedFiles


@dataclass(slots=True)
class Bootstrapped:
    """What a bootstrap left, in files, by subtask."""

    keyed: list[tuple[StateMeta, dict[int, KeyedPart]]] = field(default_factory=list)
    lists: dict[int, list[OperatorStatePart]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a bootstrap runs."""

    uid: str
    layout: Layout
    files: NamedFiles
    scratch: Path
    config: dict[str, str]


def run_bootstrap(given: BootstrapTransformation, place: Place) -> Bootstrapped:
    """Run the function over all data.

    Raises:
        UserCodeError: the function raised.
        RowRefused: a record's key is None.
    """
    function = given.function
    values = _values(Incoming(given.data, f"bootstrap of operator {place.uid!r}"))
    if isinstance(function, KeyedStateBootstrapFunction):
        return _run_keyed(given, function, values, place)
    operator = OperatorStateBackend(place.uid)
    if isinstance(function, StateBootstrapFunction):
        _run_lists(function, values, operator, place)
    else:
        _run_broadcast(function, values, operator, place)
    made = Bootstrapped()
    for meta, how, items in operator.freeze().items():
        parts = write_made(MadeList(meta, items), how, place.layout, place.files)
        for subtask, part in parts.items():
            made.lists.setdefault(subtask, []).append(part)
    return made


class _Runtime(DetachedRuntimeContext):
    """The context of a function that stands for all subtasks of its operator."""

    def __init__(self, place: Place, backend: KeyedStateBackend | None = None) -> None:
        super().__init__(place.uid)
        self._max_parallelism = place.layout.max_parallelism
        self._backend = backend

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._max_parallelism

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        return cast("ValueState[Any]", self._keyed("get_state", state_descriptor))

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return cast("ListState[Any]", self._keyed("get_list_state", state_descriptor))

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        return cast("MapState[Any, Any]", self._keyed("get_map_state", state_descriptor))

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        return cast("ReducingState[Any]", self._keyed("get_reducing_state", state_descriptor))

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        return cast(
            "AggregatingState[Any, Any]", self._keyed("get_aggregating_state", state_descriptor)
        )

    def _keyed(self, method: str, descriptor: Any) -> Any:
        if self._backend is None:
            self._refuse(method, descriptor)
        return self._backend.state(descriptor)


class _KeyedContext(KeyedStateBootstrapFunction.Context):
    def __init__(self, backend: KeyedStateBackend, timers: KeyedTimers) -> None:
        self._backend = backend
        self._timers = timers

    def get_current_key(self) -> Any:
        return self._backend.key

    def timer_service(self) -> TimerService:
        return self._timers


class _ListContext(StateBootstrapFunction.Context, BroadcastStateBootstrapFunction.Context):
    def __init__(self, clock: Clock, operator: OperatorStateBackend) -> None:
        self._clock = clock
        self._operator = operator

    def current_processing_time(self) -> int:
        return self._clock.now()

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        return self._operator.get_broadcast_state(state_descriptor)


class _Initialization(FunctionInitializationContext):
    """A function that starts from nothing."""

    def __init__(self, operator: OperatorStateBackend, runtime: _Runtime) -> None:
        self._operator = operator
        self._runtime = runtime

    def is_restored(self) -> bool:
        return False

    def get_restored_checkpoint_id(self) -> int | None:
        return None

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._operator

    def get_keyed_state_store(self) -> KeyedStateStore:
        return self._runtime


def _run_keyed(
    given: BootstrapTransformation,
    function: KeyedStateBootstrapFunction,
    values: Iterator[Any],
    place: Place,
) -> Bootstrapped:
    clock = SystemClock()
    layout = place.layout
    assert given.selector is not None  # noqa: S101  (the API asks for key_by first)
    key_of = key_callable(given.selector)
    settings = BackendSettings(
        operator=place.uid,
        operator_id=layout.operator_id,
        subtask=0,
        first_group=0,
        last_group=layout.max_parallelism - 1,
        max_parallelism=layout.max_parallelism,
        clock=clock,
        folder=place.scratch / layout.operator_id,
        key_type=given.key_type,
        memory_bytes=options.ROCKSDB_MEMORY.get(place.config),
        options=place.config,
    )
    with closing(create_backend(options.STATE_BACKEND.get(place.config), settings)) as backend:
        context = _KeyedContext(backend, KeyedTimers(clock, backend, USER_TIMERS))

        def process(number: int, value: Any) -> None:
            key = key_of(value)
            if key is None:
                reason = "found None; a key of keyed state cannot be None"
                raise RowRefused(place.uid, "bootstrap", number, "key", reason)
            backend.key = key
            function.process_element(value, context)

        function.open(_Runtime(place, backend))
        try:
            _feed(values, process, place.uid)
        finally:
            function.close()
        backend.key = NO_KEY
        return _written(backend, place)


def _written(backend: KeyedStateBackend, place: Place) -> Bootstrapped:
    frozen = backend.freeze(1, savepoint=True)
    try:
        made = Bootstrapped()
        with closing(frozen.entries()) as blocks:
            for meta, same in groupby(blocks, key=lambda block: block.meta):
                parts = write_sorted(meta, map(rows_of, same), place.layout, place.files)
                made.keyed.append((meta, parts))
        known = {meta.name for meta, _ in made.keyed}
        made.keyed += [(meta, {}) for meta in frozen.states if meta.name not in known]
        return made
    finally:
        frozen.discard()


def _run_lists(
    function: StateBootstrapFunction,
    values: Iterator[Any],
    operator: OperatorStateBackend,
    place: Place,
) -> None:
    clock, runtime = SystemClock(), _Runtime(place)
    context = _ListContext(clock, operator)
    function.initialize_state(_Initialization(operator, runtime))
    function.open(runtime)
    try:
        _feed(values, lambda _, value: function.process_element(value, context), place.uid)
        function.snapshot_state(SnapshotContext(1, clock.now()))
    finally:
        function.close()


def _run_broadcast(
    function: BroadcastStateBootstrapFunction,
    values: Iterator[Any],
    operator: OperatorStateBackend,
    place: Place,
) -> None:
    context = _ListContext(SystemClock(), operator)
    function.open(_Runtime(place))
    try:
        _feed(values, lambda _, value: function.process_element(value, context), place.uid)
    finally:
        function.close()


def _feed(values: Iterator[Any], process: Callable[[int, Any], None], uid: str) -> None:
    for number, value in enumerate(values):
        try:
            process(number, value)
        except RiverrunError:
            raise
        except Exception as error:
            raise UserCodeError(
                f"bootstrap of operator {uid!r}: its function raised at record {number}, "
                f"{short_repr(value)}: {type(error).__name__}: {error}"
            ) from error


def _values(data: Incoming) -> Iterator[Any]:
    """The values; of a table its rows, with names."""
    batches, values = tables_or_values(data)
    if batches is None:
        yield from values
        return
    for batch in batches:
        names = batch.schema.names
        for fields in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            row = Row(*fields)
            row.set_field_names(names)
            yield row
