"""A worker dies at every operation of the store in turn, while it writes a checkpoint and reads one back."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from riverrun.core.errors import CheckpointFailed
from riverrun.datastream.job_client import JobClient
from riverrun.testing.waiting import wait_until
from tests.spark.allround.chaos import Chaos, await_recovery, statistics
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sabotage import Saboteur, Target
from tests.spark.allround.small_job import finish_small_job, start_small_job
from tests.spark.conftest import MakeEnv, Row

pytestmark = pytest.mark.spark

_CHECKPOINT_S = 20.0


def targets(operations: list[tuple[str, str, int]]) -> list[Target]:
    """All places to die at: before and after each operation, and in the middle of those that write."""
    return [
        Target(rider, kind, number, moment)
        for rider, kind, number in sorted(set(operations))
        for moment in (
            ("before", "middle", "after") if kind in {"write", "upload"} else ("before", "after")
        )
    ]


class Trial:
    """Takes checkpoints of a running job by hand, and lets it die on the way."""

    def __init__(self, client: JobClient, saboteur: Saboteur) -> None:
        self._client = client
        self._saboteur = saboteur
        self._chaos = Chaos(client)

    def operations(self) -> list[tuple[str, str, int]]:
        """What a checkpoint, and a restart from it, do in the store."""
        self._saboteur.record(on=True)
        self._checkpoint()
        self._chaos.kill_and_recover("sums")
        self._checkpoint()
        self._saboteur.record(on=False)
        return self._saboteur.operations()

    def die_at(self, target: Target) -> None:
        """Lose a worker at ``target``; afterwards the job runs again and has a new checkpoint."""
        before = len(self._client.get_failures())
        self._saboteur.arm(target)
        if target.kind in {"read", "download"}:
            self._chaos.kill("sums")
            wait_until(self._saboteur.has_struck, what=f"the death {target}")
            wait_until(lambda: len(self._client.get_failures()) > before + 1, what="the failure")
            await_recovery(self._client, before)
        else:
            with suppress(CheckpointFailed):
                self._client.trigger_checkpoint(_CHECKPOINT_S)
            wait_until(self._saboteur.has_struck, what=f"the death {target}")
            await_recovery(self._client, before)
        self._checkpoint()

    def _checkpoint(self) -> None:
        self._client.trigger_checkpoint(_CHECKPOINT_S)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_results_are_exact_though_a_worker_dies_at_each_operation_of_the_store_in_turn(
    make_env: MakeEnv, tmp_path: Path, backend: str, row: Row
) -> None:
    saboteur = Saboteur(tmp_path / "sabotage")
    store = tmp_path / "store"
    config = {
        **RECOVERING,
        "state.backend.type": backend,
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.interval": "1 h",
        "execution.checkpointing.data-inline-threshold": "0 b",
        "execution.checkpointing.dir": str(store),
    }
    client = start_small_job(make_env(1, config), tmp_path, saboteur)
    trial = Trial(client, saboteur)

    places = targets(trial.operations())
    for place in places:
        trial.die_at(place)
    restored = statistics(client).counts.restored
    finish_small_job(client, tmp_path)

    row(
        "a worker died at each operation of the store",
        {"backend": backend, "deaths": len(places), "restored": restored},
    )
    assert len(places) >= 8
    assert restored > len(places)
    assert [path for path in store.rglob("*") if path.is_file()] == []
