"""Say how the state of an operator is made from data by a function: ``bootstrap(data).key_by(...)``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from riverrun.api.functions import KeySelector
from riverrun.serde.type_info import TypeInformation
from riverrun.state_processor.bootstrap_functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)

__all__ = [
    "BootstrapTransformation",
    "KeyedOperatorData",
    "OperatorData",
    "OperatorTransformation",
    "bootstrap",
]

Selector: TypeAlias = KeySelector | Callable[[Any], Any]
AnyBootstrapFunction: TypeAlias = (
    KeyedStateBootstrapFunction | StateBootstrapFunction | BroadcastStateBootstrapFunction
)


@dataclass(frozen=True, slots=True)
class BootstrapTransformation:
    """Data and the function that makes state of it; ``SavepointWriter.with_operator`` takes it."""

    data: Any
    function: AnyBootstrapFunction
    selector: Selector | None = None
    key_type: TypeInformation | None = None


class OperatorData:
    """Data for the state of one operator."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def key_by(
        self, key_selector: Selector, key_type: TypeInformation | None = None
    ) -> KeyedOperatorData:
        """Group the data as the job's own ``key_by`` does; key and type must be the same."""
        return KeyedOperatorData(self._data, key_selector, key_type)

    def transform(
        self, function: StateBootstrapFunction | BroadcastStateBootstrapFunction
    ) -> BootstrapTransformation:
        """Let a function make operator or broadcast state of the data."""
        if not isinstance(function, StateBootstrapFunction | BroadcastStateBootstrapFunction):
            raise TypeError(
                f"transform: the function is {function!r}; expected a StateBootstrapFunction or a "
                f"BroadcastStateBootstrapFunction, or key_by(...) first for a "
                f"KeyedStateBootstrapFunction"
            )
        return BootstrapTransformation(self._data, function)


class KeyedOperatorData:
    """Data for the keyed state of one operator."""

    def __init__(self, data: Any, selector: Selector, key_type: TypeInformation | None) -> None:
        self._data = data
        self._selector = selector
        self._key_type = key_type

    def transform(self, function: KeyedStateBootstrapFunction) -> BootstrapTransformation:
        """Let a function make keyed state, and timers, of the data."""
        if not isinstance(function, KeyedStateBootstrapFunction):
            raise TypeError(
                f"transform: the function is {function!r}; expected a KeyedStateBootstrapFunction, "
                f"or no key_by for operator state"
            )
        return BootstrapTransformation(self._data, function, self._selector, self._key_type)


def bootstrap(data: Any) -> OperatorData:
    """Begin with data: an iterable of values, or a table, each row of which is a ``Row`` with names.

    Tables are Arrow's tables and readers, and the DataFrames of pandas, polars and Spark.
    """
    return OperatorData(data)


class OperatorTransformation:
    """Where Flink's programs begin: ``OperatorTransformation.bootstrap_with(data)`` is ``bootstrap(data)``."""

    @staticmethod
    def bootstrap_with(data: Any) -> OperatorData:
        """Begin with data, as ``bootstrap`` does."""
        return bootstrap(data)
