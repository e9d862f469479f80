"""What operators over two connected streams share: each input has a key of its own, if they have keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from riverrun.api.resolve import key_callable
from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.state.backend import NO_KEY


class CoFunctionOperator(FunctionOperator):
    """Makes the key of a record current, whichever input it comes from."""

    def __init__(self, fn: Any) -> None:
        super().__init__(fn)
        self._second_key: Callable[[Any], Any] | None = None

    def open(self, context: OperatorContext) -> None:
        if context.second_key_selector is not None:
            self._second_key = key_callable(context.second_key_selector)
        super().open(context)

    def _of_first(self, values: list[Any]) -> Iterable[Any]:
        """The values of the first input, each with its key made current, if it has one."""
        return values if self._key is None else self._keyed(values, self._key)

    def _of_second(self, values: list[Any]) -> Iterable[Any]:
        """The values of the second input, each with its key made current, if it has one."""
        return values if self._second_key is None else self._keyed(values, self._second_key)

    def _keyed(self, values: list[Any], key: Callable[[Any], Any]) -> Iterable[Any]:
        backend = self._backend
        assert backend is not None  # noqa: S101  (there where there are keys)
        for value in values:
            backend.key = key(value)
            yield value
        backend.key = NO_KEY
        backend.records_passed(len(values))
