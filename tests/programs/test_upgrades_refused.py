"""Programs that cannot go on from a savepoint: who is meant, both values and the way out are in the message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.checkpointed import CheckpointedFunction
from riverrun.api.functions import AggregateFunction, FilterFunction
from riverrun.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from riverrun.checkpoint.saved_operators import RestoreRefused
from riverrun.core.errors import JobFailed
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.composite_types import DataclassTypeInfo
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types
from tests.programs.test_upgrades import ruled
from tests.programs.upgrade_jobs import (
    NOTHING,
    PER_KEY,
    TOTALS,
    Build,
    Fold,
    Versions,
    add_one,
    counted,
    first_version,
    key_of,
    records,
)

HALF = PER_KEY // 2
LEAVE_OUT = "or leave the state out with --allowNonRestoredState"
BY_PLACE = "an operator without a uid is found by its place in the program, and that has changed"


@pytest.fixture
def versions(tmp_path: Path) -> Versions:
    return Versions(tmp_path)


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the first version, in the middle of its records."""
    return Versions(tmp_path_factory.mktemp("first")).stop_at(HALF, first_version)


def refused(versions: Versions, build: Build, savepoint: str, parallelism: int = 3) -> str:
    """What is said at submission: no job was made."""
    with pytest.raises(RestoreRefused) as caught:
        versions.start(build, parallelism, start_from=savepoint, config=NOTHING)
    return str(caught.value)


def failed(versions: Versions, build: Build, savepoint: str) -> str:
    """What is said by the task that asks for the state; nothing came out, and nobody tries again."""
    restarts = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    env, client = versions.start(build, 3, start_from=savepoint, config=restarts)
    with env, pytest.raises(JobFailed) as caught:
        client.get_job_execution_result().result(30)
    assert len(client.get_failures()) == 1
    return str(caught.value)


# operators


def count_with(uid: str | None) -> Build:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        counts = records(env).key_by(key_of).process(counted()).name("count")
        return counts if uid is None else counts.uid(uid)

    return build


def test_state_of_an_operator_that_is_gone(versions: Versions, savepoint: str) -> None:
    said = refused(versions, lambda env: records(env).map(list), savepoint)

    assert said == (
        f"checkpoint 1 of job 'spend': holds state of operator 'count' (uid 'count', in "
        f"'count -> Map -> Sink: CommitSink'), which the program does not have; call uid('count') on the "
        f"operator that shall take it over; {LEAVE_OUT}"
    )


@pytest.mark.parametrize(
    ("uid", "has"), [("counting", "uid 'counting'"), (None, "no uid")], ids=["other", "none"]
)
def test_an_operator_with_another_uid_is_named(
    versions: Versions, savepoint: str, uid: str | None, has: str
) -> None:
    said = refused(versions, count_with(uid), savepoint)

    assert "holds state of operator 'count' (uid 'count', " in said
    assert f"; call uid('count') on operator 'count', which has {has} now; {LEAVE_OUT}" in said
    assert versions.finish(count_with("count"), start_from=savepoint) == TOTALS


def anonymous(*before: Callable[[DataStream], DataStream], uid_hash: str | None = None) -> Build:
    """Counts without a uid, behind other operators."""

    def build(env: StreamExecutionEnvironment) -> DataStream:
        stream = records(env)
        for step in before:
            stream = step(stream)
        counts = stream.key_by(key_of).process(counted()).name("count")
        return counts if uid_hash is None else counts.set_uid_hash(uid_hash)

    return build


def test_an_operator_without_a_uid_that_has_moved_is_found_with_the_help_of_the_message(
    versions: Versions,
) -> None:
    savepoint = versions.stop_at(HALF, anonymous())

    said = refused(versions, anonymous(lambda stream: stream.map(lambda r: r)), savepoint)

    assert "holds state of operator 'count' (no uid, id '" in said
    assert f"and the program has operator 'Map' in its place: {BY_PLACE}; " in said
    uid_hash = said.partition("call set_uid_hash('")[2].partition("')")[0]
    assert said.endswith(
        f"call set_uid_hash('{uid_hash}') on operator 'count' and uid(...) on operator 'Map'"
    )
    told = anonymous(lambda stream: stream.map(lambda r: r).uid("new"), uid_hash=uid_hash)
    assert versions.finish(told, 3, start_from=savepoint) == TOTALS


def test_an_operator_without_a_uid_whose_place_is_empty_is_found_in_the_same_way(
    versions: Versions,
) -> None:
    savepoint = versions.stop_at(HALF, anonymous())

    said = refused(
        versions, anonymous(lambda stream: stream.map(lambda r: r).uid("new")), savepoint
    )

    uid_hash = said.partition("call set_uid_hash('")[2].partition("')")[0]
    assert f"which the program does not have; {BY_PLACE}: call " in said
    assert f"('{uid_hash}') on operator 'count', which has no uid now; {LEAVE_OUT}" in said
    told = anonymous(lambda stream: stream.map(lambda r: r).uid("new"), uid_hash=uid_hash)
    assert versions.finish(told, 3, start_from=savepoint) == TOTALS


def test_another_max_parallelism(versions: Versions, savepoint: str) -> None:
    def wider(env: StreamExecutionEnvironment) -> DataStream:
        counts = records(env).key_by(key_of).process(counted()).uid("count").name("count")
        return counts.set_max_parallelism(256)

    assert refused(versions, wider, savepoint) == (
        "operator 'count' (uid 'count'): has max parallelism 256, its keyed state was saved with 128, and "
        "key groups cannot be counted anew; set its max parallelism to 128 with set_max_parallelism(128), "
        "or write the savepoint anew with SavepointWriter.change_max_parallelism"
    )


def test_a_stream_that_has_no_key_any_more(versions: Versions, savepoint: str) -> None:
    def keyless(env: StreamExecutionEnvironment) -> DataStream:
        return records(env).map(list).uid("count").name("told")

    assert refused(versions, keyless, savepoint) == (
        "operator 'told' (uid 'count'): the checkpoint holds keyed state of it ('count'), and in the program "
        "its stream has no key; put key_by before it as it was, or give it another uid and leave the "
        "state out with --allowNonRestoredState"
    )


def test_another_type_of_keys(versions: Versions) -> None:
    def keyed_by(key_type: TypeInformation) -> Build:
        def build(env: StreamExecutionEnvironment) -> DataStream:
            kind = str if key_type == Types.STRING() else int
            keyed = records(env).key_by(lambda record: kind(record[0]), key_type)
            return keyed.process(counted()).uid("count").name("count")

        return build

    savepoint = versions.stop_at(HALF, keyed_by(Types.INT()))

    said = refused(versions, keyed_by(Types.STRING()), savepoint)

    assert said == (
        "operator 'count' (uid 'count'): its keyed state 'count' was saved with keys of type Types.INT(), "
        "and in the program its keys are Types.STRING(): state of type Types.INT() cannot become "
        "Types.STRING(): they have nothing in common; key the stream by what it was keyed by, or give "
        "the operator another uid to begin anew"
    )
    assert versions.finish(keyed_by(Types.LONG()), 3, start_from=savepoint) == TOTALS


def test_another_type_of_broadcast_state_is_found_at_submission(versions: Versions) -> None:
    savepoint = versions.stop_at(HALF, ruled(Types.LONG(), Types.LONG()))

    said = refused(versions, ruled(Types.LONG(), Types.STRING()), savepoint)

    assert "state 'rules': the values in the checkpoint do not fit the declared type" in said
    assert "state of type Types.LONG() cannot become Types.STRING()" in said
    assert "declare a type that they can become, or give the state another name" in said


# states: what a function asks for is known when its task opens it


def in_state(fold: Fold) -> Build:
    return lambda env: records(env).key_by(key_of).process(fold).uid("fold").name("fold")


def value_of(type_info: TypeInformation | None, value: Any = 1) -> Build:
    described = ValueStateDescriptor("state", type_info)
    return in_state(Fold("get_state", described, lambda s, _: s.update(value), lambda _: None))


@dataclass
class Spend:
    """As the first version has it."""

    total: int


FirstSpend = Spend


@dataclass
class Spend:  # type: ignore[no-redef]
    """As the second version has it: the new field has no default."""

    total: int
    currency: str


FIRST_SPEND = DataclassTypeInfo(FirstSpend, [Types.LONG()])
SECOND_SPEND = DataclassTypeInfo(Spend, [Types.LONG(), Types.STRING()])


@pytest.mark.parametrize(
    ("old", "value", "new", "words"),
    [
        (
            Types.LONG(),
            1,
            Types.INT(),
            "Types.LONG() cannot become Types.INT(): numbers would not fit",
        ),
        (
            Types.LONG(),
            1,
            Types.DOUBLE(),
            "Types.LONG() cannot become Types.DOUBLE(): numbers would not be exact",
        ),
        (
            Types.STRING(),
            "a",
            Types.LONG(),
            "Types.STRING() cannot become Types.LONG(): they have nothing in common",
        ),
        (
            Types.TUPLE([Types.LONG()]),
            (1,),
            Types.TUPLE([Types.LONG(), Types.LONG()]),
            "there were 1 fields and are 2, and fields of a tuple have no names",
        ),
        (None, "text", Types.LONG(), "'text'"),
        (
            FIRST_SPEND,
            FirstSpend(1),
            SECOND_SPEND,
            "field 'currency' is new, has no default and cannot be None",
        ),
    ],
    ids=["narrower", "inexact", "other", "tuple", "pickled", "field without a default"],
)
def test_a_type_that_the_values_cannot_become(
    versions: Versions,
    monkeypatch: pytest.MonkeyPatch,
    old: TypeInformation | None,
    value: Any,
    new: TypeInformation,
    words: str,
) -> None:
    monkeypatch.setitem(globals(), "Spend", FirstSpend)
    savepoint = versions.stop_at(HALF, value_of(old, value))
    monkeypatch.undo()

    said = failed(versions, value_of(new), savepoint)

    assert "operator 'fold'" in said
    assert "state 'state': the values in the checkpoint do not fit the declared type" in said
    assert words in said
    assert (
        "declare a type that they can become, or give the state another name to begin it anew"
        in said
    )


class Last(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_b


FOLDS = {
    "value": lambda: Fold("get_state", ValueStateDescriptor("state"), add_one, lambda _: None),
    "list": lambda: Fold(
        "get_list_state", ListStateDescriptor("state"), lambda s, n: s.add(n), lambda _: None
    ),
    "reducing": lambda: Fold(
        "get_reducing_state",
        ReducingStateDescriptor("state", lambda a, b: a + b),
        lambda s, n: s.add(n),
        lambda _: None,
    ),
    "aggregating": lambda: Fold(
        "get_aggregating_state",
        AggregatingStateDescriptor("state", Last()),
        lambda s, n: s.add(n),
        lambda _: None,
    ),
}


@pytest.mark.parametrize(
    ("old", "new"), [("reducing", "aggregating"), ("value", "list"), ("list", "reducing")]
)
def test_another_kind_of_state(versions: Versions, old: str, new: str) -> None:
    savepoint = versions.stop_at(HALF, in_state(FOLDS[old]()))

    said = failed(versions, in_state(FOLDS[new]()), savepoint)

    assert (
        f"operator 'fold': state 'state' was restored as {old} state and is asked for as {new} state; "
        f"ask for it as it was, or give the new state another name"
    ) in said


class Kept(FilterFunction, CheckpointedFunction):
    """Keeps numbers in a list of the operator."""

    def __init__(self, *, union: bool, type_info: TypeInformation | None = None) -> None:
        self._union, self._type = union, type_info

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        ask = store.get_union_list_state if self._union else store.get_list_state
        self._kept = ask(ListStateDescriptor("kept", self._type))

    def snapshot_state(self, context: Any) -> None:
        self._kept.update([1])

    def filter(self, value: Any) -> bool:
        return True


def kept(**how: Any) -> Build:
    return lambda env: records(env).filter(Kept(**how)).uid("kept").name("kept").map(list)


def test_a_list_that_is_dealt_out_in_another_way(versions: Versions) -> None:
    savepoint = versions.stop_at(HALF, kept(union=False))

    said = failed(versions, kept(union=True), savepoint)

    assert (
        "operator 'kept': operator state 'kept' was written as split state and is asked for as union "
        "state; ask for it as it was, or give the new state another name"
    ) in said


def test_another_type_of_a_list_of_the_operator(versions: Versions) -> None:
    savepoint = versions.stop_at(HALF, kept(union=False, type_info=Types.LONG()))

    said = failed(versions, kept(union=False, type_info=Types.STRING()), savepoint)

    assert "operator 'kept': state 'kept': the values in the checkpoint do not fit" in said
    assert "state of type Types.LONG() cannot become Types.STRING()" in said


def test_a_savepoint_is_as_good_as_before_after_it_was_refused(
    versions: Versions, savepoint: str
) -> None:
    before = {path: path.read_bytes() for path in Path(savepoint).rglob("*") if path.is_file()}

    refused(versions, lambda env: records(env).map(list), savepoint)

    assert {
        path: path.read_bytes() for path in Path(savepoint).rglob("*") if path.is_file()
    } == before
    assert versions.finish(first_version, 5, start_from=savepoint) == TOTALS
