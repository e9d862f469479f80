"""What operators over two connected streams share: each input has a key of its own, if they have keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from riverrun.runtime.operators.function_operators import FunctionOperator
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.runtime.run_keys import KeysOf, run_keys


class CoFunctionOperator(FunctionOperator):
    """Makes the key of a record current, whichever input it comes from."""

    def __init__(self, fn: Any) -> None:
        super().__init__(fn)
        self._second_keys_of: KeysOf | None = None

    def open(self, context: OperatorContext) -> None:
        if context.second_key_selector is not None:
            self._second_keys_of = run_keys(context.second_key_selector)
        super().open(context)

    def _of_first(self, values: list[Any]) -> Iterable[Any]:
        """The values of the first input, each with its key made current, if it has one."""
        return values if self._keys_of is None else self._with_keys(values)

    def _of_second(self, values: list[Any]) -> Iterable[Any]:
        """The values of the second input, each with its key made current, if it has one."""
        keys_of = self._second_keys_of
        return values if keys_of is None else self._with_keys(values, keys_of)
