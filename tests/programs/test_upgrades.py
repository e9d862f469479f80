"""Jobs that stop with savepoints and go on changed: parallelism, backend, operators, types. Totals prove it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.broadcast_functions import BroadcastProcessFunction
from riverrun.api.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.composite_types import DataclassTypeInfo
from riverrun.serde.row import Row
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types
from tests.compatibility.held_source import HeldSource
from tests.compatibility.kept import PROGRAMS
from tests.compatibility.make_corpus import whole
from tests.programs.upgrade_jobs import (
    ALLOW,
    KEYS,
    PER_KEY,
    TOTALS,
    Build,
    Fold,
    Versions,
    counted,
    first_version,
    key_of,
    records,
)

HALF = PER_KEY // 2
OTHER = {"hashmap": "rocksdb", "rocksdb": "hashmap"}


@pytest.fixture
def versions(tmp_path: Path) -> Versions:
    return Versions(tmp_path)


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the first version, in the middle of its records."""
    return Versions(tmp_path_factory.mktemp("first")).stop_at(HALF, first_version)


# parallelism and backend


@pytest.mark.parametrize("first", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("program", ["states", "windows", "columns"])
def test_every_kind_of_state_goes_from_1_to_3_to_2_to_5_and_to_the_other_backend_and_back(
    tmp_path: Path, program: str, first: str
) -> None:
    versions = _Corpus(tmp_path, program)
    savepoint, backend = None, first
    for record, parallelism in ((7, 1), (14, 3), (21, 2)):
        savepoint = versions.stop(record, parallelism, savepoint, backend)
        backend = OTHER[backend]

    assert versions.rows(5, savepoint, backend) == whole(program)


class _Corpus:
    """A program of the compatibility corpus, stopped and continued."""

    def __init__(self, folder: Path, program: str) -> None:
        self._versions = Versions(folder)
        self._results = folder / "results"
        self._program = PROGRAMS[program]

    def stop(self, record: int, parallelism: int, savepoint: str | None, backend: str) -> str:
        return self._versions.stop_at(
            record,
            self._build,
            parallelism,
            start_from=savepoint,
            splits=self._program.SPLITS,
            config={"state.backend.type": backend},
        )

    def rows(self, parallelism: int, savepoint: str | None, backend: str) -> list[str]:
        config = {"state.backend.type": backend}
        found = self._versions.finish(self._build, parallelism, start_from=savepoint, config=config)
        return sorted(json.dumps(row) for row in found)

    def _build(self, env: StreamExecutionEnvironment) -> DataStream:
        rows: DataStream = self._program.rows(env)
        return rows


# operators


def with_more_operators(env: StreamExecutionEnvironment) -> DataStream:
    first = records(env).filter(lambda _: True).map(lambda record: record).uid("passed")
    between = first.map(lambda record: record).uid("between")
    fresh = between.key_by(key_of).process(counted("fresh")).uid("fresh")
    counts = between.key_by(key_of).process(counted()).uid("count")
    return counts.union(fresh.map(lambda row: ["fresh", *row]).uid("told fresh")).map(
        lambda row: row
    )


def with_fewer_operators(env: StreamExecutionEnvironment) -> DataStream:
    return records(env).key_by(key_of).process(counted()).uid("count")


def renamed(env: StreamExecutionEnvironment) -> DataStream:
    passed = records(env).name("payments").map(lambda record: record).uid("passed").name("as is")
    counts = passed.key_by(key_of).process(counted()).uid("count").name("numbering")
    return counts.map(lambda row: row).uid("told").name("tell")


def in_another_order(env: StreamExecutionEnvironment) -> DataStream:
    """What stood behind the count stands before it, and the other way round."""
    told = records(env).map(lambda row: row).uid("told")
    counts = told.key_by(key_of).process(counted()).uid("count")
    return counts.map(lambda record: record).uid("passed")


def not_chained(env: StreamExecutionEnvironment) -> DataStream:
    env.disable_operator_chaining()
    return first_version(env)


def chained_otherwise(env: StreamExecutionEnvironment) -> DataStream:
    passed = records(env).disable_chaining().map(lambda record: record).uid("passed")
    counts = passed.start_new_chain().key_by(key_of).process(counted()).uid("count")
    return counts.start_new_chain().map(lambda row: row).uid("told").disable_chaining()


def of_many_parallelisms(env: StreamExecutionEnvironment) -> DataStream:
    passed = records(env).set_parallelism(1).map(lambda record: record).uid("passed")
    counts = passed.set_parallelism(1).key_by(key_of).process(counted()).uid("count")
    return counts.set_parallelism(3).map(lambda row: row).uid("told").set_parallelism(5)


@pytest.mark.parametrize(
    "second",
    [
        with_fewer_operators,
        renamed,
        in_another_order,
        not_chained,
        chained_otherwise,
        of_many_parallelisms,
    ],
    ids=lambda build: build.__name__,
)
def test_operators_are_found_again_by_their_uids(
    versions: Versions, savepoint: str, second: Build
) -> None:
    assert versions.finish(second, 3, start_from=savepoint) == TOTALS


def test_operators_that_are_new_begin_with_nothing(versions: Versions, savepoint: str) -> None:
    rows = versions.finish(with_more_operators, 3, start_from=savepoint)

    assert [row for row in rows if row[0] != "fresh"] == TOTALS
    assert [row[1:] for row in rows if row[0] == "fresh"] == [
        [key, PER_KEY - HALF] for key in range(KEYS)
    ]


def without_the_count(env: StreamExecutionEnvironment) -> DataStream:
    return records(env).filter(lambda record: record[1] == PER_KEY - 1).map(list)


def test_state_of_an_operator_that_is_gone_may_be_left_behind_and_is_gone_for_good(
    versions: Versions, savepoint: str
) -> None:
    later = versions.stop_at(HALF + 4, without_the_count, start_from=savepoint, config=ALLOW)

    rows = versions.finish(first_version, start_from=later)

    assert rows == [[key, PER_KEY - HALF - 4] for key in range(KEYS)]


def test_operators_without_uids_are_found_while_the_program_keeps_its_shape(
    versions: Versions,
) -> None:
    def anonymous(env: StreamExecutionEnvironment) -> DataStream:
        return records(env).key_by(key_of).process(counted()).name("count")

    def renamed_only(env: StreamExecutionEnvironment) -> DataStream:
        return records(env).key_by(key_of).process(counted()).name("numbering")

    first = versions.stop_at(HALF, anonymous)
    second = versions.stop_at(HALF + 4, anonymous, 3, start_from=first)

    assert versions.finish(renamed_only, 5, start_from=second) == TOTALS


# states


def test_a_state_with_another_name_begins_anew_and_the_old_one_is_kept_for_going_back(
    versions: Versions, savepoint: str
) -> None:
    def with_name(name: str) -> Build:
        return lambda env: records(env).key_by(key_of).process(counted(name)).uid("count")

    second = versions.stop_at(HALF + 4, with_name("total"), 3, start_from=savepoint)
    third = versions.stop_at(
        HALF + 8, with_name("total"), start_from=second, config={"state.backend.type": "rocksdb"}
    )

    back = Versions(Path(third).parent / "back").finish(with_name("count"), 3, start_from=third)
    on = versions.finish(with_name("total"), start_from=third)

    assert on == [[key, PER_KEY - HALF] for key in range(KEYS)]
    assert back == [[key, PER_KEY - 8] for key in range(KEYS)]


@pytest.mark.parametrize("lives_first", [True, False], ids=["switched off", "switched on"])
def test_a_time_to_live_may_be_switched_on_and_off(versions: Versions, lives_first: bool) -> None:
    def build(*, lives: bool) -> Build:
        described = ValueStateDescriptor("count", Types.LONG())
        if lives:
            ttl = StateTtlConfig.new_builder(Time.hours(1)).build()
            described.enable_time_to_live(ttl)
        fold = counted()
        fold._descriptor = described
        return lambda env: records(env).key_by(key_of).process(fold).uid("count")

    first = versions.stop_at(HALF, build(lives=lives_first))

    assert versions.finish(build(lives=not lives_first), 3, start_from=first) == TOTALS


def in_value(type_info: TypeInformation | None, put: Callable[[Any, int], Any]) -> Build:
    """Each record puts what ``put`` makes of the value before it and the number."""
    described = ValueStateDescriptor("state", type_info)

    def put_into(state: Any, number: int) -> None:
        state.update(put(state.value(), number))

    fold = Fold("get_state", described, put_into, lambda state: _plain(state.value()))
    return lambda env: records(env).key_by(key_of).process(fold).uid("fold")


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict()
    if isinstance(value, FirstSpend | SecondSpend):
        return dataclasses.asdict(value)
    return value


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Types.INT(), Types.LONG()),
        (Types.INT(), Types.DOUBLE()),
        (Types.LONG(), Types.BIG_INT()),
        (Types.LONG(), None),
        (None, Types.LONG()),
    ],
    ids=repr,
)
def test_numbers_become_wider(
    versions: Versions, old: TypeInformation | None, new: TypeInformation | None
) -> None:
    def add(value: Any, number: int) -> Any:
        return (value or type(value)() if value is not None else 0) + number

    kind = float if new == Types.DOUBLE() else int
    first = versions.stop_at(HALF, in_value(old, add))
    second = in_value(new, lambda value, number: kind(add(value, number)))

    rows = versions.finish(second, 3, start_from=first, config={"state.backend.type": "rocksdb"})

    assert rows == [[key, sum(range(PER_KEY))] for key in range(KEYS)]


OLD_ROW = Types.ROW_NAMED(["name", "sum", "gone"], [Types.STRING(), Types.INT(), Types.STRING()])
NEW_ROW = Types.ROW_NAMED(["since", "sum", "name"], [Types.LONG(), Types.LONG(), Types.STRING()])


def test_rows_get_and_lose_fields_and_are_taken_over_by_name(versions: Versions) -> None:
    def old(value: Any, number: int) -> Row:
        return Row(name="n", sum=(0 if value is None else value.sum) + number, gone="g")

    def new(value: Any, number: int) -> Row:
        since = number if value.since is None else value.since
        return Row(since=since, sum=value.sum + number, name=value.name)

    first = versions.stop_at(HALF, in_value(OLD_ROW, old))

    rows = versions.finish(in_value(NEW_ROW, new), 3, start_from=first)

    expected = {"since": HALF, "sum": sum(range(PER_KEY)), "name": "n"}
    assert rows == [[key, expected] for key in range(KEYS)]


@dataclass
class Spend:
    """As the first version has it."""

    total: int
    currency: str


FirstSpend = Spend


@dataclass
class Spend:  # type: ignore[no-redef]
    """As the second version has it."""

    total: int
    payments: int = 100


SecondSpend = Spend


def test_a_dataclass_gets_a_field_with_a_default_and_loses_another(
    versions: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = __import__(__name__, fromlist=["Spend"])
    monkeypatch.setattr(module, "Spend", FirstSpend)

    def old(value: Any, number: int) -> Any:
        return FirstSpend((0 if value is None else value.total) + number, "EUR")

    first = versions.stop_at(
        HALF, in_value(DataclassTypeInfo(FirstSpend, [Types.LONG(), Types.STRING()]), old)
    )
    monkeypatch.setattr(module, "Spend", SecondSpend)

    def new(value: Any, number: int) -> Any:
        return SecondSpend(value.total + number, value.payments + 1)

    rows = versions.finish(
        in_value(DataclassTypeInfo(SecondSpend, [Types.LONG(), Types.LONG()]), new),
        3,
        start_from=first,
    )

    expected = {"total": sum(range(PER_KEY)), "payments": 100 + HALF}
    assert rows == [[key, expected] for key in range(KEYS)]


def fold_of(kind: str, type_info: TypeInformation | None) -> Fold:
    match kind:
        case "list":
            listed = ListStateDescriptor("state", type_info)
            return Fold("get_list_state", listed, lambda s, n: s.add(n), sum)
        case "map":
            mapped = MapStateDescriptor("state", type_info, type_info)
            return Fold(
                "get_map_state",
                mapped,
                lambda s, n: s.put(n, n),
                lambda s: sum(s.values()),
            )
        case _:
            reduced = ReducingStateDescriptor("state", lambda a, b: a + b, type_info)
            return Fold("get_reducing_state", reduced, lambda s, n: s.add(n), lambda s: s.get())


@pytest.mark.parametrize(
    ("old", "new"), [(Types.INT(), Types.LONG()), (Types.LONG(), None)], ids=repr
)
@pytest.mark.parametrize("kind", ["list", "map", "reducing"])
def test_what_is_in_lists_maps_and_folds_becomes_wider_too(
    versions: Versions, kind: str, old: TypeInformation, new: TypeInformation | None
) -> None:
    def build(type_info: TypeInformation | None) -> Build:
        fold = fold_of(kind, type_info)
        return lambda env: records(env).key_by(key_of).process(fold).uid("fold")

    first = versions.stop_at(HALF, build(old))

    rows = versions.finish(build(new), 3, start_from=first)

    assert rows == [[key, sum(range(PER_KEY))] for key in range(KEYS)]


class Ruled(BroadcastProcessFunction[Any, Any, Any]):
    """Tells the rules with the last record of each key."""

    def __init__(self, rules: MapStateDescriptor) -> None:
        self._rules = rules

    def process_element(
        self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[Any]:
        if value[1] == PER_KEY - 1:
            yield [value[0], sorted(ctx.get_broadcast_state(self._rules).items())]

    def process_broadcast_element(
        self, value: Any, ctx: BroadcastProcessFunction.Context
    ) -> Iterator[Any]:
        ctx.get_broadcast_state(self._rules)[value[1]] = value[1]
        yield from ()


def ruled(key: TypeInformation | None, value: TypeInformation | None) -> Build:
    """Three rules, which are all there before the first version stops."""
    rules = MapStateDescriptor("rules", key, value)

    def build(env: StreamExecutionEnvironment) -> DataStream:
        source = HeldSource("rules", 1, 3, patient=False)
        broadcast = env.from_source(source, None, "rules").uid("rules").broadcast(rules)
        return records(env).connect(broadcast).process(Ruled(rules)).uid("ruled")

    return build


def test_broadcast_state_becomes_wider(versions: Versions) -> None:
    first = versions.stop_at(HALF, ruled(Types.INT(), Types.INT()))

    rows = versions.finish(ruled(Types.LONG(), Types.DOUBLE()), 3, start_from=first)

    assert rows == [[key, [[0, 0.0], [1, 1.0], [2, 2.0]]] for key in range(KEYS)]


# going back


def with_a_field_and_an_operator_more(env: StreamExecutionEnvironment) -> DataStream:
    def put(state: Any, number: int) -> None:
        before = state.value()
        state.update(Row(sum=before.sum + number, since=before.since or number))

    described = ValueStateDescriptor("state", _WITH_SINCE)
    fold = Fold("get_state", described, put, lambda state: state.value().sum)
    sums = records(env).key_by(key_of).process(fold).uid("fold")
    fresh = records_again(sums).process(counted("fresh")).uid("fresh")
    return sums.union(fresh)


def records_again(stream: DataStream) -> Any:
    """The rows of a stream by their key, so that an operator with state can follow it."""
    return stream.key_by(lambda row: row[0])


_WITH_SINCE = Types.ROW_NAMED(["sum", "since"], [Types.LONG(), Types.LONG()])
_WITHOUT = Types.ROW_NAMED(["sum"], [Types.LONG()])


def test_the_first_version_goes_on_from_a_savepoint_of_the_second(versions: Versions) -> None:
    def put(state: Any, number: int) -> None:
        before = state.value()
        state.update(Row(sum=(0 if before is None else before.sum) + number))

    described = ValueStateDescriptor("state", _WITHOUT)
    fold = Fold("get_state", described, put, lambda state: state.value().sum)

    def version_1(env: StreamExecutionEnvironment) -> DataStream:
        return records(env).key_by(key_of).process(fold).uid("fold")

    first = versions.stop_at(HALF, version_1)
    second = versions.stop_at(HALF + 4, with_a_field_and_an_operator_more, 3, start_from=first)

    rows = versions.finish(version_1, 5, start_from=second, config=ALLOW)

    assert rows == [[key, sum(range(PER_KEY))] for key in range(KEYS)]
