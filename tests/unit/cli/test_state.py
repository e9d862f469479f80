"""``river state``: what it prints, writes and answers."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from riverrun.api.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from riverrun.api.state_ttl import StateTtlConfig
from riverrun.cli.main import app
from riverrun.core.time import Time
from riverrun.serde.types import Types
from tests.unit.state_processor.made_checkpoints import Operator

ACCOUNT = Types.ROW_NAMED(["city", "balance"], [Types.STRING(), Types.DOUBLE()])
ACCOUNTS = ValueStateDescriptor("accounts", ACCOUNT)
CARTS = MapStateDescriptor("carts", Types.STRING(), Types.INT())
NOTES = ListStateDescriptor("notes")
SEEN = ValueStateDescriptor("seen", Types.LONG())
SEEN.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())


def river(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["state", *map(str, arguments)])


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    made = Operator(tmp_path, key_type=Types.LONG())
    for number in range(5):
        backend: Any = made.at(number)
        backend.state(ACCOUNTS).update(ACCOUNT.coerce((f"city {number}", number / 2)))
        backend.state(CARTS).put_all({"tea": number, "[bold]": 1})
        backend.state(NOTES).update([f"note {number}", number])
        backend.state(SEEN).update(number)
        backend.namespace = (1_700_000_000_000, 1_700_000_060_000)
        backend.state(ValueStateDescriptor("sums"), namespaced=True).update(number)
        backend.timers("_timers.user.event").add(1_700_000_000_000 + number, number, None)
        backend.timers("_timers.user.event").add(2**63 - 1, number, None)
    yield made
    made.close()


@pytest.fixture
def path(operator: Operator) -> str:
    return operator.savepoint().location


def test_ls_shows_states_and_what_they_are_of(path: str) -> None:
    said = river("ls", path)

    assert said.exit_code == 0
    lines = {line.split()[2]: line for line in said.stdout.splitlines() if "customers-uid" in line}
    assert list(lines) == ["accounts", "carts", "notes", "seen", "sums", "_timers.user.event"]
    assert "LONG" in lines["accounts"]
    assert "ROW_NAMED(['city', 'balance'], [STRING, DOUBLE])" in lines["accounts"]
    assert "STRING -> INT" in lines["carts"]
    assert " 10 " in lines["carts"]
    assert "(pickled)" in lines["notes"]
    assert "2 of 16" in lines["notes"]
    assert "timers" in lines["_timers.user.event"]
    for fact in (path, "shop", "version 1 of the format", "2023-11-14", "Customers"):
        assert fact in said.stdout


def test_ls_for_machines(path: str) -> None:
    said = json.loads(river("ls", path, "--json").stdout)

    assert (said["path"], said["savepoint"], said["job_name"]) == (path, True, "shop")
    [operator] = said["operators"]
    assert (operator["uid"], operator["parallelism"]) == ("customers-uid", 2)
    states = {state["name"]: state for state in operator["states"]}
    assert states["carts"]["rows"] == 10
    assert states["carts"]["kind"] == "map"
    assert states["carts"]["types"]["map_key"] == "Types.STRING()"


def test_ls_counts_what_no_file_tells(operator: Operator) -> None:
    checkpoint = operator.checkpoint().location

    states = json.loads(river("ls", checkpoint, "--json").stdout)["operators"][0]["states"]
    assert {state["name"]: state["rows"] for state in states}["carts"] is None
    states = json.loads(river("ls", checkpoint, "--json", "--count").stdout)["operators"][0][
        "states"
    ]
    assert {state["name"]: state["rows"] for state in states}["carts"] == 10


def test_show_is_a_table_that_people_can_read(path: str) -> None:
    said = river("show", path, "customers", "accounts")
    assert said.exit_code == 0
    assert said.stdout.splitlines()[0].split() == ["key", "value"]
    assert "Row(city='city 3', balance=1.5)" in said.stdout
    timers = river("show", path, "customers", "_timers.user.event", "--limit", 0).stdout
    assert "2023-11-14T22:13:20.003Z" in timers
    assert "9223372036854775807" in timers
    sums = river("show", path, "customers", "sums").stdout
    assert "2023-11-14T22:13:20.000Z to 2023-11-14T22:14:20.000Z" in sums
    assert "[bold]" in river("show", path, "customers", "carts").stdout
    seen = river("show", path, "customers", "seen", "--columns", "last_used, key").stdout
    assert seen.splitlines()[1].split()[0] == "2023-11-14T22:13:20.000Z"


def test_show_stops_at_a_limit_and_says_so(path: str) -> None:
    said = river("show", path, "customers", "accounts", "--limit", 2)
    assert len(said.stdout.splitlines()) == 3
    assert "the first 2 rows; --limit 0 shows all" in said.stderr
    said = river("show", path, "customers", "accounts", "--limit", 5)
    assert "the first" not in said.stderr
    assert len(json.loads(river("show", path, "customers", "notes", "--json", "-n", 2).stdout)) == 2


def test_show_finds_a_key(path: str) -> None:
    said = river("show", path, "customers", "notes", "--key", "3", "--json")
    assert json.loads(said.stdout) == [{"key": 3, "elements": ["note 3", 3]}]
    said = river("show", path, "customers", "notes", "--key", "33")
    assert said.exit_code == 2
    assert "state 'notes' of operator 'customers-uid': it has no key '33'" in said.stderr


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "jsonl"])
def test_export_writes_what_the_suffix_says(path: str, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / "new" / f"accounts.{suffix}"
    said = river("export", path, "customers", "accounts", out)

    assert said.stdout == f"5 rows written to {out}\n"
    assert [each.name for each in out.parent.iterdir()] == [out.name]
    assert sorted(READERS[suffix](out)) == [(n, f"city {n}", n / 2) for n in range(5)]
    again = river("export", path, "customers", "accounts", out)
    assert (again.exit_code, "it is there already" in again.stderr) == (2, True)
    assert river("export", path, "customers", "accounts", out, "--force").exit_code == 0


def rows_of_table(table: pa.Table) -> list[tuple[Any, ...]]:
    return [(r["key"], r["value"]["city"], r["value"]["balance"]) for r in table.to_pylist()]


def rows_of_csv(path: Path) -> list[tuple[Any, ...]]:
    rows = csv.DictReader(path.read_text().splitlines())
    return [(int(r["key"]), r["value.city"], float(r["value.balance"])) for r in rows]


def rows_of_jsonl(path: Path) -> list[tuple[Any, ...]]:
    rows = map(json.loads, path.read_text().splitlines())
    return [(r["key"], r["value"]["city"], r["value"]["balance"]) for r in rows]


READERS: dict[str, Any] = {
    "parquet": lambda path: rows_of_table(pq.read_table(path)),
    "arrow": lambda path: rows_of_table(pa.ipc.open_file(path).read_all()),
    "csv": rows_of_csv,
    "jsonl": rows_of_jsonl,
}


def test_export_needs_a_suffix_that_it_knows(path: str, tmp_path: Path) -> None:
    said = river("export", path, "customers", "accounts", tmp_path / "out.xlsx")
    assert said.exit_code == 2
    assert "says no format; expected one of .parquet, .arrow, .csv, .jsonl" in said.stderr


def test_diff_of_the_same_is_nothing(operator: Operator, path: str) -> None:
    said = river("diff", path, operator.checkpoint().location)
    assert said.exit_code == 0
    assert "accounts" in said.stdout


def test_diff_says_what_changed(operator: Operator, path: str) -> None:
    backend: Any = operator.at(1)
    backend.state(CARTS).put("tea", 99)
    backend.state(CARTS).put("milk", 2)
    backend = operator.at(2)
    backend.state(CARTS).clear()
    backend.timers("_timers.user.event").remove(1_700_000_000_002, 2, None)
    backend.state(ValueStateDescriptor("new", Types.LONG())).update(1)
    other = operator.checkpoint().location

    said = river("diff", path, other)
    assert said.exit_code == 1
    lines = {line.split()[1]: line.split() for line in said.stdout.splitlines()[1:]}
    assert lines["carts"][3:] == ["1", "2", "1", "7"]
    assert lines["accounts"][3:] == ["-", "-", "-", "5"]
    assert lines["new"][3:] == ["1", "-", "-", "-", "only", "in", "the", "second"]
    said = river("diff", path, other, "customers", "carts")
    assert said.exit_code == 1
    assert set(said.stdout.splitlines()[:4]) == {
        "~ key 1, map_key tea: 1 -> 99",
        "+ key 1, map_key milk: 2",
        "- key 2, map_key tea: 2",
        "- key 2, map_key [bold]: 1",
    }
    said = river("diff", path, other, "customers", "_timers.user.event")
    assert said.stdout.splitlines()[0] == "- key 2, time 2023-11-14T22:13:20.002Z"
    said = river("diff", path, other, "customers", "carts", "--limit", 1)
    assert "... and 3 more" in said.stdout
    said = river("diff", path, other, "customers", "carts", "--json")
    answer = json.loads(said.stdout)
    assert (said.exit_code, answer["different"]) == (1, True)
    assert {"change": "changed", "key": 1, "map_key": "tea", "before": 1, "after": 99} in answer[
        "changes"
    ]


def test_errors_are_one_line_and_exit_code_2(operator: Operator, path: str, tmp_path: Path) -> None:
    cut = Path(operator.savepoint().location)
    file = next(cut.glob("state/*/accounts-*.parquet"))
    file.write_bytes(file.read_bytes()[:-9])
    for arguments, message in [
        (("ls", tmp_path / "nowhere"), "there is no checkpoint or savepoint"),
        (("show", path, "custmers", "accounts"), "did you mean 'customers-uid'?"),
        (("show", path, "customers", "acounts"), "did you mean 'accounts'?"),
        (("show", path, "customers", "accounts", "--columns", "x"), "has no column 'x'; it has"),
        (("show", cut, "customers", "accounts"), file.name),
        (("ls", cut), file.name),
        (("diff", path, cut), file.name),
        (("diff", path, path, "customers", "nothing"), "it has no state 'nothing'"),
    ]:
        said = river(*arguments)
        assert said.exit_code == 2, arguments
        assert message in said.stderr
        assert len(said.stderr.splitlines()) == 1
