"""A worker dies at every operation of the store in turn, while it writes a checkpoint and reads one back."""

from __future__ import annotations

import threading
from itertools import count
from pathlib import Path

import pytest

from riverrun.datastream.job_client import JobClient
from tests.spark.allround.chaos import Chaos, statistics, take_checkpoint
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sabotage import Moment, Saboteur, Target
from tests.spark.allround.sequences import BURST_MS
from tests.spark.allround.small_job import SmallJob
from tests.spark.conftest import MakeEnv, Row

pytestmark = pytest.mark.spark

_TRIES = 3
_WRITING = frozenset({"write", "upload"})


class Trial:
    """Takes checkpoints of a running job by hand, and lets it die on the way."""

    def __init__(self, client: JobClient, saboteur: Saboteur) -> None:
        self._client = client
        self._saboteur = saboteur
        self._chaos = Chaos(client)
        self._pause = threading.Event()

    def kinds(self) -> list[tuple[str, str]]:
        """What a checkpoint, and a restart from it, do in the store: riders and kinds of operations."""
        self._saboteur.record(on=True)
        take_checkpoint(self._client)
        self._chaos.kill_and_recover("sums")
        take_checkpoint(self._client)
        self._saboteur.record(on=False)
        return sorted({(rider, kind) for rider, kind, _ in self._saboteur.operations()})

    def die_everywhere(self, rider: str, kind: str) -> int:
        """Die before, in the middle of and after each operation of one kind; how many deaths that were."""
        moments: tuple[Moment, ...] = ("before", "middle", "after")
        deaths = 0
        for number in count():
            for moment in moments if kind in _WRITING else moments[::2]:
                if not self._dies_at(Target(rider, kind, number, moment)):
                    return deaths
                deaths += 1
        raise AssertionError

    def _dies_at(self, target: Target) -> bool:
        """Whether there is such an operation; if so the worker died there, and the job runs again."""
        for _ in range(_TRIES):
            self._saboteur.arm(target)
            if target.kind not in _WRITING:
                self._chaos.kill_and_recover("sums")
            # There is one only when nobody dies any more.
            take_checkpoint(self._client)
            if self._saboteur.has_struck():
                return True
            # A checkpoint without new records has less to write; they come in bursts.
            self._pause.wait(BURST_MS / 1000)
        self._saboteur.disarm()
        return False


@pytest.mark.parametrize("backend", ["hashmap", pytest.param("rocksdb", marks=pytest.mark.slow)])
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
    job = SmallJob(make_env(1, config), tmp_path, saboteur)
    client = job.client
    trial = Trial(client, saboteur)

    deaths = {
        f"{kind}s of {rider}": trial.die_everywhere(rider, kind) for rider, kind in trial.kinds()
    }
    restored = statistics(client).counts.restored
    job.finish()

    row(
        "a worker died at each operation of the store",
        {"backend": backend, **deaths, "restored": restored},
    )
    assert min(deaths.values()) >= 2
    assert restored > sum(deaths.values())
    assert [path for path in store.rglob("*") if path.is_file()] == []
