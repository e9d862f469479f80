"""``river config``: effective values, their sources, and no secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from riverrun.cli.main import app
from riverrun.core.option_registry import OPTIONS

FILE = """\
# what this machine's jobs begin with
state:
  backend: rocksdb
execution.checkpointing.interval: 10 s
s3:
  endpoint: http://me:hush@store:9000
  secret-key: hush
taskmanager.memory.process.size: 2gb
spark.executor.memory: 1g
"""


def river(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["config", *arguments])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/nowhere")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


@pytest.fixture
def file(folder: Path) -> Path:
    (folder / "river.yaml").write_text(FILE)
    return folder / "river.yaml"


def rows(result: Result) -> dict[str, list[str]]:
    """The table's cells by key."""
    table = result.stdout.partition("\n\n")[0].splitlines()[1:]
    cells = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in table]
    return {row[0]: row[1:] for row in cells}


def test_what_is_set_is_shown_with_its_source(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIVERRUN_PARALLELISM_DEFAULT", "4")

    result = river("-D", "pipeline.name=spend")

    assert rows(result) == {
        "execution.checkpointing.interval": ["10 s", "river.yaml:4"],
        "parallelism.default": ["4", "RIVERRUN_PARALLELISM_DEFAULT"],
        "pipeline.name": ["spend", "-D"],
        "s3.endpoint": ["http://me:******@store:9000", "river.yaml:6"],
        "s3.secret-key": ["******", "river.yaml:7"],
        "spark.executor.memory": ["1g", "river.yaml:9"],
        "state.backend.type": ["rocksdb", "river.yaml:3"],
        "taskmanager.memory.process.size": ["2gb", "river.yaml:8"],
    }
    assert result.stdout.endswith("configuration file: river.yaml; --all shows the defaults too\n")
    assert result.stderr.splitlines() == [
        (
            "note: river.yaml:3: option 'state.backend': is the older name of 'state.backend.type'; "
            "use that"
        ),
        (
            "note: river.yaml:8: option 'taskmanager.memory.process.size': known in Flink, has no "
            "effect here: the memory of workers is spark.executor.memory"
        ),
    ]


def test_all_options_can_be_shown(file: Path) -> None:
    shown = rows(river("--all"))

    assert set(shown) >= set(OPTIONS)
    assert shown["execution.checkpointing.timeout"] == ["10 min", "default"]
    assert shown["execution.checkpointing.interval"] == ["10 s", "river.yaml:4"]


def test_one_option_is_shown_with_all_there_is_to_say(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIVERRUN_STATE_BACKEND_TYPE", "rocksdb")

    result = river("state.backend", "-D", "state.backend.type=hashmap")

    assert result.stdout.splitlines() == [
        "state.backend.type",
        "  value     hashmap",
        "  from      -D",
        "  over      rocksdb from RIVERRUN_STATE_BACKEND_TYPE",
        "  over      rocksdb from river.yaml:3",
        "  meaning   where keyed state lives: in dicts, or in RocksDB",
        "  expected  one of hashmap, rocksdb",
        "  default   hashmap",
        "  variable  RIVERRUN_STATE_BACKEND_TYPE",
        "  older     state.backend",
    ]


def test_keys_that_are_not_options_are_answered_too(file: Path) -> None:
    result = river("spark.executor.memory", "blob.server.port")

    assert "value     1g" in result.stdout
    assert "meaning   not an option of riverrun's" in result.stdout
    assert "meaning   known in Flink, has no effect here" in result.stdout


def test_json_has_every_detail_and_no_secret(file: Path) -> None:
    result = river("--json", "-D", "s3.secret-key=hush too")

    shown: dict[str, Any] = json.loads(result.stdout)
    by_key = {each["key"]: each for each in shown["settings"]}
    assert shown["file"] == str(file)
    assert len(shown["notes"]) == 2
    assert "hush" not in result.output
    assert by_key["s3.secret-key"]["overridden"] == [
        {"value": "******", "source": "file", "place": "river.yaml:7"}
    ]
    assert by_key["execution.checkpointing.interval"] == {
        "key": "execution.checkpointing.interval",
        "value": "10 s",
        "source": "file",
        "place": "river.yaml:4",
        "meaning": "how often a checkpoint is taken; not set or 0: never",
        "default": None,
        "expected": 'a duration such as "10 ms", "5 min" or "1 h"',
        "variable": "RIVERRUN_EXECUTION_CHECKPOINTING_INTERVAL",
        "older_names": [],
        "overridden": [],
    }


def test_nothing_set_is_said_with_the_places_that_were_looked_at() -> None:
    assert river().stdout == (
        "nothing is set: no configuration file (looked for river.yaml, "
        "/nowhere/.config/riverrun/river.yaml); --all shows the defaults\n"
    )


def test_an_unknown_key_is_refused_with_the_nearest() -> None:
    assert str(river("paralelism.default").exception) == (
        "option 'paralelism.default': there is no such option; did you mean 'parallelism.default'?"
    )


def test_a_file_with_an_error_is_refused(folder: Path) -> None:
    (folder / "other.yaml").write_text("execution:\n  checkpointing.interval: soon\n")

    assert str(river("--config", "other.yaml").exception) == (
        "other.yaml:2: option 'execution.checkpointing.interval': is 'soon'; "
        'expected a duration such as "10 ms", "5 min" or "1 h"'
    )


def test_a_script_runs_with_the_named_file(folder: Path) -> None:
    (folder / "other.yaml").write_text("pipeline.name: from the file\n")
    (folder / "script.py").write_text(
        "from riverrun.datastream.environment import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "print(env.get_configuration()['pipeline.name'])\n"
    )

    result = CliRunner().invoke(app, ["run", "--config", "other.yaml", "script.py"])

    assert result.output == "from the file\n"


def test_a_file_with_an_error_stops_a_run_before_the_script(folder: Path) -> None:
    (folder / "river.yaml").write_text("riverrun.mastr: x\n")
    (folder / "script.py").write_text("print('ran')")

    result = CliRunner().invoke(app, ["run", "script.py"])

    assert result.stdout == ""
    assert str(result.exception).startswith("river.yaml:1: option 'riverrun.mastr'")
