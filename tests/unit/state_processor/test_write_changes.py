"""Savepoints made of others: operators renamed, copied and left out, entries changed and given to other keys."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from riverrun.api.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from riverrun.checkpoint.metadata_file import MetadataFile, encode
from riverrun.protocol.snapshots import ChannelSnapshot
from riverrun.serde.types import Types
from riverrun.state_processor.names import AmbiguousName, NotInSavepoint
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.writer import SavepointWriter
from riverrun.state_processor.writing.entries import StateRow
from riverrun.state_processor.writing.refusals import DuplicateKey, RowRefused, WriteRefused
from riverrun.storage.blobs import InlineBlob
from riverrun.storage.storage import FileCorrupt
from tests.unit.state_processor.writing_checks import contents, items

TOTALS = {f"key {number}": number for number in range(50)}
LISTS = {f"key {number}": [number, number + 1] for number in range(50)}
MAPS = {f"key {number}": {"a": number, "b": -number} for number in range(50)}


@pytest.fixture
def first(tmp_path: Path) -> str:
    """A savepoint with two operators."""
    writer = SavepointWriter.new_savepoint()
    writer.with_keyed_state("one", ValueStateDescriptor("total", Types.LONG()), TOTALS.items())
    writer.with_keyed_state("one", ListStateDescriptor("list", Types.LONG()), LISTS.items())
    writer.with_keyed_state("one", MapStateDescriptor("map"), MAPS.items())
    writer.with_list_state("two", "items", [1, 2, 3])
    writer.with_broadcast_state("two", "rules", {"x": 1}, Types.STRING(), Types.LONG())
    return writer.write(tmp_path / "first")


def changed(first: str, change: Callable[[SavepointWriter], Any]) -> str:
    writer = SavepointWriter.from_existing_savepoint(first)
    change(writer)
    return writer.write(Path(first).parent / "second")


def flat(parts: list[list[Any]]) -> list[Any]:
    return [item for part in parts for item in part]


def assert_as_it_was(savepoint: str, one: str = "one", two: str = "two") -> None:
    assert contents(savepoint, one, "total") == TOTALS
    assert contents(savepoint, one, "list") == LISTS
    assert contents(savepoint, one, "map") == MAPS
    assert flat(items(savepoint, two, "items")) == [1, 2, 3]
    assert items(savepoint, two, "rules") == [[("x", 1)]] * 4


def test_a_copy_stands_alone_and_its_files_are_links(first: str) -> None:
    second = changed(first, lambda writer: writer)

    assert_as_it_was(second)
    (file,) = Path(first).glob("state/*/total-0.parquet")
    linked = Path(second) / file.relative_to(first)
    assert linked.stat().st_ino == file.stat().st_ino
    shutil.rmtree(first)
    moved = shutil.move(second, f"{second} elsewhere")
    assert_as_it_was(moved)


def test_operators_change_their_uids(first: str) -> None:
    def rename(writer: SavepointWriter) -> None:
        writer.change_operator_identifier("one", "other")
        writer.change_operator_identifier("two", "one")

    second = changed(first, rename)

    assert_as_it_was(second, "other", "one")
    assert {each.uid for each in Savepoint.read(second).saved.values()} == {"other", "one"}


def test_operators_are_copied_within_and_between_savepoints(first: str, tmp_path: Path) -> None:
    second = changed(
        first,
        lambda writer: writer.copy_operator(None, "one", "twin").transform_keyed_state(
            "twin", "total", lambda row: row._replace(value=0)
        ),
    )
    other = SavepointWriter.new_savepoint().with_keyed_state("mine", "total", [("a", 1)])
    other.copy_operator(second, "one", "copied").copy_operator(Savepoint.read(first), "two")
    third = other.write(tmp_path / "third")

    assert contents(second, "twin", "total") == dict.fromkeys(TOTALS, 0)
    assert contents(second, "twin", "map") == MAPS
    assert_as_it_was(second)
    assert_as_it_was(third, "copied")
    assert contents(third, "mine", "total") == {"a": 1}


def test_operators_and_states_are_left_out(first: str) -> None:
    def leave_out(writer: SavepointWriter) -> None:
        writer.remove_operator("two")
        writer.remove_state("one", "list")

    second = changed(first, leave_out)

    assert [each.uid for each in Savepoint.read(second).saved.values()] == ["one"]
    assert contents(second, "one", "list") == {}
    assert contents(second, "one", "map") == MAPS
    assert not list(Path(second).rglob("list-*"))


def test_a_state_is_replaced(first: str) -> None:
    second = changed(
        first,
        lambda writer: writer.remove_state("one", "total").with_keyed_state(
            "one", "total", [("new", "text")]
        ),
    )

    assert contents(second, "one", "total") == {"new": "text"}


def test_rows_are_changed_and_filtered(first: str) -> None:
    def change(writer: SavepointWriter) -> None:
        writer.transform_keyed_state(
            "one", "total", lambda row: row._replace(value=-row.value) if row.value > 9 else None
        )
        writer.transform_keyed_state("one", "total", lambda row: row if row.value > -40 else None)
        writer.transform_keyed_state(
            "one",
            "list",
            lambda row: row._replace(value=[str(row.value)]),
            value_type=Types.STRING(),
        )
        writer.transform_keyed_state(
            "one", "map", lambda row: row if row.map_key == "a" else row._replace(map_key="c")
        )

    second = changed(first, change)

    assert contents(second, "one", "total") == {k: -n for k, n in TOTALS.items() if 9 < n < 40}
    assert contents(second, "one", "list") == {k: [str(each)] for k, each in LISTS.items()}
    assert contents(second, "one", "map") == {
        key: {"a": each["a"], "c": each["b"]} for key, each in MAPS.items()
    }


def test_batches_are_changed_and_filtered(first: str) -> None:
    def positive(batch: pa.RecordBatch) -> pa.RecordBatch:
        assert batch.schema.names == ["key", "value"]
        assert batch.column("value").type == pa.int64()
        doubled = pc.multiply(batch.column("value"), 2)
        return batch.set_column(1, "value", doubled).filter(pc.greater(doubled, 50))

    def as_text(batch: pa.RecordBatch) -> pa.Table:
        texts = batch.column("value").cast(pa.string())
        return pa.Table.from_batches([batch.set_column(1, "value", texts)])

    second = changed(
        first,
        lambda writer: writer.transform_keyed_state(
            "one", "total", positive, batches=True
        ).transform_keyed_state("one", "total", as_text, batches=True, value_type=Types.STRING()),
    )

    assert contents(second, "one", "total") == {k: str(2 * n) for k, n in TOTALS.items() if n > 25}


def test_entries_go_to_other_keys_and_meet_there(first: str) -> None:
    def last_digit(key: str, _value: Any) -> int:
        return int(key[-1])

    def rekey(writer: SavepointWriter) -> None:
        writer.rekey("one", "total", last_digit, lambda a, b: a + b, key_type=Types.LONG())
        writer.rekey("one", "list", last_digit, lambda a, b: sorted(a + b))
        writer.rekey(
            "one",
            "map",
            lambda key, value: (last_digit(key, value), value["a"] % 2),
            lambda a, b: {"a": a["a"] + b["a"], "n": a.get("n", 1) + b.get("n", 1)},
        )

    second = changed(first, rekey)

    alike = {digit: [n for n in TOTALS.values() if n % 10 == digit] for digit in range(10)}
    assert contents(second, "one", "total") == {digit: sum(ns) for digit, ns in alike.items()}
    assert contents(second, "one", "list") == {
        digit: sorted(each for n in ns for each in (n, n + 1)) for digit, ns in alike.items()
    }
    assert contents(second, "one", "map") == {
        (digit, digit % 2): {"a": sum(ns), "n": 5} for digit, ns in alike.items()
    }


def test_what_was_merged_is_what_the_next_change_sees(first: str) -> None:
    second = changed(
        first,
        lambda writer: (
            writer.rekey("one", "total", lambda _key, _value: "all", max)
            .transform_keyed_state("one", "total", lambda row: row._replace(value=row.value + 1))
            .rekey("one", "total", lambda key, value: (key, value))
        ),
    )

    assert contents(second, "one", "total") == {("all", 50): 50}


@pytest.mark.parametrize("state", ["total", "list", "map"])
def test_keys_that_meet_are_refused_unless_they_are_merged(first: str, state: str) -> None:
    with pytest.raises(DuplicateKey, match=r"both have the key 'all', .*; give rekey a function"):
        changed(first, lambda writer: writer.rekey("one", state, lambda _key, _value: "all"))

    assert not (Path(first).parent / "second").exists()


@pytest.mark.parametrize("groups", [1, 3, 200])
def test_key_groups_are_counted_anew(first: str, groups: int) -> None:
    second = changed(first, lambda writer: writer.change_max_parallelism(groups))

    saved = Savepoint.read(second).find("one")
    assert (saved.max_parallelism, saved.parallelism) == (groups, min(groups, 4))
    assert contents(second, "one", "total") == TOTALS
    assert contents(second, "one", "list") == LISTS
    assert contents(second, "one", "map") == MAPS
    assert flat(items(second, "two", "items")) == [1, 2, 3]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda writer: writer.remove_operator("onee"),
            NotInSavepoint,
            "no operator 'onee'; did you mean 'one'",
        ),
        (
            lambda writer: writer.rekey("one", "totl", print),
            NotInSavepoint,
            "operator 'one': it has no keyed state 'totl'; did you mean 'total'",
        ),
        (
            lambda writer: writer.remove_state("two", "itens"),
            NotInSavepoint,
            "operator 'two': it has no state 'itens'; did you mean 'items'",
        ),
        (
            lambda writer: writer.change_operator_identifier("one", "two"),
            WriteRefused,
            "operator 'two': it is in the savepoint already",
        ),
        (
            lambda writer: writer.copy_operator(None, "one"),
            WriteRefused,
            "operator 'one': it is in the savepoint already",
        ),
        (
            lambda writer: writer.transform_keyed_state("one", "total", lambda row: row.value),
            RowRefused,
            "row 0, column 'value': the function gave \\d+; expected a StateRow",
        ),
        (
            lambda writer: writer.transform_keyed_state(
                "one", "total", lambda row: row._replace(key=1)
            ),
            RowRefused,
            "column 'key': the function changed the key from 'key .*' to 1; use rekey",
        ),
        (
            lambda writer: writer.transform_keyed_state(
                "one", "total", lambda row: row._replace(value="text")
            ),
            RowRefused,
            "operator 'one': state 'total': row .*, column 'value': expected an int of 64 bits",
        ),
        (
            lambda writer: writer.transform_keyed_state(
                "one", "map", lambda row: row._replace(map_key=1)
            ),
            DuplicateKey,
            "and the map key 1",
        ),
        (
            lambda writer: writer.transform_keyed_state(
                "one", "total", lambda batch: batch.select(["key"]), batches=True
            ),
            NotInSavepoint,
            "what the function gave: it has no column 'value'",
        ),
        (
            lambda writer: writer.rekey("one", "total", lambda key, value: None),
            RowRefused,
            "column 'key': found None",
        ),
    ],
)
def test_what_cannot_be_done_is_said(
    first: str, change: Callable[[SavepointWriter], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        changed(first, change)

    assert not (Path(first).parent / "second").exists()


def test_a_function_sees_each_entry_of_a_map_once(first: str) -> None:
    rows: list[StateRow] = []

    def see(row: StateRow) -> StateRow:
        rows.append(row)
        return row

    changed(first, lambda writer: writer.transform_keyed_state("one", "map", see))

    assert {(row.key, row.map_key): row.value for row in rows} == {
        (key, map_key): value for key, each in MAPS.items() for map_key, value in each.items()
    }


def test_a_damaged_file_does_not_get_into_another_savepoint(first: str) -> None:
    (file,) = Path(first).glob("state/*/total-0.parquet")
    file.write_bytes(file.read_bytes()[:-1] + b"x")

    with pytest.raises(FileCorrupt, match="was changed or damaged"):
        changed(first, lambda writer: writer)
    assert not (Path(first).parent / "second").exists()


def rewrite(savepoint: str, **changes: Any) -> None:
    """Let `_metadata` say something else."""
    metadata = Savepoint.read(savepoint).checkpoint.metadata
    location = f"{savepoint}/_metadata"
    changed = msgspec.structs.replace(metadata, **changes)
    Path(location).write_bytes(encode(MetadataFile(changed, 0), location))


def without_uids(savepoint: str, names: dict[str, str]) -> None:
    """Let operators have names and no uids, as those of programs that give none."""
    vertices = []
    for vertex in Savepoint.read(savepoint).checkpoint.metadata.vertices:
        (operator,) = vertex.operators
        named = msgspec.structs.replace(operator, uid=None, name=names[operator.uid or ""])
        vertices.append(msgspec.structs.replace(vertex, operators=(named,)))
    rewrite(savepoint, vertices=tuple(vertices))


def test_operators_without_a_uid_are_found_by_their_names(first: str) -> None:
    without_uids(first, {"one": "Sum", "two": "Map"})

    second = changed(
        first,
        lambda writer: writer.change_operator_identifier("Sum", "sum").change_operator_identifier(
            "Map", "map"
        ),
    )

    assert_as_it_was(second, "sum", "map")
    assert {each.uid for each in Savepoint.read(second).saved.values()} == {"sum", "map"}


def test_a_name_that_two_operators_have_is_refused_with_their_ids(first: str) -> None:
    without_uids(first, {"one": "Map", "two": "Map"})

    with pytest.raises(AmbiguousName, match="2 operators have the name 'Map'; give the uid or id"):
        changed(first, lambda writer: writer.remove_operator("Map"))


def test_records_on_their_way_are_refused(first: str) -> None:
    metadata = Savepoint.read(first).checkpoint.metadata
    subtask = msgspec.structs.replace(
        metadata.subtasks[0], channels=(ChannelSnapshot(0, 0, InlineBlob(b"records")),)
    )
    rewrite(first, subtasks=(subtask, *metadata.subtasks[1:]))

    with pytest.raises(WriteRefused, match=r"unaligned checkpoint .* take a savepoint instead"):
        SavepointWriter.from_existing_savepoint(first)
