"""The files of a savepoint are read by tools that know nothing of riverrun, and all see the same rows."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd  # type: ignore[import-untyped]
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from riverrun.state.interchange import iterate
from riverrun.storage.local import LocalStorage
from riverrun.storage.savepoint_files import SavedSavepointFiles
from tests.unit.state.parquet.sample_savepoint import (
    GROUPS,
    KEYS,
    NOW,
    OPERATOR,
    STATES,
    rows,
    sorted_rows,
    write_savepoint,
)

ROOT = Path(__file__).parents[4]
MOMENT = datetime.fromtimestamp(NOW / 1000, UTC).replace(microsecond=NOW % 1000 * 1000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("savepoint") / "savepoint-1"
    write_savepoint(made)
    return made


def expected(state: str) -> list[dict[str, Any]]:
    """The rows with the time of last use as a moment, and with no strays."""
    found = rows(state)
    for row in found:
        if "last_used" in row:
            row["last_used"] = MOMENT
        row["pickled"] = None
    return found


def test_each_subtask_has_a_file_for_each_state(folder: Path) -> None:
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet"))
    assert found == sorted(
        f"state/{OPERATOR}/{state}-{subtask}.parquet" for state in STATES for subtask in (0, 1)
    )


@pytest.mark.parametrize("state", STATES)
def test_arrow_reads_them(folder: Path, state: str) -> None:
    files = sorted(map(str, folder.glob(f"state/*/{state}-*.parquet")))
    assert sorted_rows(ds.dataset(files).to_table().to_pylist()) == expected(state)


@pytest.mark.parametrize("state", STATES)
def test_pandas_reads_them(folder: Path, state: str) -> None:
    frames = [pd.read_parquet(path) for path in folder.glob(f"state/*/{state}-*.parquet")]
    found = pd.concat(frames).to_dict("records")
    for row in found:
        if "elements" in row:
            row["elements"] = list(row["elements"])
        if "last_used" in row:
            row["last_used"] = row["last_used"].to_pydatetime()
        row["pickled"] = None if pd.isna(row["pickled"]) else row["pickled"]
    assert sorted_rows(found) == expected(state)


@pytest.mark.parametrize("state", STATES)
def test_duckdb_reads_them(folder: Path, state: str) -> None:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        query = database.execute(f"SELECT * FROM '{folder}/state/*/{state}-*.parquet'")
        names = [column[0] for column in query.description or []]
        found = [dict(zip(names, row, strict=True)) for row in query.fetchall()]
    assert sorted_rows(found) == expected(state)


def test_duckdb_asks_questions_about_them(folder: Path) -> None:
    with duckdb.connect() as database:
        accounts, carts = (
            f"'{folder}/state/*/{state}-*.parquet'" for state in ("accounts", "carts")
        )
        question = f"""
            SELECT sum(value.balance), count(value.city), max(items)
            FROM {accounts} JOIN
            (SELECT key, count(*) AS items FROM {carts} GROUP BY key) USING (key)
        """
        assert database.execute(question).fetchall() == [(19_000, 16, 2)]


@pytest.mark.parametrize("tool", ["duckdb", "pandas"])
def test_the_examples_of_the_reference_run(
    folder: Path, tool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "reference" / "savepoint-format.md").read_text()
    (example,) = [
        block
        for block in re.findall(r"```python fragment\n(.*?)```", text, re.DOTALL)
        if tool in block
    ]
    names: dict[str, Any] = {}
    exec(example.replace("savepoint-4f1a2b-0123456789ab", str(folder)), names)
    if tool == "pandas":
        assert names["accounts"]["balance"].sum() == 19_000
    else:
        assert "city 19" in capsys.readouterr().out


def test_a_file_says_by_itself_what_it_is(folder: Path) -> None:
    schema = pq.read_schema(next(folder.glob("state/*/sums-1.parquet")))
    said = json.loads(schema.metadata[b"riverrun"])
    assert said["version"] == 1
    assert said["owner"] == {"operator": "customers", "operator_id": OPERATOR, "subtask": 1}
    assert said["max_parallelism"] == GROUPS
    assert said["state"]["name"] == "sums"
    assert said["state"]["kind"] == "value"
    assert json.loads(said["state"]["types"]["value"])["type"] == {"kind": "basic", "name": "LONG"}
    encodings = {field.name: field.metadata[b"riverrun.encoding"].decode() for field in schema}
    assert encodings == {
        "key_group": "plain",
        "key": "typed",
        "namespace": "plain",
        "value": "typed",
        "pickled": "pickle",
    }


def test_a_folder_that_was_moved_is_restored(tmp_path: Path) -> None:
    before, after = tmp_path / "here" / "savepoint-1", tmp_path / "there" / "copy of it"
    snapshots = write_savepoint(before)
    after.parent.mkdir()
    shutil.move(before, after)

    saved = SavedSavepointFiles(LocalStorage(), str(after))

    blocks = [block for one in snapshots for block in iterate(one, saved, range(GROUPS))]
    keys = [key for block in blocks if block.meta.name == "accounts" for key in block.keys]
    assert sorted(keys) == sorted(KEYS)
