"""A source of made-up rows, field by field, as Flink's datagen tables have them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from riverrun.api.functions import RuntimeContext
from riverrun.connectors.arrow_batches import BatchGeneratorSource
from riverrun.connectors.datagen import GeneratorFunction
from riverrun.connectors.generated.arrays import random_maker, sequence_array
from riverrun.connectors.generated.draws import Draws, Longs, salt_of
from riverrun.connectors.generated.fields import FieldGenerator, SequenceField, random_field
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["RowGeneratorSource"]


class RowGeneratorSource(BatchGeneratorSource):
    """Rows whose fields count up or hold random values; made as columns.

    Row ``i`` is the same however often it is made: after a failure the same rows come again. Timestamps
    count from ``start_ms``: row ``i`` is due ``i / rows_per_second`` seconds later (at ``start_ms`` itself
    when there is no rate), and a timestamp lies up to its field's ``max_past`` before that.

    Args:
        fields: what each field holds; a type alone means random values of it.
        number_of_rows: how many rows there are; None: no end, unless a sequence ends.
        rows_per_second: how many rows all subtasks together make a second; None: full speed.
        seed: another seed gives other random values.
        start_ms: when row 0 is due, in milliseconds since 1970; when the source was described, if not given.
    """

    def __init__(
        self,
        fields: Mapping[str, FieldGenerator | TypeInformation],
        number_of_rows: int | None = None,
        rows_per_second: float | None = None,
        *,
        seed: int = 0,
        start_ms: int | None = None,
    ) -> None:
        if not fields:
            raise ValueError("row generator: has no fields; expected one at least")
        checked = {
            name: each if isinstance(each, SequenceField) else random_field(name, each)
            for name, each in fields.items()
        }
        ends = [
            count
            for each in checked.values()
            if isinstance(each, SequenceField) and (count := each.count()) is not None
        ]
        if number_of_rows is not None:
            ends.append(number_of_rows)
        start_us = time.time_ns() // 1000 if start_ms is None else start_ms * 1000
        super().__init__(
            _Rows(checked, seed, start_us, rows_per_second),
            Types.ROW_NAMED(list(checked), [each.type_info for each in checked.values()]),
            min(ends, default=None),
            rows_per_second,
        )
        self.fields, self.seed = checked, seed


class _Rows(GeneratorFunction):
    """Columns of the rows with given indices."""

    def __init__(
        self,
        fields: Mapping[str, FieldGenerator],
        seed: int,
        start_us: int,
        rows_per_second: float | None,
    ) -> None:
        self._fields = dict(fields)
        self._seed = seed
        self._start_us = start_us
        self._step_us = 1_000_000 / rows_per_second if rows_per_second else 0.0
        self._makers: dict[str, Callable[[Longs, Longs], pa.Array]] = {}

    def open(self, runtime_context: RuntimeContext) -> None:
        del runtime_context
        self._makers = {name: self._maker(name, each) for name, each in self._fields.items()}

    def map(self, value: Any) -> Any:
        indices = np.asarray(value, np.int64)
        times = self._start_us + (indices * self._step_us).astype(np.int64)
        return {name: make(indices, times) for name, make in self._makers.items()}

    def close(self) -> None:
        self._makers = {}

    def _maker(self, name: str, field: FieldGenerator) -> Callable[[Longs, Longs], pa.Array]:
        if isinstance(field, SequenceField):
            return lambda indices, _times: sequence_array(field, indices)
        make, salt = random_maker(field), salt_of(self._seed, name)
        return lambda indices, times: make(Draws.of(salt, indices, times))
