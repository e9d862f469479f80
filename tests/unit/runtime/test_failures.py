"""A failure names the record that its operator had in hand."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.api.process_functions import KeyedProcessFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ListStateDescriptor, ValueStateDescriptor
from riverrun.runtime.failures import OperatorFailed
from riverrun.serde.types import Types
from riverrun.testing.harness import OperatorHarness


class Keeps(KeyedProcessFunction):
    """Hands state what it does not take."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.number = runtime_context.get_state(ValueStateDescriptor("number", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        kind, kept = value
        if kind == "list":
            self.list.add(kept)
        else:
            ctx.timer_service().register_event_time_timer(kept)


@pytest.mark.parametrize("record", [("list", None), ("timer", "noon")])
def test_the_record_is_the_operators_also_when_state_refuses_something_else(record: Any) -> None:
    build = lambda stream: stream.key_by(lambda value: value[0]).process(Keeps())  # noqa: E731

    with OperatorHarness(build) as harness, pytest.raises(OperatorFailed) as caught:
        harness.push_run([("list", 1), record])

    assert caught.value.record == repr(record)


def test_the_record_of_an_operator_without_user_code_is_its_own() -> None:
    build = lambda stream: stream.key_by(lambda value: value[0]).sum(1)  # noqa: E731

    with OperatorHarness(build) as harness, pytest.raises(OperatorFailed) as caught:
        harness.push_run([("a", 1), ("a", "x")])

    assert caught.value.record is not None
    assert "'x'" in caught.value.record
