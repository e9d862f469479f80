"""The store of checkpoints fails for a while, or forgets: the job goes on, and its results stay exact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.job_client import JobClient
from riverrun.testing.waiting import wait_until
from tests.spark.allround.chaos import await_checkpoint, statistics, take_checkpoint
from tests.spark.allround.oracle import problems_but_repeats
from tests.spark.allround.run import RECOVERING, Run, all_round
from tests.spark.allround.sabotage import Saboteur
from tests.spark.allround.small_job import SmallJob
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

_METADATA = "_metadata"


class Store:
    """A folder that is reached through a link, so that it can be cut off."""

    def __init__(self, folder: Path) -> None:
        self._real = folder / "real"
        self._real.mkdir()
        self.link = folder / "store"
        self.link.symlink_to(self._real)

    def cut_off(self) -> None:
        """Let every access fail: the link leads to itself."""
        self._point_to(self.link)

    def connect(self) -> None:
        """Be reached again."""
        self._point_to(self._real)

    def _point_to(self, target: Path) -> None:
        aside = self.link.with_name("aside")
        aside.symlink_to(target)
        aside.rename(self.link)


def await_failed_checkpoints(client: JobClient, more: int) -> None:
    """Wait until ``more`` checkpoints have failed from now on; meanwhile the job must go on."""
    goal = statistics(client).counts.failed + more

    def failed() -> bool:
        assert client.get_job_status().result() is JobStatus.RUNNING
        return statistics(client).counts.failed >= goal

    wait_until(failed, what=f"{goal} failed checkpoints")


def test_a_job_goes_on_while_its_store_cannot_be_reached_and_checkpoints_when_it_is_back(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    env = make_env(2, {**RECOVERING, "execution.checkpointing.dir": str(store.link)})

    with all_round(env, tmp_path) as run:
        await_checkpoint(run.client)
        store.cut_off()
        await_failed_checkpoints(run.client, 3)
        # Before it is back: later ones may fail for other reasons, such as a source that ends.
        failed = statistics(run.client).latest.failed
        assert failed is not None
        store.connect()
        await_checkpoint(run.client)
        assert run.client.get_failures() == []
        run.chaos.kill_and_recover("check")

    restored = statistics(run.client).latest.restored
    assert restored is not None
    assert restored.id > failed.id


def test_a_worker_that_dies_while_the_store_cannot_be_reached_recovers_when_it_is_back(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    env = make_env(2, {**RECOVERING, "execution.checkpointing.dir": str(store.link)})

    with all_round(env, tmp_path) as run:
        await_checkpoint(run.client)
        store.cut_off()
        before = len(run.client.get_failures())
        run.chaos.kill("remember", 1)
        wait_until(lambda: len(run.client.get_failures()) > before + 1, what="a failed start")
        store.connect()
        await_checkpoint(run.client)


def test_a_job_goes_on_while_the_disk_is_full_and_checkpoints_when_there_is_room(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    config = {
        **RECOVERING,
        "execution.checkpointing.data-inline-threshold": "0 b",
        "execution.checkpointing.dir": str(store),
    }
    saboteur = Saboteur(tmp_path / "sabotage")
    # The sink's own files would not fit either.
    job = SmallJob(make_env(1, config), tmp_path, saboteur, to_files=False)
    client = job.client
    await_checkpoint(client)

    saboteur.disk_full(on=True)
    await_failed_checkpoints(client, 3)
    saboteur.disk_full(on=False)
    await_checkpoint(client)

    latest = statistics(client).latest
    assert latest.failed is not None
    assert "File too large" in str(latest.failed.failure_message)
    assert client.get_failures() == []
    job.finish()
    assert [path for path in store.rglob("*") if path.is_file()] == []


def flip(path: Path) -> None:
    """Other bytes of the same number; the old ones stay where they are linked elsewhere."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(bytes(byte ^ 0xFF for byte in data))


def cut(path: Path) -> None:
    """Half of the bytes."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[: len(data) // 2])


def metadata_of(location: str) -> Path:
    path = Path(location)
    return path if path.name == _METADATA else path / _METADATA


def state_files(location: str) -> list[Path]:
    """The files of a checkpoint, without its metadata."""
    folder = metadata_of(location).parent
    return sorted(path for path in folder.iterdir() if path.name != _METADATA)


def damage_state(location: str, damage: Callable[[Path], None]) -> None:
    files = state_files(location)
    assert files
    for path in files:
        damage(path)


DAMAGES: dict[str, Callable[[str], None]] = {
    "a file with other bytes": lambda location: damage_state(location, flip),
    "a file cut off": lambda location: damage_state(location, cut),
    "a file gone": lambda location: damage_state(location, Path.unlink),
    "metadata cut off": lambda location: cut(metadata_of(location)),
    "metadata with other bytes": lambda location: flip(metadata_of(location)),
}

_BY_HAND = {
    **RECOVERING,
    "execution.checkpointing.interval": "1 h",
    "execution.checkpointing.data-inline-threshold": "0 b",
    "execution.checkpointing.num-retained": "2",
}


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before_it(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    env = make_env(2, {**_BY_HAND, "execution.checkpointing.dir": str(store)})

    with all_round(env, tmp_path) as run:
        run.find_problems = problems_but_repeats
        for name, damage in DAMAGES.items():
            good = take_checkpoint(run.client)
            damage(take_checkpoint(run.client))
            run.chaos.kill_and_recover("remember")
            wait_until(
                lambda good=good: _restored_from(run) == good,  # type: ignore[misc]
                what=f"the job goes on from {good} after {name}",
            )


def _restored_from(run: Run) -> str | None:
    restored = statistics(run.client).latest.restored
    return None if restored is None else restored.external_path.removesuffix(f"/{_METADATA}")


def test_state_is_read_from_copies_on_the_same_machine(make_env: MakeEnv, tmp_path: Path) -> None:
    config = {
        **_BY_HAND,
        "execution.checkpointing.dir": str(tmp_path / "store"),
        "execution.state-recovery.from-local": "true",
    }

    with all_round(make_env(2, config), tmp_path) as run:
        location = take_checkpoint(run.client)
        # Whoever read these would notice.
        damage_state(location, flip)
        run.chaos.kill_and_recover("remember")
        assert _restored_from(run) == location
        assert len(run.client.get_failures()) == 1
