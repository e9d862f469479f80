"""What all windowed streams have in common: trigger, evictor, lateness, and how the operator is made."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

from riverrun.api.aggregations import Aggregation, aggregation
from riverrun.api.column_aggregates import Aggregate
from riverrun.api.column_folds import RowAggregates
from riverrun.api.column_results import AllWindowRows, WindowRows
from riverrun.api.columns import layout_for
from riverrun.api.evictor import Evictor
from riverrun.api.functions import (
    AggregateFunction,
    AllWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from riverrun.api.output_tag import OutputTag
from riverrun.api.resolve import Callable2, reduce_callable
from riverrun.api.trigger import Trigger
from riverrun.api.window_assigner import MergingWindowAssigner, WindowAssigner
from riverrun.api.window_lengths import Length, milliseconds
from riverrun.core.errors import ProgramError
from riverrun.datastream.column_streams import rows_of
from riverrun.datastream.column_windows import bounds_of, fixed_windows
from riverrun.datastream.output_types import checked_type, output_type_of
from riverrun.datastream.program import Environment, Program
from riverrun.datastream.window_operation import WindowOperationDescriptor
from riverrun.graph.column_specs import ColumnWindowSpec
from riverrun.graph.specs import OperatorSpec, WindowFunctions, WindowSpec
from riverrun.graph.transformations import Transformation, Upstream
from riverrun.serde.columns import ColumnLayout
from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["OperatorStream", "Records", "Windows"]

Type: TypeAlias = TypeInformation | None
Folding: TypeAlias = ReduceFunction | AggregateFunction | Callable2


class OperatorStream(Protocol):
    """The stream of an operator's records, as it is seen from here."""

    def _operator(self, method: str) -> Transformation:
        """The operator."""


S = TypeVar("S", bound=OperatorStream)
S_co = TypeVar("S_co", bound=OperatorStream, covariant=True)


class Records(Protocol[S_co]):
    """A stream as it is seen from here; ``S_co`` is the kind of stream that its operators give."""

    _program: Program

    def get_type(self) -> TypeInformation:
        """The type of the records."""

    def get_execution_environment(self) -> Environment:
        """The environment."""

    def _then(
        self,
        name: str,
        spec: OperatorSpec,
        output_type: Type,
        *,
        declared: bool = False,
        second: Upstream | None = None,
    ) -> S_co:
        """The stream of a new operator that reads this one."""


class Windows(Generic[S]):
    """How windows are made, when they fire, and what happens to late records."""

    _kind: ClassVar[str]
    _keyed: ClassVar[bool]

    def __init__(self, stream: Records[S], window_assigner: WindowAssigner[Any, Any]) -> None:
        if not isinstance(window_assigner, WindowAssigner):
            raise TypeError(
                f"window: got {window_assigner!r}; expected a WindowAssigner object such as "
                f"TumblingEventTimeWindows.of(Time.seconds(5))"
            )
        self._stream = stream
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None
        self._lateness_ms = 0
        self._late_tag: OutputTag | None = None

    def get_execution_environment(self) -> Environment:
        """The environment that this stream belongs to."""
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """The type of the records; Types.PICKLED_BYTE_ARRAY() stands for any Python value."""
        return self._stream.get_type()

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Let windows fire when ``trigger`` says, instead of the assigner's own trigger."""
        if not isinstance(trigger, Trigger):
            raise TypeError(f"trigger: got {trigger!r}; expected a Trigger object")
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise ProgramError(
                f"trigger: windows of {self._assigner!r} may become one, and {trigger!r} cannot merge; "
                f"use a trigger whose can_merge() is true, or windows that do not merge"
            )
        self._trigger = trigger
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Let ``evictor`` take records out of a window before or after its function is called.

        The window then keeps all its records, also for ``reduce`` and ``aggregate``, which fold those
        that are left when it fires.
        """
        if not isinstance(evictor, Evictor):
            raise TypeError(f"evictor: got {evictor!r}; expected an Evictor object")
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: Length) -> Self:
        """Keep windows for so long after their end; a late record in that time makes them fire again."""
        lateness = milliseconds("allowed_lateness", "the time", time_ms)
        if lateness < 0:
            raise ValueError(
                f"allowed_lateness: the time is {lateness!r} ms; expected 0 ms or more"
            )
        if lateness and not self._assigner.is_event_time():
            raise ProgramError(
                f"allowed_lateness: got {lateness!r} ms for windows of {self._assigner!r}, where no "
                f"record is ever late; use windows of event time, or leave it out"
            )
        self._lateness_ms = lateness
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Put records that are too late out under ``output_tag`` instead of dropping them.

        Read them with ``get_side_output(output_tag)`` on the stream of the window's results.
        """
        if not isinstance(output_tag, OutputTag):
            raise TypeError(f"side_output_late_data: got {output_tag!r}; expected an OutputTag")
        if self._late_tag not in (None, output_tag):
            raise ProgramError(
                f"side_output_late_data: late records already go to {self._late_tag!r}, and now to "
                f"{output_tag!r}; call it once"
            )
        self._late_tag = output_tag
        return self

    def sum(self, position_to_sum: int | str = 0) -> S:
        """The window's first record with the field replaced by the sum."""
        return self._aggregated(Aggregation.SUM, position_to_sum)

    def min(self, position_to_min: int | str = 0) -> S:
        """The window's first record with the field replaced by the least."""
        return self._aggregated(Aggregation.MIN, position_to_min)

    def max(self, position_to_max: int | str = 0) -> S:
        """The window's first record with the field replaced by the greatest."""
        return self._aggregated(Aggregation.MAX, position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> S:
        """The window's record with the least field; the first of several."""
        return self._aggregated(Aggregation.MIN_BY, position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> S:
        """The window's record with the greatest field; the first of several."""
        return self._aggregated(Aggregation.MAX_BY, position_to_max_by)

    def aggregate_columns(self, *aggregates: Aggregate) -> S:
        """A row for each window: the columns of its key, its start and end, and the aggregates.

        ``window_start`` and ``window_end`` are milliseconds since 1970; windows that are not of time
        have no such columns. Windows of one size that fire when they are over work on whole columns;
        sessions, counts, and windows with a trigger or an evictor of the program's own fold records one
        by one, with the same results.
        """
        layout = layout_for("aggregate_columns", self._known_type())
        shown = self._key_columns(layout)
        bounds = bounds_of(self._assigner)
        made = rows_of("aggregate_columns", [*shown, *bounds], aggregates, layout)
        fixed = fixed_windows(self._assigner, self._trigger, self._evictor)
        if fixed is None:
            folding = RowAggregates(aggregates, layout)
            names = layout_for("aggregate_columns", made).names
            rows = WindowRows if self._keyed else AllWindowRows
            return self._add(
                folding, rows(names, len(shown), bounds=bool(bounds)), made, declared=True
            )
        spec = ColumnWindowSpec(
            aggregates=aggregates,
            input_type=layout.type_info,
            assigner=fixed,
            allowed_lateness_ms=self._lateness_ms,
            late_tag=None if self._late_tag is None else self._late_tag.tag_id,
            keyed=self._keyed,
        )
        described = ", ".join(aggregate.name for aggregate in aggregates)
        trigger = fixed.get_default_trigger(None)
        result = self._add_operator(spec, fixed, trigger, described, made, declared=True)
        # What is kept in state belongs to key groups, under keys of its own.
        result._operator("window").key_type = None  # noqa: SLF001
        return result

    def _key_columns(self, layout: ColumnLayout) -> list[tuple[str, TypeInformation]]:
        """The columns that show the key; none if there are no keys."""
        del layout
        return []

    def _aggregated(self, kind: Aggregation, position: int | str) -> S:
        return self._reduce(aggregation(kind, position), None, None)

    def _reduce(
        self, folding: ReduceFunction | Callable2, function: WindowFunctions | None, declared: Type
    ) -> S:
        reduce_callable(folding)
        if function is not None:
            return self._build("reduce", folding, function, declared)
        type_info = self._known_type() if declared is None else checked_type("reduce", declared)
        return self._add(folding, None, type_info, declared=declared is not None)

    def _aggregate(
        self,
        folding: AggregateFunction,
        function: WindowFunctions | None,
        accumulator_type: TypeInformation | list[TypeInformation] | None,
        declared: Type,
    ) -> S:
        if isinstance(folding, type) or not isinstance(folding, AggregateFunction):
            raise TypeError(f"aggregate: got {folding!r}; expected an AggregateFunction object")
        if isinstance(accumulator_type, list):
            accumulator_type = RowTypeInfo(accumulator_type)
        if accumulator_type is not None:
            checked_type("aggregate: accumulator_type", accumulator_type)
        if function is not None:
            return self._build("aggregate", folding, function, declared)
        type_info = output_type_of("aggregate", declared, folding.get_result)
        return self._add(folding, None, type_info, declared=declared is not None)

    def _build(
        self, method: str, folding: Folding | None, function: WindowFunctions, declared: Type
    ) -> S:
        if isinstance(function, WindowFunction | AllWindowFunction):
            type_info = output_type_of(method, declared, function.apply, element=True)
        else:
            type_info = output_type_of(method, declared, function.process, element=True)
        return self._add(folding, function, type_info, declared=declared is not None)

    def _add(
        self,
        folding: Folding | None,
        function: WindowFunctions | None,
        type_info: Type,
        *,
        declared: bool,
    ) -> S:
        spec = self._spec(folding, function)
        parts = [part for part in (self._evictor, folding, function) if part is not None]
        names = ", ".join(type(part).__name__ for part in parts)
        return self._add_operator(
            spec, spec.assigner, spec.trigger, names, type_info, declared=declared
        )

    def _add_operator(
        self,
        spec: OperatorSpec,
        assigner: WindowAssigner[Any, Any],
        trigger: Trigger[Any, Any],
        names: str,
        type_info: Type,
        *,
        declared: bool,
    ) -> S:
        described = WindowOperationDescriptor(assigner, trigger, self._lateness_ms, self._late_tag)
        result = self._stream._then(  # noqa: SLF001
            described.generate_op_name(), spec, type_info, declared=declared
        )
        operator = result._operator("window")  # noqa: SLF001
        operator.description = described.generate_op_desc(self._kind, names)
        if self._late_tag is not None:
            self._stream._program.claim_side_output(  # noqa: SLF001
                operator, self._late_tag.tag_id, self._late_tag.type_info
            )
        return self._placed(result, operator)

    def _spec(self, folding: Folding | None, function: WindowFunctions | None) -> WindowSpec:
        trigger = self._trigger
        if trigger is None:
            environment = self._stream._program.environment  # noqa: SLF001
            trigger = self._assigner.get_default_trigger(environment)
        return WindowSpec(
            assigner=self._assigner,
            trigger=trigger,
            aggregate=folding,
            function=function,
            evictor=self._evictor,
            allowed_lateness_ms=self._lateness_ms,
            late_tag=None if self._late_tag is None else self._late_tag.tag_id,
            keyed=self._keyed,
        )

    def _known_type(self) -> Type:
        """The records' type, or None if it stands for any value."""
        type_info = self.get_input_type()
        return None if type_info == Types.PICKLED_BYTE_ARRAY() else type_info

    @abstractmethod
    def _placed(self, result: S, operator: Transformation) -> S:
        """``result`` with what its operator needs to know about keys."""
