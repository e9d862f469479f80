"""Savepoints of jobs in this process: taken under load, gone on from, moved, claimed and refused."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.state import ValueStateDescriptor
from riverrun.checkpoint.metadata_file import FormatTooNew
from riverrun.checkpoint.saved_operators import RestoreRefused
from riverrun.checkpoint.savepoint_store import SavepointRefused, dispose_savepoint
from riverrun.core.errors import CheckpointFailed, ConfigError, JobFailed
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types
from riverrun.storage.local import LocalStorage
from riverrun.storage.storage import FileCorrupt, FileMissing
from tests.spark.allround.file_sink import FileSink
from tests.unit.local.savepoint_jobs import (
    COUNT,
    EXACT,
    GATE,
    PATIENCE_S,
    Count,
    Jobs,
    key_of,
    numbers,
    through_gate,
)

INTERVAL = {"execution.checkpointing.interval": "10 ms"}
RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "0 ms",
}
RETAIN = {"execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"}
CLAIM_MODE = "execution.state-recovery.claim-mode"


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    made = Jobs(tmp_path)
    yield made
    made.close()


# going on


@pytest.mark.parametrize("checkpoints", [{}, INTERVAL], ids=["alone", "beside checkpoints"])
@pytest.mark.parametrize("first", ["hashmap", "rocksdb"])
def test_jobs_that_stop_and_go_on_at_other_parallelisms_give_what_one_job_gives(
    jobs: Jobs, checkpoints: dict[str, str], first: str
) -> None:
    second = "hashmap" if first == "rocksdb" else "rocksdb"
    backends = (first, second, first)
    savepoint = None
    for record, parallelism, backend in zip((500, 1200, 2000), (1, 3, 2), backends, strict=True):
        config = {**checkpoints, "state.backend.type": backend}
        savepoint = jobs.stop_at(record, parallelism, start_from=savepoint, **config)
    jobs.run(5, start_from=savepoint, **checkpoints)

    assert jobs.committed() == EXACT


def test_a_savepoint_under_load_is_where_another_job_goes_on(jobs: Jobs) -> None:
    GATE.close_at(1000)
    client = jobs.start(3, **INTERVAL)
    assert GATE.reached.wait(PATIENCE_S)
    taken = client.trigger_savepoint()
    GATE.open.set()
    savepoint = taken.result(PATIENCE_S)
    client.get_job_execution_result().result(PATIENCE_S)

    assert jobs.committed() == EXACT
    latest = client.get_checkpoints().latest
    assert latest.savepoint.external_path == f"{savepoint}/_metadata"
    assert latest.savepoint.checkpoint_type == "SAVEPOINT"
    assert latest.completed.id > latest.savepoint.id
    jobs.run(2, start_from=savepoint)
    again = jobs.committed() - EXACT
    for key in range(7):
        found = sorted(number for of, number in again if of == key)
        assert found == list(range(found[0], len(range(key, COUNT, 7)) + 1))
        assert found[0] > 1


@pytest.mark.parametrize(
    "mode",
    [
        {"execution.checkpointing.unaligned.enabled": "true"},
        {
            "execution.checkpointing.unaligned.enabled": "true",
            "execution.checkpointing.aligned-checkpoint-timeout": "1 ms",
        },
        {"execution.checkpointing.mode": "AT_LEAST_ONCE"},
        {"execution.checkpointing.max-concurrent-checkpoints": "3"},
        {"execution.checkpointing.incremental": "true"},
    ],
    ids=lambda mode: " ".join(key.rpartition(".")[2] for key in mode),
)
def test_savepoints_are_exact_however_checkpoints_are_taken(
    jobs: Jobs, mode: dict[str, str]
) -> None:
    savepoint = jobs.stop_at(1000, 2, **INTERVAL, **mode)
    jobs.run(3, start_from=savepoint, **INTERVAL, **mode)

    assert jobs.committed() == EXACT


def test_a_savepoint_that_was_moved_is_still_one(jobs: Jobs, tmp_path: Path) -> None:
    savepoint = jobs.stop_at(1000)
    moved = tmp_path / "elsewhere" / "renamed"
    moved.parent.mkdir()
    shutil.move(savepoint, moved)

    jobs.run(3, start_from=moved / "_metadata")

    assert jobs.committed() == EXACT


# other programs


def otherwise_chained(env: StreamExecutionEnvironment, folder: Path) -> None:
    """The same operators, with others between them, in other vertices, and with other names."""
    gated = numbers(env).disable_chaining().map(through_gate).uid("gate").name("doorman")
    spread = gated.map(lambda value: value).filter(lambda _: True).rebalance()
    counted = spread.key_by(key_of).process(Count()).uid("count").name("numbering")
    counted.start_new_chain().map(lambda pair: pair).sink_to(FileSink(str(folder))).uid("files")


def test_operators_are_found_by_their_uids_in_another_program(jobs: Jobs) -> None:
    savepoint = jobs.stop_at(1000, 2)
    jobs.run(3, otherwise_chained, start_from=savepoint)

    assert jobs.committed() == EXACT


def two_counts(env: StreamExecutionEnvironment, folder: Path) -> None:
    """Counts twice: by the number, and by its parity."""
    gated = numbers(env).map(through_gate).uid("gate")
    gated.key_by(key_of).process(Count()).uid("count").sink_to(FileSink(str(folder))).uid("files")
    parity = gated.key_by(lambda value: value % 2 + 100).process(Count()).uid("parity")
    parity.sink_to(FileSink(str(folder))).uid("parity files")


def count_only(env: StreamExecutionEnvironment, folder: Path) -> None:
    """One of the two counts."""
    gated = numbers(env).map(through_gate).uid("gate")
    gated.key_by(key_of).process(Count()).uid("count").sink_to(FileSink(str(folder))).uid("files")


def test_state_of_an_operator_that_is_gone_is_left_out_only_when_that_is_allowed(
    jobs: Jobs,
) -> None:
    savepoint = jobs.stop_at(1000, 2, two_counts)

    with pytest.raises(RestoreRefused, match=r"state of operator .*\(uid 'parity'.*--allowNon"):
        jobs.run(2, count_only, start_from=savepoint)
    allowed = {"execution.state-recovery.ignore-unclaimed-state": "true"}
    jobs.run(2, count_only, start_from=savepoint, **allowed)

    assert Counter({each: n for each, n in jobs.committed().items() if each[0] < 100}) == EXACT


def test_an_operator_that_is_new_begins_with_nothing(jobs: Jobs) -> None:
    savepoint = jobs.stop_at(1000, 2, count_only)
    jobs.run(2, two_counts, start_from=savepoint)

    found = jobs.committed()
    assert Counter({each: n for each, n in found.items() if each[0] < 100}) == EXACT
    parity = sorted(number for key, number in found if key == 100)
    assert parity == list(range(1, len(parity) + 1))
    assert 0 < len(parity) < COUNT // 2


# whose it is


@pytest.mark.parametrize("mode", ["NO_CLAIM", "LEGACY"])
def test_a_savepoint_that_is_not_claimed_stays_as_it_is(jobs: Jobs, mode: str) -> None:
    savepoint = jobs.stop_at(1000)
    before = contents(Path(savepoint))
    jobs.run(2, start_from=savepoint, **INTERVAL, **{CLAIM_MODE: mode})

    assert contents(Path(savepoint)) == before
    assert jobs.committed() == EXACT


def test_a_claimed_savepoint_goes_with_the_first_checkpoint_that_takes_its_place(
    jobs: Jobs,
) -> None:
    savepoint = jobs.stop_at(1000)
    last = jobs.stop_at(2000, start_from=savepoint, **INTERVAL, **{CLAIM_MODE: "CLAIM"})

    assert not Path(savepoint).exists()
    jobs.run(start_from=last)
    assert jobs.committed() == EXACT


@pytest.mark.parametrize("mode", ["CLAIM", "LEGACY"])
def test_a_checkpoint_that_is_claimed_or_borrowed_is_built_on(jobs: Jobs, mode: str) -> None:
    incremental = {**INTERVAL, **RETAIN, "execution.checkpointing.incremental": "true"}
    incremental["execution.checkpointing.data-inline-threshold"] = "0 b"
    GATE.close_at(1000)
    client = jobs.start(2, **incremental)
    assert GATE.reached.wait(PATIENCE_S)
    GATE.open.set()
    folder = Path(client.trigger_checkpoint(PATIENCE_S)).parent
    client.cancel().result(PATIENCE_S)
    [checkpoint] = folder.glob("chk-*/_metadata")
    files = contents(folder)

    jobs.run(2, start_from=checkpoint, **incremental, **{CLAIM_MODE: mode})

    left = contents(folder)
    assert jobs.committed() == EXACT
    if mode == "LEGACY":
        assert left == files
    else:
        assert not [name for name in left if not name.startswith("owner/")]


def test_what_a_job_claimed_another_cannot_claim(jobs: Jobs) -> None:
    savepoint = jobs.stop_at(1000)
    GATE.close_at(2000)
    owner = jobs.start(2, start_from=savepoint, **{CLAIM_MODE: "CLAIM"})
    assert GATE.reached.wait(PATIENCE_S)

    with pytest.raises(SavepointRefused, match=f"{owner.get_job_id()}.*did so before.*NO_CLAIM"):
        jobs.start(2, start_from=savepoint, **{CLAIM_MODE: "CLAIM"})
    with pytest.raises(SavepointRefused, match=f"job '{owner.get_job_id()}' claimed it"):
        dispose_savepoint(LocalStorage(), savepoint)
    GATE.open.set()
    owner.cancel().result(PATIENCE_S)


def test_a_job_that_fails_gives_back_what_it_claimed(jobs: Jobs) -> None:
    savepoint = jobs.stop_at(1000)

    def failing(env: StreamExecutionEnvironment, folder: Path) -> None:
        broken = numbers(env).map(lambda value: 1 // (value - 1500)).uid("gate")
        counted = broken.key_by(key_of).process(Count()).uid("count")
        counted.sink_to(FileSink(str(folder))).uid("files")

    with pytest.raises(JobFailed, match="ZeroDivisionError"):
        jobs.run(2, failing, start_from=savepoint, **{CLAIM_MODE: "CLAIM"})
    jobs.run(2, start_from=savepoint, **{CLAIM_MODE: "CLAIM"})

    assert jobs.committed() == EXACT


def test_to_dispose_of_a_savepoint_deletes_its_own_files_and_no_others(jobs: Jobs) -> None:
    first, second = jobs.stop_at(1000), jobs.stop_at(2000)
    note = Path(first) / "notes.txt"
    note.write_text("why this savepoint was taken")

    dispose_savepoint(LocalStorage(), first)

    assert [path for path in Path(first).rglob("*") if path.is_file()] == [note]
    dispose_savepoint(LocalStorage(), f"{second}/_metadata")
    assert not Path(second).exists()


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# what is refused


def test_a_savepoint_needs_a_place(jobs: Jobs) -> None:
    GATE.close_at(500)
    client = jobs.start(**{"execution.checkpointing.savepoint-dir": "", **INTERVAL})
    assert GATE.reached.wait(PATIENCE_S)

    with pytest.raises(ConfigError, match="expected an absolute path"):
        client.trigger_savepoint("here")
    inside = client.trigger_savepoint(str(jobs.checkpoints / str(client.get_job_id())))
    GATE.open.set()
    with pytest.raises(CheckpointFailed, match="belongs to the job's own checkpoints"):
        inside.result(PATIENCE_S)
    client.cancel().result(PATIENCE_S)


def test_a_job_that_is_over_cannot_be_stopped(jobs: Jobs) -> None:
    client = jobs.run()

    with pytest.raises(CheckpointFailed, match="it is FINISHED"):
        client.stop_with_savepoint(False)


@pytest.mark.parametrize("drain", [False, True])
def test_a_job_that_cannot_write_its_savepoint_goes_on(
    jobs: Jobs, tmp_path: Path, *, drain: bool
) -> None:
    (tmp_path / "a file").write_text("in the way")
    GATE.close_at(1000)
    client = jobs.start(2, **INTERVAL, **RESTARTS)
    assert GATE.reached.wait(PATIENCE_S)
    stopping = client.stop_with_savepoint(drain, str(tmp_path / "a file"))
    GATE.open.set()

    with pytest.raises(CheckpointFailed, match=r"declined: .*a file"):
        stopping.result(PATIENCE_S)
    client.get_job_execution_result().result(PATIENCE_S)

    assert jobs.committed() == EXACT
    told = [record.failure.message for record in client.get_failures()]
    assert [("the streams were ended" in each) for each in told] == ([True] if drain else [])


def test_damage_is_found_before_anything_runs(jobs: Jobs) -> None:
    savepoint = jobs.stop_at(1000)
    [file] = Path(savepoint).glob("state/*/seen-0.parquet")
    whole = file.read_bytes()

    file.write_bytes(whole[:-10])
    with pytest.raises(FileCorrupt, match=rf"{file}.*expected {len(whole)} bytes, found"):
        jobs.start(start_from=savepoint)
    file.unlink()
    with pytest.raises(FileMissing, match=rf"{file}.*it is not there.*use another savepoint"):
        jobs.start(start_from=savepoint)
    file.write_bytes(whole)
    metadata = Path(savepoint) / "_metadata"
    text = metadata.read_bytes()
    metadata.write_bytes(text[:-100])
    with pytest.raises(FileCorrupt, match="it was cut off"):
        jobs.start(start_from=savepoint)
    metadata.unlink()
    with pytest.raises(
        FileMissing, match="no '_metadata' file, so it is no checkpoint or savepoint"
    ):
        jobs.start(start_from=savepoint)


def test_damage_of_the_same_length_is_found_before_the_first_record(jobs: Jobs) -> None:
    savepoint = jobs.stop_at(1000)
    [file] = Path(savepoint).glob("state/*/seen-0.parquet")
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    file.write_bytes(damaged)

    with pytest.raises(JobFailed, match=f"{file}.*digest"):
        jobs.run(start_from=savepoint)


def test_a_savepoint_of_a_later_release_is_refused_with_both_versions(jobs: Jobs) -> None:
    savepoint = jobs.stop_at(1000)
    metadata = Path(savepoint) / "_metadata"
    metadata.write_bytes(metadata.read_bytes().replace(b'"version":', b'"version":99', 1))

    with pytest.raises(FormatTooNew, match=r"version 99\d+ .* knows versions up to \d+"):
        jobs.start(start_from=savepoint)


class TypedCount(Count):
    """Keeps its count with a declared type."""

    def __init__(self, declared: TypeInformation) -> None:
        self._declared = declared

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", self._declared))


def typed(declared: TypeInformation) -> Any:
    def build(env: StreamExecutionEnvironment, folder: Path) -> None:
        gated = numbers(env).map(through_gate).uid("gate")
        counted = gated.key_by(key_of).process(TypedCount(declared)).uid("count")
        counted.name("counts").sink_to(FileSink(str(folder))).uid("files")

    return build


def test_another_type_is_refused_before_the_first_record_or_made_of_the_old_one(jobs: Jobs) -> None:
    savepoint = jobs.stop_at(1000, 2, typed(Types.INT()))

    with pytest.raises(JobFailed, match=r"'counts': state 'seen': .*INT\(\).*STRING\(\).*declare"):
        jobs.run(2, typed(Types.STRING()), start_from=savepoint)
    jobs.run(3, typed(Types.LONG()), start_from=savepoint)

    assert jobs.committed() == EXACT


def test_another_max_parallelism_is_refused_with_both_numbers(jobs: Jobs) -> None:
    savepoint = jobs.stop_at(1000)

    with pytest.raises(RestoreRefused, match=r"max parallelism 64.*saved with 128.*\(128\)"):
        jobs.start(start_from=savepoint, **{"pipeline.max-parallelism": "64"})


def test_the_status_of_a_job_that_stopped_is_finished_and_its_checkpoints_are_gone(
    jobs: Jobs,
) -> None:
    GATE.close_at(1000)
    client = jobs.start(2, **INTERVAL)
    assert GATE.reached.wait(PATIENCE_S)
    stopping = client.stop_with_savepoint(False)
    GATE.open.set()
    stopping.result(PATIENCE_S)

    assert stopping.done()
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert [path for path in jobs.checkpoints.rglob("*") if path.is_file()] == []
    statistics: Any = client.get_checkpoints()
    assert statistics.latest.savepoint.checkpoint_type == "SYNC_SAVEPOINT"
