"""Every kind of state, typed or not, as any backend left it in a savepoint or checkpoint, as a table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from riverrun.api.windows import TimeWindow
from riverrun.core.errors import ProgramError
from riverrun.serde.key_hash import key_group
from riverrun.serde.types import Types
from riverrun.state_processor.kinds import TableKind
from riverrun.state_processor.names import AmbiguousName, NotInSavepoint
from riverrun.state_processor.savepoint import Savepoint
from tests.unit.state_processor.saved_jobs import (
    FAR,
    KEYS,
    RECORDS,
    RULES,
    Account,
    Saved,
    saved,
)

NUMBERS = {key: [number for of, number in RECORDS if of == key] for key in KEYS}
UNALIGNED = {
    "execution.checkpointing.unaligned.enabled": "true",
    "execution.checkpointing.incremental": "true",
}
WAYS = [
    pytest.param(("hashmap", "savepoint", {}), id="savepoint of hashmap"),
    pytest.param(("rocksdb", "savepoint", {}), id="savepoint of rocksdb"),
    pytest.param(("hashmap", "checkpoint", {}), id="hashmap"),
    pytest.param(("rocksdb", "checkpoint", {}), id="rocksdb"),
    pytest.param(("hashmap", "checkpoint", UNALIGNED), id="hashmap unaligned incremental"),
    pytest.param(("rocksdb", "checkpoint", UNALIGNED), id="rocksdb unaligned incremental"),
]
Make = Callable[..., Saved]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Jobs that ran before are not run again."""

    @cache
    def run(backend: str, typed: bool, more: tuple[tuple[str, str], ...]) -> Saved:
        config = {"state.backend.type": backend, **dict(more)}
        return saved(tmp_path_factory.mktemp("job"), typed=typed, **config)

    return run


@pytest.fixture(params=[True, False], ids=["typed", "untyped"])
def typed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=WAYS)
def savepoint(request: pytest.FixtureRequest, make: Make, typed: bool) -> Savepoint:
    backend, what, config = request.param
    return Savepoint.read(getattr(make(backend, typed, tuple(config.items())), what))


def rows(savepoint: Savepoint, operator: str, state: str, *names: str) -> list[tuple[Any, ...]]:
    """The rows of a state in a fixed order, checked to be the same in Python and in Arrow."""
    table = savepoint.state(operator, state)
    found = list(table.rows())
    assert len(found) == table.count() == table.to_arrow().num_rows
    for row in found:
        if "key" in row:
            assert row["key_group"] == key_group(row["key"], 128)
    return sorted((tuple(row[name] for name in names) for row in found), key=repr)


def arrow(savepoint: Savepoint, operator: str, state: str) -> dict[Any, Any]:
    """Contents by key, as Arrow has them."""
    table = savepoint.state(operator, state).to_arrow()
    name = next(n for n in ("value", "elements") if n in table.column_names)
    return dict(zip(table["key"].to_pylist(), table[name].to_pylist(), strict=True))


def test_all_states_are_what_the_job_had(savepoint: Savepoint, typed: bool) -> None:
    last = {key: numbers[-1] for key, numbers in NUMBERS.items()}
    sums = {key: sum(numbers) for key, numbers in NUMBERS.items()}
    assert dict(rows(savepoint, "everything", "last", "key", "value")) == last
    assert dict(rows(savepoint, "everything", "seen", "key", "elements")) == NUMBERS
    assert dict(rows(savepoint, "everything", "sum", "key", "value")) == sums
    accounts = dict(rows(savepoint, "everything", "account", "key", "value"))
    if typed:
        assert {key: (row.owner, row.balance) for key, row in accounts.items()} == {
            key: (key, number / 2) for key, number in last.items()
        }
    else:
        assert accounts == {key: Account(key, number / 2) for key, number in last.items()}
    assert dict(rows(savepoint, "everything", "mean", "key", "value")) == {
        key: (total, 6) for key, total in sums.items()
    }
    parity = {
        (key, which): number
        for key, number in last.items()
        for which in ("all", "odd" if number % 2 else "even")
    }
    found = rows(savepoint, "everything", "by parity", "key", "map_key", "map_value")
    assert {(key, which): number for key, which, number in found} == parity
    fleeting = rows(savepoint, "everything", "fleeting", "key", "value", "last_used")
    assert {key: value for key, value, _ in fleeting} == last
    now = datetime.now(UTC)
    assert all(abs((now - used).total_seconds()) < 3600 for _, _, used in fleeting)


def test_timers_and_windows_have_times(savepoint: Savepoint) -> None:
    event = rows(savepoint, "everything", "_timers.user.event", "key", "time", "namespace")
    assert event == sorted(((key, 10_000 + n, None) for key, n in RECORDS), key=repr)
    processing = rows(savepoint, "everything", "_timers.user.processing", "key", "time")
    assert processing == [(key, FAR) for key in KEYS]
    window = TimeWindow(0, 1000)
    contents = rows(savepoint, "windows", "_window.contents", "key", "namespace", "value")
    assert contents == [(key, window, (sum(NUMBERS[key]), 6)) for key in KEYS]
    timers = rows(savepoint, "windows", "_timers.window.event", "key", "namespace", "time")
    assert timers == [(key, window, 999) for key in KEYS]
    table = savepoint.state("windows", "_window.contents").to_arrow()
    assert table["namespace"].to_pylist() == [{"start": 0, "end": 1000}] * 10
    assert table["value"].type == pa.struct([("f0", pa.int64()), ("f1", pa.int64())])


def test_operator_state_has_the_items_of_all_subtasks(savepoint: Savepoint) -> None:
    numbers = savepoint.state("remembers", "numbers")
    assert sorted(row["value"] for row in numbers.rows()) == list(range(60))
    assert {row["subtask"] for row in numbers.rows()} == {0, 1}
    assert numbers.to_arrow()["value"].type == pa.int64()
    counts = [row["value"] for row in savepoint.state("remembers", "counts").rows()]
    assert len(counts) == 2
    assert sum(counts) == 60
    rules = savepoint.state("ruled", "rules")
    assert {row["map_key"]: row["map_value"] for row in rules.rows()} == RULES
    splits = savepoint.state("orders", "riverrun.splits").to_arrow()
    assert splits["value"].to_pylist() == [{"file": "orders.log", "offset": 60}]


def test_columns_are_typed_for_analysts(savepoint: Savepoint, typed: bool) -> None:
    for state, content in [
        ("last", pa.int64()),
        ("sum", pa.int64()),
        ("fleeting", pa.int64()),
        ("mean", pa.struct([("f0", pa.int64()), ("f1", pa.int64())])),
    ]:
        table = savepoint.state("everything", state)
        assert table.schema.field("key").type == pa.string()
        assert table.schema.field("key_group").type == pa.int32()
        assert table.schema.field("value").type == content
        assert b"riverrun.encoding" in table.schema.field("value").metadata
    assert savepoint.state("everything", "seen").schema.field("elements").type == pa.list_(
        pa.int64()
    )
    fleeting = savepoint.state("everything", "fleeting")
    assert fleeting.schema.field("last_used").type == pa.timestamp("ms", tz="UTC")
    account = arrow(savepoint, "everything", "account")["k7"]
    assert (account["owner"], account["balance"]) == ("k7", 28.5)
    frame = savepoint.state("everything", "by parity").to_pandas()
    assert list(frame.columns) == ["key_group", "key", "map_key", "map_value"]
    assert frame.map_value.dtype == "int64"
    types = savepoint.state("everything", "last").types
    assert types == ({"key": Types.STRING(), "value": Types.LONG()} if typed else {})


def test_a_key_and_a_key_group_are_found_alone(savepoint: Savepoint) -> None:
    table = savepoint.state("everything", "seen")
    assert [row["elements"] for row in table.where_key("k4").rows()] == [NUMBERS["k4"]]
    assert table.where_key("k4").to_arrow()["key"].to_pylist() == ["k4"]
    assert table.where_key("nobody").to_arrow().num_rows == 0
    half = table.where_key_groups(range(64))
    assert half.count() + table.where_key_groups(range(64, 128)).count() == 10
    assert half.to_arrow().num_rows == half.count() < 10
    group = key_group("k4", 128)
    assert "k4" in table.where_key_groups(group).to_arrow()["key"].to_pylist()
    assert table.where_key_groups(range(64)).where_key_groups(100).count() == 0


def test_batches_have_the_size_that_is_asked_for(savepoint: Savepoint) -> None:
    table = savepoint.state("everything", "_timers.user.event")
    sizes = [batch.num_rows for batch in table.batches(batch_size=7)]
    assert sizes == [7] * 8 + [4]
    whole = pa.Table.from_batches(table.batches(batch_size=7), table.schema)
    assert whole.equals(pa.table(table.reader(batch_size=1000)))
    assert pa.table(table).num_rows == 60


def test_facts_say_what_there_is(savepoint: Savepoint) -> None:
    facts = savepoint.metadata
    assert (facts.job_name, facts.format_version) == ("shop", 1)
    assert facts.vertices[0] == "Source: orders"
    assert facts.bytes > 1000
    operators = {operator.label: operator for operator in savepoint.operators}
    everything = operators["everything"]
    assert (everything.parallelism, everything.max_parallelism) == (2, 128)
    assert everything.name == "all kinds"
    kinds = {state.name: state.kind for state in everything.states}
    assert kinds["mean"] is TableKind.AGGREGATING
    assert kinds["_timers.user.event"] is TableKind.TIMERS
    for operator in savepoint.operators:
        for state in operator.states:
            table = savepoint.state(operator.operator_id, state.name)
            assert table.kind is state.kind
            assert state.rows in (None, table.count())
    if facts.savepoint:
        assert all(state.rows is not None for each in savepoint.operators for state in each.states)


def test_what_a_sink_is_about_to_commit_is_read(make: Make) -> None:
    savepoint = Savepoint.read(make("hashmap", True, ()).first)
    table = savepoint.state("files", "riverrun.committables")
    assert table.kind is TableKind.COMMITTABLES
    assert [row["value"].subtask for row in table.rows()] == [0, 1]
    assert table.to_arrow()["value"].to_pylist()[1]["subtask"] == 1


def test_operators_are_found_by_uid_name_and_id(make: Make) -> None:
    savepoint = Savepoint.read(Path(make("hashmap", True, ()).savepoint) / "_metadata")
    found = savepoint.find("everything")
    assert savepoint.find("all kinds") is found
    assert savepoint.find(found.operator_id) is found
    assert savepoint.find(found.operator_id[:8]) is found
    with pytest.raises(NotInSavepoint, match="no operator 'evrything'; did you mean 'everything'"):
        savepoint.find("evrything")
    with pytest.raises(
        NotInSavepoint, match=r"uid 'everything'.*no state 'las'; did you mean 'last'"
    ):
        savepoint.state("everything", "las")
    found.name = savepoint.find("ruled").name = "twins"
    with pytest.raises(
        AmbiguousName, match=r"2 operators have the name 'twins'.*'everything', 'ruled'"
    ):
        savepoint.find("twins")


def test_state_without_keys_cannot_be_asked_for_a_key(make: Make) -> None:
    savepoint = Savepoint.read(make("hashmap", True, ()).savepoint)
    with pytest.raises(
        ProgramError, match="'numbers' of operator 'remembers': it is operator list"
    ):
        savepoint.state("remembers", "numbers").where_key(1)
    with pytest.raises(ProgramError, match="cannot be a key"):
        savepoint.state("everything", "last").where_key([])
