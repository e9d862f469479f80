"""Which tables a sink takes, makes and changes; what it says of others before data moves."""

from __future__ import annotations

import pickle
import shutil
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from deltalake.exceptions import DeltaError

from riverrun.connectors.lake.delta import DeltaSink
from riverrun.connectors.lake.iceberg import IcebergSink
from riverrun.connectors.lake.settings import LakeSettings
from riverrun.connectors.lake.table_check import TableMismatch
from riverrun.core.errors import ExternalError, ProgramError
from riverrun.serde.instant import Instant
from riverrun.serde.row import Row, RowKind
from riverrun.serde.types import Types
from tests.contract.connectors.lake.conftest import ORDERS, Lake
from tests.contract.connectors.lake.stepwise import context

EVERY_TYPE = Types.ROW_NAMED(
    [
        "flag",
        "small",
        "number",
        "real",
        "text",
        "data",
        "day",
        "at",
        "moment",
        "price",
        "many",
        "of",
    ],
    [
        Types.BOOLEAN(),
        Types.SHORT(),
        Types.LONG(),
        Types.DOUBLE(),
        Types.STRING(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.SQL_DATE(),
        Types.SQL_TIMESTAMP(),
        Types.INSTANT(),
        Types.BIG_DEC(),
        Types.LIST(Types.STRING()),
        Types.MAP(Types.STRING(), Types.LONG()),
    ],
)
FULL = Row(
    flag=True,
    small=-3,
    number=2**40,
    real=0.1,
    text="grüße/%20",
    data=b"\x00\xff",
    day=date(2026, 2, 3),
    at=datetime(2026, 2, 3, 4, 5, 6, 789),  # noqa: DTZ001
    moment=Instant(1_700_000_000, 5000),
    price=Decimal("12.345"),
    many=["a", "b"],
    of={"a": 1},
)
NOTHING = Row(**dict.fromkeys(FULL.as_dict()))


def write(lake: Lake, sink: Any, rows: list[Any], checkpoint: int = 1) -> list[Any]:
    writer = sink.create_writer(context(config=lake.config))
    try:
        writer.open()
        writer.write_run(rows, None)
        prepared: list[Any] = writer.prepare_commit()
    finally:
        writer.close()
    committer = sink.create_global_committer(context(config=lake.config))
    committer.commit(checkpoint, prepared)
    committer.close()
    return prepared


def test_values_of_every_type_come_back(lake: Lake) -> None:
    table = lake.table()
    write(lake, lake.sink(table, EVERY_TYPE), [FULL, NOTHING])
    full, empty = sorted(lake.rows(table).to_pylist(), key=lambda row: row["flag"] is None)
    assert empty == NOTHING.as_dict()
    assert full.pop("moment") == datetime.fromtimestamp(1_700_000_000, UTC).replace(microsecond=5)
    assert dict(full.pop("of")) == {"a": 1}
    assert full == {
        name: value for name, value in FULL.as_dict().items() if name not in {"moment", "of"}
    }


@pytest.mark.parametrize("column", ["flag", "small", "text", "day", "at"])
def test_a_table_may_be_partitioned_by_columns_of_simple_types(lake: Lake, column: str) -> None:
    table = lake.table()
    sink = lake.sink(table, EVERY_TYPE, partition_by=[column])
    prepared = write(lake, sink, [FULL, NOTHING, FULL])
    assert len(prepared) == 2
    found = lake.rows(table).to_pylist()
    assert sorted(row[column] is None for row in found) == [False, False, True]
    assert FULL[column] in [row[column] for row in found]


def test_large_data_is_cut_into_files_of_about_the_target_size(lake: Lake) -> None:
    table = lake.table()
    sink = lake.sink(table, settings=LakeSettings(target_file_size=10_000, compression="none"))
    rows = [Row(id=number, shop=f"shop {number}") for number in range(3000)]
    writer = sink.create_writer(context(config=lake.config))
    writer.open()
    for start in range(0, 3000, 100):
        writer.write_run(rows[start : start + 100], None)
    prepared = writer.prepare_commit()
    writer.close()
    assert 3 <= len(prepared) <= 15
    assert all(file.size < 40_000 for file in prepared)


def test_columns_that_the_table_lacks_are_refused_or_added_as_asked(lake: Lake) -> None:
    table = lake.table()
    write(lake, lake.sink(table), [Row(id=1, shop="a")])
    wider = Types.ROW_NAMED(["id", "price"], [Types.LONG(), Types.DOUBLE()])
    with pytest.raises(TableMismatch, match=r"has no column 'price'.*double.*add_columns"):
        write(lake, lake.sink(table, wider), [Row(id=2, price=0.5)])
    write(
        lake,
        lake.sink(table, wider, settings=LakeSettings(add_columns=True)),
        [Row(id=2, price=0.5)],
    )
    found = sorted(lake.rows(table).to_pylist(), key=lambda row: int(row["id"]))
    assert found == [{"id": 1, "shop": "a", "price": None}, {"id": 2, "shop": None, "price": 0.5}]


def test_columns_of_another_type_are_refused_before_anything_is_written(lake: Lake) -> None:
    table = lake.table()
    write(lake, lake.sink(table), [Row(id=1, shop="a")])
    other = Types.ROW_NAMED(["id", "shop"], [Types.STRING(), Types.STRING()])
    writer = lake.sink(table, other).create_writer(context(config=lake.config))
    with pytest.raises(
        TableMismatch, match=r"'id' of the table is int64; the records have it as string"
    ):
        writer.open()
    narrower = Types.ROW_NAMED(["id", "shop"], [Types.INT(), Types.STRING()])
    write(lake, lake.sink(table, narrower), [Row(id=2, shop="b")])
    assert sorted(lake.rows(table)["id"].to_pylist()) == [1, 2]


def test_a_missing_table_is_an_error_where_it_is_not_to_be_created(lake: Lake) -> None:
    sink = lake.sink(lake.table(), settings=LakeSettings(create=False))
    with pytest.raises(ExternalError, match=r"there is no .*table; create it"):
        sink.create_writer(context(config=lake.config)).open()


def test_rows_that_take_something_back_are_refused(lake: Lake) -> None:
    row = Row(id=1, shop="a")
    row.set_row_kind(RowKind.DELETE)
    with pytest.raises(ProgramError, match="kind DELETE; expected INSERT"):
        write(lake, lake.sink(lake.table()), [row])


def test_numbers_that_do_not_fit_their_column_are_named(lake: Lake) -> None:
    prices = Types.ROW_NAMED(["price"], [Types.BIG_DEC()])
    with pytest.raises(ProgramError, match=r"column 'price': a value of type .* does not fit"):
        write(lake, lake.sink(lake.table(), prices), [Row(price=Decimal("1e-30"))])


def test_a_partition_that_is_no_column_is_refused_when_the_sink_is_made(lake: Lake) -> None:
    with pytest.raises(ProgramError, match="partitioned by 'nope'; expected"):
        lake.sink("x", partition_by=["nope"])


def test_records_without_fields_are_refused_when_the_sink_is_made(lake: Lake) -> None:
    with pytest.raises(ProgramError, match=r"Types.STRING\(\); expected one whose fields"):
        lake.sink("x", Types.STRING())


def test_a_delta_table_that_is_partitioned_otherwise_is_refused(tmp_path: Path) -> None:
    DeltaTable.create(str(tmp_path), pa.schema([("id", pa.int64()), ("shop", pa.string())]))
    sink = DeltaSink(str(tmp_path), ORDERS, partition_by=["shop"])
    with pytest.raises(TableMismatch, match=r"partitioned by \[\], the sink by \['shop'\]"):
        sink.create_writer(context()).open()


def test_a_delta_table_that_is_gone_is_no_empty_table(tmp_path: Path) -> None:
    sink = DeltaSink(str(tmp_path / "gone"), ORDERS)
    with pytest.raises(ExternalError, match="the table is gone"):
        sink.create_global_committer(context()).commit(1, [_file()])


def test_an_unreachable_store_is_named_without_its_secrets(tmp_path: Path) -> None:
    config = {
        "s3.endpoint": "http://127.0.0.1:9",
        "s3.access-key": "me",
        "s3.secret-key": "hush",
        "s3.region": "us-east-1",
        "riverrun.s3.attempts": "1",
    }
    sink = DeltaSink("s3://bucket/table", ORDERS, storage_options={"AWS_SECRET_ACCESS_KEY": "hush"})
    with pytest.raises(
        ExternalError, match="DeltaSink 's3://bucket/table': the table cannot be"
    ) as e:
        sink.create_writer(context(config=config)).open()
    assert "hush" not in str(e.value) + repr(sink) + repr(sink.table(context(config=config)))


def test_a_relative_path_is_that_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sink = DeltaSink("orders", ORDERS)
    monkeypatch.chdir("/")
    assert sink.table(context()).uri == str(tmp_path / "orders")


def test_data_files_that_cannot_be_written_are_an_error_that_names_the_sink(tmp_path: Path) -> None:
    writer = DeltaSink(tmp_path / "orders", ORDERS).create_writer(context())
    writer.open()
    shutil.rmtree(tmp_path / "orders")
    writer.write_run([Row(id=1, shop="a")], None)
    with pytest.raises(ExternalError, match=r"DeltaSink '.*': a data file cannot be written"):
        writer.prepare_commit()
    writer.close()


def test_a_missing_value_of_a_column_that_needs_one_is_named(tmp_path: Path) -> None:
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False), ("shop", pa.string())])
    DeltaTable.create(str(tmp_path / "orders"), Schema.from_arrow(columns))
    writer = DeltaSink(tmp_path / "orders", ORDERS).create_writer(context())
    writer.open()
    with pytest.raises(ProgramError, match=r"DeltaSink '.*': a record does not fit .*'id'"):
        writer.write_run([Row(id=None, shop="a")], None)
    writer.close()


def test_what_a_table_refuses_is_told_by_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = DeltaSink(tmp_path / "orders", ORDERS)
    writer = sink.create_writer(context())
    writer.open()
    writer.write_run([Row(id=1, shop="a")], None)
    prepared = writer.prepare_commit()

    def refuse(*_: Any, **__: Any) -> None:
        raise DeltaError("the table is read only")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", refuse)
    with pytest.raises(ExternalError, match=r"does not take checkpoint 7 .*read only") as refused:
        sink.create_global_committer(context()).commit(7, prepared)
    assert pickle.loads(pickle.dumps(refused.value)).args == refused.value.args


def test_iceberg_partitions_are_transforms_of_columns(tmp_path: Path) -> None:
    catalog = {
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "warehouse": f"file://{tmp_path}",
    }
    sink = IcebergSink(
        "shop.all", EVERY_TYPE, catalog=catalog, partition_by=["day(at)", "bucket(4, text)"]
    )
    prepared = write(Lake(lambda: sink, pa.table, len, list, "iceberg"), sink, [FULL, FULL])
    assert [file.partition for file in prepared] == [(20487, 0)]
    assert "/at_day=2026-02-03/text_bucket=" in prepared[0].path


def _file() -> Any:
    from riverrun.connectors.lake.delta_files import DeltaFile  # noqa: PLC0415

    return DeltaFile("riverrun-x", "part.parquet", 1, 0, {}, "{}")
