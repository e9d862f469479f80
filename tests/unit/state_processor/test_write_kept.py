"""All that a job saved is kept: by links to files, by conversion of checkpoints, and in new key groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from riverrun.api.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from riverrun.serde.types import Types
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.writer import SavepointWriter
from tests.unit.state_processor.saved_jobs import Saved, saved
from tests.unit.state_processor.writing_checks import blocks, contents

BACKENDS = ("hashmap", "rocksdb")


@pytest.fixture(scope="module", params=BACKENDS)
def job(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    folder = tmp_path_factory.mktemp(f"job-{request.param}")
    return saved(folder, typed=True, **{"state.backend.type": request.param})


def everything(path: str) -> dict[tuple[str, str], list[str]]:
    """The rows of all states, without the places where they are."""
    savepoint = Savepoint.read(path)
    found = {}
    for operator in savepoint.operators:
        for state in operator.states:
            rows = savepoint.state(operator.label, state.name).rows()
            found[operator.label, state.name] = sorted(
                repr({k: v for k, v in row.items() if k not in {"key_group", "subtask"}})
                for row in rows
            )
    return found


@pytest.mark.parametrize("groups", [None, 50], ids=["same groups", "other groups"])
@pytest.mark.parametrize("what", ["savepoint", "checkpoint"])
def test_everything_a_job_saved_is_kept(
    job: Saved, tmp_path: Path, what: str, groups: int | None
) -> None:
    path = getattr(job, what)
    writer = SavepointWriter.from_existing_savepoint(path)
    if groups is not None:
        writer.change_max_parallelism(groups)

    written = writer.write(tmp_path / "savepoint")

    assert everything(written) == everything(path)
    kept = Savepoint.read(written)
    assert kept.checkpoint.metadata.savepoint
    assert [file for file in Path(written).rglob("*") if "shared" in file.name] == []
    for name in ("last", "by parity", "_timers.user.event"):
        assert list(blocks(written, "everything", name))


def test_positions_of_sources_and_committables_are_kept(job: Saved, tmp_path: Path) -> None:
    written = SavepointWriter.from_existing_savepoint(job.first).write(tmp_path / "savepoint")

    found = everything(written)
    assert found["orders", "riverrun.splits"] == everything(job.first)["orders", "riverrun.splits"]
    assert "offset" in found["orders", "riverrun.splits"][0]
    assert found["files", "riverrun.committables"]


def test_a_source_begins_anew_when_its_position_is_removed(job: Saved, tmp_path: Path) -> None:
    writer = SavepointWriter.from_existing_savepoint(job.savepoint)
    writer.remove_state("orders", "riverrun.splits")

    written = writer.write(tmp_path / "savepoint")

    assert Savepoint.read(written).state_names("orders") == ()
    assert ("rules", "riverrun.splits") in everything(written)


def test_a_table_that_was_read_can_be_written(job: Saved, tmp_path: Path) -> None:
    savepoint = Savepoint.read(job.savepoint)
    account = Types.ROW_NAMED(["owner", "balance"], [Types.STRING(), Types.DOUBLE()])
    writer = SavepointWriter.new_savepoint()
    states: list[Any] = [
        ValueStateDescriptor("account", account),
        ListStateDescriptor("seen", Types.LONG()),
        MapStateDescriptor("by parity", Types.STRING(), Types.LONG()),
    ]
    for state in states:
        table = savepoint.state("everything", state.name)
        writer.with_keyed_state("everything", state, table, key_type=Types.STRING())

    written = writer.write(tmp_path / "savepoint")

    for state in states:
        expected = contents(job.savepoint, "everything", state.name)
        assert contents(written, "everything", state.name) == expected


def test_times_of_last_use_stay_and_are_merged(job: Saved, tmp_path: Path) -> None:
    before = contents(job.savepoint, "everything", "fleeting")
    writer = SavepointWriter.from_existing_savepoint(job.savepoint)
    writer.copy_operator(None, "everything", "changed")
    writer.transform_keyed_state(
        "everything", "fleeting", lambda row: row._replace(value=-row.value)
    )
    writer.rekey("changed", "fleeting", lambda _key, _value: "all", max)

    written = writer.write(tmp_path / "savepoint")

    assert contents(written, "everything", "fleeting") == {
        key: (-value, used) for key, (value, used) in before.items()
    }
    assert contents(written, "changed", "fleeting") == {
        "all": (
            max(value for value, _ in before.values()),
            max(used for _, used in before.values()),
        )
    }


def test_windows_and_timers_go_to_other_keys(job: Saved, tmp_path: Path) -> None:
    (name,) = {
        meta.name
        for snapshot in Savepoint.read(job.savepoint).find("windows").keyed
        for meta in snapshot.states
        if not meta.name.startswith("_timers")
    }
    writer = SavepointWriter.from_existing_savepoint(job.savepoint)
    writer.rekey("windows", name, lambda key, _value: f"new {key}")
    writer.rekey("everything", "_timers.user.processing", lambda _key, _value: "all")

    written = writer.write(tmp_path / "savepoint")

    assert contents(written, "windows", name) == {
        (f"new {key}", window): value
        for (key, window), value in contents(job.savepoint, "windows", name).items()
    }
    assert len(contents(written, "everything", "_timers.user.processing")) == 1
