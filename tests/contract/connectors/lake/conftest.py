"""Tables of every kind, each new; the object store is a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from riverrun.api.sink import Sink
from riverrun.connectors.lake.delta import DeltaSink
from riverrun.connectors.lake.iceberg import IcebergSink
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types
from tests.servers.s3 import S3Process, s3_process

ORDERS = Types.ROW_NAMED(["id", "shop"], [Types.LONG(), Types.STRING()])


@dataclass
class Lake:
    """A place for tables of one kind."""

    sink: Callable[..., Sink[Any]]
    """Makes a sink of (table, row type, partition_by=, settings=)."""
    rows: Callable[[str], pa.Table]
    commits: Callable[[str], int]
    """How often data was added to a table."""
    files: Callable[[str], list[str]]
    kind: str
    config: dict[str, str] = field(default_factory=dict)
    """The job's configuration."""

    def table(self) -> str:
        """The name of a table that is not there."""
        return f"orders_{uuid4().hex[:8]}"


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Process]:
    with s3_process() as server:
        yield server


@pytest.fixture(params=["delta", "delta-s3", "iceberg"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    if request.param == "iceberg":
        return iceberg_lake(tmp_path)
    if request.param == "delta":
        return delta_lake(str(tmp_path), {}, {})
    server: S3Process = request.getfixturevalue("s3")
    config = dict(server.config())
    reading = {
        "AWS_ENDPOINT_URL": config["s3.endpoint"],
        "AWS_ACCESS_KEY_ID": "me",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }
    return delta_lake(f"s3://{server.bucket}/lake", config, reading)


def delta_lake(root: str, config: dict[str, str], reading: dict[str, str]) -> Lake:
    def load(table: str) -> Any:
        return DeltaTable(f"{root}/{table}", storage_options=reading or None)

    def sink(table: str, row_type: TypeInformation = ORDERS, **more: Any) -> Sink[Any]:
        return DeltaSink(f"{root}/{table}", row_type, **more)

    def commits(table: str) -> int:
        return sum(each["operation"] == "WRITE" for each in load(table).history())

    return Lake(
        sink=sink,
        rows=lambda table: load(table).to_pyarrow_table(),
        commits=commits,
        files=lambda table: load(table).file_uris(),
        kind="delta",
        config=config,
    )


def iceberg_lake(folder: Path) -> Lake:
    catalog = {
        "type": "sql",
        "uri": f"sqlite:///{folder / 'catalog.db'}",
        "warehouse": f"file://{folder}/warehouse",
    }

    def load(table: str) -> Any:
        with load_catalog("default", **catalog) as loaded:
            return loaded.load_table(f"shop.{table}")

    def sink(table: str, row_type: TypeInformation = ORDERS, **more: Any) -> Sink[Any]:
        return IcebergSink(f"shop.{table}", row_type, catalog=catalog, **more)

    return Lake(
        sink=sink,
        rows=lambda table: load(table).scan().to_arrow(),
        commits=lambda table: len(load(table).metadata.snapshots),
        files=lambda table: load(table).inspect.files()["file_path"].to_pylist(),
        kind="iceberg",
    )
