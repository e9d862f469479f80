"""What operators over two connected streams share: each input has a key of its own, if they have keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from riverrun.api.resolve import key_callable
from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.operator import OperatorContext


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
        return values if self._key is None else self._with_keys(values)

    def _of_second(self, values: list[Any]) -> Iterable[Any]:
        """The values of the second input, each with its key made current, if it has one."""
        key_of = self._second_key
        return values if key_of is None else self._with_keys(values, key_of)
