from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from riverrun.api.functions import MapFunction
from riverrun.core.errors import NotPicklable
from riverrun.graph.partitioning import Custom, Hash
from riverrun.graph.pickling import check_picklable, dumps, loads
from riverrun.graph.specs import MapSpec
from tests.unit.graph.conftest import Program, partition, same

LOCK = threading.Lock()


class Enricher(MapFunction):
    def __init__(self) -> None:
        self.name = "enricher"
        self.conn = threading.Lock()

    def map(self, value: Any) -> Any:
        return value


class Wrapper(MapFunction):
    def __init__(self, inner: Any) -> None:
        self.parts = {"inner": [0, inner]}

    def map(self, value: Any) -> Any:
        return value


@dataclass(frozen=True, slots=True)
class Lookup:
    """A callable whose state is a bare list of field values."""

    lock: Any = field(default_factory=threading.Lock)

    def __call__(self, value: Any) -> Any:
        return value


class Stubborn:
    def __reduce__(self) -> Any:
        raise RuntimeError("not today")

    def __call__(self, value: Any) -> Any:
        return value


class WithoutLock:
    """Leaves its lock at home, as its own business."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __call__(self, value: Any) -> Any:
        return value


def refusal(fn: Any) -> str:
    program = Program()
    program.add(MapSpec(fn), "enrich", program.source("a"))
    with pytest.raises(NotPicklable) as refused:
        check_picklable(program.job_graph())
    assert refused.value.operator == "enrich"
    return refused.value.reason


def capturing(value: Any) -> Callable[[Any], Any]:
    return lambda record: (record, value)


def test_a_program_that_can_travel_passes() -> None:
    program = Program()
    source = program.source("a")
    keyed = partition(source, Hash(lambda value: value[0]))
    program.add(MapSpec(capturing(3)), "m", keyed, key_selector=same)
    program.add(MapSpec(WithoutLock()), "n", source)

    check_picklable(program.job_graph())


def test_an_attribute_is_named_with_its_class() -> None:
    assert refusal(Enricher()) == (
        "attribute 'conn' of Enricher: cannot pickle '_thread.lock' object"
    )


def test_the_innermost_attribute_is_named() -> None:
    assert refusal(Wrapper(Enricher())).startswith("attribute 'conn' of Enricher: ")


def test_an_item_of_a_list_is_named_by_its_place() -> None:
    assert refusal(Wrapper(threading.Lock())).startswith("item 1 of list: ")


def test_a_field_of_a_dataclass_with_slots_is_named() -> None:
    assert refusal(Lookup()).startswith("attribute 'lock' of Lookup: ")


def test_a_captured_variable_is_named() -> None:
    assert refusal(capturing(threading.Lock())).startswith(
        "variable 'value' captured by function '<lambda>': "
    )


def test_an_attribute_behind_a_bound_method_is_named() -> None:
    assert refusal(Enricher().map).startswith("attribute 'conn' of Enricher: ")


def test_an_argument_of_a_partial_is_named() -> None:
    partial = functools.partial(lambda lock, value: (lock, value), threading.Lock())

    assert refusal(partial).startswith("item 0 of partial: ")


def test_a_global_of_a_function_that_travels_by_value_is_named() -> None:
    namespace: dict[str, Any] = {"LOCK": LOCK, "__name__": "__main__"}
    exec("def guarded(value):\n    with LOCK:\n        return value\n", namespace)

    assert refusal(namespace["guarded"]).startswith("global 'LOCK' of function 'guarded': ")


def test_a_class_attribute_of_a_local_class_is_named() -> None:
    class Local:
        lock = LOCK

        def __call__(self, value: Any) -> Any:
            return value

    assert refusal(Local()).startswith("class attribute 'lock' of Local: ")


def test_an_object_that_refuses_by_itself_is_quoted() -> None:
    assert refusal(Stubborn()) == "attribute 'fn' of MapSpec: not today"


def test_functions_that_refer_to_each_other_do_not_hide_the_culprit() -> None:
    lock = threading.Lock()

    def ping(value: int) -> Any:
        return pong(value - 1) if value else lock

    def pong(value: int) -> Any:
        return ping(value - 1)

    assert refusal(ping).startswith("variable 'lock' captured by function 'ping': ")


def test_a_structure_that_is_too_deep_is_refused_not_crashed_on() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]

    assert "recursion" in refusal(capturing(nested))


@pytest.mark.parametrize(
    "make",
    [Hash, lambda fn: Custom(lambda key, _consumers: int(key), fn), lambda fn: Custom(fn, same)],
    ids=["key_by", "selector of partition_custom", "partition_custom"],
)
def test_functions_of_a_partitioning_are_checked_too(make: Callable[[Any], Any]) -> None:
    program = Program()
    program.sink("out", partition(program.source("a"), make(capturing(threading.Lock()))))

    with pytest.raises(NotPicklable) as refused:
        check_picklable(program.job_graph())

    assert refused.value.operator == "Sink: out"
    assert refused.value.reason.startswith("variable 'value' captured by")


def test_key_selectors_of_operators_are_checked_too() -> None:
    program = Program()
    program.map("m", program.source("a"), key_selector=capturing(threading.Lock()))

    with pytest.raises(NotPicklable, match=r"operator 'm'.*variable 'value'"):
        check_picklable(program.job_graph())


def test_lambdas_survive_a_round_trip() -> None:
    again = loads(dumps(capturing(5)))

    assert again(1) == (1, 5)


def test_a_whole_job_graph_survives_a_round_trip() -> None:
    program = Program()
    program.add(MapSpec(capturing(3)), "m", program.source("a"))

    again = loads(dumps(program.job_graph()))

    assert [vertex.name for vertex in again.vertices] == ["Source: a -> m"]
