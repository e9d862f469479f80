"""The all-round job under many kills, in all ways, for as long as ``SOAK_MINUTES`` says: ``make soak``."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from riverrun.testing.waiting import Stopwatch
from tests.spark.allround.chaos import statistics
from tests.spark.allround.job import Shape
from tests.spark.allround.matrix import WAYS, Way
from tests.spark.allround.run import RECOVERING, all_round
from tests.spark.conftest import MakeEnv, Row

pytestmark = [pytest.mark.spark, pytest.mark.soak]

_SECONDS = float(os.environ.get("SOAK_MINUTES", "10")) * 60.0 / len(WAYS)
_SEED = int(os.environ.get("SOAK_SEED", str(random.randrange(1 << 30))))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_results_stay_exact_under_many_kills(
    make_env: MakeEnv, tmp_path: Path, way: Way, row: Row
) -> None:
    env = make_env(2, {**RECOVERING, **way.config})
    shape = Shape(keys=64, per_key=int(30 * _SECONDS) + 100)
    chance = random.Random(_SEED + WAYS.index(way))
    watch = Stopwatch()

    with all_round(env, tmp_path, shape, seed=_SEED + WAYS.index(way)) as run:
        while watch.seconds < _SECONDS:
            if chance.random() < 0.7:
                run.chaos.kill_after_checkpoint()
            else:
                run.chaos.kill_within(1.0)

    figures = statistics(run.client)
    row(
        f"soak with seed {_SEED}",
        {
            "way": way,
            "kills": run.chaos.kills,
            "attempts": len(run.client.get_failures()) + 1,
            "restored": figures.counts.restored,
            "completed": figures.counts.completed,
            "failed": figures.counts.failed,
            "channel bytes": figures.summary.persisted_data.max,
            "records": shape.keys * shape.per_key,
            "seconds": f"{watch.seconds:.0f}",
        },
    )
